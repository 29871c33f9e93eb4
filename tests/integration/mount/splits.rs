//! `.schema/.table/SPLITS` of a store, which has no regions and remembers what was said.

use std::fs;

use super::fixture::Fixture;

#[test]
fn mount_remembers_where_regions_were_asked_to_begin() {
    let fixture = Fixture::new();
    fixture.family("r");
    let splits = fixture.path("t/.schema/.table/SPLITS");
    assert!(!splits.exists());
    fs::write(&splits, "p\\x00\ng\n").unwrap();
    assert_eq!(fs::read_to_string(&splits).unwrap(), "g\np\\x00\n");
    let store = fixture.store();
    let told = fixture.cellfs(&["shell", "-q", "-n", store.to_str().unwrap(), "-e", "get_splits 't'"]);
    assert!(String::from_utf8_lossy(&told.stdout).contains("Total number of splits = 3\ng\np\\x00"), "{told:?}");
    fs::remove_file(&splits).unwrap();
    assert!(!splits.exists());
}
