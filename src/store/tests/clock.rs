//! What is newest, whatever the clock says.

use super::*;

#[test]
fn what_was_written_last_is_newest_whatever_the_clock_and_the_index_say() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    let put_at = |qualifier: &str, value: &[u8], time: Time| {
        let mutation = Mutation::Put(vec![put_cell(qualifier, value, time)]);
        mutate(&store, "r", mutation, Durability::SyncWal).unwrap().written.remove(0)
    };
    let future = Timestamp(store.now().0 + 1_000_000);
    put_at("future", b"old", Time::At(future));
    put_at("plain", b"old", Time::AfterNewest);
    store.flush(None).unwrap();
    // The index holds a version later than the clock: both columns must look there.
    assert_eq!(put_at("future", b"new", Time::AfterNewest).timestamp, future.next());
    assert!(put_at("plain", b"new", Time::AfterNewest).timestamp < future);
    for (name, expected) in [("future", b"new"), ("plain", b"new")] {
        assert_eq!(value(&store, "r", name).as_deref(), Some(&expected[..]), "{name}");
    }
    // An unflushed version that is not later than one in the index does not hide it.
    put_at("future", b"ago", Time::At(Timestamp(5)));
    assert_eq!(value(&store, "r", "future").as_deref(), Some(&b"new"[..]));
    // The clock goes back behind what was flushed.
    store.flush(None).unwrap();
    env.set_now(Timestamp(store.now().0 - 500_000));
    let before = put_at("plain", b"late", Time::AfterNewest);
    assert_eq!(value(&store, "r", "plain").as_deref(), Some(&b"late"[..]));
    unlink(&store, "r", "plain");
    assert_eq!(value(&store, "r", "plain"), None);
    store.flush(None).unwrap();
    assert!(put_at("plain", b"again", Time::AfterNewest).timestamp > before.timestamp);
    assert_eq!(value(&store, "r", "plain").as_deref(), Some(&b"again"[..]));
    unlink(&store, "r", "future");
    assert_eq!(value(&store, "r", "future"), None);
}

#[test]
fn a_write_by_the_clock_replaces_what_was_written_in_haste() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    for n in 0..1000u32 {
        put(&store, "r", "q", &n.to_be_bytes());
    }
    let cell = put_cell("q", b"by the clock", Time::Now);
    mutate(&store, "r", Mutation::Put(vec![cell]), Durability::SyncWal).unwrap();
    assert_eq!(value(&store, "r", "q").unwrap(), b"by the clock");
    let marker = DeleteMarker { kind: DeleteKind::Row, time: Time::Now, erases: false };
    mutate(&store, "r", Mutation::Delete(vec![marker]), Durability::SyncWal).unwrap();
    assert_eq!(value(&store, "r", "q"), None);
    // A version in the far future does not take the clock with it.
    let future = Timestamp(store.now().0 + 1_000_000);
    mutate(&store, "s", Mutation::Put(vec![put_cell("q", b"f", Time::At(future))]), Durability::SyncWal).unwrap();
    assert!(put(&store, "s", "q", b"after").timestamp > future);
    let cell = put_cell("other", b"v", Time::Now);
    mutate(&store, "s", Mutation::Put(vec![cell]), Durability::SyncWal).unwrap();
    let other = store.newest(&column("s", "other"), TimeRange::ALL).unwrap().unwrap();
    assert!(other.timestamp < future);
}

#[test]
fn what_a_tombstone_of_the_last_time_hides_is_refused() {
    for (behavior, refused) in [("false", Some(ErrorKind::IllegalArgument)), ("true", None)] {
        let store = open(&SimEnv::new());
        create(&store, &[("VERSIONS", "3"), ("NEW_VERSION_BEHAVIOR", behavior)]);
        let put = |time: Time| {
            mutate(&store, "r", Mutation::Put(vec![put_cell("q", b"v", time)]), Durability::SyncWal).map(drop)
        };
        let delta = ColumnDelta { family: "f".into(), qualifier: "q".into(), delta: b"v".to_vec() };
        let append = Mutation::Append(Append::to_newest(vec![delta]));
        put(Time::At(Timestamp::MAX)).unwrap();
        // There is no tombstone: it takes the place of that version.
        put(Time::AfterNewest).unwrap();
        unlink(&store, "r", "q");
        let kind = |done: crate::Result<()>| done.err().map(|e| e.kind);
        for is_flushed in [false, true] {
            assert_eq!(
                kind(mutate(&store, "r", append.clone(), Durability::SyncWal).map(drop)),
                refused,
                "{is_flushed}"
            );
            assert_eq!(kind(put(Time::AfterNewest)), refused, "{is_flushed}");
            assert_eq!(value(&store, "r", "q").is_some(), refused.is_none());
            store.flush(None).unwrap();
        }
    }
}
