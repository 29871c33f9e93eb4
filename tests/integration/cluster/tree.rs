//! A mount of a cluster, as a user meets it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::server::Cluster;
use crate::mount::fixture::{CELLFS, errno, history, names, suffixed};

/// A cluster mounted in a temporary directory, and a table there; both go when it is dropped.
pub struct Mounted {
    at: MountedAt,
    table: String,
    pub cluster: Arc<Cluster>,
}

/// A mount of an address.
pub struct MountedAt {
    directory: tempfile::TempDir,
    daemon: Child,
}

impl MountedAt {
    pub fn new(address: &str, options: &str) -> Self {
        Self::logging(address, options, "warn,daemon=info")
    }

    /// With a log of what that says (`RUST_LOG`).
    pub fn logging(address: &str, options: &str, what: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("mnt")).unwrap();
        let mnt = directory.path().join("mnt");
        let log = fs::File::create(directory.path().join("log")).unwrap();
        let daemon = Command::new(CELLFS)
            .args(["mount", "-f", "-o", options, address])
            .arg(&mnt)
            .env("RUST_LOG", what)
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mounted = Self { directory, daemon };
        let started = Instant::now();
        let answers =
            || nix::sys::statfs::statfs(&mnt).is_ok_and(|s| s.filesystem_type() == nix::sys::statfs::FUSE_SUPER_MAGIC);
        while !answers() {
            assert!(started.elapsed() < Duration::from_secs(60), "{}", mounted.log());
            std::thread::sleep(Duration::from_millis(5));
        }
        mounted
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    pub fn mnt(&self) -> PathBuf {
        self.directory.path().join("mnt")
    }
}

