#!/bin/sh
# host-packages.sh: installs what the kernel lab needs on a Debian or Ubuntu host, and nothing else.
# It changes nothing when everything is there, and asks for root (sudo) only when something is missing.
set -eu
wanted="mmdebstrap uidmap fakeroot fakechroot e2fsprogs kmod debian-archive-keyring"
missing=
for p in $wanted; do
  case $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null || true) in
  installed) ;;
  *) missing="$missing $p" ;;
  esac
done
[ -n "$missing" ] || { echo "kernel lab: all packages are installed"; exit 0; }
echo "kernel lab: installing$missing"
root=
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "kernel lab: no sudo here; as root: apt-get install$missing" >&2; exit 1; }
  root=sudo
fi
# shellcheck disable=SC2086 # a list of words
$root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing ||
  { $root apt-get update && $root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; }
