#!/bin/bash
# check.sh: format, vet, lint, generated code and alerts; what CI runs besides the tests.
set -eu
cd "$(dirname "$0")/.."
make --no-print-directory lint
echo "check: generated code is what generate makes"
made="proto packaging cmd/internal/cli/gen/testdata"
# shellcheck disable=SC2086 # a list of words
generated() { git status --porcelain -- $made; git diff -- $made; }
before=$(generated)
packaging/generate.sh
if [ "$before" != "$(generated)" ]; then
  echo "check: generate has changed something: look at it, and commit:" >&2
  # shellcheck disable=SC2086 # a list of words
  git status --short -- $made >&2
  exit 1
fi
echo "check: alerts parse, and fire when they should"
packaging/promtool.sh check rules packaging/prometheus/rvol.rules.yml
packaging/promtool.sh test rules packaging/prometheus/rvol.rules_test.yml
echo "check: go.mod is tidy and its sums hold"
go mod tidy -diff
go mod verify
if command -v "$PWD/.cache/tools/govulncheck" >/dev/null 2>&1; then
  status=0
  .cache/tools/govulncheck ./... || status=$?
  case $status in
    0) ;;
    3) exit 1 ;; # it has found something
    *) echo "check: govulncheck could not ask its database: see above" >&2 ;;
  esac
fi
