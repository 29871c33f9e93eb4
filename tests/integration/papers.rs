//! The papers that go with the program: they are there, and say what is true.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn papers_notice_names_every_library_that_is_linked_in() {
    let (manifest, notice) = (read("Cargo.toml"), read("NOTICE"));
    let linked = manifest.split("[dependencies]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let names = linked.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name);
    let lock = read("Cargo.lock");
    let version = |name: &str| {
        let entry = lock.split("[[package]]\n").find(|entry| entry.starts_with(&format!("name = \"{name}\"\n")));
        entry.and_then(|entry| entry.split("version = \"").nth(1)?.split('"').next().map(str::to_owned))
    };
    for name in names {
        let version = version(name).unwrap_or_else(|| panic!("{name} is not in Cargo.lock"));
        let base = format!("\n{name} ");
        assert!(notice.contains(&base), "run packaging/notice.sh: NOTICE lacks {name} {version}");
    }
    assert!(read("LICENSE").contains("Apache License"));
}

/// The fuzz targets are a workspace of their own, whose lock file names the program's libraries once more.
#[test]
fn papers_lock_the_fuzz_targets_to_what_the_program_is_built_of() {
    let manifest = read("Cargo.toml");
    let linked = manifest.split("[dependencies]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let names = linked.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name);
    let lock = read("fuzz/Cargo.lock");
    let program = lock.split("[[package]]\n").find(|entry| entry.starts_with("name = \"cellfs\"\n")).unwrap();
    for name in names {
        let is_locked = program.contains(&format!(" \"{name}\"")) || program.contains(&format!(" \"{name} "));
        assert!(is_locked, "run cargo metadata --manifest-path fuzz/Cargo.toml: its lock file lacks {name}");
    }
}

/// What a page names of the repository is there.
#[test]
fn papers_name_only_what_there_is() {
    let mut wrong = Vec::new();
    let pages = ["CONTRIBUTING.md", "CHANGELOG.md", "README.md"].map(PathBuf::from).into_iter();
    let docs =
        fs::read_dir(root().join("docs")).unwrap().map(|entry| Path::new("docs").join(entry.unwrap().file_name()));
    for page in pages.chain(docs) {
        let text = read(page.to_str().unwrap());
        for word in text.split('`').skip(1).step_by(2) {
            let is_path = ["src/", "tests/", "docs/", "man/", "packaging/", "mount-scripts/"];
            if is_path.iter().any(|start| word.starts_with(start)) && !word.contains(' ') {
                let path = root().join(word);
                if !path.exists() {
                    wrong.push(format!("{}: {word}", page.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
