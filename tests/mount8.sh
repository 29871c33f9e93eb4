#!/bin/bash
# mount8.sh CELLFS SCRIPTS DIR: mount(8), umount(8) and an fstab line, in a mount namespace of its own in which the
# scripts lie in /sbin. Prints what went wrong and exits 1; exits 77 where the machine allows none of it.
set -u
export CELLFS=$1
scripts=$2
dir=$3
# Copies of other tests' loop mounts would keep their filesystems alive here after they were unmounted there.
awk '$1 ~ "^/dev/loop" && $2 != "/" {print $2}' /proc/self/mounts | xargs -r umount -l
mkdir -p "$dir/upper" "$dir/work" "$dir/mnt"
mount -t tmpfs tmpfs "$dir/work" && mkdir "$dir/work/u" "$dir/work/w" || exit 77
mount -t overlay overlay -o "lowerdir=/usr/sbin,upperdir=$dir/work/u,workdir=$dir/work/w" /usr/sbin || exit 77
for type in cellfs fuse.cellfs; do
  cp "$scripts/mount.cellfs" "/sbin/mount.$type"
  cp "$scripts/umount.cellfs" "/sbin/umount.$type"
done

fail() {
  echo "FAILED: $*" >&2
  umount -l "$mnt" 2>/dev/null
  exit 1
}
store=$dir/store
mnt=$dir/mnt
cell=$mnt/default/t/r/f/q
daemon() { sed -n 's/^pid //p' "$store/LOCK"; }
ended() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status"; }
# ends PID: it ends soon; a mount without the helper of its type is unmounted by the kernel alone.
ends() { for _ in $(seq 200); do ended "$1" && return; sleep 0.05; done; false; }
# refused SENTENCE COMMAND...: it fails, and says so
refused() {
  local sentence=$1 words
  shift
  words=$("$@" 2>&1) && fail "not refused: $*"
  grep -q -- "$sentence" <<<"$words" || fail "$*: no '$sentence' in: $words"
}

mount -t cellfs "$store" "$mnt" -o families=auto,uid=12,gid=34,fmask=027,dmask=007,nofail,x-systemd.automount ||
  fail "mount -t cellfs"
mkdir -p "$mnt/default/t/r/f"
echo one >"$cell" || fail "write"
[ "$(stat -c '%u %g %a' "$cell")" = "12 34 640" ] || fail "attributes: $(stat -c '%u %g %a' "$cell")"
[ "$(stat -c %a "$mnt/default/t/r")" = 770 ] || fail "directory's mode"
pid=$(daemon)
umount "$mnt" || fail "umount"
ended "$pid" || fail "the daemon outlived umount"

mount -t fuse.cellfs -o ro,history=inline,durability=fsync,noxattr,temporary=*.tmp "$store" "$mnt" ||
  fail "mount -t fuse.cellfs"
[ "$(cat "$cell")" = one ] || fail "read"
refused "Read-only" touch "$cell"
refused "mounted with the option ro" mount -o remount,rw "$mnt"
pid=$(daemon)
umount "$mnt" || fail "umount of a read-only mount"
ends "$pid" || fail "the daemon outlived the umount of a read-only mount"

echo "$store $mnt cellfs defaults,noauto,_netdev,allow_other 0 0" >"$dir/fstab"
mount -T "$dir/fstab" "$mnt" || fail "mount by fstab"
setpriv --reuid 12 --regid 34 --clear-groups cat "$cell" >/dev/null || fail "allow_other"
refused "Permission denied" setpriv --reuid 12 --regid 34 --clear-groups touch "$cell"

exec 7>>"$cell"
refused "open for writing" mount -o remount,ro "$mnt"
exec 7>&-
mount -o remount,ro "$mnt" || fail "remount,ro"
refused "Read-only" touch "$cell"
words=$(mount -o remount,rw "$mnt" 2>&1) && [ -z "$words" ] || fail "remount,rw: $words"
echo two >"$cell" || fail "write after remount,rw"
words=$(mount -o remount,rw,uid=77 "$mnt" 2>&1) || fail "remount of a word it cannot obey"
grep -q 'uid=77` is left as it was' <<<"$words" || fail "no word of what was left: $words"

kill -KILL "$(daemon)"
mount -t cellfs "$store" "$mnt" || fail "mount over a dead mount"
[ "$(cat "$cell")" = two ] || fail "read after a crash"
[ "$(grep -c " $mnt " /proc/self/mounts)" = 1 ] || fail "the dead mount is still there"
kill -KILL "$(daemon)"
until ended "$(daemon)"; do :; done
umount "$mnt" || fail "umount of a dead mount"

refused "unknown mount option .nonsense" mount -t cellfs -o nonsense "$store" "$mnt"
refused "wants an octal number" mount -t cellfs -o umask=9 "$store" "$mnt"
refused "wants skip, async, sync or fsync" mount -t cellfs -o durability=perhaps "$store" "$mnt"
refused "no set-user-id files" "$CELLFS" mount -o suid "$store" "$mnt"
mount -t cellfs -f "$store" "$mnt" || fail "a dry run"
grep -q " $mnt fuse" /proc/self/mounts && fail "a dry run mounts"
exit 0
