//! Trees that other programs bring, with the names that they have.

use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::Command;

use cellfs::model::{FileAttributes, Mutation, Origin, PutCell, RowMutations, TableName, Time, Timestamp, Value};
use rand::{Rng, RngExt, SeedableRng};

use super::fixture::{CELLFS, Fixture, errno, history, names, suffixed};

/// Names of a web tree that somebody downloaded.
const WEB: [&str; 14] = [
    "a%20b.html",
    "what%3Fx=1",
    "caf%C3%A9.html",
    "100%",
    "50%-off",
    "%41BC",
    "%zz",
    "x%2",
    "100%25.txt",
    "%E2%82%AC",
    "a%2Bb",
    "x%40y",
    "q%7E",
    "%2525",
];

fn bash(script: &str) -> String {
    let output = Command::new("bash").args(["-euc", script]).output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn last_refusal(fixture: &Fixture) -> String {
    let errors = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    errors.lines().last().unwrap_or_default().to_owned()
}

/// Rows and cells of the given names below a directory, each cell with its own name as its bytes.
fn make_tree(root: &Path, names: &[Vec<u8>]) {
    for (at, name) in names.iter().enumerate() {
        let name = std::ffi::OsString::from_vec(name.clone());
        let family = root.join(if at % 3 == 0 { name.as_os_str() } else { "row".as_ref() }).join("f");
        fs::create_dir_all(&family).unwrap();
        fs::write(family.join(&name), name.as_bytes()).unwrap();
    }
}

/// Copies there with rsync, twice; the second run has nothing to do. Both trees are the same then.
fn copies_once(from: &Path, to: &Path) {
    let rsync = format!("rsync -ai --delete '{}/' '{}/'", from.display(), to.display());
    assert_ne!(bash(&rsync), "");
    assert_eq!(bash(&rsync), "", "the second run");
    bash(&format!("diff -r '{}' '{}'", from.display(), to.display()));
}

#[test]
fn mount_takes_a_downloaded_web_tree() {
    let fixture = Fixture::new();
    let tree = fixture.directory.path().join("tree");
    make_tree(&tree, &WEB.map(|name| name.as_bytes().to_vec()));
    copies_once(&tree, &fixture.path("t"));
    bash(&format!("cp -a '{}/row' '{}'", tree.display(), fixture.path("t/copy").display()));
    assert_eq!(names(&fixture.path("t/copy/f")).len(), names(&tree.join("row/f")).len());
    let get = ["get", "--value", fixture.store().to_str().unwrap(), "t", "row", "f:what%3Fx=1"].map(str::to_owned);
    let output = Command::new(CELLFS).args(get).output().unwrap();
    assert_eq!(output.stdout, b"what%3Fx=1", "the name is the key");
}

fn random_name(dice: &mut impl Rng) -> Vec<u8> {
    const PIECES: [&[u8]; 24] = [
        b"%",
        b"~",
        b"@",
        b".",
        b"\n",
        b"\t",
        b"\x7f",
        b"a",
        b"5",
        b"25",
        b"2F",
        b"00",
        b"%20",
        b"%C3%A9",
        b"\xc3",
        b"\xa9",
        b"\xff",
        b"\xc3\xa9",
        b"counter",
        b"key",
        b".schema",
        b"E2",
        b"xyz",
        b" ",
    ];
    let length = dice.random_range(1..6);
    (0..length).flat_map(|_| PIECES[dice.random_range(0..PIECES.len())].to_vec()).collect()
}

#[test]
fn mount_with_raw_names_takes_nearly_every_name() {
    let fixture = Fixture::with_options("names=raw,at=plain");
    let mut dice = rand::rngs::SmallRng::seed_from_u64(11);
    let mut names: Vec<Vec<u8>> = (0..600).map(|_| random_name(&mut dice)).collect();
    names.extend([b".hidden".to_vec(), b"react@18".to_vec(), b"tab\tnew\nline".to_vec(), vec![0xFF, 0xFE]]);
    let spelling = cellfs::tree::names::escape::Spelling {
        bytes: cellfs::tree::names::escape::Bytes::Raw,
        at: cellfs::tree::names::escape::At::Plain,
    };
    let all = names.len();
    let is_key =
        |level, name: &[u8]| matches!(spelling.parse(level, name), cellfs::tree::names::escape::Parsed::Key(_));
    use cellfs::tree::names::escape::Level;
    let reserved = |name: &[u8]| cellfs::tree::names::suffix::split(name, spelling.at).is_some();
    names.retain(|name| is_key(Level::Row, name) && is_key(Level::Qualifier, name) && !reserved(name));
    names.retain(|name| !name.starts_with(b".schema") && name != b"." && name != b"..");
    names.sort();
    names.dedup();
    println!("{} of {all} names", names.len());
    let tree = fixture.directory.path().join("tree");
    make_tree(&tree, &names);
    copies_once(&tree, &fixture.path("t"));
}

#[test]
fn mount_with_plain_at_keeps_versions_apart_from_names() {
    let fixture = Fixture::with_options("at=plain");
    let family = fixture.family("r");
    for name in ["react", "react@18", "react@1795275352025"] {
        fs::write(family.join(name), name).unwrap();
    }
    assert_eq!(names(&family), ["react", "react@1795275352025", "react@18"]);
    assert_eq!(history(&family.join("react")), ["react"]);
    assert_eq!(history(&family.join("react@18")), ["react@18"]);
    let versions = names(&fixture.mnt().join(".history/default/t/r/f"));
    assert!(versions.iter().any(|name| name.starts_with("react%4018@")), "{versions:?}");
    let refused = fixture.cellfs(&["mount", "/nowhere/store", "/nowhere/mnt", "-o", "at=plain,history=inline"]);
    assert!(!refused.status.success());
}

#[test]
fn mount_a_version_behind_thousands_is_made_where_its_family_keeps_it() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let versions = fixture.path("t/.schema/f/VERSIONS");
    fs::write(&versions, "1000000").unwrap();
    let (table, row) = (TableName::parse("t").unwrap(), b"r".to_vec());
    let put = |timestamp| PutCell {
        family: "f".to_owned(),
        qualifier: b"q".to_vec(),
        time: Time::At(Timestamp(timestamp)),
        value: Value::Bytes(b"v".to_vec()),
        ttl_ms: None,
        file: FileAttributes::default(),
        ended_at: None,
    };
    let mutations = (0..25).map(|n| Mutation::Put((0..100).map(|m| put(1000 + 2 * (100 * n + m))).collect())).collect();
    let origin = Origin::default();
    fixture.backend().mutate(RowMutations { table, row, mutations, durability: None, origin }, None).unwrap();
    for timestamp in [10, 1001, 3001, 5995] {
        fs::write(family.join(format!("q@{timestamp}")), "made").unwrap();
        assert_eq!(fs::read_to_string(family.join(format!("q@{timestamp}"))).unwrap(), "made");
    }
    fs::write(family.join("z"), "moved").unwrap();
    fs::rename(family.join("z"), family.join("q@1003")).unwrap();
    assert_eq!(fs::read_to_string(family.join("q@1003")).unwrap(), "moved");
    assert_eq!(names(&suffixed(&family.join("q"), "@")).len(), 2505);
    fs::write(&versions, "2000").unwrap();
    // 2,000 of them are later than the one, 1,999 than the other.
    assert_eq!(errno(fs::File::create(family.join("q@2003"))), libc::EINVAL);
    assert!(last_refusal(&fixture).contains("gone at once"), "{}", last_refusal(&fixture));
    fs::File::create(family.join("q@2005")).unwrap();
}

