//! What a store has beside its cells comes back from a backup, and cells as they were.

use std::fs;
use std::process::Command;

use super::fixture::Fixture;
use super::snapshots::{script, succeeded};

fn run(fixture: &Fixture, args: &[&str]) -> String {
    succeeded(fixture.cellfs(args))
}

fn store(fixture: &Fixture) -> String {
    fixture.store().display().to_string()
}

/// The settings that are set.
fn settings(fixture: &Fixture) -> Vec<String> {
    let list = run(fixture, &["config", "--json", &store(fixture)]);
    list.lines().filter(|line| !line.contains("\"origin\":\"default\"")).map(str::to_owned).collect()
}

#[test]
fn mount_settings_of_a_store_come_back_from_a_backup() {
    let fixture = Fixture::new();
    let backup = fixture.directory.path().join("backup");
    let set = |name: &str, value: &str| run(&fixture, &["config", &store(&fixture), name, value]);
    let copy = |target: &Fixture| {
        succeeded(script("backup.sh").arg(fixture.store()).arg(&backup).output().unwrap());
        succeeded(script("restore.sh").arg(&backup).arg(target.store()).output().unwrap());
    };
    fs::write(fixture.family("r").join("q"), "longer than the limit is later").unwrap();
    let other = Fixture::empty();
    copy(&other);
    assert_eq!(settings(&other), [""; 0], "of which none is set");
    for (name, value) in
        [("value_limit", "9"), ("default.TTL", "1"), ("default.VERSIONS", "77"), ("changes_retain", "7")]
    {
        set(name, value);
    }
    let target = Fixture::empty();
    run(&target, &["config", &store(&target), "default.MIN_VERSIONS", "1"]);
    for _ in 0..2 {
        copy(&target);
        let (mut wanted, found) = (settings(&fixture), settings(&target));
        wanted.push(r#"{"name":"default.MIN_VERSIONS","origin":"set","value":"1"}"#.to_owned());
        wanted.sort();
        assert_eq!(found.len(), 5);
        assert!(found.iter().all(|setting| wanted.binary_search(setting).is_ok()), "{found:?} {wanted:?}");
        // Families are as they were, and not as new ones are.
        let describe = |of: &Fixture| run(of, &["describe", &store(of), "t"]);
        assert_eq!(describe(&target), describe(&fixture));
        let value = fs::read_to_string(target.path("t/r/f/q")).unwrap();
        assert_eq!(value, "longer than the limit is later");
    }
    // A table that is new since, in a store that has the settings.
    run(&fixture, &["config", "--unset", &store(&fixture), "default.TTL"]);
    run(&fixture, &["create", &store(&fixture), "u", "f"]);
    run(&fixture, &["put", &store(&fixture), "u", "r", "f:q", "v"]);
    copy(&target);
    assert_eq!(run(&target, &["get", &store(&target), "u", "r"]), run(&fixture, &["get", &store(&fixture), "u", "r"]));
    // A backup of an older release has none.
    let marker = backup.join(".cellfs-backup");
    let text = fs::read_to_string(&marker).unwrap();
    fs::write(&marker, text.lines().filter(|line| !line.starts_with("setting")).collect::<String>()).unwrap();
    let old = Fixture::empty();
    succeeded(script("restore.sh").arg(&backup).arg(old.store()).output().unwrap());
    assert_eq!(settings(&old), [""; 0]);
}

#[test]
fn mount_a_backup_comes_back_with_the_mtimes_that_were_set_and_no_others() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    for (name, value) in [("a", "one"), ("a", "two"), ("touched", "v"), ("gone", "v"), ("mode", "v"), ("moved", "v")] {
        fs::write(family.join(name), value).unwrap();
    }
    let touch = |time: &str, name: &str| {
        assert!(Command::new("touch").args(["-d", time]).arg(family.join(name)).status().unwrap().success());
    };
    touch("2020-01-01 00:00:00.123456789", "touched");
    assert!(Command::new("chmod").arg("600").arg(family.join("mode")).status().unwrap().success());
    fs::remove_file(family.join("gone")).unwrap();
    fs::rename(family.join("moved"), family.join("to")).unwrap();
    run(&fixture, &["put", &store(&fixture), "t", "r", "f:early", "v", "1000"]);
    run(&fixture, &["put", &store(&fixture), "t", "r", "f:ahead", "v", "9000000000000"]);
    let (backup, target) = (fixture.directory.path().join("backup"), Fixture::empty());
    succeeded(script("backup.sh").arg(fixture.store()).arg(&backup).output().unwrap());
    succeeded(script("restore.sh").arg(&backup).arg(target.store()).output().unwrap());
    let export = |of: &Fixture| run(of, &["export", "--history", &store(of), "t"]);
    let (wanted, found) = (export(&fixture), export(&target));
    assert_eq!(found, wanted);
    let is_dated = |name: &str| wanted.lines().any(|line| line.contains(name) && line.contains("\"mtime\""));
    assert_eq!(["touched", "ahead", "early", "mode\":\"v"].map(is_dated), [true, true, false, false], "{wanted}");
}
