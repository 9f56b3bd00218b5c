#!/bin/sh
# The member stays one of its cluster: rvol cluster remove takes it out. deb says remove, rpm says 0; an upgrade says something else.
set -e
if [ -d /run/systemd/system ] && { [ "$1" = remove ] || [ "$1" = 0 ]; }; then
  systemctl disable --now rvol-coordinator.service
fi
