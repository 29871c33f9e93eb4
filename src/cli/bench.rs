//! bench: a user's own machine in about a minute, on a store and a mount that are made for it and removed.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::Answer;
use super::args::BenchArgs;
use super::output::Output;
use super::progress::Progress;
use crate::backend::Backend;
use crate::daemon::control::client::Client;
use crate::fuse::{Detach, unmount};
use crate::model::{
    CatalogueChange, Durability, FamilySchema, Get, Mutation, Origin, PutCell, ReadSpec, RowMutations, Scan, TableName,
    TableSchema, Time,
};
use crate::store::{Store, StoreOptions};
use crate::{Error, ErrorKind, Result};

/// Cells of the store, and bytes of each value.
const CELLS: u64 = 200_000;
const VALUE: usize = 100;
/// Files of the mount, and of the plain directory beside it.
const FILES: u64 = 5_000;
/// No phase takes longer, whatever is left of it.
const PHASE: Duration = Duration::from_secs(6);
/// Spreads keys in an order that looks random: an odd multiplier walks through all of them.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// One line of the result.
struct Figure {
    what: &'static str,
    /// Operations a second.
    rate: f64,
    /// The same on plain files in the same directory, if there is such a thing.
    plain: Option<f64>,
}

/// Set by a signal: what was begun is taken away, and nothing else is begun.
struct Stop(Arc<AtomicBool>);

impl Stop {
    fn on_signals() -> Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // Order: the second signal finds the flag set, and ends the process at once.
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&flag))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
                .map_err(|e| Error::io("wait for signals", &e))?;
        }
        Ok(Self(flag))
    }

    fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Disconnected, "interrupted; what was made for it is removed"));
        }
        Ok(())
    }
}

pub fn bench(args: &BenchArgs, json: bool) -> Result<Answer> {
    let stop = Stop::on_signals()?;
    let place = args.directory.display();
    let made = tempfile::Builder::new().prefix("cellfs-bench.").tempdir_in(&args.directory);
    let directory = made.map_err(|e| Error::io(format!("make a directory in {place}"), &e))?;
    let mut figures = of_store(&directory.path().join("store"), &stop)?;
    let mounted = of_mount(directory.path(), &stop);
    stop.check()?;
    let failed = mounted.as_ref().err().map(|e| e.message.clone());
    figures.extend(mounted.unwrap_or_default());
    let mut output = Output::new();
    for figure in &figures {
        if json { print_json(&mut output, figure)? } else { output.line(&line(figure))? }
    }
    output.finish()?;
    if let Some(message) = failed {
        log::warn!("the mount was not measured: {}", message);
    }
    Ok(Answer::Yes)
}

fn line(figure: &Figure) -> String {
    let Figure { what, rate, plain } = figure;
    let micros = 1e6 / rate;
    let beside = plain
        .map_or(String::new(), |plain| format!("   plain files {plain:>10.0} a second   ratio {:.2}", plain / rate));
    format!("{what:<28} {rate:>10.0} a second {micros:>9.1} us each{beside}")
}

fn print_json(output: &mut Output, figure: &Figure) -> Result<()> {
    let Figure { what, rate, plain } = figure;
    let ratio = plain.map(|plain| plain / rate);
    output.json(&json!({ "what": what, "per_second": rate, "plain_per_second": plain, "ratio": ratio }))
}

/// How often `step` ran a second; it gets the numbers below `count` in order.
fn rate(stop: &Stop, what: &str, count: u64, step: impl FnMut(u64) -> Result<()>) -> Result<f64> {
    timed(stop, what, count, step).map(|(rate, _)| rate)
}

/// As [`rate`], and how many of the numbers it came to.
fn timed(stop: &Stop, what: &str, count: u64, mut step: impl FnMut(u64) -> Result<()>) -> Result<(f64, u64)> {
    let progress = Progress::towards(count, what);
    let started = Instant::now();
    let mut done = 0;
    while done < count {
        stop.check()?;
        step(done)?;
        done += 1;
        if done % 64 == 0 {
            progress.set(done);
            if started.elapsed() > PHASE {
                break;
            }
        }
    }
    Ok((done as f64 / started.elapsed().as_secs_f64(), done))
}

fn table() -> TableName {
    TableName { namespace: "default".into(), name: "bench".into() }
}

fn schema() -> TableSchema {
    let family = FamilySchema::new("f", Default::default());
    TableSchema::new(table(), [family])
}

fn row(number: u64) -> Vec<u8> {
    format!("row-{:036x}", number.wrapping_mul(SPREAD)).into_bytes()
}

