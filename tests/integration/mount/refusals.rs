//! The errno of every refusal, in one table.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::fcntl::{AT_FDCWD, FallocateFlags, RenameFlags, fallocate, renameat2};
use nix::sys::stat::{Mode, SFlag, mknod};

use super::fixture::{Fixture, errno, names};
use super::model::put;

/// What is tried in the namespace `default`, and its errno.
type Refusal = (&'static str, i32, fn(&Path) -> i32);

fn of(result: nix::Result<()>) -> i32 {
    result.err().map_or(0, |e| e as i32)
}

fn exchange(one: &Path, other: &Path, flags: RenameFlags) -> i32 {
    of(renameat2(AT_FDCWD, one, AT_FDCWD, other, flags))
}

fn set(path: &Path, value: &str) -> i32 {
    // An attribute is applied, and refused, when its file is closed.
    let Ok(mut file) = File::create(path) else { return -1 };
    file.write_all(value.as_bytes()).unwrap();
    of(nix::unistd::close(file))
}

fn patch(len: usize) -> String {
    format!("{{\"f:other\": \"{}\"}}\n", "v".repeat(len))
}

const REFUSALS: &[Refusal] = &[
    ("look up a name that is not canonical", libc::ENOENT, |d| errno(fs::metadata(d.join("t/r/f/a%0a\n")))),
    ("create a name that is not canonical", libc::EINVAL, |d| errno(File::create(d.join("t/r/f/a%0a\n")))),
    ("look up a timestamp with leading zeros", libc::ENOENT, |d| errno(fs::metadata(d.join("t/r/f/q@01")))),
    ("create a timestamp with leading zeros", libc::EINVAL, |d| errno(File::create(d.join("t/r/f/q@01")))),
    ("look up a timestamp past the last", libc::ENOENT, |d| errno(fs::metadata(d.join("t/r/f/q@9223372036854775807")))),
    ("a version that is not there", libc::ENOENT, |d| errno(fs::metadata(d.join("t/r/f/q@1")))),
    ("versions of what is not there", libc::ENOENT, |d| errno(fs::read_dir(d.join("t/r/f/absent@")))),
    ("a time that is none", libc::ENOENT, |d| errno(fs::metadata(d.join("t/.at/yesterday-ish")))),
    ("an attribute that is not set", libc::ENOENT, |d| errno(fs::metadata(d.join("t/.schema/f/BLOOMFILTER")))),
    ("a row that is not there", libc::ENOENT, |d| errno(fs::read_dir(d.join("t/absent")))),
    ("rmdir of what is not there", libc::ENOENT, |d| errno(fs::remove_dir(d.join("t/absent")))),
    ("a name of 256 bytes", libc::ENAMETOOLONG, |d| errno(File::create(d.join("t/r/f").join("n".repeat(256))))),
    ("O_EXCL of what is there", libc::EEXIST, |d| errno(File::create_new(d.join("t/r/f/q")))),
    ("mkdir of what is there", libc::EEXIST, |d| errno(fs::create_dir(d.join("t/r")))),
    ("a file in a table", libc::EPERM, |d| errno(File::create(d.join("t/file")))),
    ("a file in a row", libc::EPERM, |d| errno(File::create(d.join("t/r/file")))),
    ("a directory among cells", libc::EPERM, |d| errno(fs::create_dir(d.join("t/r/f/deeper")))),
    ("a family that is not declared", libc::EPERM, |d| errno(fs::create_dir(d.join("t/r/none")))),
    ("a symbolic link", libc::EPERM, |d| errno(symlink("q", d.join("t/r/f/link")))),
    ("a hard link", libc::EPERM, |d| errno(fs::hard_link(d.join("t/r/f/q"), d.join("t/r/f/link")))),
    ("a device", libc::EPERM, |d| of(mknod(&d.join("t/r/f/dev"), SFlag::S_IFCHR, Mode::S_IRWXU, 259))),
    ("a fifo", libc::EPERM, |d| of(nix::unistd::mkfifo(&d.join("t/r/f/fifo"), Mode::S_IRWXU))),
    ("a cell renamed to a row", libc::EPERM, |d| errno(fs::rename(d.join("t/r/f/q"), d.join("t/q")))),
    ("a table that HBase would not take", libc::EINVAL, |d| errno(fs::create_dir(d.join("a:b")))),
    ("a family that HBase would not take", libc::EINVAL, |d| errno(fs::create_dir(d.join("t/.schema/a:b")))),
    ("VERSIONS 0", libc::EINVAL, |d| set(&d.join("t/.schema/f/VERSIONS"), "0")),
    ("a TTL that is none", libc::EINVAL, |d| set(&d.join("t/.schema/f/TTL"), "soon")),
    ("a compression that is none", libc::EINVAL, |d| set(&d.join("t/.schema/f/COMPRESSION"), "ARJ")),
    ("MIN_VERSIONS above VERSIONS", libc::EINVAL, |d| set(&d.join("t/.schema/f/MIN_VERSIONS"), "99")),
    ("RENAME_NOREPLACE over a file", libc::EEXIST, |d| {
        exchange(&d.join("t/r/f/q"), &d.join("t/r/f/other"), RenameFlags::RENAME_NOREPLACE)
    }),
    ("RENAME_EXCHANGE of rows", libc::EINVAL, |d| {
        exchange(&d.join("t/r"), &d.join("t/r2"), RenameFlags::RENAME_EXCHANGE)
    }),
    ("RENAME_EXCHANGE of attributes", libc::EINVAL, |d| {
        let schema = d.join("t/.schema/f");
        fs::write(schema.join("new.part"), "7").unwrap();
        exchange(&schema.join("new.part"), &schema.join("VERSIONS"), RenameFlags::RENAME_EXCHANGE)
    }),
    ("RENAME_NOREPLACE over an attribute", libc::EEXIST, |d| {
        let schema = d.join("t/.schema/f");
        exchange(&schema.join("new.part"), &schema.join("VERSIONS"), RenameFlags::RENAME_NOREPLACE)
    }),
    ("RENAME_WHITEOUT", libc::EINVAL, |d| {
        exchange(&d.join("t/r/f/q"), &d.join("t/r/f/w"), RenameFlags::from_bits_retain(4))
    }),
    ("RENAME_EXCHANGE of a cell and a version", libc::EINVAL, |d| {
        let version = names(&d.join("t/r2/f/q@")).remove(0);
        exchange(&d.join("t/r/f/q"), &d.join("t/r2/f").join(format!("q@{version}")), RenameFlags::RENAME_EXCHANGE)
    }),
    ("RENAME_EXCHANGE of a cell and a table", libc::EINVAL, |d| {
        exchange(&d.join("t/r/f/q"), &d.join("narrow"), RenameFlags::RENAME_EXCHANGE)
    }),
    ("a row renamed to a table that lacks its family", libc::EPERM, |d| {
        errno(fs::rename(d.join("t/r"), d.join("narrow/r")))
    }),
    ("a row that is too long for .json", libc::EFBIG, |d| errno(fs::read(d.join("t/long/.json")))),
    ("rename over a row with cells", libc::ENOTEMPTY, |d| errno(fs::rename(d.join("t/r"), d.join("t/r2")))),
    ("rmdir of a row with cells", libc::ENOTEMPTY, |d| errno(fs::remove_dir(d.join("t/r")))),
    ("rmdir of a family with cells", libc::ENOTEMPTY, |d| errno(fs::remove_dir(d.join("t/r/f")))),
    ("rmdir of a table with rows", libc::ENOTEMPTY, |d| errno(fs::remove_dir(d.join("t")))),
    ("rmdir of a namespace with tables", libc::ENOTEMPTY, |d| errno(fs::remove_dir(d))),
    ("rmdir of a family that rows use", libc::ENOTEMPTY, |d| errno(fs::remove_dir(d.join("t/.schema/f")))),
    ("a large row renamed", libc::EXDEV, |d| errno(fs::rename(d.join("t/large"), d.join("t/larger")))),
    ("a value past the limit", libc::EFBIG, |d| errno(fs::write(d.join("t/r/f/other"), vec![0; 1_000_001]))),
    ("a value of .json past the limit", libc::EFBIG, |d| errno(fs::write(d.join("t/r/.json"), patch(1_000_001)))),
    ("a quota that is none", libc::EPERM, |d| {
        errno(fs::write(d.join(".schema/hbase.namespace.quota.maxtables"), "many\n"))
    }),
    ("truncate past the limit", libc::EFBIG, |d| {
        errno(OpenOptions::new().write(true).open(d.join("t/r/f/q")).unwrap().set_len(1_000_001))
    }),
    ("fallocate past the limit", libc::EFBIG, |d| {
        let file = OpenOptions::new().write(true).open(d.join("t/r/f/q")).unwrap();
        of(fallocate(file, FallocateFlags::empty(), 0, 1_000_001))
    }),
    ("fallocate of an attribute", libc::EOPNOTSUPP, |d| {
        let file = OpenOptions::new().write(true).open(d.join("t/.schema/f/VERSIONS")).unwrap();
        of(fallocate(file, FallocateFlags::empty(), 0, 100))
    }),
    ("write to the past", libc::EROFS, |d| errno(fs::write(d.join("t/.at/-1s/r/f/q"), "x"))),
    ("unlink in the past", libc::EROFS, |d| errno(fs::remove_file(d.join("t/.at/4102444800000/r/f/q")))),
    ("mkdir in the past", libc::EROFS, |d| errno(fs::create_dir(d.join("t/.at/4102444800000/new")))),
    ("write to a READONLY table", libc::EROFS, |d| errno(fs::write(d.join("readonly/r/f/q"), "x"))),
    ("unlink in a READONLY table", libc::EROFS, |d| errno(fs::remove_file(d.join("readonly/r/f/q")))),
    ("mkdir of a row in a READONLY table", libc::EROFS, |d| errno(fs::create_dir(d.join("readonly/new")))),
    ("open of a counter in a READONLY table", libc::EROFS, |d| {
        errno(
            OpenOptions::new().create(true).truncate(true).write(true).open(d.join("readonly/r/f/n@counter")).map(drop),
        )
    }),
    ("open of .json in a READONLY table", libc::EROFS, |d| {
        errno(OpenOptions::new().write(true).open(d.join("readonly/r/.json")).map(drop))
    }),
    ("read a disabled table", libc::EACCES, |d| errno(fs::read(d.join("disabled/r/f/q")))),
    ("write to a disabled table", libc::EACCES, |d| errno(fs::write(d.join("disabled/r/f/q"), "x"))),
    ("a table beyond the quota", libc::EDQUOT, |d| errno(fs::create_dir(d.join("../full/second")))),
    ("remove what is generated", libc::EPERM, |d| errno(fs::remove_file(d.join("t/r/.json")))),
];

fn prepare(fixture: &Fixture) {
    let backend = fixture.backend();
    for row in ["r", "r2"] {
        fs::write(fixture.family(row).join("q"), "v").unwrap();
    }
    fs::write(fixture.path("t/r/f/other"), "v").unwrap();
    for qualifier in 0..100_001 {
        put(backend.as_ref(), "large", &format!("{qualifier}"), b"");
    }
    for qualifier in 0..17 {
        put(backend.as_ref(), "long", &format!("{qualifier}"), &vec![b'v'; 1_000_000]);
    }
    fs::create_dir_all(fixture.path("narrow/.schema/g")).unwrap();
    for table in ["readonly", "disabled"] {
        fs::create_dir_all(fixture.path(&format!("{table}/.schema/f"))).unwrap();
        fs::create_dir_all(fixture.path(&format!("{table}/r/f"))).unwrap();
        fs::write(fixture.path(&format!("{table}/r/f/q")), "v").unwrap();
    }
    fs::write(fixture.path("readonly/.schema/.table/READONLY"), "true").unwrap();
    let store = fixture.store();
    assert!(fixture.cellfs(&["shell", store.to_str().unwrap(), "-e", "disable 'disabled'"]).status.success());
    fs::create_dir(fixture.mnt().join("full")).unwrap();
    fs::write(fixture.mnt().join("full/.schema/hbase.namespace.quota.maxtables"), "1").unwrap();
    fs::create_dir(fixture.mnt().join("full/first")).unwrap();
}

#[test]
fn mount_refusals_have_their_errno() {
    let fixture = Fixture::with_limit(1_000_000);
    prepare(&fixture);
    let default = fixture.mnt().join("default");
    let mut wrong = Vec::new();
    for (what, wanted, attempt) in REFUSALS {
        let found = attempt(&default);
        if found != *wanted {
            let name = |number| nix::errno::Errno::from_raw(number);
            wrong.push(format!("{what}: {} and not {}", name(found), name(*wanted)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(fs::read(fixture.path("t/r/f/q")).unwrap() == b"v", "something has changed");
}

#[test]
fn mount_what_is_no_counter_is_refused_at_the_write() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("four"), "abcd").unwrap();
    assert_eq!(errno(fs::write(family.join("four@counter"), "+1")), libc::EINVAL);
    let written = fs::File::create(family.join("four@counter")).and_then(|mut file| file.write_all(b"+1"));
    assert_eq!(errno(written), libc::EINVAL, "a shell does not look at what close(2) says");
    let errors = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    assert!(errors.lines().any(|line| line.contains("write: ") && line.contains("has 4")), "{errors}");
    assert_eq!(fs::read_to_string(family.join("four")).unwrap(), "abcd");
    fs::write(family.join("new@counter"), "+1").unwrap();
    assert_eq!(fs::read_to_string(family.join("new@counter")).unwrap(), "1\n");
}
