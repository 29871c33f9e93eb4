//! A file of the log that was replayed.

use super::files::Read;
use crate::log::Becomes;
use crate::model::SeqNo;

/// See the module.
pub struct Old {
    pub number: u64,
    before: Option<SeqNo>,
    pub is_unreadable: bool,
}

impl Old {
    pub fn of(file: &Read) -> Self {
        Self { number: file.number, before: file.before, is_unreadable: file.is_unreadable }
    }

    /// What becomes of it at once, as a new file has everything behind `before`; `None`: it counts until that is covered.
    pub fn becomes(&self, (before, covered): (SeqNo, SeqNo), retains: bool) -> Option<Becomes> {
        let is_covered = before <= covered;
        let begins = self.before.unwrap_or(SeqNo(0));
        match (is_covered || begins >= before, self.is_unreadable) {
            (false, _) => None,
            (true, true) => Some(Becomes::Aside),
            (true, false) if is_covered && begins < before && retains => Some(Becomes::Past),
            (true, false) => Some(Becomes::Gone),
        }
    }
}
