//! Scan paths: each step, alone and in chains, and paths that make no sense.

use std::fs;
use std::path::{Path, PathBuf};

use super::fixture::{Fixture, errno, names, suffixed};

/// Rows a1 a2 a3 b1 b2 c1 with cells f:q, f:p and, but for b1, g:q.
fn table() -> Fixture {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("t/.schema/g")).unwrap();
    for row in ["a1", "a2", "a3", "b1", "b2", "c1"] {
        let family = fixture.family(row);
        fs::write(family.join("q"), format!("q of {row}")).unwrap();
        fs::write(family.join("p"), format!("p of {row}")).unwrap();
        if row != "b1" {
            fs::create_dir(fixture.path("t").join(row).join("g")).unwrap();
            fs::write(fixture.path("t").join(row).join("g/q"), "g").unwrap();
        }
    }
    fixture
}

fn ask(fixture: &Fixture, path: &str) -> Vec<String> {
    names(&fixture.path("t").join(path))
}

fn read(path: PathBuf) -> String {
    fs::read_to_string(path).unwrap()
}

fn last_refusal(fixture: &Fixture) -> String {
    read(fixture.mnt().join(".info/errors")).lines().last().unwrap_or_default().to_owned()
}

fn is_absent(fixture: &Fixture, path: &str) {
    assert_eq!(errno(fs::metadata(fixture.path("t").join(path))), libc::ENOENT, "{path}");
}

#[test]
fn mount_path_prefix_from_and_to_are_ranges_of_rows() {
    let fixture = table();
    assert_eq!(ask(&fixture, ".prefix/a"), ["a1", "a2", "a3"]);
    assert_eq!(ask(&fixture, ".from/a3"), ["a3", "b1", "b2", "c1"]);
    assert_eq!(ask(&fixture, ".to/a3"), ["a1", "a2"]);
    assert_eq!(ask(&fixture, ".from/a2/.to/b2"), ["a2", "a3", "b1"]);
    assert_eq!(ask(&fixture, ".to/b2/.from/a2"), ["a2", "a3", "b1"]);
    assert_eq!(ask(&fixture, ".prefix/a/.from/a2"), ["a2", "a3"]);
    assert!(ask(&fixture, ".from/b/.to/a").is_empty());
    assert!(ask(&fixture, ".prefix/x").is_empty());
    assert_eq!(ask(&fixture, ".prefix/a/a2"), ["f", "g"]);
    assert_eq!(ask(&fixture, ".prefix/a/a2/f"), ["p", "q"]);
    assert_eq!(read(fixture.path("t/.prefix/a/a2/f/q")), "q of a2");
    is_absent(&fixture, ".prefix/a/b1");
    is_absent(&fixture, ".from/a3/a2");
    is_absent(&fixture, ".to/a3/a3");
    assert!(names(&fixture.path("t/.prefix")).is_empty(), "arguments are not listed");
    assert_eq!(names(&fixture.path("t")).len(), 6, "nor are steps");
}

#[test]
fn mount_path_arguments_are_decoded() {
    let fixture = Fixture::new();
    for row in ["x%2Fy", "x z", "100%"] {
        fs::write(fixture.family(row).join("a,b"), row).unwrap();
    }
    assert_eq!(ask(&fixture, ".prefix/x%2F"), ["x%2Fy"]);
    assert_eq!(ask(&fixture, ".prefix/x%2f"), ["x%2Fy"]);
    assert_eq!(ask(&fixture, ".prefix/x%20"), ["x z"]);
    assert_eq!(ask(&fixture, ".prefix/100%"), ["100%"]);
    assert_eq!(ask(&fixture, ".prefix/100%25"), ["100%"]);
    assert_eq!(ask(&fixture, ".columns/f:a%2Cb/x z/f"), ["a,b"]);
    let long = "k".repeat(300);
    let backend = fixture.backend();
    super::paths_oracle::put(backend.as_ref(), &long, "f", "q", "v");
    let shortened = ask(&fixture, ".prefix/k").remove(0);
    assert!(shortened.len() <= 255);
    assert_eq!(ask(&fixture, &format!(".from/{shortened}")), [shortened.as_str(), "x z", "x%2Fy"]);
}

