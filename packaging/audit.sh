#!/bin/bash
# audit.sh: licences, bans, sources and advisories of everything that is built in, by cargo-deny (installed if absent).
# Where the advisory database cannot be had, an older copy of it is used, or the rest is checked and a sentence says so.
set -uo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/target/tools
PATH=$PATH:$tools/bin
if ! command -v cargo-deny >/dev/null; then
  echo "installing cargo-deny into $tools"
  cargo install --quiet --locked --root "$tools" --target-dir "$tools/build" cargo-deny@0.20.2 || {
    echo "cargo-deny cannot be installed here: run this where its registry can be reached" >&2
    exit 1
  }
fi
cargo deny --locked check bans licenses sources || exit 1
# Says what was found, and ends as it ended.
tell() {
  echo "$words"
  exit "$1"
}

words=$(cargo deny --locked check advisories 2>&1) && tell 0
grep -q "failed to fetch advisory database" <<<"$words" || tell 1
if compgen -G "${CARGO_HOME:-$HOME/.cargo}/advisory-dbs/*/.git" >/dev/null; then
  echo "The advisory database could not be brought up to date: the copy that this machine has is used." >&2
  words=$(cargo deny --locked --offline check advisories 2>&1) && tell 0
  tell 1
fi
echo "The advisory database could not be fetched, and there is no copy here: advisories were NOT checked." >&2
