//! From the command to a serving process: checks, daemonizing, readiness, signals, the end.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use crate::env::sync::Mutex;
use daemonize::{Daemonize, Outcome};

use super::ending::{self, Ending};
use super::guard::Guard;
use super::inherited;
use super::made::Made;
use super::request::MountRequest;
use super::service::Service;
use super::told;
use crate::backend::Backend;
use crate::daemon::confine::{Confinement, Owner};
use crate::daemon::control::crowd::Underway;
use crate::daemon::control::listening;
use crate::daemon::control::server::{Control, Mount};
use crate::daemon::find::dead;
use crate::daemon::find::open::Opened;
use crate::daemon::mounts::locate;
use crate::daemon::mounts::locate::is_cluster;
use crate::daemon::mounts::places;
use crate::daemon::mounts::watched::WatchedMount;
use crate::daemon::numbers::Commands;
use crate::env::HeldDir;
use crate::fs::{self, Invalidations};
use crate::fuse::{Detach, Mounted, unmount};
use crate::store::Store;
use crate::{Error, ErrorKind, Result};

/// What is to be said of a mount that answers.
pub type Said = Option<String>;

/// Mounts; returns when the mount answers, or in the foreground when it has ended.
pub fn mount(mut request: MountRequest) -> Result<Said> {
    check_mount_point(&request)?;
    if is_cluster(&request.store.path) {
        return mount_cluster(request);
    }
    super::read_only::adapt(&mut request)?;
    let store = &request.store.path;
    if request.settings.read_only && !Store::exists(store) {
        let shown = store.display();
        let text = format!("there is no store in {shown}, and a read-only mount makes none. Is the path right?");
        return Err(Error::new(ErrorKind::NotFound, text));
    }
    let made = Made::new(store)?;
    // Order: the directory is held before anything is made in it, the log of a daemon among that.
    let held = request.store.env.claim_dir(store).and_then(|()| request.store.env.hold(store));
    let held = held.map_err(|e| Error::io(format!("use the store in {}", store.display()), &e));
    held.and_then(|held| start(request, &held)).inspect_err(|_| made.undo())
}

/// As [`mount`], of a cluster: there is no directory of a store.
fn mount_cluster(mut request: MountRequest) -> Result<Said> {
    if request.foreground {
        if let Some(log) = &request.log {
            ending::redirect_log(log)?;
        }
        return serve(request, Box::new(|_| ())).map(|()| None);
    }
    let log = request.log.get_or_insert_with(|| super::read_only::NOWHERE.into());
    let log = ending::open_log(log, log)?;
    daemonize(request, log)
}

/// A daemon's log in its store.
const LOG: &str = "cellfs.log";

/// Serves here, or starts a daemon that does.
fn start(mut request: MountRequest, store: &HeldDir) -> Result<Said> {
    if request.options.spill_dir == request.store.path {
        request.options.spill_dir = store.to_path_buf();
    }
    if request.foreground {
        if let Some(log) = &request.log {
            ending::redirect_log(log)?;
        }
        return serve(request, Box::new(|_| ())).map(|()| None);
    }
    let log = match &request.log {
        Some(path) => ending::open_log(path, path)?,
        None => {
            let (path, shown) = (store.join(LOG), store.shown().join(LOG));
            let log = ending::open_log(&path, &shown)?;
            store.give(LOG).map_err(|e| Error::io(format!("open the log {}", shown.display()), &e))?;
            request.log = Some(path);
            log
        }
    };
    daemonize(request, log)
}

/// Serves in a daemon whose standard error goes to `log`; returns when the mount answers.
fn daemonize(request: MountRequest, log: File) -> Result<Said> {
    // Order: before there are files of our own that a daemon keeps.
    let inherited = inherited::inherited();
    let (mut reader, writer) = pipe()?;
    match Daemonize::new().working_directory("/").umask(0o077).stderr(log).execute() {
        Outcome::Parent(Ok(_)) => {
            drop(writer);
            wait_until_ready(&mut reader)
        }
        Outcome::Parent(Err(e)) => Err(Error::new(ErrorKind::Io, format!("cannot start the daemon: {e}"))),
        Outcome::Child(Err(e)) => {
            report(writer, &Error::new(ErrorKind::Io, format!("cannot start the daemon: {e}")));
            std::process::exit(2);
        }
        Outcome::Child(Ok(_)) => {
            inherited::close(&inherited);
            run_child(request, writer)
        }
    }
}

fn pipe() -> Result<(File, File)> {
    let (reader, writer) = nix::unistd::pipe().map_err(|e| Error::io("make a pipe", &e.into()))?;
    Ok((reader.into(), writer.into()))
}

