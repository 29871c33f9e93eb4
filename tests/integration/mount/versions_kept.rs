//! What a new version, a free key or a unique value is, whichever way it comes in.

use std::fs;
use std::io::Write;
use std::os::fd::IntoRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use super::fixture::{CELLFS, Fixture, errno, names};

fn bash(fixture: &Fixture, script: &str) -> i32 {
    let mut command = Command::new("bash");
    command.args(["-uc", script]).env("CELLFS", CELLFS).env("S", fixture.store()).env("M", fixture.mnt());
    command.output().unwrap().status.code().unwrap_or(-1)
}

#[test]
fn mount_a_new_version_keeps_the_mode_of_the_one_before_whoever_puts_it() {
    let fixture = Fixture::new();
    let file = fixture.family("r").join("q");
    fs::write(&file, "first").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    for (number, script) in [
        r#"echo '{"row":"r","family":"f","qualifier":"q","value":"0"}' | "$CELLFS" put --json "$S" t -"#,
        r#"echo '{"row":"r","f:q":"1"}' | "$CELLFS" import "$S" t - --format jsonl"#,
        r#"echo '{"row":"r","f:q":"2"}' > "$M/default/t/.import/jsonl""#,
        r#"echo "put 't', 'r', 'f:q', '3'" | "$CELLFS" shell "$S""#,
        r#""$CELLFS" put "$S" t r f:q 4"#,
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(bash(&fixture, script), 0, "{script}");
        assert_eq!(fs::read_to_string(&file).unwrap(), number.to_string(), "{script}");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600, "{script}");
    }
}

