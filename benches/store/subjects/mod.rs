//! The stores that are compared: this one, SQLite as it comes, fjall, and RocksDB where the machine has it.

mod cellfs;
mod fjall;
mod rocksdb;
mod rocksdb_c;
mod sqlite;

use std::path::Path;

pub use self::cellfs::Cellfs;
use self::fjall::Fjall;
use self::rocksdb::RocksDb;
use self::sqlite::Sqlite;

/// A store under test. Where it is dropped it is as a kill leaves it, unless it has been closed.
pub trait Subject: Send + Sync {
    /// Writes a cell; on the disk within about a second.
    fn put(&self, cell: u64);
    /// Moves what was written to its place; what that starts goes on behind.
    fn flush(&self);
    /// Whether nothing goes on behind.
    fn is_idle(&self) -> bool;
    /// Writes a cell, with a value that it does not have yet; on the disk when this returns.
    fn put_durably(&self, cell: u64);
    /// Length of the value of a cell's newest version.
    fn newest(&self, cell: u64) -> usize;
    /// Cells of a walk over everything, values included.
    fn scan(&self) -> u64;
    /// Cells of the first row that a scan from the row of a cell on finds, values included.
    fn first_row(&self, cell: u64) -> u64;
    /// Length of a cell's newest value by a look that leaves the value alone; `None`: there is no such look.
    fn len_of(&self, _cell: u64) -> Option<u64> {
        None
    }
    /// Rows that a listing finds; `None` where there are no rows.
    fn rows(&self) -> Option<u64> {
        None
    }
    /// A major compaction.
    fn compact(&self);
    /// Keeps what there is now, and gives it up again; `None`: it knows no snapshots that stay. Returns the seconds
    /// of the first alone.
    fn snapshot(&self, _beside: &Path) -> Option<f64> {
        None
    }
    /// What is still in memory is on the disk, as at the orderly end of a program.
    fn close(self: Box<Self>) {}
}

/// Whose figures stand in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    Cellfs,
    Sqlite,
    Fjall,
    RocksDb,
    /// Plain files, of what they can be asked.
    Files,
}

impl Who {
    pub const ALL: [Self; 5] = [Self::Cellfs, Self::Sqlite, Self::Fjall, Self::RocksDb, Self::Files];
    /// Those that hold the cells.
    pub const STORES: [Self; 4] = [Self::Cellfs, Self::Sqlite, Self::Fjall, Self::RocksDb];

    pub fn name(self) -> &'static str {
        match self {
            Self::Cellfs => "cellfs",
            Self::Sqlite => "SQLite",
            Self::Fjall => "fjall",
            Self::RocksDb => "RocksDB",
            Self::Files => "files",
        }
    }

    /// The store of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::STORES.into_iter().find(|who| who.name() == name)
    }

    /// Why it can't be measured here; `None`: it can. Loads what it needs.
    pub fn lack(self) -> Option<&'static str> {
        if self == Self::RocksDb { rocksdb::lack() } else { None }
    }

    /// A new store.
    pub fn create(self, dir: &Path) -> Box<dyn Subject> {
        match self {
            Self::Cellfs => Box::new(Cellfs::create(dir)),
            Self::Sqlite => Box::new(Sqlite::create(dir)),
            _ => self.open(dir),
        }
    }

    /// A store that is there.
    pub fn open(self, dir: &Path) -> Box<dyn Subject> {
        match self {
            Self::Cellfs => Box::new(Cellfs::open(dir)),
            Self::Sqlite => Box::new(Sqlite::open(dir)),
            Self::Fjall => Box::new(Fjall::open(dir)),
            Self::RocksDb => Box::new(RocksDb::open(dir)),
            Self::Files => unreachable!("files hold no cells"),
        }
    }
}
