//! The rules of the rooms, kept without a reviewer: who may import whom, who may know what, how long things are.

mod imports;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Rooms from the top to the bottom: a room imports only from rooms of a greater number, or its own.
const ROOMS: &[(&str, u32)] = &[
    ("cli", 0),
    ("shell", 1),
    ("daemon", 2),
    ("fuse", 3),
    ("fs", 4),
    ("tree", 5),
    ("bulk", 6),
    ("store", 6),
    ("hbase", 6),
    ("backend", 7),
    ("journal", 9),
    ("log", 9),
    ("blob", 9),
    ("query", 9),
    ("visibility", 10),
    ("segment", 10),
    ("format", 11),
    ("spill", 11),
    ("env", 12),
    ("model", 13),
    ("error", 14),
];

/// The rooms of the store, likewise; what is not named stands above them all.
const ROOMS_OF_THE_STORE: &[(&str, u32)] = &[
    ("serve", 1),
    ("check", 2),
    ("snapshot", 3),
    ("system", 3),
    ("open", 4),
    ("feed", 5),
    ("jobs", 5),
    ("catalogue", 6),
    ("scan", 6),
    ("write", 6),
    ("secondary", 7),
    ("plan", 8),
    ("read", 9),
    ("extents", 10),
    ("recover", 11),
    ("space", 11),
    ("engine", 12),
    ("cursor", 13),
    ("layout", 14),
    ("memory", 15),
    ("health", 15),
    ("options", 16),
];

/// The rooms of the mount, likewise: what it does, what it is, and its parts.
const ROOMS_OF_THE_MOUNT: &[(&str, u32)] = &[
    ("commanded", 0),
    ("events", 1),
    ("ops", 1),
    ("kinds", 2),
    ("session", 3),
    ("views", 3),
    ("shown", 4),
    ("requests", 5),
    ("base", 6),
    ("programs", 7),
    ("trees", 7),
    ("handles", 8),
    ("cache", 9),
    ("counts", 9),
    ("nodes", 10),
    ("bytes", 11),
    ("caller", 12),
    ("errno", 12),
    ("options", 12),
];

/// Those of the daemon.
const ROOMS_OF_THE_DAEMON: &[(&str, u32)] =
    &[("life", 1), ("find", 2), ("control", 3), ("confine", 4), ("mounts", 4), ("numbers", 4)];

/// Files of a folder, at most; where more are much alike, one for each command, say, the folder is named.
const FILES_OF_A_FOLDER: usize = 12;
const MANY_ALIKE: &[&str] = &["cli", "shell/help", "store/tests"];

/// Types whose methods may lie in more files than [`FILES_OF_A_TYPE`]: what calls what there, no import shows.
const SPREAD: &[&str] = &["HBase", "Blobs", "Cluster", "Session", "Checker", "Extent"];
const FILES_OF_A_TYPE: usize = 3;

/// A word that only one room may use.
const KNOWLEDGE: &[(&str, &[&str])] = &[
    ("fuser::", &["fuse"]),
    ("rusqlite::", &["spill"]),
    ("println!", &["cli", "shell"]),
    ("eprintln!", &["cli", "shell"]),
    ("libc::E", &["fs/errno.rs", "error.rs", "fuse", "daemon", "env"]),
    (
        "std::fs::",
        &[
            "env",
            "daemon",
            "cli",
            "shell",
            "fs/bytes/content.rs",
            "fuse/mounting/abort.rs",
            "fuse/idling.rs",
            "fuse/mounting/mount.rs",
            "store/open/identity.rs",
            "store/open/lock.rs",
            "model",
        ],
    ),
    ("SystemTime::now", &["env", "fs/base.rs", "fuse/convert.rs"]),
    ("unsafe ", &["env/mapped.rs"]),
    ("todo!", &[]),
    ("unimplemented!", &[]),
];

const FILE_LINES: usize = 400;
const FUNCTION_LINES: usize = 60;