#[test]
fn mount_path_a_percent_sign_alone_is_the_empty_qualifier() {
    let fixture = Fixture::new();
    let named = ["%", "!a", "\"b", "#c", "%25", "z"];
    let family = fixture.family("r");
    named.iter().for_each(|name| fs::write(family.join(name), "v").unwrap());
    assert_eq!(read(family.join(".from/%/.count")), "6\n");
    assert_eq!(names(&family.join(".from/%")), named);
    assert_eq!(names(&family.join(".prefix/%")), named);
    assert_eq!(names(&family.join(".from/%25")), ["%25", "z"]);
    assert_eq!(names(&family.join(".prefix/%25")), ["%25"]);
    assert!(names(&family.join(".to/%")).is_empty(), "nothing is before it");
    assert_eq!(read(family.join(".to/%/.count")), "0\n");
    assert_eq!(names(&family.join(".to/%25")), named[..4]);
    assert_eq!(names(&family.join(".columns/%")), ["%"]);
    assert_eq!(names(&family.join(".columns/%,z,%25")), ["%", "%25", "z"]);
    assert_eq!(ask(&fixture, ".columns/f:%/r/f"), ["%"]);
    assert_eq!(ask(&fixture, ".columns/f:%25/r/f"), ["%25"]);
    fs::write(fixture.family("%").join("q"), "no row has an empty key").unwrap();
    assert_eq!((ask(&fixture, ".prefix/%"), ask(&fixture, ".to/r")), (vec!["%".to_owned()], vec!["%".to_owned()]));
}

#[test]
fn mount_path_first_and_last_pick_rows() {
    let fixture = table();
    assert_eq!(ask(&fixture, ".first/2"), ["a1", "a2"]);
    assert_eq!(ask(&fixture, ".last/2"), ["b2", "c1"]);
    assert_eq!(ask(&fixture, ".first/99").len(), 6);
    assert_eq!(ask(&fixture, ".last/99").len(), 6);
    assert_eq!(ask(&fixture, ".first/6").len(), 6);
    assert_eq!(ask(&fixture, ".prefix/a/.last/1"), ["a3"]);
    assert_eq!(ask(&fixture, ".last/1/.prefix/a"), ["a3"]);
    assert_eq!(ask(&fixture, ".columns/g/.from/a3/.first/2"), ["a3", "b2"]);
    assert_eq!(read(fixture.path("t/.first/1/a1/f/q")), "q of a1");
    is_absent(&fixture, ".first/1/a2");
    is_absent(&fixture, ".last/2/b1");
    fs::metadata(fixture.path("t/.last/2/b2/g/q")).unwrap();
}

#[test]
fn mount_path_sample_takes_rows_at_random_and_the_same_ones_for_a_walk() {
    let fixture = table();
    let first = ask(&fixture, ".sample/3");
    assert_eq!(first.len(), 3);
    assert!(first.is_sorted());
    for row in ["a1", "a2", "a3", "b1", "b2", "c1"] {
        let is_there = fixture.path("t/.sample/3").join(row).exists();
        assert_eq!(is_there, first.contains(&row.to_owned()), "{row}");
    }
    assert_eq!(ask(&fixture, ".sample/9").len(), 6);
    assert!(ask(&fixture, ".prefix/a/.sample/2").iter().all(|row| row.starts_with('a')));
    let mut seen: Vec<String> = Vec::new();
    for n in 0..40 {
        fs::write(fixture.path("t/a1/f/p"), format!("{n}")).unwrap();
        seen.extend(ask(&fixture, ".sample/3"));
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 6, "another walk has others: {seen:?}");
}

