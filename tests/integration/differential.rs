//! The same random histories on the embedded store, on the reference and on HBase's own code; every answer is
//! compared.
//!
//! `CELLFS_HBASE_HISTORIES` (default 500) and `CELLFS_HBASE_SEED` choose how many and which.

use serde_json::{Value, json};

use crate::case::{exception_matches, expected_cell};
use crate::embedded::{Between, Embedded};
use crate::hbase::Oracle;
use crate::history::History;
use crate::reference::Reference;
use crate::scenarios::{Answer, Run};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// HBase's answer in the form of ours.
fn answer(step: &Value, reply: &Value) -> Answer {
    if let Some(error) = reply["error"].as_str() {
        return Answer::Error(error.to_owned());
    }
    let cells = |list: &Value| list.as_array().unwrap().iter().map(expected_cell).collect::<Vec<_>>();
    match &reply["result"] {
        Value::Bool(yes) => Answer::Yes(*yes),
        list if step["batch"].is_u64() => Answer::Batches(list.as_array().unwrap().iter().map(cells).collect()),
        list if list.is_array() => Answer::Cells(cells(list)),
        _ => Answer::Nothing,
    }
}

fn agree(ours: &Answer, theirs: &Answer) -> bool {
    match (ours, theirs) {
        (Answer::Error(ours), Answer::Error(theirs)) => exception_matches(ours, theirs),
        _ => ours == theirs,
    }
}

/// HBase broke down; its table is in no known state.
fn is_fault(theirs: &Answer) -> bool {
    let faults = ["ArrayIndexOutOfBoundsException", "NullPointerException", "IllegalStateException"];
    matches!(theirs, Answer::Error(name) if faults.contains(&name.as_str()))
}

/// HBase's answer to a step, had its files been compacted after each step before. In new-version families that alters what
/// a put counts for whose timestamp was put again behind a tombstone (NewVersionBehaviorTracker.prepare, isDeleted).
fn answer_of_compacted(oracle: &mut Oracle, case: &Value, at: usize) -> Option<Answer> {
    declare(oracle, case)?;
    let steps = &case["steps"].as_array().unwrap()[..=at];
    for step in &steps[..at] {
        oracle.ask(step)?;
        for upkeep in ["flush", "major_compact"] {
            oracle.ask(&json!({"op": upkeep}))?;
        }
    }
    oracle.ask(&steps[at]).map(|reply| answer(&steps[at], &reply))
}

fn declare(oracle: &mut Oracle, case: &Value) -> Option<()> {
    let mut table = case.clone();
    let object = table.as_object_mut().unwrap();
    object.remove("steps");
    object.remove("id");
    object.insert("op".to_owned(), "table".into());
    oracle.ask(&table).map(|_| ())
}

/// Whether HBase answers some reads of the table by when it compacted. Ours never depend on that.
fn depends_on_compactions(case: &Value) -> bool {
    let families = case["families"].as_array().into_iter().flatten().chain([&case["family"]]);
    families.into_iter().any(|family| family["new_version_behavior"] == true)
}

/// Both sides of a history; the first difference in words. Known answers are put into the steps.
fn compare(oracle: &mut Oracle, case: &mut Value) -> Option<String> {
    let mut run = Run::start(case, &|schema| Box::new(Embedded::new(schema, Between::Nothing)));
    declare(oracle, case)?;
    let whole = depends_on_compactions(case).then(|| case.clone());
    for (at, step) in case["steps"].as_array_mut().unwrap().iter_mut().enumerate() {
        let reply = oracle.ask(step)?;
        assert!(reply.get("unsupported").is_none(), "{step}: {reply}");
        let (ours, theirs) = (run.step(step), answer(step, &reply));
        if is_fault(&theirs) {
            return None;
        }
        let is_read = matches!(step["op"].as_str(), Some("get" | "scan"));
        if is_read && reply.get("error").is_none() {
            step["expect"] = reply["result"].clone();
        }
        if !agree(&ours, &theirs) {
            let compacted =
                whole.filter(|_| step["raw"] != true).and_then(|case| answer_of_compacted(oracle, &case, at));
            if compacted.is_some_and(|compacted| agree(&ours, &compacted)) {
                return None;
            }
            let step_no = at + 1;
            return Some(format!("step {step_no}: {step}\n  HBase {theirs:?}\n  ours  {ours:?}"));
        }
    }
    None
}

#[test]
fn histories_agree_with_hbase() {
    let (count, first) = (number("CELLFS_HBASE_HISTORIES", 500), number("CELLFS_HBASE_SEED", 1));
    let mut oracle = match Oracle::start() {
        Ok(oracle) => oracle,
        Err(why) => return println!("skipped: HBase cannot be run here ({why}); a JDK 17 and Maven are needed"),
    };
    let mut differing = 0;
    for seed in first..first + count {
        let mut case = History::draw(seed);
        if let Some(why) = compare(&mut oracle, &mut case) {
            differing += 1;
            println!("DIFFERS seed {seed}\n  {why}\n  {case}");
        }
    }
    println!("{count} histories from seed {first}, {differing} differ");
    assert_eq!(differing, 0, "answers differ from HBase's");
}

/// Histories beside the reference, which is small enough to be read: far more of them than HBase can answer.
fn agree_with_the_reference(first: u64, count: u64, between: Between) {
    let mut differing = 0;
    for seed in first..first + count {
        let case = History::draw(seed);
        let mut reference = Run::start(&case, &|schema| Box::new(Reference::new(schema)));
        let mut embedded = Run::start(&case, &move |schema| Box::new(Embedded::new(schema, between)));
        for (at, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            let (ours, wanted) = (embedded.step(step), reference.step(step));
            if !agree(&ours, &wanted) {
                differing += 1;
                println!("DIFFERS seed {seed}, step {}: {step}\n  reference {wanted:?}\n  embedded  {ours:?}", at + 1);
                break;
            }
        }
    }
    assert_eq!(differing, 0, "of {count} histories");
}

#[test]
fn histories_agree_with_the_reference() {
    agree_with_the_reference(1_000_000, number("CELLFS_MODEL_HISTORIES", 2000), Between::Nothing);
}

#[test]
fn histories_agree_with_the_reference_through_reopens() {
    agree_with_the_reference(2_000_000, number("CELLFS_MODEL_HISTORIES", 2000) / 10, Between::Reopen);
}

#[test]
fn histories_agree_with_the_reference_through_kills() {
    agree_with_the_reference(3_000_000, number("CELLFS_MODEL_HISTORIES", 2000) / 10, Between::Kill);
}
