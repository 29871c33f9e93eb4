//! What is bounded, and what a program is told at the bound; and who is let in.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use super::fixture::{CELLFS, Fixture, errno, names, suffixed};

fn is_root() -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        println!("skipped: only root can raise limits and be someone else");
    }
    root
}

fn errors(fixture: &Fixture) -> String {
    fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap()
}

/// Tries until it succeeds: what was closed is released a moment later.
fn soon(mut step: impl FnMut() -> bool) -> bool {
    (0..2000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        step()
    })
}

#[test]
fn mount_of_a_daemon_without_descriptors_refuses_and_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let mut fixture = Fixture::on(directory, "");
    fixture.unmount();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 80; exec \"$0\" mount -f -o families=auto \"$1\" \"$2\"", CELLFS]);
    command.args([fixture.store(), fixture.mnt()]);
    fixture.mount_by(command);
    let family = fixture.family("r");
    let small = family.join("small");
    fs::write(&small, "value").unwrap();
    // Of a history a large temporary file takes a descriptor, for as long as it is there.
    let (below, large) = (fixture.mnt().join(".history/default/t/r/f"), vec![7_u8; 2 << 20]);
    fs::create_dir_all(&below).unwrap();
    let temporary = |n: usize| below.join(format!(".large{n}"));
    let write = |n: usize| fs::write(temporary(n), &large).err().map(|e| (n, e));
    let (held, refused) = (0..200).find_map(write).expect("a bound");
    assert_eq!(refused.raw_os_error(), Some(libc::ENFILE), "{refused}");
    assert!(held > 10, "{held} fit");
    assert_eq!(fs::read_to_string(&small).unwrap(), "value", "reading goes on");
    assert!(errors(&fixture).contains("Too many open files"), "{}", errors(&fixture));
    for n in 0..held {
        assert_eq!(fs::read(temporary(n)).unwrap().len(), large.len());
        fs::remove_file(temporary(n)).unwrap();
    }
    assert!(soon(|| fs::write(family.join("after"), &large).is_ok()), "{}", errors(&fixture));
    assert_eq!(fs::read(family.join("after")).unwrap(), large);
    assert!(fixture.cellfs(&["status", fixture.store().to_str().unwrap()]).status.success());
}

/// What write(2) says of a text that is given to it as a whole, until it takes no more; and close(2).
fn written_whole(path: &Path, text: &[u8]) -> (i32, i32) {
    let file = fs::File::create(path).unwrap();
    let mut rest = text;
    let failed = loop {
        match std::io::Write::write(&mut &file, rest) {
            Ok(taken) if taken < rest.len() => rest = &rest[taken..],
            Ok(_) => break 0,
            Err(e) => break e.raw_os_error().unwrap(),
        }
    };
    (failed, nix::unistd::close(file).err().map_or(0, |e| e as i32))
}

#[test]
fn mount_a_row_of_json_with_too_long_a_value_is_efbig_however_it_is_written() {
    let fixture = Fixture::with_limit(1_000_000);
    let json = |len: usize| format!("{{\"f:q\": \"{}\"}}\n", "x".repeat(len)).into_bytes();
    let path = fixture.family("r").parent().unwrap().join(".json");
    // The kernel cuts it at a MiB, and tells how much of it was taken before the part that was refused.
    assert_eq!(written_whole(&path, &json(3_000_000)), (libc::EFBIG, libc::EFBIG));
    assert_eq!(errors(&fixture).matches("not JSON").count(), 0, "{}", errors(&fixture));
    assert_eq!(errno(fs::metadata(fixture.path("t/r/f/q"))), libc::ENOENT);
    assert_eq!(written_whole(&path, &json(1_000_000)), (0, 0));
    assert_eq!(fs::metadata(fixture.path("t/r/f/q")).unwrap().len(), 1_000_000);
    // Whoever begins anew with an open file is heard.
    let file = fs::File::create(fixture.path("t/.schema/f/VERSIONS")).unwrap();
    let write = |text: &str, at| errno(std::os::unix::fs::FileExt::write_all_at(&file, text.as_bytes(), at));
    assert_eq!((write("many\n", 0), write("more\n", 5), write("7\n", 0)), (libc::EINVAL, libc::EINVAL, 0));
    drop(file);
    assert_eq!(fs::read_to_string(fixture.path("t/.schema/f/VERSIONS")).unwrap(), "7\n");
}

