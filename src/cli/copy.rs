//! copy: tables from one store into another, and the comparison of both.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Answer;
use super::args::CopyArgs;
use super::given::{self, wrong};
use super::output::Output;
use super::progress::Progress;
use crate::bulk::copy::{self, Compared, Job, Tally, compare, declare};
use crate::daemon::mounts::locate;
use crate::daemon::{Absent, open_backend};
use crate::model::{RowKey, TableName, TableState, to_string_binary};
use crate::{Error, Result};

/// How often it is kept how far it has come.
const KEPT_EVERY: Duration = Duration::from_secs(1);

/// How far a copy has come, as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    version: u32,
    /// What is copied whereto, in the words of the command.
    what: Vec<String>,
    /// Tables that are there.
    done: Vec<String>,
    /// Of the next one the last row that is there, hexadecimal.
    row: Option<String>,
    /// What of that table was copied before.
    tally: Tally,
}

const VERSION: u32 = 1;

/// The file that keeps it, if one is wanted.
struct Keeper {
    path: Option<PathBuf>,
    kept: Kept,
    at: Instant,
}

impl Keeper {
    fn open(args: &CopyArgs, from: &Path, to: &Path) -> Result<Self> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let bound = |row: &Option<std::ffi::OsString>| row.as_ref().map(|row| row.to_string_lossy().into_owned());
        let mut what = vec![text(from), text(to), bound(&args.start).unwrap_or_default()];
        what.extend([bound(&args.stop).unwrap_or_default(), args.name.clone().unwrap_or_default()]);
        what.extend(args.table.iter().cloned());
        let new = Kept { version: VERSION, what, done: Vec::new(), row: None, tally: Tally::default() };
        let kept = match args.state.as_ref().map(|path| (path, std::fs::read(path))) {
            None => new,
            Some((_, Err(e))) if e.kind() == std::io::ErrorKind::NotFound => new,
            Some((path, Err(e))) => return Err(Error::io(path.display(), &e)),
            Some((path, Ok(bytes))) => {
                let kept: Kept = serde_json::from_slice(&bytes)
                    .map_err(|e| wrong(&format!("{} is not what a copy keeps: {e}", path.display())))?;
                if (kept.version, &kept.what) != (new.version, &new.what) {
                    let text = format!(
                        "{} is of another copy: from, to, tables and rows have to be the same, or name another file",
                        path.display()
                    );
                    return Err(wrong(&text));
                }
                kept
            }
        };
        Ok(Self { path: args.state.clone(), kept, at: Instant::now() })
    }

    /// Keeps how far it has come. What was written by then must be on the disk.
    fn keep(&mut self) -> Result<()> {
        self.at = Instant::now();
        let Some(path) = &self.path else { return Ok(()) };
        let failed = |e: std::io::Error| Error::io(format!("write {}", path.display()), &e);
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
        file.write_all(&serde_json::to_vec(&self.kept).unwrap_or_default()).map_err(failed)?;
        // Order: on the disk before it has the name.
        file.as_file().sync_all().map_err(failed)?;
        file.persist(path).map(drop).map_err(|e| failed(e.error))
    }

    /// A table is copied again the next time.
    fn forget(&mut self, table: &TableName) -> Result<()> {
        let before = self.kept.done.len();
        self.kept.done.retain(|done| *done != table.to_string());
        if self.kept.done.len() == before { Ok(()) } else { self.keep() }
    }

    fn remove(&self) {
        if let Some(path) = &self.path {
            // One that stays is told of at the next copy.
            let _ = std::fs::remove_file(path);
        }
    }
}

pub fn copy(args: &CopyArgs, json: bool) -> Result<Answer> {
    let (from, to) = (locate::store_directory(&args.from)?, locate::store_directory(&args.to)?);
    if (args.name.is_some() || args.start.is_some() || args.stop.is_some()) && args.table.len() != 1 {
        return Err(wrong("--as, --start and --stop go with one --table"));
    }
    let name = args.name.as_deref().map(given::table).transpose()?;
    let mut tables: Vec<TableName> = args.table.iter().map(|name| given::table(name)).collect::<Result<_>>()?;
    if from == to && name.as_ref().is_none_or(|name| tables.first() == Some(name)) {
        return Err(wrong("a table is not copied onto itself: --as gives it another name"));
    }
    let mut keeper = Keeper::open(args, &from, &to)?;
    let source = open_backend(&args.from, Absent::Refuse)?;
    let make = if args.make { Absent::Make } else { Absent::Refuse };
    // Of a cluster one may be a read-only mount, and the other its address.
    let is_one = from == to && !locate::is_cluster(&from);
    let target = if is_one { Arc::clone(&source) } else { open_backend(&args.to, make)? };
    let mut disabled = Vec::new();
    if tables.is_empty() {
        for table in source.catalogue()?.user_tables() {
            let of = if table.state == TableState::Disabled { &mut disabled } else { &mut tables };
            of.push(table.name.clone());
        }
    }
    let bound = |row: &Option<std::ffi::OsString>| row.as_ref().map_or_else(RowKey::new, |row| given::bytes(row));
    let mut output = Output::new();
    let mut answer = Answer::Yes;
    for table in tables {
        let job = Job {
            from: Arc::clone(&source),
            to: Arc::clone(&target),
            target: name.clone().unwrap_or_else(|| table.clone()),
            table,
            start: bound(&args.start),
            stop: bound(&args.stop),
        };
        let tally = if args.verify { None } else { Some(one(&job, &mut keeper)?) };
        let progress = Progress::counting("rows compared");
        let compared = compare(&job, &mut |rows| progress.set(rows))?;
        drop(progress);
        if matches!(compared, Compared::Differs { .. }) {
            answer = Answer::No;
            keeper.forget(&job.table)?;
        }
        tell(&mut output, json, &job, (tally, &compared))?;
    }
    output.finish()?;
    for table in &disabled {
        answer = Answer::No;
        super::complain(&format!(
            "table {table} is disabled and left out: enable '{table}' in the shell, and run this again"
        ));
    }
    if answer == Answer::Yes {
        keeper.remove();
    }
    Ok(answer)
}

