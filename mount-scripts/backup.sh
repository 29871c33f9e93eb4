#!/bin/bash
# backup.sh [--keep-snapshot] STORE DESTINATION: brings a copy of a store up to date while programs go on writing to it.
#
# A snapshot is made, `rsync -aX` copies its .history (schema, every version, what was deleted and when) to
# DESTINATION, a directory or HOST:DIRECTORY, and the snapshot is deleted, or kept and named. What was copied is not copied
# again; what was purged or has expired goes from the copy too. Of a value that was put once more at its own timestamp, with
# the same length, rsync sees nothing: RSYNC_OPTIONS=--checksum compares all. restore.sh makes a store of it. DESTINATION is
# made, or is empty, or has the file .cellfs-backup that the first run leaves there, which also has the settings of the
# store that are set and names the tables that were disabled: nothing else is ever deleted.
#
# A snapshot that a run has left which was killed (backup-TIME-PID) is deleted by the next one; one that is kept is named
# kept-TIME-PID. One run at a time brings a destination up to date.
#
# CELLFS names the program, RSYNC_OPTIONS further options of rsync. Exit status: 0; 1 with a sentence; 2 if everything was
# copied but cells that cannot be read, which are named.
set -euo pipefail

say() { echo "backup.sh: $*" >&2; }