#[test]
fn mount_path_columns_leave_families_and_columns() {
    let fixture = table();
    assert_eq!(ask(&fixture, ".columns/g"), ["a1", "a2", "a3", "b2", "c1"]);
    assert_eq!(ask(&fixture, ".columns/f:p,g/a1"), ["f", "g"]);
    assert_eq!(ask(&fixture, ".columns/f:p,g/a1/f"), ["p"]);
    assert_eq!(ask(&fixture, ".columns/f:q/b1"), ["f"]);
    is_absent(&fixture, ".columns/f:p/a1/f/q");
    is_absent(&fixture, ".columns/g/a1/f");
    is_absent(&fixture, ".columns/g/b1");
    is_absent(&fixture, ".columns/none");
    assert!(last_refusal(&fixture).contains("Column family none does not exist"), "{}", last_refusal(&fixture));
}

#[test]
fn mount_path_versions_show_older_ones_beside_the_newest() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    for at in [10, 20, 30, 40] {
        fs::write(suffixed(&cell, &format!("@{at}")), format!("v{at}")).unwrap();
    }
    assert_eq!(ask(&fixture, ".versions/3/r/f"), ["q", "q@30", "q@20"]);
    assert_eq!(read(fixture.path("t/.versions/3/r/f/q")), "v40");
    assert_eq!(read(fixture.path("t/.versions/3/r/f/q@30")), "v30");
    assert_eq!(read(fixture.path("t/.versions/3/r/f/q@40")), "v40");
    is_absent(&fixture, ".versions/3/r/f/q@10");
    assert_eq!(ask(&fixture, ".versions/1/r/f"), ["q"]);
    assert_eq!(ask(&fixture, ".times/10..40/.versions/9/r/f"), ["q", "q@20", "q@10"]);
    assert_eq!(ask(&fixture, ".versions/2/.prefix/r/r/f"), ["q", "q@30"]);
}

#[test]
fn mount_path_times_and_at_choose_versions_by_time() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    for at in [10, 20, 30] {
        fs::write(suffixed(&cell, &format!("@{at}")), format!("v{at}")).unwrap();
    }
    fs::write(fixture.family("s").join("q"), "new").unwrap();
    assert_eq!(ask(&fixture, ".times/10..30"), ["r"]);
    assert_eq!(read(fixture.path("t/.times/10..30/r/f/q")), "v20");
    assert_eq!(read(fixture.path("t/.times/..20/r/f/q")), "v10");
    assert_eq!(ask(&fixture, ".times/31.."), ["s"]);
    assert_eq!(ask(&fixture, ".times/-1h.."), ["s"]);
    assert_eq!(read(fixture.path("t/.prefix/r/.at/25/r/f/q")), "v20");
    assert_eq!(read(fixture.path("t/.at/25/.prefix/r/r/f/q")), "v20");
    assert_eq!(ask(&fixture, ".at/25/.first/5"), ["r"]);
    assert_eq!(ask(&fixture, ".first/5/.at/1970-01-02"), ["r"]);
    assert_eq!(ask(&fixture, ".first/5/.at/-0h"), ["r", "s"]);
    is_absent(&fixture, ".at/5/.first/5/r");
    is_absent(&fixture, ".at/5/.first/1/.at/6");
}

