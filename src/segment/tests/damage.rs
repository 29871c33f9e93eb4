//! Every bit of a small segment is flipped: what is read is right or an error, and the check of the store tells of it.

use super::*;
use crate::ErrorKind;
use crate::format::{agree, ignored};

/// Two small extents with everything that there is: values beside their blocks, tags, roots, family tombstones.
pub(super) fn extents() -> Vec<(ExtentOptions, Model)> {
    let model = |seed: u64| -> Model {
        let cell = |n: u64| {
            let (row, qualifier) = (format!("row {}", n / 4), format!("q{}", n % 4));
            let kind = if n % 9 == 5 { kind(3) } else { kind(4) };
            let qualifier = if kind.is_family_tombstone() { "" } else { &qualifier };
            let key = key::cell_key(row.as_bytes(), qualifier.as_bytes(), Timestamp(50 + n as i64), kind, SeqNo(n));
            let tags =
                Tags { ttl_ms: n.is_multiple_of(5).then_some(n), erases: n.is_multiple_of(11), ..Tags::default() };
            let value = match n % 8 {
                3 => Given::Root(1 << 20, vec![n as u8; 20]),
                6 => Given::Bytes((0..600).map(|i| (i * n * seed) as u8 & 0x1F).collect()),
                _ => Given::Bytes(vec![n as u8; (n % 7) as usize * 4]),
            };
            (key, (tags, value))
        };
        (0..40).map(cell).collect()
    };
    let options = ExtentOptions { block_bytes: 1024, filter: FilterKind::Row, ..ExtentOptions::default() };
    let packed = ExtentOptions { codec: Codec::Lz4, filter: FilterKind::RowColumn, ..options.clone() };
    vec![(options, model(3)), (packed, model(5))]
}

/// Writes them, each with a reference to a chunk.
pub(super) fn write_all(env: &SimEnv, extents: &[(ExtentOptions, Model)]) -> Vec<ExtentFacts> {
    super::write_with(env, extents, |_| (), |writer| writer.refers_to_chunk(4, 7).unwrap())
}

/// What was seen.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    right: u64,
    refused: u64,
    wrong: u64,
    unnoticed: u64,
}

/// A read: right, refused as damage, or wrong.
fn count<T>(tally: &mut Tally, read: crate::Result<T>, right: impl FnOnce(T) -> bool) {
    match read {
        Ok(read) => match right(read) {
            true => tally.right += 1,
            false => tally.wrong += 1,
        },
        // Without checks any error is as good.
        Err(_) if agree(0, 1) => tally.refused += 1,
        Err(e) => {
            assert_eq!(e.kind, ErrorKind::Corrupt, "{e}");
            assert!(e.message.contains("offset ") && e.message.contains("cellfs check --repair /store"), "{e}");
            tally.refused += 1;
        }
    }
}

/// Reads everything in every way; whether the check tells of damage.
fn judge(env: &SimEnv, extents: &[(ExtentOptions, Model)], tally: &mut Tally) -> bool {
    let segment = match open(env) {
        Ok(segment) => segment,
        Err(e) => {
            count::<()>(tally, Err(e), |()| true);
            return true;
        }
    };
    if segment.extents().len() != extents.len() {
        tally.wrong += 1;
        return true;
    }
    let mut told = false;
    segment.verify(&mut |_| told = true).unwrap();
    for ((_, model), extent) in extents.iter().zip(segment.extents()) {
        for reading in [Reading::Point, Reading::Walk] {
            walk(extent, model, reading, tally);
        }
        for (key, cell) in model.iter().step_by(7) {
            let mut cursor = extent.cursor(Reading::Point);
            count(tally, cursor.seek(key).and_then(|()| read(&mut cursor)), |read| {
                read.is_some_and(|(at, read)| at == *key && read == *cell)
            });
            let parts = key::decode(key).unwrap();
            let row = key::row_prefix(&parts.row);
            let column = key::column_prefix(&row, &parts.qualifier);
            count(tally, extent.may_hold_column(&row, &column), |may| may);
            let tombstone = parts.kind.is_family_tombstone();
            count(tally, extent.may_hold_family_tombstone(&row), |may| may || !tombstone);
        }
        count(tally, extent.sketch(), |sketch| sketch.estimate() == extent.facts().columns);
        count(tally, extent.columns(), |columns| columns.is_some());
        count(tally, extent.chunks(), |chunks| chunks.len() == 1);
        extent.verify(&[], &mut |_| told = true).unwrap();
    }
    told
}

