//! What programs have open while a command moves it, or drops it.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::fixture::{Fixture, errno, history, names};

/// From where to where, and where the file `t/r/f/k` is afterwards.
const MOVES: [(&str, &str, &str); 5] = [
    ("t", "u", "u/r/f/k"),
    ("t/r", "t/s", "t/s/f/k"),
    ("t/r/f", "t/s/f", "t/s/f/k"),
    ("t/r/f", "t/r/g", "t/r/g/k"),
    ("t/r/f/k", "t/s/f/l", "t/s/f/l"),
];

fn run(fixture: &Fixture, args: &[&str]) {
    let output = fixture.cellfs(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn mv(fixture: &Fixture, how: &[&str], from: &str, to: &str) {
    let store = fixture.store();
    run(fixture, &[&["mv"], how, &[store.to_str().unwrap(), from, to]].concat());
}

fn with_families() -> Fixture {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("t/.schema/g")).unwrap();
    fs::create_dir_all(fixture.path("t/r/f")).unwrap();
    fixture
}

/// Opens files (each a path, what is written, whether that is synced), waits, and writes to them; tells how long they are.
const HOLDER: &str = "\
import os, sys
files = []
for path, before, syncs in zip(*[iter(sys.argv[1:])] * 3):
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    if before:
        os.write(file, before.encode())
    if syncs == 'true':
        os.fsync(file)
    files.append(file)
print(flush=True)
input()
for file in files:
    os.write(file, b'B\\n')
    os.fdatasync(file)
    os.write(file, b'C\\n')
    print(os.fstat(file).st_size)
    os.close(file)
";

/// A process of its own: children of other tests close, and so commit, what is open here.
struct Holder(Child);

impl Holder {
    fn new(files: &[(&Path, &str, bool)]) -> Self {
        let mut python = Command::new("python3");
        python.args(["-c", HOLDER]).stdin(Stdio::piped()).stdout(Stdio::piped());
        for (path, before, syncs) in files {
            python.arg(path).args([before, syncs.to_string().as_str()]);
        }
        let mut python = python.spawn().unwrap();
        python.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        Self(python)
    }

    fn go_on(mut self) -> String {
        self.0.stdin.take().unwrap().write_all(b"\n").unwrap();
        let output = self.0.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    }
}

/// A file that exists or is new, with something to commit or not, or committed before.
#[test]
fn mount_mv_takes_what_is_written_to_open_files_along() {
    for how in [&[][..], &["--resume"]] {
        for (from, to, moved) in MOVES {
            for (old, before, syncs) in
                [("old\n", "", false), ("old\n", "A\n", false), ("old\n", "A\n", true), ("", "A\n", false)]
            {
                let case = format!("{how:?} {from} {to} {old:?} {before:?} {syncs}");
                let fixture = with_families();
                let path = fixture.path("t/r/f/k");
                if !old.is_empty() {
                    fs::write(&path, old).unwrap();
                }
                let holder = Holder::new(&[(&path, before, syncs)]);
                mv(&fixture, how, from, to);
                holder.go_on();
                assert_eq!(errno(fs::metadata(&path)), libc::ENOENT, "{case}");
                let now = fs::read_to_string(fixture.path(moved));
                assert_eq!(now.ok(), Some(format!("{old}{before}B\nC\n")), "{case}");
            }
        }
    }
}

#[test]
fn mount_mv_moves_names_and_numbers_at_once() {
    for how in [&[][..], &["--resume"]] {
        for (from, to, moved) in MOVES {
            let case = format!("{how:?} {from} {to}");
            let fixture = with_families();
            let (path, moved) = (fixture.path("t/r/f/k"), fixture.path(moved));
            fs::write(&path, "one").unwrap();
            fs::write(&path, "two").unwrap();
            let (file, directory) = (File::open(&path).unwrap(), File::open(path.parent().unwrap()).unwrap());
            let below = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string());
            let number = file.metadata().unwrap().ino();
            assert_eq!(errno(fs::metadata(fixture.path(to))), libc::ENOENT, "{case}");
            mv(&fixture, how, from, to);
            assert_eq!(errno(fs::metadata(&path)), libc::ENOENT, "{case}");
            assert_eq!(errno(fs::metadata(fixture.path(from))), libc::ENOENT, "{case}");
            let shown = [file.metadata().unwrap(), fs::metadata(&moved).unwrap()];
            assert_eq!(shown.map(|shown| (shown.ino(), shown.len())), [(number, 3); 2], "{case}");
            assert_eq!(
                (fs::read_to_string(&moved).unwrap(), history(&moved)),
                ("two".into(), vec!["one".into(), "two".into()])
            );
            if from != "t/r/f/k" {
                assert_eq!(fs::read_to_string(below.join("k")).unwrap(), "two", "{case}");
                fs::write(below.join("new"), "new").unwrap();
                assert_eq!(names(moved.parent().unwrap()), ["k", "new"], "{case}");
            }
        }
    }
}

