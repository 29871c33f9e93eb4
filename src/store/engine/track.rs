//! What is known of a family's stored cells without looking.

use std::sync::atomic::{AtomicBool, AtomicI64};

/// What is known of a family's stored cells without looking.
#[derive(Default)]
pub struct FamilyTrack {
    /// No stored cell has a greater timestamp.
    pub max_timestamp: AtomicI64,
    /// What it was when the store was opened.
    pub opened_with: AtomicI64,
    /// No tombstone of a whole family that was written since then has a greater timestamp.
    pub latest_tombstone: AtomicI64,
    /// Whether any tombstone of a whole family may be stored.
    pub family_tombstones: AtomicBool,
    /// Whether any cell with a TTL of its own may be stored.
    pub expiring: AtomicBool,
}
