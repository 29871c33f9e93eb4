//! watch: changes as they are committed.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Answer;
use super::args::WatchArgs;
use super::given::{self, Subject, wrong};
use super::output::{Output, wait_for_reader};
use super::path::{is_inside, resolve};
use crate::backend::{Backend, Change, ChangesPage, ChangesQuery, Committed};
use crate::bulk::change_lines;
use crate::daemon::find::serving as sockets;
use crate::daemon::mounts::locate;
use crate::daemon::{Absent, open_backend};
use crate::model::{CellKind, SeqNo, Timestamp, to_string_binary};
use crate::tree::names::times;
use crate::tree::place::Place;
use crate::{Error, ErrorKind, Result};

/// How often it is asked what has come.
const INTERVAL: Duration = Duration::from_millis(200);
/// How long a daemon that has ended is waited for: its service manager may start it again.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where to begin.
#[derive(PartialEq, Eq)]
enum Since {
    Now,
    After(SeqNo),
    /// Behind so many changes of a commit.
    Within(SeqNo, usize),
    Time(Timestamp),
}

impl Since {
    /// The last commit of which nothing is told.
    fn after(&self) -> SeqNo {
        match self {
            Self::After(number) => *number,
            Self::Within(number, _) => SeqNo(number.0 - 1),
            Self::Now | Self::Time(_) => SeqNo(0),
        }
    }

    fn of(text: Option<&str>, now: Timestamp) -> Result<Self> {
        let Some(text) = text else { return Ok(Self::Now) };
        if let Ok(number) = text.parse() {
            return Ok(Self::After(SeqNo(number)));
        }
        let within = text.split_once(':').and_then(|(number, part)| Some((number.parse().ok()?, part.parse().ok()?)));
        if let Some((number, part)) = within.filter(|(number, _)| *number > 0) {
            return Ok(Self::Within(SeqNo(number), part));
        }
        times::parse_time(text, now).map(Self::Time).ok_or_else(|| {
            wrong(&format!(
                "`{text}` is neither the number of a change, NUMBER or NUMBER:PART, nor a time: {}",
                times::FORMS
            ))
        })
    }
}

pub fn watch(args: &WatchArgs, json: bool) -> Result<Answer> {
    let (mut backend, mut query) = asked(args)?;
    let store = locate::store_directory(&args.store)?;
    let is_mounted = sockets::serving(&store)?.is_some();
    let since = Since::of(args.since.as_deref(), backend.now())?;
    let mut page = first_page(backend.as_ref(), &mut query, &since, &store)?;
    let mut earliest = if let Since::Time(time) = since { Some(time) } else { None };
    let passed = |committed: &Committed| match since {
        Since::Within(number, part) if committed.seq == number => part,
        _ => 0,
    };
    loop {
        show(&page, &mut earliest, &passed, json)?;
        query.after = page.upto;
        if page.is_last {
            if args.once {
                return Ok(Answer::Yes);
            }
            if !is_mounted {
                eprintln!("cellfs: {} is not mounted: that is all; mount it to follow what comes", store.display());
                return Ok(Answer::Yes);
            }
            wait_for_reader(INTERVAL)?;
        }
        page = next_page(&mut backend, &store, &query)?;
        if page.gone > query.after {
            return Err(gone(query.after, page.gone, &store));
        }
    }
}

/// What the arguments ask for, without a beginning.
fn asked(args: &WatchArgs) -> Result<(Arc<dyn Backend>, ChangesQuery)> {
    let row_prefix = args.prefix.as_ref().map(|prefix| given::bytes(prefix)).unwrap_or_default();
    let mut query = ChangesQuery { row_prefix, ..ChangesQuery::default() };
    if args.rest.is_empty() && (!is_inside(&args.store)? || resolve(&args.store)?.1 == Place::Root) {
        return Ok((open_backend(&args.store, Absent::Refuse)?, query));
    }
    let (subject, columns) = Subject::of(&args.store, &args.rest)?;
    if let Some(row) = subject.row {
        if !query.row_prefix.is_empty() {
            return Err(wrong("--prefix is of a table's rows: the path names a row"));
        }
        query.row = Some(row);
    }
    query.columns = subject.columns;
    for column in &columns {
        query.columns.push(super::cells::split_column(column)?);
    }
    let catalogue = subject.backend.catalogue()?;
    let table = catalogue
        .tables
        .get(&subject.table)
        .ok_or_else(|| Error::new(ErrorKind::NoSuchTable, format!("table {} does not exist", subject.table)))?;
    if let Some((family, _)) = query.columns.iter().find(|(family, _)| !table.families.contains_key(family)) {
        let text = format!("table {} has no family {family}", subject.table);
        return Err(Error::new(ErrorKind::NoSuchFamily, text));
    }
    query.table = Some(subject.table);
    Ok((subject.backend, query))
}