#[test]
fn mount_path_filter_speaks_the_whole_language() {
    let fixture = table();
    let rows = |filter: &str| ask(&fixture, &format!(".filter/{filter}"));
    assert_eq!(rows("ValueFilter(=, 'substring:of b')"), ["b1", "b2"]);
    assert_eq!(rows("PrefixFilter('a') AND ColumnPrefixFilter('p')"), ["a1", "a2", "a3"]);
    assert_eq!(ask(&fixture, ".filter/ColumnPrefixFilter('p')/a1"), ["f"]);
    assert_eq!(ask(&fixture, ".filter/ColumnPrefixFilter('p')/a1/f"), ["p"]);
    assert_eq!(rows("SingleColumnValueFilter('g', 'q', =, 'binary:g', true, true)").len(), 5);
    assert_eq!(ask(&fixture, ".filter/SingleColumnValueFilter('f', 'p', =, 'binary:p of b1')/b1/f"), ["p", "q"]);
    assert_eq!(rows("PageFilter(2)"), ["a1", "a2"]);
    is_absent(&fixture, ".filter/PageFilter(2)/a3");
    assert_eq!(rows("WHILE RowFilter(<, 'binary:b2')"), ["a1", "a2", "a3", "b1"]);
    is_absent(&fixture, ".filter/WHILE RowFilter(!=, 'binary:b1')/b2");
    assert_eq!(ask(&fixture, ".filter/PageFilter(4)/.last/2"), ["a3", "b1"]);
    assert_eq!(ask(&fixture, ".filter/PrefixFilter('a') OR PrefixFilter('c')/.last/2"), ["a3", "c1"]);
    assert_eq!(
        ask(&fixture, ".filter/ValueFilter(=, 'substring:of a')/.filter/QualifierFilter(=, 'binary:q')/a1/f"),
        ["q"]
    );
    let empty = fixture.path("t/.filter/KeyOnlyFilter()/a1/f/q");
    assert_eq!((fs::metadata(&empty).unwrap().len(), read(empty)), (0, String::new()));
    is_absent(&fixture, ".filter/ValueFilter(=");
    assert!(last_refusal(&fixture).contains("Incorrect Filter String"), "{}", last_refusal(&fixture));
    is_absent(&fixture, ".filter/NoFilter()");
}

/// HBase's do, where such a tombstone lies behind a newer cell of the empty qualifier: what scans give stays as it is there.
#[test]
fn mount_path_filters_that_seek_see_every_tombstone_of_a_family() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let run = |args: &[&str]| {
        let done = fixture.cellfs(&[&[args[0], store.to_str().unwrap()], &args[1..]].concat());
        assert!(done.status.success(), "{args:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    for is_flushed in [false, true] {
        let statements = [
            "create 'c', 'g'",
            "put 'c', 'r', 'g:a', 'old', 2000",
            "deleteall 'c', 'r', 'g', 3000",
            "put 'c', 'r', 'g:', 'new', 5000",
        ];
        for statement in statements {
            run(&["shell", "-n", "-e", statement]);
            // A third one might be merged with the others at once, and nothing of what is deleted be left.
            if is_flushed && !statement.contains("new") {
                fixture.backend().flush(None).unwrap();
            }
        }
        for filter in [
            "ColumnPrefixFilter('a')",
            "MultipleColumnPrefixFilter('a')",
            "ColumnRangeFilter('a', true, 'b', false)",
            "ColumnPrefixFilter('a') AND FamilyFilter(=, 'binary:g')",
        ] {
            assert!(run(&["scan", "c", "--filter", filter]).contains("old"), "{filter}: as HBase");
            let path = fixture.path("c/.filter").join(filter);
            assert_eq!(names(&path), [""; 0], "{filter}, {is_flushed}");
            assert_eq!(errno(fs::metadata(path.join("r/g/a"))), libc::ENOENT, "{filter}, {is_flushed}");
            assert_eq!(read(path.join(".count")), "0\n", "{filter}, {is_flushed}");
            assert_eq!(read(path.join(".export/jsonl")), "", "{filter}, {is_flushed}");
        }
        let all = fixture.path("c/.filter/ColumnPrefixFilter('a') OR ColumnPrefixFilter('')");
        assert_eq!((names(&all.join("r/g")), read(all.join("r/.count"))), (vec!["%".to_owned()], "1\n".to_owned()));
        run(&["shell", "-n", "-e", "disable 'c'", "-e", "drop 'c'"]);
    }
}