#[test]
fn mount_a_date_as_a_suffix_is_told_and_never_lost() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let file = family.join("f");
    fs::write(&file, "now").unwrap();
    bash(&format!("cd '{}' && cp f f@20261122", family.display()));
    let told = last_refusal(&fixture);
    assert!(told.contains("f@20261122") && told.contains("at=plain") && told.contains("version 20261122"), "{told}");
    assert_eq!(history(&file), ["now", "now"], "the copy is a version");
    assert_eq!(fs::read_to_string(family.join("f@20261122")).unwrap(), "now");
    fixture.backend().flush(None).unwrap();
    let compact = fixture.cellfs(&["compact", "--major", fixture.store().to_str().unwrap(), "t"]);
    assert!(compact.status.success());
    assert_eq!(fs::read_to_string(family.join("f@20261122")).unwrap(), "now", "after a compaction");
    let lines = || fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap().lines().count();
    let before = lines();
    bash(&format!("cd '{}' && cp f f@20261123", family.display()));
    assert_eq!(lines(), before, "told once");
    fs::write(fixture.path("t/.schema/f/VERSIONS"), "1").unwrap();
    let created = fs::File::create(family.join("f@20261124"));
    assert_eq!(errno(created), libc::EINVAL, "one newer version is there");
    assert!(last_refusal(&fixture).contains("gone at once"), "{}", last_refusal(&fixture));
    fs::write(family.join("precious"), "kept").unwrap();
    for source in ["precious", "f"] {
        let moved = fs::rename(family.join(source), family.join("f@20261124"));
        assert_eq!(errno(moved), libc::EPERM, "of {source}: what is moved there would be lost");
        assert!(last_refusal(&fixture).contains("gone at once"), "{}", last_refusal(&fixture));
    }
    let import = fixture.directory.path().join("import");
    fs::write(&import, "copied").unwrap();
    for inplace in ["--inplace", "-t"] {
        let rsync = Command::new("rsync").arg(inplace).arg(&import).arg(family.join("f@20261124")).output().unwrap();
        assert!(!rsync.status.success(), "{inplace}");
    }
    assert_eq!(fs::read_to_string(family.join("precious")).unwrap(), "kept");
    assert_eq!(fs::read_to_string(&file).unwrap(), "now");
    // A version of our days is what its name says.
    fs::write(family.join("other@1795275352025"), "v").unwrap();
    assert!(!last_refusal(&fixture).contains("other@"), "{}", last_refusal(&fixture));
}

