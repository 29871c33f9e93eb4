//! Scan paths as programs use them: walks see one moment, wide rows and long listings, and what of the store is read.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::fixture::{CELLFS, Fixture, errno, names};
use super::paths_oracle::{put, put_many};

fn run(program: &str, args: &[&str], directory: &Path) -> String {
    let output = Command::new(program).args(args).current_dir(directory).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn rows(fixture: &Fixture, count: usize) {
    let cells = (0..count).map(|n| (format!("r{n:05}"), "q".to_owned(), format!("value {n}")));
    put_many(fixture.backend().as_ref(), "f", cells);
}

#[test]
fn mount_paths_are_read_by_cat_grep_find_cp_and_tar() {
    let fixture = Fixture::new();
    rows(&fixture, 300);
    let mnt = fixture.path("t");
    assert_eq!(run("cat", &[".prefix/r0000/r00007/f/q"], &mnt), "value 7");
    let found = run("grep", &["-rl", "value 1", ".from/r00100/.to/r00110"], &mnt);
    assert_eq!(found.lines().count(), 10, "{found}");
    let found = run("find", &[".first/25", "-type", "f", "-name", "q"], &mnt);
    assert_eq!(found.lines().count(), 25, "{found}");
    let copies = fixture.directory.path().join("copies");
    fs::create_dir(&copies).unwrap();
    let target = copies.to_str().unwrap();
    run("cp", &["-r", ".last/20", &format!("{target}/last")], &mnt);
    assert_eq!(names(&copies.join("last")).len(), 20);
    assert_eq!(fs::read_to_string(copies.join("last/r00299/f/q")).unwrap(), "value 299");
    run("tar", &["-cf", &format!("{target}/sample.tar"), "-C", ".sample/30", "."], &mnt);
    let listed = run("tar", &["-tf", "sample.tar"], &copies);
    assert_eq!(listed.lines().filter(|name| name.ends_with("/q")).count(), 30, "{listed}");
    let filter = ".filter/ValueFilter(=, 'regexstring:^value 2.7$')";
    assert_eq!(run("ls", &[filter], &mnt).lines().count(), 10);
    let all = run("sh", &["-c", "find .prefix/r001 -type f | xargs cat | grep -c value || true"], &mnt);
    assert_eq!(all.trim(), "1", "values have no line ends");
}

#[test]
fn mount_path_a_walk_sees_one_moment() {
    let fixture = Fixture::new();
    rows(&fixture, 50);
    // The walk is another process; this one writes meanwhile.
    let script = "ls .prefix/r | wc -l; read go; ls -d .prefix/r/r00060 2>&1 | grep -c 'No such'; \
                  cat .prefix/r/r00001/f/q; cat .prefix/r/r00002/f/q; echo; echo mine > r00070/f/q; cat .prefix/r/r00001/f/q";
    fixture.family("r00070");
    let mut child = Command::new("setsid")
        .args(["sh", "-c", script])
        .current_dir(fixture.path("t"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut answers = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut answers, &mut line).unwrap();
    assert_eq!(line.trim(), "50");
    fs::write(fixture.path("t/r00001/f/q"), "changed").unwrap();
    fs::write(fixture.family("r00060").join("q"), "new").unwrap();
    fs::remove_file(fixture.path("t/r00002/f/q")).unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"go\n").unwrap();
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut answers, &mut rest).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(rest, "1\nvalue 1value 2\nchanged", "until it writes itself");
    assert_eq!(names(&fixture.path("t/.prefix/r")).len(), 51, "another sees what there is");
}

/// A walk is of one answer: who asks the next one, by whatever begins as that does, is not in it.
#[test]
fn mount_path_who_asks_for_another_answer_sees_what_there_is() {
    let fixture = Fixture::new();
    let table = fixture.path("t");
    let other = |args: &[&str]| run("setsid", &[&["-w", CELLFS][..], args].concat(), &table);
    let path = table.to_str().unwrap();
    other(&["create-index", path, "i", "--columns", "f:q"]);
    let asks = |n: usize| {
        [
            format!(".by/i/v{n}"),
            format!(".by/i/.prefix/v{n}"),
            format!(".prefix/k/.by/i/v{n}"),
            format!(".columns/f/.prefix/k{n}"),
            format!(".versions/3/.from/k{n}"),
        ]
    };
    for n in 10..16 {
        other(&["put", path, &format!("k{n}"), "f:q", &format!("v{n}")]);
        // What the group is given before it lists.
        std::thread::sleep(std::time::Duration::from_millis(150));
        for ask in asks(n) {
            assert_eq!(names(&table.join(&ask)), [format!("k{n}")], "{ask}");
            assert_eq!(fs::read_to_string(table.join(&ask).join(".count")).unwrap(), "1\n", "{ask}");
        }
        other(&["deleteall", path, &format!("k{n}")]);
    }
}

