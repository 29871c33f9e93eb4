//! Refusals: the errno of each, a sentence that says what to do, nothing half-done.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;
use std::process::Command;

use super::fixture::{Fixture, errno, names};

fn last_refusal(fixture: &Fixture) -> String {
    let errors = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    errors.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn mount_refuses_what_the_tree_has_not() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("q"), "v").unwrap();
    assert_eq!(errno(symlink("q", family.join("link"))), libc::EPERM);
    assert_eq!(errno(fs::hard_link(family.join("q"), family.join("hard"))), libc::EPERM);
    assert_eq!(errno(fs::create_dir(family.join("deeper"))), libc::EPERM);
    assert_eq!(errno(File::create(fixture.path("t/file"))), libc::EPERM);
    assert_eq!(errno(File::create(fixture.path("t/r/file"))), libc::EPERM);
    assert_eq!(errno(fs::create_dir(fixture.path("t/r/nofamily"))), libc::EPERM);
    assert!(last_refusal(&fixture).contains("mkdir .schema/nofamily"), "{}", last_refusal(&fixture));
    let fifo = nix::unistd::mkfifo(&family.join("fifo"), nix::sys::stat::Mode::S_IRWXU);
    assert_eq!(fifo, Err(nix::errno::Errno::EPERM));
    assert_eq!(names(&family), ["q"]);
}

#[test]
fn mount_refuses_names_that_are_not_canonical_with_the_right_spelling() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    for (wrong, right) in [("a\n", "`a%0A`"), ("x@05", "without leading zeros"), ("@5", "`%@5`")] {
        assert_eq!(errno(fs::metadata(family.join(wrong))), libc::ENOENT, "{wrong}");
        assert_eq!(errno(File::create(family.join(wrong))), libc::EINVAL, "{wrong}");
        assert!(last_refusal(&fixture).contains(right), "{wrong}: {}", last_refusal(&fixture));
    }
    assert_eq!(errno(File::create(family.join("n".repeat(256)))), libc::ENAMETOOLONG);
    assert_eq!(errno(fs::create_dir(fixture.mnt().join("no-dash"))), libc::EINVAL);
    assert_eq!(errno(fs::create_dir(fixture.mnt().join("hbase"))), libc::EEXIST);
}

#[test]
fn mount_refuses_a_value_past_the_limit() {
    let fixture = Fixture::with_limit(1_000_000);
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "small").unwrap();
    let file = OpenOptions::new().write(true).open(&cell).unwrap();
    assert_eq!(errno(file.write_all_at(b"x", 1_000_000)), libc::EFBIG);
    assert!(last_refusal(&fixture).contains("1000000 bytes"));
    drop(file);
    let file = OpenOptions::new().write(true).truncate(true).open(&cell).unwrap();
    assert_eq!(errno(file.set_len(1_000_001)), libc::EFBIG);
    assert!(last_refusal(&fixture).contains("1000000 bytes"));
    assert_eq!(errno(file.write_all_at(b"x", 0)), libc::EFBIG, "nothing of this handle is stored");
    fs::rename(fixture.path("t/r"), fixture.path("t/moved")).unwrap();
    assert_eq!(errno(file.sync_all()), libc::EFBIG);
    drop(file);
    assert_eq!(fs::read_to_string(fixture.family("moved").join("q")).unwrap(), "small");
    let put = fixture.cellfs(&["put", fixture.store().to_str().unwrap(), "t", "r", "f:q", &"x".repeat(100)]);
    assert!(put.status.success());
}

#[test]
fn mount_read_only_and_disabled_tables() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "v").unwrap();
    fs::write(fixture.path("t/.schema/.table/READONLY"), "true").unwrap();
    assert_eq!(errno(fs::write(&cell, "w")), libc::EROFS);
    assert_eq!(errno(fs::remove_file(&cell)), libc::EROFS);
    assert_eq!(fs::read_to_string(&cell).unwrap(), "v");
    fs::write(fixture.path("t/.schema/.table/READONLY"), "false").unwrap();
    fs::write(&cell, "w").unwrap();
}

#[test]
fn mount_with_ro_takes_no_writes() {
    let mut fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "v").unwrap();
    fixture.unmount();
    fixture.mount("ro");
    assert_eq!(errno(fs::write(&cell, "w")), libc::EROFS);
    assert_eq!(fs::read_to_string(&cell).unwrap(), "v");
}