#[test]
fn mount_path_raw_shows_tombstones_and_what_they_hide() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(suffixed(&cell, "@10"), "ten").unwrap();
    fs::write(suffixed(&cell, "@20"), "twenty").unwrap();
    let store = fixture.store();
    let delete = fixture.cellfs(&["delete", store.to_str().unwrap(), "t", "r", "f:q", "25"]);
    assert!(delete.status.success(), "{delete:?}");
    assert_eq!(errno(fs::metadata(&cell)), 0, "a tombstone of one version");
    fs::remove_file(&cell).unwrap();
    let listed = ask(&fixture, ".raw/.versions/9/r/f");
    assert_eq!(listed.iter().filter(|name| name.contains(".deleted.")).count(), 2, "{listed:?}");
    assert!(listed.contains(&"q@10".to_owned()) && listed.contains(&"q@20".to_owned()), "{listed:?}");
    assert_eq!(read(fixture.path("t/.raw/.versions/9/r/f/q@20")), "twenty");
    assert_eq!(read(fixture.path("t/.raw/.versions/9/r/f/q@25.deleted.25")), "Delete\n");
    let column = listed.iter().find(|name| name.contains(".deleted.") && !name.contains("@25.")).unwrap();
    assert_eq!(read(fixture.path("t/.versions/9/.raw/r/f").join(column)), "DeleteColumn\n");
    is_absent(&fixture, ".raw/r/f/q");
    is_absent(&fixture, ".versions/9/r");
}

#[test]
fn mount_paths_that_make_no_sense_are_absent_with_a_sentence() {
    let fixture = table();
    for (path, sentence) in [
        (".first/x", "write a number"),
        (".first/0", "write a number"),
        (".last/01", "write a number"),
        (".sample/99999999", "to 10000"),
        (".versions/9999999999", "write a number"),
        (".from/a/.from/b", "stands in this path already"),
        (".prefix/a/.to/b/.prefix/c", "stands in this path already"),
        (".raw/.raw", "stands in this path already"),
        (".first/1/.last/1", "take one of .first, .last and .sample"),
        (".at/5/.first/1/.at/6", "stands in this path already"),
        (".columns/nothere:q", "does not exist"),
        (".columns/f,", "columns"),
        (".columns/f:q/.raw", "raw scan"),
        (".times/7..5", "nothing is from 7 on and before 5"),
        (".times/now", "FROM..TO"),
        (".filter/Nonsense", "Incorrect Filter String"),
        (".by/city", "table t has no index city; it has none"),
        ("a1/f/.first/x", "write a number"),
        ("a1/f/.from/a/.from/b", "stands in this path already"),
    ] {
        is_absent(&fixture, path);
        assert!(last_refusal(&fixture).contains(sentence), "{path}: {}", last_refusal(&fixture));
    }
    is_absent(&fixture, ".prefix/a/.schema");
    is_absent(&fixture, "a1/.prefix/x");
    is_absent(&fixture, "a1/f/.filter");
}

#[test]
fn mount_paths_are_read_only() {
    let fixture = table();
    let refused = |what: &str, found: i32| assert_eq!(found, libc::EROFS, "{what}");
    let below = |path: &str| fixture.path("t/.prefix/a").join(path);
    refused("write", errno(fs::write(below("a1/f/q"), "x")));
    refused("create", errno(fs::write(below("a1/f/new"), "x")));
    refused("unlink", errno(fs::remove_file(below("a1/f/q"))));
    refused("rmdir", errno(fs::remove_dir(below("a1/f"))));
    refused("mkdir", errno(fs::create_dir(below("a9"))));
    refused("mkdir of an argument", errno(fs::create_dir(fixture.path("t/.first/x"))));
    refused("rename", errno(fs::rename(below("a1/f/q"), fixture.path("t/a1/f/z"))));
    refused("rename into", errno(fs::rename(fixture.path("t/a1/f/q"), below("a1/f/z"))));
    refused("times", errno(nix_touch(&below("a1/f/q"))));
    let mode = fs::metadata(below("a1/f/q")).unwrap().permissions();
    assert!(mode.readonly());
    assert_eq!(read(fixture.path("t/a1/f/q")), "q of a1");
}

