//! A window of a file in memory. What is copied there is in the file as if it had been written: it outlives a kill, and
//! [`super::EnvFile::sync`] brings it to the disk.
//!
//! The one place with `unsafe`. A page that the filesystem cannot give any more (it was shut down, or somebody has cut the
//! file) is a SIGBUS of whoever touches it; the window is memory without a file from then on, and says so.

#![allow(unsafe_code, reason = "a mapping of a file and a handler of a signal have no safe form")]

use std::fs::File;
use std::io;
use std::os::raw::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};

use memmap2::{MmapMut, MmapOptions};
use nix::fcntl::FallocateFlags;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::sys::statfs::{EXT4_SUPER_MAGIC, FsType, TMPFS_MAGIC, XFS_SUPER_MAGIC, fstatfs};

use super::interrupted::uninterrupted;
use super::{WINDOW_HEAD, Window};

/// Those on which room that was taken needs no more room when it is written to, unless a copy of the file shares it.
const TRUSTED: [FsType; 3] = [EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, TMPFS_MAGIC];
/// Windows begin and end at multiples of so many bytes: at pages, whatever size those have.
const UNIT: u64 = 64 << 10;
/// First bytes of a record, of which those behind the head are written before all others.
const FRONT: usize = 32;

/// See the module.
pub(super) struct MappedWindow {
    guard: &'static Guard,
    map: MmapMut,
    /// Where it begins in the file.
    base: u64,
}

/// As [`super::EnvFile::window`]; `None` too if too many are mapped.
pub(super) fn window(file: &File, from: u64, to: u64) -> io::Result<Option<Box<dyn Window>>> {
    if !TRUSTED.contains(&fstatfs(file)?.filesystem_type()) || !handles_bus() {
        return Ok(None);
    }
    let (base, to) = (from / UNIT * UNIT, to.next_multiple_of(UNIT));
    let (start, room) = (i64::try_from(from), i64::try_from(to.saturating_sub(from)));
    let (start, room) = (start.map_err(io::Error::other)?, room.map_err(io::Error::other)?);
    match uninterrupted(|| nix::fcntl::fallocate(file, FallocateFlags::empty(), start, room)) {
        Err(nix::Error::EOPNOTSUPP | nix::Error::ENOSYS) => return Ok(None),
        taken => taken?,
    }
    let len = usize::try_from(to - base).map_err(io::Error::other)?;
    // SAFETY: the mapping is copied to and never read, so it does not matter what others do to the file; pages that they
    // take away are handled.
    let map = unsafe { MmapOptions::new().offset(base).len(len).map_mut(file)? };
    let guard = Guard::take(map.as_ptr().addr(), len);
    Ok(guard.map(|guard| Box::new(MappedWindow { guard, map, base }) as Box<dyn Window>))
}

impl Window for MappedWindow {
    fn end(&self) -> u64 {
        self.base + self.map.len() as u64
    }

    fn put(&mut self, record: &[u8], offset: u64) -> io::Result<()> {
        let outside = || io::Error::new(io::ErrorKind::InvalidInput, "it is not in the window");
        let at = offset.checked_sub(self.base).and_then(|at| usize::try_from(at).ok()).ok_or_else(outside)?;
        let place = self.map.get_mut(at..).and_then(|rest| rest.get_mut(..record.len())).ok_or_else(outside)?;
        let (head, front) = (WINDOW_HEAD.min(record.len()), FRONT.min(record.len()));
        // Order: a kill leaves what was stored before.
        for part in [head..front, front..record.len(), 0..head] {
            place[part.clone()].copy_from_slice(&record[part]);
            compiler_fence(Ordering::SeqCst);
        }
        if self.guard.is_broken.load(Ordering::SeqCst) {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        Ok(())
    }
}

impl Drop for MappedWindow {
    fn drop(&mut self) {
        // Order: before the addresses are anybody's.
        self.guard.give_back();
    }
}

/// The addresses of a window, for the handler.
struct Guard {
    is_taken: AtomicBool,
    from: AtomicUsize,
    len: AtomicUsize,
    is_broken: AtomicBool,
}

/// More than a process has logs.
static GUARDS: [Guard; 64] = [const { Guard::free() }; 64];
/// Who handled the signal before.
static PREVIOUS: OnceLock<nix::Result<SigAction>> = OnceLock::new();

impl Guard {
    const fn free() -> Self {
        let (from, len) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { is_taken: AtomicBool::new(false), from, len, is_broken: AtomicBool::new(false) }
    }

