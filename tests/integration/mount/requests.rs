//! The log of requests, and what looks at it: `.info/access`, profile, top; the daemon's own log.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::fixture::{CELLFS, Fixture};

/// Tries until it succeeds.
fn soon(mut step: impl FnMut() -> bool) -> bool {
    (0..2000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        step()
    })
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn work(family: &Path, n: u32) {
    fs::write(family.join(format!("hot{n}")), "value").unwrap();
    assert_eq!(fs::read_to_string(family.join(format!("hot{n}"))).unwrap(), "value");
    assert!(fs::create_dir(family.join("refused")).is_err());
}

#[test]
fn mount_requests_are_followed_as_they_come() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let access = fixture.mnt().join(".info/access");
    work(&family, 0);
    let mut file = File::open(&access).unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert!(
        !text.contains("create") && !text.contains("access"),
        "not what nobody followed, nor that it is read: {text}"
    );
    work(&family, 1);
    file.read_to_string(&mut text).unwrap();
    assert!(fs::metadata(&access).unwrap().size() >= text.len() as u64);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let of = |request: &str| {
        let line = lines.iter().find(|line| line[3] == request);
        line.unwrap_or_else(|| panic!("{request}: {text}")).clone()
    };
    let (create, mkdir) = (of("create"), of("mkdir"));
    assert_eq!((create[5], create[6]), ("ok", "/default/t/r/f/hot1"));
    assert_eq!((mkdir[5], mkdir[6]), ("EPERM", "/default/t/r/f/refused"));
    let absent = lines.iter().find(|line| line[3] == "lookup" && line[6].ends_with("/hot1"));
    assert_eq!(absent.unwrap_or_else(|| panic!("{text}"))[5], "ENOENT", "a name that is not there yet");
    assert_eq!(of("write")[6], "/default/t/r/f/hot1");
    assert_eq!(of("close")[6], "/default/t/r/f/hot1");
    for line in &lines {
        assert_eq!(line.len(), 7, "{line:?}");
        assert!(line[0].ends_with('Z') && line[4].parse::<f64>().unwrap() >= 0.0, "{line:?}");
        assert!(line[1].parse::<u32>().is_ok() && line[2].parse::<u32>().is_ok(), "{line:?}");
        assert!(!line[6].contains(".info/access"), "{line:?}");
    }
    assert_eq!(fs::metadata(&access).unwrap().permissions().mode() & 0o777, 0o400);
    assert!(fs::write(&access, "x").is_err());
    drop(file);
    // Once nobody follows, nothing is kept.
    assert!(soon(|| fs::metadata(&access).unwrap().size() == 0));
    work(&family, 2);
    assert_eq!(fs::metadata(&access).unwrap().size(), 0);
}

#[test]
fn mount_requests_are_shown_by_tail() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let access = fixture.mnt().join(".info/access");
    let mut tail = Command::new("tail").args(["-n", "+1", "-f"]).arg(&access).stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(tail.stdout.take().unwrap());
    let _running = Running(tail);
    let (sender, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || output.lines().try_for_each(|line| sender.send(line.unwrap_or_default())));
    let mut n = 0;
    let shown = soon(|| {
        n += 1;
        work(&family, n % 3);
        lines.try_iter().any(|line| line.ends_with("/default/t/r/f/hot1") && line.contains("\tread\t"))
    });
    assert!(shown);
}

