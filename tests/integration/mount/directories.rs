//! Namespaces, tables, rows, families, schema files, listings.

use std::fs;
use std::os::unix::fs::MetadataExt;

use cellfs::fs::ops::listing;

use super::fixture::{Fixture, errno, names};

#[test]
fn mount_mkdir_and_rmdir_at_each_level() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.mnt().join("ns")).unwrap();
    fs::create_dir(fixture.mnt().join("ns/table")).unwrap();
    fs::create_dir(fixture.mnt().join("ns/table/.schema/cf")).unwrap();
    fs::create_dir_all(fixture.mnt().join("ns/table/row/cf")).unwrap();
    assert_eq!(names(&fixture.mnt().join("ns/table")), ["row"]);
    assert_eq!(errno(fs::remove_dir(fixture.mnt().join("ns"))), libc::ENOTEMPTY);
    assert_eq!(errno(fs::remove_dir(fixture.mnt().join("ns/table"))), libc::ENOTEMPTY);
    assert_eq!(errno(fs::remove_dir(fixture.mnt().join("ns/table/row"))), libc::ENOTEMPTY);
    fs::write(fixture.mnt().join("ns/table/row/cf/q"), "v").unwrap();
    assert_eq!(errno(fs::remove_dir(fixture.mnt().join("ns/table/row/cf"))), libc::ENOTEMPTY);
    assert_eq!(errno(fs::remove_dir(fixture.mnt().join("ns/table/.schema/cf"))), libc::ENOTEMPTY);
    fs::remove_dir_all(fixture.mnt().join("ns/table/row")).unwrap();
    fs::remove_dir(fixture.mnt().join("ns/table/.schema/cf")).unwrap();
    fs::remove_dir(fixture.mnt().join("ns/table")).unwrap();
    fs::remove_dir(fixture.mnt().join("ns")).unwrap();
    assert_eq!(names(&fixture.mnt()), ["default"]);
}

#[test]
fn mount_empty_directories_stay_until_they_are_removed() {
    let mut fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("q"), "v").unwrap();
    fs::remove_file(family.join("q")).unwrap();
    assert_eq!(names(&fixture.path("t/r")), ["f"]);
    fs::remove_dir(&family).unwrap();
    assert_eq!(names(&fixture.path("t")), ["r"]);
    fs::remove_dir(fixture.path("t/r")).unwrap();
    assert!(names(&fixture.path("t")).is_empty());
    fs::create_dir(fixture.path("t/empty")).unwrap();
    fixture.remount();
    assert!(names(&fixture.path("t")).is_empty(), "forgotten at unmount");
}

#[test]
fn mount_attribute_files_change_the_schema() {
    let fixture = Fixture::new();
    let family = fixture.path("t/.schema/f");
    assert_eq!(fs::read_to_string(family.join("VERSIONS")).unwrap(), "10\n");
    fs::write(family.join("VERSIONS"), "2\n").unwrap();
    assert_eq!(fs::read_to_string(family.join("VERSIONS")).unwrap(), "2\n");
    let cell = fixture.family("r").join("q");
    for value in ["1", "2", "3"] {
        fs::write(&cell, value).unwrap();
    }
    assert_eq!(super::fixture::history(&cell), ["2", "3"]);
    assert_eq!(errno(nix_write(&family.join("VERSIONS"), b"-1")), libc::EINVAL);
    assert_eq!(fs::read_to_string(family.join("VERSIONS")).unwrap(), "2\n");
    let errors = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    assert!(errors.contains("Maximum versions must be positive"), "{errors}");
    fs::remove_file(family.join("VERSIONS")).unwrap();
    assert!(!family.join("VERSIONS").exists());
}

/// As a shell does it: the refusal comes with close(2).
fn nix_write(path: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::os::fd::IntoRawFd;
    let file = fs::File::options().write(true).truncate(true).open(path)?;
    std::io::Write::write_all(&mut &file, bytes)?;
    nix::unistd::close(file.into_raw_fd()).map_err(Into::into)
}

