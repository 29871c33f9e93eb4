//! Keys whose names are too long for a file name.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use super::fixture::{Fixture, errno, names, suffixed};
use super::model::{put_bytes, stored};

fn xattr(path: &Path) -> Vec<u8> {
    let output = Command::new("getfattr").args(["--only-values", "-n", "user.cellfs.key"]).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn mount_shortened_names_lead_to_their_keys() {
    let fixture = Fixture::new();
    let (row, long, middle) = (vec![b'r'; 300], vec![b'q'; 400], vec![b'm'; 230]);
    for key in [&long, &middle] {
        put_bytes(fixture.backend().as_ref(), &row, key, b"v");
    }
    let row_dir = fixture.path("t").join(names(&fixture.path("t")).remove(0));
    let family = row_dir.join("f");
    let listed = names(&family);
    // Short enough for a name, too long for one with a suffix.
    assert_eq!(listed[0].as_bytes(), middle);
    assert_eq!(listed[1].len(), 255);
    assert_eq!(fs::read(row_dir.join(".key")).unwrap(), row);
    assert_eq!((xattr(&row_dir), xattr(&family.join(&listed[1]))), (row.clone(), long.clone()));
    let history = fixture.mnt().join(".history/default/t").join(row_dir.file_name().unwrap()).join("f");
    let stems: Vec<String> =
        names(&history).iter().filter_map(|name| name.strip_suffix("@key").map(str::to_owned)).collect();
    assert_eq!(stems.len(), 2);
    for (stem, key) in stems.iter().zip([&middle, &long]) {
        assert_eq!(stem.len(), 207);
        let key_file = family.join(format!("{stem}@key"));
        assert_eq!(fs::read(&key_file).unwrap(), *key);
        assert_eq!(fs::metadata(&key_file).unwrap().mtime(), 0);
        let versions = names(&family.join(format!("{stem}@")));
        assert_eq!(fs::read(family.join(format!("{stem}@{}", versions[0]))).unwrap(), b"v");
        assert_eq!(xattr(&family.join(format!("{stem}@{}", versions[0]))), *key);
    }
}

#[test]
fn mount_a_key_file_makes_a_key() {
    let fixture = Fixture::new();
    let other = Fixture::new();
    let key = vec![b'k'; 300];
    put_bytes(other.backend().as_ref(), b"r", &key, b"v");
    let name = names(&other.path("t/r/f")).remove(0);
    let stem = names(&other.mnt().join(".history/default/t/r/f")).remove(0).strip_suffix("@key").unwrap().to_owned();
    let family = fixture.family("r");
    assert_eq!(errno(fs::write(family.join(format!("{stem}@5")), "x")), libc::ENOENT);
    let wrong = errno(fs::write(family.join(format!("{stem}@key")), "another key"));
    assert_eq!(wrong, libc::EINVAL, "at write(2)");
    let end = [&key[..], b"l"].concat();
    assert_eq!(errno(fs::write(family.join(format!("{stem}@key")), end)), 0, "refused at close");
    let errors = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    assert!(errors.contains("not the key of that name"), "{errors}");
    fs::write(family.join(format!("{stem}@key")), &key).unwrap();
    assert_eq!(fs::read(family.join(format!("{stem}@key"))).unwrap(), key);
    assert!(names(&family).is_empty(), "a key is no cell");
    fs::write(family.join(format!("{stem}@5")), "x").unwrap();
    assert_eq!(names(&family), [name.as_str()]);
    assert_eq!(fs::read_to_string(family.join(&name)).unwrap(), "x");
    assert_eq!(stored(fixture.backend().as_ref(), "r", std::str::from_utf8(&key).unwrap()).unwrap(), b"x");
}

#[test]
fn mount_programs_copy_rows_and_columns_with_long_keys() {
    let fixture = Fixture::new();
    let (row, long) = (vec![b'r'; 300], [vec![b'q'; 500], b"\xC3\xA4\0".to_vec()].concat());
    put_bytes(fixture.backend().as_ref(), &row, &long, b"v");
    put_bytes(fixture.backend().as_ref(), b"short", &long, b"w");
    fs::create_dir(fixture.path("u")).unwrap();
    let run = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).current_dir(fixture.path("")).output().unwrap();
        assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run("cp", &["-r", "t/short", "t/copy"]);
    run("rsync", &["-rt", "--inplace", "t/short/", "t/synced/"]);
    run("rsync", &["-rt", "--inplace", "t/", "u/"]);
    run("mv", &["t/copy", "u/moved"]);
    let value = |table: &str, row: &[u8]| {
        let get = cellfs::model::Get {
            table: cellfs::model::TableName::parse(table).unwrap(),
            row: row.to_vec(),
            read: cellfs::model::ReadSpec::default(),
        };
        let cells = fixture.backend().get(&get).unwrap().cells;
        cells.into_iter().map(|cell| (cell.qualifier, cell.value)).collect::<Vec<_>>()
    };
    assert_eq!(value("u", &row), [(long.clone(), b"v".to_vec())]);
    for (table, row) in [("t", "synced"), ("u", "synced"), ("u", "short"), ("u", "moved")] {
        assert_eq!(value(table, row.as_bytes()), [(long.clone(), b"w".to_vec())], "{table} {row}");
    }
    // A name that was never met is none.
    let name = names(&fixture.path("t/short/f")).remove(0);
    let never = format!("{}{}", &name[..name.len() - 1], if name.ends_with('0') { '1' } else { '0' });
    assert_eq!(errno(fs::write(fixture.path("t/short/f").join(never), "x")), libc::ENOENT);
}

