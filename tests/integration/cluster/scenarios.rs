//! The scenarios of the store on a real cluster, as far as its clock and its compactions can be left out of them.
//!
//! `CELLFS_CLUSTER_CASES` is how many are run, spread over all; 30 unless it is given.

use std::path::Path;
use std::sync::Arc;

use cellfs::Result;
use cellfs::backend::{Backend, CompactionKind};
use cellfs::daemon::{Absent, open_backend};
use cellfs::model::{
    CatalogueChange, Condition, DeleteKind, Get, Mutated, Mutation, Origin, RowMutations, RowResult, Scan, TableName,
    TableSchema, Time, Timestamp,
};
use serde_json::Value;

use super::server::Cluster;
use crate::scenarios::{failure, scenario_files};
use crate::subject::Subject;

const CASES: usize = 30;
const TABLE: &str = "scenario";

/// A table of a cluster, whose clock is replaced by timestamps.
struct OnCluster {
    backend: Arc<dyn Backend>,
    table: TableName,
    now: Timestamp,
}

impl OnCluster {
    fn new(backend: &Arc<dyn Backend>, mut schema: TableSchema) -> Self {
        let table = TableName::parse(TABLE).unwrap();
        // There may be none.
        let _ = backend.alter(CatalogueChange::DropTable { name: table.clone() }, Origin(0));
        schema.name = table.clone();
        backend.alter(CatalogueChange::CreateTable(schema), Origin(0)).unwrap();
        Self { backend: Arc::clone(backend), table, now: Timestamp(0) }
    }
}

impl Subject for OnCluster {
    fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    fn mutate(&mut self, mut mutations: RowMutations, condition: Option<Condition>) -> Result<Mutated> {
        mutations.table = self.table.clone();
        for mutation in &mut mutations.mutations {
            let times: Vec<&mut Time> = match mutation {
                Mutation::Put(cells) => cells.iter_mut().map(|cell| &mut cell.time).collect(),
                Mutation::Delete(markers) => {
                    // Without a time one version is the newest that there is.
                    let timed = markers.iter_mut().filter(|m| !matches!(m.kind, DeleteKind::Version { .. }));
                    timed.map(|marker| &mut marker.time).collect()
                }
                _ => Vec::new(),
            };
            times.into_iter().filter(|time| **time == Time::Now).for_each(|time| *time = Time::At(self.now));
        }
        self.backend.mutate(mutations, condition)
    }

    fn get(&mut self, get: &Get) -> Result<RowResult> {
        self.backend.get(&Get { table: self.table.clone(), ..get.clone() })
    }

    fn scan(&mut self, scan: &Scan) -> Result<Vec<RowResult>> {
        self.backend.scan(&Scan { table: self.table.clone(), ..scan.clone() })?.collect()
    }

    fn flush(&mut self) -> Result<()> {
        self.backend.flush(Some(&self.table))
    }

    fn compact(&mut self, _: Option<&str>, _: CompactionKind) -> Result<()> {
        panic!("servers compact when they like")
    }
}

/// Whether a case says the same on servers with a clock, and compactions, of their own. Kinds of errors are this side's.
fn is_apt(case: &Value) -> bool {
    let families = case["families"].as_array().cloned().unwrap_or_else(|| vec![case["family"].clone()]);
    let step = |step: &Value| {
        !matches!(step["op"].as_str(), Some("minor_compact" | "major_compact" | "increment" | "append"))
            && !step["cell_ttl_ms"].is_u64()
            && step.get("expect_error").is_none()
    };
    let text = case["steps"].to_string();
    // Servers stamp by their clock what adds to values, and a deletion of the newest version where there is none.
    let is_stamped = ["increment", "append"].iter().any(|word| text.contains(word))
        || text.contains("\"version\"") && text.contains("\"raw\":true");
    // What is at fault in 2.6.4 with the empty qualifier of such families is refused before it is done.
    let is_new = families.iter().any(|family| family["new_version_behavior"] == Value::Bool(true));
    let is_empty = text.contains("\"qual\":\"\"");
    families.iter().all(|family| !family["ttl_ms"].is_u64())
        && case["steps"].as_array().unwrap().iter().all(step)
        && !(is_new && is_empty)
        // Of three files servers make one by themselves, and drop what no read shows.
        && text.matches("\"flush\"").count() < 3
        && !is_stamped
}

#[test]
fn scenarios_on_a_cluster() {
    let cluster = Cluster::shared();
    let backend = open_backend(Path::new(&cluster.address), Absent::Refuse).unwrap();
    let mut cases: Vec<Value> = Vec::new();
    for file in scenario_files() {
        let text = std::fs::read_to_string(&file).unwrap();
        cases.extend(
            text.lines().filter(|line| !line.trim().is_empty()).map(|line| serde_json::from_str(line).unwrap()),
        );
    }
    let all = cases.len();
    cases.retain(is_apt);
    assert!(cases.len() > 30, "only {} of {all} cases can be run", cases.len());
    let apt = cases.len();
    let wanted = std::env::var("CELLFS_CLUSTER_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let step = apt.div_ceil(wanted).max(1);
    let (mut passed, mut failed) = (0, Vec::new());
    for case in cases.iter().step_by(step) {
        let backend = Arc::clone(&backend);
        match failure(case, &move |schema| Box::new(OnCluster::new(&backend, schema))) {
            None => passed += 1,
            Some(why) => failed.push(format!("{}: {why}", case["id"])),
        }
    }
    println!("on a cluster: {passed} passed, {} failed; {apt} of {all} can be run there", failed.len());
    let _ = backend.alter(CatalogueChange::DropTable { name: TableName::parse(TABLE).unwrap() }, Origin(0));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
