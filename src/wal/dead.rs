//! Companions of segments: which of their entries were dropped by a flush or a compaction.
//!
//! Without them a rebuild from the segments would bring dropped cells back. A file is blocks: number of
//! offsets u32 (`u32::MAX`: the whole segment), CRC-32C u32 of segment id, number and offsets, then the
//! offsets u64. A torn block at the end is ignored: its transaction did not commit.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use super::record::{u32_at, u64_at};
use super::segments::Segments;
use crate::model::SegmentId;
use crate::{Error, Result};

const ALL: u32 = u32::MAX;

/// Dropped entries of one segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadMarks {
    all: bool,
    offsets: HashSet<u64>,
}

impl DeadMarks {
    /// Whether the entry at `offset` was dropped.
    pub fn contains(&self, offset: u64) -> bool {
        self.all || self.offsets.contains(&offset)
    }

    /// Whether the segment was rewritten as a whole.
    pub fn all(&self) -> bool {
        self.all
    }

    /// The mark of a whole segment.
    pub fn whole_segment() -> Self {
        Self { all: true, offsets: HashSet::new() }
    }
}

impl FromIterator<u64> for DeadMarks {
    fn from_iter<I: IntoIterator<Item = u64>>(offsets: I) -> Self {
        Self { all: false, offsets: offsets.into_iter().collect() }
    }
}

fn check(id: SegmentId, count: u32, offsets: &[u8]) -> u32 {
    let check = crc32c::crc32c(&id.0.to_le_bytes());
    let check = crc32c::crc32c_append(check, &count.to_le_bytes());
    crc32c::crc32c_append(check, offsets)
}

fn block(id: SegmentId, marks: &DeadMarks) -> Vec<u8> {
    let mut offsets: Vec<u64> = marks.offsets.iter().copied().collect();
    offsets.sort_unstable();
    let body: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
    let count = if marks.all { ALL } else { offsets.len() as u32 };
    let mut out = Vec::with_capacity(8 + body.len());
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&check(id, count, &body).to_le_bytes());
    out.extend_from_slice(&body);
    out
}

/// What a companion says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadFile {
    pub marks: DeadMarks,
    /// Bytes up to the end of the last whole block.
    pub whole: u64,
    /// Where something damaged is in front of a whole block: its marks are lost.
    pub damage: Vec<u64>,
    /// Bytes behind the last whole block: a torn one.
    pub torn: u64,
}

/// The block at `at`, without a look at its checksum: how many offsets it has, and them.
fn block_at(data: &[u8], at: usize) -> Option<(u32, &[u8])> {
    let count = u32_at(data.get(at..at + 8)?, 0);
    let body = if count == ALL { &[][..] } else { data.get(at + 8..at.checked_add(8 + count as usize * 8)?)? };
    (count > 0).then_some((count, body))
}

/// The next whole block from `at` on, behind what is damaged: blocks begin at multiples of eight bytes.
fn next_block(id: SegmentId, data: &[u8], at: usize) -> Option<(usize, u32, &[u8])> {
    let is_whole = |at: usize, (count, body): (u32, &[u8])| check(id, count, body) == u32_at(data, at + 4);
    if let Some(block) = block_at(data, at).filter(|block| is_whole(at, *block)) {
        return Some((at, block.0, block.1));
    }
    // Checksums from the start to each of these places, from which that of any block follows: a damaged number of
    // offsets may say that a block reaches to the end, at every place anew.
    let mut sums = vec![0];
    for word in data.as_chunks::<8>().0 {
        sums.push(crc32c::crc32c_append(sums.last().copied().unwrap_or_default(), word));
    }
    let sum_of = |from: usize, len: usize| sums[(from + len) / 8] ^ crc32c::crc32c_combine(sums[from / 8], 0, len);
    (at + 8..data.len()).step_by(8).find_map(|at| {
        let (count, body) = block_at(data, at)?;
        let sum = crc32c::crc32c_combine(check(id, count, &[]), sum_of(at + 8, body.len()), body.len());
        (sum == u32_at(data, at + 4)).then_some((at, count, body))
    })
}

