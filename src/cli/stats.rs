//! stats: what a store and its daemon have counted, for people, for programs, for Prometheus.

use std::io::IsTerminal;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::Answer;
use super::args::StatsArgs;
use super::counted::{Known, Mounted, Stats, collect};
use super::output::Output;
use super::prometheus;
use crate::backend::Status;
use crate::daemon::DaemonNumbers;
use crate::fs::OperationNumbers;
use crate::{Error, ErrorKind, Result};

/// ECMA-48: to the first place, and erase the display.
const CLEAR: &[u8] = b"\x1b[H\x1b[2J";

pub fn stats(args: &StatsArgs, json: bool) -> Result<Answer> {
    if json && args.prometheus {
        let text = "--json and --prometheus are two formats: give one of them";
        return Err(Error::new(ErrorKind::IllegalArgument, text));
    }
    let Some(seconds) = args.watch else {
        show(args, json, false)?;
        return Ok(Answer::Yes);
    };
    let (interval, clears) = (Duration::from_secs_f64(seconds), std::io::stdout().is_terminal() && !json);
    for _ in 0..args.count.unwrap_or(u64::MAX).saturating_sub(1) {
        show(args, json, clears)?;
        std::thread::sleep(interval);
    }
    show(args, json, clears)?;
    Ok(Answer::Yes)
}

/// `clears`: in place of what is on the terminal.
fn show(args: &StatsArgs, json: bool, clears: bool) -> Result<()> {
    let stats = collect(&args.store)?;
    let mut output = Output::new();
    if json {
        output.json(&as_json(&stats))?;
    } else if args.prometheus {
        output.bytes(prometheus::text(&stats).as_bytes())?;
    } else {
        if clears {
            output.bytes(CLEAR)?;
        }
        print(&mut output, &stats)?;
        if args.watch.is_some() {
            output.line("")?;
        }
    }
    output.finish()
}

fn as_json(stats: &Stats) -> Json {
    let operation = |numbers: &OperationNumbers| {
        let quantiles: serde_json::Map<_, _> =
            numbers.quantiles.iter().map(|(q, nanos)| (q.to_string(), json!(nanos))).collect();
        json!({
            "operation": numbers.name, "count": numbers.count, "failed": numbers.failed,
            "total_nanoseconds": numbers.total_nanos, "quantile_nanoseconds": quantiles,
            "max_nanoseconds": numbers.max_nanos,
        })
    };
    let daemon = stats.mounted.as_ref().map(|mounted| {
        let Mounted { mount_point, version, pid, numbers } = mounted;
        let operations: Vec<Json> = numbers.mount.operations.iter().map(operation).collect();
        json!({
            "mount_point": mount_point, "version": version, "pid": pid,
            "started_at": numbers.started_at, "resident_bytes": numbers.resident_bytes,
            "nodes": numbers.mount.nodes, "nodes_most": numbers.mount.nodes_most,
            "open_handles": numbers.mount.handles, "refusals": numbers.mount.refusals,
            "operations": operations, "commands": numbers.commands,
        })
    });
    json!({ "directory": stats.directory, "store": stats.known.json(&stats.status), "daemon": daemon })
}

fn print(output: &mut Output, stats: &Stats) -> Result<()> {
    let status = &stats.status;
    let mut line = |name: &str, value: String| output.line(&format!("{name:<22} {value}"));
    match stats.known {
        Known::All => print_store(status, &mut line)?,
        Known::Files => {
            line("files", format!("{} ({} bytes)", status.segments, status.segment_bytes))?;
            line("memtable", format!("{} bytes", status.memtable_bytes))?;
        }
        Known::Nothing => {}
    }
    if let Some(error) = status.poisoned.as_ref().or(status.last_error.as_ref()) {
        line("last error", error.escape_debug().to_string())?;
    }
    let Some(Mounted { mount_point, pid, numbers, .. }) = &stats.mounted else {
        return line("mount", "none; a mounted store has the numbers of its daemon too".to_owned());
    };
    line("mount", format!("{} (pid {pid})", mount_point.escape_debug()))?;
    if stats.known == Known::All {
        line("expired segments", status.expired_segments.to_string())?;
    }
    line("memory", format!("{} bytes", numbers.resident_bytes))?;
    line("nodes", format!("{} of at most {}", numbers.mount.nodes, numbers.mount.nodes_most))?;
    line("open files", numbers.mount.handles.to_string())?;
    line("refusals", format!("{} (the last are in .info/errors)", numbers.mount.refusals))?;
    print_counts(output, numbers)
}

fn print_store(status: &Status, line: &mut dyn FnMut(&str, String) -> Result<()>) -> Result<()> {
    let dead = status.segment_bytes.saturating_sub(status.live_bytes);
    line("cells", status.cells.to_string())?;
    line("live bytes", status.live_bytes.to_string())?;
    line("dead bytes", dead.to_string())?;
    line("segments", status.segments.to_string())?;
    line("memtable", format!("{} cells, {} bytes", status.memtable_cells, status.memtable_bytes))?;
    line("flushes", status.flushes.to_string())?;
    line("compactions", status.compactions.to_string())?;
    line("cells read", status.cells_read.to_string())?;
    line("damaged reads", status.damaged_reads.to_string())?;
    line("now", if status.activity.is_empty() { "idle".to_owned() } else { status.activity.clone() })
}

fn print_counts(output: &mut Output, numbers: &DaemonNumbers) -> Result<()> {
    if !numbers.mount.operations.is_empty() {
        let titles = ["request", "count", "failed", "p50", "p90", "p99", "p99.9", "max"];
        output.line("")?;
        output.line(&columns(&titles.map(str::to_owned)))?;
    }
    for operation in &numbers.mount.operations {
        let mut cells = vec![operation.name.clone(), operation.count.to_string(), operation.failed.to_string()];
        cells.extend(operation.quantiles.iter().map(|(_, nanos)| duration(*nanos)));
        cells.push(duration(operation.max_nanos));
        output.line(&columns(&cells))?;
    }
    if !numbers.commands.is_empty() {
        output.line("")?;
        output.line(&columns(&["command".to_owned(), "count".to_owned()]))?;
    }
    let mut commands = numbers.commands.iter();
    commands.try_for_each(|(name, count)| output.line(&columns(&[name.clone(), count.to_string()])))
}

pub fn columns(cells: &[String]) -> String {
    let mut text = format!("{:<16}", cells.first().map_or("", String::as_str));
    for cell in cells.iter().skip(1) {
        text.push_str(&format!("{cell:>12}"));
    }
    text
}

pub fn duration(nanos: u64) -> String {
    match nanos {
        0..10_000_000 => format!("{:.1} us", nanos as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1} ms", nanos as f64 / 1e6),
        _ => format!("{:.1} s", nanos as f64 / 1e9),
    }
}