#[test]
fn mount_path_a_copy_is_whole_beside_writers_of_its_script() {
    let fixture = Fixture::new();
    for row in ["a", "b", "c"] {
        fs::write(fixture.family(row).join("w"), "0").unwrap();
    }
    let copies = fixture.directory.path().join("copies");
    // No job control: all are of one process group.
    let script = "
        writes() { i=0; while :; do i=$((i+1)); for r in a b c; do echo $i > $r/f/$1; done; sleep 0.003; done; }
        writes w & one=$!; writes v & other=$!
        for n in $(seq 40); do rm -rf \"$1\"; cp -r .first/100 \"$1\" 2>&1 || echo copy $n failed; done
        kill $one $other";
    let mnt = fixture.path("t");
    let said = run("setsid", &["-w", "sh", "-c", script, "sh", copies.to_str().unwrap()], &mnt);
    assert_eq!(said, "");
}

#[test]
fn mount_path_a_wide_row_is_asked_like_a_table() {
    let fixture = Fixture::new();
    let cells = (0..3000).map(|n| ("wide".to_owned(), format!("q{n:04}"), format!("{n}")));
    put_many(fixture.backend().as_ref(), "f", cells);
    put(fixture.backend().as_ref(), "narrow", "f", "q0001", "v");
    let ask = |path: &str| names(&fixture.path("t/wide/f").join(path));
    assert_eq!(ask(".prefix/q001").len(), 10);
    assert_eq!(ask(".from/q2990/.to/q2995"), ["q2990", "q2991", "q2992", "q2993", "q2994"]);
    assert_eq!(ask(".first/3"), ["q0000", "q0001", "q0002"]);
    assert_eq!(ask(".last/2"), ["q2998", "q2999"]);
    assert_eq!(ask(".prefix/q1/.last/2"), ["q1998", "q1999"]);
    assert_eq!(ask(".columns/q0007,q9999,q0003"), ["q0003", "q0007"]);
    assert_eq!(ask(".first/2500").len(), 2500, "over several pages");
    assert_eq!(ask(".last/2500").first().map(String::as_str), Some("q0500"));
    assert!(ask(".prefix/x").is_empty());
    let of = |path: &str| errno(fs::metadata(fixture.path("t/wide/f").join(path)));
    assert_eq!(of(".first/3/q0003"), libc::ENOENT);
    assert_eq!(of(".last/2/q2998"), 0);
    assert_eq!(of(".last/2/q2997"), libc::ENOENT);
    assert_eq!(fs::read_to_string(fixture.path("t/wide/f/.from/q2999/q2999")).unwrap(), "2999");
    assert_eq!(errno(fs::write(fixture.path("t/wide/f/.prefix/q/q1"), "x")), libc::EROFS);
    let both = ".prefix/w/.filter/ValueFilter(=, 'substring:99')/wide/f/.last/3";
    assert_eq!(names(&fixture.path("t").join(both)), ["q2997", "q2998", "q2999"]);
    assert_eq!(ask(".from/q2990/.to/q2993").len(), 3);
}

