//! `cellfs check` and its repair, on a store that is mounted and on one that is not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::mount::fixture::{Fixture, errno};

fn check(fixture: &Fixture, more: &[&str]) -> Output {
    let store = fixture.store();
    let mut args = vec!["check", store.to_str().unwrap()];
    args.extend(more);
    fixture.cellfs(&args)
}

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Ten cells, flushed, and ten more in the log alone.
fn filled() -> Fixture {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    for n in 0..20 {
        fs::write(family.join(format!("q{n:02}")), format!("value number {n:02}")).unwrap();
        if n == 9 {
            assert!(fixture.cellfs(&["flush", fixture.store().to_str().unwrap()]).status.success());
        }
    }
    fixture
}

fn segment(fixture: &Fixture) -> PathBuf {
    fixture.store().join("segments/00000001.seg")
}

/// Changes a byte inside the only place where `text` stands.
fn damage(path: &Path, text: &str) {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap();
    bytes[at + 2] ^= 4;
    fs::write(path, bytes).unwrap();
}

#[test]
fn check_is_content_with_a_log_whose_cells_were_all_copied() {
    let mut fixture = Fixture::new();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    let family = fixture.family("r");
    assert!(fixture.cellfs(&["alter", store, "t", "f,VERSIONS=1"]).status.success());
    for _ in 0..10 {
        fs::write(family.join("q"), vec![7; 3 << 20]).unwrap();
    }
    // The next daemon goes on in another segment; then the first has nothing that is not elsewhere too.
    fixture.kill();
    fixture.mount("");
    for command in [&["flush", store][..], &["compact", "--major", store, "t"]] {
        assert!(fixture.cellfs(command).status.success());
    }
    for _ in 0..2 {
        let output = check(&fixture, &[]);
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        if fixture.is_mounted() {
            fixture.unmount();
        }
    }
    assert!(!segment(&fixture).exists(), "the test does not reach what it is for");
}

