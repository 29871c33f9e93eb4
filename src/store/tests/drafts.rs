//! Values that are written before their cells.

use super::*;
use crate::backend::CompactionKind::Major;

/// Bytes that no codec makes shorter, and no two parts of which are alike.
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

fn begin(store: &Store, base: Option<&CellInfo>) -> Box<dyn Draft> {
    store.draft(&table(), "f", base).unwrap().unwrap()
}

fn put_value(store: &Store, row: &str, value: Value, condition: Option<Condition>) -> Mutated {
    let put = PutCell { value, ..put_cell("q", &[], Time::AfterNewest) };
    let mutations = RowMutations {
        table: table(),
        row: row.into(),
        mutations: vec![Mutation::Put(vec![put])],
        durability: Some(Durability::SyncWal),
        origin: Origin(0),
    };
    store.mutate(mutations, condition).unwrap()
}

fn newest(store: &Store, row: &str) -> CellInfo {
    store.newest(&column(row, "q"), TimeRange::ALL).unwrap().unwrap()
}

fn blob_bytes(store: &Store) -> u64 {
    store.engine.values.blobs.bytes()
}

#[test]
fn a_draft_costs_what_is_written_and_is_a_value_like_others() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    let mut bytes = noise(8 << 20, 1);
    let mut draft = begin(&store, None);
    for (at, piece) in bytes.chunks(100_000).enumerate() {
        draft.write(at as u64 * 100_000, piece).unwrap();
    }
    put_value(&store, "r", draft.value().unwrap(), None);
    drop(draft);
    let before = blob_bytes(&store);
    for n in 0..100u32 {
        let mut draft = begin(&store, Some(&newest(&store, "r")));
        draft.write(bytes.len() as u64, &n.to_le_bytes()).unwrap();
        bytes.extend_from_slice(&n.to_le_bytes());
        put_value(&store, "r", draft.value().unwrap(), None);
    }
    let mut draft = begin(&store, Some(&newest(&store, "r")));
    draft.write(1 << 20, &[7; 4096]).unwrap();
    bytes[1 << 20..][..4096].fill(7);
    put_value(&store, "r", draft.value().unwrap(), None);
    let cost = blob_bytes(&store) - before;
    assert!(cost < 700 << 10, "{cost}");
    assert!(value(&store, "r", "q").unwrap() == bytes);
    drop(draft);
    store.close().unwrap();
    let store = open(&env);
    assert!(value(&store, "r", "q").unwrap() == bytes, "after a start");
}

#[test]
fn a_draft_keeps_what_it_began_with_and_gives_it_back() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    let bytes = noise(2 << 20, 1);
    put(&store, "r", "q", &bytes);
    let mut draft = begin(&store, Some(&newest(&store, "r")));
    put(&store, "r", "q", b"others");
    store.flush(None).unwrap();
    store.compact(&table(), None, Major).unwrap();
    assert!(blob_bytes(&store) > 2 << 20);
    assert!(draft.read(0, usize::MAX).unwrap() == bytes, "its value is gone from the cells");
    draft.write(0, b"x").unwrap();
    let value_of_draft = draft.value().unwrap();
    drop(draft);
    store.compact(&table(), None, Major).unwrap();
    put_value(&store, "s", value_of_draft, None);
    let is = value(&store, "s", "q").unwrap();
    assert!(is[0] == b'x' && is[1..] == bytes[1..]);
    let mut given_up = begin(&store, None);
    given_up.write(0, &noise(4 << 20, 2)).unwrap();
    let most = blob_bytes(&store);
    drop(given_up);
    store.compact(&table(), None, Major).unwrap();
    assert!(blob_bytes(&store) + (3 << 20) < most, "{} of {most}", blob_bytes(&store));
}

