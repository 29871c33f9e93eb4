//! What the files of a journal say together: the records that either of a file and its copy has whole, in order.

use std::path::{Path, PathBuf};

use super::record::{self, Body, Place};
use super::state::State;
use crate::env::{Env, Partial};
use crate::format::StoreId;
use crate::{Error, ErrorKind, Result};

pub(super) const MAIN: &str = "edits";
pub(super) const COPY: &str = "copy";
/// Behind the names of files that have lost their end.
pub(super) const ASIDE: &str = "damaged";

/// Something that was not as it was written, and was made good from its other copy.
#[derive(Clone, Debug)]
pub struct Problem {
    pub path: PathBuf,
    pub offset: u64,
    pub text: String,
}

pub(super) fn path_of(dir: &Path, file: u64, extension: &str) -> PathBuf {
    dir.join(format!("{file:08}.{extension}"))
}

pub(super) fn io(what: &str, path: &Path, e: &std::io::Error) -> Error {
    Error::io(format!("{what} {}", path.display()), e)
}

/// The numbers of the journal files in a directory, ascending.
pub(super) fn numbers(env: &dyn Env, dir: &Path) -> Result<Vec<u64>> {
    let names = match env.list(dir) {
        Ok(names) => names,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(io("list", dir, &e)),
    };
    let number = |name: &String| {
        let (number, extension) = name.split_once('.')?;
        if extension == MAIN || extension == COPY { number.parse().ok() } else { None }
    };
    let mut found: Vec<u64> = names.iter().filter_map(number).collect();
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Whether a file is kept there that has lost its end.
fn has_aside(env: &dyn Env, dir: &Path) -> Result<bool> {
    let names = env.list(dir).map_err(|e| io("list", dir, &e))?;
    Ok(names.iter().any(|name| [MAIN, COPY].iter().any(|part| name.ends_with(&format!(".{part}.{ASIDE}")))))
}

/// What one file and its copy say together.
pub(super) struct Folded {
    pub(super) file: u64,
    pub(super) state: State,
    pub(super) base: u64,
    /// Every record up to here is whole in one of them.
    pub(super) end: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) problems: Vec<Problem>,
    /// Whether both have it all.
    pub(super) is_twofold: bool,
    /// The greatest edit that the files show to have been there; none is written before the one before it is on the disk.
    pub(super) shown: u64,
}

/// A file and its copy as far as they can be read, and what of them cannot.
fn read_both(env: &dyn Env, paths: &[PathBuf; 2]) -> Result<([Partial; 2], Vec<Problem>)> {
    let read = |path: &PathBuf| match Partial::read(env, path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Partial::default()),
        read => read.map_err(|e| io("read", path, &e)),
    };
    let both = match [read(&paths[0]), read(&paths[1])] {
        [Err(e), Err(_)] => return Err(e),
        both => both,
    };
    let problem = |(path, read): (&PathBuf, &Result<Partial>)| {
        let (offset, what) = match read {
            Ok(read) => (read.refused_in(0..usize::MAX)?, "it cannot be read here".to_owned()),
            Err(e) => (0, e.message.clone()),
        };
        let text = format!("{what}; its other copy is whole and takes its place");
        Some(Problem { path: path.clone(), offset, text })
    };
    let problems = paths.iter().zip(&both).filter_map(problem).collect();
    // One that cannot be read is as good as one that is not there, while the other can.
    Ok((both.map(Result::unwrap_or_default), problems))
}