fail() {
  say "$*"
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
store=$1
destination=${2%/}
command -v rsync >/dev/null || fail "rsync is not installed"
[ -n "$destination" ] || fail "DESTINATION is empty or the root directory"

# A daemon that this starts must not keep the lock of the destination when we are gone.
cellfs() { command "${CELLFS:-cellfs}" "$@" 9<&-; }

# field NAME: puts what the store's status has under that name into `value`, byte for byte; nothing if it has none.
field() {
  local text encoded
  value=
  text=$(cellfs status --json "$store") || return
  encoded=$(sed -n 's/.*"'"$1"'":{"base64":"\([^"]*\)".*/\1/p' <<<"$text")
  if [ -n "$encoded" ]; then
    value=$(base64 -d <<<"$encoded" && echo .)
  else
    text=$(sed -n 's/.*"'"$1"'":"\(\([^"\]\|\\.\)*\)".*/\1/p' <<<"$text")
    value=$(printf '%b.' "$(sed 's/\\\\/\\x5c/g; s/\\"/\\x22/g' <<<"$text")")
  fi
  # The dot kept line feeds at the end, which a substitution takes away.
  value=${value%.}
}

# is_run PID: a run of this script that goes on.
is_run() { { tr "\0" "\n" <"/proc/$1/cmdline"; } 2>/dev/null | grep -Eq "(^|/)$(basename "$0")\$"; }

# pid_in NAME: the number at the end of a snapshot's name.
pid_in() { [[ $1 =~ ^backup-[0-9]{8}T[0-9]{6}Z-([0-9]+)$ ]] && echo "${BASH_REMATCH[1]}"; }

field store || fail "$store cannot be backed up"
directory=$value
case $directory in
hbase://*) fail "$store is a cluster, of which this makes no backup; \`cellfs copy\` copies it into a store" ;;
esac

marker=.cellfs-backup
remote=
case ${destination%%/*} in *:*) remote=yes ;; esac
if [ -z "$remote" ]; then
  place=$(realpath -m "$destination")
  case $place/ in
  "$(realpath "$directory")"/*) fail "$destination is within the store; choose another directory" ;;
  esac
  existing=$place
  while [ ! -e "$existing" ]; do existing=$(dirname "$existing"); done
  [ "$(findmnt -n -o FSTYPE -T "$existing" || true)" != fuse.cellfs ] ||
    fail "$destination is in a mount of cellfs; choose a directory outside"
  mkdir -p "$destination"
fi
there=$(rsync --list-only "$destination/" | sed 1d) || [ -n "$remote" ] || fail "$destination cannot be read"
if [ -n "$there" ] && ! grep -Eq " \\$marker\$" <<<"$there"; then
  fail "$destination has files and is no backup (it has no $marker); choose an empty directory, or a new one"
fi

# One run at a time: two would undo each other's files. Elsewhere there is no lock of ours; then the store's directory is
# locked. rsync keeps the lock until it has ended, whatever becomes of us.
if [ -n "$remote" ]; then
  exec 9<"$directory"
  flock -n 9 || fail "another run copies $store to a machine; wait until it has ended"
else
  exec 9<"$destination"
  flock -n 9 || fail "another run brings $destination up to date; wait until it has ended, or choose another directory"
fi

prefix=backup
[ -z "$keep" ] || prefix=kept
snapshot=$prefix-$(date -u +%Y%m%dT%H%M%SZ)-$$
own_mount=
made=
words=$(mktemp)

clean_up() {
  # Another signal must not end it half-way.
  trap '' INT TERM HUP
  rm -f "$words"
  if [ -n "$made" ]; then
    cellfs snapshot delete "$store" "$snapshot" || say "delete it by hand: snapshot $snapshot"
  fi
  if [ -n "$own_mount" ]; then
    cellfs umount "$own_mount" && rmdir "$own_mount"
  fi
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

field mount_point
mnt=$value
if [ -z "$mnt" ]; then
  own_mount=$(mktemp -d "${TMPDIR:-/tmp}/cellfs-backup.$$.XXXXXX")
  cellfs mount "$store" "$own_mount" -o ro || { rmdir "$own_mount"; own_mount=; fail "$store cannot be mounted"; }
  mnt=$own_mount
elif [[ $mnt =~ /cellfs-backup\.([0-9]+)\.[^/]*$ ]] && ! is_run "${BASH_REMATCH[1]}"; then
  # A run that was killed has left it.
  own_mount=$mnt
fi
case $(cellfs status --json "$store") in
*'"no_xattr":true'*) fail "$mnt is mounted with noxattr, so that TTLs would be missing: mount $store without, or unmount it meanwhile" ;;
esac

cellfs snapshot list --json "$store" | sed -n 's/^{.*"snapshot":"\([^"]*\)".*/\1/p' | while read -r name; do
  pid=$(pid_in "$name") || continue
  if ! is_run "$pid"; then
    say "deleting snapshot $name of a run that was killed"
    cellfs snapshot delete "$store" "$name" || say "delete it by hand: snapshot $name"
  fi
done

if [ -w "$directory" ]; then
  cellfs snapshot create "$store" "$snapshot" || fail "no snapshot of $store could be made"
  made=yes
  tree=$mnt/.snapshot/$snapshot
else
  # A read-only filesystem: nothing changes meanwhile.
  tree=$mnt
fi
source=$tree/.history
status=0
echo "made by backup.sh; restore.sh makes a store of it" >"$words"
# What a table's state is, .history does not say. Names of namespaces and tables have nothing in them that needs a quote.
for info in "$tree"/*/*/.info/; do
  [ -e "$info" ] || continue
  if read -r first <"$info/describe" && [[ $first == *" is DISABLED"* ]]; then
    table=${info%/.info/}
    namespace=${table%/*}
    echo "disabled ${namespace##*/}:${table##*/}" >>"$words"
  fi
done
# Nor what the store's settings are.
settings=$(cellfs config --json "$store") || fail "the settings of $store cannot be read"
for name in $(sed -n 's/^{"name":"\([^"]*\)","origin":"set".*/\1/p' <<<"$settings"); do
  value=$(cellfs config "$store" "$name") || fail "the settings of $store cannot be read"
  if [[ $value == *$'\n'* ]]; then
    echo "${0##*/}: the setting $name has several lines, and is left out" >&2
  else
    printf 'setting %s %s\n' "$name" "$value" >>"$words"
  fi
done
rsync "$words" "$destination/$marker" || fail "$destination cannot be written"
# A part of a second may be all that differs of what was changed in the schema.
# shellcheck disable=SC2086 # several options are several words
{ rsync -aX --modify-window=-1 --delete --filter="P /$marker" ${RSYNC_OPTIONS:-} "$source/" "$destination/" 2>&1 >&3 3>&- | tee "$words" >&2; } 3>&1 ||
  status=$?

# Cells whose bytes the store cannot give: rsync names them as they are in the snapshot.
unread() { SOURCE=$source/ awk '
  { at = index($0, "\"" ENVIRON["SOURCE"]) }
  at && /Input\/output error/ {
    rest = substr($0, at + 1 + length(ENVIRON["SOURCE"]))
    sub(/".*/, "", rest)
    if (!seen[rest]++) print "  " rest
  }' "$words"; }

case $status in
# 24: what has expired since the listing.
0 | 24) ;;
23)
  cells=$(unread)
  [ -n "$cells" ] || fail "rsync could not copy everything (status 23, see above); the rest is in $destination"
  say "$(wc -l <<<"$cells") cells cannot be read; everything else is in $destination:"
  head -20 <<<"$cells" >&2
  say "what is damaged is told by: cellfs check $store"
  ;;
*) fail "rsync ended with status $status; the copy in $destination is not complete. Run this again" ;;
esac
if [ -n "$keep" ] && [ -n "$made" ]; then
  made=
  echo "$snapshot"
fi
[ "$status" != 23 ] || exit 2
