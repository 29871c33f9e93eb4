//! The change feed: `.changes` of a table and `cellfs watch`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::fixture::{CELLFS, Fixture};

/// A program that follows, and its lines as they come.
struct Follower {
    child: Child,
    lines: Receiver<String>,
}

impl Follower {
    fn run(program: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new(program).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, lines }
    }

    /// Waits until it has a file open.
    fn await_open(&self, path: &Path) {
        let open = || fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap();
        let is_open = || open().any(|fd| fs::read_link(fd.unwrap().path()).is_ok_and(|open| open == *path));
        while !is_open() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn next(&self) -> Json {
        let line = self.lines.recv_timeout(Duration::from_secs(60)).expect("a change is told within a minute");
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn watch(arguments: &[&str]) -> (Option<i32>, Vec<Json>, String) {
    let output = Command::new(CELLFS).args(["--json", "watch"]).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (output.status.code(), lines, String::from_utf8(output.stderr).unwrap())
}

/// The cell of a line, without number and timestamp.
fn cell(mut line: Json) -> Json {
    let object = line.as_object_mut().unwrap();
    assert!(object.remove("seq").unwrap().is_u64() && object.remove("timestamp").unwrap().is_i64());
    line
}

#[test]
fn mount_changes_are_followed_by_tail_and_by_watch() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("before"), "1").unwrap();
    let (changes, store) = (fixture.path("t/.changes"), fixture.store());
    let facts = fs::metadata(&changes).unwrap();
    assert_eq!((facts.mode() & 0o7777, facts.len()), (0o400, 0));
    assert!(!super::fixture::names(&fixture.path("t")).contains(&".changes".to_owned()));
    assert!(fs::write(&changes, "x").is_err());
    let tail = Follower::run("tail", &["-f", "-s", "0.1", changes.to_str().unwrap()]);
    tail.await_open(&changes);
    let follower = Follower::run(CELLFS, &["--json", "watch", store.to_str().unwrap(), "t", "--since", "0"]);
    assert_eq!(cell(follower.next()), json!({ "table": "t", "row": "r", "f:before": "1" }));
    fs::write(family.join("a"), "2").unwrap();
    fs::write(family.join("large"), vec![b'x'; 100_000]).unwrap();
    fs::remove_file(family.join("before")).unwrap();
    for follower in [&tail, &follower] {
        assert_eq!(cell(follower.next()), json!({ "table": "t", "row": "r", "f:a": "2" }));
        let large = json!({ "table": "t", "row": "r", "f:large": null, "length": 100_000 });
        assert_eq!(cell(follower.next()), large);
        let gone = follower.next();
        assert_eq!((gone["f:before"].clone(), gone["row"].clone()), (Json::Null, json!("r")));
        assert!(gone["type"].is_string(), "{gone}");
    }
}

