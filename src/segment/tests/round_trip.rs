//! What is written is read back, from anywhere, as from an ordered map.

use proptest::prelude::*;

use super::*;
use crate::model::ValueBytes;

fn tags() -> impl Strategy<Value = Tags> {
    let file = (any::<bool>(), any::<i32>()).prop_map(|(set, n)| {
        let mtime = Some(FileTime { seconds: i64::from(n), nanos: 7 });
        if set { FileRecord { mtime, mode: Some(0o640), ..FileRecord::default() }.into() } else { Default::default() }
    });
    let moment = || prop::option::weighted(0.1, (0..1_000_000i64).prop_map(Timestamp));
    let all = (prop::option::weighted(0.2, 0..100_000u64), file, moment(), moment(), prop::bool::weighted(0.1));
    let all = all.prop_map(|(ttl_ms, file, ended_at, written_at, erases)| Tags {
        ttl_ms,
        file,
        ended_at,
        written_at,
        erases,
        ..Tags::default()
    });
    prop_oneof![3 => Just(Tags::default()), 1 => all]
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    let odd = prop::collection::vec(prop::sample::select(vec![0u8, 1, 2, 0x61, 0xFE, 0xFF]), 0..4);
    prop_oneof![
        4 => odd,
        4 => (0..60u32).prop_map(|n| format!("a name that many share {n:03}").into_bytes()),
        1 => (0..3usize, 0..3u8).prop_map(|(n, b)| vec![b; n * 2_500]),
    ]
}

fn value() -> impl Strategy<Value = Given> {
    let len = prop_oneof![Just(0usize), 1..40usize, 505..520usize, 1_000..1_100usize, 16_380..16_390usize];
    let bytes = (len, any::<u64>(), any::<bool>()).prop_map(|(len, seed, plain)| {
        let mut state = seed | 1;
        let byte = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if plain { b'a' + (state >> 62) as u8 } else { (state >> 33) as u8 }
        };
        Given::Bytes((0..len).map(byte).collect())
    });
    let root = (any::<u64>(), prop::collection::vec(any::<u8>(), 0..60)).prop_map(|(len, root)| Given::Root(len, root));
    prop_oneof![6 => bytes, 1 => root]
}

fn keys() -> impl Strategy<Value = Vec<u8>> {
    let time = prop_oneof![0..20i64, Just(0), Just(i64::MAX - 1), 1_700_000_000_000..1_700_000_100_000i64];
    let seq = prop_oneof![0..50u64, Just((1 << 56) - 1)];
    (name(), name(), time, 0..9u8, seq).prop_map(|(row, qualifier, time, n, seq)| {
        let kind = kind(n);
        let qualifier = if kind.is_family_tombstone() { Vec::new() } else { qualifier };
        key::cell_key(&row, &qualifier, Timestamp(time), kind, SeqNo(seq))
    })
}

fn models(cells: usize) -> impl Strategy<Value = Model> {
    prop::collection::btree_map(keys(), (tags(), value()), 0..cells)
}

fn options() -> impl Strategy<Value = ExtentOptions> {
    let codecs = vec![Codec::None, Codec::None, Codec::Gz, Codec::Snappy, Codec::Lz4, Codec::Zstd];
    let filters = vec![FilterKind::None, FilterKind::Row, FilterKind::RowColumn];
    let sizes = vec![1usize, 1 << 10, 2 << 10, 8 << 10, 64 << 10];
    (prop::sample::select(codecs), prop::sample::select(filters), prop::sample::select(sizes), 1..4u32).prop_map(
        |(codec, filter, block_bytes, max_versions)| ExtentOptions {
            family: FamilyId(9),
            block_bytes,
            filter,
            codec,
            max_versions,
            layers: (3, 4),
            made_at: Timestamp(77),
            major: true,
        },
    )
}

