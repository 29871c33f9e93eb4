//! The mount option history=inline.

use std::fs;

use super::fixture::{Fixture, errno, names};

#[test]
fn mount_option_history_inline_lists_versions_beside_the_newest() {
    let fixture = Fixture::with_options("history=inline");
    let family = fixture.family("r");
    for (name, value) in [("a@1", "one"), ("a@2", "two"), ("b@3", "three"), ("gone@4", "four")] {
        fs::write(family.join(name), value).unwrap();
    }
    fs::remove_file(family.join("gone")).unwrap();
    let open = fs::File::create(family.join("aa")).unwrap();
    assert_eq!(names(&family), ["a", "a@2", "a@1", "aa", "b", "b@3", "gone@4"]);
    drop(open);
    assert_eq!(names(&fixture.path("t/r/.at/1/f")), ["a", "a@1"]);
    assert_eq!(fs::read_to_string(family.join("a@1")).unwrap(), "one");
    // Many versions and columns: each once, whatever the pages.
    for n in 0..1500 {
        fs::write(family.join(format!("many@{}", 10_000 + n)), "v").unwrap();
    }
    fs::write(fixture.path("t/.schema/f/VERSIONS"), "2000").unwrap();
    let mut listed = names(&family);
    assert_eq!(listed.len(), 8 + 1 + 1500, "the eight before, with the version of aa");
    listed.sort();
    listed.dedup();
    assert_eq!(listed.len(), 8 + 1 + 1500);
    fs::remove_dir_all(&family).unwrap();
    assert_eq!(errno(fs::metadata(&family)), libc::ENOENT);
}

/// What lies behind many entries that are not shown is listed, and counts.
#[test]
fn a_family_with_inline_history_lists_what_is_behind_versions_that_do_not_show() {
    let fixture = Fixture::with_options("history=inline");
    let family = fixture.family("r");
    for name in ["z1@1", "z2@2"] {
        fs::write(family.join(name), "old").unwrap();
    }
    let newer: Vec<_> = (0..3000).map(|n| family.join(format!("a{n:04}@1000"))).collect();
    newer.iter().for_each(|version| fs::write(version, "new").unwrap());
    let shown = ["z1", "z1@1", "z2", "z2@2"];
    assert_eq!(names(&fixture.path("t/.at/10/r/f")), shown);
    newer.iter().for_each(|version| fs::remove_file(version).unwrap());
    assert_eq!(names(&family), shown);
    // A file that is open is met once, and in its place.
    let open = fs::File::create(family.join("a2")).unwrap();
    assert_eq!(names(&family), [&["a2"], shown.as_slice()].concat());
    drop(open);
    let source = fixture.family("source");
    fs::write(source.join("q"), "v").unwrap();
    assert_eq!(errno(fs::rename(&source, &family)), libc::ENOTEMPTY);
    assert_eq!(errno(fs::remove_dir(&family)), libc::ENOTEMPTY);
    assert_eq!(fs::read_to_string(family.join("z2")).unwrap(), "old");
}
