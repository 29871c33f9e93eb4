#!/bin/bash
# restore.sh BACKUP STORE: makes a store of what backup.sh has copied.
#
# BACKUP is a directory or HOST:DIRECTORY. STORE is made; into a store that has cells the backup's are brought besides.
# Run again after an interruption: what is there already is not copied again. A table that was disabled is so again at
# the end, and the settings of the store that were set are set.
#
# CELLFS names the program, RSYNC_OPTIONS further options of rsync. Exit status: 0, or 1 with a sentence.
set -euo pipefail

fail() {
  echo "restore.sh: $*" >&2
  exit 1
}

if [ $# -ne 2 ]; then
  echo "usage: restore.sh BACKUP STORE" >&2
  exit 1
fi
cellfs=${CELLFS:-cellfs}
marker=.cellfs-backup
backup=${1%/}
store=$2
command -v rsync >/dev/null || fail "rsync is not installed"
own_mount=
child=
words=$(mktemp)
clean_up() {
  # Another signal must not end it half-way.
  trap '' INT TERM HUP
  # What goes on writing would keep the mount.
  if [ -n "$child" ]; then
    kill "$child" 2>/dev/null && wait "$child" || true
  fi
  rm -f "$words"
  if [ -n "$own_mount" ]; then
    # rsync's other processes end a moment later than itself.
    for _ in {1..50}; do
      "$cellfs" umount "$own_mount" 2>/dev/null && break
      sleep 0.1
    done
    ! mountpoint -q "$own_mount" || "$cellfs" umount --lazy "$own_mount"
    rmdir "$own_mount"
  fi
}
# run COMMAND...: in the background, for the shell takes a signal only between commands.
run() {
  "$@" &
  child=$!
  local status=0
  wait "$child" || status=$?
  child=
  return $status
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

rsync "$backup/$marker" "$words" 2>/dev/null ||
  fail "$backup is no backup: it has no file $marker, which backup.sh leaves there"
mapfile -t disabled < <(sed -n 's/^disabled //p' "$words")
mapfile -t settings < <(sed -n 's/^setting //p' "$words")

mnt=
if [ -e "$store" ]; then
  text=$("$cellfs" status --json "$store" 2>/dev/null || true)
  encoded=$(sed -n 's/.*"mount_point":{"base64":"\([^"]*\)".*/\1/p' <<<"$text")
  if [ -n "$encoded" ]; then
    mnt=$(base64 -d <<<"$encoded" && echo .)
  else
    text=$(sed -n 's/.*"mount_point":"\(\([^"\]\|\\.\)*\)".*/\1/p' <<<"$text")
    mnt=$(printf '%b.' "$(sed 's/\\\\/\\x5c/g; s/\\"/\\x22/g' <<<"$text")")
  fi
  # The dot kept line feeds at the end, which a substitution takes away.
  mnt=${mnt%.}
fi
if [[ $mnt =~ /cellfs-restore\.([0-9]+)\.[^/]*$ ]] && ! [ -e "/proc/${BASH_REMATCH[1]}" ]; then
  # A run that was killed has left it.
  own_mount=$mnt
elif [ -z "$mnt" ]; then
  own_mount=$(mktemp -d "${TMPDIR:-/tmp}/cellfs-restore.$$.XXXXXX")
  "$cellfs" mount "$store" "$own_mount" || { rmdir "$own_mount"; own_mount=; fail "$store cannot be mounted"; }
  mnt=$own_mount
fi
# A disabled table takes no cells. One that is not there yet, or is enabled, is no matter.
for table in "${disabled[@]}"; do
  "$cellfs" shell "$mnt" -e "enable '$table'" >/dev/null 2>&1 || true
done
# Long values come back where the limit is higher; a lower one, which older values may exceed, is set when all are there.
for setting in "${settings[@]}"; do
  [[ $setting == "value_limit "* ]] || continue
  limit=$("$cellfs" config "$mnt" value_limit) || fail "the settings of $store cannot be read"
  [ "${setting#* }" -le "$limit" ] || "$cellfs" config "$mnt" value_limit "${setting#* }" || true
done
# shellcheck disable=SC2086 # several options are several words
run rsync -aX --exclude="/$marker" ${RSYNC_OPTIONS:-} "$backup/" "$mnt/.history/" || {
  status=$?
  # It is gone with a mount of our own.
  tail -n 3 "$mnt/.info/errors" >&2 || true
  fail "rsync ended with status $status; above is what was refused last, if anything was. Run this again"
}
for table in "${disabled[@]}"; do
  "$cellfs" shell -n "$mnt" -e "disable '$table'" >/dev/null || fail "table $table cannot be disabled, as it was"
done
# One may be refused until another is set: those that were are tried once more.
for try in first last; do
  refused=()
  for setting in "${settings[@]}"; do
    said=$("$cellfs" config "$mnt" "${setting%% *}" -- "${setting#* }" 2>&1) || refused+=("$setting")
    [ $try = first ] || [ -z "$said" ] || echo "$said" >&2
  done
  settings=("${refused[@]}")
done
run sync -f "$mnt" || fail "what was restored may not be on the disk"
[ ${#settings[@]} = 0 ] || fail "all but these settings is restored, set them by hand: ${settings[*]%% *}"
