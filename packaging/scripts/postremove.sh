#!/bin/sh
# What the program wrote stays: the data of a storage node and the log of a coordinator are not the package's to delete.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
