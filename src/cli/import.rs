//! import: a file, or standard input, into a table.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use super::Answer;
use super::args::ImportArgs;
use super::cells::await_input;
use super::export::format_of;
use super::given::{self, open, wrong};
use super::import_progress::{Keeper, Kept, place_of, store_mark};
use super::import_source::{Source, Types};
use super::key::recipe;
use super::output::Output;
use super::progress::Progress;
use crate::backend::Backend;
use crate::bulk::{
    Bad, Columns, Empty, FORMATS, Format, Import, Plan, Position, Rows, Tally, import_mtime, import_time, refusal,
    unended_line,
};
use crate::model::{TableName, Timestamp};
use crate::{Error, ErrorKind, Result};

/// Bytes that are read at once.
const PIECE: usize = 256 << 10;
/// Rows of a Parquet file that are read between two looks at the progress.
const ROWS: usize = 1000;
/// Longest record.
const RECORD_MAX: usize = 256 << 20;
/// How often progress is kept, and after how many bytes at the latest.
const KEPT_EVERY: Duration = Duration::from_secs(1);
const KEPT_BYTES: usize = 64 << 20;

pub fn import(args: &ImportArgs, json: bool) -> Result<Answer> {
    if args.file.as_os_str() == "-" {
        await_input()?;
    }
    let (backend, table) = open(&args.store, &args.table)?;
    let mut source = Source::open(&args.file)?;
    let mut keeper = resumed(args, backend.as_ref(), &table, &mut source)?;
    let plan = plan(args, backend.as_ref(), table.clone(), keeper.as_ref())?;
    let types = Types::read(args.schema.as_deref().filter(|_| plan.format == Format::Parquet))?;
    check_types(&types, keeper.as_ref())?;
    if let (Source::File(file, name, _), None) = (&mut source, &keeper) {
        let kept = Kept { types: types.mark(), ..kept(args, backend.as_ref(), &plan) };
        keeper = Some(Keeper::new(place_of(name, &table), kept, (file, name))?);
    }
    if plan.format == Format::Parquet {
        source = source.into_rows(plan.columns.clone(), &types, plan.from.lines)?;
    }
    let rejects = Rejects::open(&args.on_error, &args.file, keeper.as_ref().and_then(|one| one.kept.rejects.as_ref()))?;
    let import = Import::new(Arc::clone(&backend), plan)?;
    let mut run = Run { backend, import, keeper, rejects, kept_at: Instant::now(), keeps: true };
    if let Err(e) = run.all(&mut source) {
        return Err(run.stopped(e.context(args.file.display()), args.resume));
    }
    if let Some(keeper) = &run.keeper {
        keeper.remove();
    }
    let tally = run.import.tally();
    let tally = run.keeper.as_ref().map_or(tally, |keeper| keeper.totals(tally));
    // A file may well end so; of a stream nobody can look.
    let unended = run.import.unended().filter(|_| matches!(source, Source::Stream(_)));
    summary(tally, unended, json)?;
    Ok(if tally.bad > 0 { Answer::No } else { Answer::Yes })
}

/// What was done; `unended`: the last line, which may be cut off.
fn summary(Tally { rows, cells, bad, comes_back }: Tally, unended: Option<u64>, json: bool) -> Result<()> {
    let mut output = Output::new();
    if json {
        let mut object = json!({ "rows": rows, "cells": cells, "bad": bad });
        if let Some(line) = unended {
            object["unended_line"] = json!(line);
        }
        output.json(&object)?;
    } else {
        let bad = if bad > 0 { format!("; {bad} lines were not taken") } else { String::new() };
        let cut = unended.map_or_else(String::new, |line| format!("; {}", unended_line(line)));
        let most = if comes_back { "at most " } else { "" };
        output.line(&format!("imported {cells} cells of {most}{rows} rows{bad}{cut}"))?;
    }
    output.finish()
}

