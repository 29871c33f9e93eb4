//! A segment: written, walked, listed, asked. Ten columns a row, keys of 40 bytes, values of 100 random bytes; seconds
//! are those that this thread had a processor.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cellfs::env::RealEnv;
use cellfs::format::{Codec, key};
use cellfs::model::{CellKind, SeqNo, Tags, Timestamp, ValueBytes};
use cellfs::segment::{Cache, Extent, ExtentOptions, NewCell, Reading, Segment, SegmentWriter};

const STORE: [u8; 16] = [7; 16];
const FILE: u64 = 42;
const COLUMNS: u64 = 10;

/// The time that this thread had a processor.
#[derive(Clone, Copy)]
struct Instant(u64);

impl Instant {
    fn now() -> Self {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the time of this thread");
        Self(text.split(' ').next().unwrap().parse().unwrap())
    }

    fn elapsed(self) -> Duration {
        Duration::from_nanos(Self::now().0 - self.0)
    }
}

fn row(n: u64) -> Vec<u8> {
    format!("row of a table {:016x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).into_bytes()
}

fn keys(rows: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let columns = rows.iter().flat_map(|row| (0..COLUMNS).map(move |column| (row, format!("column {column}"))));
    let key = |(n, (row, column)): (usize, (&Vec<u8>, String))| {
        let time = Timestamp(1_700_000_000_000 + n as i64);
        key::cell_key(row, column.as_bytes(), time, CellKind::Put, SeqNo(n as u64))
    };
    columns.enumerate().map(key).collect()
}

/// Writes a segment; its bytes.
fn write(path: &Path, keys: &[Vec<u8>], (codec, block_bytes): (Codec, usize)) -> u64 {
    let random: Vec<u8> = (0..1u64 << 16).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8).collect();
    let mut writer = SegmentWriter::new(&RealEnv::default(), path, STORE, FILE, 0).unwrap();
    writer.begin_extent(&ExtentOptions { codec, block_bytes, ..ExtentOptions::default() }).unwrap();
    let tags = Tags::default();
    for (n, key) in keys.iter().enumerate() {
        let at = n * 7 % 60_000;
        writer.add(&NewCell { key, tags: &tags, value: ValueBytes::Bytes(&random[at..at + 100]) }).unwrap();
    }
    writer.end_extent().unwrap();
    let bytes = writer.bytes_written();
    writer.finish().unwrap();
    bytes
}

/// Cells that a walk has seen.
fn walk(extent: &Arc<Extent>) -> u64 {
    let mut cursor = extent.cursor(Reading::Walk);
    cursor.seek(b"").unwrap();
    let mut cells = 0;
    while let Some(cell) = cursor.cell() {
        cells += u64::from(cell.value.len() == 100);
        cursor.advance().unwrap();
    }
    cells
}

/// Rows that a listing has seen.
fn list(extent: &Arc<Extent>) -> u64 {
    let mut cursor = extent.cursor(Reading::Walk);
    cursor.seek(b"").unwrap();
    let mut rows = 0;
    while cursor.key().is_some() {
        rows += 1;
        cursor.next_row().unwrap();
    }
    rows
}

/// Finds a column of each row, in no order.
fn get(extent: &Arc<Extent>, rows: u64) {
    for n in 0..rows {
        let row = key::row_prefix(&row(n * 7919 % rows));
        let column = key::column_prefix(&row, b"column 3");
        assert!(extent.may_hold_column(&row, &column).unwrap());
        let mut cursor = extent.cursor(Reading::Point);
        cursor.seek(&column).unwrap();
        assert!(cursor.key().unwrap().starts_with(&column));
    }
}

/// How often the filter takes a column for one that may be there, and it is not.
fn mistaken(extent: &Extent, rows: u64) -> usize {
    let may = |n: &u64| {
        let row = key::row_prefix(&row(*n));
        extent.may_hold_column(&row, &key::column_prefix(&row, b"another")).unwrap()
    };
    (0..rows).filter(may).count()
}

fn timed<T>(what: &str, each: u64, unit: &str, action: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = action();
    println!("  {what:<28}{:>10.3} us a {unit}", start.elapsed().as_secs_f64() * 1e6 / each as f64);
    done
}

/// Prints the figures.
pub fn run(dir: &Path, rows: u64) {
    let path = dir.join("00000042.seg");
    let mut sorted: Vec<_> = (0..rows).map(row).collect();
    sorted.sort();
    let (keys, cells) = (keys(&sorted), rows * COLUMNS);
    for (codec, block_bytes) in [(Codec::None, 8 << 10), (Codec::None, 64 << 10), (Codec::Lz4, 16 << 10)] {
        println!("segment, {codec:?}, blocks of {} KiB", block_bytes >> 10);
        let bytes = timed("written", cells, "cell", || write(&path, &keys, (codec, block_bytes)));
        println!("  {:<28}{:>10.3} bytes a byte", "disk", bytes as f64 / (cells * 140) as f64);
        let cache = Cache::new(32 << 20);
        let segment = Segment::open(&RealEnv::default(), &path, STORE, FILE, &cache).unwrap();
        let extent = &segment.extents()[0];
        assert_eq!(timed("walked", cells, "cell", || walk(extent)), cells);
        assert_eq!(timed("listed", rows, "row", || list(extent)), rows);
        timed("got, cold", rows, "get", || get(extent, rows));
        timed("got, again", rows, "get", || get(extent, rows));
        let mistaken = timed("asked of what is not there", rows, "get", || mistaken(extent, rows));
        println!("  {:<28}{:>10.3} percent", "mistaken", mistaken as f64 * 100.0 / rows as f64);
        std::fs::remove_file(&path).unwrap();
    }
}