/// The first changes, or none yet; refused where some of what is asked for is not in the log any more.
fn first_page(backend: &dyn Backend, query: &mut ChangesQuery, since: &Since, store: &Path) -> Result<ChangesPage> {
    match since {
        Since::Now => {
            // To the end of what there is: its number alone.
            let mut all = ChangesQuery { after: SeqNo(backend.status()?.synced_seq), ..query.clone() };
            loop {
                let page = backend.changes(&all)?;
                if page.is_last {
                    return Ok(ChangesPage { committed: Vec::new(), ..page });
                }
                all.after = page.upto;
            }
        }
        Since::After(_) | Since::Within(..) => {
            let number = since.after();
            let last = backend.status()?.last_seq;
            if number.0 > last {
                let text = format!(
                    "no change has the number {} yet, the last one has {last}: is that the store whose changes were followed?",
                    number.0
                );
                return Err(Error::new(ErrorKind::NotFound, text));
            }
            query.after = number;
            let page = backend.changes(query)?;
            let is_gap = page.gone > number && *since != Since::After(SeqNo(0));
            if is_gap { Err(gone(number, page.gone, store)) } else { Ok(page) }
        }
        Since::Time(_) => {
            let page = backend.changes(query)?;
            if page.gone > SeqNo(0) {
                super::complain(&format!(
                    "changes up to number {} are not in the log any more: what of them came after that time is not told",
                    page.gone.0
                ));
            }
            Ok(page)
        }
    }
}

/// What a consumer has missed, and what to do.
fn gone(after: SeqNo, gone: SeqNo, store: &Path) -> Error {
    let text = format!(
        "the changes after number {} up to {} are not in the log any more: read the table anew and go on with --since {}; \
         `cellfs config {} changes_retain 1G` keeps more of them from now on",
        after.0,
        gone.0,
        gone.0,
        store.display()
    );
    Error::new(ErrorKind::NotFound, text)
}

/// The next changes; of a daemon that was started again, too.
fn next_page(backend: &mut Arc<dyn Backend>, store: &Path, query: &ChangesQuery) -> Result<ChangesPage> {
    let ended = |e: Error| match e.kind {
        ErrorKind::Disconnected => {
            let text = format!("the daemon of {} has ended; --since {} goes on here", store.display(), query.after.0);
            Error::new(ErrorKind::Disconnected, text)
        }
        _ => e,
    };
    let failed = match backend.changes(query) {
        Err(e) if e.kind == ErrorKind::Disconnected => e,
        done => return done,
    };
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        std::thread::sleep(INTERVAL);
        if let Ok(Some(client)) = sockets::serving(store) {
            *backend = Arc::new(client);
            return backend.changes(query).map_err(ended);
        }
    }
    Err(ended(failed))
}

/// Prints what is not before `earliest`, which is forgotten with the first change that is later; `passed`: how many changes
/// of a commit have been read already.
fn show(
    page: &ChangesPage,
    earliest: &mut Option<Timestamp>,
    passed: &dyn Fn(&Committed) -> usize,
    json: bool,
) -> Result<()> {
    let is_early = |committed: &Committed, time| committed.changes.iter().all(|change| change.timestamp < time);
    let mut output = Output::new();
    for committed in &page.committed {
        if earliest.is_some_and(|time| is_early(committed, time)) {
            continue;
        }
        *earliest = None;
        match json {
            true => change_lines(committed).skip(passed(committed)).try_for_each(|line| output.json(&line))?,
            false => {
                let mut changes = committed.changes.iter().skip(passed(committed));
                changes.try_for_each(|change| output.line(&line(committed.seq, change)))?;
            }
        }
    }
    output.finish()
}

/// `SEQ TABLE ROW COLUMN TIMESTAMP VALUE`, separated by tabs; of a deleted version that is kept, when it was in place of the
/// value.
fn line(seq: SeqNo, change: &Change) -> String {
    let Change { table, row, family, qualifier, timestamp, kind, value, len, deleted_at, .. } = change;
    let value = match (kind, deleted_at, value) {
        (CellKind::Tombstone(kind), ..) => format!("({})", kind.name()),
        (CellKind::Put, Some(at), _) => format!("(deleted {at})"),
        (CellKind::Put, None, Some(value)) => to_string_binary(value),
        (CellKind::Put, None, None) => format!("({len} bytes)"),
    };
    let (row, qualifier) = (to_string_binary(row), to_string_binary(qualifier));
    format!("{}\t{table}\t{row}\t{family}:{qualifier}\t{timestamp}\t{value}", seq.0)
}