/// How far the import came that `--resume` goes on with; the source is read up to there.
fn resumed(args: &ImportArgs, backend: &dyn Backend, table: &TableName, source: &mut Source) -> Result<Option<Keeper>> {
    match source {
        Source::File(_, name, _) if !args.resume => {
            if place_of(name, table).exists() {
                let shown = name.display();
                super::complain(&format!(
                    "an import of {shown} into {table} was stopped: this one begins anew, and what is imported already \
                     gets another version; --resume goes on where that one was"
                ));
            }
            Ok(None)
        }
        _ if !args.resume => Ok(None),
        Source::File(file, name, _) => {
            let mut keeper = Keeper::load(place_of(name, table), name)?;
            if keeper.kept.store != store_mark(&backend.hash_key()) {
                return Err(wrong("the import that was stopped went into another store; begin without --resume"));
            }
            keeper.pass(file, name)?;
            Ok(Some(keeper))
        }
        Source::Stream(_) | Source::Rows(_) => {
            Err(wrong("--resume goes on in a file; a stream has no beginning to go back to"))
        }
    }
}

fn plan(args: &ImportArgs, backend: &dyn Backend, table: TableName, kept: Option<&Keeper>) -> Result<Plan> {
    let names: Vec<Vec<u8>> = args.columns.iter().map(|name| given::bytes(name)).collect();
    let columns = if names.is_empty() { None } else { Some(Columns::parse(&names)?) };
    let format = match (args.format, kept) {
        (Some(format), _) => Format::from(format),
        (None, Some(keeper)) => named(&keeper.kept.format)?,
        (None, None) => match format_of(&args.file) {
            Some(format) => format,
            None if args.file.as_os_str() == "-" => Format::Jsonl,
            None => {
                return Err(wrong(
                    "the name of the file says no format; give one with --format jsonl|json|csv|tsv|parquet",
                ));
            }
        },
    };
    if columns.is_some() && !format.needs_columns() {
        return Err(wrong("--columns goes with csv and tsv, and with parquet: lines of JSON name their columns"));
    }
    let empty = if args.keep_empty { Empty::Value } else { Empty::Absent };
    if let Some(keeper) = kept {
        let other = keeper.kept.format != format.name()
            || keeper.kept.keep_empty != args.keep_empty
            || keeper.kept.key != args.key.key
            || columns.is_some() && columns != keeper.kept.columns
            || args.timestamp.is_some_and(|at| at != keeper.kept.timestamp);
        if other {
            return Err(wrong(
                "the import that was stopped had another --format, --columns, --keep-empty, --key or --timestamp",
            ));
        }
    }
    let time = match (args.timestamp, kept) {
        (Some(at), _) if (0..=Timestamp::MAX.0).contains(&at) => Timestamp(at),
        (Some(at), _) => {
            let text = format!("timestamp {at}: 0 to {} is allowed", Timestamp::MAX);
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        }
        (None, Some(keeper)) => keeper.time(),
        (None, None) => import_time(backend, &table)?,
    };
    let mtime = if args.timestamp.is_none() { import_mtime(backend, time) } else { None };
    let columns = kept.and_then(|keeper| keeper.kept.columns.clone()).or(columns);
    let from = kept.map_or_else(Position::default, Keeper::position);
    let recipe = args.key.key.then(|| recipe(backend, &table)).transpose()?;
    Ok(Plan { table, format, columns, empty, time, mtime, recipe, record_max: RECORD_MAX, from })
}

/// Numbers of one file become counters in all of its runs, or in none.
fn check_types(types: &Types, kept: Option<&Keeper>) -> Result<()> {
    if kept.is_some_and(|keeper| keeper.kept.types != types.mark()) {
        return Err(wrong("the import that was stopped had another --schema"));
    }
    Ok(())
}

fn named(name: &str) -> Result<Format> {
    let found = FORMATS.iter().find(|(known, _)| *known == name).map(|(_, format)| *format);
    found.ok_or_else(|| wrong("the import that was stopped had a format that this release lacks"))
}

