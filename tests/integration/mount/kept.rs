//! What people would lose: values that were cut, moments that move, families that are removed by hand.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use super::fixture::{Fixture, errno, history, is_alone, names};

fn bash(script: &str) -> (bool, String) {
    let output = Command::new("bash").args(["-uc", script]).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn mount_nothing_of_a_handle_is_stored_after_a_refused_write() {
    if !is_alone() {
        return;
    }
    let fixture = Fixture::with_limit(1_000_000);
    let family = fixture.family("r");
    let (cell, new) = (family.join("q"), family.join("new"));
    fs::write(&cell, "whole").unwrap();
    let mut file = fs::File::create(&cell).unwrap();
    file.write_all(&vec![b'x'; 900_000]).unwrap();
    for more in [&vec![b'y'; 200_000][..], b"more"] {
        assert_eq!(errno(file.write_all(more)), libc::EFBIG);
    }
    drop(file);
    assert_eq!(history(&cell), ["whole"]);
    let big = fixture.directory.path().join("big");
    fs::write(&big, vec![b'z'; 1_500_000]).unwrap();
    for target in [&cell, &new] {
        assert!(!bash(&format!("cp '{}' '{}'", big.display(), target.display())).0);
    }
    assert_eq!((history(&cell), names(&family)), (vec!["whole".to_owned()], vec!["q".to_owned()]));
    // Nor by another's close.
    let mut file = fs::File::options().append(true).open(&cell).unwrap();
    file.write_all(&vec![b'x'; 900_000]).unwrap();
    assert_eq!(errno(file.write_all(&vec![b'y'; 200_000])), libc::EFBIG);
    fs::File::options().append(true).open(&cell).unwrap().write_all(b"!").unwrap();
    assert_eq!(nix::unistd::close(file), Err(nix::Error::EFBIG));
    assert_eq!(history(&cell), ["whole", "whole!"]);
    // And the kernel drops its pages, which it was told to keep while nothing but its own writes had changed them: so it is
    // once no write of before may be on its way.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let (reader, mut file) = (fs::File::open(&cell).unwrap(), fs::File::options().write(true).open(&cell).unwrap());
    let reads = |wanted: &[u8; 6]| {
        let mut bytes = [0; 6];
        reader.read_exact_at(&mut bytes, 0).is_ok() && bytes == *wanted
    };
    assert!(reads(b"whole!"));
    file.write_all(b"WHOLE").unwrap();
    assert!(reads(b"WHOLE!"));
    assert_eq!(errno(file.set_len(2_000_000)), libc::EFBIG);
    let mut waits = std::iter::repeat_with(|| std::thread::sleep(std::time::Duration::from_millis(10))).take(500);
    assert!(waits.any(|()| reads(b"whole!")));
    assert_eq!(nix::unistd::close(file), Err(nix::Error::EFBIG));
    // Who begins anew has a whole value again.
    let mut file = fs::File::create(&cell).unwrap();
    assert_eq!(errno(file.write_all(&vec![b'y'; 1_200_000])), libc::EFBIG);
    file.set_len(0).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    file.write_all(b"again").unwrap();
    drop(file);
    assert_eq!(history(&cell), ["whole", "whole!", "again"]);
}

#[test]
fn mount_mtimes_are_the_clocks_also_when_timestamps_run_ahead() {
    let fixture = Fixture::new();
    let file = fixture.family("r").join("q");
    let ahead = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64 + 3_600_000;
    fs::write(super::fixture::suffixed(&file, &format!("@{ahead}")), "later").unwrap();
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    fs::write(&file, "newest").unwrap();
    let shown = fs::metadata(&file).unwrap();
    assert!(shown.mtime() as u64 <= clock().as_secs(), "{} is not in the future", shown.mtime());
    bash(&format!("echo more >> '{}'", file.display()));
    assert!(fs::metadata(&file).unwrap().mtime() as u64 <= clock().as_secs());
    assert_eq!(history(&file), ["later", "newest", "newestmore\n"]);
}

#[test]
fn mount_a_walk_below_a_relative_time_sees_one_moment() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    for name in 0..200 {
        fs::write(family.join(format!("f{name}")), "old").unwrap();
    }
    std::thread::sleep(std::time::Duration::from_millis(1100));
    // While it walks, what it looks for passes out of the last second.
    let out = fixture.directory.path().join("out");
    let script = format!(
        "set -e; cd '{0}'; mkdir '{1}'; (find .at/-1s/r -type f; sleep 1.5; find .at/-1s/r -type f) | \
         tee '{1}/names' | xargs -n 50 cat > '{1}/all'; wc -l < '{1}/names'; grep -o old '{1}/all' | wc -l; \
         grep -c new '{1}/all' || true",
        fixture.path("t").display(),
        out.display()
    );
    let writer = std::thread::spawn({
        let family = family.clone();
        move || {
            for name in 0..200 {
                fs::write(family.join(format!("f{name}")), "new").unwrap();
            }
        }
    });
    let (worked, said) = bash(&format!("set -m; ( {script} )"));
    writer.join().unwrap();
    assert!(worked, "{said}");
    assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["400", "400", "0"]);
}

