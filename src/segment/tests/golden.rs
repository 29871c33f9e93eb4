//! The format: what it was is what it is. `CELLFS_WRITE_GOLDEN=1` writes the file anew, for a new version of the format.

use super::damage::{extents, write_all};
use super::*;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/segment")
}

#[test]
fn segments_are_written_as_ever_and_old_ones_are_read() {
    let env = env();
    let facts = write_all(&env, &extents());
    let bytes = env.read_file(&path()).unwrap();
    if std::env::var_os("CELLFS_WRITE_GOLDEN").is_some() {
        std::fs::create_dir_all(golden().parent().unwrap()).unwrap();
        std::fs::write(golden(), &bytes).unwrap();
    }
    let kept = std::fs::read(golden()).unwrap();
    assert!(kept == bytes, "the format has changed: give it a new number, or undo the change");
    env.damage(&path(), |bytes| *bytes = kept).unwrap();
    let segment = open(&env).unwrap();
    for (n, (_, model)) in extents().iter().enumerate() {
        let extent = &segment.extents()[n];
        assert_eq!(extent.facts(), &facts[n]);
        let mut cursor = extent.cursor(Reading::Walk);
        cursor.seek(b"").unwrap();
        for (key, cell) in model {
            assert_eq!(current(&mut cursor), Some((key.clone(), cell.clone())));
            cursor.advance().unwrap();
        }
    }
}