/// Everything that a cursor can be asked, against the model.
fn compare(extent: &Arc<Extent>, model: &Model, reading: Reading, asked: &[Vec<u8>]) {
    let mut cursor = extent.cursor(reading);
    cursor.seek(b"").unwrap();
    for (key, cell) in model {
        assert_eq!(current(&mut cursor).as_ref(), Some((key.clone(), cell.clone())).as_ref());
        cursor.advance().unwrap();
    }
    assert_eq!(cursor.key(), None);
    for target in asked {
        // From wherever it is by now.
        cursor.seek(target).unwrap();
        let right = model.range(target.clone()..).next();
        assert_eq!(cursor.key(), right.map(|(key, _)| key.as_slice()), "seek {target:02x?}");
        assert_eq!(current(&mut cursor).map(|(_, cell)| cell), right.map(|(_, cell)| cell.clone()));
        if let Some((key, _)) = right {
            let end = key::prefix_end(&key[..key::row_prefix_len(key).unwrap()]);
            cursor.next_row().unwrap();
            let next = model.range(end..).next();
            let shared = next.map_or(0, |(next, _)| key::common(key, next));
            assert!([0, shared].contains(&cursor.shared()), "{} of {shared}", cursor.shared());
            assert_eq!(cursor.key(), next.map(|(key, _)| key.as_slice()), "the row after {key:02x?}");
            if let Some((next, _)) = next {
                cursor.advance().unwrap();
                let after = model.range(next.clone()..).nth(1);
                assert_eq!(cursor.key(), after.map(|(key, _)| key.as_slice()));
            }
        }
        let before = model.range(..target.clone()).next_back();
        let told = cursor.last_before(target).unwrap();
        assert_eq!(told.as_ref(), before.map(|(key, _)| key), "before {target:02x?}");
        assert_eq!(cursor.key(), told.as_deref());
    }
}

fn compare_facts(extent: &Extent, options: &ExtentOptions, model: &Model) {
    let facts = extent.facts();
    let cells: Vec<_> = model.iter().map(|(key, cell)| (key::decode(key).unwrap(), cell)).collect();
    let count = |kind| cells.iter().filter(|(key, _)| key.kind == kind).count() as u64;
    assert_eq!((facts.family, facts.major, facts.layers), (options.family, options.major, options.layers));
    assert_eq!((facts.cells, facts.puts), (cells.len() as u64, count(CellKind::Put)));
    assert_eq!(facts.tombstones.all(), facts.cells - facts.puts);
    assert_eq!(facts.tombstones.column, count(CellKind::Tombstone(Tombstone::Column)));
    assert_eq!(Some(&facts.first_key), model.keys().next());
    assert_eq!(Some(&facts.last_key), model.keys().next_back());
    assert_eq!(facts.least_timestamp, cells.iter().map(|(key, _)| key.timestamp).min().unwrap());
    assert_eq!(facts.greatest_seq, cells.iter().map(|(key, _)| key.seq).max().unwrap());
    assert_eq!(facts.has_ended, cells.iter().any(|(_, (tags, _))| tags.ended_at.is_some()));
    let mut rows: Vec<_> = cells.iter().map(|(key, _)| &key.row).collect();
    rows.dedup();
    assert_eq!(facts.rows, rows.len() as u64);
    let mut columns: Vec<_> = cells.iter().map(|(key, _)| (&key.row, &key.qualifier)).collect();
    columns.dedup();
    assert_eq!(facts.columns, columns.len() as u64);
    let ends = cells.iter().map(|(key, (tags, _))| {
        tags.alive_until(key.timestamp).filter(|_| key.kind.is_put() && !tags.erases).map(Timestamp)
    });
    assert_eq!(facts.alive_until, ends.collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().max()));
    let mut superseded = 0;
    for (row, qualifier) in &columns {
        let puts = cells.iter().filter(|(key, _)| key.kind.is_put() && (&key.row, &key.qualifier) == (row, qualifier));
        let mut times: Vec<_> = puts.map(|(key, _)| key.timestamp).collect();
        let all = times.len();
        times.dedup();
        superseded += all - times.len().min(options.max_versions as usize);
    }
    assert_eq!(facts.superseded_cells, superseded as u64);
    let told = extent.columns().unwrap().unwrap();
    assert_eq!(told.iter().map(|column| column.cells).sum::<u64>(), facts.puts);
    assert!(told.is_sorted_by(|a, b| a.qualifier < b.qualifier));
    assert_eq!(extent.sketch().unwrap().estimate(), facts.columns);
    assert_eq!(extent.chunks().unwrap(), vec![]);
}

