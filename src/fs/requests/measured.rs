//! That a request was made, how long it took, and the line of it in `.info/access`.

use std::fmt::Write as _;
use std::time::Duration;

use crate::Error;
use crate::error::printable;
use crate::fs::base::Fs;
use crate::fs::caller::Caller;
use crate::fs::counts::counters::Operation;
use crate::fs::counts::subject;
use crate::fs::errno::errno;
use crate::fs::requests::refused;

/// Longest path that is shown, bytes.
const PATH_MAX: usize = 4096;
/// Whoever follows would otherwise follow that.
const OWN: &str = "/.info/access";

/// Counts a request of somebody.
pub fn count(fs: &Fs, caller: Caller, operation: Operation) {
    subject::begin(caller);
    fs.counters.count(operation);
}

/// Keeps how long a request took and whether it was refused; a line of it for whoever follows.
pub fn measure(fs: &Fs, caller: Caller, operation: Operation, time: Duration, refused: Option<&Error>) {
    fs.counters.measure(operation, time, refused.is_some());
    if fs.accesses.is_followed() {
        note_access(fs, caller, operation, time, refused);
    }
}

/// `TIME UID PID REQUEST MICROSECONDS RESULT PATH`, separated by tabs.
fn note_access(fs: &Fs, caller: Caller, operation: Operation, time: Duration, refused: Option<&Error>) {
    let Some(path) = path_unless_followed(fs) else { return };
    let mut path = printable(&path);
    path.truncate((0..=PATH_MAX.min(path.len())).rev().find(|at| path.is_char_boundary(*at)).unwrap_or(0));
    let result = refused.map_or_else(|| "ok".to_owned(), |e| nix::errno::Errno::from_raw(errno(e)).to_string());
    let result = result.split(':').next().unwrap_or_default();
    let (now, name, micros) = (fs.tree.backend.now().iso(), operation.name(), time.as_nanos() as f64 / 1e3);
    let mut line = String::with_capacity(80 + path.len());
    // Writing to a string cannot fail.
    let _ = writeln!(line, "{now}\t{}\t{}\t{name}\t{micros:.1}\t{result}\t{path}", caller.uid, caller.pid);
    fs.accesses.push(&line);
}

/// Where this thread's request was; `None`: at the file of the requests, or it was about nothing.
fn path_unless_followed(fs: &Fs) -> Option<String> {
    let path = refused::path_of_subject(fs).unwrap_or_else(|| "/".to_owned());
    (path != OWN).then_some(path)
}
