//! why: the last refusals of a mount, with what to do about them.

use std::path::Path;

use super::Answer;
use super::args::WhyArgs;
use super::output::Output;
use crate::daemon::locate;
use crate::{Error, ErrorKind, Result};

pub fn why(args: &WhyArgs) -> Result<Answer> {
    let path = locate::absolute(&args.path)?;
    let mounts = locate::mounts()?;
    let inside = mounts.iter().filter(|mount| path.starts_with(&mount.mount_point) || path == mount.source);
    let mount = inside.max_by_key(|mount| mount.mount_point.as_os_str().len()).ok_or_else(|| {
        let text = format!("{} is in no mount of cellfs, and is no mounted store", path.display());
        Error::new(ErrorKind::NotFound, text)
    })?;
    let errors = mount.mount_point.join(".info/errors");
    let text = std::fs::read_to_string(&errors).map_err(|e| Error::io(format!("read {}", errors.display()), &e))?;
    let below = path.strip_prefix(&mount.mount_point).unwrap_or(Path::new(""));
    let wanted: Vec<&str> = text.lines().filter(|line| is_about(line, below)).collect();
    let mut output = Output::new();
    for line in wanted.iter().rev().take(args.count).rev() {
        output.line(line)?;
    }
    output.finish()?;
    Ok(if wanted.is_empty() { Answer::No } else { Answer::Yes })
}

/// Whether a line is about a path below the mount, or about something below it.
fn is_about(line: &str, below: &Path) -> bool {
    let path = line.split(" /").nth(1).unwrap_or_default();
    let below = below.to_string_lossy();
    path.strip_prefix(below.as_ref()).is_some_and(|rest| below.is_empty() || rest.starts_with(['/', ' ']))
}