#[test]
fn mount_a_table_that_mkdir_made_takes_families_as_they_come() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    fs::create_dir_all(fixture.path("open/r/f")).unwrap();
    fs::create_dir_all(fixture.path("open/r/g")).unwrap();
    fs::write(fixture.path("open/r/f/q"), "v").unwrap();
    assert_eq!(fs::read_to_string(fixture.path("open/.schema/g/VERSIONS")).unwrap(), "10\n");
    let (from, to) = (fixture.path("open"), fixture.path("open.bak"));
    bash(&format!("cp -a '{}' '{}'", from.display(), to.display()));
    assert_eq!(fs::read_to_string(to.join("r/f/q")).unwrap(), "v");
    let root = fixture.path("");
    bash(&format!(
        "cd '{}' && tar c t | (mkdir unpacked && cd unpacked && tar x --strip-components=1)",
        root.display()
    ));
    assert_eq!(fs::read_to_string(fixture.path("unpacked/r/f/q")).unwrap(), "v");
    fs::rename(fixture.path("unpacked/r"), fixture.path("open/other")).unwrap();
    // One that is declared closes it.
    fs::create_dir(fixture.path("open/.schema/h")).unwrap();
    assert_eq!(errno(fs::create_dir(fixture.path("open/r/i"))), libc::EPERM);
    let said = last_refusal(&fixture);
    assert!(said.contains("mkdir .schema/i") && said.contains("families=auto"), "{said}");
    fs::create_dir(fixture.path("by_shell")).unwrap();
    let store = fixture.store();
    let altered = fixture.cellfs(&["shell", store.to_str().unwrap(), "-e", "alter 'by_shell', 'f'"]);
    assert!(altered.status.success());
    fs::create_dir(fixture.path("by_shell/r")).unwrap();
    assert_eq!(errno(fs::create_dir(fixture.path("by_shell/r/g"))), libc::EPERM);
}

