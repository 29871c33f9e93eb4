#!/bin/bash
# whole.sh bash|zsh|fish: what is installed for a shell: completion of the grammar, which is generated, and of the names
# that a store has (names.*).
set -euo pipefail
cd "$(dirname "$0")"
case ${1-} in
bash | fish) cat "cellfs.$1" "names.$1" ;;
zsh)
  # The end of the generated file runs it, or registers it: behind the names.
  sed '/^if \[ "\$funcstack/,$d' _cellfs
  cat names.zsh
  sed -n '/^if \[ "\$funcstack/,$p' _cellfs
  ;;
*)
  echo "usage: whole.sh bash|zsh|fish" >&2
  exit 1
  ;;
esac
