#!/bin/bash
# check-vagrant.sh: the Vagrantfile is one that vagrant takes. Its machines are started by nobody here: they need a provider.
set -eu
cd "$(dirname "$0")/.."
command -v vagrant >/dev/null || { echo "check-vagrant: vagrant is not installed, and the Vagrantfile not looked at: apt-get install vagrant" >&2; exit 1; }
mkdir -p dist # what the machines would be given
vagrant validate --ignore-provider
