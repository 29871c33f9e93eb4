//! A copy of the index as it is at one moment, made while others go on reading and writing.

use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::Index;
use super::db::sql;
use super::look::remove_files;
use crate::env::{HeldDir, sync};
use crate::{Error, ErrorKind, Result};

/// Pages that are copied at once; between two such pieces others get the processor.
const PIECE: i32 = 2048;

/// A moment of the index. While it lives, SQLite's own log grows by what is written.
pub struct IndexCopy {
    /// Its read transaction is open.
    connection: Connection,
    /// Order: let go after the connection.
    _dir: HeldDir,
}

impl Index {
    /// Holds what is committed now; nothing is copied yet.
    pub fn hold(&self) -> Result<IndexCopy> {
        let connection = self.readers.connect()?;
        // Order: SQLite takes its snapshot at the first read, not at BEGIN.
        connection.execute_batch("BEGIN; SELECT count(*) FROM meta").map_err(sql("copy"))?;
        Ok(IndexCopy { connection, _dir: self.dir().clone() })
    }
}

impl IndexCopy {
    /// Writes the copy to `dir/index.db`; it is on the disk when this returns.
    pub fn write_to(self, dir: &HeldDir) -> Result<()> {
        let path = dir.join("index.db");
        remove_files(&path)?;
        let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let mut to = Connection::open_with_flags(&path, flags).map_err(sql("make a copy of"))?;
        let backup = Backup::new(&self.connection, &mut to).map_err(sql("copy"))?;
        loop {
            match backup.step(PIECE).map_err(sql("copy"))? {
                StepResult::Done => break,
                StepResult::More => sync::point(),
                StepResult::Busy | StepResult::Locked => sync::sleep(Duration::from_millis(1)),
                _ => return Err(Error::new(ErrorKind::Io, "copy the index: SQLite gave an answer that is not known")),
            }
        }
        dir.give("index.db").map_err(|e| Error::io(format!("make {}", dir.shown().display()), &e))
    }
}
