//! The rest of a large stream goes past the log: while one load is stored, the next one is gathered.
//!
//! Holds two loads.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::reached::Reached;
use super::read::change::{Change, Changes};
use crate::backend::{Backend, BulkLoad};
use crate::model::{PutCell, TableName};
use crate::{Error, ErrorKind, Result};

/// Bytes of a stream after which it is a large one.
const LARGE: u64 = 1 << 20;

/// A load that is being stored, and all that is in the store when it is.
struct UnderWay {
    thread: JoinHandle<(Box<dyn BulkLoad>, Result<()>)>,
    upto: Reached,
}

/// See the module.
#[derive(Default)]
pub(super) struct Loads {
    gathered: Option<Box<dyn BulkLoad>>,
    under_way: Option<UnderWay>,
    /// An empty one.
    spare: Option<Box<dyn BulkLoad>>,
    /// All that is in the store, if that was not asked for since.
    stored: Option<Reached>,
    /// No load was begun, or none is any more.
    is_over: bool,
}

/// What became of a record.
pub(super) enum Taken {
    Loaded,
    /// It is written the usual way, as all that follows.
    Usual(Changes),
}

impl Loads {
    /// Begins with the stream at a place, if it is large by now and the table takes it.
    pub fn begin(&mut self, backend: &Arc<dyn Backend>, table: &TableName, passed: u64) -> Result<()> {
        if self.is_over || self.gathered.is_some() || passed < LARGE {
            return Ok(());
        }
        self.gathered = backend.bulk_load(table)?;
        self.is_over = self.gathered.is_none();
        Ok(())
    }

    /// Whether records go this way.
    pub fn is_open(&self) -> bool {
        self.gathered.is_some()
    }

    /// Takes the puts of a record, all or none.
    pub fn put(&mut self, changes: Changes) -> Result<Taken> {
        let Some(load) = &mut self.gathered else { return Ok(Taken::Usual(changes)) };
        let Changes { row, changes } = changes;
        if !changes.iter().all(|change| matches!(change, Change::Put(_))) {
            return Ok(Taken::Usual(Changes { row, changes }));
        }
        let puts =
            changes.into_iter().filter_map(|change| if let Change::Put(put) = change { Some(put) } else { None });
        Ok(match load.put(&row, puts.collect::<Vec<PutCell>>())? {
            None => Taken::Loaded,
            Some(puts) => Taken::Usual(Changes { row, changes: puts.into_iter().map(Change::Put).collect() }),
        })
    }

    /// Whether what is gathered should be stored.
    pub fn is_full(&self) -> bool {
        self.gathered.as_ref().is_some_and(|load| load.is_full())
    }

    /// Stores what is gathered, which goes up to a place, while the `next` one is gathered.
    pub fn store(&mut self, upto: Reached, next: impl FnOnce() -> Result<Option<Box<dyn BulkLoad>>>) -> Result<()> {
        self.wait()?;
        let Some(mut load) = self.gathered.take() else { return Ok(()) };
        let next = match self.spare.take() {
            Some(spare) => Some(spare),
            None => next()?,
        };
        let stored = move || {
            let committed = load.commit();
            (load, committed)
        };
        let thread = std::thread::Builder::new().name("cellfs-load".into()).spawn(stored);
        let thread = thread.map_err(|e| Error::io("start a thread", &e))?;
        self.under_way = Some(UnderWay { thread, upto });
        (self.is_over, self.gathered) = (next.is_none(), next);
        if self.is_over { self.wait() } else { Ok(()) }
    }

    /// Stores all of it, which goes up to a place.
    pub fn finish(&mut self, upto: Reached) -> Result<()> {
        self.wait()?;
        if let Some(load) = &mut self.gathered {
            load.commit()?;
        }
        self.stored = Some(upto);
        Ok(())
    }

    /// As [`Loads::finish`], and nothing more goes this way.
    pub fn end(&mut self, upto: Reached) -> Result<()> {
        self.finish(upto)?;
        (self.is_over, self.gathered, self.spare) = (true, None, None);
        Ok(())
    }

    /// Up to where all is in the store, if more is than when this was asked before; also where a load has failed since.
    pub fn stored(&mut self) -> Option<Reached> {
        self.stored.take()
    }

    fn wait(&mut self) -> Result<()> {
        let Some(UnderWay { thread, upto }) = self.under_way.take() else { return Ok(()) };
        let broken = |_| Error::new(ErrorKind::Io, "the thread that stores has ended by a fault of the program");
        let (load, stored) = thread.join().map_err(broken)?;
        stored?;
        (self.spare, self.stored) = (Some(load), Some(upto));
        Ok(())
    }
}

impl Drop for Loads {
    fn drop(&mut self) {
        // It is done before anybody who opened the store closes it.
        let _ = self.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::super::reached::Position;
    use super::*;
    use crate::model::RowKey;

    /// A load that holds nothing, and is stored or not.
    struct Fake {
        fails: bool,
    }

    impl BulkLoad for Fake {
        fn put(&mut self, _: &RowKey, _: Vec<PutCell>) -> Result<Option<Vec<PutCell>>> {
            Ok(None)
        }

        fn is_full(&self) -> bool {
            true
        }

        fn commit(&mut self) -> Result<()> {
            if self.fails { Err(Error::new(ErrorKind::NoSpace, "no room")) } else { Ok(()) }
        }
    }

    fn line(lines: u64) -> Reached {
        Reached { at: Position { bytes: lines * 10, lines, ..Position::default() }, ..Reached::default() }
    }

    #[test]
    fn what_one_load_has_stored_is_told_where_the_next_one_fails() {
        let load = |fails: bool| Some(Box::new(Fake { fails }) as Box<dyn BulkLoad>);
        let first = || Loads { gathered: load(false), under_way: None, spare: None, stored: None, is_over: false };
        let mut loads = first();
        loads.store(line(3), || Ok(load(true))).unwrap();
        assert_eq!(loads.finish(line(5)).unwrap_err().kind, ErrorKind::NoSpace);
        assert_eq!(loads.stored(), Some(line(3)));
        let mut loads = first();
        loads.store(line(3), || Ok(load(false))).unwrap();
        let none = loads.store(line(5), || Err(Error::new(ErrorKind::NoSpace, "no room")));
        assert!(none.is_ok(), "the first one is taken again");
        loads.finish(line(7)).unwrap();
        assert_eq!((loads.stored(), loads.stored()), (Some(line(7)), None));
    }
}
