#!/bin/bash
# check-packages.sh VERSION: builds the packages twice, the second time elsewhere and under other settings, and compares all bytes;
# then looks into them with dpkg's and rpm's own tools. What is built is left in dist/.
set -eu
cd "$(dirname "$0")/.."
fail() { echo "check-packages: $*" >&2; exit 1; }
for tool in dpkg-deb rpm; do
  command -v $tool >/dev/null || fail "$tool is not installed, and packages are not looked into without it: apt-get install $tool"
done
other=$(mktemp -d)
trap 'rm -rf "$other"' EXIT
packaging/packages.sh "$1" dist >/dev/null
(umask 077 && TZ=Asia/Tokyo LC_ALL=C packaging/packages.sh "$1" "$other/a folder" >/dev/null)
diff -r dist "$other/a folder" || fail "two builds of one commit are not the same bytes"
(cd dist && cat SHA256SUMS)
[ "$(find dist -name '*.deb' | wc -l) $(find dist -name '*.rpm' | wc -l)" = "6 6" ] || fail "there are not six packages of each kind in dist"

# what NAME PATTERN...: each kind and architecture of a package holds it
holds() {
  local name=$1 package list
  shift
  for package in dist/"$name"[_-][0-9]*; do
    case $package in
    *.deb) list=$(dpkg-deb --fsys-tarfile "$package" | tar -t | sed 's#^\.##') ;;
    *.rpm) list=$(rpm -qlp "$package" 2>/dev/null) ;;
    esac
    for path in "$@"; do
      grep -qx "$path" <<<"$list" || fail "$package lacks $path"
    done
  done
}
units=/usr/lib/systemd/system
holds rvol /usr/bin/rvol '/usr/share/man/man1/rvol.1' /usr/share/bash-completion/completions/rvol \
  '/usr/share/zsh/.*/_rvol' /usr/share/fish/vendor_completions.d/rvol.fish
holds rvol-agent /usr/bin/rvol-agent $units/rvol-agent.service $units/rvol-attach@.service /usr/lib/udev/rules.d/66-rvol.rules \
  /usr/lib/modules-load.d/rvol.conf /etc/rvol/agent.env /usr/share/man/man8/rvol-agent.8
holds rvol-coordinator /usr/bin/rvol-coordinator $units/rvol-coordinator.service /usr/lib/sysusers.d/rvol.conf /etc/rvol/coordinator.env \
  /usr/share/man/man8/rvol-coordinator.8

for package in dist/rvol-agent*.rpm dist/rvol-coordinator*.rpm; do
  rpm -K --nosignature "$package" >/dev/null || fail "$package is damaged"
  for script in postinstall preuninstall postuninstall; do
    rpm -qp --scripts "$package" 2>/dev/null | grep -q "^$script scriptlet" || fail "$package has no $script"
  done
  rpm -qpc "$package" 2>/dev/null | grep -q '^/etc/rvol/' || fail "$package would overwrite the settings of a machine"
done
rpm -qpR dist/rvol-agent*.x86_64.rpm 2>/dev/null | grep -qx 'drbd-utils' || fail "the agent's rpm does not need drbd-utils"
for script in packaging/scripts/*.sh packaging/lab/{provision,reset,drbd9}.sh; do
  sh -n "$script" || fail "$script is no script"
done
echo "check-packages: two builds are the same, and hold what they should; rpms were looked into, not installed"
