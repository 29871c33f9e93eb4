//! Descriptors that are kept for the store's own files: programs that have many files open on a mount are refused one
//! more before the store is refused a file that it needs to keep what they wrote.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::sync::Mutex;

/// Files that the store opens at once, each in a directory that is held: a flush, a compaction, a blob, a file of the
/// log.
const SPARE: usize = 8;

/// See the module.
#[derive(Debug, Default)]
pub struct Spare {
    kept: Mutex<Vec<File>>,
    count: AtomicUsize,
}

impl Spare {
    /// Takes what is missing, as far as this process may.
    fn fill(&self) {
        if self.count.load(Ordering::Relaxed) >= SPARE {
            return;
        }
        let mut kept = self.kept.lock();
        while kept.len() < SPARE
            && let Ok(file) = File::open("/dev/null")
        {
            kept.push(file);
        }
        self.count.store(kept.len(), Ordering::Relaxed);
    }

    /// Gives one back to the process; false: there was none.
    fn release(&self) -> bool {
        let mut kept = self.kept.lock();
        let released = kept.pop().is_some();
        self.count.store(kept.len(), Ordering::Relaxed);
        released
    }

    /// Opens something; with a descriptor that was kept, if there is no other.
    pub fn open<T>(&self, mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        self.fill();
        let mut opened = open();
        while opened.as_ref().is_err_and(|e| e.raw_os_error() == Some(libc::EMFILE)) && self.release() {
            opened = open();
        }
        opened
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_given_back_when_there_is_no_other() {
        let spare = Spare::default();
        let mut refusals = 2;
        let opened = spare.open(|| {
            if refusals == 0 {
                return Ok(7);
            }
            refusals -= 1;
            Err(io::Error::from_raw_os_error(libc::EMFILE))
        });
        assert_eq!(opened.unwrap(), 7);
        assert_eq!(spare.count.load(Ordering::Relaxed), SPARE - 2);
        spare.open(|| Ok(())).unwrap();
        assert_eq!(spare.count.load(Ordering::Relaxed), SPARE, "taken again");
        let refused: io::Result<()> = spare.open(|| Err(io::Error::from_raw_os_error(libc::EMFILE)));
        assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::EMFILE));
        let other: io::Result<()> = spare.open(|| Err(io::Error::from_raw_os_error(libc::EACCES)));
        assert_eq!(other.unwrap_err().raw_os_error(), Some(libc::EACCES));
    }
}
