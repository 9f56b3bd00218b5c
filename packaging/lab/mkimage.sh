#!/bin/sh
# mkimage.sh ROOTFS.tar MODULES FILES OVERLAY OUT.img: the root file system of lab nodes.
#   MODULES  folder of one kernel's modules; its name is the kernel's release
#   FILES    the folder this script lies in
#   OVERLAY  folder laid over everything, "" for none
# Needs root or fakeroot for the owners of files. Nothing is mounted, nothing is chrooted:
# mke2fs fills the image. (mke2fs reads a tar by itself only from 1.47.1 on.)
set -eu
PATH=$PATH:/usr/sbin:/sbin
tar=$1 modules=$2 files=$3 overlay=$4 out=$5
release=$(basename "$modules")
work=$(mktemp -d "$out.XXXXXX")
trap 'rm -rf "$work" "$out.new"' EXIT
root=$work/root
mkdir "$root"
tar -xf "$tar" -C "$root" --numeric-owner --exclude='./dev/*'
mkdir -p "$root/dev" "$root/opt/lab"  # the kernel mounts devtmpfs on /dev, lab-init the layer on /opt/lab
ln -s lab/rvol "$root/opt/rvol"
find "$root" -type f ! -perm -400 -exec chmod u+r {} +  # gshadow- may be mode 000, which fakeroot does not open for mke2fs
rm -rf "$root"/usr/share/doc/* "$root"/usr/share/man/* "$root"/usr/share/locale/* "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/*

# modules: of the kernel's own tree only what a node needs; what was added to it (updates/, extra/) stays
mkdir -p "$root/usr/lib/modules/$release"
cp -r "$modules/." "$root/usr/lib/modules/$release"
cd "$root/usr/lib/modules/$release"
rm -rf build source
if [ -d kernel ]; then
  sed 's#^#kernel/#' "$files/kept-modules" >"$work/kept"
  find kernel -name '*.ko*' | awk 'NR == FNR { kept[$0]; next } { for (k in kept) if (index($0, k) == 1) next; print }' \
    "$work/kept" - | xargs -r rm -f
  find kernel -type d -empty -delete
fi
cd - >/dev/null
depmod -b "$root" "$release"

# a quick and quiet boot
units=$root/etc/systemd/system
while read -r unit; do ln -sf /dev/null "$units/$unit"; done <"$files/masked-units"
ln -sf /usr/lib/systemd/system/multi-user.target "$units/default.target"
: >"$root/etc/machine-id"
: >"$root/etc/fstab"  # no entry: no wait for devices, no fsck
sed -i 's/^root:[^:]*:/root::/' "$root/etc/shadow"
cp -r "$files/node/." "$root"
chmod 755 "$root/usr/local/sbin/lab-init"
mkdir -p "$units/multi-user.target.wants"
ln -sf ../labagent.service "$units/multi-user.target.wants/"
[ -z "$overlay" ] || cp -r "$overlay/." "$root"

truncate -s 1500M "$out.new"
mke2fs -q -t ext4 -J size=8 -m 0 -d "$root" "$out.new"
chmod 644 "$out.new"
mv "$out.new" "$out"
