//! How many distinct columns there are, about, and how many in several extents together: HyperLogLog (Flajolet et al. 2007)
//! with 2,048 registers, 2 % of error; exact up to 256 columns. Pure.

use crate::format::{put_varint, take, take_varint};

const EXACT: usize = 256;
const REGISTERS: usize = 2048;
const INDEX_BITS: u32 = 11;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch(Form);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// Hashes, sorted.
    Exact(Vec<u64>),
    Registers(Box<[u8; REGISTERS]>),
}

impl Default for Sketch {
    fn default() -> Self {
        Self(Form::Exact(Vec::new()))
    }
}

fn set(registers: &mut [u8; REGISTERS], hash: u64) {
    let register = &mut registers[(hash >> (64 - INDEX_BITS)) as usize];
    let rank = (hash << INDEX_BITS | 1 << (INDEX_BITS - 1)).leading_zeros() as u8 + 1;
    *register = rank.max(*register);
}

impl Sketch {
    /// Counts a column by its hash.
    pub(in crate::segment) fn add(&mut self, hash: u64) {
        match &mut self.0 {
            Form::Registers(registers) => set(registers, hash),
            Form::Exact(hashes) => {
                if let Err(at) = hashes.binary_search(&hash) {
                    hashes.insert(at, hash);
                    if hashes.len() > EXACT {
                        self.0 = Form::Registers(self.registers());
                    }
                }
            }
        }
    }

    /// Its registers, whatever its form.
    fn registers(&self) -> Box<[u8; REGISTERS]> {
        match &self.0 {
            Form::Registers(registers) => registers.clone(),
            Form::Exact(hashes) => {
                let mut registers = Box::new([0; REGISTERS]);
                hashes.iter().for_each(|hash| set(&mut registers, *hash));
                registers
            }
        }
    }

    /// Counts what another has counted.
    pub fn merge(&mut self, other: &Sketch) {
        match &other.0 {
            Form::Exact(hashes) => hashes.iter().for_each(|hash| self.add(*hash)),
            Form::Registers(theirs) => {
                let mut registers = self.registers();
                for (own, theirs) in registers.iter_mut().zip(theirs.iter()) {
                    *own = (*own).max(*theirs);
                }
                self.0 = Form::Registers(registers);
            }
        }
    }

    /// How many distinct columns there are.
    pub fn estimate(&self) -> u64 {
        let registers = match &self.0 {
            Form::Exact(hashes) => return hashes.len() as u64,
            Form::Registers(registers) => registers,
        };
        let m = REGISTERS as f64;
        let sum: f64 = registers.iter().map(|&rank| (-f64::from(rank)).exp2()).sum();
        let raw = 0.7213 / (1.0 + 1.079 / m) * m * m / sum;
        let empty = registers.iter().filter(|&&rank| rank == 0).count();
        // Small numbers are better told by the registers that nothing has met.
        let best = if raw <= 2.5 * m && empty > 0 { m * (m / empty as f64).ln() } else { raw };
        best.round() as u64
    }

    pub(in crate::segment) fn encode(&self) -> Vec<u8> {
        match &self.0 {
            Form::Registers(registers) => registers.to_vec(),
            Form::Exact(hashes) => {
                let mut out = Vec::with_capacity(hashes.len() * 8 + 2);
                put_varint(&mut out, hashes.len() as u64);
                hashes.iter().for_each(|hash| out.extend_from_slice(&hash.to_le_bytes()));
                // None of these is as long as the registers, which tells the two apart.
                out
            }
        }
    }

    pub(in crate::segment) fn decode(mut bytes: &[u8]) -> Option<Self> {
        if let Ok(registers) = <[u8; REGISTERS]>::try_from(bytes) {
            let sound = registers.iter().all(|&rank| rank <= 64);
            return sound.then(|| Self(Form::Registers(Box::new(registers))));
        }
        let count = usize::try_from(take_varint(&mut bytes)?).ok().filter(|count| *count <= EXACT)?;
        let hashes = take(&mut bytes, count * 8)?.as_chunks::<8>().0.iter().map(|hash| u64::from_le_bytes(*hash));
        let hashes: Vec<u64> = hashes.collect();
        (bytes.is_empty() && hashes.is_sorted_by(|a, b| a < b)).then_some(Self(Form::Exact(hashes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sketches_tell_the_number_of_columns_and_of_unions() {
        for count in [0u64, 1, 200, 256, 257, 2_000, 5_000, 100_000] {
            let (mut one, mut two) = (Sketch::default(), Sketch::default());
            for n in 0..count {
                let hash = crate::segment::parts::filter::hash(&n.to_le_bytes());
                one.add(hash);
                one.add(hash);
                if n % 2 == 0 {
                    two.add(hash)
                }
            }
            let both = {
                let mut both = two.clone();
                both.merge(&one);
                both
            };
            for (sketch, right) in [(&one, count), (&two, count.div_ceil(2)), (&both, count)] {
                let told = sketch.estimate() as f64;
                let off = (told - right as f64).abs() / (right.max(1) as f64);
                assert!(off < if right <= 256 { 0.001 } else { 0.08 }, "{told} instead of {right}");
                assert_eq!(Sketch::decode(&sketch.encode()).as_ref(), Some(sketch));
            }
        }
    }
}
