#!/bin/bash
# demo.sh start|stop CELLFS: a mounted demo store in demo/mnt, loaded through the mount and the command line. One that was
# loaded before is mounted as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
action=$1
cellfs=$2
store=$PWD/demo/store
mnt=$PWD/demo/mnt
loaded=$PWD/demo/loaded

is_mounted() { awk -v m="$mnt" '$2 == m && $3 == "fuse.cellfs" {found = 1} END {exit !found}' /proc/mounts; }

stop() {
  if is_mounted; then
    "$cellfs" umount "$mnt"
    echo "demo/mnt is unmounted. The store stays in demo/store."
  else
    echo "demo/mnt is not mounted."
  fi
}

# show COMMAND: a command as a user would type it, then its output
show() {
  printf '\n\033[1m$ %s\033[0m\n' "$1"
  (cd demo && PATH="$(dirname "$cellfs"):$PATH" bash -c "$1")
}

family() { mkdir -p "$mnt/default/$1/.schema/$2"; }

# The tables of `cellfs demo`.
load_tables() { "$cellfs" shell -n "$mnt" src/cli/demo.txt >/dev/null; }

# One sample a second of /proc/stat and /proc/meminfo until the file `until` goes away.
sample() {
  local until=$1 row key value
  while [ -e "$until" ]; do
    row=$mnt/default/metrics/$(uname -n)-$(date +%s)
    mkdir -p "$row/stat" "$row/meminfo"
    # Read as a whole first: both change while they are read.
    while read -r key value; do printf %s "$value" >"$row/stat/$key"; done <<<"$(cat /proc/stat)"
    while IFS=': ' read -r key value; do printf %s "$value" >"$row/meminfo/$key"; done <<<"$(cat /proc/meminfo)"
    sleep 1
  done
}

# The files of /etc that everyone may read: row = host name, qualifier = path with %2F.
load_etc() {
  mkdir -p "$mnt/default/etc"
  family etc file
  local row
  row=$mnt/default/etc/$(uname -n)/file
  mkdir -p "$row"
  find /etc -xdev -type f -perm -o=r -size -1024k 2>/dev/null | while IFS= read -r path; do
    cp -p "$path" "$row/${path//\//%2F}"
  done
  cp /etc/hosts "$row/%2Fetc%2Fhosts"
  echo "192.0.2.7 printer" >>"$row/%2Fetc%2Fhosts"
  sed -i 's/printer/printer.example/' "$row/%2Fetc%2Fhosts"
}

tour() {
  local host
  host=$(uname -n)
  show 'ls mnt/default'
  show 'find mnt/default/webtable | sort'
  show 'cat mnt/default/webtable/com.cnn.www/anchor/cnnsi.com; echo'
  show 'cat mnt/default/webtable/com.cnn.www/contents/html; echo'
  show 'ls -l mnt/default/webtable/com.cnn.www/contents/html@/'
  show 'cat mnt/default/webtable/com.cnn.www/contents/html@3; echo'
  show 'cellfs get store webtable com.cnn.www'
  show 'cellfs put store webtable com.cnn.www anchor:cnnsi.com "CNN Sports"; cat mnt/default/webtable/com.cnn.www/anchor/cnnsi.com; echo'
  show 'grep -r Twain mnt/default/users'
  show 'cat mnt/default/twits/*/twits/twit | head -c 60; echo'
  show "ls mnt/shop/orders; cat mnt/shop/orders/00000017-0001/lines/paper; echo"
  show 'cat mnt/default/webtable/.schema/contents/VERSIONS'
  show "ls mnt/default/metrics | tail -3"
  show "ls mnt/default/etc/$host/file | wc -l"
  show "ls -l mnt/default/etc/$host/file/%2Fetc%2Fhosts@/"
  show "cd mnt/default/etc/$host/file/%2Fetc%2Fhosts@ && diff \$(ls | sort -n | tail -2) || true"
  show 'rm mnt/default/webtable/com.cnn.www/anchor/my.look.ca; ls mnt/default/webtable/com.cnn.www/anchor; cat mnt/default/webtable/com.cnn.www/anchor/my.look.ca@8; echo'
  show 'cellfs status store'
}

# told WORDS: how to go on with the store, which WORDS mounted.
told() {
  cat <<EOS

The store demo/store $1 mounted at demo/mnt: go on with ls, cat, cp, rm there.
    ${cellfs#"$PWD"/} --help      what the command line can do
    make demo-stop                    unmount it (the store stays in demo/store)
EOS
}

start() {
  # Order: what a daemon that was killed has left there is no directory.
  if is_mounted; then
    "$cellfs" umount "$mnt"
  fi
  mkdir -p demo/mnt
  if [ -e "$loaded" ] && [ -e "$store" ]; then
    "$cellfs" mount "$store" "$mnt"
    told "that was there is"
    echo "    make demo-stop; rm -r demo/store      for a new one with the next make demo"
    return
  fi
  # Nothing, or what an interrupted run has left.
  rm -rf "$loaded" "$store"
  "$cellfs" mount "$store" "$mnt"
  mkdir -p "$mnt/default/metrics"
  family metrics stat
  family metrics meminfo

  running=$(mktemp)
  sample "$running" &
  local sampler=$!
  trap 'rm -f "$running"' EXIT
  load_tables
  load_etc
  tour
  rm -f "$running"
  wait "$sampler"
  touch "$loaded"
  told is
}

case $action in
start) start ;;
stop) stop ;;
*)
  echo "usage: $0 start|stop CELLFS" >&2
  exit 2
  ;;
esac
