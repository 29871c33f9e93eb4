//! Modes and owners: kept beside each version, carried wherever it goes, enforced by the kernel.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output};

use super::backup::tree;
use super::fixture::{CELLFS, Fixture, history, names, suffixed};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn owner(path: &Path) -> (u32, u32) {
    let meta = fs::metadata(path).unwrap();
    (meta.uid(), meta.gid())
}

fn bash(directory: &Path, script: &str) -> Output {
    let mut command = Command::new("bash");
    let none = directory.join("no such home");
    command.args(["-euc", script]).current_dir(directory).env("HOME", &none).env("GIT_CONFIG_GLOBAL", &none);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

#[test]
fn mount_modes_of_directories_stay_until_these_go() {
    let fixture = Fixture::empty();
    fs::create_dir(fixture.mnt().join("ns")).unwrap();
    // The first family of a table declares it: the kernel is told of that, and forgets what is below.
    for n in 0..40 {
        let script = format!("mkdir -m 0711 t{n}; mkdir -m 0750 t{n}/r; mkdir -m 0700 t{n}/r/f; mkdir t{n}/r/g");
        bash(&fixture.mnt().join("ns"), &script);
    }
    let forget = || fs::write("/proc/sys/vm/drop_caches", "2").is_ok();
    let modes_of = |row: &Path| [row.parent().unwrap(), row, &row.join("f"), &row.join("g")].map(mode);
    for round in 0..2 {
        for n in 0..40 {
            let row = fixture.mnt().join(format!("ns/t{n}/r"));
            assert_eq!(modes_of(&row), [0o711, 0o750, 0o700, 0o755], "round {round}, table {n}");
        }
        if !forget() {
            println!("the kernel's nodes stay: only root can have them dropped");
        }
    }
    // They go where the directories go, and are gone with them.
    let (ns, other) = (fixture.mnt().join("ns"), fixture.mnt().join("other"));
    fs::rename(ns.join("t0/r"), ns.join("t0/s")).unwrap();
    fs::rename(ns.join("t0/s/f"), ns.join("t0/s/h")).unwrap();
    fs::rename(ns.join("t0/s/h"), ns.join("t0/s/f")).unwrap();
    fs::rename(ns.join("t0"), ns.join("u")).unwrap();
    fs::rename(&ns, &other).unwrap();
    forget();
    assert_eq!(modes_of(&other.join("u/s")), [0o711, 0o750, 0o700, 0o755]);
    set_mode(&other.join("u/s/g"), 0o500);
    for name in ["f", "g"] {
        fs::remove_dir(other.join("u/s").join(name)).unwrap();
        fs::create_dir(other.join("u/s").join(name)).unwrap();
    }
    assert_eq!(modes_of(&other.join("u/s")), [0o711, 0o750, 0o755, 0o755]);
    bash(&other, "rmdir t1/r/f t1/r/g t1/r t1; mkdir -p t1/r/f t1/r/g");
    assert_eq!(modes_of(&other.join("t1/r")), [0o755; 4]);
}

#[test]
fn mount_modes_are_kept_beside_the_version() {
    let mut fixture = Fixture::new();
    let family = fixture.family("r");
    let file = family.join("prog");
    fs::write(&file, "one").unwrap();
    assert_eq!(mode(&file), 0o644);
    set_mode(&file, 0o750);
    assert_eq!((mode(&file), history(&file)), (0o750, vec!["one".to_owned()]), "no version of its own");
    fs::write(&file, "two").unwrap();
    bash(&family, "echo three >> prog");
    assert_eq!((mode(&file), history(&file).len()), (0o750, 3), "other bytes, same mode");
    fixture.remount();
    assert_eq!(mode(&file), 0o750, "after a restart");
    let moved = family.join("moved");
    fs::rename(&file, &moved).unwrap();
    assert_eq!(mode(&moved), 0o750, "carried by a rename");
    fs::rename(fixture.path("t/r"), fixture.path("t/s")).unwrap();
    let moved = fixture.path("t/s/f/moved");
    assert_eq!(mode(&moved), 0o750, "carried by the rename of a row");
    let other = fixture.path("t/s/f/other");
    fs::write(&other, "x").unwrap();
    let script = "import ctypes, os, sys; libc = ctypes.CDLL(None)\n\
                  sys.exit(libc.renameat2(-100, b'moved', -100, b'other', 2))";
    let exchange = Command::new("python3").args(["-c", script]).current_dir(fixture.path("t/s/f")).status().unwrap();
    assert!(exchange.success());
    assert_eq!((mode(&moved), mode(&other)), (0o644, 0o750), "carried by an exchange");
    let store = fixture.store();
    let put = fixture.cellfs(&["put", store.to_str().unwrap(), "t", "s", "f:other", "by the command line"]);
    assert!(put.status.success());
    assert_eq!(mode(&other), 0o750, "a put of the command line keeps it");
    fs::write(fixture.path("t/s/.json"), r#"{"f:other": "by .json"}"#).unwrap();
    assert_eq!((mode(&other), fs::read_to_string(&other).unwrap()), (0o750, "by .json".to_owned()));
    fixture.backend().flush(None).unwrap();
    fixture.remount();
    assert_eq!(mode(&other), 0o750, "from the index");
}

#[test]
fn mount_a_file_is_made_with_the_mode_of_its_creator() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let script = "(umask 077; echo secret > f); (umask 022; : > g); install -m 4755 /bin/true h; mkdir -m 700 ../../d; \
                  (umask 0; touch i); stat -c '%n %a' f g h ../../d i";
    let printed = bash(&family, script).stdout;
    assert_eq!(String::from_utf8(printed).unwrap(), "f 600\ng 644\nh 4755\n../../d 700\ni 666\n");
    let f = family.join("f");
    assert_eq!(fs::read_to_string(&f).unwrap(), "secret\n");
    fs::remove_file(&f).unwrap();
    bash(&family, "umask 022; echo public > f");
    assert_eq!(mode(&f), 0o644, "a new file of an old name is another file");
    // Two opens before the first commit.
    bash(&family, "umask 077; { echo one; echo two > k; echo three; } > k");
    assert_eq!(mode(&family.join("k")), 0o600);
}

#[test]
fn mount_setting_what_is_so_already_writes_nothing() {
    let fixture = Fixture::new();
    let file = fixture.family("r").join("q");
    fs::write(&file, "v").unwrap();
    set_mode(&file, 0o640);
    let writes = || fixture.backend().status().unwrap().last_seq;
    let before = writes();
    let meta = fs::metadata(&file).unwrap();
    for _ in 0..10 {
        set_mode(&file, 0o640);
        chown(&file, Some(meta.uid()), Some(meta.gid())).unwrap();
        let times = fs::FileTimes::new().set_modified(meta.modified().unwrap());
        fs::File::options().write(true).open(&file).unwrap().set_times(times).unwrap();
    }
    assert_eq!(writes(), before);
    set_mode(&file, 0o600);
    assert_ne!(writes(), before, "the number shows what is written");
}

#[test]
fn mount_privileges_end_with_other_bytes_and_other_owners() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    for name in ["written", "truncated", "owned", "locked"] {
        fs::write(family.join(name), "v").unwrap();
        set_mode(&family.join(name), 0o6755);
    }
    set_mode(&family.join("locked"), 0o2640);
    fs::write(family.join("written"), "w").unwrap();
    fs::File::options().write(true).open(family.join("truncated")).unwrap().set_len(0).unwrap();
    if is_root() {
        chown(family.join("owned"), Some(1), Some(1)).unwrap();
        assert_eq!((mode(&family.join("owned")), owner(&family.join("owned"))), (0o755, (1, 1)));
    }
    fs::write(family.join("locked"), "w").unwrap();
    let modes = ["written", "truncated", "locked"].map(|name| mode(&family.join(name)));
    assert_eq!(modes, [0o755, 0o755, 0o2640], "the group's bit has another meaning where the group may not run it");
}

