#!/bin/bash
# tools.sh DIR: builds pjdfstest and fsx into DIR/bin from their published sources, unless they are there.
set -eu
dir=$(mkdir -p "$1" && cd "$1" && pwd)
pjdfstest=0.2.2 fsx=0.3.2

if [ ! -x "$dir/bin/fsx" ]; then
  cargo install --quiet --locked --root "$dir" "fsx@$fsx"
fi
if [ ! -x "$dir/bin/pjdfstest" ]; then
  # Its working directories begin with a dot, which no family may: the copy that is built names them otherwise.
  mkdir -p "$dir/fetch/src" && touch "$dir/fetch/src/lib.rs"
  printf '[package]\nname = "fetch"\nversion = "0.0.0"\n[dependencies]\npjdfstest = "=%s"\n[workspace]\n' "$pjdfstest" >"$dir/fetch/Cargo.toml"
  cargo fetch --quiet --manifest-path "$dir/fetch/Cargo.toml"
  source=$(echo "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"pjdfstest-$pjdfstest")
  rm -rf "$dir/pjdfstest" && cp -r "$source" "$dir/pjdfstest"
  sed -i 's/\btempdir_in(\([^)]*)\?\))/tempfile::Builder::new().prefix("tmp").tempdir_in(\1)/; s/use tempfile::{tempdir_in, TempDir}/use tempfile::TempDir/' "$dir/pjdfstest/src/main.rs"
  (cd "$dir/pjdfstest" && CARGO_TARGET_DIR="$dir/build" cargo build --quiet --release --locked)
  cp "$dir/build/release/pjdfstest" "$dir/bin/pjdfstest"
  rm -rf "$dir/build" "$dir/fetch"
fi
