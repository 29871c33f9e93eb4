//! The Debian package: built, installed, used, upgraded, removed and purged in a copy-on-write view of this machine.

use std::fs;
use std::path::Path;
use std::process::Command;

const CELLFS: &str = env!("CARGO_BIN_EXE_cellfs");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn is_missing(program: &str) -> bool {
    let missing = Command::new(program).arg("--version").output().is_err();
    if missing {
        println!("skipped: {program} is not installed");
    }
    missing
}

#[test]
fn make_install_obeys_destdir_and_prefix() {
    if is_missing("make") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut make = Command::new("make");
    make.current_dir(root()).args(["-s", "install", "PREFIX=/opt/cells"]);
    make.arg(format!("CELLFS={CELLFS}")).arg(format!("DESTDIR={}", directory.path().display()));
    let output = make.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let at = |path: &str| directory.path().join(path);
    for path in ["opt/cells/bin/cellfs", "opt/cells/lib/cellfs/backup", "sbin/mount.cellfs", "sbin/umount.fuse.cellfs"]
    {
        assert!(at(path).exists(), "{path}");
    }
    let unit = fs::read_to_string(at("opt/cells/lib/systemd/system/cellfs@.service")).unwrap();
    assert!(unit.contains("ExecStart=/opt/cells/bin/cellfs mount -f"), "{unit}");
    assert!(!unit.contains("@BINDIR@"), "{unit}");
    let mut top: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    top.sort();
    assert_eq!(top, ["etc", "opt", "sbin"]);

    // What somebody else has put beside it stays.
    fs::write(at("opt/cells/lib/systemd/system/other.service"), "").unwrap();
    let mut make = Command::new("make");
    make.current_dir(root()).args(["-s", "uninstall", "PREFIX=/opt/cells"]);
    make.arg(format!("DESTDIR={}", directory.path().display()));
    let output = make.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut find = Command::new("find");
    let left = find.arg(directory.path()).args(["!", "-type", "d", "-o", "-name", "*cellfs*"]).output().unwrap();
    let left = String::from_utf8(left.stdout).unwrap();
    assert_eq!(left.trim(), at("opt/cells/lib/systemd/system/other.service").display().to_string());
}

#[test]
fn package_installs_serves_upgrades_and_goes() {
    if ["make", "dpkg-deb", "strip", "unshare", "setpriv"].into_iter().any(is_missing) {
        return;
    }
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: packages are root's to install");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let package = |version: &str| {
        let path = directory.path().join(format!("cellfs_{version}.deb"));
        let mut build = Command::new(root().join("packaging/debian/build.sh"));
        let output = build.arg(version).arg(&path).env("CELLFS", CELLFS).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        path
    };
    let (old, new) = (package("0.1.0~test1"), package("0.1.0~test2"));
    let mut script = Command::new("unshare");
    script.args(["-m", "--propagation", "private"]).arg(root().join("tests/package.sh")).args([&old, &new]);
    let output = script.arg(directory.path()).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    println!("{}", String::from_utf8_lossy(&output.stdout));
    if output.status.code() == Some(77) || words.contains("unshare failed") {
        println!("skipped: no mount namespace or no overlay in it: {words}");
        return;
    }
    assert!(output.status.success(), "{words}");
}
