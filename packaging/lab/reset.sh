#!/bin/sh
# reset.sh: makes a node of a lab a machine without a cluster again. ALL VOLUMES ON IT ARE LOST: for machines of labs alone.
set -u
PATH=$PATH:/usr/sbin:/sbin
iptables -F RVOL 2>/dev/null
systemctl stop 'rvol-attach@*' rvol-agent rvol-coordinator
for mounted in $(findmnt -rno TARGET,SOURCE | awk '$2 ~ "^/dev/(drbd|rvol)" { print $1 }'); do umount -l "$mounted"; done
drbdadm down all 2>/dev/null
drbdsetup down all 2>/dev/null # what has no file any more
disks=$(vgs --noheadings -o pv_name vg0 vg1 2>/dev/null)
vgremove -qq -ff -y vg0 vg1 2>/dev/null
for disk in $disks; do pvremove -qq -ff -y "$disk"; done
rm -rf /var/lib/rvol/agent /var/lib/rvol/coordinator /etc/drbd.d/rvol /etc/drbd.d/rvol.res /dev/rvol /root/admin.yaml
exec "$(dirname "$0")/provision.sh"