#[test]
fn mount_versions_wait_for_the_keys_of_row_and_column() {
    let (source, target) = (Fixture::new(), Fixture::empty());
    put_bytes(source.backend().as_ref(), &[b'r'; 300], &[b'q'; 300], b"v");
    let below = Path::new(".history/default/t");
    let row = names(&source.path("t")).remove(0);
    let from = source.mnt().join(below).join(&row);
    let [key_file, version] = <[String; 2]>::try_from(names(&from.join("f"))).unwrap();
    let to = target.mnt().join(below).join(&row);
    fs::create_dir_all(to.join("f")).unwrap();
    fs::copy(from.join("f").join(&version), to.join("f").join(&version)).unwrap();
    assert_eq!(fs::read(to.join("f").join(&version)).unwrap(), b"v", "it waits, and can be read");
    assert!(names(&target.mnt().join(below)).iter().all(|name| *name == ".schema"), "nothing is known of its row");
    fs::copy(from.join(".key"), to.join(".key")).unwrap();
    assert_eq!(names(&to), [".key", "f"]);
    assert!(names(&to.join("f")).is_empty(), "its column is not known yet");
    fs::copy(from.join("f").join(&key_file), to.join("f").join(&key_file)).unwrap();
    assert_eq!(names(&to.join("f")), [key_file, version]);
    assert_eq!(
        fs::read(target.path("t").join(&row).join("f").join(&names(&source.path("t").join(&row).join("f"))[0]))
            .unwrap(),
        b"v"
    );
}

#[test]
fn mount_deleted_versions_are_seen_in_the_past_and_copied_back() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(suffixed(&cell, "@1000"), "old").unwrap();
    fs::remove_file(&cell).unwrap();
    assert!(!cell.exists());
    assert_eq!(fs::read_to_string(fixture.path("t/r/.at/2000/f/q")).unwrap(), "old");
    assert_eq!(fs::read_to_string(suffixed(&cell, "@1000")).unwrap(), "old");
    fs::copy(suffixed(&cell, "@1000"), &cell).unwrap();
    assert_eq!(fs::read_to_string(&cell).unwrap(), "old");
    // Its own tombstone hides a version, also from the past.
    fs::remove_file(suffixed(&cell, "@1000")).unwrap();
    assert!(!suffixed(&cell, "@1000").exists());
    assert!(!names(&suffixed(&cell, "@")).contains(&"1000".to_owned()), "listed as it is read");
    assert!(!fixture.path("t/r/.at/2000/f/q").exists());
    let listed = names(&fixture.mnt().join(".history/default/t/r/f"));
    assert!(listed.iter().any(|name| name.starts_with("q@1000.deleted.")), "{listed:?}");
}

/// rsync gives the copy that it makes a name that ends with dot and six characters, and cuts off what does not fit.
#[test]
fn mount_rsync_copies_shortened_names() {
    let fixture = Fixture::new();
    let keys = [vec![b'k'; 500], [&[b'm'; 300][..], b"%~\xFF"].concat()];
    for key in &keys {
        put_bytes(fixture.backend().as_ref(), b"from", key, b"value");
    }
    let (from, to) = (fixture.path("t/from"), fixture.path("t/to"));
    for _ in 0..2 {
        let output = Command::new("rsync").args(["-a", "--itemize-changes"]).arg(from.join("")).arg(&to).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(names(&to.join("f")), names(&from.join("f")));
    for (name, key) in names(&to.join("f")).iter().zip(&keys) {
        assert_eq!(
            (fs::read(to.join("f").join(name)).unwrap(), xattr(&to.join("f").join(name))),
            (b"value".to_vec(), key.clone())
        );
    }
    let kept = names(&fixture.mnt().join(".history/default/t/to/f"));
    assert_eq!(kept.len(), 4, "nothing is left of the names in between: {kept:?}");
}
