//! The log on standard error: with times for people, with priorities for the journal.

use std::io::Write;

use nix::sys::stat::fstat;

use crate::error::printable;

/// Starts the log; `RUST_LOG` says how much of it is written: otherwise warnings, and the beginnings and ends of daemons.
pub fn start() {
    let mut builder = env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("warn,daemon=info"));
    let journal = is_journal();
    builder.format(move |out, record| {
        // One line an entry, whatever it names.
        let (text, level) = (printable(&record.args().to_string()), record.level());
        if journal {
            return writeln!(out, "<{}>{text}", priority(level));
        }
        writeln!(out, "[{} {level:<5} {}] {text}", out.timestamp(), record.target())
    });
    builder.init();
}

/// Whether standard error is the stream that systemd gave us (systemd.exec(5): JOURNAL_STREAM is its device and inode).
fn is_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    fstat(std::io::stderr()).is_ok_and(|is| stream == format!("{}:{}", is.st_dev, is.st_ino))
}

/// syslog(3)'s number of a level, as sd-daemon(3) wants it before a line.
fn priority(level: log::Level) -> u8 {
    match level {
        log::Level::Error => 3,
        log::Level::Warn => 4,
        log::Level::Info => 6,
        log::Level::Debug | log::Level::Trace => 7,
    }
}
