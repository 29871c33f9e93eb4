#!/bin/bash
# package.sh DEB NEWER-DEB DIR: installs, uses, upgrades, removes and purges the package in a copy-on-write view of this
# machine (a mount namespace of its own, an overlay of the root). Prints what went wrong and exits 1; exits 77 where the
# machine allows none of it.
set -u
deb=$1
newer=$2
dir=$3
root=$dir/root
# Copies of other tests' loop mounts would keep their filesystems alive here after they were unmounted there.
awk '$1 ~ "^/dev/loop" && $2 != "/" {print $2}' /proc/self/mounts | xargs -r umount -l
mkdir -p "$root" "$dir/over"
mount -t tmpfs tmpfs "$dir/over" && mkdir "$dir/over/u" "$dir/over/w" || exit 77
mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/over/u,workdir=$dir/over/w" "$root" || exit 77
mount -t tmpfs tmpfs "$root/tmp" && mount -t tmpfs -o dev tmpfs "$root/dev" || exit 77
mount -t proc proc "$root/proc" && mount --bind /sys "$root/sys" || exit 77
mknod -m 0666 "$root/dev/null" c 1 3 && mknod -m 0666 "$root/dev/fuse" c 10 229 && mknod -m 0444 "$root/dev/urandom" c 1 9 ||
  exit 77
ln -s /proc/self/fd "$root/dev/fd"
cp "$deb" "$root/tmp/old.deb"
cp "$newer" "$root/tmp/new.deb"
rm -f "$root/usr/local/bin/cellfs"

store=/var/lib/cellfs/demo
mnt=/srv/cellfs/demo
cell=$mnt/default/t/r/f/q
daemon=
trap '[ -z "$daemon" ] || kill -KILL $daemon 2>/dev/null' EXIT
in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"; }
fail() {
  echo "FAILED: $*" >&2
  umount -l "$root$mnt" 2>/dev/null
  exit 1
}
is_mounted() { grep -q " $root$mnt fuse.cellfs" /proc/self/mounts; }
# refused SENTENCE COMMAND...: it fails, and says so
refused() {
  local sentence=$1 words
  shift
  words=$("$@" 2>&1) && fail "not refused: $*"
  grep -q -- "$sentence" <<<"$words" || fail "$*: no '$sentence' in: $words"
}

in_root dpkg -i /tmp/old.deb >"$dir/dpkg.log" 2>&1 || fail "dpkg -i: $(cat "$dir/dpkg.log")"
in_root getent passwd cellfs >/dev/null || fail "no user cellfs"
[ "$(stat -c '%U %a' "$root/srv/cellfs")" = "root 755" ] || fail "/srv/cellfs"
in_root cellfs --version >/dev/null || fail "cellfs --version"
for page in cellfs.1 cellfs-mount.1 mount.cellfs.8 cellfs-store.5 cellfs-tree.7; do
  gzip -t "$root/usr/share/man/man${page##*.}/$page.gz" || fail "man page $page"
done

if in_root test -x /usr/bin/systemd-analyze; then
  units="cellfs@demo.service cellfs-backup@demo.service cellfs-backup@demo.timer"
  words=$(in_root systemd-analyze verify --man=no $units /usr/share/doc/cellfs/examples/srv-cellfs-demo.mount 2>&1) ||
    fail "systemd-analyze verify: $words"
  ! grep -i cellfs <<<"$words" || fail "systemd-analyze verify complains: $words"
  for unit in cellfs@demo.service cellfs-backup@demo.service; do
    in_root systemd-analyze security --offline=yes --threshold=35 "$unit" >"$dir/security" 2>&1 ||
      fail "security of $unit: $(tail -1 "$dir/security")"
    tail -1 "$dir/security"
  done
else
  echo "skipped: systemd is not installed, its units are not verified"
fi
in_root bash -c '. /usr/share/bash-completion/completions/cellfs && complete -p cellfs' >/dev/null || fail "bash completion"
for shell in zsh:-n:zsh/vendor-completions/_cellfs fish:--no-execute:fish/vendor_completions.d/cellfs.fish; do
  IFS=: read -r name flag file <<<"$shell"
  if in_root which "$name" >/dev/null; then
    in_root "$name" "$flag" "/usr/share/$file" || fail "$name completion"
  else
    echo "skipped: $name is not installed, its completions are not read"
  fi
done

