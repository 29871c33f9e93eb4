//! export: a table, or a part of it, as a file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::Answer;
use super::args::ExportArgs;
use super::cells::scan_of;
use super::given::wrong;
use super::output::Output;
use super::progress::Progress;
use super::unfinished::Ends;
use crate::backend::Backend;
use crate::bulk::{FORMATS, Format, Out, Outline, check_columns, columns_of, history, writer};
use crate::model::row_key::{Recipe, fields_text};
use crate::model::{Piece, Scan, to_string_binary};
use crate::{Error, Result};

/// Bytes that are given on at once.
const GIVEN: usize = 64 << 10;

/// The format that a file's name says.
pub(super) fn format_of(path: &Path) -> Option<Format> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    match extension.as_str() {
        "ndjson" => Some(Format::Jsonl),
        "tab" => Some(Format::Tsv),
        name => FORMATS.iter().find(|(known, _)| *known == name).map(|(_, format)| *format),
    }
}

pub fn export(args: ExportArgs) -> Result<Answer> {
    let named = args.output.as_deref().and_then(format_of);
    let format = args.format.map(Format::from).or(named).unwrap_or(Format::Jsonl);
    if args.history && format != Format::Jsonl {
        return Err(wrong("only jsonl has room for the history: leave --format out, or name FILE .jsonl"));
    }
    if args.scan.by_key.by_key.is_some() {
        return Err(wrong("export goes in the order of the rows; --key writes their fields"));
    }
    let outline = args.schema.as_deref().map(|file| outline(file, format)).transpose()?;
    let (subject, scan) = scan_of(args.scan)?;
    if scan.read.raw && format != Format::Jsonl {
        return Err(wrong("only jsonl has room for tombstones and what they delete: leave --raw or --format out"));
    }
    let recipe = args.key.key.then(|| super::key::recipe(subject.backend.as_ref(), &subject.table)).transpose()?;
    let target = Target::open(args.output)?;
    let mut pipe = Pipe { target, progress: Progress::flow(None), rows: 0 };
    let backend = subject.backend.as_ref();
    match args.history {
        true => {
            let mut out = Out::new();
            history(backend, &scan, &mut out, &mut |out| pipe.give(out, GIVEN))?;
            pipe.give(&mut out, 0)?;
        }
        false => rows(backend, (&scan, recipe.as_ref()), (format, outline), &mut pipe)?,
    }
    drop(pipe.progress);
    pipe.target.finish()?;
    Ok(Answer::Yes)
}

/// What a schema file says.
pub(super) fn outline(file: &Path, format: Format) -> Result<Outline> {
    if format != Format::Parquet {
        return Err(wrong("--schema goes with parquet: no other format has types"));
    }
    let text = std::fs::read_to_string(file).map_err(|e| Error::io(file.display(), &e))?;
    Outline::parse(&text).map_err(|e| e.context(file.display()))
}

fn rows(
    backend: &dyn Backend,
    (scan, recipe): (&Scan, Option<&Recipe>),
    (format, given): (Format, Option<Outline>),
    pipe: &mut Pipe,
) -> Result<()> {
    let columns = match &given {
        // The columns that it names, if it names any.
        Some(given) if !given.columns.is_empty() => given.columns.keys().cloned().collect(),
        _ if format.needs_columns() => columns_of(backend, scan, &scan.read.columns, |_| true)?,
        _ => Vec::new(),
    };
    check_columns(&scan.table, columns.len())?;
    let mut outline = Outline::of_checks(backend, &scan.table, &columns)?;
    if let Some(given) = given {
        (outline.key, outline.has_time) = (given.key, given.has_time);
        outline.columns.extend(given.columns);
    }
    let (mut writer, mut out) = (writer(format, columns, &outline), Out::new());
    writer.begin(&mut out);
    backend.scan_pieces(scan, &mut |piece| {
        pipe.rows += u64::from(matches!(piece, Piece::Row(_)));
        match (piece, recipe) {
            (Piece::Row(row), Some(recipe)) => {
                let fields = recipe.decode(row).map_err(|e| {
                    e.context(format!(
                        "row {}, which --start, --stop, --prefix or --filter may leave out",
                        to_string_binary(row)
                    ))
                })?;
                let fields = Piece::Row(fields_text(&fields).into_bytes());
                writer.piece(&fields, &mut out)?;
            }
            _ => writer.piece(piece, &mut out)?,
        }
        pipe.give(&mut out, GIVEN)
    })?;
    writer.end(&mut out)?;
    pipe.give(&mut out, 0)
}

/// Where the bytes go, and what is shown of it.
struct Pipe {
    target: Target,
    progress: Progress,
    rows: u64,
}

impl Pipe {
    /// Takes bytes once there are so many.
    fn give(&mut self, out: &mut Out, least: usize) -> Result<()> {
        if out.len() >= least {
            self.target.write(out)?;
            self.progress.add(out.len() as u64);
            if self.rows > 0 {
                self.progress.say(&format!("{} rows", self.rows));
            }
            out.clear();
        }
        Ok(())
    }
}

/// Standard output, what is there and no plain file, or a file that takes its name when it is whole.
enum Target {
    Printed(Output),
    Direct(PathBuf, BufWriter<File>),
    Replaced(PathBuf, BufWriter<NamedTempFile>),
}

impl Target {
    fn open(path: Option<PathBuf>) -> Result<Self> {
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else { return Ok(Self::Printed(Output::new())) };
        let failed = |e: &std::io::Error| Error::io(format!("write {}", path.display()), e);
        // What a link leads to is replaced, not the link.
        let path = path.canonicalize().unwrap_or(path.clone());
        match std::fs::metadata(&path) {
            Ok(there) if there.is_file() => {
                let file = Self::beside(&path).and_then(|file| {
                    // As if it had been written in place.
                    file.as_file().set_permissions(there.permissions())?;
                    Ok(file)
                });
                Ok(Self::Replaced(path.clone(), BufWriter::new(file.map_err(|e| failed(&e))?)))
            }
            Ok(_) => {
                let file = File::options().write(true).open(&path).map_err(|e| failed(&e))?;
                Ok(Self::Direct(path, BufWriter::new(file)))
            }
            Err(_) => {
                let file = Self::beside(&path).map_err(|e| failed(&e))?;
                Ok(Self::Replaced(path, BufWriter::new(file)))
            }
        }
    }

    fn beside(path: &Path) -> std::io::Result<NamedTempFile> {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Order: before there is something that a signal would leave.
        let ends = Ends::caught();
        let file = tempfile::Builder::new().prefix(".cellfs-export-").tempfile_in(directory)?;
        ends.remove(file.path().to_owned());
        Ok(file)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Printed(output) => output.bytes(bytes),
            Self::Direct(path, out) => written(path, out.write_all(bytes)),
            Self::Replaced(path, out) => written(path, out.write_all(bytes)),
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Printed(output) => output.finish(),
            Self::Direct(path, mut out) => written(&path, out.flush()),
            Self::Replaced(path, out) => {
                let file = written(&path, out.into_inner().map_err(std::io::IntoInnerError::into_error))?;
                // Order: on the disk before it has the name.
                written(&path, file.as_file().sync_all())?;
                written(&path, file.persist(&path).map(drop).map_err(|e| e.error))
            }
        }
    }
}

fn written<T>(path: &Path, result: std::io::Result<T>) -> Result<T> {
    result.map_err(|e| Error::io(format!("write {}", path.display()), &e))
}