#[test]
fn mount_free_keys_have_names_and_are_in_a_backup() {
    let fixture = Fixture::new();
    let shell = r#"echo "alter 't', METADATA => {'a/b' => '1', '.c' => '2'}
alter 't', 'coprocessor' => '|x.Y|1|'" | "$CELLFS" shell "$S""#;
    assert_eq!(bash(&fixture, shell), 0);
    let table = fixture.path("t/.schema/.table");
    assert_eq!(names(&table.join("METADATA")), ["%2Ec", "a%2Fb"]);
    assert_eq!(fs::read_to_string(table.join("METADATA/a%2Fb")).unwrap(), "1\n");
    fs::write(table.join("METADATA/d%2Fe"), "3\n").unwrap();
    let copy = fixture.directory.path().join("copy");
    let script = format!(r#"rsync -aX "$M/.history/" "{}""#, copy.display());
    assert_eq!(bash(&fixture, &script), 0);
    let other = Fixture::empty();
    let script = format!(r#"rsync -aX "{}/" "$M/.history/""#, copy.display());
    assert_eq!(bash(&other, &script), 0);
    let schema = |fixture: &Fixture| fixture.backend().catalogue().unwrap().user_tables().next().unwrap().clone();
    let (one, other) = (schema(&fixture), schema(&other));
    assert_eq!(one.metadata.keys().collect::<Vec<_>>(), [".c", "a/b", "d/e"]);
    assert_eq!((one.metadata, one.attributes), (other.metadata, other.attributes));
}

#[test]
fn mount_unique_values_are_judged_as_a_step_leaves_them() {
    let fixture = Fixture::new();
    let (a, b) = (fixture.family("a"), fixture.family("b"));
    assert_eq!(bash(&fixture, r#""$CELLFS" create-index "$S" t u --columns f:m --unique"#), 0);
    fs::write(a.join("m"), "x").unwrap();
    fs::write(b.join("m"), "y").unwrap();
    // An old version takes nothing away from the row.
    let lines = r#"printf '{"row":"a","f:m":"old","timestamp":5}\n{"row":"b","f:m":"x"}\n' | "$CELLFS" import "$S" t - --format jsonl"#;
    assert_ne!(bash(&fixture, lines), 0);
    assert_eq!(fs::read_to_string(b.join("m")).unwrap(), "y");
    // Who loses one of the columns in the same step has nothing that could be taken.
    assert_eq!(bash(&fixture, r#""$CELLFS" create-index "$S" t two --columns f:p,f:q --unique"#), 0);
    for (file, text) in [("p", "1"), ("q", "2")] {
        fs::write(a.join(file), text).unwrap();
    }
    fs::write(b.join("q"), "2").unwrap();
    fs::write(fixture.path("t/b/.json"), r#"{"f:p":"1","f:q":null}"#).unwrap();
    assert_eq!(names(&b), ["m", "p"]);
    let mut file = fs::File::create(b.join("q")).unwrap();
    file.write_all(b"2").unwrap();
    assert_eq!(nix::unistd::close(file.into_raw_fd()), Err(nix::Error::EEXIST));
}

#[test]
fn mount_a_row_moves_at_once_only_where_all_its_versions_are_kept() {
    let fixture = Fixture::new();
    fs::write(fixture.path("t/.schema/f/VERSIONS"), "20").unwrap();
    let (from, to) = (fixture.family("r"), fixture.path("few/r"));
    for time in 1..=5 {
        fs::write(from.join(format!("q@140000000000{time}")), time.to_string()).unwrap();
    }
    fs::create_dir_all(fixture.path("few/.schema/f")).unwrap();
    fs::write(fixture.path("few/.schema/f/VERSIONS"), "2").unwrap();
    let row = fixture.path("t/r");
    assert_eq!(errno(fs::rename(&row, &to)), libc::EXDEV);
    for (from, to) in [(row.clone(), to.clone()), (from.join("q"), fixture.path("few/s/f/q"))] {
        let moved = fixture.cellfs(&["mv", from.to_str().unwrap(), to.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&moved.stderr);
        assert!(!moved.status.success() && said.contains("more than the 2 versions"), "{said}");
    }
    assert_eq!(names(&from.join("q@")).len(), 5);
    fs::write(fixture.path("few/.schema/f/VERSIONS"), "5").unwrap();
    fs::rename(&row, &to).unwrap();
    assert_eq!(names(&to.join("f/q@")).len(), 5);
}

#[test]
fn mount_a_version_below_all_that_are_kept_is_not_made() {
    let fixture = Fixture::new();
    fs::write(fixture.path("t/.schema/f/VERSIONS"), "1").unwrap();
    let dir = fixture.family("r");
    fs::write(dir.join("q"), "new").unwrap();
    for name in ["q@1400000000000", "q@/1400000000000", "q@20261122"] {
        assert_eq!(errno(fs::write(dir.join(name), "old")), libc::EINVAL, "{name}");
    }
    fs::write(fixture.path("t/.schema/f/VERSIONS"), "2").unwrap();
    fs::write(dir.join("q@1400000000000"), "old").unwrap();
    assert_eq!(fs::read_to_string(dir.join("q@1400000000000")).unwrap(), "old");
}

#[test]
fn mount_a_long_key_is_known_though_it_was_synced_before_its_close() {
    let (fixture, other) = (Fixture::new(), Fixture::empty());
    let key = "k".repeat(300);
    assert_eq!(bash(&fixture, &format!(r#""$CELLFS" put "$S" t r f:{key} precious"#)), 0);
    let copy = fixture.directory.path().join("copy");
    assert_eq!(bash(&fixture, &format!(r#"rsync -aX "$M/.history/" "{}""#, copy.display())), 0);
    assert_eq!(bash(&other, &format!(r#"rsync -aX --inplace --fsync "{}/" "$M/.history/""#, copy.display())), 0);
    let listed = names(&fixture.path("t/r/f"));
    assert_eq!(names(&other.path("t/r/f")), listed);
    let (name, elsewhere) = (&listed[0], fixture.family("elsewhere"));
    fs::write(elsewhere.join(format!("{name}@key")), &key).unwrap();
    fs::write(elsewhere.join(name), "anew").unwrap();
    assert_eq!(names(&elsewhere), std::slice::from_ref(name));
}

/// The clock of a snapshot stands still, whatever the same program has looked at before.
#[test]
fn mount_a_relative_time_of_a_snapshot_counts_from_when_it_was_made() {
    let fixture = Fixture::new();
    let file = fixture.family("r").join("q");
    let pause = || std::thread::sleep(std::time::Duration::from_millis(1500));
    fs::write(&file, "first\n").unwrap();
    pause();
    fs::write(&file, "second\n").unwrap();
    assert_eq!(bash(&fixture, r#""$CELLFS" snapshot create "$S" s"#), 0);
    pause();
    let looks = r#"cat "$M/.at/-1s/default/t/r/f/q" "$M/.snapshot/s/.at/-1s/default/t/r/f/q""#;
    let mut command = Command::new("setsid");
    let said = command.args(["bash", "-uc", looks]).env("M", fixture.mnt()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "second\nfirst\n", "{said:?}");
}

#[test]
fn mount_without_extended_attributes_is_not_backed_up() {
    let fixture = Fixture::with_options("noxattr");
    let copy = fixture.directory.path().join("copy");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("mount-scripts/backup.sh");
    let done = Command::new(script).arg(fixture.store()).arg(copy).env("CELLFS", CELLFS).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(1) && said.contains("noxattr"), "{said}");
}