/// Who is in a directory stays there, and hears of its new name.
#[test]
fn mount_mv_takes_along_who_is_in_what_moves() {
    const SCRIPT: &str = "echo; read -r _ && readlink /proc/$$/cwd > now && cat now";
    for (from, to, moved) in &MOVES[..4] {
        let fixture = with_families();
        fs::write(fixture.path("t/r/f/k"), "v").unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT]).current_dir(fixture.path("t/r/f")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let mut first = [0; 1];
        shell.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        mv(&fixture, &[], from, to);
        shell.stdin.take().unwrap().write_all(b"go\n").unwrap();
        let said = String::from_utf8(shell.wait_with_output().unwrap().stdout).unwrap();
        let place = fs::canonicalize(fixture.path(moved).parent().unwrap()).unwrap();
        assert_eq!(said.trim_end(), place.to_str().unwrap(), "{from} {to}");
        assert_eq!(fs::read_to_string(place.join("now")).unwrap(), said);
    }
}

/// The kernel was told now and then that the directory is gone, in the moment in which it was at no place.
#[test]
fn mount_mv_again_and_again_leaves_who_is_in_what_moves_where_it_is() {
    let fixture = with_families();
    fs::write(fixture.path("t/r/f/k"), "v").unwrap();
    for (one, other, below) in [("t", "u", "r/f"), ("t/r", "t/s", "f")] {
        let directory = File::open(fixture.path(one).join(below)).unwrap();
        let link = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string());
        for round in 0..40 {
            let (from, to) = if round % 2 == 0 { (one, other) } else { (other, one) };
            // By paths, which whoever moves looks up himself.
            run(&fixture, &["mv", fixture.path(from).to_str().unwrap(), fixture.path(to).to_str().unwrap()]);
            assert_eq!(fs::read_link(&link).unwrap(), fixture.path(to).join(below), "{round}");
            assert_eq!(fs::read(link.join("k")).unwrap(), b"v");
        }
    }
}

#[test]
fn mount_what_is_dropped_while_it_is_open_is_as_what_is_unlinked() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    let drops: [(&[&str], &[&str]); 2] = [
        (&["drop", store, "t"], &["undrop", store, "t"]),
        (&["alter", store, "t", "--delete", "f"], &["undrop", store, "t", "f"]),
    ];
    for (drop, bring_back) in drops {
        let family = fixture.family("r");
        fs::write(family.join("stored"), "old").unwrap();
        fs::write(family.join("written"), "old").unwrap();
        let [stored, written, new, made] = ["stored", "written", "new", "made"].map(|name| family.join(name));
        let files = [(&stored, ""), (&written, "before"), (&new, "before"), (&made, "")];
        let holder = Holder::new(&files.map(|(path, before)| (path.as_path(), before, false)));
        run(&fixture, drop);
        assert_eq!(errno(fs::metadata(&stored)), libc::ENOENT);
        assert_eq!(holder.go_on(), "7\n13\n10\n4\n", "{drop:?}");
        run(&fixture, bring_back);
        assert_eq!(names(&family), ["stored", "written"]);
        assert_eq!(["stored", "written"].map(|name| fs::read_to_string(family.join(name)).unwrap()), ["old"; 2]);
        fs::remove_dir_all(fixture.path("t/r")).unwrap();
    }
}
