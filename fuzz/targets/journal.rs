//! Two journal files of any bytes: looking at them ends, opening them makes two that say the same, and an edit follows.
#![no_main]

use std::path::Path;
use std::sync::Arc;

use cellfs::env::{Env, SimEnv};
use cellfs::journal::{Edit, Found, Item, Journal, Seen, State};
use cellfs::model::SeqNo;
use libfuzzer_sys::fuzz_target;

const STORE: [u8; 16] = [7; 16];

fuzz_target!(|data: &[u8]| {
    let env = SimEnv::new();
    let dir = Path::new("/store/edits");
    env.create_dir(dir).unwrap();
    let shared: Arc<dyn Env> = Arc::new(env.clone());
    let known = Found { is_young: true, owed: 0 };
    {
        let mut made = Journal::open(&shared, dir, STORE, known, State::default).unwrap();
        for n in 1..3 {
            made.state = made.journal.commit(&made.state, &Edit::from(Item::Covered(SeqNo(n)))).unwrap();
        }
    }
    // The first byte says which of the two has the bytes, and behind how much of what was there.
    let Some((which, bytes)) = data.split_first() else { return };
    for (bit, name) in ["00000001.edits", "00000001.copy"].iter().enumerate() {
        if which & (1 << bit) != 0 {
            env.damage(&dir.join(name), |file| {
                file.truncate(usize::from(which >> 2) * 2);
                file.extend_from_slice(bytes);
            })
            .unwrap();
        }
    }
    let looked = Journal::look(&env, dir, &STORE);
    let Ok(mut opened) = Journal::open(&shared, dir, STORE, known, State::default) else { return };
    if let Ok(Some(Seen { state, .. })) = looked {
        assert!(state.edit <= opened.state.edit);
    }
    let before = opened.state.edit;
    if before == u64::MAX {
        return;
    }
    if let Ok(after) = opened.journal.commit(&opened.state, &Edit::from(Item::Flushed)) {
        assert_eq!(after.edit, before + 1);
        let again = Journal::look(&env, dir, &STORE).unwrap().unwrap();
        assert_eq!(again.state.edit, after.edit);
    }
});
