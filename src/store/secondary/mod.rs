//! Secondary indexes: entries that are written with the cells they are of, their building, and answers by them.
//!
//! **Entries are hints, answers are verified.** An entry says that a row may have had a value; the row itself, as the
//! reader sees it, decides. At every moment, and in every snapshot, there is an entry for each put of an indexed column
//! that is stored in any form: hidden, deleted, expired or kept. So deletes, TTLs, restores, time travel and clock steps
//! need no rule of their own here, and what they leave behind is a hint too many. That it is so rests on four things:
//! * a put's entry is in the same record of the log ([`entry`]): no crash parts them;
//! * a flush brings both into extents with one edit, a snapshot holds both as of one edit;
//! * an index is not believed before entries of all that was stored are on the disk (`jobs::build`);
//! * a compaction drops an entry only after it has found no put in the row that could need it ([`stale`]).
//!
//! Must not know of paths or printing.

pub mod constraint;
pub mod entry;
pub mod gate;
pub mod lookup;
pub mod stale;
pub mod unique;