#[test]
fn mount_a_watch_without_a_reader_ends_before_the_next_change() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "1").unwrap();
    let store = fixture.store();
    let mut child = Command::new(CELLFS)
        .args(["watch", store.to_str().unwrap(), "t", "--since", "0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("f:q"));
    assert!(child.try_wait().unwrap().is_none(), "it waits for what comes");
    drop(lines);
    // A bound on liveness: no change comes any more.
    let ended = (0..1000).find_map(|_| {
        std::thread::sleep(Duration::from_millis(10));
        child.try_wait().unwrap()
    });
    let ended = ended.unwrap_or_else(|| {
        child.kill().unwrap();
        panic!("it waits for the next change");
    });
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn mount_who_was_away_goes_on_by_number_or_is_told() {
    let mut fixture = Fixture::new();
    let family = fixture.family("r");
    let shown = fixture.store().to_str().unwrap().to_owned();
    let config = Command::new(CELLFS).args(["config", &shown, "changes_retain", "10M"]).status().unwrap();
    assert!(config.success());
    fs::write(family.join("q"), "1").unwrap();
    let synced = || fs::File::open(family.join("q")).unwrap().sync_all().unwrap();
    synced();
    let (status, lines, _) = watch(&[&shown, "t", "--since", "0", "--once"]);
    assert_eq!((status, lines.len()), (Some(0), 1));
    let last = lines[0]["seq"].to_string();
    // A flush, and a clean end, while it is away.
    fs::write(family.join("q"), "2").unwrap();
    fixture.backend().flush(None).unwrap();
    fs::write(family.join("q"), "3").unwrap();
    fixture.unmount();
    let (status, lines, stderr) = watch(&[&shown, "t", "f:q", "--since", &last]);
    assert_eq!(
        (status, lines.iter().map(|line| line["f:q"].clone()).collect()),
        (Some(0), vec![json!("2"), json!("3")])
    );
    assert!(stderr.contains("is not mounted"), "{stderr}");
    fixture.mount("");
    assert!(Command::new(CELLFS).args(["config", &shown, "changes_retain", "0"]).status().unwrap().success());
    fs::write(family.join("q"), "4").unwrap();
    fixture.backend().flush(None).unwrap();
    let (status, lines, stderr) = watch(&[&shown, "t", "--since", &last, "--once"]);
    assert_eq!((status, lines.len()), (Some(2), 0), "{stderr}");
    assert!(stderr.contains("not in the log any more") && stderr.contains("changes_retain"), "{stderr}");
    for (arguments, wanted) in [
        (vec!["t", "--since", "soon"], "neither the number"),
        (vec!["none", "--since", "0"], "does not exist"),
        (vec!["t", "g:q"], "no family g"),
    ] {
        let (status, _, stderr) = watch(&[&[shown.as_str()], &arguments[..]].concat());
        assert!(status == Some(2) && stderr.contains(wanted), "{stderr}");
    }
}

/// Whoever takes it for one that came has what was deleted.
#[test]
fn mount_a_deleted_version_that_moves_with_its_row_is_told_as_deleted() {
    let fixture = Fixture::new();
    let store = fixture.store().to_str().unwrap().to_owned();
    let family = fixture.family("r1");
    for name in ["gone", "kept"] {
        fs::write(family.join(name), name).unwrap();
    }
    fs::remove_file(family.join("gone")).unwrap();
    fs::rename(fixture.path("t/r1"), fixture.path("t/r2")).unwrap();
    fs::File::open(fixture.path("t/r2/f/kept")).unwrap().sync_all().unwrap();
    let (_, all, _) = watch(&[&store, "t", "--since", "0", "--once"]);
    let of =
        |row: &str, column: &str| all.iter().find(|line| line["row"] == row && line.get(column).is_some()).unwrap();
    let (deleted, tombstone) = (of("r2", "f:gone"), all.iter().find(|line| line["type"].is_string()).unwrap());
    assert_eq!((&deleted["f:gone"], &deleted["deleted"]), (&json!("gone"), &tombstone["timestamp"]));
    assert!(of("r2", "f:kept").get("deleted").is_none() && of("r1", "f:gone").get("deleted").is_none());
    let lines = Command::new(CELLFS).args(["watch", &store, "t", "--since", "0", "--once"]).output().unwrap();
    let lines = String::from_utf8(lines.stdout).unwrap();
    assert!(lines.lines().any(|line| line.contains("\tr2\tf:gone\t") && line.contains("\t(deleted ")), "{lines}");
}

#[test]
fn mount_who_was_stopped_within_a_commit_goes_on_within_it() {
    let fixture = Fixture::new();
    let store = fixture.store().to_str().unwrap().to_owned();
    fs::write(fixture.family("r").join("before"), "1").unwrap();
    let text: String = (0..500).map(|n| format!("{{\"row\":\"r{n:03}\",\"f:n\":\"{n}\"}}\n")).collect();
    let file = fixture.directory.path().join("in.jsonl");
    fs::write(&file, text).unwrap();
    assert!(Command::new(CELLFS).args(["import", &store, "t", file.to_str().unwrap()]).status().unwrap().success());
    fs::write(fixture.family("r").join("behind"), "2").unwrap();
    fs::File::open(fixture.family("r").join("behind")).unwrap().sync_all().unwrap();
    let (_, all, _) = watch(&[&store, "t", "--since", "0", "--once"]);
    assert_eq!(all.len(), 502);
    // One cell alone has no part; those of the import are counted in each of its commits.
    assert!(all[0].get("part").is_none() && all[1]["part"] == 1 && all[1]["parts"].as_u64().unwrap() > 1, "{}", all[1]);
    for at in [1, 2, 200, 500] {
        let from = format!("{}:{}", all[at]["seq"], all[at]["part"]);
        let (status, rest, stderr) = watch(&[&store, "t", "--since", &from, "--once"]);
        assert_eq!((status, &rest[..]), (Some(0), &all[at + 1..]), "behind {from}: {stderr}");
    }
    let (_, rest, _) = watch(&[&store, "t", "--since", &all[1]["seq"].to_string(), "--once"]);
    assert!(rest.iter().all(|line| line["seq"] != all[1]["seq"]), "behind all of a commit");
}
