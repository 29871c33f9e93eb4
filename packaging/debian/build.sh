#!/bin/bash
# build.sh VERSION OUT.deb: a Debian package of what `make install` installs; CELLFS may name another program.
#
# By dpkg-deb rather than by a tool that has a list of files of its own: so the list is in one place, the Makefile.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$1
out=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 0755 "$root"

make --no-print-directory -s install CELLFS="${CELLFS:-$PWD/target/dist/cellfs}" DESTDIR="$root" PREFIX=/usr SBINDIR=/usr/sbin \
  ZSHDIR=/usr/share/zsh/vendor-completions
strip --strip-unneeded "$root/usr/bin/cellfs"
mkdir -p "$root/usr/share/doc/cellfs"
cat >"$root/usr/share/doc/cellfs/copyright" <<COPYRIGHT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Files: *
Copyright: the cellfs maintainers
License: Apache-2.0
 On Debian systems the full text is in /usr/share/common-licenses/Apache-2.0.
COPYRIGHT
printf 'cellfs (%s) unstable; urgency=medium\n\n  * Release %s.\n\n -- cellfs maintainers <cellfs@localhost>  %s\n' \
  "$version" "$version" "$(date -R -d "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}")" |
  gzip -9n >"$root/usr/share/doc/cellfs/changelog.gz"

# The oldest libc that has every symbol that the program asks for.
libc=$(grep -ao 'GLIBC_2\.[0-9.]*[0-9]' "$root/usr/bin/cellfs" | cut -d_ -f2 | sort -uV | tail -1)
mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<CONTROL
Package: cellfs
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: cellfs maintainers <cellfs@localhost>
Installed-Size: $(du -ks --exclude=DEBIAN "$root" | cut -f1)
Depends: libc6 (>= $libc), libgcc-s1, fuse3
Recommends: rsync
Section: utils
Priority: optional
Description: HBase-model table store that is used as a filesystem
 Namespaces, tables, rows and column families are directories, cells are files,
 each with its history. A store is one directory; a daemon mounts it with FUSE.
 With a systemd service, backup and restore, and a shell that speaks HBase's.
CONTROL
(cd "$root" && find etc -type f -printf '/%p\n') >"$root/DEBIAN/conffiles"
(cd "$root" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
install -m 0755 packaging/debian/postinst packaging/debian/prerm packaging/debian/postrm "$root/DEBIAN/"
mkdir -p "$(dirname "$out")"
dpkg-deb --root-owner-group -Zxz --build "$root" "$out" >/dev/null
