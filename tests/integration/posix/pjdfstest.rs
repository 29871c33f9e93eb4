//! pjdfstest at every level of the tree: what it asks for and the tree has must pass.
//!
//! `tests/posix/passes.txt` and `tests/posix/refused.txt` name each case; the second gives the reason.

use std::collections::BTreeMap;
use std::process::Command;

use super::{data, tool};
use crate::mount::fixture::Fixture;

/// Below which its cases make a directory of their own: there that is a table, a row, a family.
const LEVELS: [&str; 3] = ["", "default", "default/t"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Skipped,
    Failed,
    Passed,
}

/// The best verdict of each case at any level.
fn run(pjdfstest: &std::path::Path, fixture: &Fixture) -> BTreeMap<String, Verdict> {
    let mut verdicts = BTreeMap::new();
    for level in LEVELS {
        let mut run = Command::new(pjdfstest);
        run.arg("-c").arg(data("pjdfstest.toml")).arg("-p").arg(fixture.mnt().join(level));
        let output = run.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("Summary"), "{text}{}", String::from_utf8_lossy(&output.stderr));
        for (name, verdict) in text.lines().filter_map(verdict) {
            let best = verdicts.entry(name.to_owned()).or_insert(verdict);
            *best = verdict.max(*best);
        }
    }
    verdicts
}

fn verdict(line: &str) -> Option<(&str, Verdict)> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|name| name.contains("::"))?;
    let verdict = match words.next_back()? {
        "ok" => Verdict::Passed,
        "FAILED" => Verdict::Failed,
        "skipped" => Verdict::Skipped,
        _ => return None,
    };
    Some((name, verdict))
}

fn names(list: &str) -> Vec<String> {
    let text = std::fs::read_to_string(data(list)).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn posix_pjdfstest_passes_what_the_tree_has() {
    let Some(pjdfstest) = tool("pjdfstest") else { return };
    if !nix::unistd::geteuid().is_root() {
        return println!("skipped: pjdfstest acts as several users, which only root can");
    }
    let fixture = Fixture::with_options("allow_other,families=auto");
    let verdicts = run(&pjdfstest, &fixture);
    let (passes, refused) = (names("passes.txt"), names("refused.txt"));
    let of = |name: &String| verdicts.get(name).copied();
    let broken: Vec<_> = passes.iter().filter(|name| of(name) != Some(Verdict::Passed)).collect();
    let surprising: Vec<_> = refused.iter().filter(|name| of(name) == Some(Verdict::Passed)).collect();
    let known = |name: &&String| passes.contains(name) || refused.contains(name);
    let unlisted: Vec<_> =
        verdicts.iter().filter(|(name, v)| **v != Verdict::Skipped && !known(name)).map(|(name, _)| name).collect();
    println!("pjdfstest: {} pass, {} refused by design, {} unexpected", passes.len(), refused.len(), broken.len());
    assert!(broken.is_empty(), "do not pass any more: {broken:?}");
    assert!(surprising.is_empty(), "pass now; move them to passes.txt: {surprising:?}");
    assert!(unlisted.is_empty(), "in neither list: {unlisted:?}");
}
