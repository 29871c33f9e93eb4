//! Changes of the catalogue beside writes.

use std::sync::Barrier;
use std::time::Duration;

use super::*;
use crate::model::{Append, ColumnDelta};

/// A value that goes to a file of large values.
const LARGE: &[u8] = &[7; 40 << 10];

fn append_large(store: &Store) {
    let append =
        Append::to_newest(vec![ColumnDelta { family: "f".into(), qualifier: "q".into(), delta: LARGE.to_vec() }]);
    mutate(store, "r", Mutation::Append(append), Durability::SyncWal).unwrap();
}

/// Else the change waits for the append with the journal locked, the append for the put that begins the file, and that
/// for the journal.
#[test]
fn a_change_beside_large_writes_comes_to_an_end() {
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for _ in 0..400 {
            let store = open(&SimEnv::new());
            create(&store, FILES);
            let start = Barrier::new(3);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    start.wait();
                    append_large(&store);
                });
                scope.spawn(|| {
                    start.wait();
                    put(&store, "other", "q", LARGE);
                });
                start.wait();
                let other = TableSchema { name: TableName::parse("other").unwrap(), ..schema(FILES) };
                store.alter(CatalogueChange::CreateTable(other), Origin(0)).unwrap();
            });
            done.send(()).unwrap();
        }
    });
    for n in 0..400 {
        assert!(ended.recv_timeout(Duration::from_secs(30)).is_ok(), "store {n}: they wait for each other");
    }
}
