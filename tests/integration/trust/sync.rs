//! A sync that fails under a real mount is never forgotten: nothing is acknowledged after it, it is said, and what was
//! acknowledged before is there after a restart.

use std::fs::{self, File};
use std::io::Write;
use std::process::Command;

use crate::mount::fixture::{CELLFS, Fixture, can_fail_calls, errno};

fn put(fixture: &Fixture, name: &str) -> i32 {
    let written = File::create(fixture.path("t/r/f").join(name)).and_then(|mut file| {
        file.write_all(name.as_bytes())?;
        file.sync_all()
    });
    errno(written)
}

#[test]
fn sync_that_fails_is_said_and_nothing_is_acknowledged_after_it() {
    if !can_fail_calls() {
        return;
    }
    let mut fixture = Fixture::new();
    fixture.family("r");
    for n in 0..5 {
        assert_eq!(put(&fixture, &format!("before{n}")), 0);
    }
    fixture.unmount();
    // Each fdatasync of the daemon but the first few fails, as on a disk that is gone.
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO:when=6+"]);
    command.arg(CELLFS).args(["mount", "-f"]).arg(fixture.store()).arg(fixture.mnt());
    fixture.mount_by(command);
    let refused = (0..50).find(|n| put(&fixture, &format!("during{n}")) != 0).unwrap();
    assert_eq!(put(&fixture, &format!("during{refused}")), libc::EIO);
    let store = fixture.store().to_str().unwrap().to_owned();
    let status = fixture.cellfs(&["status", &store]);
    let words = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(words.contains("POISONED       this store takes no changes any more: "), "{words}");
    assert_eq!(status.status.code(), Some(1), "{words}");
    let check = fixture.cellfs(&["check", &store]);
    let words = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(
        words.contains("POISONED: this store takes no changes any more: ") && words.contains("no damage"),
        "{words}"
    );
    assert_eq!(check.status.code(), Some(1), "{words}");
    for command in ["status", "check"] {
        let output = fixture.cellfs(&[command, "--json", &store]);
        assert_eq!(output.status.code(), Some(1));
        let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(object["poisoned"].as_str().unwrap().contains("Nothing is acknowledged any more"), "{object}");
    }
    assert!(fixture.log().contains("Nothing is acknowledged any more"), "{}", fixture.log());
    assert_eq!(fs::read(fixture.path("t/r/f/before0")).unwrap(), b"before0");
    fixture.kill_daemon_of_mount();
    fixture.mount("");
    let family = fixture.path("t/r/f");
    for name in (0..5).map(|n| format!("before{n}")).chain((0..refused).map(|n| format!("during{n}"))) {
        assert_eq!(fs::read(family.join(&name)).unwrap(), name.as_bytes());
    }
    println!("syncs that fail under a mount: {} cells acknowledged before, 0 lost, 0 acknowledged after", 5 + refused);
    assert_eq!(put(&fixture, "after"), 0);
}
