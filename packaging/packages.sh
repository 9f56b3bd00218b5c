#!/bin/bash
# packages.sh VERSION: deb and rpm for amd64 and arm64 into dist/. Two builds of one commit are the same bytes.
set -eu
cd "$(dirname "$0")/.."
tools=$PWD/.cache/tools
[ -x "$tools/nfpm" ] || { echo "packages: installing nfpm"; GOBIN=$tools go install github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.41.0; }
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH CGO_ENABLED=0
VERSION=${1#v}
case $VERSION in [0-9]*) ;; *) VERSION=0.0.0+git.$VERSION ;; esac
export VERSION
rm -rf dist && mkdir -p dist
for ARCH in amd64 arm64; do
  export ARCH
  for program in rvol rvol-agent rvol-coordinator; do
    GOARCH=$ARCH go build -trimpath -buildvcs=false -ldflags "-s -w -X rvol/cmd/internal/version.Version=$VERSION" -o "dist/$ARCH/$program" "./cmd/$program"
    touch -d "@$SOURCE_DATE_EPOCH" "dist/$ARCH/$program"
    for kind in deb rpm; do
      "$tools/nfpm" package --config "packaging/nfpm/$program.yaml" --packager "$kind" --target dist/ >/dev/null
    done
  done
done
(cd dist && sha256sum -- *.deb *.rpm | tee SHA256SUMS)