#[test]
fn mount_generated_entries_are_reachable_and_not_listed() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    for (directory, hidden) in [
        (fixture.mnt(), ".info"),
        (fixture.mnt(), ".at"),
        (fixture.path(""), ".schema"),
        (fixture.path("t"), ".schema"),
        (fixture.path("t"), ".at"),
        (fixture.path("t/r/f"), "q@"),
    ] {
        assert!(directory.join(hidden).is_dir(), "{hidden} in {}", directory.display());
        assert!(!names(&directory).iter().any(|name| name == hidden));
    }
}

#[test]
fn mount_shows_the_past_by_time() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("q@1000"), "old").unwrap();
    fs::write(family.join("q@2000"), "new").unwrap();
    fs::write(family.join("later@3000"), "x").unwrap();
    for base in [fixture.mnt().join(".at/1500/default/t/r"), fixture.path("t/.at/1500/r"), fixture.path("t/r/.at/1500")]
    {
        assert_eq!(names(&base.join("f")), ["q"]);
        assert_eq!(fs::read_to_string(base.join("f/q")).unwrap(), "old");
        assert_eq!(errno(fs::write(base.join("f/q"), "x")), libc::EROFS);
        assert_eq!(errno(fs::remove_file(base.join("f/q"))), libc::EROFS);
    }
    assert_eq!(names(&fixture.path("t/.at/1970-01-01T00:00:02.500Z/r/f")), ["q"]);
    assert_eq!(names(&fixture.path("t/.at/-1h/r/f")), ["later", "q"]);
    assert_eq!(errno(fs::metadata(fixture.path("t/.at/some-day"))), libc::ENOENT);
}

#[test]
fn mount_lists_large_directories_once_and_removes_them() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let count = 5000;
    for n in 0..count {
        fs::write(family.join(format!("q{n:05}")), n.to_string()).unwrap();
    }
    let listed = names(&family);
    let expected: Vec<String> = (0..count).map(|n| format!("q{n:05}")).collect();
    assert_eq!(listed, expected);
    // Entries that go while they are listed disturb nobody.
    let mut seen = 0;
    for entry in fs::read_dir(&family).unwrap() {
        let path = entry.unwrap().path();
        seen += 1;
        fs::remove_file(path).unwrap();
    }
    assert_eq!((seen, names(&family).len()), (count, 0));
}

#[test]
fn mount_row_listing_streams_in_key_order() {
    let fixture = Fixture::new();
    let backend = fixture.backend();
    for n in (0..3000).rev() {
        super::model::put(backend.as_ref(), &format!("row{n:05}"), "q", b"v");
    }
    fs::create_dir(fixture.path("t/row00000x")).unwrap();
    let mut expected: Vec<String> = (0..3000).map(|n| format!("row{n:05}")).collect();
    expected.insert(1, "row00000x".to_owned());
    assert_eq!(names(&fixture.path("t")), expected);
    fs::remove_dir_all(fixture.path("t/row00000")).unwrap();
    assert_eq!(names(&fixture.path("t"))[0], "row00000x");
}

#[test]
fn mount_inode_numbers_are_stable() {
    let mut fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "v").unwrap();
    let ino = fs::metadata(&cell).unwrap().ino();
    let table = fs::metadata(fixture.path("t")).unwrap().ino();
    fixture.remount();
    assert_eq!(fs::metadata(&cell).unwrap().ino(), ino);
    assert_eq!(fs::metadata(fixture.path("t")).unwrap().ino(), table);
}

#[test]
fn mount_df_tells_the_disks_numbers() {
    let fixture = Fixture::new();
    let below = nix::sys::statvfs::statvfs(&fixture.store()).unwrap();
    let shown = nix::sys::statvfs::statvfs(&fixture.mnt()).unwrap();
    let bytes = |s: &nix::sys::statvfs::Statvfs| s.blocks() * s.fragment_size();
    assert_eq!(bytes(&shown) / 4096, bytes(&below) / 4096);
    assert_eq!(shown.name_max(), 255);
}

