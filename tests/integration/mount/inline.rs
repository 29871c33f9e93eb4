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
