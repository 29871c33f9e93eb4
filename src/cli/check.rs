//! check.

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::Answer;
use super::args::CheckArgs;
use super::output::Output;
use crate::backend::Backend;
use crate::daemon::control::client::Client;
use crate::daemon::find::reach::check_directory;
use crate::daemon::mounts::locate;
use crate::error::printable;
use crate::model::{CheckEvent, CheckSummary, Finding, Severity};
use crate::store::{Repaired, Store, StoreOptions};
use crate::{Error, ErrorKind, Result};

/// Takes what a check tells: findings to standard output, progress to a terminal.
struct Report {
    output: Output,
    json: bool,
    bar: ProgressBar,
}

impl Report {
    fn new(json: bool) -> Self {
        // Hidden by itself where standard error is no terminal.
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("{percent:>3} % [{bar:30}] {bytes} of {total_bytes}, {eta}") {
            bar.set_style(style);
        }
        Self { output: Output::new(), json, bar }
    }

    fn take(&mut self, event: CheckEvent) -> Result<()> {
        match event {
            CheckEvent::Progress { done, total } => {
                self.bar.set_length(total);
                self.bar.set_position(done);
                Ok(())
            }
            CheckEvent::Finding(finding) => self.finding(&finding),
            CheckEvent::Snapshot { name, summary } => self.snapshot(&name, &summary),
            CheckEvent::End(_) => Ok(()),
        }
    }

    fn finding(&mut self, finding: &Finding) -> Result<()> {
        if self.json {
            return self.output.json(&json!({ "finding": finding }));
        }
        let note = if finding.severity == Severity::Note { "note: " } else { "" };
        self.output.line(&printable(&format!("{note}{finding}")))
    }

    fn snapshot(&mut self, name: &str, summary: &CheckSummary) -> Result<()> {
        if self.json {
            return self.output.json(&json!({ "snapshot": name, "summary": summary }));
        }
        let text = format!("snapshot {name}: {}, {} cells were read", verdict(summary), summary.entries);
        self.output.line(&printable(&text))
    }

    /// `poisoned`: why an open store takes no changes any more.
    fn summary(&mut self, summary: &CheckSummary, poisoned: Option<&str>) -> Result<()> {
        self.bar.finish_and_clear();
        if self.json {
            return self.output.json(&json!({ "summary": summary, "poisoned": poisoned }));
        }
        if let Some(error) = poisoned {
            self.output.line(&printable(&format!("POISONED: this store takes no changes any more: {error}")))?;
        }
        let CheckSummary { segments, bytes, records, entries, rows, .. } = summary;
        let verdict = verdict(summary);
        self.output.line(&format!(
            "{verdict}: {segments} segments ({bytes} bytes, {rows} rows) and the log ({records} records) were read, {entries} \
             cells in all"
        ))
    }

    fn repaired(&mut self, repaired: &Repaired) -> Result<()> {
        if !self.json {
            repaired.done.iter().try_for_each(|line| self.output.line(&printable(line)))?;
        }
        let Some(after) = &repaired.after else {
            let silent = self.json || !repaired.done.is_empty();
            return if silent { Ok(()) } else { self.output.line("there was nothing to repair") };
        };
        let aside = repaired.aside.as_ref().map(|path| path.display().to_string());
        if self.json {
            let (cells, done) = (repaired.rebuilt.then_some(repaired.cells), &repaired.done);
            let object = json!({ "repaired": { "cells": cells, "aside": aside, "done": done, "left": after } });
            return self.output.json(&object);
        }
        if repaired.rebuilt {
            self.output.line(&format!("the index was made anew from the segments: {} cells", repaired.cells))?;
        }
        if let Some(aside) = aside {
            self.output.line(&format!("the old index is kept in {aside}; remove it when it is not needed"))?;
        }
        if after.damages > 0 {
            let left = if after.damages == 1 { "1 damage is".into() } else { format!("{} damages are", after.damages) };
            let text = "left in the segments, which are kept as they are: restore those cells from a backup";
            self.output.line(&format!("{left} {text}"))?;
        }
        Ok(())
    }
}

fn verdict(summary: &CheckSummary) -> String {
    match (summary.damages, summary.notes) {
        (0, 0) => "no damage".to_owned(),
        (0, 1) => "no damage, 1 note".to_owned(),
        (0, notes) => format!("no damage, {notes} notes"),
        (1, _) => "1 damage".to_owned(),
        (damages, _) => format!("{damages} damages"),
    }
}

pub fn check(args: &CheckArgs, json: bool) -> Result<Answer> {
    let directory = locate::store_directory(&args.store)?;
    if locate::is_cluster(&directory) {
        let text = "a cluster checks its own files: run `hbase hbck` there";
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    check_directory(&directory)?;
    if !Store::exists(&directory) && !directory.join("segments").is_dir() {
        return Err(Error::new(ErrorKind::NotFound, format!("there is no store in {}", directory.display())));
    }
    let daemon = Client::connect(&directory)?;
    if args.repair {
        if let Some(holder) = daemon {
            let at = holder.hello().shown_mount_point();
            let text = match holder.hello().is_mount() {
                true => format!("the store is mounted at {at}: unmount it first (cellfs umount {at}), then repair it"),
                false => format!("process {} has the store open: repair it when that has ended", holder.pid()),
            };
            return Err(Error::new(ErrorKind::Busy, text));
        }
        return repair(&directory, json);
    }
    let mut report = Report::new(json);
    let (summary, poisoned) = match daemon {
        Some(daemon) => (daemon.check(&mut |event| report.take(event))?, daemon.status()?.poisoned),
        None => (Store::check(&directory, &mut |event| report.take(event))?, None),
    };
    report.summary(&summary, poisoned.as_deref())?;
    report.output.finish()?;
    Ok(if summary.damages == 0 && poisoned.is_none() { Answer::Yes } else { Answer::No })
}

fn repair(directory: &std::path::Path, json: bool) -> Result<Answer> {
    let mut report = Report::new(json);
    let repaired = Store::repair(StoreOptions::new(directory), &mut |event| report.take(event))?;
    report.summary(&repaired.before, None)?;
    report.repaired(&repaired)?;
    report.output.finish()?;
    let left = repaired.after.is_some_and(|after| after.damages > 0);
    Ok(if left { Answer::No } else { Answer::Yes })
}
