#!/bin/sh
# drbd9.sh SOURCE: installs DRBD 9 on a Debian or Ubuntu machine: its module by dkms, and its tools.
# SOURCE is an archive for add-apt-repository (ppa:OWNER/NAME), or "distribution": the package drbd-dkms of the machine's own.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
case $1 in
distribution) ;;
*)
  apt-get -qq install -y software-properties-common
  add-apt-repository -y "$1"
  apt-get -qq update
  ;;
esac
apt-get -qq install -y "linux-headers-$(uname -r)" drbd-dkms drbd-utils lvm2 thin-provisioning-tools iptables
version=$(modinfo -F version drbd)
case $version in
9.*) echo "drbd9: DRBD $version" ;;
*) echo "drbd9: $1 has not brought DRBD 9: modinfo says $version" >&2; exit 1 ;;
esac