/// Copies one table, or what is missing of it yet.
fn one(job: &Job, keeper: &mut Keeper) -> Result<Tally> {
    let name = job.table.to_string();
    if keeper.kept.done.contains(&name) {
        return Ok(Tally::default());
    }
    declare(job)?.iter().for_each(|sentence| super::complain(sentence));
    let before = keeper.kept.tally;
    let after = keeper.kept.row.as_ref().map(|row| hex::decode(row).map_err(|_| wrong("the state file is damaged")));
    let progress = Progress::counting("rows copied");
    let sum = |tally: &Tally| Tally {
        rows: before.rows + tally.rows,
        versions: before.versions + tally.versions,
        tombstones: before.tombstones + tally.tombstones,
        bytes: before.bytes + tally.bytes,
    };
    let done = copy::copy(job, after.transpose()?.as_deref(), &mut |row, tally| {
        progress.set(before.rows + tally.rows);
        (keeper.kept.row, keeper.kept.tally) = (Some(hex::encode(row)), sum(tally));
        if keeper.path.is_none() || keeper.at.elapsed() < KEPT_EVERY {
            return Ok(());
        }
        job.to.sync()?;
        keeper.keep()
    });
    let done = done.map_err(|e| {
        let way = match (e.kind.is_of_what_is_put(), keeper.path.is_some()) {
            (true, _) => format!(
                "what of {name} stands before it is there; it would be refused again: change it, or copy what stands \
                 behind it with --start"
            ),
            (false, true) => {
                format!("what was copied of {name} is there: the same command goes on from where it stopped")
            }
            (false, false) => format!("what was copied of {name} is there: run it again"),
        };
        Error::new(e.kind, format!("{}; {way}", e.message))
    });
    let tally = sum(&done?);
    job.to.sync()?;
    copy::finish(job)?;
    keeper.kept.done.push(name);
    (keeper.kept.row, keeper.kept.tally) = (None, Tally::default());
    keeper.keep()?;
    Ok(tally)
}

fn tell(output: &mut Output, json: bool, job: &Job, (tally, compared): (Option<Tally>, &Compared)) -> Result<()> {
    let name = &job.table;
    if json {
        let compared = match compared {
            Compared::Same { ranges, rows, versions, checksum } => json!({
                "same": true, "ranges": ranges, "rows": rows, "versions": versions, "checksum": format!("{checksum:032x}"),
            }),
            Compared::Differs { first, last, source, target } => json!({
                "same": false, "first": to_string_binary(first), "last": to_string_binary(last),
                "source": { "rows": source.rows, "versions": source.versions },
                "target": { "rows": target.rows, "versions": target.versions },
            }),
        };
        return output.json(&json!({ "table": name.to_string(), "copied": tally, "compared": compared }));
    }
    if let Some(Tally { rows, versions, tombstones, bytes }) = tally {
        output.line(&format!(
            "{name}: copied {versions} versions and {tombstones} tombstones of {rows} rows, {bytes} bytes"
        ))?;
    }
    match compared {
        Compared::Same { ranges, rows, versions, checksum } => output.line(&format!(
            "{name}: the same on both sides: {versions} versions of {rows} rows in {ranges} ranges, checksum {checksum:032x}"
        )),
        Compared::Differs { first, last, source, target } => {
            let bound = |row: &[u8], open: &str| if row.is_empty() { open.to_owned() } else { to_string_binary(row) };
            output.line(&format!(
                "{name}: DIFFERS from {} to {}: {} versions of {} rows in the source, {} of {} in the target",
                bound(first, "the first row"),
                bound(last, "the last row"),
                source.versions,
                source.rows,
                target.versions,
                target.rows
            ))
        }
    }
}