fn kept(args: &ImportArgs, backend: &dyn Backend, plan: &Plan) -> Kept {
    Kept {
        version: 0,
        store: store_mark(&backend.hash_key()),
        format: plan.format.name().to_owned(),
        columns: plan.columns.clone(),
        keep_empty: args.keep_empty,
        key: args.key.key,
        types: None,
        timestamp: plan.time.0,
        bytes: 0,
        lines: 0,
        array: plan.from.array,
        digest: 0,
        rows: 0,
        cells: 0,
        bad: 0,
        comes_back: false,
        rejects: None,
    }
}

/// What becomes of lines that cannot be taken.
enum Rejects {
    Stop,
    /// Of this input.
    Skip(PathBuf),
    /// Of this input: the file that takes them.
    File(PathBuf, PathBuf, BufWriter<File>, u64),
}

impl Rejects {
    /// A file takes them at its end. `kept`: which one had how many bytes when the progress was kept; what came later comes
    /// again.
    fn open(given: &OsStr, input: &Path, kept: Option<&(String, u64)>) -> Result<Self> {
        match given.as_bytes() {
            b"stop" => return Ok(Self::Stop),
            b"skip" => return Ok(Self::Skip(input.to_owned())),
            _ => {}
        }
        let path = PathBuf::from(given);
        if path.canonicalize().is_ok_and(|path| input.canonicalize().is_ok_and(|input| input == path)) {
            return Err(wrong("--on-error names the file that is read; lines that are not taken go to another one"));
        }
        let mut bytes = 0;
        let mut open = || {
            let mut file = File::options().write(true).create(true).truncate(false).open(&path)?;
            if file.metadata()?.is_file() {
                if let Some((_, len)) = kept.filter(|(name, len)| *name == shown(&path) && *len < len_of(&file)) {
                    file.set_len(*len)?;
                }
                bytes = file.seek(SeekFrom::End(0))?;
            }
            Ok(file)
        };
        let file = open().map_err(|e: std::io::Error| Error::io(path.display(), &e))?;
        Ok(Self::File(input.to_owned(), path, BufWriter::new(file), bytes))
    }

    fn take(&mut self, bad: &Bad<'_>) -> Result<()> {
        match self {
            Self::Stop => Err(refusal(bad)),
            Self::Skip(input) => {
                tell(input, bad);
                Ok(())
            }
            Self::File(input, path, file, bytes) => {
                tell(input, bad);
                *bytes += bad.record.len() as u64 + 1;
                let written = file.write_all(bad.record).and_then(|()| file.write_all(b"\n"));
                written.map_err(|e| Error::io(path.display(), &e))
            }
        }
    }

    /// The file and its bytes, which are on the disk.
    fn sync(&mut self) -> Result<Option<(String, u64)>> {
        let Self::File(_, path, file, bytes) = self else { return Ok(None) };
        let synced = file.flush().and_then(|()| file.get_ref().sync_data());
        synced
            .or_else(|e| if file.get_ref().metadata().is_ok_and(|is| is.is_file()) { Err(e) } else { Ok(()) })
            .map_err(|e| Error::io(path.display(), &e))?;
        Ok(Some((shown(path), *bytes)))
    }
}

