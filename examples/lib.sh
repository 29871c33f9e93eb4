# What the case studies share: a store that is mounted for a while, and questions whose cost is counted.
#
# CELLFS is the program (cellfs). Needs bash, awk; a mount needs /dev/fuse.

set -eu -o pipefail
CELLFS=${CELLFS:-cellfs}
DIR=$(mktemp -d "${TMPDIR:-/tmp}/cellfs-example.XXXXXX")
STORE=$DIR/store
MNT=$DIR/mnt
READ=0
STORED=0

finish() {
    "$CELLFS" umount "$MNT" >/dev/null 2>&1 || true
    rm -rf "$DIR"
}
trap finish EXIT

mkdir "$MNT"
"$CELLFS" mount "$STORE" "$MNT"

# title TEXT: what follows is about.
title() { printf '\n%s\n' "$1"; }

# table NAME FAMILY...
table() { "$CELLFS" create "$STORE" "$@"; }

# recipe TABLE RECIPE: of its row keys.
recipe() { echo "$2" >"$MNT/default/$1/.schema/.key"; }

# load [--key] TABLE: csv on standard input, the first line names the columns; on the disk afterwards.
load() {
    "$CELLFS" import "$STORE" "$@" - --format csv >/dev/null
    "$CELLFS" flush "$STORE" "${@: -1}"
}

cells_read() { "$CELLFS" stats "$STORE" | awk '/^cells read/ { print $NF }'; }

# ask LABEL COMMAND...: runs it; prints how many cells the store has looked at, the bytes of the answer and the time.
# READ is the number of cells. The first of several questions about a table also reads its blocks from the disk.
ask() {
    local label=$1 before began
    shift
    before=$(cells_read)
    began=$(date +%s%N)
    "$@" >"$DIR/answer"
    local ended
    ended=$(date +%s%N)
    READ=$(($(cells_read) - before))
    printf '  %-58s %8d cells %9d bytes %6d ms\n' "$label" "$READ" "$(wc -c <"$DIR/answer")" $(((ended - began) / 1000000))
}

# answers NUMBER: lines that the last answer has to have.
answers() {
    local lines
    lines=$(wc -l <"$DIR/answer")
    [ "$lines" -eq "$1" ] || { echo "the answer has $lines lines, not $1" >&2; exit 1; }
}

# stored TABLE: prints what its cells take; STORED is that number.
stored() {
    STORED=$(cat "$MNT/default/$1/.info/size")
    printf '  %-58s %8s       %9d bytes\n' "stored: table $1" "" "$STORED"
}

# argue SENTENCE LESS MORE: prints the sentence; fails if the first number is not the smaller one.
argue() {
    [ "$2" -lt "$3" ] || { echo "not so: $1 ($2, $3)" >&2; exit 1; }
    printf '  => %s (%d : %d)\n' "$1" "$2" "$3"
}

# scan, get, count: of a table of the store.
scan() { "$CELLFS" scan "$STORE" "$@"; }
get() { "$CELLFS" get "$STORE" "$@"; }
count() { "$CELLFS" count "$STORE" "$@"; }