/// What `stat` shows of everything below a directory, by path.
fn modes(root: &Path) -> Vec<(String, u32, u32, u32)> {
    let shown = |path: &Path| {
        let (meta, name) = (fs::metadata(path).unwrap(), path.strip_prefix(root).unwrap().display().to_string());
        (name, meta.mode() & 0o7777, meta.uid(), meta.gid())
    };
    tree(root, false).keys().map(|name| shown(&root.join(name))).filter(|(_, mode, ..)| *mode != 0o755).collect()
}

#[test]
fn mount_the_history_takes_modes_there_and_back() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    for (name, mode) in [("a", 0o600), ("b", 0o777), ("c", 0o644), ("d", 0o4711)] {
        fs::write(family.join(name), name).unwrap();
        set_mode(&family.join(name), mode);
        fs::write(family.join(name), "newer").unwrap();
    }
    fs::remove_file(family.join("b")).unwrap();
    if is_root() {
        chown(family.join("c"), Some(12), Some(34)).unwrap();
    }
    let backup = fixture.directory.path().join("backup");
    let from = fixture.mnt().join(".history");
    let tools = [
        "mkdir \"$2\"; rsync -aX \"$1/\" \"$2/\"",
        "mkdir -p \"$2\"; cp -a \"$1/.\" \"$2\"",
        "mkdir \"$2\"; tar --format=posix --xattrs -C \"$1\" -cf - . | tar --xattrs --xattrs-include='*' -C \"$2\" -xpf -",
    ];
    for tool in tools {
        let target = Fixture::empty();
        let (backup, to) = (backup.to_str().unwrap(), target.mnt().join(".history"));
        let run = |one: &str, other: &str| {
            let script = format!("set -o pipefail; {}", tool.replace("$1", one).replace("$2", other));
            bash(fixture.directory.path(), &script)
        };
        run(from.to_str().unwrap(), backup);
        assert_eq!(modes(Path::new(backup)), modes(&from), "{tool}");
        let restored = to.to_str().unwrap();
        bash(
            fixture.directory.path(),
            &tool.replace("mkdir \"$2\"; ", "").replace("$1", backup).replace("$2", restored),
        );
        assert_eq!(modes(&to), modes(&from), "{tool}");
        assert_eq!(mode(&target.path("t/r/f/a")), 0o600);
        let again = bash(fixture.directory.path(), &format!("rsync -aXi '{backup}/' '{restored}/'")).stdout;
        assert_eq!(String::from_utf8_lossy(&again), "", "a second run after {tool}");
        fs::remove_dir_all(backup).unwrap();
    }
}