#[test]
fn mount_path_a_cell_comes_before_a_step_of_its_name() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("q"), "v").unwrap();
    assert_eq!(names(&family.join(".prefix/q")), ["q"]);
    assert_eq!(errno(fs::write(family.join(".prefix"), "x")), libc::EISDIR, "nothing is lost in silence");
    put(fixture.backend().as_ref(), "r", "f", ".prefix", "a cell");
    assert_eq!(fs::read_to_string(family.join(".prefix")).unwrap(), "a cell");
    assert_eq!(names(&family), [".prefix", "q"]);
    assert_eq!(errno(fs::metadata(family.join(".prefix/q"))), libc::ENOTDIR);
    fs::write(family.join(".prefix"), "written").unwrap();
    fs::rename(family.join(".prefix"), family.join("other")).unwrap();
    assert_eq!(names(&family.join(".prefix/q")), ["q"]);
    assert_eq!(names(&fixture.path("t/.first/1/r/f")), ["other", "q"]);
    for name in [".count", ".export"] {
        fs::write(family.join(name), name).unwrap();
        assert_eq!(fs::read_to_string(fixture.path("t/.first/1/r/f").join(name)).unwrap(), name);
    }
    let fixture = Fixture::with_options("names=raw");
    let family = fixture.family("r");
    fs::write(family.join(".from"), "any name").unwrap();
    assert_eq!(fs::read_to_string(family.join(".from")).unwrap(), "any name");
    assert_eq!(errno(fs::metadata(family.join(".to/x"))), libc::ENOENT);
    assert_eq!(fs::read_to_string(fixture.path("t/.first/1/r/f/.from")).unwrap(), "any name");
    assert_eq!(names(&fixture.path("t/.first/1/r/f/.prefix/.f")), [".from"]);
}

fn looks(fixture: &Fixture, ask: impl FnOnce()) -> u64 {
    let backend = fixture.backend();
    let before = backend.status().unwrap().cells_read;
    ask();
    backend.status().unwrap().cells_read - before
}

#[test]
fn mount_paths_read_no_more_of_the_store_than_the_answer_needs() {
    let mut fixture = Fixture::new();
    let backend = fixture.backend();
    let wide = (0..20_000).map(|n| ("m".to_owned(), format!("q{n:05}"), "v".to_owned()));
    put_many(backend.as_ref(), "f", wide);
    let cells = (0..20_000).map(|n| (format!("r{n:05}"), "q".to_owned(), format!("{n}")));
    put_many(backend.as_ref(), "f", cells);
    backend.flush(None).unwrap();
    drop(backend);
    fixture.remount();
    let cost = |most: u64, path: &str| {
        let list = || drop(names(&fixture.path("t").join(path)));
        let cells = looks(&fixture, list);
        assert!(cells <= most, "{path}: {cells} cells were looked at");
        println!("{path}: {cells}");
    };
    cost(200, ".prefix/r0123");
    cost(200, ".from/r19990");
    cost(200, ".from/r00100/.to/r00110/.columns/f:q");
    cost(200, ".first/10");
    cost(200, ".last/10");
    cost(200, ".from/r/.first/10/.versions/3");
    cost(200, ".prefix/r0123/.filter/ValueFilter(=, 'binary:1230')");
    cost(400, ".filter/ValueFilter(=, 'substring:1')/.from/r/.last/10");
    cost(200, ".prefix/m/.columns/f:q00007");
    cost(200, "m/f/.prefix/q0123");
    cost(200, "m/f/.from/q19990");
    cost(200, "m/f/.first/10");
    cost(200, "m/f/.last/10");
    cost(200, ".prefix/m/m/f/.columns/q00010,q19000");
    cost(6_000, ".from/r/.sample/5");
    let cost_of = |most: u64, path: &str, wanted: usize| {
        let lines = || {
            let text = fs::read_to_string(fixture.path("t/m/f").join(path)).unwrap();
            let count =
                if path.ends_with(".count") { text.trim().parse().unwrap() } else { text.matches("f:q").count() };
            assert_eq!(count, wanted, "{path}: {text}");
        };
        let cells = looks(&fixture, lines);
        assert!(cells <= most, "{path}: {cells} cells were looked at");
    };
    for (step, wanted) in [(".first/3", 3), (".last/2", 2), (".prefix/q01/.first/2", 2), (".columns/q00007", 1)] {
        cost_of(200, &format!("{step}/.count"), wanted);
        cost_of(200, &format!("{step}/.export/jsonl"), wanted);
    }
    let one = fixture.path("t/.filter/PrefixFilter('r')/r15000");
    let row = looks(&fixture, || assert!(one.is_dir()));
    assert!(row <= 20, "a look-up of one row: {row}");
    let last = fixture.path("t/.last/5000/r19999");
    fs::metadata(&last).unwrap();
    let row = looks(&fixture, || assert!(last.is_dir()));
    assert!(row <= 20, "the mark is remembered: {row}");
}

