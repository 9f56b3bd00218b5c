#!/bin/sh
# Stopping the agent stops no volume. deb says remove, rpm says 0; an upgrade says something else.
set -e
if [ -d /run/systemd/system ] && { [ "$1" = remove ] || [ "$1" = 0 ]; }; then
  systemctl disable --now rvol-agent.service
fi
