#!/bin/bash
# audit.sh: licences, bans, sources and advisories of everything that is built in, by cargo-deny (installed if absent).
# Where the advisory database cannot be had, the rest is checked and a sentence says so.
set -uo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/target/tools
PATH=$PATH:$tools/bin
if ! command -v cargo-deny >/dev/null; then
  echo "installing cargo-deny into $tools"
  cargo install --quiet --locked --root "$tools" --target-dir "$tools/build" cargo-deny@0.20.2 || {
    echo "cargo-deny cannot be installed here: run this where crates.io can be reached" >&2
    exit 1
  }
fi
cargo deny --locked check bans licenses sources || exit 1
if words=$(cargo deny --locked check advisories 2>&1); then
  echo "$words"
elif grep -q "failed to fetch advisory database" <<<"$words"; then
  echo "The advisory database could not be fetched: advisories were NOT checked." >&2
else
  echo "$words" >&2
  exit 1
fi
