//! Thousands of real files: the sources of the project's own dependencies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::fixture::Fixture;

const WANTED: usize = 5000;

/// Crates in cargo's registry of sources, each with its files.
fn sources() -> Vec<(String, Vec<PathBuf>)> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cargo"));
    let mut crates = Vec::new();
    let mut count = 0;
    for registry in fs::read_dir(home.join("registry/src")).unwrap() {
        for entry in fs::read_dir(registry.unwrap().path()).unwrap() {
            let root = entry.unwrap().path();
            let mut files = Vec::new();
            collect(&root, &mut files);
            count += files.len();
            crates.push((root.file_name().unwrap().to_str().unwrap().to_owned(), files));
            if count >= WANTED + 500 {
                return crates;
            }
        }
    }
    crates
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.metadata().unwrap().len() < 4 << 20 && path.as_os_str().len() < 240 {
            files.push(path);
        }
    }
}

/// The qualifier's file name of a path: `/` as `%2F`.
fn file_name(path: &Path, root: &str) -> String {
    let text = path.to_str().unwrap();
    let below = &text[text.find(root).unwrap() + root.len() + 1..];
    below.replace('/', "%2F")
}

fn compare(fixture: &Fixture, crates: &[(String, Vec<PathBuf>)]) -> usize {
    let mut compared = 0;
    for (name, files) in crates {
        let family = fixture.path("t").join(name).join("f");
        for file in files {
            let stored = fs::read(family.join(file_name(file, name))).unwrap();
            assert!(stored == fs::read(file).unwrap(), "{} differs", file.display());
            compared += 1;
        }
        assert_eq!(fs::read_dir(&family).unwrap().count(), files.len());
    }
    compared
}

#[test]
fn mount_keeps_a_real_tree_through_a_crash() {
    let crates = sources();
    let mut fixture = Fixture::new();
    for (name, files) in &crates {
        let family = fixture.family(name);
        for file in files {
            fs::copy(file, family.join(file_name(file, name))).unwrap();
        }
    }
    let compared = compare(&fixture, &crates);
    assert!(compared >= WANTED, "only {compared} files in cargo's registry");
    fixture.kill();
    fixture.mount("");
    assert_eq!(compare(&fixture, &crates), compared);
    let copy = tempfile::tempdir().unwrap();
    let pipe = "tar -C \"$1\" -c . | tar -C \"$2\" -x";
    let status = Command::new("sh").args(["-c", pipe, "sh"]).arg(fixture.path("t")).arg(copy.path()).status().unwrap();
    assert!(status.success());
    let diff = Command::new("diff").arg("-r").arg(fixture.path("t")).arg(copy.path()).output().unwrap();
    assert!(diff.status.success(), "{}", String::from_utf8_lossy(&diff.stdout));
}
