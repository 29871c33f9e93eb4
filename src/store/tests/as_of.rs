//! What is shown of a time is what was shown at that time, also of columns that are written faster than the clock goes.

use proptest::prelude::*;

use super::*;
use crate::backend::{CompactionKind, Leaves};

const ROWS: [&str; 2] = ["r", "s"];
const QUALIFIERS: [&str; 2] = ["a", "b"];

#[derive(Clone, Debug)]
enum Step {
    Put(usize, usize),
    Append(usize, usize),
    Unlink(usize, usize),
    DeleteRow(usize),
    Rename(usize, bool),
    Touch(usize, usize),
    Flush,
    Compact,
    Reopen,
    Advance(i64),
}

fn step() -> impl Strategy<Value = Step> {
    let (row, qualifier) = (0..ROWS.len(), 0..QUALIFIERS.len());
    prop_oneof![
        8 => (row.clone(), qualifier.clone()).prop_map(|(row, q)| Step::Put(row, q)),
        3 => (row.clone(), qualifier.clone()).prop_map(|(row, q)| Step::Append(row, q)),
        3 => (row.clone(), qualifier.clone()).prop_map(|(row, q)| Step::Unlink(row, q)),
        1 => row.clone().prop_map(Step::DeleteRow),
        2 => (row.clone(), any::<bool>()).prop_map(|(row, back)| Step::Rename(row, back)),
        2 => (row, qualifier).prop_map(|(row, q)| Step::Touch(row, q)),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
        5 => (1i64..4).prop_map(Step::Advance),
    ]
}

fn rename(store: &Store, (row, from, to): (&str, &str, &str)) {
    let (from, to) = (column(row, from), column(row, to));
    let rename = RenameCell { leaves: Leaves::History, ..RenameCell::newest(from, to, RenameMode::Replace) };
    match store.rename_cell(&rename) {
        Err(e) if e.kind == ErrorKind::NotFound => {}
        done => drop(done.unwrap()),
    }
}

fn apply(store: Store, env: &SimEnv, n: usize, step: &Step) -> Store {
    let mutation = |row: &str, mutation| drop(mutate(&store, row, mutation, Durability::AsyncWal).unwrap());
    match *step {
        Step::Put(row, q) => drop(put(&store, ROWS[row], QUALIFIERS[q], n.to_string().as_bytes())),
        Step::Append(row, q) => {
            let delta = ColumnDelta { family: "f".into(), qualifier: QUALIFIERS[q].into(), delta: b"+".to_vec() };
            let append = Append::to_newest(vec![delta]);
            mutation(ROWS[row], Mutation::Append(append));
        }
        Step::Unlink(row, q) => unlink(&store, ROWS[row], QUALIFIERS[q]),
        Step::DeleteRow(row) => {
            let marker = DeleteMarker { kind: DeleteKind::Row, time: Time::AfterNewest, erases: false };
            mutation(ROWS[row], Mutation::Delete(vec![marker]));
        }
        Step::Rename(row, true) => rename(&store, (ROWS[row], "b", "a")),
        Step::Rename(row, false) => rename(&store, (ROWS[row], "a", "b")),
        Step::Touch(row, q) => {
            let column = column(ROWS[row], QUALIFIERS[q]);
            if let Some(cell) = store.newest(&column, TimeRange::ALL).unwrap() {
                let mtime = FileTime { seconds: n as i64, nanos: 0 };
                store.set_attributes(&column, &cell, &timed(Some(mtime)), Origin(0)).unwrap();
            }
        }
        Step::Flush => store.flush(None).unwrap(),
        Step::Compact => store.compact(&table(), None, CompactionKind::Major).unwrap(),
        Step::Reopen => {
            store.close().unwrap();
            return open(env);
        }
        Step::Advance(ms) => env.advance(ms),
    }
    store
}

/// The value of each column as a range shows it, read alone and by a scan.
fn shown(store: &Store, range: TimeRange) -> Vec<Option<Vec<u8>>> {
    let mut scan = Scan::all(table());
    scan.read.time_range = range;
    let scanned: Vec<_> = store.scan(&scan).unwrap().map(Result::unwrap).collect();
    let mut all = Vec::new();
    for row in ROWS {
        for qualifier in QUALIFIERS {
            let newest = store.newest(&column(row, qualifier), range).unwrap();
            let value = newest.map(|cell| store.read_value(&cell, 0, usize::MAX).unwrap());
            let cells = scanned.iter().filter(|of| of.row == row.as_bytes()).flat_map(|of| &of.cells);
            let by_scan = cells.into_iter().find(|cell| cell.qualifier == qualifier.as_bytes());
            assert_eq!(by_scan.map(|cell| &cell.value), value.as_ref(), "{row} {qualifier}");
            all.push(value);
        }
    }
    all
}

fn compare(attributes: &[(&str, &str)], steps: &[Step]) {
    let env = SimEnv::new();
    let mut store = open(&env);
    create(&store, attributes);
    let mut seen = vec![];
    for (n, step) in steps.iter().enumerate() {
        if matches!(step, Step::Advance(_)) {
            seen.push((store.now(), shown(&store, TimeRange::ALL)));
        }
        store = apply(store, &env, n, step);
    }
    for (time, was) in seen {
        assert_eq!(shown(&store, TimeRange::as_of(time)), was, "as of {time}");
    }
}

const FOREVER: &[(&str, &str)] =
    &[("VERSIONS", "1000"), ("NEW_VERSION_BEHAVIOR", "true"), ("KEEP_DELETED_CELLS", "TRUE")];
const CLASSIC: &[(&str, &str)] = &[("VERSIONS", "1000"), ("KEEP_DELETED_CELLS", "TRUE")];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_time_shows_what_was_shown_then(steps in prop::collection::vec(step(), 1..60)) {
        compare(FOREVER, &steps);
    }

    #[test]
    fn a_time_shows_of_a_classic_family_what_was_shown_then(steps in prop::collection::vec(step(), 1..60)) {
        compare(CLASSIC, &steps);
    }
}
