//! Large values: chunks in blob files, and the roots that cells hold instead of them.
//!
//! A value is cut where its bytes say so, so that versions share what they have in common; a chunk never moves, and the
//! dead part of a file is punched out. Which chunks are live is told by others, who read the roots. A root that this
//! room gives keeps its chunks until it is dropped; a decoded one does not.
//!
//! Must not know cells, families, the log or the journal: new files are named through [`Naming`].

mod blobs;
mod collect;
mod disk;
mod settings;
mod shares;
mod values;

#[cfg(test)]
mod tests;

pub use blobs::Blobs;
pub use collect::Collected;
pub use disk::recover::Recovered;
pub use disk::verify::{Finding, Verified};
pub use settings::{BlobState, Naming, Options, Stats};
pub use shares::Mark;
pub use values::draft::Draft;
pub use values::root::{Reference, Root, TAIL_MAX};
pub use values::writer::ValueWriter;