#[test]
fn mount_tools_say_sensibly_what_was_refused() {
    let fixture = Fixture::new();
    let root = fixture.path("t");
    fs::write(fixture.family("row").join("q"), "v").unwrap();
    let said = |script: &str| {
        let script = format!("cd '{}'; LC_ALL=C; export LC_ALL; {script}", root.display());
        let output = Command::new("bash").args(["-c", &script]).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let mv = said("mv row .hidden");
    assert!(mv.contains("Operation not permitted") && !mv.contains("subdirectory"), "{mv}");
    assert!(last_refusal(&fixture).contains("%2Ehidden"), "{}", last_refusal(&fixture));
    assert!(said("cp -r row .hidden").contains("Invalid argument"));
    assert!(said("mkdir .hidden").contains("Invalid argument"));
}

#[test]
fn mount_what_can_be_judged_at_write_is_refused_at_write() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("q"), "v").unwrap();
    let said = |script: &str| {
        let script = format!("cd '{}'; {script}", fixture.path("t").display());
        Command::new("bash").args(["-c", &script]).output().unwrap().status.success()
    };
    for wrong in [
        "echo abc > .schema/f/VERSIONS",
        "echo maybe > .schema/.table/READONLY",
        "echo 7 > r/f/n@counter",
        "echo '{\"f:q\": [1]}' > r/.json",
        "echo '{\"f:q\": x' > r/.json",
        "echo '{\"q\": \"no family\"}' > r/.json",
        "echo 'desc(desc(u8(x)))' > .schema/.table/METADATA/cellfs.key",
        "{ printf 'desc(%.0s' {1..9000}; echo; } > .schema/.key",
    ] {
        assert!(!said(wrong), "{wrong}");
    }
    assert_eq!(fs::read_to_string(fixture.path("t/.schema/f/VERSIONS")).unwrap(), "10\n", "nothing has changed");
    assert_eq!(fs::read_to_string(family.join("q")).unwrap(), "v");
    for right in [
        "echo 5 > .schema/f/VERSIONS",
        "printf 1 > .schema/f/MIN_VERSIONS",
        "echo +7 > r/f/n@counter",
        "echo '{\"f:q\": 1.50, \"f:t\": true, \"f:n\": -3}' > r/.json",
        "{ printf '{\"f:a\":'; printf ' \"b\"}'; } > r/.json",
    ] {
        assert!(said(right), "{right}");
    }
    let read = |name: &str| fs::read_to_string(family.join(name)).unwrap();
    assert_eq!((read("n"), read("t"), read("a")), ("-3".to_owned(), "true".to_owned(), "b".to_owned()));
    assert_eq!(read("q"), "1.50", "a number is stored as its JSON text");
}

#[test]
fn mount_who_writes_a_patch_in_parts_goes_on_where_a_child_has_ended() {
    let fixture = Fixture::new();
    fixture.family("r");
    fs::write(fixture.directory.path().join("part"), "\"f:a\": \"of a file\"").unwrap();
    fs::write(fixture.directory.path().join("wrong"), "{\"q\": \"no family\"}").unwrap();
    let run = |script: &str| {
        let script =
            format!("cd '{}'; part=../../../part; wrong=../../../wrong; {script}", fixture.path("t").display());
        let output = Command::new("bash").args(["-c", &script]).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let stored = fixture.path("t/r/f/a");
    let goes = |script: &str| {
        assert_eq!(run(script), (true, String::new()), "{script}");
        assert_eq!(fs::read_to_string(&stored).unwrap(), "of a file", "{script}");
        fs::remove_file(&stored).unwrap();
    };
    goes("{ echo '{'; cat $part; echo '}'; } > r/.json");
    goes("( echo '{'; cat $part; echo '}' ) > r/.json");
    goes("{ echo '{'; cat $part; echo '}' | cat; } > r/.json");
    assert_eq!(fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap(), "", "nothing was refused");
    goes("{ echo '{'; true >/dev/null; cat $part; echo '}'; } > r/.json");
    goes("exec 3>r/.json; echo '{' >&3; cat $part >&3; echo '}' >&3; exec 3>&-");
    // What a child has ended is told to it.
    assert!(!run("sh -ec 'cat $0; :' $wrong > r/.json").0);
    assert!(!run("printf '{' | cat > r/.json").0, "it has opened it itself");
    // What stays unfinished is refused when the last one closes it.
    run("{ echo '{'; cat $part; } > r/.json");
    assert!(last_refusal(&fixture).contains("not JSON"), "{}", last_refusal(&fixture));
    assert!(!stored.exists());
}
