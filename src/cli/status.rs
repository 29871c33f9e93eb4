//! status.

use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use super::Answer;
use super::args::StoreArgs;
use super::output::{Output, json_bytes};
use crate::Result;
use crate::backend::{Backend, Status};
use crate::daemon::control::protocol::Hello;
use crate::daemon::find::{locate, serving as sockets};
use crate::daemon::{Absent, left_behind, open_backend};
use crate::error::printable;
use crate::model::{IndexSchema, IndexState, TableSchema};

pub fn status(args: &StoreArgs, json: bool) -> Result<Answer> {
    let directory = locate::store_directory(&args.store)?;
    let daemon = sockets::serving(&args.store)?;
    let left = daemon.as_ref().and_then(|daemon| left_behind(&directory, daemon));
    let hello = daemon.map(|client| client.hello().clone());
    let backend = open_backend(&args.store, Absent::Refuse)?;
    let status = backend.status()?;
    let answer = if status.poisoned.is_none() { Answer::Yes } else { Answer::No };
    let mut output = Output::new();
    if json {
        let mut object = serde_json::to_value(&status).unwrap_or_default();
        object["dead_bytes"] = json!(status.segment_bytes.saturating_sub(status.live_bytes));
        object["not_unique"] = json!(twofold(backend.as_ref())?);
        object["store"] = json_bytes(directory.as_os_str().as_bytes());
        object["mount_point"] = json!(hello.as_ref().and_then(|hello| hello.mount_point.as_deref()).map(json_bytes));
        object["pid"] = json!(hello.as_ref().map(|hello| hello.pid));
        output.json(&object)?;
        output.finish()?;
        return Ok(answer);
    }
    let alone = if locate::is_cluster(&directory) { "a cluster" } else { "not mounted" };
    let by = |h: Hello| format!("mounted at {} by pid {}", h.shown_mount_point(), h.pid);
    let mounted = left.or_else(|| hello.map(by)).unwrap_or_else(|| alone.to_owned());
    let mut line = |name: &str, value: String| output.line(&format!("{name:<14} {}", printable(&value)));
    line("store", format!("{} ({mounted})", directory.display()))?;
    if let Some(why) = &status.reads_alone {
        line("no changes", why.clone())?;
    }
    let (segments, disk) = (segments(&status), disk(&status, backend.as_ref())?);
    if let Some(error) = status.poisoned {
        line("POISONED", format!("this store takes no changes any more: {error}"))?;
    }
    if locate::is_cluster(&directory) {
        line("files", format!("{} ({} bytes)", status.segments, status.segment_bytes))?;
        line("memory", format!("{} bytes not flushed", status.memtable_bytes))?;
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