impl Drop for MountedAt {
    fn drop(&mut self) {
        // Nothing that fails here may hide the test's own failure.
        let _ = cellfs::fuse::unmount(&self.mnt(), cellfs::fuse::Detach::Now);
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

impl Mounted {
    /// With a table of this name, made by `mkdir`, and its family `f` in the row `r`.
    pub fn new(cluster: Arc<Cluster>, table: &str, options: &str) -> Self {
        cellfs(&["drop", &cluster.address, table]);
        let at = MountedAt::new(&cluster.address, options);
        let mounted = Self { at, table: table.to_owned(), cluster };
        fs::create_dir_all(mounted.path("r/f")).unwrap();
        mounted
    }

    pub fn log(&self) -> String {
        self.at.log()
    }

    pub fn mnt(&self) -> PathBuf {
        self.at.mnt()
    }

    /// A path in the table.
    pub fn path(&self, below: &str) -> PathBuf {
        self.mnt().join("default").join(&self.table).join(below)
    }

    pub fn errors(&self) -> String {
        fs::read_to_string(self.mnt().join(".info/errors")).unwrap()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        cellfs(&["drop", &self.cluster.address, &self.table]);
    }
}

/// Runs the command line; what it printed, and whether it ended well.
pub fn cellfs(args: &[&str]) -> (String, String, bool) {
    let output = Command::new(CELLFS).args(args).stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.success())
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn files_are_cells_with_their_history() {
    let mounted = Mounted::new(Cluster::shared(), "tree_cells", "");
    let cell = mounted.path("r/f/q");
    for value in ["one", "two", "three"] {
        fs::write(&cell, value).unwrap();
    }
    assert_eq!(read(&cell), "three");
    assert_eq!(fs::metadata(&cell).unwrap().len(), 5);
    assert_eq!(history(&cell), ["one", "two", "three"]);
    fs::File::options().append(true).open(&cell).unwrap().write_all(b" and more").unwrap();
    assert_eq!(read(&cell), "three and more");
    assert_eq!(names(&mounted.path("r/f")), ["q"]);
    assert_eq!(names(&mounted.path("")), ["r"]);
    let versions = names(&suffixed(&cell, "@"));
    fs::remove_file(&cell).unwrap();
    assert!(!cell.exists());
    // The family keeps what is deleted.
    assert_eq!(read(&suffixed(&cell, &format!("@{}", versions[3]))), "one");
    fs::write(&cell, "again").unwrap();
    assert_eq!(read(&cell), "again");
    fs::remove_file(&cell).unwrap();
    let kept = names(&mounted.mnt().join(".history/default/tree_cells/r/f"));
    assert_eq!(kept.len(), 5, "{kept:?}");
    assert!(kept.iter().all(|name| name.starts_with("q@") && name.contains(".deleted.")), "{kept:?}");
    fs::write(suffixed(&cell, "@1234"), "then").unwrap();
    assert_eq!(read(&suffixed(&cell, "@1234")), "then");
}

/// HBase 2.6.4 fails to read such a row.
#[test]
fn the_empty_column_is_not_deleted_where_that_would_break_its_row() {
    let mounted = Mounted::new(Cluster::shared(), "tree_empty", "");
    let cell = mounted.path("r/f/%");
    fs::write(&cell, "one").unwrap();
    assert_eq!(errno(fs::remove_file(&cell)), libc::EOPNOTSUPP);
    fs::write(&cell, "two").unwrap();
    assert_eq!(read(&cell), "two");
    let (_, said, done) = cellfs(&["deleteall", &mounted.cluster.address, "tree_empty", "r"]);
    assert!(done, "{said}");
}

#[test]
fn moves_go_within_a_row_in_one_step_and_else_by_copying() {
    let mounted = Mounted::new(Cluster::shared(), "tree_moves", "");
    let (from, to) = (mounted.path("r/f/from"), mounted.path("r/f/to"));
    fs::write(&from, "moved").unwrap();
    fs::write(&to, "old").unwrap();
    fs::rename(&from, &to).unwrap();
    assert!(!from.exists());
    assert_eq!((read(&to), history(&to)), ("moved".into(), vec!["old".into(), "moved".into()]));
    fs::create_dir_all(mounted.path("s/f")).unwrap();
    let other = mounted.path("s/f/to");
    assert_eq!(errno(fs::rename(&to, &other)), libc::EXDEV);
    assert!(mounted.errors().contains("one row in one step"), "{}", mounted.errors());
    let moved = Command::new("mv").arg(&to).arg(&other).status().unwrap();
    assert!(moved.success() && !to.exists());
    assert_eq!(read(&other), "moved");
    assert_eq!(errno(fs::rename(mounted.path("s"), mounted.path("u"))), libc::EXDEV);
    assert_eq!(errno(fs::rename(mounted.path(""), mounted.mnt().join("default/tree_elsewhere"))), libc::EXDEV);
}

#[test]
fn tables_and_families_come_by_mkdir_and_attributes_by_their_files() {
    let mounted = Mounted::new(Cluster::shared(), "tree_schema", "");
    let (told, _, _) = cellfs(&["describe", &mounted.cluster.address, "tree_schema"]);
    assert!(told.contains("VERSIONS=10") && told.contains("NEW_VERSION_BEHAVIOR=true"), "{told}");
    assert!(!told.contains("PURGE_DELETED_AFTER"), "{told}");
    fs::write(mounted.path(".schema/f/VERSIONS"), "3\n").unwrap();
    assert_eq!(read(&mounted.path(".schema/f/VERSIONS")), "3\n");
    fs::create_dir(mounted.path(".schema/g")).unwrap();
    let (told, _, _) = cellfs(&["describe", &mounted.cluster.address, "tree_schema"]);
    assert!(told.contains("family g") && told.contains("VERSIONS=3"), "{told}");
    // It is refused at close, whose error fs::write does not tell.
    let _ = fs::write(mounted.path(".schema/f/VERSIONS"), "0");
    assert!(mounted.errors().contains("Maximum versions must be positive"), "{}", mounted.errors());
    assert_eq!(read(&mounted.path(".schema/f/VERSIONS")), "3\n");
    // HBase has no table without a family.
    let bare = mounted.mnt().join("default/tree_bare");
    fs::create_dir(&bare).unwrap();
    assert!(bare.is_dir() && names(&bare).is_empty());
    assert!(!cellfs(&["list", &mounted.cluster.address]).0.contains("tree_bare"));
    fs::remove_dir(&bare).unwrap();
    assert!(!bare.exists());
    fs::create_dir(mounted.mnt().join("tree_space")).unwrap();
    assert!(mounted.mnt().join("tree_space").is_dir());
    fs::remove_dir(mounted.mnt().join("tree_space")).unwrap();
}

#[test]
fn counters_scan_paths_and_counts_are_judged_by_the_servers() {
    let mounted = Mounted::new(Cluster::shared(), "tree_asked", "");
    for n in 0..30 {
        fs::create_dir_all(mounted.path(&format!("row{n:02}/f"))).unwrap();
        fs::write(mounted.path(&format!("row{n:02}/f/q")), format!("value {n}")).unwrap();
    }
    assert_eq!(names(&mounted.path(".prefix/row1")).len(), 10);
    assert_eq!(names(&mounted.path(".from/row05/.to/row08")), ["row05", "row06", "row07"]);
    assert_eq!(names(&mounted.path(".last/2")), ["row28", "row29"]);
    assert_eq!(read(&mounted.path(".count")), "30\n");
    assert_eq!(names(&mounted.path(".filter/ValueFilter(=,'substring:value 2')")).len(), 11);
    assert_eq!(errno(fs::read_dir(mounted.path(".filter/NoFilter()"))), libc::ENOENT);
    let counter = mounted.path("row00/f/hits@counter");
    fs::write(&counter, "+5\n").unwrap();
    fs::write(&counter, "+1\n").unwrap();
    assert_eq!(read(&counter), "6\n");
    assert_eq!(fs::read(mounted.path("row00/f/hits")).unwrap(), 6_i64.to_be_bytes());
    assert!(read(&mounted.path("row01/.json")).contains("value 1"));
    assert_eq!(read(&mounted.path(".info/rows")), "30\texact\n");
    assert!(read(&mounted.path(".info/size")).contains("does not count"), "{}", mounted.errors());
}

#[test]
fn programs_that_keep_files_work_in_a_family() {
    let mounted = Mounted::new(Cluster::shared(), "tree_programs", "");
    let family = mounted.path("r/f");
    let shell = |script: &str| {
        let output = Command::new("bash").args(["-euc", script]).current_dir(&family).output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    shell("seq 10000 >numbers; sed -i s/^1/x/ numbers; touch -d @5 numbers; chmod 600 numbers");
    assert_eq!(shell("head -2 numbers"), "x\n2\n");
    shell(
        "mkdir -p ../../a/f ../../b/f; cp numbers ../../a/f/; rsync -a ../../a/ ../../b/; cmp numbers ../../b/f/numbers",
    );
    shell("tar cf - -C ../../a . | (mkdir -p ../../c && tar xf - -C ../../c); cmp numbers ../../c/f/numbers");
    shell("rm -r ../../a ../../b ../../c; test ! -e ../../a");
    let large = vec![7; 3 << 20];
    fs::write(family.join("large"), &large).unwrap();
    assert!(fs::read(family.join("large")).unwrap() == large);
    // By a process of its own: a child of another test has the file open for a moment, and its close stores what is there.
    shell("! head -c 11M /dev/zero >larger");
    assert_eq!(mounted.errors().matches("larger write: a value has at most").count(), 1, "{}", mounted.errors());
    // Its name is believed for a moment.
    let started = Instant::now();
    while family.join("larger").exists() {
        assert!(started.elapsed() < Duration::from_secs(60), "it is stored: {}", mounted.errors());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(cellfs(&["umount", mounted.mnt().to_str().unwrap()]).2);
}

/// One version in the future, and the time of what is written to other columns, rows and tables.
#[test]
fn a_version_in_the_future_is_the_business_of_its_column() {
    let mounted = Mounted::new(Cluster::shared(), "tree_future", "");
    let far = "4100000000000";
    let (_, said, put) = cellfs(&["put", &mounted.cluster.address, "tree_future", "r", "f:q", "old", far]);
    assert!(put, "{said}");
    fs::write(mounted.path("r/f/q"), "new").unwrap();
    assert_eq!(read(&mounted.path("r/f/q")), "new");
    fs::write(mounted.path("r/f/other"), "now").unwrap();
    let versions = names(&suffixed(&mounted.path("r/f/other"), "@"));
    assert!(versions.iter().all(|version| version.as_str() < far), "{versions:?}");
}

#[test]
fn a_ttl_that_is_set_on_a_file_ends_it() {
    let mounted = Mounted::new(Cluster::shared(), "tree_ttl", "cache=0");
    let cell = mounted.path("r/f/q");
    fs::write(&cell, "short").unwrap();
    let set = Command::new("setfattr").args(["-n", "user.cellfs.ttl", "-v", "500"]).arg(&cell).status().unwrap();
    assert!(set.success(), "{}", mounted.errors());
    let started = Instant::now();
    while cell.exists() {
        assert!(started.elapsed() < Duration::from_secs(60), "it has not expired");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn what_others_change_shows_within_a_second() {
    let mounted = Mounted::new(Cluster::shared(), "tree_others", "");
    let cell = mounted.path("r/f/q");
    fs::write(&cell, "mine").unwrap();
    assert_eq!(read(&cell), "mine");
    assert_eq!(names(&mounted.path(".first/9")), ["r"]);
    assert_eq!(read(&mounted.path(".from/r/.count")), "1\n");
    let put = |row: &str| {
        let (_, said, done) = cellfs(&["put", &mounted.cluster.address, "tree_others", row, "f:q", "another's"]);
        assert!(done, "{said}");
    };
    put("r");
    put("s");
    let shows = |what: &str, shown: &dyn Fn() -> bool| {
        let started = Instant::now();
        while !shown() {
            assert!(started.elapsed() < Duration::from_secs(5), "{what} does not show");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    shows("a value", &|| read(&cell) == "another's");
    shows("a row of a scan path", &|| names(&mounted.path(".first/9")) == ["r", "s"]);
    shows("a value of one", &|| {
        fs::read_to_string(mounted.path(".from/s/s/f/q")).is_ok_and(|value| value == "another's")
    });
    shows("a count", &|| read(&mounted.path(".from/r/.count")) == "2\n");
    // Of the present: no time bounds it.
    let far = i64::MAX / 4;
    let (_, said, done) = cellfs(&["put", &mounted.cluster.address, "tree_others", "t", "f:q", "v", &far.to_string()]);
    assert!(done, "{said}");
    shows("the future", &|| read(&mounted.path(".export/csv")).contains("\nt,"));
}