fn run_child(request: MountRequest, writer: File) -> ! {
    let writer = Arc::new(Mutex::new(Some(writer)));
    let teller = Arc::clone(&writer);
    let ready = move |answers: Result<Said>| {
        let Some(mut writer) = teller.lock().take() else { return };
        match answers {
            // The parent may have been killed; the mount lives on.
            Ok(said) => drop(writer.write_all(format!("+{}", said.unwrap_or_default()).as_bytes())),
            Err(e) => report(writer, &e),
        }
    };
    if let Err(error) = serve(request, Box::new(ready)) {
        // The log is that of the daemon which holds the store.
        if error.kind != ErrorKind::Locked {
            log::error!("{}", error.message);
        }
        if let Some(writer) = writer.lock().take() {
            report(writer, &error);
        }
        std::process::exit(2);
    }
    std::process::exit(0);
}

fn report(mut writer: File, error: &Error) {
    if let Ok(message) = postcard::to_allocvec(error) {
        // Without a parent there is nobody to tell.
        let _ = writer.write_all(b"-").and_then(|()| writer.write_all(&message));
    }
}

fn wait_until_ready(reader: &mut File) -> Result<Said> {
    let mut words = Vec::new();
    reader.read_to_end(&mut words).map_err(|e| Error::io("wait for the daemon", &e))?;
    match words.split_first() {
        Some((b'+', said)) => Ok(Some(String::from_utf8_lossy(said).into_owned()).filter(|said| !said.is_empty())),
        Some((_, message)) => Err(postcard::from_bytes(message)
            .unwrap_or_else(|_| Error::new(ErrorKind::Io, "the daemon failed; its log is cellfs.log in the store"))),
        None => {
            Err(Error::new(ErrorKind::Io, "the daemon ended before the mount answered; see cellfs.log in the store"))
        }
    }
}

/// The mount point must be an empty directory. A dead mount of ours there is left alone for now: programs that write
/// below it are told that it is dead, where on the bare directory they would believe that their files are safe.
fn check_mount_point(request: &MountRequest) -> Result<()> {
    let path = &request.mount_point;
    let shown = path.display();
    let store = &request.store.path;
    if path.starts_with(store) || store.starts_with(path) {
        let text = format!(
            "{} and its mount point {shown} lie one within the other: the store would hide itself. Choose another mount \
             point",
            store.display()
        );
        return Err(Error::new(ErrorKind::IllegalArgument, text));
    }
    if let Some(mount) = locate::mount_at(path)? {
        if !dead::is_dead(&mount)? {
            let text = format!("{shown} is mounted already; unmount it with: cellfs umount {shown}");
            return Err(Error::new(ErrorKind::Busy, text));
        }
        return Ok(());
    }
    check_directory(request)
}

fn check_directory(request: &MountRequest) -> Result<()> {
    let path = &request.mount_point;
    let shown = path.display();
    let entries = std::fs::read_dir(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            Error::new(ErrorKind::NotFound, format!("mount point {shown} does not exist; make it with: mkdir {shown}"))
        }
        std::io::ErrorKind::NotADirectory => {
            Error::new(ErrorKind::IllegalArgument, format!("mount point {shown} is not a directory"))
        }
        _ => Error::io(format!("mount point {shown}"), &e),
    })?;
    if !request.nonempty && entries.take(1).count() > 0 {
        let text =
            format!("mount point {shown} is not empty; its files would be hidden (-o nonempty mounts all the same)");
        return Err(Error::new(ErrorKind::NotEmpty, text));
    }
    Ok(())
}

/// Takes away what a daemon that is gone has left at the mount point.
fn clear_mount_point(request: &MountRequest) -> Result<()> {
    let path = &request.mount_point;
    let mut cleared = false;
    while let Some(mount) = locate::mount_at(path)?
        && dead::is_dead(&mount)?
    {
        log::warn!("{}: cleaning up a mount whose daemon is gone", path.display());
        unmount(path, Detach::Now)?;
        cleared = true;
    }
    if cleared { check_directory(request) } else { Ok(()) }
}

/// Told whether the mount answers.
type Ready = Box<dyn FnOnce(Result<Said>) + Send>;

