//! The operations of the mount with plain results: nodes, handles, write sessions, attributes, caching.
//!
//! Knows the tree and the backend's contract; must not know `fuser`, the store's files or SQLite.
//!
//! Each room asks only those behind it here: `commanded`; `ops` and `events`; `kinds`; `views` and `session`; `shown`, what the
//! kernel is shown of nodes; `requests`, what holds for each of them; `base`, a mount with all that it has; and its parts,
//! which know nothing of the mount: `programs`, `trees`, `handles`, `cache`, `counts`, `nodes`, `bytes`.
//!
//! Lock order: the node table, then a node's state, then a handle's state; the backend is called with a
//! node's state locked, never with the table locked.

mod base;
mod bytes;
mod cache;
mod caller;
pub mod commanded;
mod counts;
pub mod errno;
pub mod events;
mod handles;
mod kinds;
mod nodes;
pub mod ops;
mod options;
mod programs;
pub mod requests;
mod session;
mod shown;
mod trees;
mod views;

pub use base::{Fs, FsNumbers};
pub use bytes::content::{Beyond, Content};
pub use cache::invalidations::{Invalidation, Invalidations, Message};
pub use caller::{Caller, Creator};
pub use counts::counters::{Operation, OperationNumbers};
pub use events::changed::begin;
pub use handles::closing::Closing;
pub use handles::table::{OpenFlags, Opened};
pub use ops::attr::Lookup;
pub use ops::listing::DirEntry;
pub use ops::setattr::SetAttr;
pub use ops::xattr::{SetXattr, Xattr};
pub use options::{Options, Told, nodes_within};
pub use shown::attr::{Attr, EntryReply, Kind};