#[test]
fn mount_survives_a_full_disk() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: a small filesystem can only be mounted by root");
        return;
    }
    let disk = tempfile::tempdir().unwrap();
    let _guard = SmallDisk::new(disk.path());
    let (store, mnt) = (disk.path().join("store"), tempfile::tempdir().unwrap());
    let mount = Command::new(super::fixture::CELLFS).arg("mount").arg(&store).arg(mnt.path()).status().unwrap();
    assert!(mount.success());
    let _mount = Unmount(mnt.path());
    let family = mnt.path().join("default/t/r/f");
    fs::create_dir_all(mnt.path().join("default/t/.schema/f")).unwrap();
    fs::create_dir_all(&family).unwrap();
    // Equal bytes would be stored once.
    let value = |n: u64| -> Vec<u8> { (0..37_500u64).flat_map(|at| hashed(n << 32 | at).to_le_bytes()).collect() };
    let mut kept = 0;
    let refused = (0..500u64).find_map(|n| match write_and_sync(&family.join(format!("q{n}")), &value(n)) {
        Ok(()) => {
            kept = n + 1;
            None
        }
        Err(e) => e.raw_os_error(),
    });
    assert_eq!(refused, Some(libc::ENOSPC));
    assert!(kept > 20, "{kept} values fitted");
    for n in 0..kept {
        assert!(fs::read(family.join(format!("q{n}"))).unwrap() == value(n), "q{n}");
    }
    // What could not be stored is not there.
    assert_eq!(names(&family).len() as u64, kept);
    assert!(!family.join(format!("q{kept}")).exists());
    assert_eq!(errno(write_and_sync(&family.join("q1"), &value(1000))), libc::ENOSPC);
    assert!(fs::read(family.join("q1")).unwrap() == value(1), "the old version stays");
    let file = fs::OpenOptions::new().write(true).open(family.join("q1")).unwrap();
    assert_eq!(nix::fcntl::posix_fallocate(&file, 0, 1 << 20), Err(nix::errno::Errno::ENOSPC));
    drop(file);
    // Deleting goes on when nothing else does.
    fs::remove_file(family.join("q0")).unwrap();
    assert!(!family.join("q0").exists());
}

fn hashed(n: u64) -> u64 {
    let mixed = (n ^ (n >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

fn write_and_sync(path: &Path, value: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(value)?;
    file.sync_all()
}

/// A filesystem of 32 MiB, gone when dropped.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn new(at: &'a Path) -> Self {
        let none: Option<&str> = None;
        nix::mount::mount(none, at, Some("tmpfs"), nix::mount::MsFlags::empty(), Some("size=32m")).unwrap();
        Self(at)
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = nix::mount::umount2(self.0, nix::mount::MntFlags::MNT_DETACH);
    }
}

/// A daemonized mount, unmounted when dropped.
struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let _ = Command::new(super::fixture::CELLFS).arg("umount").arg(self.0).status();
    }
}

#[test]
fn mount_without_extended_attributes_sets_none() {
    let fixture = Fixture::with_options("noxattr");
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "v").unwrap();
    let tries = "import errno, os, sys
for call in (lambda p, n: os.setxattr(p, n, b'100000'), os.removexattr, os.getxattr):
    try: call(sys.argv[1], 'user.cellfs.ttl')
    except OSError as e: print(errno.errorcode[e.errno])";
    let told = Command::new("python3").args(["-c", tries]).arg(&cell).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&told.stdout), "ENOTSUP\n".repeat(3));
}

#[test]
fn mount_sets_a_ttl_as_setxattr_is_told() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "v").unwrap();
    let script = "import os, sys, errno\n\
                  def tried(flags):\n    \
                      try: os.setxattr(sys.argv[1], 'user.cellfs.ttl', b'100000', flags)\n    \
                      except OSError as e: return errno.errorcode[e.errno]\n\
                  print(tried(os.XATTR_REPLACE), tried(os.XATTR_CREATE), tried(os.XATTR_CREATE), tried(os.XATTR_REPLACE))";
    let output = Command::new("python3").arg("-c").arg(script).arg(&cell).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ENODATA None EEXIST None\n", "{output:?}");
    let script = "import os, sys\n\
                  for ttl in b'0', b'-5', b'soon', b'\\xff':\n    \
                      try: os.setxattr(sys.argv[1], 'user.cellfs.ttl', ttl)\n    \
                      except OSError as e: print(e.errno, end=' ')";
    let output = Command::new("python3").arg("-c").arg(script).arg(&cell).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{} ", libc::EINVAL).repeat(4), "{output:?}");
    let refusals = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    assert!(refusals.contains("`-5`") && refusals.contains("leave it out"), "{refusals}");
}

