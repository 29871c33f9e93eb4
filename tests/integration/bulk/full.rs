//! A disk that is full in the middle of an import: what was imported is told and kept, and it goes on once there is room.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

use super::Stored;
use crate::mount::fixture::Fixture;
use crate::trust::full_disk::{SmallDisk, fill_up};

/// The lines that a refusal says are imported, that of the names among them.
fn told_lines(said: &str) -> usize {
    let number = said.split_once("behind line ").and_then(|(_, rest)| rest.split_once(", up to which all is imported"));
    number.and_then(|(number, _)| number.parse().ok()).unwrap_or_else(|| panic!("{said}"))
}

/// What is said of a line of which a close has stored the beginning.
const CLOSED: &str = " what had come by a close";

/// Lines of a file that no small disk has room for, and how many rows it has.
fn noise() -> (String, usize) {
    let mut text = "HBASE_ROW_KEY\tf:noise\n".to_owned();
    let mut noise = 1_u64;
    let mut rows = 0;
    while text.len() < 40 << 20 {
        write!(text, "r{rows:06}\t").unwrap();
        for _ in 0..60 {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            write!(text, "{:016x}", noise ^ (noise >> 29)).unwrap();
        }
        text.push('\n');
        rows += 1;
    }
    (text, rows)
}

#[test]
fn full_disk_stops_an_import_which_goes_on_when_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::over(&directory.path().join("store"), "32m") else { return };
    let stored = Stored(directory);
    stored.done(&["create", "STORE", "--make", "t", "f"]);
    let (text, rows) = noise();
    stored.write("big.tsv", &text);
    let said = stored.refused(&["import", "STORE", "t", "big.tsv"], 2);
    assert!(said.contains("up to which all is imported") && said.contains("--resume"), "{said}");
    let there = stored.done(&["export", "STORE", "t", "--format", "tsv"]);
    assert_eq!(told_lines(&said), there.lines().count(), "{said}");
    assert!(text.starts_with(&there) && there.lines().count() > 1000, "{} of {rows}", there.lines().count());
    let mut remount = std::process::Command::new("mount");
    remount.args(["-o", "remount,size=160m"]).arg(stored.path("store"));
    assert!(remount.status().unwrap().success());
    stored.done(&["import", "--resume", "STORE", "t", "big.tsv"]);
    assert!(stored.done(&["export", "STORE", "t", "--format", "tsv"]) == text, "the table is not what the file says");
    drop(disk);
}

#[test]
fn mount_full_disk_says_up_to_which_line_a_stream_is_imported() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_disk) = SmallDisk::over(&directory.path().join("store"), "32m") else { return };
    let fixture = Fixture::on(directory, "");
    fs::create_dir_all(fixture.path("t/.schema/f")).unwrap();
    let (text, rows) = noise();
    let mut file = fs::File::create(fixture.path("t/.import/tsv")).unwrap();
    let refused = text.as_bytes().chunks(100_000).find_map(|piece| file.write_all(piece).err()).unwrap();
    assert_eq!(refused.raw_os_error(), Some(libc::ENOSPC));
    drop(file);
    let errors = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    let said = errors.lines().find(|line| line.contains("/t/.import/tsv write: ")).unwrap();
    let there = fs::read_to_string(fixture.path("t/.export/tsv")).unwrap();
    // A program that another test has started meanwhile may have had the file, and closed it.
    let lines = told_lines(said) + usize::from(said.contains(CLOSED));
    assert_eq!(lines, there.lines().count(), "{said}");
    assert!(text.starts_with(there.trim_end()) && lines > 1000, "{lines} of {rows}");
}

/// What a close has cut off is stored, and would be read whole with what follows.
#[test]
fn mount_full_disk_says_which_line_is_stored_as_far_as_a_close_has_cut_it() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_disk) = SmallDisk::over(&directory.path().join("store"), "32m") else { return };
    let fixture = Fixture::on(directory, "");
    fs::create_dir_all(fixture.path("t/.schema/f")).unwrap();
    let text = noise().0;
    let mut pieces = text.as_bytes().chunks(2_000_000);
    let mut file = fs::File::create(fixture.path("t/.import/tsv")).unwrap();
    file.write_all(pieces.next().unwrap()).unwrap();
    drop(file.try_clone().unwrap());
    fill_up(&fixture.store());
    assert!(pieces.any(|piece| file.write_all(piece).is_err()));
    drop(file);
    let errors = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    let said = errors.lines().find(|line| line.contains("/t/.import/tsv write: ")).unwrap();
    let there = fs::read_to_string(fixture.path("t/.export/tsv")).unwrap();
    assert!(said.contains(&format!(", and of line {}{CLOSED}", there.lines().count())), "{said}");
    assert_eq!(told_lines(said) + 1, there.lines().count(), "{said}");
    assert!(text.starts_with(there.trim_end()) && !text.starts_with(&there));
}
