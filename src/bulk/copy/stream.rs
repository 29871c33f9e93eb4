//! Cells of a scan, pulled: a thread reads ahead by some parts.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, bounded};

use crate::backend::Backend;
use crate::model::{Cell, Cells, Piece, RowKey, Scan};
use crate::{Error, ErrorKind, Result};

/// Bytes that are given on at once.
pub const PART: usize = 256 << 10;
/// Parts that wait.
const WAITING: usize = 2;
/// Bytes that a cell takes besides its value, about.
const AROUND: usize = 100;

/// What comes.
pub enum Item {
    Cell(Arc<RowKey>, Cell),
    /// All cells of a row have come.
    End(Arc<RowKey>),
}

/// See the module. The thread ends when this is dropped.
pub struct Stream {
    parts: Receiver<Result<Vec<Item>>>,
    ready: std::vec::IntoIter<Item>,
    /// Taken when it has ended.
    thread: Option<JoinHandle<()>>,
}

impl Stream {
    pub fn open(backend: &Arc<dyn Backend>, scan: Scan) -> Result<Self> {
        let (sender, parts) = bounded(WAITING);
        let backend = Arc::clone(backend);
        let read = move || {
            let (mut row, mut cells, mut part, mut bytes) = (Arc::default(), Cells::default(), Vec::new(), 0);
            let gone = |_| Error::new(ErrorKind::Disconnected, "nobody wants more");
            let done = backend.scan_pieces(&scan, &mut |piece| {
                match piece {
                    Piece::Row(key) => row = Arc::new(key.clone()),
                    Piece::End => part.push(Item::End(Arc::clone(&row))),
                    piece => {
                        if let Some(cell) = cells.take(piece) {
                            bytes += cell.value.len() + cell.qualifier.len() + AROUND;
                            part.push(Item::Cell(Arc::clone(&row), cell));
                        }
                    }
                }
                if bytes < PART {
                    return Ok(());
                }
                bytes = 0;
                sender.send(Ok(std::mem::take(&mut part))).map_err(gone)
            });
            // Who has gone does not listen.
            let _ = sender.send(Ok(part));
            if let Err(e) = done {
                let _ = sender.send(Err(e));
            }
        };
        let thread = std::thread::Builder::new().name("copy".into()).spawn(read);
        let thread = thread.map_err(|e| Error::io("start a thread that reads", &e))?;
        Ok(Self { parts, ready: Vec::new().into_iter(), thread: Some(thread) })
    }

    /// The next; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Item>> {
        loop {
            if let Some(item) = self.ready.next() {
                return Ok(Some(item));
            }
            match self.parts.recv() {
                Ok(part) => self.ready = part?.into_iter(),
                Err(_) => return self.end().map(|()| None),
            }
        }
    }

    /// Nothing more comes: that is all, unless the thread has ended by a fault.
    fn end(&mut self) -> Result<()> {
        let broken = |_| Error::new(ErrorKind::Io, "the thread that reads has ended by a fault of the program");
        self.thread.take().map_or(Ok(()), |thread| thread.join().map_err(broken))
    }

    /// The next cell, of whichever row.
    pub fn next_cell(&mut self) -> Result<Option<Cell>> {
        while let Some(item) = self.next()? {
            if let Item::Cell(_, cell) = item {
                return Ok(Some(cell));
            }
        }
        Ok(None)
    }
}
