#!/bin/bash
# notice.sh: writes NOTICE, which names everything that is linked into the program, with its licence.
set -euo pipefail
cd "$(dirname "$0")/.."
{
  echo "cellfs"
  echo
  echo "The program is linked with these libraries, each under the licence beside it, as its source says."
  echo "Their texts come with their sources; SQLite, bundled with rusqlite, is in the public domain."
  echo
  cargo tree --locked -e normal --prefix none --no-dedupe --format '{p}|{l}' | sed 's/ (proc-macro)//' | sort -u |
    awk -F'|' '!/^cellfs / { split($1, name, " "); printf "%s %s: %s\n", name[1], substr(name[2], 2), $2 }'
} >NOTICE
