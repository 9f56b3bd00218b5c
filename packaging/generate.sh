#!/bin/bash
# generate.sh: protobuf code, man pages and completions, with pinned tools in .cache/tools. The results are checked in.
set -eu
cd "$(dirname "$0")/.."
tools=$PWD/.cache/tools
need() { # need PROGRAM MODULE@VERSION
  [ -x "$tools/$1" ] || { echo "generate: installing $2"; GOBIN=$tools go install "$2"; }
}
need buf github.com/bufbuild/buf/cmd/buf@v1.50.0
need protoc-gen-go google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
need protoc-gen-go-grpc google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
(cd proto && PATH=$tools:$PATH buf generate && PATH=$tools:$PATH buf lint)
rm -f packaging/man/*.1 packaging/man/rvol-output.7 packaging/completions/* # pages of nouns that are no more
go run ./cmd/internal/cli/gen packaging
go test ./cmd/internal/cli/gen -run TestFieldsThatProgramsReadStay -update # promises the new fields of documents
