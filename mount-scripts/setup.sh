#!/bin/bash
# setup.sh PACKAGE..: installs the Debian packages that are missing, with sudo when not root.
# Where it can't, one sentence says what to install.
set -u
missing=()
for package in "$@"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  as_root=()
  if [ "$(id -u)" != 0 ]; then
    as_root=(sudo)
  fi
  if ! command -v apt-get >/dev/null || ! { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }; then
    echo "Please install these packages (as Debian names them) and run this again: ${missing[*]}" >&2
    exit 1
  fi
  echo "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  if ! { "${as_root[@]}" apt-get update -q && "${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}"; } >/tmp/cellfs-setup.$$ 2>&1; then
    tail -5 /tmp/cellfs-setup.$$ >&2
    rm -f /tmp/cellfs-setup.$$
    echo "Please install these packages and run this again: ${missing[*]}" >&2
    exit 1
  fi
  rm -f /tmp/cellfs-setup.$$
fi
if [ ! -e /dev/fuse ]; then
  echo "There is no /dev/fuse: load the module (modprobe fuse), or give the container the device." >&2
  exit 1
fi
if ! command -v cargo >/dev/null; then
  echo "Please install Rust 1.95 or newer and run this again." >&2
  exit 1
fi
