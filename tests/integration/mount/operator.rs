//! What an operator looks with: stats, log; and mv, which moves what rename(2) cannot.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Command, Stdio};
use std::sync::Arc;

use cellfs::backend::{Backend, HistoryFrom};
use cellfs::model::{CellInfo, Qualifier, TableName};

use super::fixture::{CELLFS, Fixture, errno, names};

/// Runs a command on the store; what it printed.
fn run(fixture: &Fixture, args: &[&str]) -> String {
    let output = fixture.cellfs(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Words of units and of kinds that promtool's linter does not want in names: base units, no abbreviations.
const UNWANTED: [&str; 18] = [
    "milliseconds",
    "microseconds",
    "nanoseconds",
    "minutes",
    "hours",
    "days",
    "kilobytes",
    "megabytes",
    "gigabytes",
    "kb",
    "mb",
    "gb",
    "ms",
    "us",
    "percent",
    "counter",
    "gauge",
    "summary",
];

/// Labels of a sample: names as the format wants them, values unescaped.
fn labels(text: &str) -> BTreeMap<String, String> {
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap();
    let mut labels = BTreeMap::new();
    for pair in inner.split("\",").map(|pair| pair.trim_end_matches('"')) {
        let (name, value) = pair.split_once("=\"").unwrap();
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') && !name.starts_with("__"), "{name}");
        assert!(labels.insert(name.to_owned(), value.to_owned()).is_none(), "{name} twice");
    }
    labels
}

/// Series without the label of the store, and their values, after the rules of the format and of promtool's linter were
/// checked.
fn parse_prometheus(text: &str, store: &str) -> BTreeMap<String, f64> {
    let (mut series, mut kinds) = (BTreeMap::new(), BTreeMap::new());
    let (mut last, mut helps) = (String::new(), BTreeSet::new());
    assert!(text.ends_with('\n') && !text.contains("\n\n"));
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(name.starts_with("cellfs_"), "the names of others: {name}");
            assert!(!help.trim().is_empty() && helps.insert(help.to_owned()), "{line}");
            assert!(!name.split('_').any(|word| UNWANTED.contains(&word)), "{name}");
            assert!(!["_count", "_sum", "_bucket", "_info_total"].iter().any(|end| name.ends_with(end)), "{name}");
            last = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(name, last, "HELP and TYPE stand together");
            assert!(["counter", "gauge", "summary"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} twice");
        } else {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let (metric, rest) = name.split_at(name.find('{').unwrap());
            let of_summary = metric.strip_suffix("_sum").or(metric.strip_suffix("_count"));
            let family = of_summary.filter(|family| kinds.contains_key(*family)).unwrap_or(metric);
            assert_eq!(family, last, "samples follow their TYPE");
            assert!(kinds.contains_key(family), "HELP and TYPE come before samples: {line}");
            assert!(metric.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{metric}");
            let mut labels = labels(rest);
            assert_eq!(labels.remove("store").as_deref(), Some(store), "{line}");
            assert_eq!(labels.contains_key("quantile"), kinds[family] == "summary" && metric == family, "{line}");
            let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            assert!(series.insert(format!("{metric}{labels}"), value.parse().unwrap()).is_none(), "{name} twice");
        }
    }
    assert!(kinds.keys().all(|name| series.keys().any(|series| series.starts_with(name.as_str()))), "no empty metric");
    series
}

#[test]
fn mount_stats_for_people_programs_and_prometheus() {
    let mut fixture = Fixture::new();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    let family = fixture.family("r");
    for n in 0..10 {
        fs::write(family.join(format!("q{n}")), "value").unwrap();
    }
    assert_eq!(errno(fs::write(fixture.path("t/file"), "x")), libc::EPERM);
    let series = parse_prometheus(&run(&fixture, &["stats", store, "--prometheus"]), store);
    assert_eq!(series["cellfs_cells"], 10.0);
    assert_eq!(series["cellfs_mounted"], 1.0);
    assert_eq!(series["cellfs_fuse_requests_total{operation=\"create\"}"], 11.0);
    assert_eq!(series["cellfs_fuse_request_failures_total{operation=\"create\"}"], 1.0);
    assert_eq!(series["cellfs_refusals_total"], 1.0);
    let latency = "cellfs_fuse_request_duration_seconds";
    assert_eq!(series[&format!("{latency}_count{{operation=\"create\"}}")], 11.0);
    let median = series[&format!("{latency}{{operation=\"create\",quantile=\"0.5\"}}")];
    let tail = series[&format!("{latency}{{operation=\"create\",quantile=\"0.999\"}}")];
    assert!(0.0 < median && median <= tail && tail < 10.0, "seconds: {median} {tail}");
    assert!(series["cellfs_daemon_resident_memory_bytes"] > 1e6);
    let json: serde_json::Value = serde_json::from_str(&run(&fixture, &["stats", "--json", store])).unwrap();
    assert_eq!(json["store"]["cells"], 10);
    assert_eq!(json["daemon"]["pid"], fixture.daemon_pid());
    assert_eq!(json["daemon"]["commands"]["stats"], 2, "this one and the one before");
    let text = run(&fixture, &["stats", store]);
    assert!(text.contains("p99") && text.contains("create") && text.contains("refusals"), "{text}");
    let watched = run(&fixture, &["stats", "--watch=0.1", "-n", "3", store]);
    assert_eq!(watched.lines().filter(|line| line.starts_with("open files")).count(), 3, "{watched}");
    let watched = run(&fixture, &["stats", "--watch=0.1", "-n", "2", "--json", store]);
    let counts: Vec<u64> = watched
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["daemon"]["commands"]["stats"].as_u64().unwrap()
        })
        .collect();
    assert_eq!(counts[1], counts[0] + 1, "{watched}");
    let both = fixture.cellfs(&["--json", "stats", store, "--prometheus"]);
    assert_eq!(both.status.code(), Some(2));
    fixture.unmount();
    let series = parse_prometheus(&run(&fixture, &["stats", store, "--prometheus"]), store);
    assert_eq!((series["cellfs_mounted"], series["cellfs_cells"]), (0.0, 10.0));
    let json: serde_json::Value = serde_json::from_str(&run(&fixture, &["stats", "--json", store])).unwrap();
    assert!(json["daemon"].is_null());
    assert!(run(&fixture, &["stats", store]).contains("a mounted store has the numbers of its daemon too"));
}

