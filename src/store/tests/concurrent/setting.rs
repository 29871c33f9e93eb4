//! What a seed decides before a run begins: the machine, how much is done, how it ends.

use super::world::Chance;
use super::*;

/// What goes wrong in a run besides the order of things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    Healthy,
    /// Calls fail, once each or from then on.
    Fails,
    /// There is little room.
    Small,
    /// Writes go wrong in silence.
    Lies,
    /// What was written cannot be read any more.
    Decays,
}

impl Disk {
    /// Whether writes go wrong of which nobody is told.
    pub fn spoils(self) -> bool {
        matches!(self, Disk::Lies | Disk::Decays)
    }
}

/// Disks of runs, each as often as it stands there.
fn disks() -> Vec<Disk> {
    use Disk::{Decays, Fails, Healthy, Lies, Small};
    match std::env::var("CELLFS_DISK").as_deref() {
        Ok("honest") => vec![Healthy, Healthy, Fails, Small],
        Ok("lying") => vec![Lies],
        Ok("decaying") => vec![Decays],
        _ => vec![Healthy, Healthy, Healthy, Healthy, Fails, Fails, Small, Decays, Lies],
    }
}

/// How a run's machine is, and how much is done.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub disk: Disk,
    pub background: Background,
    pub memtable_bytes: u64,
    pub segment_bytes: u64,
    pub value_bytes: u64,
    pub actors: u64,
    pub deeds: u64,
    pub lives: u64,
    /// Of the family of all tables.
    pub ttl_s: Option<u64>,
    pub broken: Option<Broken>,
}

impl Setting {
    pub fn new(seed: u64, chance: &mut Chance, broken: Option<Broken>) -> Self {
        // Numbers of its own, so that a seed goes on being what it was.
        let mut aside = Chance::new(seed.rotate_left(32) ^ 0x0074_746C);
        Self {
            disk: chance.of(&disks()),
            background: chance.of(&[Background::On, Background::On, Background::Off]),
            memtable_bytes: chance.of(&[2_000, 20_000, 1 << 20]),
            segment_bytes: chance.of(&[1, 20_000, 256 << 20]),
            value_bytes: chance.of(&[20, 20, 600, 5_000, 40_000]),
            actors: 2 + chance.below(5),
            deeds: 10 + chance.below(40),
            lives: 1 + chance.below(3),
            ttl_s: aside.one_in(4).then(|| aside.of(&[2, 10, 60])),
            broken,
        }
    }

    pub fn options(self, env: &SimEnv) -> StoreOptions {
        let mut options = crate::store::tests::options(env);
        options.background = self.background;
        options.memtable_bytes = self.memtable_bytes;
        options.segment_bytes = self.segment_bytes;
        options.broken = self.broken;
        options
    }
}

/// How a life of the store ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Closed,
    Killed,
    PowerCut(CrashMode),
}

impl End {
    pub fn new(chance: &mut Chance) -> Self {
        match chance.below(6) {
            0 => End::Closed,
            1 | 2 => End::Killed,
            3 => End::PowerCut(CrashMode::LoseUnsynced),
            _ => End::PowerCut(CrashMode::KeepSome { seed: chance.below(u64::MAX) }),
        }
    }
}
