//! Files that whoever started the command has open, and that a daemon must not keep: who reads from such a pipe would
//! wait for its end as long as the mount lives.

use std::os::fd::RawFd;

/// The flag of a file that is closed by exec(3), as all are that a program of this kind opens itself.
const CLOSED_BY_EXEC: u32 = libc::O_CLOEXEC.cast_unsigned();

/// The open files behind standard input, output and error that came with the process.
pub(in crate::daemon) fn inherited() -> Vec<RawFd> {
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let numbers = open.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|number| *number > libc::STDERR_FILENO && flags(*number).is_some_and(is_inherited)).collect()
}

/// Closes them.
pub(in crate::daemon) fn close(files: &[RawFd]) {
    for file in files {
        // It is nobody's here; that one is closed already says the same.
        let _ = nix::unistd::close(*file);
    }
}

fn is_inherited(flags: u32) -> bool {
    flags & CLOSED_BY_EXEC == 0
}

/// The flags of an open file.
fn flags(number: RawFd) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).ok()?;
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    u32::from_str_radix(flags.trim(), 8).ok()
}