fn read(cursor: &mut ExtentCursor) -> crate::Result<Option<Seen>> {
    let Some(cell) = cursor.cell() else { return Ok(None) };
    let Some(tags) = cell.tags.decode() else { return Ok(None) };
    let (key, value, len) = (cell.key.to_vec(), cell.value, cell.value.len());
    let root = matches!(value, StoredValue::Root { .. });
    let mut bytes = Vec::new();
    cursor.read_value(&mut bytes)?;
    Ok(Some((key, (tags, if root { Given::Root(len, bytes) } else { Given::Bytes(bytes) }))))
}

/// A key and its cell.
type Seen = (Vec<u8>, (Tags, Given));

/// From the first cell to the last, behind each damage as well; what lies between is in a range that was told.
fn walk(extent: &Arc<Extent>, model: &Model, reading: Reading, tally: &mut Tally) {
    let mut cursor = extent.cursor(reading);
    let mut left: Vec<_> = model.iter().collect();
    left.reverse();
    let mut step = cursor.seek(b"");
    for _ in 0..1_000 {
        match step {
            Ok(()) if cursor.key().is_none() => break,
            Ok(()) => {
                let right = left.pop();
                count(tally, read(&mut cursor), |read| read.as_ref().map(|(key, cell)| (key, cell)) == right);
                step = cursor.advance();
            }
            Err(e) => {
                count::<()>(tally, Err(e), |()| true);
                step = cursor.pass_damage().map(|(from, to)| {
                    let lost = |key: &Vec<u8>| *key >= from && to.as_ref().is_none_or(|to| key < to);
                    left.retain(|(key, _)| !lost(key));
                });
                if cursor.key().is_none() {
                    break;
                }
            }
        }
    }
    // What checks do not stop may be walked in a circle.
    tally.wrong += u64::from(!left.is_empty());
}

#[test]
fn every_flipped_bit_is_noticed() {
    let extents = extents();
    let env = env();
    let facts = write_all(&env, &extents);
    let image = env.read_file(&path()).unwrap();
    let mut whole = Tally::default();
    assert!(!judge(&env, &extents, &mut whole), "an undamaged segment is damaged");
    assert_eq!((whole.refused, whole.wrong), (0, 0));
    let padding = padding(&facts, &image);
    let (mut seen, mut blind) = (Tally::default(), Tally::default());
    for at in 0..image.len() {
        let padding = padding.iter().any(|range| range.contains(&at));
        for bit in 0..8 {
            env.damage(&path(), |bytes| bytes[at] ^= 1 << bit).unwrap();
            let told = judge(&env, &extents, &mut seen);
            seen.unnoticed += u64::from(!told && !padding);
            assert_eq!((seen.wrong, seen.unnoticed), (0, 0), "byte {at}, bit {bit}");
            if bit == at % 8 {
                ignored::during(|| judge(&env, &extents, &mut blind));
            }
            env.damage(&path(), |bytes| bytes[at] ^= 1 << bit).unwrap();
            if padding {
                break;
            }
        }
    }
    println!("{} bytes: {seen:?}; without checks: {blind:?}", image.len());
    assert!(seen.refused > 1_000 && blind.wrong > 1_000);
}

/// Rows so long that the index of a group is full after a few blocks.
fn of_several_groups() -> (ExtentOptions, Model) {
    let cell = |n: u64| {
        let row = [&[b'r'; 900][..], &n.to_be_bytes()].concat();
        let key = key::cell_key(&row, b"q", Timestamp(5), CellKind::Put, SeqNo(n));
        (key, (Tags::default(), Given::Bytes(vec![n as u8; 300])))
    };
    (ExtentOptions { block_bytes: 1024, ..ExtentOptions::default() }, (0..40).map(cell).collect())
}

#[test]
fn damage_where_a_group_ends_costs_no_cell_of_the_next_one() {
    let (extents, env) = (vec![of_several_groups()], env());
    let facts = write_all(&env, &extents);
    let (mut seen, model) = (Tally::default(), &extents[0].1);
    for at in (facts[0].start as usize..facts[0].end as usize).step_by(89) {
        env.damage(&path(), |bytes| bytes[at] ^= 4).unwrap();
        if let Ok(segment) = open(&env) {
            for reading in [Reading::Point, Reading::Walk] {
                walk(&segment.extents()[0], model, reading, &mut seen);
            }
        }
        assert_eq!(seen.wrong, 0, "byte {at}");
        env.damage(&path(), |bytes| bytes[at] ^= 4).unwrap();
    }
    assert!(seen.refused > 100 && seen.right > 30 * seen.refused, "{seen:?}");
}

/// Bytes that fill up to a multiple of 4 KiB.
fn padding(facts: &[ExtentFacts], image: &[u8]) -> Vec<std::ops::Range<usize>> {
    let end = facts.last().unwrap().end as usize;
    let stored = u32::from_le_bytes(image[end..end + 4].try_into().unwrap()) as usize;
    vec![40..facts[0].start as usize, end + 16 + stored..image.len() - 32 - 16 - stored]
}
