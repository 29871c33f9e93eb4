//! The two mounts that are compared, and their daemons.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cellfs::backend::Backend;
use cellfs::model::{
    CatalogueChange, FamilySchema, Mutation, Origin, PutCell, RowMutations, TableName, TableSchema, Time,
};
use cellfs::store::{Store, StoreOptions};

/// A mounted filesystem and the process behind it; unmounted when dropped.
pub struct Mount {
    kind: Kind,
    directory: tempfile::TempDir,
    daemon: Child,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Floor,
    Cellfs,
}

/// This process and those that it starts run on one processor from now on.
pub fn pin_to_first_processor() {
    let mut set = nix::sched::CpuSet::new();
    let pinned = set.set(0).and_then(|()| nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &set));
    if let Err(e) = pinned {
        eprintln!("not pinned to one processor ({e}): the figures will vary");
    }
}

/// This process and those that it starts run on all processors again.
pub fn unpin() {
    let mut set = nix::sched::CpuSet::new();
    let all = (0..nix::sched::CpuSet::count()).try_for_each(|processor| set.set(processor));
    if let Err(e) = all.and_then(|()| nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &set)) {
        eprintln!("still pinned to one processor ({e})");
    }
}

impl Mount {
    pub fn floor() -> Self {
        let program = std::env::current_exe().expect("own path");
        Self::start(Kind::Floor, |mount_point, _| {
            let mut command = Command::new(program);
            command.arg("--serve-floor").arg(mount_point);
            command
        })
    }

    /// A store that has a table of so many rows, mounted with these options.
    pub fn cellfs(rows: usize, options: &str) -> Self {
        let mount = Self::start(Kind::Cellfs, |mount_point, store| {
            import(store, rows);
            let mut command = Command::new(env!("CARGO_BIN_EXE_cellfs"));
            command.args(["mount", "-f", "-o", options]).arg(store).arg(mount_point);
            command
        });
        fs::create_dir_all(mount.root().join("default/bench/.schema/f")).expect("declare the family");
        mount
    }

    fn start(kind: Kind, command: impl FnOnce(&Path, &Path) -> Command) -> Self {
        let directory = tempfile::tempdir().expect("temporary directory");
        let mount_point = directory.path().join("mnt");
        fs::create_dir(&mount_point).expect("mount point");
        let daemon = command(&mount_point, &directory.path().join("store"))
            .stdin(Stdio::null())
            .spawn()
            .expect("start the daemon");
        let mount = Self { kind, directory, daemon };
        let started = Instant::now();
        while !mount.is_mounted() {
            assert!(started.elapsed() < Duration::from_secs(30), "the mount does not answer");
            std::thread::sleep(Duration::from_millis(5));
        }
        fs::create_dir_all(mount.root().join("default/bench")).expect("make the table");
        mount
    }

    fn is_mounted(&self) -> bool {
        let table = fs::read_to_string("/proc/mounts").unwrap_or_default();
        let path = self.root().display().to_string();
        table.lines().any(|line| line.split(' ').nth(1) == Some(path.as_str()))
    }

    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Floor => "floor",
            Kind::Cellfs => "cellfs",
        }
    }

    pub fn root(&self) -> PathBuf {
        self.directory.path().join("mnt")
    }

    /// Directory of the files of a row; made if it is absent.
    pub fn family(&self, row: &str) -> PathBuf {
        let path = self.root().join("default/bench").join(row).join("f");
        fs::create_dir_all(&path).expect("make the family's directory");
        path
    }

    /// Requests that the daemon has had, by the kernel's own count where it keeps one, else by the daemon's.
    pub fn requests(&self) -> u64 {
        let text = fs::read_to_string(self.root().join(".info/requests")).expect("read the counters");
        text.lines().filter_map(|line| line.split(' ').nth(1)?.parse::<u64>().ok()).sum()
    }

    /// Resident memory of the daemon.
    pub fn memory_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.daemon.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
    }

    /// The directory with so many entries.
    pub fn make_rows(&self, rows: usize) -> PathBuf {
        let table = self.root().join("default").join(format!("rows{rows}"));
        if self.kind == Kind::Floor {
            fs::create_dir(&table).expect("make the directory");
            fs::write(table.join(".fill"), rows.to_string()).expect("fill the directory");
        }
        table
    }
}

/// Puts one cell a row into a table of a store that is not mounted yet.
fn import(store: &Path, rows: usize) {
    let store = Store::open(StoreOptions::new(store)).expect("make the store");
    let table = TableName::parse(&format!("rows{rows}")).expect("a name");
    let family = FamilySchema::new("f", cellfs::model::file_family_attributes());
    let schema = TableSchema::new(table.clone(), [family]);
    store.alter(CatalogueChange::CreateTable(schema), Origin::default()).expect("make the table");
    for row in 0..rows {
        let put = PutCell::new("f", b"q".to_vec(), Time::Now, b"value".to_vec());
        let mutations = RowMutations {
            table: table.clone(),
            row: format!("row{row:07}").into_bytes(),
            mutations: vec![Mutation::Put(vec![put])],
            durability: None,
            origin: Origin::default(),
        };
        store.mutate(mutations, None).expect("put");
    }
    store.flush(None).expect("flush");
    store.close().expect("close");
}

impl Drop for Mount {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.root()).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            // Not root: the helper of the package fuse3 does it.
            let _ = Command::new("fusermount3").arg("-u").arg(self.root()).status();
        }
        let _ = self.daemon.wait();
    }
}