#[test]
fn mount_profile_and_top_say_where_the_time_goes() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let other = fixture.family("elsewhere");
    let mount = fixture.mnt();
    let mount = mount.to_str().unwrap();
    let run = |args: &[&str]| {
        let started = Command::new(CELLFS).args(args).stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let mut running = Running(started);
        let mut n = 0;
        // It works on until the other has looked.
        while running.0.try_wait().unwrap().is_none() {
            n += 1;
            work(&family, n % 2);
            work(&other, 7);
            std::thread::sleep(std::time::Duration::from_millis(3));
        }
        let mut text = String::new();
        running.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(running.0.wait().unwrap().code(), Some(0), "{args:?}");
        text
    };
    let text = run(&["profile", "-s", "1", mount]);
    assert!(text.contains(" requests, ") && text.contains("p99"), "{text}");
    assert!(text.contains("  /default/t/r/f/hot1\n") && text.contains("  /default/t/elsewhere/f/hot7\n"), "{text}");
    let json = run(&["profile", "-s", "1", "--json", fixture.path("t/r").to_str().unwrap()]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let count = |of: &serde_json::Value| of["count"].as_u64().unwrap();
    let all = count(&json["all"]);
    assert!(all > 0 && json["all"]["failed"].as_u64().unwrap() > 0, "{json}");
    assert_eq!(json["requests"].as_array().unwrap().iter().map(count).sum::<u64>(), all);
    let paths = json["paths"].as_array().unwrap();
    assert!(paths.iter().all(|path| path["path"].as_str().unwrap().starts_with("/default/t/r")), "{json}");
    // The kernel tells the thread.
    let own = nix::unistd::gettid().to_string();
    assert!(json["processes"].as_array().unwrap().iter().any(|p| p["pid"] == own), "{json}");
    let text = run(&["top", "-n", "2", "-i", "0.5", mount]);
    assert_eq!(text.matches(" s since its start").count(), 2, "{text}");
    for wanted in ["requests ", "p50 ", "memory ", "memtable ", "compactions: ", "/default/t/r/f/hot"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(!text.contains('\x1b'), "plain where there is no terminal");
    let lines = run(&["--json", "top", "-n", "2", "-i", "0.5", mount]);
    let looks: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(looks.len(), 2, "{lines}");
    for look in looks {
        assert!(count(&look["all"]) > 0 && look["all"]["quantile_nanoseconds"]["0.5"].as_u64().unwrap() > 0, "{look}");
        assert_eq!(look["requests"].as_array().unwrap().iter().map(count).sum::<u64>(), count(&look["all"]));
        assert!(look["paths"].as_array().unwrap().iter().any(|path| path["path"] == "/default/t/r/f/hot1"), "{look}");
        assert_eq!(look["mount_point"], mount);
        assert!(look["daemon"]["nodes"].as_u64().unwrap() > 0 && look["store"]["cells"].as_u64().is_some(), "{look}");
    }
    let none = Command::new(CELLFS).args(["top", "-n", "1", "/"]).output().unwrap();
    assert_eq!(none.status.code(), Some(2));
}

#[test]
fn mount_log_has_begin_options_recovery_and_end() {
    let mut fixture = Fixture::with_options("noxattr,cache=5");
    fs::write(fixture.family("r").join("q"), "value").unwrap();
    fixture.kill();
    fixture.mount("noexec");
    // The daemon itself looks at its new mount for a moment.
    let mount = fixture.mnt();
    assert!(soon(|| fixture.cellfs(&["umount", mount.to_str().unwrap()]).status.success()));
    fixture.wait();
    let log = fixture.log();
    let begins: Vec<&str> = log.lines().filter(|line| line.contains(": mounts ")).collect();
    assert_eq!(begins.len(), 2, "{log}");
    assert!(begins[0].ends_with("options: noxattr,cache=5") && begins[1].ends_with("options: noexec"), "{log}");
    assert!(begins[0].contains(env!("CARGO_PKG_VERSION")) && begins[0].contains("pid "));
    let recovered: Vec<u64> = log
        .lines()
        .filter_map(|line| line.split_once(" records of the log were read again")?.0.rsplit(' ').next()?.parse().ok())
        .collect();
    assert!(recovered.len() == 2 && recovered[0] == 0 && recovered[1] > 0, "{log}");
    assert_eq!(log.lines().filter(|line| line.contains("serving ")).count(), 2, "{log}");
    assert!(log.lines().last().unwrap().contains("is unmounted, and all is on the disk"), "{log}");
}
