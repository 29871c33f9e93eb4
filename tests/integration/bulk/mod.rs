//! Export and import: what the one writes the other reads, whatever is in it and wherever it stops.

mod copied;
mod copied_histories;
mod ended;
mod full;
mod lines;
mod loaded;
mod log;
mod mounted;
mod parquet;
mod resumed;
mod round_trip;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::mount::fixture::CELLFS;

/// A directory with a store that is not mounted.
pub struct Stored(pub tempfile::TempDir);

impl Stored {
    /// With the table `t` of the families `f` and `g`.
    pub fn new() -> Self {
        let stored = Self(tempfile::tempdir().unwrap());
        stored.done(&["create", "--make", "STORE", "t", "f", "g"]);
        stored
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// A command that runs in the directory; `STORE` stands for the store.
    pub fn command(&self, args: &[&str]) -> Command {
        let store = self.path("store");
        let mut command = Command::new(CELLFS);
        command.args(args.iter().map(|arg| if *arg == "STORE" { store.as_os_str() } else { arg.as_ref() }));
        command.current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// What a command that succeeds prints.
    pub fn done(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a command says that ends with a status other than 0.
    pub fn refused(&self, args: &[&str], status: i32) -> String {
        let output = self.run(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{args:?}: {said}");
        said
    }

    /// A command with a text on its standard input.
    pub fn fed(&self, args: &[&str], text: &[u8]) -> Output {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It may stop before its end.
        let _ = child.stdin.take().unwrap().write_all(text);
        child.wait_with_output().unwrap()
    }
}

/// Lines of a file, without their ends.
pub fn lines_of(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}