#[test]
fn mount_rm_of_a_familys_schema_drops_it_as_it_was() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("t/.schema/g")).unwrap();
    fs::write(fixture.path("t/.schema/g/VERSIONS"), "5").unwrap();
    fs::write(fixture.path("t/.schema/g/METADATA/owner"), "me").unwrap();
    fs::create_dir_all(fixture.path("t/r/g")).unwrap();
    let cell = fixture.path("t/r/g/q");
    for value in ["one", "two", "three"] {
        fs::write(&cell, value).unwrap();
    }
    let (worked, said) = bash(&format!("rm -r '{}'", fixture.path("t/.schema/g").display()));
    assert!(worked, "{said}");
    assert_eq!(errno(fs::metadata(fixture.path("t/.schema/g"))), libc::ENOENT);
    let store = fixture.store().to_str().unwrap().to_owned();
    assert!(fixture.cellfs(&["compact", "--major", &store, "t"]).status.success());
    assert!(fixture.cellfs(&["undrop", &store, "t", "g"]).status.success());
    assert_eq!(fs::read_to_string(fixture.path("t/.schema/g/VERSIONS")).unwrap(), "5\n");
    assert_eq!(fs::read_to_string(fixture.path("t/.schema/g/KEEP_DELETED_CELLS")).unwrap(), "TRUE\n");
    assert_eq!(fs::read_to_string(fixture.path("t/.schema/g/METADATA/owner")).unwrap(), "me\n");
    assert_eq!(history(&cell), ["one", "two", "three"]);
    // One attribute alone is unset at once.
    fs::remove_file(fixture.path("t/.schema/g/VERSIONS")).unwrap();
    assert_eq!(errno(fs::metadata(fixture.path("t/.schema/g/VERSIONS"))), libc::ENOENT);
    let said = fixture.cellfs(&["describe", &store, "t"]).stdout;
    assert!(!String::from_utf8_lossy(&said).contains("VERSIONS => '5'"));
    // Where the directory stays, its names go a little later, and at the latest with the mount.
    let script = "import os, sys; d = os.open(sys.argv[1], os.O_RDONLY); os.unlink('TTL', dir_fd=d); os.close(d)";
    fs::write(fixture.path("t/.schema/g/TTL"), "86400").unwrap();
    let python = Command::new("python3").args(["-c", script]).arg(fixture.path("t/.schema/g")).status().unwrap();
    assert!(python.success());
    assert_eq!(errno(fs::metadata(fixture.path("t/.schema/g/TTL"))), libc::ENOENT);
    let mut fixture = fixture;
    fixture.remount();
    assert_eq!(errno(fs::metadata(fixture.path("t/.schema/g/TTL"))), libc::ENOENT);
}