    fn take(from: usize, len: usize) -> Option<&'static Self> {
        let free = GUARDS.iter().find(|guard| !guard.is_taken.swap(true, Ordering::SeqCst))?;
        free.is_broken.store(false, Ordering::SeqCst);
        free.from.store(from, Ordering::SeqCst);
        free.len.store(len, Ordering::SeqCst);
        Some(free)
    }

    fn give_back(&self) {
        self.len.store(0, Ordering::SeqCst);
        self.is_taken.store(false, Ordering::SeqCst);
    }

    /// Puts memory without a file in the place of a window, if an address is in it. Calls nothing but mmap(2).
    fn replace(&self, address: usize) -> bool {
        let (from, len) = (self.from.load(Ordering::SeqCst), self.len.load(Ordering::SeqCst));
        if !(from..from + len).contains(&address) {
            return false;
        }
        self.is_broken.store(true, Ordering::SeqCst);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: all of the range is a mapping of ours, of which nothing is read.
        let put = unsafe { libc::mmap(from as *mut c_void, len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        put != libc::MAP_FAILED
    }
}

/// Has SIGBUS in a window handled, from the first call on; whether that could be done.
fn handles_bus() -> bool {
    let action = SigAction::new(SigHandler::SigAction(on_bus), SaFlags::SA_ONSTACK, SigSet::empty());
    // SAFETY: the handler calls nothing that a handler may not.
    PREVIOUS.get_or_init(|| unsafe { sigaction(Signal::SIGBUS, &action) }).is_ok()
}

extern "C" fn on_bus(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives what SA_SIGINFO promises.
    let address = unsafe { (*info).si_addr() }.addr();
    if GUARDS.iter().any(|guard| guard.replace(address)) {
        return;
    }
    match PREVIOUS.get().and_then(|previous| previous.as_ref().ok()).map(SigAction::handler) {
        Some(SigHandler::SigAction(handle)) => handle(signal, info, context),
        Some(SigHandler::Handler(handle)) => handle(signal),
        _ => {
            let action = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
            // SAFETY: whoever touched the address does so again, and ends as if there were no handler.
            let _ = unsafe { sigaction(Signal::SIGBUS, &action) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> File {
        tempfile::tempfile_in("/dev/shm").unwrap()
    }

    #[test]
    fn what_is_put_is_in_the_file_at_its_place() {
        use std::os::unix::fs::FileExt;
        let file = file();
        file.write_all_at(b"header", 0).unwrap();
        let mut window = window(&file, 6, 100).unwrap().unwrap();
        assert_eq!(window.end(), UNIT);
        window.put(b"record", 6).unwrap();
        window.put(b"r", 12).unwrap();
        let mut found = [0; 14];
        file.read_exact_at(&mut found, 0).unwrap();
        assert_eq!(&found, b"headerrecordr\0");
        assert_eq!(file.metadata().unwrap().len(), UNIT);
        assert!(window.put(b"record", UNIT - 5).is_err());
    }

    #[test]
    fn a_window_of_a_file_that_was_cut_is_an_error_and_no_more() {
        let file = file();
        let mut first = window(&file, 0, UNIT).unwrap().unwrap();
        first.put(b"record", 0).unwrap();
        file.set_len(0).unwrap();
        for _ in 0..2 {
            assert_eq!(first.put(b"record", 0).unwrap_err().raw_os_error(), Some(libc::EIO));
        }
        let mut second = window(&file, 0, UNIT).unwrap().unwrap();
        second.put(b"record", 0).unwrap();
    }
}
