//! A log file of any bytes: its walk ends, and every entry that it gives has a head that can be read.
#![no_main]

use std::path::Path;
use std::sync::Arc;

use cellfs::env::{Env, SimEnv};
use cellfs::wal::{Replay, SegmentOrigin, Segments, look_at_dead, survey};
use libfuzzer_sys::fuzz_target;

const STORE: [u8; 16] = [7; 16];

fuzz_target!(|data: &[u8]| {
    let env = SimEnv::in_memory();
    let dir = Path::new("/segments");
    env.create_dir(dir).unwrap();
    let (id, path) = {
        let segments = Segments::open(Arc::new(env.clone()), dir.into(), STORE).unwrap();
        let (id, _, _) = segments.create(SegmentOrigin::Log).unwrap();
        (id, segments.path(id))
    };
    // The last bytes are its companion's.
    let (log, marks) = data.split_at(data.len() - data.len() / 8);
    env.damage(&path, |bytes| bytes.extend_from_slice(log)).unwrap();
    let companion = env.create_new(&path.with_extension("dead")).unwrap();
    companion.write_at(marks, 0).unwrap();
    let Ok(segments) = Segments::open(Arc::new(env), dir.into(), STORE) else { return };
    let segments = Arc::new(segments);
    let _ = look_at_dead(&segments, id);
    if let Ok(mut replay) = Replay::open(&segments, id, 0) {
        while let Ok(Some(_)) = replay.next_event() {}
    }
    let _ = survey(&segments, id);
});