fn compare_filters(extent: &Extent, model: &Model) {
    for key in model.keys() {
        let parts = key::decode(key).unwrap();
        let row = key::row_prefix(&parts.row);
        let column = key::column_prefix(&row, &parts.qualifier);
        assert!(extent.may_hold_row(&row).unwrap());
        assert!(extent.may_hold_column(&row, &column).unwrap());
        assert!(!parts.kind.is_family_tombstone() || extent.may_hold_family_tombstone(&row).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn extents_answer_as_an_ordered_map(
        extents in prop::collection::vec((options(), models(120)), 1..4),
        asked in prop::collection::vec(keys(), 1..30),
        cut in 0..30usize,
    ) {
        let env = env();
        let facts = write(&env, &extents);
        let segment = open(&env).unwrap();
        let told: Vec<_> = segment.extents().iter().map(|extent| extent.facts().clone()).collect();
        prop_assert_eq!(&told, &facts);
        prop_assert_eq!((segment.last_edit(), segment.claims()), (5, &[(3, 1)][..]));
        let full: Vec<_> = extents.iter().filter(|(_, model)| !model.is_empty()).collect();
        prop_assert_eq!(full.len(), facts.len());
        for ((options, model), extent) in full.into_iter().zip(segment.extents()) {
            // Keys that are there, keys that are not, and such as are cut anywhere.
            let mut targets: Vec<_> = model.keys().step_by(3).cloned().chain(asked.clone()).collect();
            targets.extend(model.keys().step_by(5).map(|key| key[..key.len().min(cut)].to_vec()));
            for reading in [Reading::Point, Reading::Walk] {
                compare(extent, model, reading, &targets);
            }
            compare_facts(extent, options, model);
            compare_filters(extent, model);
        }
    }
}

#[test]
fn what_is_copied_is_the_same() {
    let env = env();
    let options = ExtentOptions { block_bytes: 1024, ..ExtentOptions::default() };
    let cell = |n: u64| {
        let key = key::cell_key(b"row", &n.to_be_bytes(), Timestamp(5), CellKind::Put, SeqNo(n));
        let tags = Tags { ttl_ms: n.is_multiple_of(3).then_some(n), ..Tags::default() };
        (key, (tags, Given::Bytes(vec![n as u8; n as usize * 3])))
    };
    let model: Model = (0..300).map(cell).collect();
    write(&env, &[(options.clone(), model)]);
    let segment = open(&env).unwrap();
    let copy = Path::new("/store/segments/00000043.seg");
    let mut writer = SegmentWriter::new(&env, copy, STORE, 43, 5).unwrap();
    writer.begin_extent(&options).unwrap();
    let mut cursor = segment.extents()[0].cursor(Reading::Walk);
    let mut value = Vec::new();
    cursor.seek(b"").unwrap();
    while cursor.key().is_some() {
        cursor.read_value(&mut value).unwrap();
        writer.copy(&cursor.cell().unwrap(), ValueBytes::Bytes(&value)).unwrap();
        cursor.advance().unwrap();
    }
    let facts = writer.finish().unwrap();
    assert_eq!(&facts[0], segment.extents()[0].facts());
}

#[test]
fn a_column_of_many_versions_is_found_at_its_newest() {
    let mut model = Model::new();
    for qualifier in [&b"a"[..], b"b", b"c"] {
        for n in 0..400 {
            let key =
                key::cell_key(b"row", qualifier, Timestamp(1_700_000_000_000 + n), CellKind::Put, SeqNo(n as u64));
            model.insert(key, (Tags::default(), Given::Bytes(n.to_string().into_bytes())));
        }
    }
    let env = env();
    let options = ExtentOptions { block_bytes: 1 << 10, ..ExtentOptions::default() };
    write(&env, &[(options, model.clone())]);
    let segment = open(&env).unwrap();
    for reading in [Reading::Point, Reading::Walk] {
        let row = key::row_prefix(b"row");
        let columns = [&b"a"[..], b"b", b"c"].map(|qualifier| key::column_prefix(&row, qualifier));
        compare(&segment.extents()[0], &model, reading, &columns);
    }
}

#[test]
fn walks_keep_the_index_they_begin_with_and_leave_the_cache_to_others() {
    let options = ExtentOptions {
        family: FamilyId(9),
        block_bytes: 1 << 10,
        filter: FilterKind::None,
        codec: Codec::None,
        max_versions: 1,
        layers: (3, 4),
        made_at: Timestamp(77),
        major: true,
    };
    let key = |n: u32| key::cell_key(format!("row {n:09}").as_bytes(), b"q", Timestamp(1), kind(9), SeqNo(1));
    let model: Model = (0..20_000).map(|n| (key(n), (Tags::default(), Given::Bytes(vec![7; 100])))).collect();
    let env = env();
    write(&env, &[(options, model)]);
    let cache = Cache::new(8 << 20);
    let segment = Segment::open(&env, &path(), STORE, FILE, &cache).unwrap();
    let extent = &segment.extents()[0];
    let walk = |from: u32, cells: usize| {
        let mut cursor = extent.cursor(Reading::Walk);
        cursor.seek(&key(from)).unwrap();
        (1..cells).for_each(|_| cursor.advance().unwrap());
        assert!(cursor.key().is_some());
    };
    walk(10_000, 1);
    let kept = cache.bytes();
    assert!(kept > 0, "the next one would read and expand it again");
    walk(10_001, 9_000);
    assert_eq!(cache.bytes(), kept, "what a walk goes on to is kept");
}
