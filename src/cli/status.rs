//! status.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::Answer;
use super::args::StoreArgs;
use super::counted::{Known, telling};
use super::output::{Output, json_bytes};
use crate::Result;
use crate::backend::{Backend, Status};
use crate::daemon::control::client::Client;
use crate::daemon::control::protocol::Hello;
use crate::daemon::find::serving as sockets;
use crate::daemon::mounts::locate;
use crate::daemon::{left_behind, store_left_at};
use crate::error::printable;
use crate::model::{IndexSchema, IndexState, TableSchema};
use crate::store::Store;

pub fn status(args: &StoreArgs, json: bool) -> Result<Answer> {
    let asked = asked(&args.store)?;
    let directory = locate::store_directory(&asked)?;
    let daemon = sockets::serving(&asked)?;
    let mounted = Mounted::of(&asked, &directory, daemon.as_ref())?;
    let (backend, known) = telling(&asked, daemon)?;
    let status = backend.status()?;
    let is_well = status.poisoned.is_none() && known != Known::Nothing;
    let answer = if is_well { Answer::Yes } else { Answer::No };
    let mut output = Output::new();
    if json {
        let mut object = known.json(&status);
        // A cluster has no indexes, and may not answer now.
        let twofold = if known == Known::All { twofold(backend.as_ref())? } else { Vec::new() };
        object["not_unique"] = json!(twofold);
        object["store"] = json_bytes(directory.as_os_str().as_bytes());
        object["mount_point"] = json!(mounted.mount_point.as_deref().map(json_bytes));
        object["pid"] = json!(mounted.pid);
        object["no_xattr"] = json!(mounted.no_xattr);
        output.json(&object)?;
        output.finish()?;
        return Ok(answer);
    }
    let mut line = |name: &str, value: String| output.line(&format!("{name:<14} {}", printable(&value)));
    line("store", format!("{} ({})", directory.display(), mounted.text))?;
    if let Some(why) = &status.reads_alone {
        line("no changes", why.clone())?;
    }
    let (segments, disk) = (segments(&status), disk(&status, backend.as_ref())?);
    if let Some(error) = status.poisoned {
        line("POISONED", format!("this store takes no changes any more: {error}"))?;
    }
    if known != Known::All {
        if known == Known::Files {
            line("files", format!("{} ({} bytes)", status.segments, status.segment_bytes))?;
            line("memory", format!("{} bytes not flushed", status.memtable_bytes))?;
        }
        if let Some(error) = status.last_error {
            line("last error", error)?;
        }
        output.finish()?;
        return Ok(answer);
    }
    line("cells", format!("{} ({} in memory)", status.cells, status.memtable_cells))?;
    line("segments", segments)?;
    line("sequence", format!("{} ({} flushed, {} synced)", status.last_seq, status.checkpoint_seq, status.synced_seq))?;
    line("flushes", status.flushes.to_string())?;
    line("compactions", status.compactions.to_string())?;
    line("activity", if status.activity.is_empty() { "idle".to_owned() } else { status.activity })?;
    for index in twofold(backend.as_ref())? {
        line("not unique", index)?;
    }
    line("disk", disk)?;
    if let Some(error) = status.last_error {
        line("last error", error)?;
    }
    output.finish()?;
    Ok(answer)
}

/// Where a store is mounted, and by whom.
struct Mounted {
    text: String,
    mount_point: Option<Vec<u8>>,
    pid: Option<u32>,
    /// Without extended attributes, which a backup needs.
    no_xattr: bool,
}

impl Mounted {
    fn of(asked: &Path, directory: &Path, daemon: Option<&Client>) -> Result<Self> {
        if let Some(daemon) = daemon {
            let Hello { mount_point, pid, no_xattr, .. } = daemon.hello().clone();
            let by = || format!("mounted at {} by pid {pid}", daemon.hello().shown_mount_point());
            let text = left_behind(directory, daemon).unwrap_or_else(by);
            return Ok(Self { text, mount_point, pid: Some(pid), no_xattr });
        }
        let is_cluster = locate::is_cluster(directory);
        if let Some(mount) = locate::mount_around(&locate::absolute(asked)?)?
            && locate::is_dead(&mount.mount_point)
        {
            let at = mount.mount_point.display();
            let text = format!("the daemon of the mount at {at} has ended: mount there again, or `cellfs umount {at}`");
            return Ok(Self { text, mount_point: None, pid: None, no_xattr: false });
        }
        // On a read-only filesystem there is no socket to ask at, and any number of mounts may read.
        let points = match !is_cluster && Store::is_read_only(directory)? {
            true => locate::mount_points_of(directory)?,
            false => Vec::new(),
        };
        let shown: Vec<String> = points.iter().map(|point| point.display().to_string()).collect();
        let text = match shown.is_empty() {
            true if is_cluster => "a cluster".to_owned(),
            true => "not mounted".to_owned(),
            false => format!("mounted at {}", shown.join(" and at ")),
        };
        let mount_point = points.last().map(|point| point.as_os_str().as_bytes().to_vec());
        Ok(Self { text, mount_point, pid: None, no_xattr: false })
    }
}

/// What was given, or the store that was mounted there before the mount was taken away from those who use it.
fn asked(given: &Path) -> Result<PathBuf> {
    let directory = locate::store_directory(given)?;
    let is_there = locate::is_cluster(&directory) || Store::exists(&directory);
    let left = if is_there { None } else { store_left_at(&directory) };
    Ok(left.unwrap_or_else(|| given.to_owned()))
}

fn segments(status: &Status) -> String {
    let (bytes, live) = (status.segment_bytes, status.live_bytes);
    let around = bytes.saturating_sub(live);
    format!(
        "{} ({bytes} bytes with large values and the log: {live} live, {around} dead or around them)",
        status.segments
    )
}

/// A full disk takes deletes, unless the store takes no changes at all; what snapshots show stays.
fn disk(status: &Status, backend: &dyn Backend) -> Result<String> {
    let is_full = status.disk_writable == 0 && status.reads_alone.is_none();
    let full = match is_full {
        false => "",
        true if backend.snapshots()?.is_empty() => "; full: only removing and purging are done",
        true => {
            "; full: only removing and purging are done, and what a snapshot shows keeps its room until that is deleted"
        }
    };
    Ok(format!("{} of {} bytes free{full}", status.disk_available, status.disk_total))
}

/// Indexes that are to be unique over values that are not, or are too long, each in a sentence.
fn twofold(backend: &dyn Backend) -> Result<Vec<String>> {
    let catalogue = backend.catalogue()?;
    let of = |table: &TableSchema| {
        let sentence = |index: &IndexSchema| match &index.state {
            IndexState::Twofold(text) => Some(format!("index {} of table {}: {text}", index.name, table.name)),
            IndexState::Building | IndexState::Complete => None,
        };
        table.indexes.values().filter_map(sentence).collect::<Vec<_>>()
    };
    Ok(catalogue.tables.values().flat_map(of).collect())
}