pub(super) fn sources() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeMap::new();
    let mut open = vec![root.clone()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                found.insert(name, code(&fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(found.len() > 50, "the sources were not found");
    found.retain(|name, _| !name.ends_with("tests.rs") && !name.contains("/tests/"));
    found
}

/// The text before the unit tests.
fn code(text: &str) -> String {
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap().to_owned()
}

fn room(name: &str) -> &str {
    name.split('/').next().unwrap().trim_end_matches(".rs")
}

fn level(room: &str) -> Option<u32> {
    ROOMS.iter().find(|(name, _)| *name == room).map(|(_, level)| *level)
}

#[test]
fn tidy_imports_run_one_way() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let Some(own) = level(room(&name)) else { continue };
        for (at, _) in text.match_indices("crate::") {
            let imported: String = text[at + 7..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if imported != room(&name) && level(&imported).is_some_and(|level| level <= own) {
                wrong.push(format!("{name} imports {imported}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn tidy_imports_of_the_store_run_one_way() {
    assert_eq!(wrong_ways("store/", ROOMS_OF_THE_STORE), Vec::<String>::new());
}

#[test]
fn tidy_imports_of_the_mount_run_one_way() {
    assert_eq!(wrong_ways("fs/", ROOMS_OF_THE_MOUNT), Vec::<String>::new());
}

#[test]
fn tidy_imports_of_the_daemon_run_one_way() {
    assert_eq!(wrong_ways("daemon/", ROOMS_OF_THE_DAEMON), Vec::<String>::new());
}

/// Imports among the rooms of a folder that do not run downwards.
fn wrong_ways(folder: &str, rooms: &[(&str, u32)]) -> Vec<String> {
    let level = |room: &str| rooms.iter().find(|(name, _)| *name == room).map(|(_, level)| *level);
    let mut wrong = Vec::new();
    for (from, to) in imports::all() {
        let ends = [&from, &to].map(|file| file.strip_prefix(folder).map(room).filter(|room| *room != "mod"));
        let [Some(from_room), Some(to_room)] = ends else { continue };
        let (Some(above), Some(below)) = (level(from_room), level(to_room)) else {
            wrong.push(format!("{from_room} or {to_room} has no place"));
            continue;
        };
        if from_room != to_room && below <= above {
            wrong.push(format!("{from} imports {to}"));
        }
    }
    wrong
}

#[test]
fn tidy_no_files_import_each_other_in_a_circle() {
    assert_eq!(imports::circle(imports::all()), Vec::<String>::new());
    let circle = [("a", "b"), ("b", "c"), ("c", "b"), ("d", "a")].map(|(from, to)| (from.into(), to.into()));
    assert_eq!(imports::circle(circle.into()), ["b", "c"]);
}

#[test]
fn tidy_folders_have_few_files() {
    let mut files: BTreeMap<String, usize> = BTreeMap::new();
    for name in sources().into_keys() {
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
        *files.entry(folder.to_owned()).or_default() += 1;
    }
    files.retain(|folder, count| *count > FILES_OF_A_FOLDER && !MANY_ALIKE.contains(&folder.as_str()));
    assert!(files.is_empty(), "{files:#?}");
}

#[test]
fn tidy_the_methods_of_a_type_lie_together() {
    let mut files: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (name, text) in sources() {
        let heads = text.lines().filter_map(|line| line.strip_prefix("impl")).filter(|head| !head.contains(" for "));
        let types: std::collections::BTreeSet<String> = heads.map(own_type).collect();
        for of in types {
            *files.entry((room(&name).to_owned(), of)).or_default() += 1;
        }
    }
    assert!(files.contains_key(&("store".to_owned(), "Engine".to_owned())), "no methods were found");
    files.retain(|(_, of), count| *count > FILES_OF_A_TYPE && !SPREAD.contains(&of.as_str()));
    assert!(files.is_empty(), "{files:#?}");
}

/// The type of an `impl`, whose head is what stands behind that word.
fn own_type(head: &str) -> String {
    let mut depth = 0;
    let behind_generics = head.trim_start().char_indices().find_map(|(at, c)| {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(if c == '>' { at + 1 } else { at })
    });
    let name = head.trim_start()[behind_generics.unwrap_or(0)..].trim_start();
    name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn tidy_each_thing_is_known_in_one_room() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        for (word, rooms) in KNOWLEDGE {
            let allowed = rooms.iter().any(|allowed| name == *allowed || room(&name) == *allowed);
            let used = text.lines().any(|line| line.contains(word) && !line.trim_start().starts_with("//"));
            if used && !allowed {
                wrong.push(format!("{name} uses `{}`", word.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn tidy_every_file_says_what_it_is_for_and_is_short() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        if !text.starts_with("//!") {
            wrong.push(format!("{name} does not open with //!"));
        }
        if text.lines().count() > FILE_LINES {
            wrong.push(format!("{name} has {} lines", text.lines().count()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn tidy_functions_are_short() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let mut open: Option<(usize, usize, String)> = None;
        for (number, line) in text.lines().enumerate() {
            let indent = line.len() - line.trim_start().len();
            let start = line.trim_start();
            let is_fn = start.starts_with("fn ") || start.contains(" fn ") && start.starts_with("pub");
            if open.is_none() && is_fn && !line.trim_end().ends_with(';') {
                open = Some((indent, number, start.to_owned()));
            }
            if let Some((at, first, title)) = &open
                && start.starts_with('}')
                && indent == *at
            {
                if number - first + 1 > FUNCTION_LINES {
                    wrong.push(format!("{name}:{}: {} lines: {title}", first + 1, number - first + 1));
                }
                open = None;
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
