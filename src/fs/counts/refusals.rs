//! The last refusals, for `.info/errors`: an errno says little, the sentence says what to do.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::env::sync::Mutex;
use crate::error::printable;
use crate::fs::caller::Caller;
use crate::model::Timestamp;

/// How many are kept.
const KEPT: usize = 1000;
/// How many of these may be looks for names before they make room for others.
const LOOKS: usize = 100;
/// Lines among which a look for a name is not repeated.
const LATELY: usize = 100;
/// Longest line in bytes.
const LINE_MAX: usize = 1000;

#[derive(Debug, Default)]
pub(in crate::fs) struct Refusals {
    lines: Mutex<VecDeque<String>>,
    total: AtomicU64,
}

impl Refusals {
    /// Keeps one line: time, uid, pid, path and what was asked, sentence; not again what was said lately. Control
    /// characters are escaped.
    pub(in crate::fs) fn record(&self, at: Timestamp, caller: Caller, what: &str, sentence: &str) {
        let mut line = String::new();
        let (what, sentence) = (printable(what), printable(sentence));
        let said = format!("{what}: {sentence}");
        // Writing to a string cannot fail.
        let _ = write!(line, "{} uid={} pid={} {said}", at.iso(), caller.uid, caller.pid);
        if line.len() > LINE_MAX {
            let cut = (0..=LINE_MAX).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
            line.truncate(cut);
        }
        self.total.fetch_add(1, Ordering::Relaxed);
        let mut lines = self.lines.lock();
        // Shells and prompts look for the same name again and again.
        if what.ends_with(" lookup") && lines.iter().rev().take(LATELY).any(|line| line.ends_with(&said)) {
            return;
        }
        if lines.len() == KEPT {
            // Programs look for names of their own in every directory; what they were refused is rarer.
            let looks = lines.iter().filter(|line| is_look(line)).count();
            let oldest = if looks >= LOOKS { lines.iter().position(|line| is_look(line)) } else { None };
            lines.remove(oldest.unwrap_or(0));
        }
        lines.push_back(line);
    }

    /// How many there were.
    pub(in crate::fs) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// All kept lines, oldest first.
    pub(in crate::fs) fn text(&self) -> Vec<u8> {
        let mut text = String::new();
        for line in self.lines.lock().iter() {
            text.push_str(line);
            text.push('\n');
        }
        text.into_bytes()
    }
}

/// Whether a line is of a look for a name.
fn is_look(line: &str) -> bool {
    line.split_once(": ").is_some_and(|(what, _)| what.ends_with(" lookup"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_for_names_push_no_refusal_out() {
        let (refusals, at) = (Refusals::default(), Timestamp(0));
        refusals.record(at, Caller::default(), "/t/.schema/f/VERSIONS write", "a number");
        for n in 0..3 * KEPT {
            refusals.record(at, Caller::default(), &format!("/t/r{n}/.git lookup"), "another spelling");
        }
        let text = String::from_utf8(refusals.text()).unwrap();
        assert!(text.contains("VERSIONS") && text.contains(&format!("/t/r{}/.git", 3 * KEPT - 1)));
        assert_eq!(text.lines().count(), KEPT);
        for n in 0..3 * KEPT {
            refusals.record(at, Caller::default(), &format!("/t/{n} write"), "no");
        }
        let text = String::from_utf8(refusals.text()).unwrap();
        assert!(!text.contains("VERSIONS") && text.contains(&format!("/t/{} write", 3 * KEPT - 1)));
        assert_eq!(text.lines().count(), KEPT);
    }
}
