//! Keys of any bytes as file names, in both directions.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rand::{Rng, RngExt, SeedableRng};

use super::fixture::Fixture;
use super::model::put_bytes;

fn random_key(dice: &mut impl Rng) -> Vec<u8> {
    let length = if dice.random_range(0..20) == 0 { dice.random_range(200..600) } else { dice.random_range(1..12) };
    let special = b"%@~./:5AF\0\n\x7f\xff\xc3\xa9";
    let byte = |dice: &mut _| {
        if Rng::next_u32(dice) % 2 == 0 {
            special[Rng::next_u32(dice) as usize % special.len()]
        } else {
            Rng::next_u32(dice) as u8
        }
    };
    (0..length).map(|_| byte(dice)).collect()
}

#[test]
fn mount_lists_every_key_under_one_name_that_leads_back() {
    let fixture = Fixture::new();
    let backend = fixture.backend();
    let mut dice = rand::rngs::SmallRng::seed_from_u64(7);
    let mut keys: Vec<Vec<u8>> = (0..=255).map(|b| vec![b]).collect();
    keys.extend((0..2000).map(|_| random_key(&mut dice)));
    keys.extend([Vec::new(), b"%".to_vec(), b".".to_vec(), b"..".to_vec(), b"a@5".to_vec(), vec![b'k'; 32_000]]);
    let mut expected = BTreeMap::new();
    for key in &keys {
        put_bytes(backend.as_ref(), b"row", key, key);
        expected.insert(key.clone(), false);
    }
    let family = fixture.path("t/row/f");
    let mut before: Option<Vec<u8>> = None;
    for entry in fs::read_dir(&family).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(name.as_bytes().len() <= 255);
        let path = family.join(&name);
        let value = fs::read(&path).unwrap();
        assert!(before.as_ref().is_none_or(|before| *before < value), "HBase's order");
        let seen = expected.get_mut(&value).unwrap();
        assert!(!std::mem::replace(seen, true), "{name:?} is listed twice");
        before = Some(value);
    }
    assert!(expected.values().all(|seen| *seen));
}

#[test]
fn mount_rows_of_any_bytes_can_be_made_and_read_back() {
    let fixture = Fixture::new();
    let backend = fixture.backend();
    let mut dice = rand::rngs::SmallRng::seed_from_u64(8);
    let keys: std::collections::BTreeSet<Vec<u8>> = (0..500).map(|_| random_key(&mut dice)).collect();
    for key in &keys {
        put_bytes(backend.as_ref(), key, b"q", key);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(fixture.path("t")).unwrap() {
        let name = entry.unwrap().file_name();
        found.push(fs::read(fixture.path("t").join(&name).join("f/q")).unwrap());
    }
    assert_eq!(found, keys.into_iter().collect::<Vec<_>>());
    let odd = std::ffi::OsString::from_vec(b"caf\xc3\xa9 \"quoted\" \\ %zz".to_vec());
    fs::create_dir_all(fixture.path("t").join(&odd).join("f")).unwrap();
    fs::write(fixture.path("t").join(&odd).join("f/q"), "odd").unwrap();
    let stored =
        fixture.cellfs(&["get", "--value", fixture.store().to_str().unwrap(), "t", odd.to_str().unwrap(), "f:q"]);
    assert_eq!(stored.stdout, b"odd");
}
