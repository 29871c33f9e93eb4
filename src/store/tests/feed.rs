//! Those who follow changes are told each that is on the disk once, in order, whatever happens meanwhile.

use crate::store::engine::changes::past;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::backend::{ChangesPage, ChangesQuery};

/// A change as it was acknowledged, or told.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    seq: SeqNo,
    row: Vec<u8>,
    /// Of a put.
    value: Option<Vec<u8>>,
    len: u64,
}

/// One who follows.
#[derive(Default)]
struct Consumer {
    query: ChangesQuery,
    seen: Vec<Seen>,
}

impl Consumer {
    fn take(&mut self, page: ChangesPage) -> bool {
        for committed in page.committed {
            for change in committed.changes {
                let value = change.value.filter(|_| change.kind.is_put());
                self.seen.push(Seen { seq: committed.seq, row: change.row, value, len: change.len });
            }
        }
        self.query.after = page.upto;
        page.is_last
    }

    fn drain(&mut self, store: &Store) {
        while !self.take(store.changes(&self.query).unwrap()) {}
    }
}

fn retain(store: &Store, bytes: &str) {
    let (setting, value) = (CHANGES_RETAIN.to_owned(), Some(bytes.to_owned()));
    store.alter(CatalogueChange::Configure { setting, value }, Origin(0)).unwrap();
}

fn change(store: &Store, rng: &mut impl rand::Rng, n: u32) -> Seen {
    let row = format!("r{}", rng.random_range(0..20));
    if rng.random_bool(0.2) {
        unlink(store, &row, "q");
        return Seen { seq: SeqNo(store.status().unwrap().last_seq), row: row.into(), value: None, len: 0 };
    }
    let len = [10, 3000, 16 << 10, 40 << 10][rng.random_range(0..4)];
    let mut value = n.to_string().into_bytes();
    value.resize(len, b'.');
    let seq = put(store, &row, "q", &value).seq;
    // What is large is told by its length.
    let told = (len <= 16 << 10).then_some(value);
    Seen { seq, row: row.into(), value: told, len: len as u64 }
}

/// A process that does nothing more once its machine has stopped.
fn start(env: &SimEnv) -> Store {
    Store::open(StoreOptions { env: Arc::new(env.process()), ..options(env) }).unwrap()
}

fn one_store(seed: u64) {
    let mut rng = rand::rngs::StdRng::seed_from_u64(seed);
    let env = SimEnv::new();
    let mut store = start(&env);
    create(&store, FILES);
    retain(&store, "1G");
    let (mut made, mut first, mut second) = (Vec::<Seen>::new(), Consumer::default(), Consumer::default());
    for n in 0..300 {
        match rng.random_range(0..40) {
            0 => store.flush(None).unwrap(),
            1 => store.sync().unwrap(),
            2 => {
                drop(store);
                store = start(&env);
            }
            3 => {
                let synced = SeqNo(store.status().unwrap().synced_seq);
                let some = CrashMode::KeepSome { seed: rng.random() };
                env.crash([CrashMode::LoseUnsynced, CrashMode::ProcessOnly, some][rng.random_range(0..3)]);
                drop(store);
                store = start(&env);
                // All that is there is on the disk now.
                second.drain(&store);
                let kept = second.seen.len();
                assert!(
                    made.iter().skip(kept).all(|lost| lost.seq > synced),
                    "seed {seed}: what was synced is not told"
                );
                made.truncate(kept);
            }
            4..8 => first.drain(&store),
            8..10 => drop(first.take(store.changes(&first.query).unwrap())),
            _ => made.push(change(&store, &mut rng, n)),
        }
        let of = |seen: &[Seen]| seen.iter().map(|seen| (seen.seq.0, seen.len)).collect::<Vec<_>>();
        assert!(made.starts_with(&first.seen), "seed {seed}, step {n}: {:?} of {:?}", of(&first.seen), of(&made));
    }
    store.sync().unwrap();
    let mut whole = Consumer::default();
    for consumer in [&mut first, &mut second, &mut whole] {
        consumer.drain(&store);
        assert_eq!(consumer.seen, made, "seed {seed}");
    }
    // Nobody else reads what is kept for them.
    drop(store);
    let mut found = Vec::new();
    let env: Arc<dyn crate::env::Env> = Arc::new(env);
    let summary = crate::store::check::check(&env, "/store".as_ref(), &mut |event| {
        if let CheckEvent::Finding(finding) = event {
            found.push(finding);
        }
        Ok(())
    });
    assert_eq!(summary.unwrap().damages, 0, "seed {seed}: {found:?}", found = found.iter().take(3).collect::<Vec<_>>());
}