/// As where it ends the import: with the name of the input.
fn tell(input: &Path, bad: &Bad<'_>) {
    super::complain(&format!("{}: {}", input.display(), bad.sentence()));
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn len_of(file: &File) -> u64 {
    file.metadata().map_or(0, |there| there.len())
}

/// An import under way.
struct Run {
    backend: Arc<dyn Backend>,
    import: Import,
    keeper: Option<Keeper>,
    rejects: Rejects,
    kept_at: Instant,
    /// Whether the progress can be kept.
    keeps: bool,
}

impl Run {
    fn all(&mut self, source: &mut Source) -> Result<()> {
        let len = if let Source::File(_, _, len) = source { Some(*len) } else { None };
        let progress = Progress::flow(len);
        progress.set(self.import.done().bytes);
        if let Source::Rows(rows) = source {
            return self.rows(rows, &progress);
        }
        let mut buffer = vec![0; PIECE];
        // Before the first line is stored: what is read again after a kill is given the same timestamp.
        if len.is_some_and(|len| len > PIECE as u64) {
            self.keep();
        }
        loop {
            let read = source.read(&mut buffer).map_err(|e| Error::io("read", &e))?;
            if read == 0 {
                break;
            }
            if let Some(keeper) = &mut self.keeper {
                keeper.give(&buffer[..read], self.import.done());
            }
            let rejects = &mut self.rejects;
            self.import.feed(&buffer[..read], &mut |bad| rejects.take(bad))?;
            progress.add(read as u64);
            progress.say(&format!("{} rows", self.import.tally().rows));
            let is_due = self.kept_at.elapsed() >= KEPT_EVERY;
            if is_due || self.keeper.as_ref().is_some_and(|keeper| keeper.unkept() > KEPT_BYTES) {
                self.write()?;
                self.keep();
            }
        }
        let rejects = &mut self.rejects;
        self.import.finish(&mut |bad| rejects.take(bad))?;
        rejects.sync()?;
        self.backend.sync()
    }

    fn rows(&mut self, rows: &mut Rows, progress: &Progress) -> Result<()> {
        // Order: as with bytes, before the first row is stored.
        if rows.left() > ROWS as u64 {
            self.keep();
        }
        while self.feed_rows(rows)? {
            progress.say(&format!("{} rows", self.import.tally().rows));
            if self.kept_at.elapsed() >= KEPT_EVERY {
                self.write()?;
                self.keep();
            }
        }
        self.write()?;
        self.rejects.sync()?;
        self.backend.sync()
    }

    fn feed_rows(&mut self, rows: &mut Rows) -> Result<bool> {
        let rejects = &mut self.rejects;
        self.import.feed_rows(rows, ROWS, &mut |bad| rejects.take(bad))
    }

    fn write(&mut self) -> Result<()> {
        let rejects = &mut self.rejects;
        self.import.write(&mut |bad| rejects.take(bad))
    }

    /// Keeps how far it has come. Where that cannot be, it is said once, and the import goes on.
    fn keep(&mut self) {
        let Some(keeper) = self.keeper.as_mut().filter(|_| self.keeps) else { return };
        // Order: what it says is done is on the disk before.
        let kept =
            self.backend.sync().and_then(|()| self.rejects.sync()).and_then(|kept| keeper.keep(&self.import, kept));
        if let Err(e) = kept {
            let resumes = match keeper.behind() {
                Some(behind) => format!("--resume will go on behind {behind}, which was kept before"),
                None => "--resume will not go on".to_owned(),
            };
            super::complain(&format!("{}: how far the import has come is not kept any more: {resumes}", e.message));
            self.keeps = false;
        }
        self.kept_at = Instant::now();
    }

    /// It has ended by an error: keeps how far it came, and says how it goes on.
    fn stopped(&mut self, e: Error, is_resumed: bool) -> Error {
        // Of what has not begun there is nothing to go on with.
        let has_begun = is_resumed || self.import.done() != Position::default();
        if has_begun {
            self.keep();
        } else if let Some(keeper) = &self.keeper {
            keeper.remove();
        }
        let goes_on = has_begun && self.keeper.as_ref().is_some_and(|keeper| keeper.behind().is_some());
        let way = if goes_on { "go on with --resume" } else { "import again" };
        let skip = match e.kind {
            ErrorKind::IllegalArgument => "; --on-error skip leaves such lines out",
            _ => "",
        };
        Error::new(e.kind, format!("{}. Mend what is wrong, and {way}{skip}", e.message))
    }
}
