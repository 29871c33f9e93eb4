//! Names as `tests/names/rule.py` spells them: the rule a second time, with which the program has to agree.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use cellfs::tree::names::escape::{At, Bytes, Level, NAME_MAX, Parsed, Spelling};

/// Random keys of each kind and mode; `CELLFS_NAMES` says how many.
fn rounds() -> usize {
    std::env::var("CELLFS_NAMES").ok().and_then(|n| n.parse().ok()).unwrap_or(5000)
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    match text {
        "-" => None,
        "empty" => Some(Vec::new()),
        digits => Some(hex::decode(digits).unwrap()),
    }
}

#[test]
fn spelling_agrees_with_the_rule_that_was_written_twice() {
    let rule = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/names/rule.py");
    let seed = std::env::var("CELLFS_NAMES_SEED").unwrap_or_else(|_| "1".to_owned());
    let mut python = Command::new("python3");
    python.arg(rule).arg(rounds().to_string()).arg(seed).stdout(Stdio::piped());
    let mut python = python.spawn().unwrap();
    let (mut keys, mut names, mut refused) = (0, 0, 0);
    for line in BufReader::new(python.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let level = if words[0] == "row" { Level::Row } else { Level::Qualifier };
        let bytes = if words[1] == "raw" { Bytes::Raw } else { Bytes::Text };
        let spelling = Spelling { bytes, at: At::Version };
        if words[2] == "=" {
            let (name, key) = (unhex(words[3]).unwrap(), unhex(words[4]));
            if name.len() > NAME_MAX {
                continue;
            }
            match (spelling.parse(level, &name), key) {
                (Parsed::Key(key), Some(wanted)) => assert_eq!(key, wanted, "{line}"),
                (Parsed::Refused { .. }, None) => refused += 1,
                (other, wanted) => panic!("{line}: {other:?}, not {wanted:?}"),
            }
            names += 1;
        } else {
            let (key, name) = (unhex(words[2]).unwrap_or_default(), unhex(words[3]).unwrap());
            assert_eq!(
                spelling.name(level, &key).escape_ascii().to_string(),
                name.escape_ascii().to_string(),
                "{line}"
            );
            assert_eq!(spelling.parse(level, &name), Parsed::Key(key), "{line}");
            keys += 1;
        }
    }
    assert!(python.wait().unwrap().success());
    println!("{keys} keys and {names} names, {refused} of them refused");
    assert!(keys >= 4 * rounds());
}
