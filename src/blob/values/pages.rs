//! Bytes that were written over a value and are in no chunk yet, by where they lie.

use std::collections::BTreeMap;

/// Runs of bytes that neither touch nor overlap.
#[derive(Default)]
pub(in crate::blob) struct Pages {
    runs: BTreeMap<u64, Vec<u8>>,
    bytes: usize,
}

impl Pages {
    /// Bytes of all runs.
    pub(in crate::blob) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes bytes over what was there before.
    pub(in crate::blob) fn put(&mut self, at: u64, bytes: &[u8]) {
        let end = at + bytes.len() as u64;
        let before = self.runs.range(..=at).next_back();
        let before = before.filter(|(start, run)| *start + run.len() as u64 >= at).map(|(start, _)| *start);
        let from = before.unwrap_or(at);
        let mut run = before.and_then(|start| self.runs.remove(&start)).unwrap_or_default();
        self.bytes -= run.len();
        let skipped = (at - from) as usize;
        let over = (run.len() - skipped).min(bytes.len());
        run[skipped..skipped + over].copy_from_slice(&bytes[..over]);
        run.extend_from_slice(&bytes[over..]);
        let touched: Vec<u64> = self.runs.range(at..=end).map(|(start, _)| *start).collect();
        for start in touched {
            let Some(other) = self.runs.remove(&start) else { continue };
            self.bytes -= other.len();
            let covered = (from + run.len() as u64 - start) as usize;
            run.extend_from_slice(other.get(covered..).unwrap_or_default());
        }
        self.bytes += run.len();
        self.runs.insert(from, run);
    }

    /// Puts what there is of it over bytes that begin at a place.
    pub(in crate::blob) fn lay_over(&self, at: u64, out: &mut [u8]) {
        let end = at + out.len() as u64;
        let first = self.runs.range(..=at).next_back().map_or(at, |(start, _)| *start);
        for (start, run) in self.runs.range(first..end) {
            let (from, to) = ((*start).max(at), (start + run.len() as u64).min(end));
            if from < to {
                out[(from - at) as usize..(to - at) as usize]
                    .copy_from_slice(&run[(from - start) as usize..(to - start) as usize]);
            }
        }
    }

    /// The first run, and where it lies.
    pub(in crate::blob) fn first(&self) -> Option<(u64, &[u8])> {
        self.runs.first_key_value().map(|(at, run)| (*at, run.as_slice()))
    }

    pub(in crate::blob) fn drop_first(&mut self) {
        self.bytes -= self.runs.pop_first().map_or(0, |(_, run)| run.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_what_was_written_last(writes in prop::collection::vec((0u64..200, 1usize..40, any::<u8>()), 1..60)) {
            let (mut pages, mut is) = (Pages::default(), vec![None; 300]);
            for (at, len, byte) in writes {
                pages.put(at, &vec![byte; len]);
                is[at as usize..at as usize + len].fill(Some(byte));
                let written = is.iter().flatten().count();
                prop_assert_eq!(pages.bytes(), written);
                for from in [0usize, 50, 133] {
                    let mut out = vec![7; 100];
                    pages.lay_over(from as u64, &mut out);
                    let wanted: Vec<u8> = is[from..from + 100].iter().map(|byte| byte.unwrap_or(7)).collect();
                    prop_assert_eq!(out, wanted);
                }
            }
            let mut end = None;
            while let Some((at, run)) = pages.first() {
                prop_assert!(end.is_none_or(|end| at > end));
                end = Some(at + run.len() as u64);
                pages.drop_first();
            }
            prop_assert_eq!(pages.bytes(), 0);
        }
    }
}
