//! What real programs leave behind in a family: `tests/posix/programs.txt` has one block for each.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::fixture::{Fixture, history, names};

/// What every program finds: the file `q`.
const BEFORE: &str = "one\ntwo\n";

/// One block of the table.
#[derive(Debug, Default)]
struct Case {
    title: String,
    /// Programs without which the case is skipped.
    needs: Vec<String>,
    script: String,
    /// Name, versions, and the value as `printf %b` takes it (`None`: any).
    leaves: BTreeMap<String, (Option<usize>, Option<String>)>,
    /// What the script prints.
    prints: Option<String>,
}

/// Blocks of `# title`, `needs:`, `$ script lines`, `> name versions [value]`, `= printed`.
fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        let (mark, rest) = line.split_at(line.len().min(2));
        match (mark, cases.last_mut()) {
            ("# ", _) => cases.push(Case { title: rest.to_owned(), ..Case::default() }),
            ("& ", Some(case)) => case.needs = rest.split_whitespace().map(str::to_owned).collect(),
            ("$ ", Some(case)) => case.script += &format!("{rest}\n"),
            ("= ", Some(case)) => case.prints = Some(rest.to_owned()),
            ("> ", Some(case)) => {
                let mut words = rest.splitn(3, ' ');
                let name = words.next().unwrap().to_owned();
                let versions = words.next().filter(|word| *word != "any").map(|word| word.parse().unwrap());
                case.leaves.insert(name, (versions, words.next().map(unescape)));
            }
            ("", _) | ("% ", _) => {}
            _ => panic!("not understood: {line}"),
        }
    }
    cases
}

fn unescape(text: &str) -> String {
    text.replace("\\n", "\n")
}

fn has(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap();
    found.status.success()
}

fn run(case: &Case, family: &Path) -> Result<(), String> {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(family.join("q"), BEFORE).unwrap();
    let mut shell = Command::new("timeout");
    shell.args(["60", "bash", "-euc", &case.script]).current_dir(family).env("T", scratch.path());
    let home = ["HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"].map(|name| (name, scratch.path().join("none")));
    let output = shell.envs(home).env("LC_ALL", "C").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).trim_end().replace('\n', " ");
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{}: {said} {errors}", output.status));
    }
    if let Some(prints) = &case.prints
        && *prints != said
    {
        return Err(format!("printed {said:?}, not {prints:?}"));
    }
    compare(case, family)
}

fn compare(case: &Case, family: &Path) -> Result<(), String> {
    let wanted: Vec<&str> = case.leaves.keys().map(String::as_str).collect();
    let found = names(family);
    if found != wanted {
        return Err(format!("left {found:?}, not {wanted:?}"));
    }
    for (name, (versions, value)) in &case.leaves {
        let path = family.join(name);
        let bytes = std::fs::read(&path).unwrap();
        if value.as_ref().is_some_and(|value| value.as_bytes() != bytes) {
            return Err(format!("{name} is {:?}", String::from_utf8_lossy(&bytes)));
        }
        let versions_dir = super::fixture::suffixed(&path, "@");
        let stored = names(&versions_dir).len();
        if let Some(versions) = versions
            && stored != *versions
        {
            let texts = if bytes.is_ascii() { history(&path) } else { Vec::new() };
            return Err(format!("{name} has {stored} versions, not {versions}: {texts:?}"));
        }
    }
    Ok(())
}

#[test]
fn mount_programs_leave_what_their_user_meant() {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/posix/programs.txt");
    let fixture = Fixture::new();
    let (mut failed, mut skipped) = (Vec::new(), 0);
    let cases = cases(&std::fs::read_to_string(table).unwrap());
    for (at, case) in cases.iter().enumerate() {
        if let Some(absent) = case.needs.iter().find(|program| !has(program)) {
            println!("skipped: {} ({absent} is not installed)", case.title);
            skipped += 1;
            continue;
        }
        if let Err(why) = run(case, &fixture.family(&format!("row{at}"))) {
            failed.push(format!("{}: {why}", case.title));
        }
    }
    println!("{} programs, {} failed, {skipped} skipped", cases.len(), failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