#[test]
fn mount_a_ctime_never_goes_back() {
    let mut fixture = Fixture::new();
    let family = fixture.family("r");
    let ctime = |name: &str| {
        let metadata = fs::metadata(family.join(name)).unwrap();
        (metadata.ctime(), metadata.ctime_nsec())
    };
    let mut told = Vec::new();
    for (name, sets) in [("mode", "chmod 640"), ("owner", "chgrp 4711"), ("mtime", "touch -d 2001-01-01")] {
        let path = family.join(name);
        fs::write(&path, "v").unwrap();
        let written = ctime(name);
        std::thread::sleep(std::time::Duration::from_millis(20));
        let (is_set, said) = bash(&format!("{sets} '{}'", path.display()));
        assert!(is_set || name == "owner" && !nix::unistd::geteuid().is_root(), "{said}");
        assert!(!is_set || ctime(name) > written, "{name}");
        told.push((name, ctime(name)));
    }
    fixture.remount();
    for (name, before) in told {
        assert_eq!(ctime(name), before, "{name}");
    }
}

#[test]
fn mount_a_length_gives_back_nothing_that_a_refused_write_has_lost() {
    if !is_alone() {
        return;
    }
    let fixture = Fixture::with_limit(1_000_000);
    let family = fixture.family("r");
    let cell = family.join("q");
    let options = || fs::File::options().read(true).write(true).create(true).truncate(false).to_owned();
    // What was taken is gone with what was refused.
    let file = options().open(&cell).unwrap();
    file.write_all_at(&[b'a'; 600_000], 0).unwrap();
    assert_eq!(errno(file.write_all_at(&[b'b'; 600_000], 600_000)), libc::EFBIG);
    assert_eq!(errno(file.set_len(600_000)), libc::EFBIG);
    assert_eq!(errno(nix::unistd::close(file).map_err(Into::into)), libc::EFBIG);
    assert!(names(&family).is_empty());
    // Who begins anew, or goes back to what is stored, goes on.
    let file = options().open(&cell).unwrap();
    assert_eq!(errno(file.write_all_at(&[b'b'; 600_000], 600_000)), libc::EFBIG);
    file.set_len(0).unwrap();
    file.write_all_at(b"stored", 0).unwrap();
    file.sync_all().unwrap();
    assert_eq!(errno(file.write_all_at(&[b'b'; 1_000_000], 6)), libc::EFBIG);
    file.set_len(6).unwrap();
    file.write_all_at(b" and more", 6).unwrap();
    drop(file);
    assert_eq!(fs::read_to_string(&cell).unwrap(), "stored and more");
    // Room that is asked for ahead is no part of what is written.
    let file = options().open(&cell).unwrap();
    file.write_all_at(b"S", 0).unwrap();
    assert_eq!(nix::fcntl::posix_fallocate(&file, 0, 2_000_000), Err(nix::errno::Errno::EFBIG));
    file.write_all_at(b"!", 15).unwrap();
    drop(file);
    assert_eq!(fs::read_to_string(&cell).unwrap(), "Stored and more!");
}

#[test]
fn mount_what_is_open_keeps_its_bytes_whoever_removes_it() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    for (name, value) in [("NEW_VERSION_BEHAVIOR", "false"), ("KEEP_DELETED_CELLS", "FALSE")] {
        fs::write(fixture.path("t/.schema/f").join(name), value).unwrap();
    }
    let cell = family.join("q");
    fs::write(&cell, vec![b'1'; 30_000]).unwrap();
    fs::write(&cell, vec![b'2'; 30_000]).unwrap();
    let versions = super::fixture::suffixed(&cell, "@");
    let oldest = names(&versions).into_iter().min().unwrap();
    let (file, newest) = (fs::File::open(versions.join(&oldest)).unwrap(), fs::File::open(&cell).unwrap());
    fs::remove_file(versions.join(&oldest)).unwrap();
    let store = fixture.store();
    for command in [
        &["deleteall", store.to_str().unwrap(), "t", "r", "f:q"][..],
        &["compact", "--major", store.to_str().unwrap(), "t"],
    ] {
        assert!(fixture.cellfs(command).status.success());
    }
    for (file, byte) in [(file, b'1'), (newest, b'2')] {
        let mut bytes = vec![0; 30_001];
        assert_eq!(file.read_at(&mut bytes, 0).unwrap(), 30_000);
        assert!(bytes.starts_with(&[byte; 30_000]));
    }
}
