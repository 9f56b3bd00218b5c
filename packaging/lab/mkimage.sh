#!/bin/sh
# mkimage.sh ROOTFS.tar FILES MODULES MORE OVERLAY OUT.img: the root file system of lab nodes.
#   FILES    the folder this script lies in
#   MODULES  a /lib/modules: one folder for each kernel release
#   MORE     another one, laid over it; "" for none
#   OVERLAY  folder laid over everything; "" for none
# Needs root or fakeroot for the owners of files. Nothing is mounted, nothing is chrooted:
# mke2fs fills the image. (mke2fs reads a tar by itself only from 1.47.1 on.)
set -eu
PATH=$PATH:/usr/sbin:/sbin
tar=$1 files=$2 modules=$3 more=$4 overlay=$5 out=$6
work=$(mktemp -d "$out.XXXXXX")
trap 'rm -rf "$work" "$out.new"' EXIT
root=$work/root
mkdir "$root"
tar -xf "$tar" -C "$root" --numeric-owner --exclude='./dev/*'
mkdir -p "$root/dev" "$root/opt/lab"  # the kernel mounts devtmpfs on /dev, lab-init the layer on /opt/lab
ln -s lab/rvol "$root/opt/rvol"
find "$root" -type f ! -perm -400 -exec chmod u+r {} +  # gshadow- may be mode 000, which fakeroot does not open for mke2fs
rm -rf "$root"/usr/share/doc/* "$root"/usr/share/man/* "$root"/usr/share/locale/* "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/*

# modules: of a kernel's own tree only what a node needs; what was added to it (updates/, extra/) stays
sed 's#^#kernel/#' "$files/kept-modules" >"$work/kept"
for tree in "$modules" "$more"; do
  [ -n "$tree" ] || continue
  for release in "$tree"/*/; do
    mkdir -p "$root/usr/lib/modules/$(basename "$release")"
    cp -r "$release." "$root/usr/lib/modules/$(basename "$release")"
  done
done
for release in "$root"/usr/lib/modules/*; do
  cd "$release"
  rm -rf build source
  mkdir -p kernel
  find kernel -name '*.ko*' | awk 'NR == FNR { kept[$0]; next } { for (k in kept) if (index($0, k) == 1) next; print }' \
    "$work/kept" - | xargs -r rm -f
  find kernel -mindepth 1 -type d -empty -delete
  cd - >/dev/null
  depmod -b "$root" "$(basename "$release")"
done

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