#[test]
fn mount_log_tells_live_deleted_and_tombstones_apart() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(fixture.family("r").join("q@5"), "five").unwrap();
    fs::write(fixture.family("r").join("q@7"), "seventh").unwrap();
    fs::remove_file(&cell).unwrap();
    fs::write(&cell, "eleven chars").unwrap();
    let set = Command::new("setfattr").args(["-n", "user.cellfs.ttl", "-v", "3600000"]).arg(&cell).status().unwrap();
    assert!(set.success());
    let json = run(&fixture, &["log", "--json", cell.to_str().unwrap()]);
    let lines: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let states: Vec<&str> = lines.iter().map(|line| line["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["live", "tombstone", "deleted", "deleted"], "{json}");
    assert_eq!((&lines[2]["timestamp"], &lines[2]["size"]), (&7.into(), &7.into()));
    assert_eq!(lines[2]["deleted_at"], lines[1]["timestamp"]);
    assert_eq!(lines[0]["ttl"], 3_600_000);
    let store = fixture.store();
    let people = run(&fixture, &["log", store.to_str().unwrap(), "t/r/f/q"]);
    assert!(
        people.contains("live\t12 bytes\t")
            && people.contains("\texpires ")
            && people.contains("tombstone DeleteColumn"),
        "{people}"
    );
    assert_eq!(run(&fixture, &["log", "-n", "1", store.to_str().unwrap(), "default/t/r/f/q"]).lines().count(), 1);
    let none = fixture.cellfs(&["log", store.to_str().unwrap(), "t/r/f/other"]);
    assert_eq!(none.status.code(), Some(1));
    let row = fixture.cellfs(&["log", store.to_str().unwrap(), "t"]);
    assert!(String::from_utf8_lossy(&row.stderr).contains("only those have a history"));
    // A family that keeps nothing: what a tombstone hides is there until a compaction.
    run(&fixture, &["create", store.to_str().unwrap(), "s", "g,KEEP_DELETED_CELLS=FALSE"]);
    run(&fixture, &["put", store.to_str().unwrap(), "s", "r", "g:q", "v", "5"]);
    run(&fixture, &["deleteall", store.to_str().unwrap(), "s", "r"]);
    let gone = run(&fixture, &["log", store.to_str().unwrap(), "s/r/g/q"]);
    assert!(gone.contains("DeleteFamily") && gone.contains("gone (until a compaction"), "{gone}");
}

type Versions = BTreeMap<Qualifier, Vec<(i64, u64, Option<i64>)>>;

/// All versions of family `f` of a row: timestamp, size, when it was deleted.
fn everything(backend: &Arc<dyn Backend>, row: &str) -> Versions {
    let (table, mut from, mut all) = (TableName::parse("t").unwrap(), None, Versions::new());
    loop {
        let page = backend.list_history(&table, row.as_bytes(), "f", from.as_ref(), 1000).unwrap();
        for (qualifier, cell) in &page {
            let CellInfo { timestamp, deleted_at, .. } = cell;
            all.entry(qualifier.clone()).or_default().push((timestamp.0, cell.len(), deleted_at.map(|time| time.0)));
        }
        let Some((qualifier, cell)) = page.last().filter(|_| page.len() == 1000) else { return all };
        from = Some(HistoryFrom { qualifier: qualifier.clone(), before: Some(cell.timestamp) });
    }
}

#[test]
fn mount_mv_moves_a_large_row_with_its_history_though_it_is_interrupted() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    let family = fixture.family("from");
    let mut scripts = String::new();
    for column in 0..3000 {
        scripts.push_str(&format!("put 't', 'from', 'f:c{column:04}', 'x', 5\n"));
    }
    for version in 0..2500 {
        scripts.push_str(&format!("put 't', 'from', 'f:deep', 'v{version}', {}\n", version + 10));
    }
    run(&fixture, &["alter", store, "t", "f,VERSIONS=100000"]);
    let script = fixture.directory.path().join("script");
    fs::write(&script, scripts).unwrap();
    run(&fixture, &["shell", store, script.to_str().unwrap()]);
    for large in 0..7 {
        fs::write(family.join(format!("large{large}")), vec![large; 10 << 20]).unwrap();
    }
    // Those move without their bytes; these do not, and are more than one step takes.
    for small in 0..4300 {
        fs::write(family.join(format!("small{small:04}")), vec![b's'; 16_000]).unwrap();
    }
    fs::remove_file(family.join("c0007")).unwrap();
    let backend = fixture.backend();
    let before = everything(&backend, "from");
    assert_eq!(before.values().map(Vec::len).sum::<usize>(), 3000 + 2500 + 7 + 4300);
    assert_eq!(errno(fs::rename(fixture.path("t/from"), fixture.path("t/to"))), libc::EXDEV);
    let errors = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    assert!(errors.contains("cellfs mv"), "{errors}");

    let mut command = Command::new(CELLFS);
    let mut moving = command.args(["mv", store, "t/from", "t/to"]).stdin(Stdio::null()).spawn().unwrap();
    while everything(&backend, "to").is_empty() && moving.try_wait().unwrap().is_none() {}
    // It may have ended already: then the second run has nothing to do.
    let _ = moving.kill();
    moving.wait().unwrap();
    let (source, target) = (everything(&backend, "from"), everything(&backend, "to"));
    let columns: BTreeSet<_> = source.keys().chain(target.keys()).collect();
    assert_eq!(columns, before.keys().collect(), "nothing is lost in between");
    for (column, versions) in &before {
        let whole = source.get(column) == Some(versions) || target.get(column) == Some(versions);
        assert!(whole, "{} is whole at one of the two places", String::from_utf8_lossy(column));
    }
    let refused = fixture.cellfs(&["mv", store, "t/from", "t/to"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--resume"));
    run(&fixture, &["mv", "--resume", store, "t/from", "t/to"]);
    assert_eq!(everything(&backend, "to"), before);
    assert!(everything(&backend, "from").is_empty());
    let large = fs::read(fixture.path("t/to/f/large3")).unwrap();
    assert!(large.len() == 10 << 20 && large.iter().all(|byte| *byte == 3));

    run(&fixture, &["mv", store, "t/to/f/deep", "t/other/f/deeper"]);
    assert_eq!(everything(&backend, "other")[b"deeper".as_slice()], before[b"deep".as_slice()]);
    run(&fixture, &["mv", store, "t", "u"]);
    assert!(fixture.path("u/to/f/large3").exists() && !fixture.path("t").exists());
    let odd = fixture.cellfs(&["mv", store, "u/to", "v"]);
    assert!(String::from_utf8_lossy(&odd.stderr).contains("a row to a row"));
}

#[test]
fn mount_mv_leaves_nothing_of_the_old_place() {
    let fixture = Fixture::new();
    let store = fixture.store().to_str().unwrap().to_owned();
    fs::create_dir(fixture.path("t/.schema/g")).unwrap();
    for family in ["f", "g"] {
        fs::create_dir_all(fixture.path("t/from").join(family)).unwrap();
        fs::write(fixture.path("t/from").join(family).join("q"), "value").unwrap();
    }
    let listed = names(&fixture.path("t/from"));
    run(&fixture, &["mv", &store, "t/from", "t/to"]);
    assert_eq!(errno(fs::metadata(fixture.path("t/from"))), libc::ENOENT);
    assert_eq!(names(&fixture.path("t")), ["to"]);
    assert_eq!(names(&fixture.path("t/to")), listed);
    let to = fixture.path("t/to/g").to_str().unwrap().to_owned();
    let other = fixture.path("t/other/g").to_str().unwrap().to_owned();
    fs::create_dir_all(fixture.path("t/to/g")).unwrap();
    run(&fixture, &["mv", &to, &other]);
    assert_eq!((names(&fixture.path("t/to")), names(&fixture.path("t/other"))), (vec!["f".into()], vec!["g".into()]));
}

#[test]
fn mount_commands_find_the_store_of_any_path_of_its_mount() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "value").unwrap();
    let store = fixture.store().to_str().unwrap().to_owned();
    let paths =
        [fixture.mnt(), fixture.path("t"), fixture.path("t/r/f/q"), fixture.path("t/not/there"), fixture.path(".")];
    for args in [&["status"][..], &["stats"], &["check"], &["flush"], &["list"], &["config"], &["snapshot", "list"]] {
        for path in &paths {
            let output = fixture.cellfs(&[args, &[path.to_str().unwrap()]].concat());
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!((output.status.code(), &*said), (Some(0), ""), "{args:?} {}", path.display());
        }
    }
    let status = fixture.cellfs(&["status", paths[2].to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&status.stdout).contains(&store));
    run(&fixture, &["config", paths[1].to_str().unwrap(), "value_limit", "1000000"]);
    let limit = fixture.cellfs(&["config", &store, "value_limit"]);
    assert_eq!(limit.stdout, b"1000000\n");
    // A new store is not made in a mount, nor a part of one unmounted.
    run(&fixture, &["create", "--make", paths[1].to_str().unwrap(), "made", "f"]);
    assert!(fixture.path("made").exists());
    let output = fixture.cellfs(&["umount", paths[1].to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(&format!("cellfs umount {}", fixture.mnt().display())), "{said}");
    assert!(fixture.path("t/r/f/q").exists());
}

#[test]
fn mount_mv_loses_nothing_that_is_written_while_it_moves() {
    let fixture = Fixture::new();
    let store = fixture.store().to_str().unwrap().to_owned();
    run(&fixture, &["alter", &store, "t", "f,VERSIONS=1000000"]);
    let column = fixture.family("from").join("q");
    let script: String = (0..20_000).map(|version| format!("put 't', 'from', 'f:q', 'x', {version}\n")).collect();
    let file = fixture.directory.path().join("script");
    fs::write(&file, script).unwrap();
    run(&fixture, &["shell", &store, file.to_str().unwrap()]);

    // With that it goes in parts.
    let mut moving = Command::new(CELLFS);
    let mut moving = moving.args(["mv", "--resume", &store, "t/from", "t/to"]).stdin(Stdio::null()).spawn().unwrap();
    let mut written = 0;
    while moving.try_wait().unwrap().is_none() && written < 5000 {
        fs::create_dir_all(column.parent().unwrap()).unwrap();
        fs::write(&column, format!("meanwhile {written}")).unwrap();
        written += 1;
    }
    assert!(moving.wait().unwrap().success());
    let backend = fixture.backend();
    let versions = |row| everything(&backend, row).remove(b"q".as_slice()).unwrap_or_default();
    let both: BTreeSet<_> = versions("from").into_iter().chain(versions("to")).collect();
    assert_eq!(both.len(), 20_000 + written, "each version is at the one place or the other");
}

#[test]
fn bench_measures_and_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(CELLFS).args(["--json", "bench"]).arg(directory.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let figures: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(figures.iter().all(|figure| figure["per_second"].as_f64().unwrap() > 0.0), "{text}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(figures.iter().any(|figure| figure["ratio"].is_number()), "{text}{said}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn bench_takes_away_what_it_made_when_it_is_interrupted() {
    use nix::sys::signal::{Signal, kill};
    let mounted_below = |directory: &std::path::Path| {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        mounts.contains(directory.to_str().unwrap())
    };
    let made = |directory: &std::path::Path| fs::read_dir(directory).unwrap().count() > 0;
    // Once while the store is measured, once while the mount is.
    for (signal, mounted) in [(Signal::SIGINT, false), (Signal::SIGTERM, true)] {
        let reached = |directory: &std::path::Path| made(directory) && (!mounted || mounted_below(directory));
        let directory = tempfile::tempdir().unwrap();
        let mut bench = Command::new(CELLFS);
        let bench = bench.arg("bench").arg(directory.path()).stderr(Stdio::piped()).stdout(Stdio::null());
        let mut bench = bench.stdin(Stdio::null()).spawn().unwrap();
        while !reached(directory.path()) {
            assert!(bench.try_wait().unwrap().is_none(), "it has ended before it was interrupted");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        kill(nix::unistd::Pid::from_raw(bench.id().cast_signed()), signal).unwrap();
        let output = bench.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{signal}: {text}");
        assert!(text.contains("interrupted"), "{signal}: {text}");
        assert!(!mounted_below(directory.path()) && !made(directory.path()), "{signal}");
    }
}

/// Unmounts what a test has mounted, also when it fails.
struct Unmounted(std::path::PathBuf);

impl Drop for Unmounted {
    fn drop(&mut self) {
        // It may be unmounted already.
        let _ = cellfs::fuse::unmount(&self.0, cellfs::fuse::Detach::Now);
    }
}

#[test]
fn demo_mounts_a_store_with_tables_and_can_be_run_again() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("demo");
    let mnt = place.join("mnt");
    let _unmounted = Unmounted(mnt.clone());
    let demo = || {
        let output = Command::new(CELLFS).arg("demo").arg(&place).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let umount = || assert!(Command::new(CELLFS).arg("umount").arg(&mnt).status().unwrap().success());
    let tour = demo();
    // Every line of the tour is a command that works; the shell would read our input, the last one unmounts.
    let commands: Vec<&str> = tour.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    assert!(commands.len() > 5 && commands.last().unwrap().starts_with("cellfs umount"), "{tour}");
    let path =
        format!("{}:{}", std::path::Path::new(CELLFS).parent().unwrap().display(), std::env::var("PATH").unwrap());
    for command in &commands[..commands.len() - 1] {
        let done = Command::new("sh").args(["-c", command]).env("PATH", &path).stdin(Stdio::null()).output().unwrap();
        let differs = command.starts_with("diff") && done.status.code() == Some(1);
        assert!(differs || done.status.success(), "{command}: {}", String::from_utf8_lossy(&done.stderr));
        assert!(!done.stdout.is_empty(), "{command} shows nothing");
    }
    let anchor = mnt.join("default/webtable/com.cnn.www/anchor/cnnsi.com");
    assert_eq!(fs::read_to_string(&anchor).unwrap(), "CNN Sports\n");
    assert_eq!(demo(), tour, "it is mounted already");
    umount();
    demo();
    assert_eq!(fs::read_to_string(&anchor).unwrap(), "CNN Sports\n", "the store is kept");
    umount();
}
