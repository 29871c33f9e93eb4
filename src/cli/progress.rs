//! Progress of long work: a line on standard error that goes away, and only if that is a terminal.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, bounded};
use indicatif::{ProgressBar, ProgressStyle};

use crate::Result;
use crate::backend::Backend;

/// How often a compaction is asked how far it is.
const LOOK: Duration = Duration::from_millis(200);

/// A line of progress; it goes away when it is dropped.
pub struct Progress(ProgressBar);

impl Progress {
    /// Work of unknown size: counts `what`.
    pub fn counting(what: &str) -> Self {
        let bar = ProgressBar::new_spinner();
        Self::styled(bar, &format!("{{spinner}} {{human_pos}} {what} ({{per_sec}}, {{elapsed}})"))
    }

    /// Work of `len` steps.
    pub fn towards(len: u64, what: &str) -> Self {
        Self::styled(ProgressBar::new(len), &format!("{what} [{{bar:40}}] {{percent}} % ({{eta}} to go)"))
    }

    /// Bytes that go by, of so many if that is known.
    pub fn flow(len: Option<u64>) -> Self {
        match len {
            None => Self::styled(
                ProgressBar::new_spinner(),
                "{spinner} {msg} {binary_bytes} ({binary_bytes_per_sec}, {elapsed})",
            ),
            Some(len) => Self::styled(
                ProgressBar::new(len),
                "{msg} [{bar:40}] {percent} % ({binary_bytes_per_sec}, {eta} to go)",
            ),
        }
    }

    /// What is said of it besides.
    pub fn say(&self, text: &str) {
        self.0.set_message(text.to_owned());
    }

    fn styled(bar: ProgressBar, template: &str) -> Self {
        // A template that does not parse would leave the default style: progress is no reason to fail.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(bar)
    }

    pub fn add(&self, steps: u64) {
        self.0.inc(steps);
    }

    pub fn set(&self, position: u64) {
        self.0.set_position(position);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Does `work` and meanwhile shows how far the store's compaction is; `watch` asks the same store.
pub fn while_compacting(watch: Arc<dyn Backend>, work: impl FnOnce() -> Result<()>) -> Result<()> {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let progress = Progress::towards(100, "compacting");
    std::thread::scope(|scope| {
        let (end, ended) = bounded::<()>(0);
        scope.spawn(move || {
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if let Some(compaction) = watch.status().ok().and_then(|status| status.compaction) {
                    progress.set(u64::from(compaction.percent));
                }
            }
        });
        let done = work();
        drop(end);
        done
    })
}
