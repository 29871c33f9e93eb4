//! Renames: history belongs to the name.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

use super::fixture::{Fixture, errno, history, names, suffixed};

fn rename_with(from: &Path, to: &Path, flags: RenameFlags) -> i32 {
    renameat2(AT_FDCWD, from, AT_FDCWD, to, flags).map_or_else(|e| e as i32, |()| 0)
}

#[test]
fn mount_rename_moves_the_newest_version_across_families_rows_and_tables() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("other/.schema/g")).unwrap();
    fs::create_dir_all(fixture.path("other/x/g")).unwrap();
    let (from, to) = (fixture.family("r").join("q"), fixture.path("other/x/g/moved"));
    fs::write(&to, "before").unwrap();
    fs::write(&from, "one").unwrap();
    fs::write(&from, "two").unwrap();
    fs::rename(&from, &to).unwrap();
    assert!(!from.exists());
    assert_eq!(fs::read_to_string(&to).unwrap(), "two");
    assert_eq!(history(&to), ["before", "two"]);
    assert_eq!(history(&from), ["one", "two"], "the old name keeps its history");
}

#[test]
fn mount_a_temporary_file_leaves_nothing_behind() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("q"), "one").unwrap();
    fs::write(family.join(".q.tmp"), "two").unwrap();
    fs::rename(family.join(".q.tmp"), family.join("q")).unwrap();
    assert_eq!(names(&family), ["q"]);
    assert_eq!(history(&family.join("q")), ["one", "two"]);
    assert!(!suffixed(&family.join(".q.tmp"), "@").exists());
}

#[test]
fn mount_inode_numbers_stay_apart_after_a_rename() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let (q, backup) = (family.join("q"), family.join("q~"));
    fs::write(&q, "old").unwrap();
    let ino = fs::metadata(&q).unwrap().ino();
    fs::rename(&q, &backup).unwrap();
    fs::write(&q, "new").unwrap();
    assert_eq!(fs::read_to_string(&backup).unwrap(), "old");
    assert_eq!(fs::read_to_string(&q).unwrap(), "new");
    assert_eq!(fs::metadata(&backup).unwrap().ino(), ino);
    assert_ne!(fs::metadata(&q).unwrap().ino(), ino);
}

#[test]
fn mount_rename_flags() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let (a, b) = (family.join("a"), family.join("b"));
    fs::write(&a, "A").unwrap();
    fs::write(&b, "B").unwrap();
    assert_eq!(rename_with(&a, &b, RenameFlags::RENAME_NOREPLACE), libc::EEXIST);
    assert_eq!(rename_with(&a, &family.join("c"), RenameFlags::RENAME_NOREPLACE), 0);
    assert_eq!(rename_with(&family.join("c"), &b, RenameFlags::RENAME_EXCHANGE), 0);
    assert_eq!(fs::read_to_string(family.join("c")).unwrap(), "B");
    assert_eq!(fs::read_to_string(&b).unwrap(), "A");
    assert_eq!(rename_with(&b, &a, RenameFlags::RENAME_WHITEOUT), libc::EINVAL);
    assert_eq!(errno(fs::rename(family.join("none"), &a)), libc::ENOENT);
}

#[test]
fn mount_rename_to_and_from_a_timestamp() {
    let fixture = Fixture::new();
    let q = fixture.family("r").join("q");
    fs::write(&q, "value").unwrap();
    fs::rename(&q, suffixed(&q, "@77")).unwrap();
    assert_eq!(fs::read_to_string(suffixed(&q, "@77")).unwrap(), "value");
    assert_eq!(history(&q).last().unwrap(), "value");
    fs::rename(suffixed(&q, "@77"), suffixed(&q, "2")).unwrap();
    assert_eq!(fs::read_to_string(suffixed(&q, "2")).unwrap(), "value");
}

#[test]
fn mount_a_dirty_open_file_is_committed_at_its_new_name() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let mut file = File::create(family.join("tmp")).unwrap();
    file.write_all(b"half").unwrap();
    fs::rename(family.join("tmp"), family.join("q")).unwrap();
    assert_eq!(fs::read_to_string(family.join("q")).unwrap(), "half");
    file.write_all(b" and half").unwrap();
    drop(file);
    assert_eq!(fs::read_to_string(family.join("q")).unwrap(), "half and half");
    assert_eq!(history(&family.join("q")), ["half and half"]);
    assert_eq!(names(&family), ["q"]);
}

#[test]
fn mount_replaced_open_file_keeps_its_bytes() {
    use std::io::Read;
    let fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("q"), "old").unwrap();
    fs::write(family.join("n"), "new").unwrap();
    let mut open = OpenOptions::new().read(true).open(family.join("q")).unwrap();
    fs::rename(family.join("n"), family.join("q")).unwrap();
    let mut text = String::new();
    open.read_to_string(&mut text).unwrap();
    assert_eq!(text, "old");
    assert_eq!(fs::read_to_string(family.join("q")).unwrap(), "new");
}

#[test]
fn mount_renames_tables_in_the_catalogue() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    fs::rename(fixture.path("t"), fixture.path("renamed")).unwrap();
    assert_eq!(fs::read_to_string(fixture.path("renamed/r/f/q")).unwrap(), "v");
    assert!(!fixture.path("t").exists());
    fs::write(fixture.path("renamed/r/f/q"), "w").unwrap();
    fs::create_dir(fixture.mnt().join("ns")).unwrap();
    fs::rename(fixture.path("renamed"), fixture.mnt().join("ns/table")).unwrap();
    assert_eq!(history(&fixture.mnt().join("ns/table/r/f/q")), ["v", "w"]);
}

