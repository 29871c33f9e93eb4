#!/bin/bash
# demo.sh start|stop CELLFS: a mounted demo store in demo/mnt, loaded through the mount and the command line.
set -euo pipefail
cd "$(dirname "$0")/.."
action=$1
cellfs=$2
store=$PWD/demo/store
mnt=$PWD/demo/mnt

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

# The webtable of the HBase reference guide: t3 is timestamp 3, t9 is 9.
load_webtable() {
  "$cellfs" create "$mnt" webtable contents anchor people
  local cnn=$mnt/default/webtable/com.cnn.www example=$mnt/default/webtable/com.example.www
  mkdir -p "$cnn/contents" "$cnn/anchor" "$example/contents" "$example/people"
  printf '<html>the page at t3</html>' >"$cnn/contents/html@3"
  printf '<html>the page at t5</html>' >"$cnn/contents/html@5"
  printf '<html>the page at t6</html>' >"$cnn/contents/html@6"
  "$cellfs" put "$mnt" webtable com.cnn.www anchor:cnnsi.com CNN 9
  "$cellfs" put "$mnt" webtable com.cnn.www anchor:my.look.ca CNN.com 8
  printf '<html>an example</html>' >"$example/contents/html@5"
  "$cellfs" put "$mnt" webtable com.example.www people:author 'John Doe' 5
}

md5() { printf %s "$1" | md5sum | cut -c1-32; }

# TwitBase: users, their twits (newest first by a reversed time in the key), who follows whom.
load_twitbase() {
  local users=$mnt/default/users twits=$mnt/default/twits follows=$mnt/default/follows
  mkdir -p "$users" "$twits" "$follows"
  family users info
  family twits twits
  family follows f
  local id name n=0
  while IFS=: read -r id name; do
    mkdir -p "$users/$id/info"
    printf %s "$name" >"$users/$id/info/name"
    printf %s "$id@example.com" >"$users/$id/info/email"
    printf %s "abc123" >"$users/$id/info/password"
    printf 0 >"$users/$id/info/tweet_count"
  done <<USERS
TheRealMT:Mark Twain
TheFakeMT:Mark Twain's fan
HRogers:Henry Rogers
Olivia:Olivia Clemens
USERS
  while IFS=: read -r id text; do
    n=$((n + 1))
    local row
    row=$(md5 "$id")$(printf %019d $((9223372036854775807 - 1329088818321 - n * 60000)))
    mkdir -p "$twits/$row/twits"
    printf %s "$id" >"$twits/$row/twits/user"
    printf %s "$text" >"$twits/$row/twits/twit"
  done <<TWITS
TheRealMT:First twit
Olivia:Second twit
HRogers:Twit foo
TheRealMT:Twit bar
TWITS
  for pair in TheFakeMT:TheRealMT TheFakeMT:HRogers TheRealMT:HRogers TheRealMT:Olivia; do
    row=$(md5 "${pair%:*}")$(md5 "${pair#*:}")
    mkdir -p "$follows/$row/f"
    printf %s "${pair#*:}" >"$follows/$row/f/${pair#*:}"
  done
}

# Customers and orders: the order's key is the customer's number followed by the order's.
load_orders() {
  mkdir -p "$mnt/shop/customers" "$mnt/shop/orders"
  mkdir "$mnt/shop/customers/.schema/info" "$mnt/shop/orders/.schema/info" "$mnt/shop/orders/.schema/lines"
  local number name city
  while IFS=: read -r number name city; do
    local row=$mnt/shop/customers/$number
    mkdir -p "$row/info"
    printf %s "$name" >"$row/info/name"
    printf %s "$city" >"$row/info/city"
  done <<CUSTOMERS
00000017:Ada Lovelace:London
00000042:Grace Hopper:New York
CUSTOMERS
  local customer order item
  while IFS=: read -r customer order date items; do
    local row=$mnt/shop/orders/$customer-$order
    mkdir -p "$row/info" "$row/lines"
    printf %s "$date" >"$row/info/date"
    for item in $items; do printf %s "${item#*=}" >"$row/lines/${item%=*}"; done
  done <<ORDERS
00000017:0001:1843-09-01:paper=12 ink=1
00000017:0002:1843-10-05:punch-cards=1000
00000042:0001:1952-05-02:wire-29.8cm=30
ORDERS
}

# One sample a second of /proc/stat and /proc/meminfo until the file `until` goes away.
sample() {
  local until=$1 row key value
  while [ -e "$until" ]; do
    row=$mnt/default/metrics/$(uname -n)-$(date +%s)
    mkdir -p "$row/stat" "$row/meminfo"
    while read -r key value; do printf %s "$value" >"$row/stat/$key"; done </proc/stat
    while IFS=': ' read -r key value; do printf %s "$value" >"$row/meminfo/$key"; done </proc/meminfo
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

start() {
  mkdir -p demo/mnt
  if is_mounted; then
    "$cellfs" umount "$mnt"
  fi
  rm -rf "$store"
  "$cellfs" mount "$store" "$mnt"
  mkdir -p "$mnt/default/metrics"
  family metrics stat
  family metrics meminfo

  running=$(mktemp)
  sample "$running" &
  local sampler=$!
  trap 'rm -f "$running"' EXIT
  load_webtable
  load_twitbase
  load_orders
  load_etc
  tour
  rm -f "$running"
  wait "$sampler"
  cat <<EOS

The store demo/store is mounted at demo/mnt: go on with ls, cat, cp, rm there.
    target/release/cellfs --help      what the command line can do
    make demo-stop                    unmount it (the store stays in demo/store)
EOS
}

case $action in
start) start ;;
stop) stop ;;
*)
  echo "usage: $0 start|stop CELLFS" >&2
  exit 2
  ;;
esac