#[test]
fn check_of_a_good_store_finds_nothing_mounted_or_not() {
    let mut fixture = filled();
    for _ in 0..2 {
        let output = check(&fixture, &[]);
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        assert!(words(&output).starts_with("no damage: 1 segments"), "{}", words(&output));
        if fixture.is_mounted() {
            fixture.unmount();
        }
    }
    let output = check(&fixture, &["--json"]);
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&summary["summary"]["entries"], &summary["summary"]["rows"]), (&20.into(), &10.into()));
    let output = check(&fixture, &["--repair"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(words(&output).contains("nothing to repair"), "{}", words(&output));
    let absent = fixture.cellfs(&["check", "/nonexistent"]);
    assert_eq!(absent.status.code(), Some(2));
}

#[test]
fn check_names_the_cell_whose_value_is_damaged_and_others_are_read() {
    let mut fixture = filled();
    fixture.unmount();
    damage(&segment(&fixture), "value number 03");
    damage(&segment(&fixture), "value number 13");
    for _ in 0..2 {
        let output = check(&fixture, &[]);
        assert_eq!(output.status.code(), Some(1), "{}", words(&output));
        for name in ["row r, column f:q03", "row r, column f:q13", "00000001.seg, offset "] {
            assert!(words(&output).contains(name), "{}", words(&output));
        }
        assert!(!words(&output).contains("f:q04"), "{}", words(&output));
        if !fixture.is_mounted() {
            fixture.mount("");
        }
    }
    let family = fixture.path("t/r/f");
    for n in 0..20 {
        let read = fs::read(family.join(format!("q{n:02}")));
        if n == 3 || n == 13 {
            assert_eq!(errno(read), libc::EIO);
        } else {
            assert_eq!(read.unwrap(), format!("value number {n:02}").as_bytes());
        }
    }
    let output = check(&fixture, &["--repair"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&output).contains("unmount it first"), "{}", words(&output));
    let store = fixture.store();
    let store = store.to_str().unwrap();
    assert!(words(&fixture.cellfs(&["status", store])).contains("cellfs check"));
    // What was read and met damage is told to the operator too, once.
    let told = format!("For all of it: cellfs check {store}");
    assert_eq!(fixture.log().lines().filter(|line| line.contains(&told)).count(), 1);
    for (args, wanted) in
        [(&["stats", store][..], "damaged reads"), (&["stats", store, "--prometheus"], "_reads_total")]
    {
        let output = words(&fixture.cellfs(args));
        let line = output.lines().find(|line| line.contains(wanted) && !line.starts_with('#')).unwrap();
        assert!(!line.ends_with(" 0"), "{line}");
    }
}

#[test]
fn check_repairs_the_index_and_keeps_the_old_one() {
    let mut fixture = filled();
    fixture.unmount();
    damage(&segment(&fixture), "value number 03");
    let index = fixture.store().join("index/index.db");
    let mut bytes = fs::read(&index).unwrap();
    let len = bytes.len();
    bytes[len / 2..].fill(0x5A);
    fs::write(&index, &bytes).unwrap();
    let output = check(&fixture, &["--repair"]);
    // One value stays damaged, which no index can mend.
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert!(words(&output).contains("made anew from the segments: "), "{}", words(&output));
    assert_eq!(fs::read(fixture.store().join("index/aside/index.db")).unwrap(), bytes);
    fixture.mount("");
    let told = || words(&fixture.cellfs(&["status", fixture.store().to_str().unwrap()]));
    // Before any read has met it.
    assert!(told().contains("damages, the first: ") && told().contains("00000001.seg"), "{}", told());
    let family = fixture.path("t/r/f");
    assert_eq!(fs::read_dir(&family).unwrap().count(), 20);
    assert_eq!(fs::read(family.join("q04")).unwrap(), b"value number 04");
    assert_eq!(errno(fs::read(family.join("q03"))), libc::EIO);
    fs::write(family.join("q03"), "again").unwrap();
    assert_eq!(fs::read(family.join("q03")).unwrap(), b"again");
}

#[test]
fn check_leaves_a_note_of_damage_until_there_is_none() {
    let mut fixture = filled();
    fixture.unmount();
    let good = fs::read(segment(&fixture)).unwrap();
    damage(&segment(&fixture), "value number 03");
    let store = fixture.store();
    let told = || words(&fixture.cellfs(&["status", store.to_str().unwrap()]));
    assert!(!told().contains("damages, the first"), "{}", told());
    assert_eq!(check(&fixture, &[]).status.code(), Some(1));
    assert!(told().contains("damages, the first: "), "{}", told());
    fs::write(segment(&fixture), good).unwrap();
    assert_eq!(check(&fixture, &[]).status.code(), Some(0));
    assert!(!told().contains("damages, the first"), "{}", told());
    assert!(!store.join("damage").exists());
}

#[test]
fn check_mends_the_manifest_from_its_other_copy() {
    let mut fixture = filled();
    fixture.unmount();
    for name in ["format", "catalogue"] {
        let path = fixture.store().join(name);
        let good = fs::read(&path).unwrap();
        fs::write(&path, "nonsense").unwrap();
        let output = check(&fixture, &[]);
        assert_eq!(output.status.code(), Some(1), "{}", words(&output));
        assert!(words(&output).contains(path.to_str().unwrap()), "{}", words(&output));
        let output = check(&fixture, &["--repair"]);
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        assert_eq!(fs::read(&path).unwrap(), good);
    }
    for name in ["format", "format.copy"] {
        fs::write(fixture.store().join(name), "nonsense").unwrap();
    }
    let output = check(&fixture, &[]);
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    assert!(words(&output).contains("--repair"), "{}", words(&output));
    let output = check(&fixture, &["--repair"]);
    assert!(words(&output).contains("made anew from the segments. Inode"), "{}", words(&output));
    fixture.mount("");
    assert_eq!(fs::read(fixture.path("t/r/f/q04")).unwrap(), b"value number 04");
}

#[test]
fn check_misses_a_catalogue_that_is_gone() {
    let mut fixture = filled();
    fixture.unmount();
    let copies = ["catalogue", "catalogue.copy"].map(|name| fixture.store().join(name));
    let kept = fs::read(&copies[0]).unwrap();
    for copy in &copies {
        fs::remove_file(copy).unwrap();
    }
    let found = check(&fixture, &[]);
    assert_eq!(found.status.code(), Some(1), "{}", words(&found));
    assert!(words(&found).contains("no table is known"), "{}", words(&found));
    copies.iter().for_each(|copy| fs::write(copy, &kept).unwrap());
    assert_eq!(check(&fixture, &[]).status.code(), Some(0));
}
