//! Listening at the control socket: one thread a connection, a bounded number of them.

use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, lchown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::fcntl::AT_FDCWD;
use nix::sys::socket::{Shutdown, getsockopt, shutdown, sockopt::PeerCredentials};
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat};

use super::crowd::{Crowd, Entry, Place, Underway};
use super::protocol::{Response, send};
use super::server::{Control, serve};
use crate::daemon::confine::Confinement;
use crate::env::sync::Mutex;
use crate::store::Store;
use crate::{Error, ErrorKind, Result};

/// Name of the socket in the store's directory, which is its owner's alone.
const SOCKET: &str = "control.sock";
/// How long nobody is let in after a failure to.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How often, and how far apart, it is looked whether a connection has become idle.
const ROOM_LOOKS: u32 = 30;
const ROOM_INTERVAL: Duration = Duration::from_millis(50);

/// The socket's address through an open descriptor of the directory: a path of any length fits.
///
/// The descriptor must live until the address was used.
pub fn socket_address(store: &Path) -> Result<(std::fs::File, PathBuf)> {
    let directory = std::fs::File::open(store).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            let text = format!(
                "the store's directory {} is gone: it was removed or moved. If it was moved, unmount it and mount it where \
                 it is now",
                store.display()
            );
            Error::new(ErrorKind::NotFound, text)
        }
        _ => Error::io(format!("open {}", store.display()), &e),
    })?;
    let address = PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", directory.as_raw_fd()));
    Ok((directory, address))
}

/// Who listens at a store's socket, until it is told to end or its process does.
pub struct Listening {
    store: PathBuf,
    listener: Arc<UnixListener>,
    acceptor: JoinHandle<()>,
    crowd: Arc<Mutex<Crowd>>,
    requests: Arc<Underway>,
    doors: Arc<Doors>,
}

/// Who is let in.
#[derive(Default)]
struct Doors {
    /// Nobody any more.
    closed: AtomicBool,
    connections: Arc<Underway>,
}

impl Listening {
    /// Ends when nobody has asked anything that is not answered. Must be called by the holder of the store's lock.
    pub fn end_in_a_lull(self) {
        self.requests.finish();
        remove(&self.store);
        self.doors.closed.store(true, Ordering::Release);
        // It wakes who waits for a connection.
        if let Err(e) = shutdown(self.listener.as_raw_fd(), Shutdown::Both) {
            log::warn!("stop listening: {e}");
            return;
        }
        if self.acceptor.join().is_err() {
            log::error!("the thread that lets clients in has failed");
        }
        self.crowd.lock().hang_up();
        self.doors.connections.finish();
    }
}

/// Begins to listen. Must be called by the holder of the store's lock: it replaces a stale socket.
pub fn listen(store: &Path, control: Control, confinement: Option<Confinement>) -> Result<Listening> {
    let what = || format!("listen on {}", store.join(SOCKET).display());
    let (directory, address) = socket_address(store)?;
    let owner = directory.metadata().map_err(|e| Error::io(what(), &e))?;
    match std::fs::remove_file(&address) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(what(), &e)),
        _ => {}
    }
    let bind = || UnixListener::bind(&address).map_err(|e| Error::io(what(), &e));
    let listener = Arc::new(Store::with_reserve_of(store, bind)?);
    // Not by `set_permissions`, which would follow a link that has come in its place.
    let (own, here) = (Mode::S_IRUSR | Mode::S_IWUSR, FchmodatFlags::NoFollowSymlink);
    fchmodat(AT_FDCWD, &address, own, here).map_err(|e| Error::io(what(), &e.into()))?;
    if owner.uid() != nix::unistd::geteuid().as_raw() {
        // Root serves the store of another, who is to come in as well, and after a kill(1) of this process.
        lchown(&address, Some(owner.uid()), Some(owner.gid())).map_err(|e| Error::io(what(), &e))?;
    }
    let thread = std::thread::Builder::new().name("control".into());
    let (crowd, doors): (Arc<Mutex<Crowd>>, Arc<Doors>) = Default::default();
    let (requests, store, owner) = (Arc::clone(&control.requests), store.to_owned(), owner.uid());
    let accepting = (Arc::clone(&listener), Arc::clone(&crowd), Arc::clone(&doors));
    let serve = move || {
        if let Some(confinement) = confinement {
            confinement.enter();
        }
        let (listener, crowd, doors) = accepting;
        accept(&listener, (&Arc::new(control), owner), &crowd, &doors);
    };
    let acceptor = thread.spawn(serve).map_err(|e| Error::io(what(), &e))?;
    Ok(Listening { store, listener, acceptor, crowd, requests, doors })
}

/// Removes the socket; the process is about to end.
pub fn remove(store: &Path) {
    if let Ok((_directory, address)) = socket_address(store) {
        // Nobody is harmed by a socket that nobody listens on.
        let _ = std::fs::remove_file(address);
    }
}

/// Lets in the owner of the store, root, and who this process is of.
fn accept(listener: &UnixListener, (control, owner): (&Arc<Control>, u32), crowd: &Arc<Mutex<Crowd>>, doors: &Doors) {
    let allowed = [owner, nix::unistd::geteuid().as_raw(), 0];
    for stream in listener.incoming() {
        let stream = match stream {
            Ok(stream) => stream,
            Err(_) if doors.closed.load(Ordering::Acquire) => return,
            Err(e) => {
                log::error!("a client could not be let in: {e}");
                // Without a free descriptor the next try fails as soon.
                std::thread::sleep(ACCEPT_PAUSE);
                continue;
            }
        };
        if !getsockopt(&stream, PeerCredentials).is_ok_and(|peer| allowed.contains(&peer.uid())) {
            refuse(stream, "the store belongs to another user; ask as its owner or as root");
            continue;
        }
        let place = match place_for(&stream, crowd) {
            Ok(place) => place,
            Err(e) => {
                refuse(stream, &e.message);
                continue;
            }
        };
        let (control, connected) = (Arc::clone(control), doors.connections.begin());
        let spawned = std::thread::Builder::new().name("client".into()).spawn(move || {
            if let Err(e) = serve(&stream, &control, &place) {
                log::debug!("a client left: {}", e.message);
            }
            // Order: whoever waits for the last connection has the store to itself afterwards.
            drop((control, place));
            drop(connected);
        });
        if let Err(e) = spawned {
            log::error!("a client could not be let in: {e}");
        }
    }
}

/// A place for a new connection, for which it waits a little: those that have just been let in may have nothing to ask.
fn place_for(stream: &UnixStream, crowd: &Arc<Mutex<Crowd>>) -> Result<Place> {
    for _ in 0..ROOM_LOOKS {
        match Crowd::enter(crowd, stream).map_err(|e| Error::io("the daemon cannot let a client in", &e))? {
            Entry::In(place) => return Ok(place),
            Entry::Wait => std::thread::sleep(ROOM_INTERVAL),
            Entry::Full => break,
        }
    }
    let text = "the daemon has too many connections, all at work; end a command that uses the store";
    Err(Error::new(ErrorKind::TooMany, text))
}

fn refuse(mut stream: UnixStream, text: &str) {
    // The client sees the closed connection in any case.
    let _ = send(&mut stream, &Response::Failed(Error::new(ErrorKind::AccessDenied, text)));
}
