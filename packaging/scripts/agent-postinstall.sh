#!/bin/sh
# The unit starts once the machine has joined (rvol-agent join); until then its condition keeps it off.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl enable rvol-agent.service >/dev/null 2>&1 || true # a masked unit stays masked
  systemctl try-restart rvol-agent.service
fi
