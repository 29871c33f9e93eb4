#!/bin/bash
# backup.sh [--keep-snapshot] STORE DESTINATION: brings a copy of a store up to date while programs go on writing to it.
#
# A snapshot is made, `rsync -aX` copies its .history (schema, every version, what was deleted and when) to
# DESTINATION, a directory or HOST:DIRECTORY, and the snapshot is deleted, or kept and named. What a version holds is never copied again;
# what was purged or has expired goes from the copy too. restore.sh makes a store of it.
#
# CELLFS names the program, RSYNC_OPTIONS further options of rsync. Exit status: 0, or 1 with a sentence.
set -euo pipefail

fail() {
  echo "backup.sh: $*" >&2
  exit 1
}

keep=
if [ "${1-}" = --keep-snapshot ]; then
  keep=yes
  shift
fi
if [ $# -ne 2 ]; then
  echo "usage: backup.sh [--keep-snapshot] STORE DESTINATION" >&2
  exit 1
fi
cellfs=${CELLFS:-cellfs}
store=$1
destination=${2%/}
command -v rsync >/dev/null || fail "rsync is not installed"
[ -n "$destination" ] || fail "DESTINATION is empty or the root directory"
"$cellfs" status "$store" >/dev/null || fail "$store cannot be backed up"

snapshot=backup-$(date -u +%Y%m%dT%H%M%SZ)-$$
own_mount=
made=

clean_up() {
  if [ -n "$made" ]; then
    "$cellfs" snapshot delete "$store" "$snapshot" || echo "backup.sh: delete it by hand: snapshot $snapshot" >&2
  fi
  if [ -n "$own_mount" ]; then
    "$cellfs" umount "$own_mount" && rmdir "$own_mount"
  fi
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# Where the store is mounted; nothing if it is not.
mount_point() { "$cellfs" status --json "$store" | sed -n 's/.*"mount_point":"\([^"]*\)".*/\1/p'; }

mnt=$(mount_point)
if [ -z "$mnt" ]; then
  own_mount=$(mktemp -d)
  "$cellfs" mount "$store" "$own_mount" -o ro || { rmdir "$own_mount"; own_mount=; fail "$store cannot be mounted"; }
  mnt=$own_mount
fi
"$cellfs" snapshot create "$store" "$snapshot" || fail "no snapshot of $store could be made"
made=yes
case $destination in
*:*) ;;
*) mkdir -p "$destination" ;;
esac
# shellcheck disable=SC2086 # several options are several words
rsync -aX --delete --chmod=u+w ${RSYNC_OPTIONS:-} "$mnt/.snapshot/$snapshot/.history/" "$destination/" ||
  fail "rsync ended with status $?; the copy in $destination is not complete. Run this again"
if [ -n "$keep" ]; then
  made=
  echo "$snapshot"
fi
