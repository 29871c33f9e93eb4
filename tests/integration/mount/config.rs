//! Settings of a store while it is mounted.

use std::fs;

use super::fixture::{Fixture, errno};

fn config(fixture: &Fixture, args: &[&str]) -> (Option<i32>, String, String) {
    let (store, text) = (fixture.store(), |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned());
    let output = fixture.cellfs(&[&["config", store.to_str().unwrap()], args].concat());
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn versions(fixture: &Fixture, family: &str) -> String {
    fs::create_dir(fixture.path("t/.schema").join(family)).unwrap();
    fs::read_to_string(fixture.path("t/.schema").join(family).join("VERSIONS")).unwrap()
}

#[test]
fn mount_settings_take_effect_at_once_and_outlive_the_daemon() {
    let mut fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("q"), "12345").unwrap();
    assert_eq!(config(&fixture, &["value_limit", "4"]), (Some(0), String::new(), String::new()));
    assert_eq!(errno(fs::write(family.join("q"), "12345")), libc::EFBIG);
    fs::write(family.join("q"), "1234").unwrap();
    assert_eq!(versions(&fixture, "before"), "10\n");
    assert_eq!(config(&fixture, &["default.VERSIONS", "77"]).0, Some(0));
    assert_eq!(versions(&fixture, "after"), "77\n");
    assert_eq!(fs::read_to_string(fixture.path("t/.schema/before/VERSIONS")).unwrap(), "10\n");
    fixture.kill();
    fixture.mount("");
    assert_eq!(versions(&fixture, "later"), "77\n");
    assert_eq!(errno(fs::write(fixture.family("r").join("q"), "12345")), libc::EFBIG);
    assert_eq!(config(&fixture, &["--unset", "value_limit"]).0, Some(0));
    fs::write(fixture.family("r").join("q"), "12345").unwrap();
    assert_eq!(config(&fixture, &["default.VERSIONS"]).1, "77\n");
}

#[test]
fn mount_takes_no_limit_that_the_store_would_not_know_of() {
    let mut fixture = Fixture::new();
    let mnt = tempfile::tempdir().unwrap();
    let (store, at) = (fixture.store(), mnt.path().to_str().unwrap());
    let refused = fixture.cellfs(&["mount", store.to_str().unwrap(), at, "-o", "value_limit=3"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("cellfs config STORE value_limit 3"), "{said}");
    assert_eq!(config(&fixture, &["value_limit", "8"]).0, Some(0));
    let list = config(&fixture, &[]).1;
    assert!(list.lines().any(|line| line.starts_with("value_limit") && line.contains("  8 ")), "{list}");
    fs::write(fixture.family("r").join("q"), "12345678").unwrap();
    assert_eq!(errno(fs::write(fixture.family("r").join("q"), "123456789")), libc::EFBIG);
    fixture.unmount();
    fixture.mount("ro");
    let (status, _, said) = config(&fixture, &["value_limit", "9"]);
    assert!(status == Some(2) && said.contains("read-only"), "{said}");
}
