//! demo: a store with the usual examples, mounted, with nothing to configure.

use std::io::Cursor;
use std::path::Path;

use super::args::{DemoArgs, MountArgs};
use super::output::Output;
use super::{Answer, mount};
use crate::daemon::find::dead;
use crate::daemon::mounts::locate;
use crate::daemon::{Absent, open_backend};
use crate::shell::{Echo, End, OnError, Printer, Script, Session};
use crate::{Error, ErrorKind, Result};

/// The tables and their cells, in the HBase shell's language.
const TABLES: &str = include_str!("demo.txt");

pub fn demo(args: &DemoArgs) -> Result<Answer> {
    if locate::is_cluster(&args.directory) {
        let text = format!("{}: the demo makes a store of its own: name a directory for it", args.directory.display());
        return Err(Error::new(ErrorKind::IllegalArgument, text));
    }
    let (store, mnt) = (args.directory.join("store"), args.directory.join("mnt"));
    std::fs::create_dir_all(&args.directory)
        .map_err(|e| Error::io(format!("make {}", args.directory.display()), &e))?;
    match std::fs::create_dir(&mnt) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(Error::io(format!("make {}", mnt.display()), &e));
        }
        _ => {}
    }
    let served = match locate::mount_at(&mnt)? {
        Some(mount) => !dead::is_dead(&mount)?,
        None => false,
    };
    if !served {
        fill(&store)?;
        let (store, mount_point) = (store.clone(), mnt.clone());
        mount::mount(MountArgs { store, mount_point, options: Vec::new(), foreground: false })?;
    }
    tour(&store, &mnt)?;
    Ok(Answer::Yes)
}

/// Loads the tables, unless there are some already.
fn fill(store: &Path) -> Result<()> {
    let backend = open_backend(store, Absent::Make)?;
    if backend.catalogue()?.user_tables().next().is_some() {
        return Ok(());
    }
    let lines = Script::new(Cursor::new(TABLES), "the demo", Echo::Silent);
    let printer = Printer::new(Box::new(std::io::sink()), None);
    match Session::new(backend, Box::new(lines), printer, OnError::Stop).run()? {
        End::Status(_) => Ok(()),
        End::Failed(text) => Err(Error::new(ErrorKind::Refused, format!("load the demo: {text}"))),
    }
}

fn tour(store: &Path, mnt: &Path) -> Result<()> {
    let (shown, store) = (mnt.display(), store.display());
    let cnn = format!("{shown}/default/webtable/com.cnn.www");
    let mut output = Output::new();
    output.line(&format!("A store with some tables is mounted at {shown}. Look around:"))?;
    for command in [
        format!("find {shown}/default/webtable"),
        format!("cat {cnn}/anchor/cnnsi.com"),
        format!("ls -l {cnn}/contents/html@/"),
        format!("diff {cnn}/contents/html@3 {cnn}/contents/html"),
        format!("grep -r Twain {shown}/default/users"),
        format!("grep -rl 404 {shown}/default/logs"),
        format!("tail -n +1 {shown}/default/series/cpu.load-web1-1416297600/t/*"),
        format!("cellfs scan {store} list_tall --prefix ada"),
        format!("echo 'CNN Sports' > {cnn}/anchor/cnnsi.com; cellfs log {cnn}/anchor/cnnsi.com"),
        format!("cellfs get {store} webtable com.cnn.www"),
        format!("cellfs shell {store}"),
        format!("cellfs umount {shown}"),
    ] {
        output.line(&format!("  {command}"))?;
    }
    output.finish()
}
