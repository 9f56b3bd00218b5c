#!/bin/sh
# The unit starts once there is a member (rvol-coordinator init or join); until then its condition keeps it off.
set -e
if [ -d /run/systemd/system ]; then
  systemd-sysusers rvol.conf
  systemctl daemon-reload
  systemctl enable rvol-coordinator.service >/dev/null 2>&1 || true # a masked unit stays masked
  systemctl try-restart rvol-coordinator.service
fi