fn nix_touch(path: &Path) -> std::io::Result<()> {
    fs::File::open(path)?.set_modified(std::time::SystemTime::UNIX_EPOCH)
}

#[test]
fn mount_paths_show_what_was_written_at_once() {
    let fixture = table();
    let path = fixture.path("t/.prefix/a");
    assert_eq!(names(&path).len(), 3);
    fs::write(fixture.family("a4").join("q"), "here").unwrap();
    assert_eq!(read(path.join("a4/f/q")), "here");
    assert_eq!(names(&path).len(), 4);
    fs::write(fixture.path("t/a4/f/q"), "changed and longer").unwrap();
    assert_eq!(read(path.join("a4/f/q")), "changed and longer");
    fs::remove_file(fixture.path("t/a4/f/q")).unwrap();
    assert_eq!(errno(fs::metadata(path.join("a4/f/q"))), libc::ENOENT);
    assert_eq!(names(&path).len(), 3);
    let put = fixture.cellfs(&["put", fixture.store().to_str().unwrap(), "t", "a5", "f:q", "by command"]);
    assert!(put.status.success());
    assert_eq!(names(&path).len(), 4);
    assert_eq!(read(path.join("a5/f/q")), "by command");
    fs::write(suffixed(&fixture.family("a6").join("q"), "@9999999999999"), "of the future").unwrap();
    assert_eq!(read(path.join("a6/f/q")), "of the future");
}

#[test]
fn mount_paths_below_a_snapshot_show_what_it_keeps() {
    let fixture = table();
    let done = fixture.cellfs(&["snapshot", "create", fixture.store().to_str().unwrap(), "s"]);
    assert!(done.status.success());
    fs::write(fixture.family("a0").join("q"), "later").unwrap();
    let kept = fixture.mnt().join(".snapshot/s/default/t");
    assert_eq!(names(&kept.join(".prefix/a")), ["a1", "a2", "a3"]);
    assert_eq!(names(&kept.join(".last/2")), ["b2", "c1"]);
    assert_eq!(read(kept.join(".first/1/a1/f/q")), "q of a1");
    assert_eq!(errno(fs::write(kept.join(".first/1/a1/f/q"), "x")), libc::EROFS);
}

#[test]
fn mount_path_count_counts_rows_and_cells() {
    let fixture = table();
    let count = |path: &str| read(fixture.path("t").join(path));
    assert_eq!(count(".count"), "6\n");
    assert_eq!(count(".prefix/a/.count"), "3\n");
    assert_eq!(count(".columns/g/.count"), "5\n");
    assert_eq!(count(".first/2/.count"), "2\n");
    assert_eq!(count(".prefix/a/.last/9/.count"), "3\n");
    assert_eq!(count(".sample/4/.count"), "4\n");
    assert_eq!(count(".filter/PageFilter(4)/.count"), "4\n");
    assert_eq!(count(".at/5/.count"), "0\n");
    assert_eq!(count("a1/.count"), "3\n");
    assert_eq!(count(".columns/f/a1/.count"), "2\n");
    assert_eq!(count(".columns/f/a1/f/.count"), "2\n");
    assert_eq!(count("a1/f/.prefix/p/.count"), "1\n");
    let meta = fs::metadata(fixture.path("t/.count")).unwrap();
    assert_eq!((meta.len(), meta.permissions().readonly()), (0, true));
    assert_eq!(errno(fs::write(fixture.path("t/.count"), "7")), libc::EROFS);
    assert!(!names(&fixture.path("t/a1/f")).contains(&".count".to_owned()));
    fs::write(fixture.path("t/a1/f/.count"), "a cell").unwrap();
    assert_eq!(read(fixture.path("t/a1/f/.count")), "a cell");
}
