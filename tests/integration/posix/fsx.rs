//! fsx: random reads, writes, truncations and mappings of one file, compared with what they should give.
//!
//! `CELLFS_FSX_OPERATIONS` (default 20,000 for each seed) and `CELLFS_FSX_SEEDS` (default 2) choose how many.

use std::process::Command;

use super::{data, tool};
use crate::mount::fixture::Fixture;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn posix_fsx_finds_nothing() {
    let Some(fsx) = tool("fsx") else { return };
    let fixture = Fixture::new();
    let operations = setting("CELLFS_FSX_OPERATIONS", 20_000);
    for seed in 1..=setting("CELLFS_FSX_SEEDS", 2) {
        let mut run = Command::new(&fsx);
        run.arg("-f").arg(data("fsx.toml")).args(["-N", &operations.to_string(), "-S", &seed.to_string()]);
        let output = run.arg(fixture.family("r").join("fsx")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "seed {seed}: {said}");
        println!("fsx: {operations} operations, seed {seed}: nothing found");
    }
}