/// Opens the store, mounts it, tells `ready`, and serves until the unmount.
fn serve(mut request: MountRequest, ready: Ready) -> Result<()> {
    give_back_idle_memory();
    let service = Service::of_process(request.foreground);
    let directory = request.store.path.clone();
    told::beginning(&request);
    let store = opened(&request, &service)?;
    let said = super::read_only::fit(&mut request, &store);
    let no_changes = store.no_changes().map(|why| why.refusal(&directory));
    // Order: the store is ours and open; the directory below a dead mount is bare for a moment only.
    clear_mount_point(&request)?;
    let backend = store.backend();
    let invalidations = Invalidations::default();
    let place = place_of_socket(&request);
    let confinement = confinement_of(&request, place.as_deref())?;
    let fs = fs::begin(Arc::clone(&backend), request.options, invalidations.clone());
    let (closing, mount_point, read_only) = (fs.closing(), request.mount_point, request.settings.read_only);
    let watched = WatchedMount::new(&mount_point)?;
    // Order: from here on a signal waits until the mount can be taken away again.
    let signals = ending::signals()?;
    let mounted = Mounted::new(Arc::clone(&fs), invalidations.clone(), &mount_point, &request.settings);
    let mounted = mounted.inspect_err(|_| place.iter().for_each(|place| stop_listening(place, &directory)))?;
    Guard::start(request.program.as_deref(), &mount_point);
    let changes: Arc<Underway> = Arc::default();
    let control = Control {
        changes: Arc::clone(&changes),
        requests: Arc::default(),
        large: crate::env::sync::Mutex::default(),
        backend: Arc::clone(&backend),
        invalidations,
        closing,
        spill_dir: fs.options().spill_dir.clone(),
        mount: Some(Mount { point: mount_point.clone(), read_only, watched, no_changes, fs: Arc::clone(&fs) }),
        started_at: backend.now(),
        commands: Commands::default(),
    };
    let end = Ending {
        fs,
        mount_point: mount_point.clone(),
        socket: place.clone(),
        log: request.log,
        service: service.clone(),
    };
    let listening =
        place.as_ref().map_or(Ok(()), |place| listening::listen(place, control, Some(confinement.clone())).map(drop));
    let started = listening.and_then(|()| ending::obey(signals, end)).and_then(|()| {
        when_it_answers(&mount_point, backend, service.clone(), |answers| ready(answers.map(|()| said)))
    });
    if let Err(e) = started {
        unmount(&mount_point, Detach::Now)?;
        return Err(e);
    }
    log::info!(target: told::TARGET, "serving {} at {}", directory.display(), mount_point.display());
    confinement.enter();
    let served = mounted.serve().or_else(|e| ended(&mount_point, e));
    service.stopping();
    place.iter().for_each(|place| stop_listening(place, &directory));
    changes.finish();
    told::end(&mount_point, served.and(store.close()))
}

/// Opens the store, which tells how far it is.
fn opened(request: &MountRequest, service: &Service) -> Result<Opened> {
    let opening = Instant::now();
    let recovering = service.while_recovering(Arc::clone(&request.store.recovered));
    let store = Opened::new(&request.store)?;
    drop(recovering);
    told::recovery(&request.store, opening);
    Ok(store)
}

/// Where commands are listened to; `None`: they are not.
fn place_of_socket(request: &MountRequest) -> Option<PathBuf> {
    if !request.serves_commands {
        return None;
    }
    if !is_cluster(&request.store.path) {
        return Some(request.store.path.clone());
    }
    let made = places::make(&request.mount_point);
    made.inspect_err(|e| log::warn!("this mount listens to no commands: {}", e.message)).ok()
}

fn stop_listening(place: &Path, store: &Path) {
    listening::remove(place);
    if place != store {
        places::remove(place);
    }
}

/// Two threads may see the end of one unmount differently.
fn ended(mount_point: &Path, error: Error) -> Result<()> {
    match locate::mount_at(mount_point) {
        Ok(None) => {
            log::warn!("at the end of the mount: {}", error.message);
            Ok(())
        }
        _ => Err(error),
    }
}

/// What names of hosts are looked up in.
const NAMES: [&str; 7] = [
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/run/systemd/resolve",
    "/run/nscd",
];

/// What the threads that serve may reach.
fn confinement_of(request: &MountRequest, socket: Option<&Path>) -> Result<Confinement> {
    let store = &request.store;
    if is_cluster(&store.path) {
        let mut writable = vec![request.options.spill_dir.clone()];
        // It is taken away at the end.
        writable.extend(socket.and_then(Path::parent).map(Path::to_owned));
        let readable = NAMES.map(PathBuf::from).to_vec();
        return Ok(Confinement { writable, readable, of_another: Owner::Own });
    }
    let shown = store.path.display();
    let held = store.env.hold(&store.path).and_then(|held| Ok((held.owner()?.0, held)));
    let (user, _held) = held.map_err(|e| Error::io(format!("look at {shown}"), &e))?;
    let is_own = user == nix::unistd::geteuid().as_raw();
    let of_another = if is_own { Owner::Own } else { Owner::Another };
    let mut writable = vec![request.options.spill_dir.clone()];
    if !request.serves_commands {
        writable.push(store.path.clone());
    }
    Ok(Confinement { writable, readable: Vec::new(), of_another })
}

/// Tells `ready` and the service manager once the mount has answered a question of ours.
fn when_it_answers(
    mount_point: &Path,
    backend: Arc<dyn Backend>,
    service: Service,
    ready: impl FnOnce(Result<()>) + Send + 'static,
) -> Result<()> {
    let path = mount_point.to_owned();
    let thread = std::thread::Builder::new().name("ready".into()).spawn(move || match locate::ask(&path) {
        Ok(_) => {
            ready(Ok(()));
            service.ready(path, backend);
        }
        Err(e) => {
            ready(Err(e.context("the mount was made but does not answer")));
            // What failed has been told.
            let _ = unmount(&path, Detach::Now);
        }
    });
    thread.map(drop).map_err(|e| Error::io("start the thread that tries the mount", &e))
}

/// What a large listing has needed goes back to the system although nobody asks for anything afterwards. After the
/// fork, which ends other threads.
fn give_back_idle_memory() {
    if let Err(e) = tikv_jemalloc_ctl::background_thread::write(true) {
        log::debug!("memory is given back only while the daemon is used: {e}");
    }
}
