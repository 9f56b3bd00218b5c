#!/bin/sh
# setup.sh [PACKAGE...]: makes a fresh Debian 12/13 or Ubuntu machine ready for `make demo` and `make test`, and says what it does.
# It changes nothing when everything is there. Root (or sudo) is used for installing packages only.
set -eu
cd "$(dirname "$0")/.."
root=
[ "$(id -u)" = 0 ] || root=sudo
install() {
  echo "setup: installing $*"
  [ -z "$root" ] || command -v sudo >/dev/null || { echo "setup: no sudo here; as root: apt-get install $*" >&2; exit 1; }
  # shellcheck disable=SC2086 # root is one word or none
  $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null ||
    { $root apt-get update -qq && $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }
}
want=
# The shells run the completions in a test.
for p in git make gcc libc6-dev ca-certificates bash-completion zsh fish "$@"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null || true)" = installed ] || want="$want $p"
done
# shellcheck disable=SC2086 # a list of words
[ -z "$want" ] || install $want
# The dashboard is tested in a real browser. Ubuntu has it as a snap only, which does not reach the tests' files.
if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
  if [ -n "$(apt-cache search --names-only '^chromium$')" ] || { $root apt-get update -qq && [ -n "$(apt-cache search --names-only '^chromium$')" ]; }; then
    install chromium fonts-dejavu-core
  else
    echo "setup: no package chromium here: put chromium or google-chrome on PATH, or the tests of the dashboard fail" >&2
  fi
fi
# Any Go from 1.21 on fetches the toolchain that go.mod asks for by itself.
minor=$(go env GOVERSION 2>/dev/null | sed -nE 's/^go1\.([0-9]+).*/\1/p')
if [ "${minor:-0}" -lt 21 ]; then
  . /etc/os-release
  if [ "${VERSION_CODENAME:-}" = bookworm ]; then
    install -t bookworm-backports golang-go || {
      echo "setup: Debian 12's own Go is too old and bookworm-backports is not among apt's sources: add it, or put Go 1.26 on PATH" >&2
      exit 1
    }
  else
    install golang-go
  fi
fi
echo "setup: $(go version)"
sh packaging/lab/host-packages.sh
