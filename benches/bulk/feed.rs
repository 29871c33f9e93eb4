//! The change feed under eight writers: how far behind whoever watches is, and how many changes it sees.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cellfs::backend::{Backend, ChangesQuery};
use cellfs::model::{
    CatalogueChange, FamilySchema, Mutation, Origin, PutCell, RowMutations, TableName, TableSchema, Time,
    file_family_attributes,
};
use cellfs::store::{Store, StoreOptions};

const WRITERS: u64 = 8;
const WRITTEN_FOR: Duration = Duration::from_secs(5);

pub fn measure(dir: &Path) {
    let store = Arc::new(Store::open(StoreOptions::new(dir.join("feed"))).expect("a store"));
    let table = TableName::parse("t").expect("a name");
    let schema = TableSchema::new(table.clone(), [FamilySchema::new("f", file_family_attributes())]);
    store.alter(CatalogueChange::CreateTable(schema), Origin::default()).expect("a table");
    let (began, ends, puts) = (Instant::now(), AtomicBool::new(false), AtomicU64::new(0));
    let mut lags = Vec::new();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (store, table, ends, puts) = (&store, &table, &ends, &puts);
            scope.spawn(move || {
                for n in 0.. {
                    if ends.load(Ordering::Relaxed) {
                        break;
                    }
                    // The value says when it was put.
                    let now = began.elapsed().as_nanos().to_string().into_bytes();
                    let cell = PutCell::new("f", b"q".to_vec(), Time::AfterNewest, now);
                    let row = RowMutations {
                        table: table.clone(),
                        row: format!("{writer}-{:06}", n % 1_000_000).into_bytes(),
                        mutations: vec![Mutation::Put(vec![cell])],
                        durability: None,
                        origin: Origin::default(),
                    };
                    store.mutate(row, None).expect("a put");
                    puts.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let (mut query, mut seen_last) = (ChangesQuery::default(), None);
        loop {
            // What is told is on the disk.
            let is_over = ends.load(Ordering::Relaxed) && store.sync().is_ok();
            let page = store.changes(&query).expect("changes");
            let now = began.elapsed().as_nanos() as u64;
            for change in page.committed.iter().flat_map(|committed| &committed.changes) {
                let put = change.value.as_deref().and_then(|text| std::str::from_utf8(text).ok()?.parse::<u64>().ok());
                lags.extend(put.map(|put| now.saturating_sub(put)));
            }
            query.after = page.upto;
            if began.elapsed() > WRITTEN_FOR {
                ends.store(true, Ordering::Relaxed);
            }
            if page.is_last {
                if is_over && seen_last == Some(page.upto) {
                    break;
                }
                seen_last = Some(page.upto);
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    lags.sort_unstable();
    let at = |part: usize| lags[(lags.len() - 1) * part / 100] as f64 / 1e6;
    let rate = lags.len() as f64 / began.elapsed().as_secs_f64();
    println!(
        "watch under {WRITERS} writers: {} changes of {} puts, {rate:.0} a second; behind by {:.1} ms (half), {:.1} ms \
         (99 %), {:.1} ms",
        lags.len(),
        puts.load(Ordering::Relaxed),
        at(50),
        at(99),
        at(100)
    );
}
