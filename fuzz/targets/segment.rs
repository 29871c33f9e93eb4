//! A segment of any bytes: what it says is walked, sought and verified to the end, or refused.
#![no_main]

use std::path::Path;

use cellfs::env::{Env, SimEnv};
use cellfs::segment::{Cache, Reading, Segment};
use libfuzzer_sys::fuzz_target;

const STORE: [u8; 16] = [7; 16];
/// Steps that no input of a fuzzer needs.
const STEPS: usize = 100_000;

fuzz_target!(|data: &[u8]| {
    let env = SimEnv::new();
    let path = Path::new("/store/segments/00000042.seg");
    env.create_dir(Path::new("/store/segments")).unwrap();
    env.create_new(path).unwrap().write_at(data, 0).unwrap();
    let cache = Cache::new(1 << 20);
    let Ok(segment) = Segment::open(&env, path, STORE, 42, &cache) else { return };
    let _ = segment.verify(&mut |_| ());
    for extent in segment.extents() {
        let _ = (extent.columns(), extent.chunks(), extent.sketch().map(|sketch| sketch.estimate()));
        let _ = extent.verify(&[], &mut |_| ());
        for reading in [Reading::Point, Reading::Walk] {
            let mut cursor = extent.cursor(reading);
            let mut step = cursor.seek(b"");
            let mut value = Vec::new();
            for n in 0..STEPS {
                if step.is_err() {
                    step = cursor.pass_damage().map(|_| ());
                }
                let Some(key) = cursor.key().map(<[u8]>::to_vec) else { break };
                let _ = cursor.cell().map(|cell| cell.tags.decode());
                let _ = cursor.read_value(&mut value);
                let _ = extent.may_hold_column(&key, &key);
                let _ = extent.may_hold_family_tombstone(&key);
                step = match n % 8 {
                    3 => cursor.next_row(),
                    5 => cursor.seek(&[key.as_slice(), b"x"].concat()),
                    6 => cursor.last_before(&key).and_then(|_| cursor.seek(&key)).and_then(|()| cursor.advance()),
                    _ => cursor.advance(),
                };
            }
        }
    }
});