#[test]
fn mount_cp_copies_a_schema_with_its_families() {
    let fixture = Fixture::new();
    let schema = |table: &str| fixture.path(table).join(".schema");
    fs::write(schema("t").join("f/VERSIONS"), "3\n").unwrap();
    fs::write(schema("t").join("f/TTL"), "100\n").unwrap();
    fs::write(schema("t").join("f/METADATA/owner"), "me\n").unwrap();
    fs::create_dir(schema("t").join("f/.check/text")).unwrap();
    fs::write(schema("t").join("f/.check/text/type"), "utf8\n").unwrap();
    fs::create_dir(fixture.path("copy")).unwrap();
    for _ in 0..2 {
        let output =
            std::process::Command::new("cp").arg("-r").arg(schema("t")).arg(fixture.path("copy")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(names(&schema("copy").join("f")), names(&schema("t").join("f")));
        assert_eq!(fs::read_to_string(schema("copy").join("f/VERSIONS")).unwrap(), "3\n");
        assert_eq!(fs::read_to_string(schema("copy").join("f/TTL")).unwrap(), "100\n");
        assert_eq!(fs::read_to_string(schema("copy").join("f/METADATA/owner")).unwrap(), "me\n");
        assert_eq!(fs::read_to_string(schema("copy").join("f/.check/text/type")).unwrap(), "utf8\n");
    }
}

#[test]
fn mount_whoever_makes_a_family_and_reads_others_finds_its_defaults_there() {
    let fixture = Fixture::new();
    let schema = fixture.path("t").join(".schema");
    let (made, history) = (schema.join("g"), fixture.mnt().join(".history/default/t/.schema"));
    fs::create_dir(&made).unwrap();
    assert_eq!(fs::read_to_string(made.join("VERSIONS")).unwrap(), "10\n");
    assert_eq!(errno(fs::File::create_new(made.join("VERSIONS"))), libc::EEXIST);
    names(&schema.join("f"));
    assert_eq!(fs::read_to_string(made.join("VERSIONS")).unwrap(), "10\n");
    // The copy that this might be has listed more by then.
    for walked in [&schema, &history] {
        for family in names(walked) {
            for name in names(&walked.join(&family)) {
                let path = walked.join(&family).join(&name);
                assert!(fs::metadata(&path).is_ok(), "{}", path.display());
            }
        }
    }
    assert_eq!(errno(fs::File::create_new(made.join("VERSIONS"))), libc::EEXIST);
}

/// Programs go on listing what they have opened.
#[test]
fn mount_lists_nothing_in_open_directories_of_a_table_or_family_that_goes() {
    use cellfs::model::{CatalogueChange, Mutation, Origin, PutCell, RowMutations, TableName, Time};
    let fixture = Fixture::new();
    let (backend, table) = (fixture.backend(), TableName::parse("t").unwrap());
    let put = |row: &str| {
        let cell = PutCell::new("f", "q", Time::Now, "v");
        let mutations = vec![Mutation::Put(vec![cell])];
        let (table, row) = (table.clone(), row.into());
        backend.mutate(RowMutations { table, row, mutations, durability: None, origin: Origin(0) }, None).unwrap();
    };
    put("r");
    put("s");
    let open = |below: &str| fs::read_dir(fixture.path(below)).unwrap();
    let mut of_family = open("t/s/f");
    let aside = CatalogueChange::SetFamilyAside { table: table.clone(), family: "f".into() };
    backend.alter(aside, Origin(0)).unwrap();
    assert!(of_family.next().is_none(), "of a family that has gone");
    fs::create_dir(fixture.path("t/.schema/f")).unwrap();
    put("r");
    let listings = [open("t/r"), open("t/r/f")];
    backend.alter(CatalogueChange::SetTableAside { name: table.clone() }, Origin(0)).unwrap();
    for mut listing in listings {
        assert!(listing.next().is_none(), "of a table that has gone");
    }
}

/// As the mount above, of each listing by itself: what the kernel or a look-up before it answers is no answer of these.
#[test]
fn a_page_of_a_directory_whose_table_has_gone_meanwhile_is_empty() {
    use std::sync::Arc;

    use cellfs::model::TableName;
    use cellfs::store::{Store, StoreOptions};
    use cellfs::tree::base::Tree;
    use cellfs::tree::list::listing::page;
    use cellfs::tree::place::{FamilyPlace, NodeKey, Place, RowPlace};
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(StoreOptions::new(directory.path().join("store"))).unwrap();
    let tree = Tree::new(Arc::new(store), directory.path());
    let (table, row) = (TableName::parse("gone").unwrap(), b"r".to_vec());
    let family = FamilyPlace { table: table.clone(), row: row.clone(), family: "f".into() };
    let places = [Place::Row(Arc::new(RowPlace { table, row })), Place::Family(Arc::new(family))];
    let pages = places.map(|place| page(&tree, &NodeKey::plain(place), None, 10));
    assert!(pages.iter().all(|page| page.as_ref().is_ok_and(|page| page.is_empty())), "{pages:?}");
}

/// Reads on in an open directory, at most so many names, from a cookie; where it is then.
fn read_on(fs: &cellfs::fs::Fs, handle: u64, mut at: u64, most: usize, names: &mut Vec<String>) -> u64 {
    let end = names.len() + most;
    loop {
        let before = names.len();
        listing::readdir(fs, handle, at, |entry| {
            if names.len() == end {
                return true;
            }
            names.push(String::from_utf8(entry.name.to_vec()).unwrap());
            at = entry.offset;
            false
        })
        .unwrap();
        if names.len() == before || names.len() == end {
            return at;
        }
    }
}

#[test]
fn what_open_directories_keep_is_bounded_in_all_and_no_name_is_lost_by_that() {
    use std::sync::Arc;

    use cellfs::backend::Backend;
    use cellfs::fs::ops::attr;
    use cellfs::fs::ops::files::close;
    use cellfs::fs::{Caller, Invalidations, Lookup, Options, begin};
    use cellfs::model::{
        CatalogueChange, FamilySchema, Mutation, Origin, PutCell, RowMutations, TableName, TableSchema, Time,
    };
    use cellfs::store::{Store, StoreOptions};
    const HANDLES: usize = 500;
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(StoreOptions::new(directory.path().join("store"))).unwrap();
    let table = TableName::parse("t").unwrap();
    let schema = TableSchema::new(table.clone(), [FamilySchema::new("f", Default::default())]);
    store.alter(CatalogueChange::CreateTable(schema), Origin(0)).unwrap();
    let names: Vec<String> = (0..3000).map(|n| format!("cell{n:05}")).collect();
    let cell = |name: &String| PutCell::new("f", name.as_bytes().to_vec(), Time::AfterNewest, b"v".to_vec());
    let mutations = vec![Mutation::Put(names.iter().map(cell).collect())];
    let row = RowMutations { table, row: b"r".to_vec(), mutations, durability: None, origin: Origin(0) };
    store.mutate(row, None).unwrap();
    let expected: Vec<String> = [".", ".."].map(str::to_owned).into_iter().chain(names).collect();
    let options = Options { spill_dir: directory.path().to_owned(), ..Options::default() };
    let fs = begin(Arc::new(store), options, Invalidations::default());
    let caller = Caller::default();
    let find = |parent, name: &str| match attr::lookup(&fs, parent, name.as_bytes(), caller).unwrap() {
        Lookup::Found(entry) => entry.attr.ino,
        Lookup::Absent(_) => panic!("{name} is not there"),
    };
    let family = ["default", "t", "r", "f"].iter().fold(1, |parent, name| find(parent, name));
    let handles: Vec<u64> = (0..HANDLES).map(|_| listing::opendir(&fs, family, caller).unwrap()).collect();
    let mut read: Vec<(u64, Vec<String>)> = vec![(0, Vec::new()); HANDLES];
    for step in [7, 0, 1, 40] {
        for (handle, (at, names)) in handles.iter().zip(&mut read) {
            *at = read_on(&fs, *handle, *at, step, names);
        }
    }
    let held = listing::held_by_directories(&fs);
    assert!(held > 1 << 20 && held <= 64 << 20, "{held} bytes of {HANDLES} directories");
    for (handle, (at, names)) in handles.iter().zip(&mut read).step_by(7) {
        read_on(&fs, *handle, *at, usize::MAX / 2, names);
        assert_eq!(*names, expected);
        close::release(&fs, *handle).unwrap();
    }
}