fn put(store: &Store, number: u64, durability: Durability) -> Result<()> {
    let cell = PutCell::new("f", b"q".to_vec(), Time::Now, vec![number as u8; VALUE]);
    let mutations = vec![Mutation::Put(vec![cell])];
    let (row, durability) = (row(number), Some(durability));
    let mutations = RowMutations { table: table(), row, mutations, durability, origin: Origin::default() };
    store.mutate(mutations, None).map(drop)
}

fn of_store(path: &Path, stop: &Stop) -> Result<Vec<Figure>> {
    let store = Store::open(StoreOptions::new(path))?;
    store.alter(CatalogueChange::CreateTable(schema()), Origin::default())?;
    let mut figures = Vec::new();
    let mut add = |what, rate| figures.push(Figure { what, rate, plain: None });
    let mut stored = 0;
    let puts = rate(stop, "puts", CELLS, |number| {
        stored = number + 1;
        put(&store, number, Durability::SyncWal)
    })?;
    add("store: put", puts);
    let durably = |number| put(&store, number, Durability::FsyncWal);
    add("store: put, on the disk", rate(stop, "durable puts", 2000, durably)?);
    store.flush(None)?;
    let get = |number: u64| {
        let row = row(number.wrapping_mul(7919) % stored.max(1));
        store.get(&Get { table: table(), row, read: ReadSpec::default() }).map(drop)
    };
    add("store: get, random", rate(stop, "gets", CELLS / 2, get)?);
    let (started, mut rows) = (Instant::now(), 0_u64);
    for row in store.scan(&Scan::all(table()))? {
        row?;
        rows += 1;
        stop.check()?;
    }
    add("store: scan, rows", rows as f64 / started.elapsed().as_secs_f64());
    store.close()?;
    Ok(figures)
}

/// A mount that is gone, with its daemon, when the value is.
struct Mounted {
    store: PathBuf,
    mount_point: PathBuf,
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let daemon = Client::connect(&self.store).unwrap_or_default();
        if let Err(e) = unmount(&self.mount_point, Detach::Now) {
            log::warn!("{}", e.message);
        }
        // Order: the daemon writes in the directory until it has ended.
        if daemon.is_some_and(|daemon| !daemon.wait_for_end(PHASE)) {
            log::warn!("the daemon of {} has not ended yet", self.store.display());
        }
    }
}

fn of_mount(directory: &Path, stop: &Stop) -> Result<Vec<Figure>> {
    let (store, mnt, plain) = (directory.join("mounted"), directory.join("mnt"), directory.join("plain"));
    let io = |what: &Path, e: std::io::Error| Error::io(what.display(), &e);
    fs::create_dir(&mnt).map_err(|e| io(&mnt, e))?;
    fs::create_dir(&plain).map_err(|e| io(&plain, e))?;
    let program = std::env::current_exe().map_err(|e| Error::io("find this program", &e))?;
    let mut mount = Command::new(program);
    mount.args(["mount", "-o", "families=auto"]).args([&store, &mnt]).stdin(Stdio::null());
    // Ctrl-C is for us alone: a command that ends between its daemon and its answer would leave the mount.
    let done = mount.process_group(0).output();
    let done = done.map_err(|e| Error::io("start the daemon", &e))?;
    if !done.status.success() {
        let words = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        return Err(Error::new(ErrorKind::Io, words));
    }
    let _mounted = Mounted { store, mount_point: mnt.clone() };
    let cells = mnt.join("default/bench/row/f");
    fs::create_dir_all(&cells).map_err(|e| io(&cells, e))?;
    // A phase that is cut short leaves fewer files to the next ones.
    let mut files = FILES;
    let mut beside = |what, step: &dyn Fn(&Path, u64) -> std::io::Result<()>| {
        let of = |directory: &Path| {
            timed(stop, what, files, |number| {
                let path = directory.join(format!("cell-{number:06}"));
                step(&path, number).map_err(|e| io(&path, e))
            })
        };
        let ((rate, reached), (plain, also)) = (of(&cells)?, of(&plain)?);
        files = reached.min(also);
        Ok::<_, Error>(Figure { what, rate, plain: Some(plain) })
    };
    Ok(vec![
        beside("mount: create and write", &|path, number| fs::write(path, vec![number as u8; VALUE]))?,
        beside("mount: stat", &|path, _| fs::metadata(path).map(drop))?,
        beside("mount: open and read", &|path, _| fs::read(path).map(drop))?,
        beside("mount: overwrite", &|path, number| fs::write(path, vec![!number as u8; VALUE]))?,
        beside("mount: append", &|path, _| {
            use std::io::Write;
            fs::File::options().append(true).open(path)?.write_all(b"more")
        })?,
        beside("mount: rename", &|path, _| fs::rename(path, path.with_extension("new")))?,
        beside("mount: remove", &|path, _| fs::remove_file(path.with_extension("new")))?,
    ])
}
