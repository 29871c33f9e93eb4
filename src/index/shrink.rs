//! Pages that nothing uses go back to the filesystem.

use rusqlite::Connection;

use super::Index;
use super::db::sql;
use crate::Result;

/// Unused pages that are given back at once; fewer are kept for what comes.
const UNUSED: i64 = 1000;

impl Index {
    /// Gives pages that nothing uses back to the filesystem, where they are a good part of the file; `all`: in any case.
    pub fn give_back(&self, all: bool) -> Result<()> {
        let number = |writer: &Connection, pragma: &str| -> Result<i64> {
            writer.query_row(pragma, [], |row| row.get(0)).map_err(sql("measure"))
        };
        let mut any = false;
        loop {
            let writer = self.writer.lock();
            let free = number(&writer, "PRAGMA freelist_count")?;
            if free == 0 || (!all && !any && (free < UNUSED || free * 4 < number(&writer, "PRAGMA page_count")?)) {
                break;
            }
            let _paused = self.readers.pause();
            // Each step gives one page back.
            let text = format!("PRAGMA incremental_vacuum({UNUSED})");
            let mut statement = writer.prepare(&text).map_err(sql("shrink"))?;
            let mut rows = statement.query([]).map_err(sql("shrink"))?;
            while rows.next().map_err(sql("shrink"))?.is_some() {}
            if number(&writer, "PRAGMA freelist_count")? == free {
                // An index of an earlier release cannot shrink.
                return Ok(());
            }
            any = true;
        }
        if any {
            let writer = self.writer.lock();
            let _paused = self.readers.pause();
            number(&writer, "PRAGMA wal_checkpoint(TRUNCATE)")?;
            self.witness().note_index_synced();
        }
        Ok(())
    }

    /// Lets SQLite's own log beside the index have so many pages, about.
    pub fn limit_log(&self, pages: u32) -> Result<()> {
        let bytes = u64::from(pages) * 4096;
        let text = format!("PRAGMA wal_autocheckpoint={pages}; PRAGMA journal_size_limit={bytes};");
        self.writer.lock().execute_batch(&text).map_err(sql("set up"))
    }

    /// Lets the index have so many pages more, as if the disk were full then.
    #[cfg(test)]
    pub fn limit_growth(&self, pages: i64) {
        let writer = self.writer.lock();
        let now: i64 = writer.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        let limit = format!("PRAGMA max_page_count={}", now + pages);
        writer.query_row(&limit, [], |row| row.get::<_, i64>(0)).unwrap();
    }

    /// Gives the room of that log back to the disk, if nobody reads from it and the index has room for what is in it.
    pub fn shrink_log(&self) {
        let writer = self.writer.lock();
        let _paused = self.readers.pause();
        if let Err(e) = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)) {
            log::info!("shrink the log of the index: {e}");
            return;
        }
        self.witness().note_index_synced();
    }
}