/// Reads a directory, then goes back to some of its cookies; how many names there were, and whether the next ones were the
/// same again.
const COOKIES: &str = r#"
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
libc.telldir.restype = ctypes.c_long
for f in (libc.readdir, libc.telldir): f.argtypes = [ctypes.c_void_p]
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
d = libc.opendir(sys.argv[1].encode())
def read():
    e = libc.readdir(d)
    return e and ctypes.string_at(e + 19)
names, places = [], []
while True:
    at = libc.telldir(d)
    name = read()
    if not name: break
    names.append(name); places.append(at)
same = True
for n in (7, len(names) - 3, 3000, 12, len(names) // 2):
    libc.seekdir(d, places[n])
    same = same and [read() for _ in range(3)] == names[n:n + 3]
print(len(names) - 2, same)
"#;

#[test]
fn mount_path_a_long_listing_streams_and_its_cookies_are_stable() {
    let fixture = Fixture::new();
    rows(&fixture, 12_000);
    for path in [".prefix/r", ".first/11000", ".last/11000", ".filter/RowFilter(!=, 'binary:r00005')", ".sample/5000"] {
        let first = names(&fixture.path("t").join(path));
        let mut once = first.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), first.len(), "{path}: each once");
        let output = Command::new("python3").args(["-c", COOKIES]).arg(fixture.path("t").join(path)).output();
        match output {
            Err(_) => println!("skipped: there is no python3 on this machine"),
            Ok(output) => {
                let told = String::from_utf8(output.stdout).unwrap();
                assert_eq!(
                    told,
                    format!("{} True\n", first.len()),
                    "{path}: {}",
                    String::from_utf8_lossy(&output.stderr)
                );
            }
        }
        let most: usize = path.rsplit('/').next().unwrap().parse().unwrap_or(12_000);
        assert!(first.len() >= most.min(11_998), "{path}: {}", first.len());
    }
    // What goes while it is listed does not move what comes.
    let mut left = fs::read_dir(fixture.path("t/.prefix/r")).unwrap();
    let begun: Vec<_> = left.by_ref().take(10).map(|e| e.unwrap().file_name()).collect();
    fs::remove_file(fixture.path("t/r00003/f/q")).unwrap();
    assert_eq!(begun.len() + left.count(), 12_000);
}

#[test]
fn mount_path_a_sample_of_a_large_table_is_about_uniform() {
    let mut fixture = Fixture::new();
    let backend = fixture.backend();
    let cells = (0..20_000).map(|n| {
        // The second half of the rows takes four times the room.
        let value = "v".repeat(if n < 10_000 { 20 } else { 400 });
        (format!("r{n:05}"), "q".to_owned(), value)
    });
    put_many(backend.as_ref(), "f", cells);
    backend.flush(None).unwrap();
    drop(backend);
    fixture.remount();
    let mut quarters = [0_u32; 4];
    for n in 0..20 {
        fs::write(fixture.family("z").join("q"), format!("{n}")).unwrap();
        let sample = names(&fixture.path("t/.to/z/.sample/100"));
        assert_eq!(sample.len(), 100);
        for row in sample {
            quarters[row[1..].parse::<usize>().unwrap() / 5000] += 1;
        }
    }
    // 500 each; seven times the deviation is far off.
    assert!(quarters.iter().all(|count| (360..640).contains(count)), "{quarters:?}");
    println!("{quarters:?}");
}

#[test]
fn mount_paths_are_listed_by_many_while_others_write() {
    let fixture = Fixture::new();
    rows(&fixture, 40);
    fixture.family("w");
    let script = "for n in $(seq 400); do echo $n > w/f/q; done";
    let mut writer = Command::new("setsid").args(["sh", "-c", script]).current_dir(fixture.path("t")).spawn().unwrap();
    let (path, last) = (fixture.path("t/.from/r00010"), fixture.path("t/.filter/PrefixFilter('r')/.last/5"));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..150 {
                    let listed = names(&path);
                    assert!((30..=31).contains(&listed.len()), "{listed:?}");
                    assert_eq!(fs::read_to_string(path.join("r00011/f/q")).unwrap(), "value 11");
                    assert_eq!(names(&last).len(), 5);
                }
            });
        }
    });
    assert!(writer.wait().unwrap().success());
}
