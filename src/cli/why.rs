//! why: the last refusals of a mount, with what to do about them.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::Answer;
use super::args::WhyArgs;
use super::follow::mount_of;
use super::output::Output;
use crate::error::{CLOSE_REFUSED, RENAMED, WRITE_REFUSED};
use crate::{Error, Result};

pub fn why(args: &WhyArgs, json: bool) -> Result<Answer> {
    let (mount, below) = mount_of(&args.path)?;
    let errors = mount.mount_point.join(".info/errors");
    let text = std::fs::read_to_string(&errors).map_err(|e| Error::io(format!("read {}", errors.display()), &e))?;
    // What follows from a refusal is no reason.
    let is_reason = |line: &&str| ![WRITE_REFUSED, CLOSE_REFUSED].iter().any(|after| line.ends_with(after));
    let wanted: Vec<&str> = text.lines().filter(|line| is_about(line, &below)).filter(is_reason).collect();
    let mut output = Output::new();
    for line in wanted.iter().rev().take(args.count).rev() {
        match parts(line).filter(|_| json) {
            Some(object) => output.json(&object)?,
            None => output.line(line)?,
        }
    }
    output.finish()?;
    Ok(if wanted.is_empty() { Answer::No } else { Answer::Yes })
}

/// `TIME uid=N pid=N /PATH REQUEST: SENTENCE`, for programs; a sentence without a path has an empty one.
fn parts(line: &str) -> Option<Json> {
    let (time, rest) = line.split_once(" uid=")?;
    let (uid, rest) = rest.split_once(" pid=")?;
    let (pid, rest) = rest.split_once(' ')?;
    let (subject, sentence) = rest.split_once(": ")?;
    let (path, request) = subject.rsplit_once(' ').unwrap_or(("", subject));
    let (uid, pid) = (uid.parse::<u32>().ok()?, pid.parse::<u32>().ok()?);
    Some(json!({ "time": time, "uid": uid, "pid": pid, "path": path, "request": request, "sentence": sentence }))
}

/// Whether a line is about a path below the mount, or about something below it.
fn is_about(line: &str, below: &Path) -> bool {
    let path = line.split(" /").nth(1).unwrap_or_default();
    let source = line.rsplit_once(RENAMED).and_then(|(_, source)| source.strip_prefix('/'));
    let below = below.to_string_lossy();
    let is_below = |path: &str| {
        path.strip_prefix(below.as_ref()).is_some_and(|rest| below.is_empty() || rest.starts_with(['/', ' ', ')']))
    };
    is_below(path) || source.is_some_and(is_below)
}
