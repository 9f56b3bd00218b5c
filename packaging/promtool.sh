#!/bin/bash
# promtool.sh ARGUMENT...: runs Prometheus's promtool. Where there is none on PATH, Debian's own is fetched by the apt
# configuration of this machine and unpacked into .cache, without installing a daemon and without being root.
set -eu
cd "$(dirname "$0")/.."
into=$PWD/.cache/promtool
promtool=$into/usr/bin/promtool
if command -v promtool >/dev/null; then
  promtool=promtool
elif ! [ -x "$promtool" ]; then
  echo "promtool: fetching package prometheus, to unpack promtool from it into .cache/promtool" >&2
  rm -rf "$into" && mkdir -p "$into/deb"
  (cd "$into/deb" && apt-get -q -o APT::Sandbox::User="$(id -un)" download prometheus >/dev/null) ||
    { echo "promtool: apt-get download prometheus did not work: apt-get update, or put promtool on PATH" >&2; exit 1; }
  dpkg-deb -x "$into"/deb/prometheus_*.deb "$into/all"
  mkdir -p "$into/usr/bin" && mv "$into/all/usr/bin/promtool" "$promtool"
  rm -rf "$into/deb" "$into/all"
fi
exec "$promtool" "$@"
