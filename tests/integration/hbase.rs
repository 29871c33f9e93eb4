//! Real HBase beside the tests: fetches and compiles `tests/hbase` once, then answers steps.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

/// HBase may loop for ever on some histories.
const PATIENCE: Duration = Duration::from_secs(30);

/// A process that runs HBase's region code on one table at a time.
pub struct Oracle {
    home: PathBuf,
    process: Child,
    requests: ChildStdin,
    answers: Receiver<String>,
}

impl Oracle {
    /// Starts one; `Err` says in a sentence why there is none.
    pub fn start() -> Result<Self, String> {
        let home = prepare()?;
        let (process, requests, answers) = launch(&home)?;
        Ok(Self { home, process, requests, answers })
    }

    /// HBase's answer to a step; `None` if it took too long and was started anew.
    pub fn ask(&mut self, step: &Value) -> Option<Value> {
        writeln!(self.requests, "{step}").and_then(|()| self.requests.flush()).expect("HBase takes requests");
        match self.answers.recv_timeout(PATIENCE) {
            Ok(line) => Some(serde_json::from_str(&line).expect("HBase answers in JSON")),
            Err(_) => {
                self.stop();
                (self.process, self.requests, self.answers) = launch(&self.home).expect("HBase starts again");
                None
            }
        }
    }

    fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Fetches HBase and compiles what the tests add to it; where that lies.
pub fn prepare() -> Result<PathBuf, String> {
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    // Two at once would write the same files.
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let home = home()?;
    compile(&home)?;
    Ok(home)
}

/// `CELLFS_HBASE_DIR`, else `~/.cache/cellfs-hbase`; with a folder of its own for this program.
fn home() -> Result<PathBuf, String> {
    let given = std::env::var_os("CELLFS_HBASE_DIR").map(PathBuf::from);
    let usual = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/cellfs-hbase"));
    let home = given.or_else(usual).ok_or("neither CELLFS_HBASE_DIR nor HOME is set")?.join("differential");
    std::fs::create_dir_all(&home).map_err(|e| format!("{}: {e}", home.display()))?;
    Ok(home)
}

fn compile(home: &Path) -> Result<(), String> {
    for tool in ["java", "mvn"] {
        let found = Command::new(tool).arg("-version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.map_err(|e| format!("{tool} cannot be run: {e}"))?;
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hbase");
    let build = Command::new("mvn")
        .args(["-q", "-B", "-f"])
        .arg(sources.join("pom.xml"))
        .arg(format!("-Doracle.target={}", home.join("target").display()))
        .args(["compile", "dependency:build-classpath"])
        .arg(format!("-Dmdep.outputFile={}", home.join("classpath").display()))
        .output()
        .map_err(|e| format!("mvn: {e}"))?;
    if build.status.success() { Ok(()) } else { Err(format!("mvn: {}", String::from_utf8_lossy(&build.stdout))) }
}

fn launch(home: &Path) -> Result<(Child, ChildStdin, Receiver<String>), String> {
    let jars = std::fs::read_to_string(home.join("classpath")).map_err(|e| format!("class path: {e}"))?;
    let opened = "lang lang.reflect io nio util util.concurrent net";
    let mut java = Command::new("java");
    for package in opened.split(' ') {
        java.args(["--add-opens".to_owned(), format!("java.base/java.{package}=ALL-UNNAMED")]);
    }
    for package in ["sun.nio.ch", "jdk.internal.ref", "jdk.internal.misc"] {
        java.args(["--add-opens".to_owned(), format!("java.base/{package}=ALL-UNNAMED")]);
    }
    let mut process = java
        .args(["-Dio.netty.tryReflectionSetAccessible=true", "-Djava.net.preferIPv4Stack=true", "-Xmx1g", "-cp"])
        .arg(format!("{}:{jars}", home.join("target/classes").display()))
        .args(["cellfs.oracle.Oracle", "--serve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("java: {e}"))?;
    let requests = process.stdin.take().ok_or("no way to ask")?;
    let output = process.stdout.take().ok_or("no way to hear")?;
    let (told, answers) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if told.send(line).is_err() {
                return;
            }
        }
    });
    Ok((process, requests, answers))
}
