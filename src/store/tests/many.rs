//! Many rows in one step.

use super::*;

fn many(rows: &[(&str, Vec<Mutation>)]) -> ManyRows {
    let rows = rows.iter().map(|(row, mutations)| ((*row).into(), mutations.clone())).collect();
    ManyRows { table: table(), rows, durability: None, origin: Origin(0), keeps_files: false }
}

fn puts(value: &[u8]) -> Vec<Mutation> {
    vec![Mutation::Put(vec![put_cell("a", value, Time::At(Timestamp(5)))])]
}

#[test]
fn rows_of_a_batch_are_there_together_or_not_at_all() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r2", "a", b"before");
    let large = vec![7; 100_000];
    let kind = DeleteKind::Column { family: "f".into(), qualifier: "a".into() };
    let delete = vec![Mutation::Delete(vec![DeleteMarker { kind, time: Time::AfterNewest, erases: false }])];
    let batch = many(&[("r1", puts(b"one")), ("r2", delete.clone()), ("r3", puts(&large)), ("r4", Vec::new())]);
    store.mutate_rows(batch.clone()).unwrap();
    // What is written again at the same time is the same version.
    store.mutate_rows(batch).unwrap();
    let mut wrong = puts(b"x");
    wrong.push(Mutation::Put(vec![put_cell("a", b"x", Time::At(Timestamp(-1)))]));
    let refused = store.mutate_rows(many(&[("r5", puts(b"five")), ("r6", wrong)])).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::IllegalArgument);
    assert_eq!(
        store.mutate_rows(many(&[("r5", puts(b"five")), ("", puts(b"x"))])).unwrap_err().kind,
        ErrorKind::IllegalArgument
    );
    store.mutate_rows(many(&[("r4", Vec::new())])).unwrap();
    let check = |store: &Store| {
        assert_eq!(rows(store), ["r1", "r3"]);
        assert_eq!(value(store, "r1", "a").unwrap(), b"one");
        assert_eq!(value(store, "r3", "a").unwrap(), large);
        let versions = store.list_versions(&column("r1", "a"), Versions::LiveAndKept, None, 10).unwrap();
        assert_eq!(versions.len(), 1);
    };
    through_close_and_flush(&env, store, check);
}

#[test]
fn a_batch_that_a_crash_has_cut_is_not_there() {
    let names: Vec<String> = (0..50).map(|row| format!("r{row:02}")).collect();
    let batch = |value: &[u8]| {
        let batch: Vec<(&str, Vec<Mutation>)> = names.iter().map(|name| (name.as_str(), puts(value))).collect();
        many(&batch)
    };
    let write = |store: &Store| store.mutate_rows(batch(b"value")).and_then(|()| store.sync());
    all_or_nothing(names.len(), write, |_, _| ());
}

/// Stops the machine at each call of a step that makes so many rows of an empty table: all of them are there or none, and
/// once it was acknowledged all. `look`: at the store that was opened again.
pub fn all_or_nothing(
    rows_made: usize,
    step: impl Fn(&Store) -> crate::Result<()>,
    look: impl Fn(&Store, &dyn std::fmt::Display),
) {
    let (mut none, mut all) = (0, 0);
    for call in 0.. {
        let mut ended = false;
        for seed in 0..4 {
            let env = SimEnv::new();
            let store = open(&env);
            create(&store, FILES);
            store.sync().unwrap();
            env.fail_call(call, FailMode::Forever, libc::EIO);
            ended = step(&store).is_ok();
            env.crash(CrashMode::KeepSome { seed });
            drop(store);
            let store = open(&env);
            let found = rows(&store).len();
            assert!(found == 0 || found == rows_made, "{found} rows after a crash at call {call}, seed {seed}");
            assert!(!ended || found == rows_made, "what was acknowledged is there");
            if found == 0 {
                none += 1
            } else {
                all += 1
            }
            look(&store, &format_args!("call {call}, seed {seed}"));
        }
        if ended {
            break;
        }
    }
    assert!(none > 0 && all > 0, "{none} without, {all} with what the step makes");
}
