//! A PostgreSQL of its own in a directory, by COPY and its index; it ends with the benchmark.
//!
//! It does not run as root: as root it is started as `nobody`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cellfs_side::micros;
use crate::run::timed;
use crate::{Data, QUESTIONS, tell};

pub struct Server {
    data: PathBuf,
    csv: PathBuf,
}

/// A command, by a user that is not root.
fn command(program: &str) -> Command {
    if !nix::unistd::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "nobody", "--regid", "nogroup", "--clear-groups", program]);
    command
}

fn done(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("{command:?}: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(format!("{command:?}: {said}")) }
}

impl Server {
    /// Makes one and starts it, reached through a socket in its directory alone.
    pub fn start(dir: &Path) -> Result<Self, String> {
        let (data, csv) = (dir.join("pg"), dir.join("in.csv"));
        std::fs::create_dir(&data).map_err(|e| e.to_string())?;
        if nix::unistd::geteuid().is_root() {
            let nobody = nix::unistd::User::from_name("nobody").ok().flatten().ok_or("there is no user nobody")?;
            std::os::unix::fs::chown(&data, Some(nobody.uid.as_raw()), None).map_err(|e| e.to_string())?;
            // The way there, and what is read.
            for path in [dir, csv.as_path()] {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                std::fs::set_permissions(path, mode).map_err(|e| e.to_string())?;
            }
        }
        done(command("initdb").args(["-U", "bench", "-A", "trust", "-D"]).arg(&data))?;
        let options = format!("-c listen_addresses= -c unix_socket_directories={}", data.display());
        let mut start = command("pg_ctl");
        start.arg("-D").arg(&data).arg("-l").arg(data.join("log")).args(["-w", "-o", &options, "start"]);
        // What it starts keeps its output.
        let status = start.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        let started = status.is_ok_and(|status| status.success());
        if !started {
            return Err(format!("{start:?} has failed; see {}", data.join("log").display()));
        }
        Ok(Self { data, csv })
    }

    fn sql(&self, text: &str) {
        let file = self.data.join("question.sql");
        std::fs::write(&file, text).expect("a file of questions");
        let mut psql = Command::new("psql");
        psql.args(["-q", "-X", "-v", "ON_ERROR_STOP=1", "-U", "bench", "-d", "postgres", "-o", "/dev/null", "-h"]);
        done(psql.arg(&self.data).arg("-f").arg(&file)).expect("psql");
    }

    pub fn measure(&self, data: Data) {
        self.sql("create table t (key text primary key, age text, city text, mail text, name text, note text)");
        let copied = self.csv.display();
        let ((), seconds) = timed(|| self.sql(&format!("copy t from '{copied}' csv header;\ncheckpoint")));
        tell("postgres COPY from csv", seconds, data.cells(), None);
        let to = self.data.join("out.csv");
        let ((), seconds) =
            timed(|| self.sql(&format!("copy (select * from t order by key) to '{}' csv", to.display())));
        tell("postgres COPY to csv", seconds, data.cells(), None);
        let ((), seconds) = timed(|| self.sql("select count(*) from t"));
        println!("postgres count: {seconds:.2} s");
        let ((), seconds) = timed(|| self.sql(&format!("select * from t where city = '{}'", data.city(7))));
        println!("postgres without an index: {:.0} us", seconds * 1e6);
        let ((), seconds) = timed(|| self.sql("create index city on t (city);\nanalyze t"));
        tell("postgres builds an index", seconds, data.rows, None);
        let ((), nothing) = timed(|| self.sql("select 1"));
        let questions = (0..QUESTIONS).fold(String::new(), |mut text, n| {
            let _ = writeln!(text, "select * from t where city = '{}';", data.city(n * 7));
            text
        });
        let ((), seconds) = timed(|| self.sql(&questions));
        println!("postgres by the index: {:.0} us a question", micros((seconds - nothing).max(0.0)));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(e) = done(command("pg_ctl").arg("-D").arg(&self.data).args(["-m", "immediate", "stop"])) {
            println!("{e}");
        }
    }
}