/// What a file and its copy say; else, where neither has its beginning, the greatest edit of a whole record in them.
fn fold(env: &dyn Env, dir: &Path, store: &StoreId, file: u64) -> Result<std::result::Result<Folded, Option<u64>>> {
    let paths = [path_of(dir, file, MAIN), path_of(dir, file, COPY)];
    let (read, unread) = read_both(env, &paths)?;
    let both = read.each_ref().map(|read| &read.bytes);
    let mut folded: Option<Folded> = None;
    let mut at = 0usize;
    loop {
        let place = Place { store, file, offset: at as u64 };
        let found = both.map(|bytes| record::decode(place, bytes.get(at..).unwrap_or_default()));
        let lacking = found.iter().position(Option::is_none);
        let which = usize::from(found[0].is_none());
        let Some((number, body, len)) = found.into_iter().flatten().next() else { break };
        match (&mut folded, body) {
            (None, Body::Base(state)) if at == 0 => {
                let (base, problems) = (len as u64, Vec::new());
                let state = *state;
                let (bytes, is_twofold, shown) = (Vec::new(), true, 0);
                folded = Some(Folded { file, state, base, end: 0, bytes, problems, is_twofold, shown });
            }
            (Some(folded), Body::Edit(edit)) if number == folded.state.edit + 1 => folded.state.fold(&edit),
            _ => break,
        }
        let Some(folded) = &mut folded else { break };
        if let Some(lacks) = lacking {
            folded.is_twofold = false;
            let is_there = !read[lacks].bytes.is_empty() && read[lacks].refused_in(at..at + len).is_none();
            let is_read = is_there || unread.iter().all(|problem| problem.path != paths[lacks]);
            // An end that was not written to the second one yet is no damage.
            let record = &both[which][at..at + len];
            if is_read && (both[lacks].is_empty() || !is_begun(both[lacks].get(at..).unwrap_or_default(), record)) {
                let text = "it is damaged; its other copy is whole and takes its place".to_owned();
                folded.problems.push(Problem { path: paths[lacks].clone(), offset: at as u64, text });
            }
        }
        folded.bytes.extend_from_slice(&both[which][at..at + len]);
        at += len;
        folded.end = at as u64;
    }
    // What follows may have been acknowledged, and no copy says what it is.
    let unreadable = read.each_ref().map(|read| read.refused_in(at..usize::MAX));
    if let [Some(offset), Some(_)] = unreadable {
        let text = format!("{}, offset {offset}: neither it nor its copy can be read", paths[0].display());
        return Err(Error::new(ErrorKind::Io, text));
    }
    let behind = both.iter().filter_map(|bytes| last_behind(bytes, at, (store, file))).max();
    let Some(mut folded) = folded else { return Ok(Err(behind)) };
    folded.is_twofold &= both.iter().all(|bytes| bytes.len() == at);
    folded.problems.splice(..0, unread);
    // One has begun another edit, which the other may have lost.
    let is_begun = unreadable.iter().any(Option::is_some);
    folded.shown = (folded.state.edit + u64::from(is_begun)).max(behind.unwrap_or(0));
    Ok(Ok(folded))
}

/// The greatest number of a whole record behind a place where none is.
fn last_behind(bytes: &[u8], from: usize, (store, file): (&StoreId, u64)) -> Option<u64> {
    let rest = bytes.get(from..)?;
    let places = rest.windows(record::MAGIC.len()).enumerate().filter(|(_, four)| *four == record::MAGIC);
    let number = |at: usize| Some(record::decode(Place { store, file, offset: at as u64 }, &bytes[at..])?.0);
    places.filter_map(|(n, _)| number(from + n)).max()
}

/// Whether these bytes are what may have come of a record in the middle of its write.
fn is_begun(bytes: &[u8], record: &[u8]) -> bool {
    bytes.len() <= record.len() && bytes.iter().zip(record).all(|(found, wanted)| found == wanted || *found == 0)
}

/// The fold that reaches furthest; `None`: there is no journal.
pub(super) fn furthest(env: &dyn Env, dir: &Path, store: &StoreId) -> Result<Option<(Folded, Vec<u64>)>> {
    let found = numbers(env, dir)?;
    let (mut best, mut shown): (Option<Folded>, u64) = (None, 0);
    for file in &found {
        match fold(env, dir, store, *file)? {
            Ok(folded) if best.as_ref().is_none_or(|best| folded.state.edit > best.state.edit) => best = Some(folded),
            Ok(_) => {}
            // One that was begun and never finished has none.
            Err(behind) => shown = shown.max(behind.unwrap_or(0)),
        }
    }
    match best {
        Some(mut best) => {
            best.shown = best.shown.max(shown);
            if has_aside(env, dir)? {
                best.shown = u64::MAX;
            }
            let others = found.into_iter().filter(|file| *file != best.file).collect();
            Ok(Some((best, others)))
        }
        None if found.is_empty() => Ok(None),
        None => {
            let text = format!(
                "{}: the journal and its copy are both damaged from their beginning on; put back those of a backup",
                dir.display()
            );
            Err(Error::new(ErrorKind::Corrupt, text))
        }
    }
}