#[test]
fn mount_snapshots_and_the_past_show_modes_without_the_right_to_write() {
    let fixture = Fixture::new();
    let file = fixture.family("r").join("q");
    fs::write(&file, "v").unwrap();
    set_mode(&file, 0o600);
    let (store, version) = (fixture.store(), names(&suffixed(&file, "@")).remove(0));
    let made = fixture.cellfs(&["snapshot", "create", store.to_str().unwrap(), "before"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    set_mode(&file, 0o664);
    assert_eq!(mode(&fixture.mnt().join(".snapshot/before/default/t/r/f/q")), 0o400);
    assert_eq!(mode(&fixture.mnt().join(format!(".at/{version}/default/t/r/f/q"))), 0o444);
    assert_eq!(mode(&suffixed(&file, &format!("@{version}"))), 0o664);
    let restored = fixture.cellfs(&["snapshot", "restore", store.to_str().unwrap(), "before"]);
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    assert_eq!(mode(&file), 0o600, "a restore brings the mode of its time");
}

#[test]
fn mount_a_directory_that_is_closed_to_others_is_so_in_the_past_too() {
    let fixture = Fixture::new();
    let file = fixture.family("r").join("q");
    fs::write(&file, "v").unwrap();
    let (store, version) = (fixture.store(), names(&suffixed(&file, "@")).remove(0));
    assert!(fixture.cellfs(&["snapshot", "create", store.to_str().unwrap(), "before"]).status.success());
    let row = |of: &str| mode(&fixture.mnt().join(of).join("default/t/r"));
    set_mode(&fixture.path("t/r"), 0o700);
    for (of, expected) in [(".snapshot/before", 0o500), (&format!(".at/{version}"), 0o500), (".history", 0o700)] {
        assert_eq!(row(of), expected, "{of}");
    }
    assert_eq!(mode(&fixture.path(&format!("t/.at/{version}/r"))), 0o500);
    set_mode(&fixture.mnt().join(".history/default/t/r"), 0o711);
    assert_eq!([row(".history"), row("")], [0o711, 0o700], "what is set in the history is of it alone");
}

#[test]
fn mount_a_backup_brings_back_the_modes_that_were_set() {
    let (fixture, target) = (Fixture::new(), Fixture::empty());
    // What its owner cannot read only root can back up.
    let unreadable = if is_root() { 0o000 } else { 0o444 };
    let modes = [0o400, 0o444, unreadable, 0o777, 0o666, 0o600, 0o755];
    for mode_set in modes {
        let file = fixture.family("r").join(format!("{mode_set:o}"));
        fs::write(&file, "v").unwrap();
        set_mode(&file, mode_set);
    }
    let backup = fixture.directory.path().join("backup");
    for (script, from, to) in [("backup.sh", fixture.store(), &backup), ("restore.sh", backup.clone(), &target.store())]
    {
        let mut script = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("mount-scripts").join(script));
        let output = script.env("CELLFS", CELLFS).arg(from).arg(to).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for mode_set in modes {
        assert_eq!(mode(&target.path(&format!("t/r/f/{mode_set:o}"))), mode_set);
    }
}

#[test]
fn mount_git_make_and_rsync_find_the_modes_that_they_made() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let scratch = tempfile::tempdir().unwrap();
    let git_dir = scratch.path().join("git");
    let git = format!("git --git-dir='{}' --work-tree=. -c user.name=n -c user.email=e", git_dir.display());
    let script = format!(
        "printf '#!/bin/sh\\necho ran\\n' > run.sh; chmod +x run.sh; echo text > text; {git} init -q; {git} add -A; \
         {git} commit -qm one; rm *; {git} checkout -q .; {git} status --porcelain; ./run.sh"
    );
    assert_eq!(String::from_utf8(bash(&family, &script).stdout).unwrap(), "ran\n");
    let script = "printf 'prog: prog.c\\n\\tcc -o prog prog.c\\n' > Makefile; \
                  echo 'int main(void) { return 0; }' > prog.c; make -s && ./prog";
    bash(&family, script);
    let tree = scratch.path().join("tree");
    let script = format!(
        "mkdir -p '{0}/t/r/f' && cd '{0}/t/r/f'; for mode in 600 640 755 4755 444; do echo $mode > m$mode; chmod $mode \
         m$mode; done",
        tree.display()
    );
    bash(scratch.path(), &script);
    fs::create_dir(fixture.path("t/r2")).unwrap();
    let rsync = format!("rsync -ai '{}/t/r/' '{}/'", tree.display(), fixture.path("t/r2").display());
    bash(scratch.path(), &rsync);
    assert_eq!(String::from_utf8_lossy(&bash(scratch.path(), &rsync).stdout), "", "the second run");
}

#[test]
fn mount_the_kernel_enforces_modes_and_owners() {
    if !is_root() {
        return println!("skipped: only root can act as several users");
    }
    let fixture = Fixture::with_options("allow_other");
    let family = fixture.family("r");
    fs::write(family.join("secret"), "s").unwrap();
    set_mode(&family.join("secret"), 0o600);
    fs::write(family.join("theirs"), "t").unwrap();
    chown(family.join("theirs"), Some(65_534), Some(65_534)).unwrap();
    set_mode(&family, 0o777);
    // The mount lies in a directory of root's alone.
    let as_nobody = |script: &str| {
        let shell = "exec setpriv --reuid=65534 --regid=65534 --clear-groups bash -c \"$0\"";
        let output = Command::new("bash").args(["-c", shell, script]).current_dir(&family).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().replace('\n', " ")
    };
    assert_eq!(as_nobody("cat secret || echo refused"), "refused");
    assert_eq!(as_nobody("chmod 644 secret || echo refused; chown 65534 secret || echo refused"), "refused refused");
    assert_eq!(as_nobody("cat ../.json || echo refused"), "refused", "the row shows what a cell of it does not");
    assert_eq!(as_nobody("chmod 600 theirs && echo x >> theirs && cat theirs"), "tx");
    assert_eq!(as_nobody("umask 077; echo own > own; cat own; stat -c '%a %u %g' own"), "own 600 65534 65534");
    // A counter too, which its maker goes on with, and others do not.
    let count = "umask 077; for n in 1 2; do echo +$n > n@counter; done; cat n@counter; stat -c '%a %u %g' n n@counter";
    assert_eq!(as_nobody(count), "3 600 65534 65534 600 65534 65534");
    // The row as a text shows and sets what is in all families and cells.
    let text = |of: &str| as_nobody(&format!("cat ../../{of}/.json >/dev/null 2>&1 && echo read || echo refused"));
    for row in ["open", "closed"] {
        fs::create_dir_all(fixture.path(&format!("t/{row}/f"))).unwrap();
        fs::write(fixture.path(&format!("t/{row}/f/q")), "v").unwrap();
    }
    assert_eq!([text("open"), text("closed")], ["read", "read"]);
    set_mode(&fixture.path("t/closed/f"), 0o700);
    assert_eq!([text("open"), text("closed")], ["read", "refused"]);
    set_mode(&fixture.path("t/open/f/q"), 0o666);
    fs::write(fixture.path("t/open/f/other"), "o").unwrap();
    let patch = "echo '{\"f:other\":\"x\"}' > ../../open/.json || echo refused; cat ../../open/f/other";
    assert_eq!(as_nobody(patch), "refused o");
    chown(fixture.path("t/open/f/q"), None, Some(65_534)).unwrap();
    set_mode(&fixture.path("t/open/f/q"), 0o640);
    assert_eq!(mode(&fixture.path("t/open/.json")), 0o600, "the group is another one");
    fs::write(family.join("n@counter"), "+4").unwrap();
    assert_eq!(as_nobody("cat n@counter; stat -c '%a %u %g' n"), "7 600 65534 65534");
    assert_eq!(owner(&family.join("own")), (65_534, 65_534));
}

#[test]
fn mount_the_sticky_bit_keeps_the_files_of_others_from_new_versions() {
    if !is_root() {
        return println!("skipped: only root can act as several users");
    }
    let fixture = Fixture::with_options("allow_other");
    let family = fixture.family("r");
    fs::write(family.join("roots"), "r").unwrap();
    set_mode(&family, 0o1777);
    let as_user = |uid: u32, script: &str| {
        let shell = format!("exec setpriv --reuid={uid} --regid={uid} --clear-groups bash -c \"$0\"");
        let output = Command::new("bash").args(["-c", &shell, script]).current_dir(&family).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().replace('\n', " ")
    };
    for make in ["echo evil > roots@9999999999999", "echo mine > mine; mv mine roots@9999999999999"] {
        assert_eq!(as_user(65_534, &format!("({make}) 2>/dev/null || echo refused; cat roots")), "refused r", "{make}");
    }
    // Begun before there was a file.
    let begins = "exec 8> late@9999999999999; echo begun; read; echo evil >&8; exec 8>&- 2>&1";
    let mut begun = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", begins])
        .current_dir(&family)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    assert_eq!(std::io::Read::read(begun.stdout.as_mut().unwrap(), &mut [0; 64]).unwrap(), 6);
    fs::write(family.join("late"), "r").unwrap();
    std::io::Write::write_all(begun.stdin.as_mut().unwrap(), b"go\n").unwrap();
    begun.wait().unwrap();
    assert_eq!(fs::read_to_string(family.join("late")).unwrap(), "r");
    // Of one's own, and root.
    assert_eq!(as_user(65_534, "echo a > own; echo b > own@9999999999999; cat own"), "b");
    assert_eq!(as_user(65_533, "echo c > own@9999999999998 || echo refused; cat own"), "refused b");
    fs::write(family.join("roots@9999999999999"), "newer").unwrap();
    assert_eq!(fs::read_to_string(family.join("roots")).unwrap(), "newer");
    set_mode(&family, 0o777);
    assert_eq!(as_user(65_533, "echo d > own@99999999999999; cat own"), "d");
}

#[test]
fn mount_what_is_made_in_a_directory_with_the_set_group_id_bit_has_its_group() {
    if !is_root() {
        return println!("skipped: only root can act as several users");
    }
    let fixture = Fixture::with_options("allow_other");
    let family = fixture.family("r");
    let row = family.parent().unwrap();
    let table = row.parent().unwrap();
    for directory in [table, row, &family] {
        chown(directory, None, Some(60)).unwrap();
        set_mode(directory, 0o2777);
    }
    let script = "echo x > file; cp file copy; echo +1 > n@counter; mkdir -p ../../made/f";
    let shell = "umask 22; exec setpriv --reuid=65534 --regid=65534 --clear-groups bash -c \"$0\"";
    Command::new("bash").args(["-c", shell, script]).current_dir(&family).status().unwrap();
    let has = |path: &Path| fs::metadata(path).map(|of| (of.uid(), of.gid(), of.mode() & 0o7777)).unwrap();
    assert_eq!(has(&family.join("file")), (65_534, 60, 0o644));
    assert_eq!(has(&family.join("copy")), (65_534, 60, 0o644));
    for made in [table.join("made"), table.join("made/f")] {
        assert_eq!(has(&made), (65_534, 60, 0o2755), "it goes on below");
    }
    set_mode(&family, 0o777);
    fs::write(family.join("after"), "x").unwrap();
    assert_eq!(has(&family.join("after")).1, nix::unistd::getegid().as_raw());
}

#[test]
fn mount_other_bytes_end_the_set_user_id_bit_at_once() {
    if !is_root() {
        return println!("skipped: only root can act as several users");
    }
    let fixture = Fixture::with_options("allow_other,cache=60");
    let family = fixture.family("r");
    let writes =
        ["echo more >> run", "echo x | dd of=run conv=notrunc status=none", "fallocate -l 100 run", "echo > run"];
    for write in writes {
        let file = family.join("run");
        fs::write(&file, "#!/bin/sh\n").unwrap();
        chown(&file, None, Some(65_534)).unwrap();
        set_mode(&file, 0o6775);
        let shell = "exec setpriv --reuid=65534 --regid=65534 --clear-groups bash -c \"$0\"";
        let status = Command::new("bash").args(["-c", shell, write]).current_dir(&family).status().unwrap();
        assert!(status.success(), "{write}");
        // It asks for the mode alone, which the kernel may have still.
        let told = Command::new("stat").args(["-c", "%a"]).arg(&file).output().unwrap().stdout;
        assert_eq!(String::from_utf8(told).unwrap().trim(), "775", "{write}");
        fs::remove_file(&file).unwrap();
    }
}
