//! What fails again and again: told to the log at once, and then ever more rarely, with how often it was.

use std::collections::HashMap;
use std::time::Duration;

use crate::env::sync::{Instant, Mutex};

/// After so long the same is told again, and after twice that, and so on,
const FIRST: Duration = Duration::from_mins(1);
/// up to so long.
const MOST: Duration = Duration::from_hours(1);
/// So many sentences are known at once.
const KNOWN: usize = 32;

struct Told {
    at: Instant,
    pause: Duration,
    /// How often it has come since.
    silent: u64,
}

/// See the module. A disk that stays full has each try of each thread fail, once a second and more.
#[derive(Default)]
pub struct Said(Mutex<HashMap<String, Told>>);

impl Said {
    /// As [`log::warn!`].
    pub fn warn(&self, text: &str) {
        self.log(log::Level::Warn, text);
    }

    /// As [`log::error!`].
    pub fn error(&self, text: &str) {
        self.log(log::Level::Error, text);
    }

    fn log(&self, level: log::Level, text: &str) {
        if let Some(line) = self.line(text, Instant::now()) {
            log::log!(target: "cellfs::store", level, "{line}");
        }
    }

    /// What is to be told of a sentence now, if anything is.
    fn line(&self, text: &str, now: Instant) -> Option<String> {
        let (shape, mut known) = (shape(text), self.0.lock());
        let Some(told) = known.get_mut(&shape) else {
            if known.len() >= KNOWN
                && let Some(oldest) = known.iter().min_by_key(|(_, told)| told.at).map(|(shape, _)| shape.clone())
            {
                known.remove(&oldest);
            }
            known.insert(shape, Told { at: now, pause: FIRST, silent: 0 });
            return Some(text.to_owned());
        };
        let since = now.saturating_since(told.at);
        if since < told.pause {
            told.silent += 1;
            return None;
        }
        let goes_on = since < told.pause * 2;
        let pause = if goes_on { (told.pause * 2).min(MOST) } else { FIRST };
        let silent = std::mem::replace(told, Told { at: now, pause, silent: 0 }).silent;
        let more = if silent > 0 { format!(" ({silent} times more since this was told last)") } else { String::new() };
        Some(format!("{text}{more}"))
    }
}

/// A sentence; of a full disk without its numbers: each try names another file, or has other bytes free.
fn shape(text: &str) -> String {
    if !["No space left", "is full"].iter().any(|of| text.contains(of)) {
        return text.to_owned();
    }
    let mut shape = text.replace(|c: char| c.is_ascii_digit(), "0");
    while shape.contains("00") {
        shape = shape.replace("00", "0");
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_is_told_ever_more_rarely_and_with_how_often_it_was() {
        let (said, start) = (Said::default(), Instant::now());
        let mut told = Vec::new();
        for second in 0..10_000 {
            let text = format!("flush: write segments/{second:08}.seg: No space left on device");
            if let Some(line) = said.line(&text, start + Duration::from_secs(second)) {
                told.push((second, line));
            }
        }
        let at: Vec<u64> = told.iter().map(|(second, _)| *second).collect();
        assert_eq!(at, [0, 60, 180, 420, 900, 1860, 3780, 7380]);
        assert!(!told[0].1.contains("times"), "{}", told[0].1);
        assert!(told[1].1.ends_with("00000060.seg: No space left on device (59 times more since this was told last)"));
    }

    #[test]
    fn what_names_another_file_is_another_thing_unless_the_disk_is_full() {
        let (said, now) = (Said::default(), Instant::now());
        let told = |text: &str| said.line(text, now).is_some();
        assert!(told("compact: segments/12.seg: damaged") && told("compact: segments/13.seg: damaged"));
        assert!(told("flush: write segments/12.seg: No space left on device"));
        assert!(!told("flush: write segments/13.seg: No space left on device"));
    }

    #[test]
    fn what_is_new_or_rare_is_told_each_time() {
        let (said, start) = (Said::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(said.line("keep a reserve: I/O error", at(0)).as_deref(), Some("keep a reserve: I/O error"));
        assert_eq!(said.line("flush: I/O error", at(1)).as_deref(), Some("flush: I/O error"));
        for hour in 1..5 {
            assert_eq!(said.line("flush: I/O error", at(3600 * hour)).as_deref(), Some("flush: I/O error"));
        }
        let shapes = ('a'..='z').chain('A'..='Z').map(|c| c.to_string());
        shapes.for_each(|text| assert!(said.line(&text, at(1)).is_some()));
        assert!(said.0.lock().len() <= KNOWN);
    }
}
