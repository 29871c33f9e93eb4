//! What was found to be damaged while the store was opened: each goes to the log, the first to the status.

use std::path::Path;

/// See the module.
#[derive(Debug, Default)]
pub struct Damages {
    count: u64,
    first: Option<String>,
}

impl Damages {
    /// Reports one.
    pub fn add(&mut self, text: &str) {
        log::error!("{text}");
        self.count += 1;
        self.first.get_or_insert_with(|| text.to_owned());
    }

    /// For the status; `None`: nothing was found.
    pub fn sentence(&self, store: &Path) -> Option<String> {
        let first = self.first.as_ref()?;
        let more = if self.count > 1 { format!(" (and {} more)", self.count - 1) } else { String::new() };
        Some(format!("{first}{more}. For all of it: cellfs check {}", store.display()))
    }
}