#[test]
fn a_draft_that_finds_no_room_stays_as_it_was_and_gives_its_room_back() {
    let env = SimEnv::new();
    env.set_space(Some(32 << 20));
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "q", &noise(100_000, 1));
    let mut draft = begin(&store, Some(&newest(&store, "r")));
    let mut written = Vec::new();
    let refused = (0..400).find_map(|n| {
        let piece = noise(100_000, n);
        let refused = draft.write(n * 100_000, &piece).err();
        written.extend(refused.is_none().then_some(piece));
        refused
    });
    assert_eq!(refused.unwrap().kind, ErrorKind::NoSpace);
    assert!(draft.read(0, usize::MAX).unwrap() == written.concat());
    drop(draft);
    assert!(value(&store, "r", "q").unwrap() == noise(100_000, 1));
    let before = blob_bytes(&store);
    store.compact(&table(), None, Major).unwrap();
    assert!(blob_bytes(&store) + (5 << 20) < before, "{} of {before}", blob_bytes(&store));
    // A simulated disk does not give back what is punched out of a file.
    env.set_space(Some(1 << 30));
    let mut draft = begin(&store, Some(&newest(&store, "r")));
    draft.write(100_000, b"more").unwrap();
    // Its last bytes may be in no chunk yet.
    env.set_space(Some(0));
    let value_of_draft = draft.value();
    env.set_space(Some(1 << 30));
    put_value(&store, "r", value_of_draft.or_else(|_| draft.value()).unwrap(), None);
    assert!(value(&store, "r", "q").unwrap() == [noise(100_000, 1), b"more".to_vec()].concat());
}

#[test]
fn a_put_that_waits_for_a_version_is_refused_when_there_is_another() {
    let store = open(&SimEnv::new());
    create(&store, FILES);
    let newest_is = |version| Some(Condition::Newest { family: "f".into(), qualifier: b"q".to_vec(), version });
    let value = |byte: u8| Value::Bytes(vec![byte; 10]);
    assert!(put_value(&store, "r", value(1), newest_is(None)).applied);
    assert!(!put_value(&store, "r", value(2), newest_is(None)).applied);
    let first = newest(&store, "r");
    assert!(put_value(&store, "r", value(3), newest_is(Some((first.timestamp, first.seq)))).applied);
    assert!(!put_value(&store, "r", value(4), newest_is(Some((first.timestamp, first.seq)))).applied);
    unlink(&store, "r", "q");
    assert!(put_value(&store, "r", value(5), newest_is(None)).applied);
}

#[test]
fn appends_to_a_large_value_cost_what_they_add() {
    let store = open(&SimEnv::new());
    create(&store, FILES);
    let mut bytes = noise(4 << 20, 1);
    put(&store, "r", "q", &bytes);
    let before = blob_bytes(&store);
    for n in 0..200u32 {
        let line = noise(100, u64::from(n));
        bytes.extend_from_slice(&line);
        let append = Append {
            returns: n == 199,
            ..Append::to_newest(vec![ColumnDelta { family: "f".into(), qualifier: b"q".to_vec(), delta: line }])
        };
        let done = mutate(&store, "r", Mutation::Append(append), Durability::SyncWal).unwrap();
        assert!(done.results.first().is_none_or(|cell| cell.value == bytes));
    }
    let cost = blob_bytes(&store) - before;
    assert!(cost < 300_000, "{cost}");
    assert!(value(&store, "r", "q").unwrap() == bytes);
}

#[test]
fn a_value_of_a_draft_survives_a_power_cut_once_it_is_synced() {
    let (bytes, line) = (noise(1 << 20, 1), noise(50_000, 2));
    let (mut survived, mut cuts) = (0, 0);
    for seed in 0..20 {
        let env = SimEnv::new();
        {
            let store = open(&env);
            create(&store, FILES);
            put(&store, "r", "q", &bytes);
            store.sync().unwrap();
            let mut draft = begin(&store, Some(&newest(&store, "r")));
            draft.write(bytes.len() as u64, &line).unwrap();
            put_value(&store, "r", draft.value().unwrap(), None);
            if seed % 2 == 0 {
                store.sync().unwrap();
            }
            env.crash(CrashMode::KeepSome { seed });
            cuts += 1;
        }
        let store = open(&env);
        let is = value(&store, "r", "q").unwrap();
        let whole = is.len() > bytes.len();
        assert!(is[..bytes.len()] == bytes && (!whole || is[bytes.len()..] == line), "seed {seed}");
        assert!(whole || seed % 2 == 1, "seed {seed}: synced and lost");
        survived += u32::from(whole);
        assert_eq!(store.check(&mut |_| Ok(())).unwrap().damages, 0, "seed {seed}");
    }
    assert!(survived >= cuts / 2, "{survived} of {cuts}");
}
