//! Calls that a signal may interrupt.

/// Makes a call again that a signal has interrupted, as the standard library does with its own.
pub(super) fn uninterrupted<T>(mut call: impl FnMut() -> nix::Result<T>) -> nix::Result<T> {
    loop {
        match call() {
            Err(nix::Error::EINTR) => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_a_signal_interrupts_is_made_again() {
        let mut answers = [Err(nix::Error::EINTR), Err(nix::Error::EINTR), Err(nix::Error::ENOSPC), Ok(())].into_iter();
        assert_eq!(uninterrupted(|| answers.next().unwrap()), Err(nix::Error::ENOSPC));
        assert_eq!(answers.next(), Some(Ok(())));
    }
}