#[test]
fn mount_on_the_store_itself_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let fixture = Fixture::new();
    for (store, mount_point) in [("s", "s"), ("s/t", "s")] {
        let (store, mount_point) = (directory.path().join(store), directory.path().join(mount_point));
        fs::create_dir_all(&mount_point).unwrap();
        let output = fixture.cellfs(&["mount", store.to_str().unwrap(), mount_point.to_str().unwrap()]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && text.contains("one within the other"), "{text}");
    }
}

#[test]
fn mount_that_is_read_only_refuses_the_command_line_too() {
    let mut fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    fixture.unmount();
    fixture.mount("ro");
    let store = fixture.store().display().to_string();
    let refused = fixture.cellfs(&["put", &store, "t", "r", "f:q", "other"]);
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && text.contains("mounted read-only"), "{text}");
    assert!(fixture.cellfs(&["snapshot", "create", &store, "s"]).status.success(), "backups need it");
    assert_eq!(fs::read_to_string(fixture.path("t/r/f/q")).unwrap(), "v");
}

#[test]
fn mount_refusals_are_reachable_at_every_level() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("q"), "v").unwrap();
    let snapshot = fixture.cellfs(&["snapshot", "create", fixture.store().to_str().unwrap(), "s"]);
    assert!(snapshot.status.success(), "{snapshot:?}");
    assert_eq!(errno(fs::write(fixture.path("t/.schema/f/VERSIONS"), "many\n")), libc::EINVAL);
    let refusals = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    assert!(refusals.contains("VERSIONS"), "{refusals}");
    let below = [
        "default",
        "default/.schema",
        "default/t",
        "default/t/.schema",
        "default/t/.schema/.table",
        "default/t/.schema/f",
        "default/t/r",
        "default/t/r/f/q@",
        "default/t/.first/3",
        "default/t/.at/-0s",
        "default/t/.at/-0s/r",
        ".at",
        ".history",
        ".history/default/t/r",
        ".snapshot",
        ".snapshot/s",
        ".snapshot/s/default/t",
    ];
    for directory in below {
        let path = fixture.mnt().join(directory).join(".info/errors");
        let told = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(told.contains("VERSIONS"), "{directory}: {told}");
    }
    // In a family it is a cell like any other.
    fs::write(family.join(".info"), "v").unwrap();
    assert_eq!(names(&family), [".info", "q"]);
}

#[test]
fn mount_why_finds_a_refused_rename_by_both_names_and_a_refused_attribute() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("q"), "v").unwrap();
    assert_eq!(errno(fs::rename(family.join("q"), fixture.path("t/r/q"))), libc::EPERM);
    let why = |path: &Path| {
        let told = fixture.cellfs(&["why", path.to_str().unwrap()]);
        String::from_utf8_lossy(&told.stdout).into_owned()
    };
    for path in [family.join("q"), fixture.path("t/r/q")] {
        assert!(why(&path).contains("rename"), "{}: {}", path.display(), why(&path));
    }
    let set = Command::new("setfattr").args(["-n", "user.foo", "-v", "x"]).arg(family.join("q")).output();
    let Ok(set) = set else { return println!("setfattr(1) is missing") };
    assert!(!set.status.success());
    assert!(why(&family.join("q")).contains("user.cellfs.ttl"), "{}", why(&family.join("q")));
}

#[test]
fn mount_refusals_say_what_to_do_instead() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("q"), "v").unwrap();
    for (directory, way) in [("t/r/f", "rm -r"), ("t/r", "rm -r"), ("t", "cellfs drop")] {
        assert_eq!(errno(fs::remove_dir(fixture.path(directory))), libc::ENOTEMPTY);
        assert!(last_refusal(&fixture).contains(way), "{}", last_refusal(&fixture));
    }
    fs::create_dir(fixture.path("t/.schema/f/.check")).unwrap_or_default();
    assert_eq!(errno(File::create(fixture.path("t/.schema/f/.check/a"))), libc::EPERM);
    assert!(last_refusal(&fixture).contains("a check is made with mkdir"), "{}", last_refusal(&fixture));
    let plain = Fixture::with_options("at=plain");
    assert_eq!(errno(File::create(plain.family("r").join("b@18.deleted.5"))), libc::EINVAL);
    assert!(last_refusal(&plain).contains("`b%4018.deleted.5`"), "{}", last_refusal(&plain));
}