#[test]
fn mount_has_at_most_a_hundred_thousand_files_open() {
    let fixture = Fixture::new();
    let (family, schema) = (fixture.family("r"), fixture.path("t/.schema/f"));
    let cell = family.join("q");
    for file in [&cell, &family.join("kept"), &schema.join("kept")] {
        fs::write(file, "value").unwrap();
    }
    // Where a process may not have so many, others go on.
    let script = "
import errno, os, sys
def refused(name, flags):
    try:
        os.open(name, flags)
        return 0
    except OSError as e:
        return e.errno
family, schema = sys.argv[1:]
os.chdir(family)
count = 0
while (last := refused('q', os.O_RDONLY)) != errno.ENFILE:
    count += not last
    if last and os.fork():
        os.wait()
        sys.exit()
    elif last:
        os.closerange(3, 100100)
print(count, refused('kept', os.O_WRONLY | os.O_TRUNC), refused('new', os.O_WRONLY | os.O_CREAT), end=' ')
print(refused(schema + '/kept', os.O_WRONLY | os.O_TRUNC), refused(schema + '/new', os.O_WRONLY | os.O_CREAT))
";
    let output = Command::new("sh")
        .args(["-c", "ulimit -n $(ulimit -Hn); exec python3 -c \"$0\" \"$1\" \"$2\"", script])
        .args([&family, &schema])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if said.is_empty() {
        println!("skipped: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    assert_eq!(said, format!("100000 {0} {0} {0} {0}", libc::ENFILE));
    assert!(soon(|| fs::read(&cell).is_ok()), "what the program had open is released");
    assert!(errors(&fixture).contains("100000 files are open on this mount; close some"), "{}", errors(&fixture));
    // What was refused has changed nothing.
    assert_eq!(fs::read_to_string(schema.join("kept")).unwrap(), "value");
    assert_eq!(errno(fs::metadata(schema.join("new"))), libc::ENOENT);
    assert_eq!(fs::read_to_string(family.join("kept")).unwrap(), "value");
    fs::File::options().append(true).open(family.join("kept")).unwrap().write_all(b"!").unwrap();
    assert_eq!(fs::read_to_string(family.join("kept")).unwrap(), "value!");
    assert_eq!(names(&family), ["kept", "q"]);
    fs::remove_dir_all(&family).unwrap();
}

/// A program of a user who is neither root nor the owner.
fn as_nobody(program: &str, args: &[&Path]) -> Output {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", program]).args(args).output().unwrap()
}

/// Mounts anew; the way there is open to all.
fn let_others_in(fixture: &mut Fixture) {
    fs::set_permissions(fixture.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fixture.unmount();
    fixture.mount("allow_other");
}

#[test]
fn mount_lets_others_in_with_allow_other_only_and_within_the_modes() {
    if !is_root() {
        return;
    }
    let denied = |output: &Output| {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains("Permission denied"), "{text}");
    };
    let mut fixture = Fixture::new();
    fs::set_permissions(fixture.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "value").unwrap();
    denied(&as_nobody("cat", &[&cell]));
    denied(&as_nobody("ls", &[&fixture.mnt()]));

    let_others_in(&mut fixture);
    assert_eq!(as_nobody("cat", &[&cell]).stdout, b"value");
    assert!(as_nobody("ls", &[&fixture.path("t")]).status.success());
    denied(&as_nobody("rm", &[Path::new("-f"), &cell]));
    denied(&as_nobody("touch", &[&cell]));
    denied(&as_nobody("touch", &[&fixture.path("t/r/f/new")]));
    denied(&as_nobody("mkdir", &[&fixture.path("table")]));
    denied(&as_nobody("mv", &[&cell, &fixture.path("t/r/f/moved")]));
    assert_eq!(fs::read(&cell).unwrap(), b"value");

    fixture.unmount();
    fixture.mount("allow_other,umask=077");
    denied(&as_nobody("cat", &[&cell]));
    fixture.unmount();
    fixture.mount("allow_other,umask=000");
    assert!(as_nobody("touch", &[&fixture.path("t/r/f/new")]).status.success());
    fixture.unmount();
    fixture.mount("allow_other,uid=65534,gid=65534");
    assert!(as_nobody("touch", &[&fixture.path("t/r/f/own")]).status.success());
}

/// What a directory shows of the past, or of an answer, is closed with it, at once.
#[test]
fn mount_a_directory_that_is_closed_is_closed_in_every_view() {
    if !is_root() {
        return;
    }
    let mut fixture = Fixture::new();
    let_others_in(&mut fixture);
    let family = fixture.family("r");
    fs::write(family.join("q"), "value").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis();
    let views = [".history/default/t/r/f".to_owned(), format!(".at/{now}/default/t/r/f")];
    let views = views.map(|view| fixture.mnt().join(view)).into_iter();
    let answers = [format!("t/.at/{now}/r/f"), "t/.first/5/r/f".to_owned()].map(|answer| fixture.path(&answer));
    for view in views.chain(answers).chain([family.clone()]) {
        for (mode, is_open) in [(0o755, true), (0o700, false), (0o755, true)] {
            fs::set_permissions(&family, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(as_nobody("ls", &[&view]).status.success(), is_open, "{view:?} with {mode:o}");
        }
    }
}

/// Versions and a schema are changed by who may change the directory that they stand in.
#[test]
fn mount_what_a_directory_generates_is_changed_by_its_mode() {
    if !is_root() {
        return;
    }
    let mut fixture = Fixture::new();
    let_others_in(&mut fixture);
    fixture.unmount();
    fixture.mount("allow_other,umask=000");
    let (family, table) = (fixture.family("r"), fixture.path("t"));
    let cell = family.join("q");
    fs::write(&cell, "good").unwrap();
    let versions = suffixed(&cell, "@");
    let version = versions.join(&names(&versions)[0]);
    let (attribute, schema) = (table.join(".schema/f/VERSIONS"), table.join(".schema/f"));
    let forced = Path::new("-rf");
    let tries: [(&str, &[&Path]); 5] = [
        ("rm", &[forced, &version]),
        ("touch", &[&versions.join("9999999999999")]),
        ("truncate", &[Path::new("-s0"), &attribute]),
        ("rm", &[forced, &schema]),
        ("mkdir", &[&table.join(".schema/g")]),
    ];
    let of_mode = |mode| {
        for directory in [&family, &fixture.path("t/r"), &table] {
            fs::set_permissions(directory, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    of_mode(0o755);
    for (program, args) in tries {
        assert!(!as_nobody(program, args).status.success(), "{program} {args:?}");
    }
    of_mode(0o1777);
    assert!(!as_nobody("rm", &[forced, &version]).status.success(), "of another, in a directory that is sticky");
    of_mode(0o755);
    for directory in [&family, &table] {
        std::os::unix::fs::chown(directory, Some(65_534), Some(65_534)).unwrap();
    }
    for (program, args) in [tries[4], ("rm", &[Path::new("-r"), &versions][..])] {
        let done = as_nobody(program, args);
        assert!(done.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
    assert!(!cell.exists());
}

/// The mode of a file, and what a script with `$0` as the file prints.
fn said_of(mode: u32, script: &str, file: &Path) -> String {
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    let output = Command::new("bash").args(["-c", script]).arg(file).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn mount_grants_root_alone_what_root_may_do_anywhere() {
    if !is_root() {
        return;
    }
    for options in ["", "default_permissions"] {
        let fixture = Fixture::with_options(options);
        let shown = fs::read_to_string("/proc/mounts").unwrap();
        let line = shown.lines().find(|line| line.contains(fixture.mnt().to_str().unwrap())).unwrap();
        assert_eq!(line.contains("default_permissions"), !options.is_empty(), "{line}");
        let file = fixture.family("r").join("script");
        fs::write(&file, "echo run").unwrap();
        let may = "for right in r w x; do test -$right $0 && echo -n $right; done";
        assert_eq!(said_of(0o000, may, &file), "rw", "{options}");
        assert_eq!(said_of(0o444, may, &file), "rw", "{options}");
        assert_eq!(said_of(0o010, may, &file), "rwx", "{options}");
        assert_eq!(said_of(0o644, "$0 2>/dev/null || echo $?", &file), "126\n", "{options}");
        assert_eq!(said_of(0o755, "$0", &file), "run\n", "{options}");
        let script = "cat $0 && echo -n ' more' >> $0 && bash $0 && cd ${0%/*} && basename $PWD";
        assert_eq!(said_of(0o000, script, &file), "echo runrun more\nf\n", "{options}");
    }
}

/// Reads a file as a server does that has put on a user's identity for files alone, and appends to it; errors by number.
fn as_server_of_nobody(file: &Path) -> [Option<i32>; 2] {
    let file = file.to_owned();
    let server = std::thread::spawn(move || {
        nix::unistd::setfsuid(nix::unistd::Uid::from_raw(65_534));
        let read = fs::read(&file).err().and_then(|e| e.raw_os_error());
        let appended = fs::OpenOptions::new().append(true).open(&file);
        [read, appended.err().and_then(|e| e.raw_os_error())]
    });
    server.join().unwrap()
}

#[test]
fn mount_for_root_alone_lets_no_server_in_for_others() {
    if !is_root() {
        return;
    }
    let mut fixture = Fixture::new();
    fs::set_permissions(fixture.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "value").unwrap();
    assert_eq!(as_server_of_nobody(&cell), [Some(libc::EACCES); 2]);
    let_others_in(&mut fixture);
    assert_eq!(as_server_of_nobody(&cell), [None, Some(libc::EACCES)], "as the modes say");
}

#[test]
fn mount_grants_root_the_directory_that_is_gone_with_its_table() {
    if !is_root() {
        return;
    }
    let fixture = Fixture::new();
    let (family, store) = (fixture.family("r"), fixture.store().display().to_string());
    let script = format!("'{CELLFS}' drop '{store}' t >&2 && cd . && test -x . && echo in");
    let output = Command::new("bash").args(["-c", &script]).current_dir(&family).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "in\n", "{output:?}");
}

/// A control group with 80 MiB of memory, until it is dropped.
struct Group(std::path::PathBuf);

impl Group {
    /// `None`: this machine has none of the first version, or lets nobody make one.
    fn new() -> Option<Self> {
        let path = Path::new("/sys/fs/cgroup/memory").join(format!("cellfs-test-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let group = Self(path);
        fs::write(group.0.join("memory.limit_in_bytes"), (80 << 20).to_string()).ok()?;
        Some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It may have a process still, after a test that fails.
        let _ = fs::remove_dir(&self.0);
    }
}

/// A number of the daemon's.
fn number(fixture: &Fixture, name: &str) -> u64 {
    let output = fixture.cellfs(&["--json", "stats", fixture.store().to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: serde_json::Value = serde_json::from_str(&text).unwrap();
    numbers["daemon"][name].as_u64().unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn mount_holds_no_more_nodes_than_it_may_however_they_came() {
    const MOST: u64 = 1000;
    let fixture = Fixture::with_options("nodes=1000");
    let family = fixture.family("r");
    let held = || number(&fixture, "nodes");
    // The kernel answers while the next ones come.
    let most = 2 * MOST;
    let files: Vec<_> = (0..6000).map(|n| family.join(format!("q{n}"))).collect();
    files.iter().for_each(|file| drop(fs::File::create(file).unwrap()));
    assert!(soon(|| held() < most), "{} after they were made", held());
    files.iter().for_each(|file| assert!(file.is_file()));
    assert!(soon(|| held() < most), "{} after they were looked at", held());
    let open = files.iter().take(1500).map(|file| fs::File::open(file).unwrap()).collect::<Vec<_>>();
    assert!(held() >= 1500, "who is open stays");
    drop(open);
    files.iter().take(600).for_each(|file| assert!(file.is_file()));
    assert!(soon(|| held() < most), "{} after many were open", held());
}

/// With the name of a directory the kernel detaches what is mounted there.
#[test]
fn mount_leaves_what_is_mounted_in_it_where_files_are_enough_to_forget() {
    if !is_root() {
        return;
    }
    let mut fixture = Fixture::new();
    let (family, other) = (fixture.family("r"), fixture.directory.path().join("other"));
    (0..3000).for_each(|n| fs::write(family.join(format!("q{n}")), "v").unwrap());
    fs::write(fixture.family("w").join("q"), "v").unwrap();
    // All are looked up anew.
    fixture.unmount();
    fixture.mount("nodes=1000");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("there"), "mounted").unwrap();
    let script = "mount --bind \"$0\" \"$1\" || exit 3; ls -l \"$2\" > \"$0/listed\"; cat \"$1/there\"";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).args([&other, &fixture.family("w"), &family]);
    let output = command.output().unwrap();
    if output.status.code() == Some(3) {
        println!("skipped: nothing can be mounted: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    assert_eq!(String::from_utf8_lossy(&output.stdout), "mounted", "{output:?}");
    assert_eq!(fs::read_to_string(other.join("listed")).unwrap().lines().count(), 3001);
}

#[test]
fn mount_as_many_nodes_are_held_as_the_memory_of_the_daemon_has_room_for() {
    let Some(group) = Group::new() else {
        println!("skipped: no control group can be made");
        return;
    };
    let mut fixture = Fixture::new();
    let most = |fixture: &Fixture| number(fixture, "nodes_most");
    let before = most(&fixture);
    assert!((10_000..=1_000_000).contains(&before), "{before}");
    fixture.unmount();
    for (options, wanted) in [("rw", before.min(29_959)), ("nodes=123456", 123_456)] {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$4\"; exec \"$0\" mount -f -o \"$1\" \"$2\" \"$3\"", CELLFS, options]);
        command.args([fixture.store(), fixture.mnt(), group.0.join("tasks")]);
        fixture.mount_by(command);
        assert_eq!(most(&fixture), wanted, "{options}");
        fixture.unmount();
    }
}
