#!/bin/sh
# provision.sh: what an administrator does to a machine before it becomes a node of a lab; run again it changes nothing.
# The two disks that are empty get a volume group each, vg0 and vg1, and vg1 a thin pool.
set -eu
PATH=$PATH:/usr/sbin:/sbin

# LVM would open DRBD's devices, and take volume groups inside of volumes for the machine's own.
filters=/etc/lvm/lvmlocal.conf
if ! grep -qs '/dev/rvol/' "$filters"; then
  echo 'devices { global_filter = [ "r|^/dev/drbd|", "r|^/dev/rvol/|" ] }' >"$filters"
fi
# drbd.service would bring rvol's resources up and down.
systemctl -q disable drbd.service 2>/dev/null || true # it may be masked, or not there
modprobe drbd

if ! vgs vg1 >/dev/null 2>&1; then
  # shellcheck disable=SC2046 # a list of devices
  set -- $(for disk in $(lsblk -dnpo NAME,TYPE | awk '$2 == "disk" { print $1 }'); do
    [ "$(lsblk -nro NAME "$disk" | wc -l)" != 1 ] || [ -n "$(wipefs "$disk")" ] || echo "$disk"
  done)
  [ $# = 2 ] || { echo "provision: want two empty disks, found $#: $*" >&2; exit 1; }
  pvcreate -qq "$@"
  vgcreate -qq vg0 "$1"
  vgcreate -qq vg1 "$2"
  lvcreate -qq -y --type thin-pool -l 90%FREE -n tp vg1
  lvchange -qq --errorwhenfull y vg1/tp
fi