# As the unit runs it: an unprivileged user with one capability, and no way to more.
in_root install -d -m 0700 $store
in_root chown cellfs:cellfs $store
unit=$root/usr/lib/systemd/system/cellfs@.service
# What the unit does before it starts the daemon; a line with `-` may fail.
prepare() {
  local line
  while IFS= read -r line; do
    in_root sh -c "umask 077; $(sed 's/^[-+]*//; s/%i/demo/g' <<<"$line")" || [ "${line#-}" != "$line" ] || fail "$line"
  done < <(sed -n 's/^ExecStartPre=//p' "$unit")
}
start() {
  prepare
  chroot "$root" /usr/bin/env -i PATH=/usr/bin setpriv --reuid cellfs --regid cellfs --init-groups --no-new-privs \
    --inh-caps -all,+sys_admin --ambient-caps -all,+sys_admin --bounding-set -all,+sys_admin \
    cellfs mount -f -o allow_other,families=auto $store $mnt >"$dir/daemon.log" 2>&1 &
  daemon=$!
  # Names of a dead mount may still be cached, the filesystem's numbers are not.
  until [ "$(stat -f -c %t "$root$mnt" 2>/dev/null)" = 65735546 ]; do
    kill -0 $daemon 2>/dev/null || fail "the service does not start: $(cat "$dir/daemon.log")"
  done
}
start
in_root setpriv --reuid cellfs --regid cellfs --clear-groups mkdir -p ${cell%/*} || fail "mkdir in the service's mount"
in_root setpriv --reuid cellfs --regid cellfs --clear-groups sh -c "echo one >$cell" || fail "write"
kill -KILL $daemon
wait $daemon 2>/dev/null
start
[ "$(cat "$root$cell")" = one ] || fail "read after a crash"
kill -TERM $daemon
wait $daemon || fail "SIGTERM: $(cat "$dir/daemon.log")"
is_mounted && fail "still mounted after SIGTERM"

refused "belongs to user" in_root mount -t cellfs $store $mnt
in_root mount -t cellfs -o other_owner $store $mnt || fail "mount -t cellfs"
[ "$(cat "$root$cell")" = one ] || fail "read"
if in_root which logrotate >/dev/null; then
  log=$root/var/log/cellfs/var-lib-cellfs-demo.log
  [ -e "$log" ] && [ ! -e "$root$store/cellfs.log" ] || fail "the log is not in /var/log/cellfs"
  echo old >>"$log"
  in_root logrotate -f /etc/logrotate.d/cellfs || fail "logrotate"
  until [ -e "$log" ]; do :; done
  grep -q old "$log.1" || fail "the log was not rotated"
fi

words=$(in_root dpkg -i /tmp/new.deb 2>&1) || fail "upgrade: $words"
grep -q "until they are mounted anew" <<<"$words" || fail "upgrade says nothing of mounts: $words"
[ "$(cat "$root$cell")" = one ] || fail "the mount did not outlive the upgrade"
exec 7<"$root$mnt"
refused "is still mounted" in_root dpkg -r cellfs
[ -x "$root/usr/bin/cellfs" ] || fail "the program went, the mount stayed"
exec 7<&-
# What another copy of the program serves stays.
cp "$root/usr/bin/cellfs" "$root/tmp/other-cellfs"
mkdir "$root/tmp/other-mnt"
in_root /tmp/other-cellfs mount /tmp/other-store /tmp/other-mnt || fail "a mount of another copy"
words=$(in_root dpkg -r cellfs 2>&1) || fail "remove: $words"
is_mounted && fail "removed, but mounted"
[ -d "$root/tmp/other-mnt/default" ] || fail "the removal unmounted what another copy serves"
in_root /tmp/other-cellfs umount /tmp/other-mnt || fail "umount of another copy"
rm -r "$root/tmp/other-cellfs" "$root/tmp/other-mnt" "$root/tmp/other-store"
[ ! -e "$root/usr/bin/cellfs" ] && [ ! -e "$root/sbin/mount.cellfs" ] || fail "files left after remove"
words=$(in_root dpkg -P cellfs 2>&1) || fail "purge: $words"
[ ! -e "$root/etc/logrotate.d/cellfs" ] || fail "a configuration file outlived the purge"
[ -e "$root$store/format" ] || fail "the store went with the package"

in_root dpkg -i /tmp/new.deb >/dev/null 2>&1 || fail "install again"
in_root setpriv --reuid cellfs --regid cellfs --clear-groups cellfs scan $store t | grep -q one || fail "the store again"
in_root rm -r $store
in_root dpkg -P cellfs >/dev/null 2>&1 || fail "purge without stores"
in_root getent passwd cellfs && fail "the user outlived the purge"
[ ! -e "$root/var/lib/cellfs" ] && [ ! -e "$root/srv/cellfs" ] && [ ! -e "$root/var/log/cellfs" ] || fail "directories outlived the purge"
find "$root/usr" "$root/etc" -xdev -name '*cellfs*' -newer "$root/tmp/old.deb" | grep . && fail "files outlived the purge"
exit 0
