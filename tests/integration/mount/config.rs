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
fn mount_an_option_counts_in_place_of_the_setting_for_its_mount_alone() {
    let mut fixture = Fixture::with_options("value_limit=3");
    let family = fixture.family("r");
    let (status, _, said) = config(&fixture, &["value_limit", "8"]);
    assert!(status == Some(0) && said.contains("without the option value_limit, which is 3"), "{said}");
    assert_eq!(errno(fs::write(family.join("q"), "1234")), libc::EFBIG);
    let (_, list, _) = config(&fixture, &[]);
    let line = list.lines().find(|line| line.starts_with("value_limit")).unwrap();
    assert!(line.contains("  8 ") && line.ends_with("set; 3 by the mount's option"), "{line}");
    fixture.unmount();
    fixture.mount("");
    fs::write(fixture.family("r").join("q"), "12345678").unwrap();
    assert_eq!(errno(fs::write(fixture.family("r").join("q"), "123456789")), libc::EFBIG);
    fixture.unmount();
    fixture.mount("ro");
    let (status, _, said) = config(&fixture, &["value_limit", "9"]);
    assert!(status == Some(2) && said.contains("read-only"), "{said}");
}