fn parse(id: SegmentId, data: &[u8]) -> DeadFile {
    let mut file = DeadFile::default();
    let mut at = 0;
    while let Some((next, count, body)) = next_block(id, data, at) {
        if next > at {
            file.damage.push(at as u64);
        }
        file.marks.all |= count == ALL;
        file.marks.offsets.extend((0..body.len()).step_by(8).map(|o| u64_at(body, o)));
        at = next + 8 + body.len();
        file.whole = at as u64;
    }
    file.torn = data.len() as u64 - file.whole;
    file
}

/// Reads a segment's companion; empty if there is none.
pub fn look_at_dead(segments: &Segments, id: SegmentId) -> Result<DeadFile> {
    let path = segments.dead_path(id);
    match segments.env().read_file(&path) {
        Ok(data) => Ok(parse(id, &data)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(DeadFile::default()),
        Err(e) => Err(Error::io(format!("read {}", path.display()), &e)),
    }
}

/// The dropped entries of a segment.
pub fn read_dead(segments: &Segments, id: SegmentId) -> Result<DeadMarks> {
    Ok(look_at_dead(segments, id)?.marks)
}

/// Adds marks to a segment's companion; they are on the disk when this returns.
pub fn append_dead(segments: &Segments, id: SegmentId, marks: &DeadMarks) -> Result<()> {
    let _alone = segments.marking.lock();
    append(segments, id, marks)
}

fn append(segments: &Segments, id: SegmentId, marks: &DeadMarks) -> Result<()> {
    if !marks.all && marks.offsets.is_empty() {
        return Ok(());
    }
    let path = segments.dead_path(id);
    let env = segments.env();
    let segment = segments.get(id);
    let known = segment.as_ref().and_then(|segment| segment.dead_len());
    let write = || {
        let block = block(id, marks);
        let Some(end) = known else {
            // Order: a new file with all there is. A sync of the old one may have failed, after which the disk need not
            // have what is read of it.
            let mut all = if env.exists(&path)? { env.read_file(&path)? } else { Vec::new() };
            all.truncate(parse(id, &all).whole as usize);
            all.extend_from_slice(&block);
            env.replace_file(&path, &all)?;
            return Ok(all.len() as u64);
        };
        let file = env.open(&path)?;
        // Order: after what is whole, over anything torn.
        file.set_len(end)?;
        file.write_at(&block, end)?;
        file.sync()?;
        Ok(end + block.len() as u64)
    };
    let written: std::io::Result<u64> = write();
    if let Some(segment) = segment {
        segment.set_dead_len(written.as_ref().ok().copied());
    }
    written.map(|_| ()).map_err(|e| Error::io(format!("write {}", path.display()), &e))
}

/// Adds marks to the companions of several segments: all of them or none, wherever the machine stops.
pub fn append_all_dead(segments: &Segments, marks: &BTreeMap<SegmentId, DeadMarks>) -> Result<()> {
    let _alone = segments.marking.lock();
    let path = pending_path(segments);
    let io = |e: std::io::Error| Error::io(format!("write {}", path.display()), &e);
    let several = marks.len() > 1;
    if several {
        let mut bytes: Vec<u8> = Vec::new();
        for (id, marks) in marks {
            let block = block(*id, marks);
            bytes.extend_from_slice(&id.0.to_le_bytes());
            bytes.extend_from_slice(&(block.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&block);
        }
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        // Order: what is marked together is on the disk in one piece before the first companion has any of it.
        segments.env().replace_file(&path, &bytes).map_err(io)?;
    }
    for (id, marks) in marks {
        append(segments, *id, marks)?;
    }
    if several { segments.env().remove(&path).map_err(io) } else { Ok(()) }
}

/// Where marks of several segments are until all companions have them: for each the id u32, the length u32 and the
/// block, then a CRC-32C u32 of it all.
fn pending_path(segments: &Segments) -> PathBuf {
    segments.dir().join("pending.drop")
}

/// Brings marks to where they were going when the machine stopped.
pub(super) fn finish_pending(segments: &Segments) -> Result<()> {
    let path = pending_path(segments);
    let io = |e: std::io::Error| Error::io(format!("read {}", path.display()), &e);
    let bytes = match segments.env().read_file(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(io(e)),
    };
    let whole =
        bytes.split_last_chunk::<4>().filter(|(body, check)| crc32c::crc32c(body) == u32::from_le_bytes(**check));
    let mut rest = whole.map_or(&[][..], |(body, _)| body);
    while rest.len() >= 8 {
        let (id, len) = (SegmentId(u32_at(rest, 0)), u32_at(rest, 4) as usize);
        let block = rest.get(8..8 + len).unwrap_or_default();
        if segments.get(id).is_some() {
            append_dead(segments, id, &parse(id, block).marks)?;
        }
        rest = rest.get(8 + len..).unwrap_or_default();
    }
    segments.env().remove(&path).map_err(io)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::env::{Env, SimEnv};
    use crate::wal::SegmentOrigin;

    #[test]
    fn a_damaged_block_does_not_take_those_behind_it_along() {
        let id = SegmentId(3);
        let mut data = block(id, &[40, 90].into_iter().collect());
        let first = data.len();
        data.extend(block(id, &[200].into_iter().collect()));
        let good = parse(id, &data);
        assert!([40, 90, 200].iter().all(|at| good.marks.contains(*at)) && good.damage.is_empty() && good.torn == 0);
        for bit in 0..first * 8 {
            let mut damaged = data.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let file = parse(id, &damaged);
            assert_eq!(file.damage, [0]);
            assert_eq!((file.marks, file.whole), ([200].into_iter().collect(), data.len() as u64));
        }
        for len in 0..data.len() {
            let file = parse(id, &data[..len]);
            assert_eq!(file.whole, if len < first { 0 } else { first as u64 });
            assert_eq!(file.torn, len as u64 - file.whole);
        }
    }

    #[test]
    fn damage_in_a_large_file_is_passed_by_in_one_go() {
        let id = SegmentId(3);
        // Numbers of offsets that let a block reach to the end from everywhere.
        let mut data: Vec<u8> = (0..200_000_u64).flat_map(|n| (100_000 - n / 2).to_le_bytes()).collect();
        let damaged = data.len() as u64;
        data.extend(block(id, &[200].into_iter().collect()));
        data.extend(block(id, &[300].into_iter().collect()));
        let file = parse(id, &data);
        assert_eq!((file.damage, file.marks), (vec![0], [200, 300].into_iter().collect()));
        assert_eq!(file.whole, damaged + 32);
    }

    #[test]
    fn marks_of_flushes_and_compactions_at_once_are_all_there() {
        let env = SimEnv::new();
        env.create_dir("/segments".as_ref()).unwrap();
        let segments = Segments::open(Arc::new(env), "/segments".into(), [7; 16]).unwrap();
        let ids: Vec<SegmentId> = (0..3).map(|_| segments.create(SegmentOrigin::Log).unwrap().0).collect();
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let (segments, ids) = (&segments, &ids);
                scope.spawn(move || {
                    for n in 0..50 {
                        let marks = ids.iter().map(|id| (*id, [thread * 1000 + n].into_iter().collect())).collect();
                        append_all_dead(segments, &marks).unwrap();
                    }
                });
            }
        });
        for id in ids {
            let marks = read_dead(&segments, id).unwrap();
            assert!((0..4).all(|thread| (0..50).all(|n| marks.contains(thread * 1000 + n))));
        }
    }
}
