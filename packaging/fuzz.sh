#!/bin/bash
# fuzz.sh TIME: every fuzz target for so long.
set -eu
cd "$(dirname "$0")/.."
grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do
  dir=$(dirname "$file")
  grep -oE '^func Fuzz[A-Za-z0-9_]*' "$file" | sed 's/^func //' | while read -r target; do
    echo "fuzz: $dir $target for $1"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" "$dir" </dev/null
  done
done