#[test]
fn every_change_is_told_once_and_in_order() {
    let given = std::env::var("CELLFS_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| rand::random_range(0..u64::from(u32::MAX)));
    println!("seeds {seed} to {}", seed + 29);
    (seed..seed + 30).for_each(one_store);
    // A removed file came back after a power cut: all of it was in a later one; or it had no contents any more.
    [1_716_638_146, 165_670_256, 1_643_364_472, 1_787_485_338, 3_439_642_189, 2_643_146_716, 1_593_263_340]
        .into_iter()
        .for_each(one_store);
}

#[test]
fn what_the_log_has_no_more_is_told() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    let one = put(&store, "r", "q", b"one").seq;
    store.flush(None).unwrap();
    let two = put(&store, "r", "q", b"two").seq;
    let mut consumer = Consumer::default();
    consumer.drain(&store);
    assert_eq!(consumer.seen, [], "it is not on the disk");
    store.sync().unwrap();
    let page = store.changes(&ChangesQuery::default()).unwrap();
    assert_eq!((page.gone, page.upto, page.is_last), (one, two, true));
    consumer.take(page);
    assert_eq!(consumer.seen.iter().map(|seen| seen.seq).collect::<Vec<_>>(), [two]);
    // Only so much of the past is kept, and none on request.
    retain(&store, "1M");
    let value = vec![b'x'; 10_000];
    for _ in 0..10 {
        (0..40).for_each(|_| drop(put(&store, "r", "q", &value)));
        store.flush(None).unwrap();
    }
    store.sync().unwrap();
    let mut late = Consumer::default();
    late.drain(&store);
    assert!((60..=110).contains(&late.seen.len()), "{}", late.seen.len());
    retain(&store, "0");
    env.advance(61_000);
    put(&store, "r", "q", b"last");
    store.flush(None).unwrap();
    let mut later = Consumer::default();
    later.drain(&store);
    assert_eq!(later.seen, []);
}

#[test]
fn who_follows_misses_nothing_that_is_flushed_meanwhile() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    let mut consumer = Consumer::default();
    consumer.drain(&store);
    for n in 0..20 {
        put(&store, &format!("r{n}"), "q", b"v");
        store.flush(None).unwrap();
        if n % 5 == 4 {
            consumer.drain(&store);
        }
    }
    assert_eq!(consumer.seen.len(), 20);
    // Once nobody looks any more, nothing is kept for them.
    let past = || crate::log::list_past(&env, "/store/log".as_ref()).unwrap().len();
    assert!(past() > 0);
    past::release_past(&store.engine);
    assert!(past() > 0, "somebody looked a moment ago");
    env.advance(61_000);
    past::release_past(&store.engine);
    assert_eq!(past(), 0);
}

#[test]
fn only_what_is_asked_for_is_told() {
    let store = open(&SimEnv::new());
    create(&store, FILES);
    for row in ["a1", "a2", "b1"] {
        put(&store, row, "q", b"v");
        put(&store, row, "w", b"v");
    }
    store.sync().unwrap();
    let told = |query: ChangesQuery| {
        let mut consumer = Consumer { query, seen: Vec::new() };
        consumer.drain(&store);
        consumer.seen.into_iter().map(|seen| String::from_utf8(seen.row).unwrap()).collect::<Vec<_>>()
    };
    let query = ChangesQuery::default();
    assert_eq!(told(ChangesQuery { row_prefix: b"a".to_vec(), ..query.clone() }), ["a1", "a1", "a2", "a2"]);
    assert_eq!(told(ChangesQuery { row: Some(b"b1".to_vec()), ..query.clone() }), ["b1", "b1"]);
    let columns = vec![("f".to_owned(), Some(b"w".to_vec()))];
    assert_eq!(told(ChangesQuery { columns, ..query.clone() }), ["a1", "a2", "b1"]);
    assert_eq!(told(ChangesQuery { table: Some(TableName::parse("other").unwrap()), ..query }), Vec::<String>::new());
}
