//! What is known of something that exists, and what is said of what does not.

use crate::model::{CellInfo, FileAttributes, FileTime, Timestamp};
use crate::{Error, ErrorKind};

/// What is known of something that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Facts {
    Dir,
    Cell(CellInfo),
    /// A file that only the mount knows: its length in bytes.
    Scratch {
        len: u64,
        mtime: FileTime,
        file: FileAttributes,
    },
    /// A small generated text.
    Text {
        bytes: Vec<u8>,
        mtime: FileTime,
        /// Of the cells that it shows.
        file: FileAttributes,
    },
}

impl Facts {
    /// A generated text that shows no cell.
    pub fn text(bytes: Vec<u8>, mtime: FileTime) -> Self {
        Self::Text { bytes, mtime, file: FileAttributes::default() }
    }
}

/// A generated text without a time of its own.
pub fn text(bytes: Vec<u8>) -> Facts {
    Facts::text(bytes, FileTime::from(Timestamp::ZERO))
}

pub fn absent(name: &[u8]) -> Error {
    let name = String::from_utf8_lossy(name).into_owned();
    Error::new(ErrorKind::IllegalArgument, format!("`{name}` can stand for nothing in this directory"))
}

pub fn no_snapshot(name: &[u8]) -> Error {
    let name = String::from_utf8_lossy(name).into_owned();
    Error::new(ErrorKind::IllegalArgument, format!("there is no snapshot `{name}`; `cellfs snapshot list` names all"))
}

pub fn misspelt(name: &[u8], canonical: &[u8]) -> Error {
    let (name, right) = (String::from_utf8_lossy(name), String::from_utf8_lossy(canonical));
    let text = format!("`{name}` is not how that key is spelt; write `{right}`");
    Error::new(ErrorKind::IllegalArgument, text)
}

pub fn wrong_timestamp(name: &[u8]) -> Error {
    let name = String::from_utf8_lossy(name).into_owned();
    let text = format!("`{name}`: a timestamp is 0 to {} without leading zeros", Timestamp::MAX);
    Error::new(ErrorKind::IllegalArgument, text)
}

/// The content of a key file.
pub fn key_text(key: &[u8]) -> Facts {
    Facts::text(key.to_vec(), FileTime::default())
}
