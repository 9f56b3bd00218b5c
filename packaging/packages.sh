#!/bin/bash
# packages.sh VERSION [FOLDER]: deb and rpm for amd64 and arm64 into FOLDER (dist/). Two builds of one commit are the same bytes.
# ARCHITECTURES and KINDS name fewer of them.
set -eu
cd "$(dirname "$0")/.."
tools=$PWD/.cache/tools
[ -x "$tools/nfpm" ] || { echo "packages: installing nfpm"; GOBIN=$tools go install github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.41.0; }
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH CGO_ENABLED=0
VERSION=${1#v}
case $VERSION in [0-9]*) ;; *) VERSION=0.0.0+git.$VERSION ;; esac
export VERSION
umask 022 # the files are packed with the modes that they have in tree, whatever this checkout's are
out=${2:-dist}
rm -rf "$out" && mkdir -p "$out/tree/bin"
out=$(cd "$out" && pwd) tree=$out/tree
cp -r --no-preserve=mode LICENSE packaging "$tree"
for ARCH in ${ARCHITECTURES:-amd64 arm64}; do
  export ARCH
  for program in rvol rvol-agent rvol-coordinator; do
    echo "packages: $program $VERSION for $ARCH"
    GOARCH=$ARCH go build -trimpath -buildvcs=false -ldflags "-s -w -X rvol/cmd/internal/version.Version=$VERSION" -o "$tree/bin/$ARCH/$program" "./cmd/$program"
    for kind in ${KINDS:-deb rpm}; do
      (cd "$tree" && "$tools/nfpm" package --config "packaging/nfpm/$program.yaml" --packager "$kind" --target "$out" >/dev/null) ||
        { echo "packages: nfpm could not make the $kind of $program" >&2; exit 1; }
    done
  done
done
rm -rf "$tree"
(cd "$out" && find . -maxdepth 1 \( -name '*.deb' -o -name '*.rpm' \) -printf '%f\n' | sort | xargs sha256sum -- | tee SHA256SUMS)
