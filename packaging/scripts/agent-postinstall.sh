#!/bin/sh
# The unit starts once the machine has joined (rvol-agent join); until then its condition keeps it off.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl enable rvol-agent.service >/dev/null 2>&1 || true # a masked unit stays masked
  udevadm control --reload 2>/dev/null || true # it may not run in a container
  # as at every boot, see modules-load.d/rvol.conf
  modprobe drbd 2>/dev/null || echo "rvol-agent: the module drbd cannot be loaded; the node says so until it is" >&2
  systemctl try-restart rvol-agent.service
fi
