//! Runs scenario files: those of `tests/scenarios`, and every file or folder named in `CELLFS_SCENARIOS`.

use std::path::{Path, PathBuf};

use cellfs::backend::CompactionKind;
use cellfs::model::{CellKind, RowResult, TableName, Timestamp};
use cellfs::{Error, Result};
use serde_json::Value;

use crate::case::{self, Naming, expected_cell};
use crate::embedded::{Between, Embedded};
use crate::reference::Reference;
use crate::subject::{NewSubject, Subject};

/// What a step answered, in a form that compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Nothing,
    Count(usize),
    Yes(bool),
    Cells(Vec<Vec<String>>),
    /// With a batch limit: the cells of each result.
    Batches(Vec<Vec<Vec<String>>>),
    Error(String),
}

/// A subject in the middle of a case.
pub struct Run {
    pub subject: Box<dyn Subject>,
    naming: Naming,
    table: TableName,
}

impl Run {
    /// A fresh table as the case declares it.
    pub fn start(case: &Value, new_subject: &NewSubject) -> Self {
        let (schema, naming) = case::table(case);
        let table = schema.name.clone();
        let mut subject = new_subject(schema);
        subject.set_now(Timestamp(1_700_000_000_000));
        Self { subject, naming, table }
    }

    /// Carries out one step.
    pub fn step(&mut self, step: &Value) -> Answer {
        self.answer(step).unwrap_or_else(|e: Error| Answer::Error(case::exception(e.kind).to_owned()))
    }

    fn answer(&mut self, step: &Value) -> Result<Answer> {
        let op = step["op"].as_str().unwrap();
        match op {
            "now" => self.subject.set_now(Timestamp(step["ms"].as_i64().unwrap())),
            "flush" => self.subject.flush()?,
            "minor_compact" => self.subject.compact_files(step["files"].as_u64().map(|n| n as usize))?,
            "major_compact" => self.subject.compact(step["family"].as_str(), CompactionKind::Major)?,
            "get" => return self.get(step),
            "scan" => return self.scan(step),
            "count_delete_markers" => return self.count_markers(step),
            _ => return self.mutate(op, step),
        }
        Ok(Answer::Nothing)
    }

    fn mutate(&mut self, op: &str, step: &Value) -> Result<Answer> {
        let mutations = self.naming.mutations(&self.table, step)?;
        let condition = self.naming.condition(step)?;
        let done = self.subject.mutate(mutations, condition)?;
        Ok(match op {
            "increment" | "append" => Answer::Cells(done.results.iter().map(|c| self.naming.shown(None, c)).collect()),
            _ if op.starts_with("check_and") => Answer::Yes(done.applied),
            _ => Answer::Nothing,
        })
    }

    fn get(&mut self, step: &Value) -> Result<Answer> {
        let get = self.naming.get(&self.table, step)?;
        let result = self.subject.get(&get)?;
        Ok(Answer::Cells(result.cells.iter().map(|c| self.naming.shown(None, c)).collect()))
    }

    fn scan(&mut self, step: &Value) -> Result<Answer> {
        let scan = self.naming.scan(&self.table, step)?;
        let results = self.subject.scan(&scan)?;
        if step.get("expect_count").is_some() {
            return Ok(Answer::Count(results.len()));
        }
        let shown = |r: &RowResult| r.cells.iter().map(|c| self.naming.shown(Some(&r.row), c)).collect::<Vec<_>>();
        let batches: Vec<_> = results.iter().map(shown).collect();
        Ok(if scan.batch.is_some() { Answer::Batches(batches) } else { Answer::Cells(batches.concat()) })
    }

    fn count_markers(&mut self, step: &Value) -> Result<Answer> {
        let mut scan = self.naming.scan(&self.table, step)?;
        scan.read.raw = true;
        let cells = self.subject.scan(&scan)?.into_iter().flat_map(|r| r.cells);
        Ok(Answer::Count(cells.filter(|c| c.kind != CellKind::Put).count()))
    }
}

/// What a step expects; `None` = anything but an error.
pub fn expected(step: &Value) -> Option<Answer> {
    if let Some(error) = step.get("expect_error") {
        return Some(Answer::Error(case::text(error)));
    }
    if let Some(count) = step.get("expect_count") {
        return Some(Answer::Count(count.as_u64().unwrap() as usize));
    }
    let cells = |list: &Value| list.as_array().unwrap().iter().map(expected_cell).collect::<Vec<_>>();
    match step.get("expect")? {
        Value::Bool(yes) => Some(Answer::Yes(*yes)),
        list if step["batch"].is_u64() => Some(Answer::Batches(list.as_array().unwrap().iter().map(cells).collect())),
        list => Some(Answer::Cells(cells(list))),
    }
}

/// The first wrong step of a case, in words.
pub fn failure(case: &Value, new_subject: &NewSubject) -> Option<String> {
    let mut run = Run::start(case, new_subject);
    for (at, step) in case["steps"].as_array().unwrap().iter().enumerate() {
        let got = run.step(step);
        let right = match expected(step) {
            Some(wanted) => wanted == got,
            None => !matches!(got, Answer::Error(_)),
        };
        if !right {
            let step_no = at + 1;
            return Some(format!("step {step_no}: {step}\n  wanted {:?}\n  got    {got:?}", expected(step)));
        }
    }
    None
}

pub fn scenario_files() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let named = std::env::var_os("CELLFS_SCENARIOS");
    let given: Vec<PathBuf> = named.iter().flat_map(std::env::split_paths).collect();
    std::iter::once(own).chain(given).flat_map(|path| files_at(&path)).collect()
}

fn files_at(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "jsonl"));
    files.sort();
    files
}

/// Runs every case and prints those that fail.
fn run_all(name: &str, new_subject: &NewSubject) {
    let (mut passed, mut failed) = (0, 0);
    for file in scenario_files() {
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        for line in text.lines().filter(|l| !l.trim().is_empty()) {
            let case: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            match failure(&case, new_subject) {
                None => passed += 1,
                Some(why) => {
                    failed += 1;
                    println!("FAILED {} ({name})\n  {why}", case::text(&case["id"]));
                }
            }
        }
    }
    println!("{name}: {passed} passed, {failed} failed");
    assert!(passed > 0, "no scenario was found");
    assert_eq!(failed, 0, "scenarios failed on {name}");
}

#[test]
fn scenarios_on_the_reference() {
    run_all("reference", &|schema| Box::new(Reference::new(schema)));
}

#[test]
fn scenarios_on_the_embedded_store() {
    run_all("embedded", &|schema| Box::new(Embedded::new(schema, Between::Nothing)));
}

#[test]
fn scenarios_on_the_embedded_store_reopened_between_any_two_steps() {
    run_all("reopened", &|schema| Box::new(Embedded::new(schema, Between::Reopen)));
}

#[test]
fn scenarios_on_the_embedded_store_killed_between_any_two_steps() {
    run_all("killed", &|schema| Box::new(Embedded::new(schema, Between::Kill)));
}

#[test]
fn a_wrong_expectation_fails() {
    let case = serde_json::json!({"family": {"name": "f"}, "steps": [
        {"op": "put", "row": "r", "qual": "q", "ts": 1, "value": "v"},
        {"op": "get", "row": "r", "expect": [["q", 1, "w"]]}]});
    assert!(failure(&case, &|schema| Box::new(Reference::new(schema))).is_some());
}
