//! Files that are made while they are read, with constant memory: a thread makes them and waits for the reader.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::env::sync::{Mutex, spawn};
use crate::fs::base::Fs;
use crate::fs::bytes::held_text::HeldText;
use crate::fs::handles::table::{Handle, Opened, Streamed, TextHandle};
use crate::fs::nodes::node::Node;
use crate::fs::shown::known;
use crate::model::TableName;
use crate::tree::asking::count;
use crate::tree::asking::export::export;
use crate::tree::place::{NodeKey, Place, TableNoun};
use crate::tree::texts::qualifiers;
use crate::{Error, ErrorKind, Result};

/// Pieces that wait for the reader.
const AHEAD: usize = 4;
/// Bytes of one at most, about as many as a read takes: what is made at once may be a row of large values.
const PIECE: usize = 128 << 10;
/// Streams that are read at once: each has a thread.
const STREAMS: usize = 64;

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Makes the bytes of a stream.
type Make = Box<dyn FnOnce(&Maker) -> Result<()> + Send>;

/// Takes the bytes as they are made.
pub struct Maker {
    sender: Sender<Result<Vec<u8>>>,
    is_closed: Arc<AtomicBool>,
}

impl Maker {
    /// Whether somebody still reads.
    pub fn is_wanted(&self) -> bool {
        !self.is_closed.load(Ordering::Relaxed)
    }

    /// Gives bytes to the reader, and waits while it has many; whether it still reads.
    pub fn give(&self, bytes: &[u8]) -> bool {
        bytes.chunks(PIECE).all(|piece| self.sender.send(Ok(piece.to_vec())).is_ok())
    }
}

struct State {
    /// What makes it, until the first read.
    make: Option<(Make, Maker)>,
    piece: Vec<u8>,
    /// Bytes of the piece that were read.
    at: usize,
    /// Bytes that were read of all.
    passed: u64,
}

/// One open stream.
struct Stream {
    state: Mutex<State>,
    pieces: Receiver<Result<Vec<u8>>>,
    is_closed: Arc<AtomicBool>,
}

impl Stream {
    fn new(make: Make) -> Result<Self> {
        if OPEN.fetch_add(1, Ordering::Relaxed) >= STREAMS {
            OPEN.fetch_sub(1, Ordering::Relaxed);
            return Err(Error::new(
                ErrorKind::TooMany,
                format!("{STREAMS} of these files are read at once; close some"),
            ));
        }
        let (sender, pieces) = bounded(AHEAD);
        let is_closed = Arc::new(AtomicBool::new(false));
        let maker = Maker { sender, is_closed: Arc::clone(&is_closed) };
        let state = State { make: Some((make, maker)), piece: Vec::new(), at: 0, passed: 0 };
        Ok(Self { state: state.into(), pieces, is_closed })
    }
}

impl Streamed for Stream {
    fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let mut state = self.state.lock();
        if let Some((make, maker)) = state.make.take() {
            let run = move || {
                if let Err(e) = make(&maker) {
                    // Nobody reads any more.
                    drop(maker.sender.send(Err(e)));
                }
            };
            spawn("cellfs-stream", run).map_err(|e| Error::io("start a thread for a file that is made", &e))?;
        }
        if offset != state.passed {
            let text = "this file is made while it is read: it is read from its beginning to its end, once an opening";
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        }
        while state.at == state.piece.len() {
            match self.pieces.recv() {
                Ok(piece) => (state.piece, state.at) = (piece?, 0),
                // All was made.
                Err(_) => return Ok(Vec::new()),
            }
        }
        let rest = &state.piece[state.at..];
        let read = rest[..len.min(rest.len())].to_vec();
        state.at += read.len();
        state.passed += read.len() as u64;
        Ok(read)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::Relaxed);
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether a file is made while it is read. Where that cannot be told the text is asked for, which says why.
pub fn is_made_as_read(fs: &Fs, place: &Place) -> bool {
    match place {
        Place::Count(_) | Place::Export(..) => true,
        Place::TableInfo(table, TableNoun::Qualifiers) => {
            qualifiers::are_made_as_read(fs.tree.backend.as_ref(), table).is_ok_and(|are| are)
        }
        _ => false,
    }
}

pub fn open_stream(fs: &Fs, node: Arc<Node>, key: &NodeKey) -> Result<Opened> {
    let tree = known::tree_of_open(fs, key)?;
    let make: Make = match &key.place {
        Place::Count(base) => {
            let of = key.sibling(base.as_ref().clone());
            Box::new(move |maker| {
                let count = count::count(&tree, &of, &|| maker.is_wanted())?;
                maker.give(format!("{count}\n").as_bytes());
                Ok(())
            })
        }
        Place::Export(base, format) => {
            let (node, base, format) = (Arc::clone(&node), Arc::clone(base), *format);
            Box::new(move |maker| {
                // Its table may have another name by the first read.
                let key = node.key();
                let of = if let Place::Export(base, _) = &key.place { base } else { &base };
                export(&tree, &key.sibling(of.as_ref().clone()), format, &|bytes| maker.give(bytes))
            })
        }
        Place::TableInfo(table, TableNoun::Qualifiers) => {
            let table = Arc::clone(table);
            Box::new(move |maker| qualifiers::make(tree.backend.as_ref(), &table, &|bytes| maker.give(bytes)))
        }
        _ => return Err(Error::new(ErrorKind::NotFound, "nothing is made here")),
    };
    add_stream(fs, node, Box::new(Stream::new(make)?))
}

fn add_stream(fs: &Fs, node: Arc<Node>, stream: Box<dyn Streamed>) -> Result<Opened> {
    let text = TextHandle { streams: Some(stream), ..TextHandle::new(node, HeldText::default(), None) };
    let handle = fs.handles.add(Handle::Text(Arc::new(text)))?;
    Ok(Opened { handle, keep_cache: false, no_flush: true, direct: true })
}

pub fn open_feed(fs: &Fs, node: Arc<Node>, table: &TableName) -> Result<Opened> {
    let reader = fs.feeds.follow(&fs.tree.backend, table)?;
    add_stream(fs, node, Box::new(reader))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_at_once_is_read_in_small_pieces() {
        let made: Vec<u8> = (0..PIECE * 5 / 2).map(|at| (at % 251) as u8).collect();
        let given = made.clone();
        let stream = Stream::new(Box::new(move |maker| {
            maker.give(&given);
            Ok(())
        }));
        let stream = stream.unwrap();
        let mut found = Vec::new();
        loop {
            let read = stream.read(found.len() as u64, 1000).unwrap();
            assert!(stream.state.lock().piece.len() <= PIECE, "a read has to do with one piece");
            if read.is_empty() {
                break;
            }
            found.extend(read);
        }
        assert!(found == made);
        assert_eq!(stream.read(0, 1).unwrap_err().kind, ErrorKind::IllegalArgument);
    }
}
