//! Kills and power cuts on real files: what was acknowledged is there afterwards. Each rig has its negative control.
//!
//! Short in `cargo test`; the number of rounds is in CELLFS_KILLS, CELLFS_POWER_CUTS, CELLFS_SERVICE_KILLS and
//! CELLFS_SERVICE_CELLS for the long form.

mod calls;
mod history;
mod kill;
mod power;
mod supervised;

/// Rounds: the number in an environment variable, or a few.
fn rounds(variable: &str, few: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(few)
}