#[test]
fn mount_renames_namespaces_and_exchanges_tables() {
    let mut fixture = Fixture::new();
    let (one, other) = (fixture.mnt().join("one"), fixture.mnt().join("other"));
    for table in ["a", "b"] {
        fs::create_dir_all(one.join(table).join(".schema/f")).unwrap();
        fs::create_dir_all(one.join(table).join("r/f")).unwrap();
        fs::write(one.join(table).join("r/f/q"), table).unwrap();
    }
    fs::write(one.join(".schema/owner"), "me").unwrap();
    let mut open = OpenOptions::new().append(true).open(one.join("a/r/f/q")).unwrap();
    fs::create_dir(&other).unwrap();
    assert_eq!(rename_with(&one, &other, RenameFlags::RENAME_NOREPLACE), libc::EEXIST);
    assert_eq!(rename_with(&one, &other, RenameFlags::RENAME_EXCHANGE), libc::EINVAL);
    assert_eq!(errno(fs::rename(fixture.path(""), &other)), libc::EPERM);
    fs::create_dir(other.join("t")).unwrap();
    assert_eq!(errno(fs::rename(&one, &other)), libc::ENOTEMPTY);
    fs::remove_dir(other.join("t")).unwrap();
    fs::rename(&one, &other).unwrap();
    assert!(!one.exists());
    assert_eq!(fs::read_to_string(other.join(".schema/owner")).unwrap(), "me\n");
    open.write_all(b" and more").unwrap();
    drop(open);
    let value = |table: &str| fs::read_to_string(other.join(table).join("r/f/q")).unwrap();
    assert_eq!((value("a").as_str(), value("b").as_str()), ("a and more", "b"));
    assert_eq!(rename_with(&other.join("a"), &other.join("b"), RenameFlags::RENAME_EXCHANGE), 0);
    assert_eq!((value("a").as_str(), value("b").as_str()), ("b", "a and more"));
    assert_eq!(history(&other.join("b/r/f/q")), ["a", "a and more"]);
    fs::write(other.join("a/r/f/q"), "written after").unwrap();
    fixture.remount();
    assert_eq!((value("a").as_str(), value("b").as_str()), ("written after", "a and more"));
}

#[test]
fn mount_renames_rows_and_families_with_their_history() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("t/.schema/g")).unwrap();
    let cell = fixture.family("old").join("q");
    fs::write(&cell, "one").unwrap();
    fs::write(&cell, "two").unwrap();
    fs::write(fixture.family("old").join("gone"), "x").unwrap();
    fs::remove_file(fixture.family("old").join("gone")).unwrap();
    let mut open = OpenOptions::new().append(true).open(&cell).unwrap();
    fs::rename(fixture.path("t/old"), fixture.path("t/new")).unwrap();
    assert_eq!(names(&fixture.path("t")), ["new"]);
    assert_eq!(history(&fixture.path("t/new/f/q")), ["one", "two"]);
    assert_eq!(history(&fixture.path("t/new/f/gone")), ["x"]);
    open.write_all(b" and more").unwrap();
    drop(open);
    assert_eq!(fs::read_to_string(fixture.path("t/new/f/q")).unwrap(), "two and more");
    assert!(!fixture.path("t/old").exists());
    fs::rename(fixture.path("t/new/f"), fixture.path("t/new/g")).unwrap();
    assert_eq!(names(&fixture.path("t/new")), ["g"]);
    assert_eq!(history(&fixture.path("t/new/g/q")), ["one", "two", "two and more"]);
    fs::create_dir_all(fixture.path("t/other/g")).unwrap();
    fs::write(fixture.path("t/other/g/q"), "full").unwrap();
    assert_eq!(errno(fs::rename(fixture.path("t/new/g"), fixture.path("t/other/g"))), libc::ENOTEMPTY);
    let rows = [fixture.path("t/new"), fixture.path("t/other")];
    assert_eq!(rename_with(&rows[0], &rows[1], RenameFlags::RENAME_EXCHANGE), libc::EINVAL);
}

#[test]
fn mount_counters_and_json_rows() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("hits@counter"), "+5").unwrap();
    fs::write(family.join("hits@counter"), "-7").unwrap();
    assert_eq!(fs::read_to_string(family.join("hits@counter")).unwrap(), "-2\n");
    assert_eq!(fs::read(family.join("hits")).unwrap(), (-2_i64).to_be_bytes());
    fs::write(family.join("text"), "not a counter").unwrap();
    assert_eq!(errno(fs::read(family.join("text@counter"))), libc::ENOENT);
    fs::remove_file(family.join("hits")).unwrap();
    let json = fixture.path("t/r/.json");
    assert_eq!(fs::read_to_string(&json).unwrap(), "{\n  \"f:text\": \"not a counter\"\n}\n");
    fs::write(&json, r#"{"f:text": null, "f:a": "A", "f:b": {"base64": "/wA="}}"#).unwrap();
    assert_eq!(names(&family), ["a", "b"]);
    assert_eq!(fs::read(family.join("b")).unwrap(), [0xFF, 0]);
    fs::write(family.join("a"), "B").unwrap();
    assert!(fs::read_to_string(&json).unwrap().contains(r#""f:a": "B""#));
}
