#!/bin/sh
# mklayer.sh FOLDER OUT.img: a read-only image of a folder, owned by root. Needs root or fakeroot.
set -eu
PATH=$PATH:/usr/sbin:/sbin
folder=$1 out=$2
rm -f "$out"
chown -R 0:0 "$folder"
# room for the files, the inodes and some rounding
truncate -s "$(($(du -sm --apparent-size "$folder" | cut -f1) * 11 / 10 + 8))M" "$out"
mke2fs -q -t ext4 -O ^has_journal -m 0 -d "$folder" "$out"
