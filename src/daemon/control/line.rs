//! A connection to a daemon that does not wait for one that cannot answer.
//!
//! Every daemon greets at once. One that keeps silent over a question is asked for its greeting on a second connection:
//! as long as that is answered it is at work, and the question may take as long as it likes.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::sockopt::{PeerCredentials, SendTimeout};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, getsockopt, setsockopt, socket};
use nix::sys::time::{TimeVal, TimeValLike};

use super::listening::socket_address;
use super::protocol::{Hello, Request, Response, receive, send};
use crate::{Error, ErrorKind, Result};

/// How long a greeting may take.
const GREETING: Duration = Duration::from_secs(10);

/// See the module.
pub struct Line {
    store: PathBuf,
    stream: UnixStream,
    patience: Duration,
}

impl Line {
    /// Connects to the daemon of the store in a directory; `None` when there is none.
    pub fn to(store: &Path) -> Result<Option<Self>> {
        Self::dial(store, GREETING)
    }

    /// Connects with all its timeouts set. A daemon that is stopped lets its queue of connections fill up.
    fn dial(store: &Path, patience: Duration) -> Result<Option<Self>> {
        let failed = |e: io::Error| Error::io(format!("connect to the daemon of {}", store.display()), &e);
        let (_directory, address) = socket_address(store)?;
        match connect_within(&address, patience) {
            Ok(stream) => {
                stream.set_read_timeout(Some(patience)).map_err(failed)?;
                Ok(Some(Self { store: store.to_owned(), stream, patience }))
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => Ok(None),
            Err(e) if is_timeout(&e) => Err(silent(store, patience, None)),
            Err(e) => Err(failed(e)),
        }
    }

    /// What the daemon says of itself. Kind `TimedOut` if it says nothing.
    pub fn greet(&mut self) -> Result<Hello> {
        // A daemon that refuses says so and hangs up, maybe before it was asked.
        let asked = send(&mut self.stream, &Request::Hello);
        let answered = answer(&mut self.stream).map_err(|e| match e.kind {
            ErrorKind::TimedOut => silent(&self.store, self.patience, self.pid()),
            ErrorKind::AccessDenied => e,
            _ => asked.err().unwrap_or(e),
        });
        match answered? {
            Response::Hello(hello) => Ok(hello),
            _ => Err(out_of_step()),
        }
    }

    /// The daemon's, from the kernel.
    fn pid(&self) -> Option<i32> {
        self.peer().map(|(pid, _)| pid)
    }

    /// The process and the user that listen, as the kernel has noted them.
    pub fn peer(&self) -> Option<(i32, u32)> {
        getsockopt(&self.stream, PeerCredentials).ok().map(|peer| (peer.pid(), peer.uid()))
    }

    /// Waits for the end of the stream; true when it has come within `timeout`. Nothing may have been asked.
    pub fn ends_within(&mut self, timeout: Duration) -> bool {
        self.stream.set_read_timeout(Some(timeout)).is_ok() && matches!(self.stream.read(&mut [0]), Ok(0))
    }

    /// Whether the other end has hung up.
    pub fn is_closed(&self) -> bool {
        let mut asked = [PollFd::new(self.stream.as_fd(), PollFlags::POLLIN)];
        poll(&mut asked, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
            && asked[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP))
    }

    /// Fails if the daemon does not greet on a connection of its own.
    fn look(&self) -> io::Result<()> {
        let other = Self::dial(&self.store, self.patience);
        match other.and_then(|other| other.map(|mut other| other.greet()).transpose()) {
            Err(e) if e.kind == ErrorKind::TimedOut => Err(io::Error::new(io::ErrorKind::TimedOut, e.message)),
            // It is full of connections, or about to end: then the one at hand will tell.
            _ => Ok(()),
        }
    }

    fn patiently<T>(&mut self, mut step: impl FnMut(&mut UnixStream) -> io::Result<T>) -> io::Result<T> {
        loop {
            match step(&mut self.stream) {
                Err(e) if is_timeout(&e) => self.look()?,
                done => return done,
            }
        }
    }
}

impl Read for Line {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.patiently(|stream| stream.read(buf))
    }
}

impl Write for Line {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.patiently(|stream| stream.write(data))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn is_timeout(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn connect_within(address: &Path, patience: Duration) -> io::Result<UnixStream> {
    let address = UnixAddr::new(address)?;
    let socket: OwnedFd = socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    let limit = TimeVal::milliseconds(i64::try_from(patience.as_millis()).unwrap_or(i64::MAX));
    setsockopt(&socket, SendTimeout, &limit)?;
    connect(socket.as_raw_fd(), &address)?;
    Ok(UnixStream::from(socket))
}

fn silent(store: &Path, patience: Duration, pid: Option<i32>) -> Error {
    let shown = store.display();
    let text = match pid {
        Some(pid) if stranger(pid).is_some() => format!(
            "{shown}/control.sock is held by process {pid}, `{}`, which is not the daemon of a mount and has not answered for \
             {patience:?}. End it if you know it, or remove that socket; nothing else in the store has to go",
            stranger(pid).unwrap_or_default().escape_debug()
        ),
        Some(pid) => format!(
            "the daemon of {shown} (pid {pid}) {} and has not answered for {patience:?}. Let it go on with: kill -CONT \
             {pid}. If that does not help: kill -KILL {pid}, and mount the store again",
            state(pid)
        ),
        None => format!("the daemon of {shown} has taken no connection for {patience:?}; its pid is in {shown}/LOCK"),
    };
    Error::new(ErrorKind::TimedOut, text)
}

/// The name of a process that is no program of ours.
fn stranger(pid: i32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    let name = name.trim_end();
    (!name.starts_with("cellfs")).then(|| name.to_owned())
}

fn state(pid: i32) -> &'static str {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    match stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().next()) {
        Some("T") => "is stopped",
        Some("t") => "is held by a debugger",
        Some("D") => "waits for a disk",
        Some("Z") => "ends",
        Some(_) => "runs",
        None => "is gone",
    }
}

/// Reads one answer; what it refuses is an error.
pub fn answer(stream: &mut impl Read) -> Result<Response> {
    match receive(stream)? {
        Some(Response::Failed(error)) => Err(error),
        Some(response) => Ok(response),
        None => Err(Error::new(ErrorKind::Disconnected, "the daemon closed the connection; is it still running?")),
    }
}

pub fn out_of_step() -> Error {
    Error::new(ErrorKind::Disconnected, "the daemon gave an answer to another question")
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use nix::sys::socket::{Backlog, bind, listen};

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(30);

    fn hello() -> Response {
        Response::Hello(Hello {
            version: String::new(),
            pid: 1,
            mount_point: Some(Vec::new()),
            read_only: false,
            no_xattr: false,
            value_limit: 0,
            now: crate::model::Timestamp(0),
            hash_key: [0; 16],
            spelling: Default::default(),
        })
    }

    fn line(store: &Path) -> Line {
        Line::dial(store, PATIENCE).unwrap().unwrap()
    }

    #[test]
    fn a_daemon_at_work_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("control.sock")).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut first, _) = listener.accept().unwrap();
                let asked: Option<Request> = receive(&mut first).unwrap();
                assert!(matches!(asked, Some(Request::Flush(None))));
                // The answer comes only after the client has looked three times whether we live.
                for _ in 0..3 {
                    let (mut look, _) = listener.accept().unwrap();
                    assert!(matches!(receive(&mut look).unwrap(), Some(Request::Hello)));
                    send(&mut look, &hello()).unwrap();
                }
                send(&mut first, &Response::Done).unwrap();
            });
            let mut line = line(directory.path());
            send(&mut line, &Request::Flush(None)).unwrap();
            assert!(matches!(answer(&mut line), Ok(Response::Done)));
        });
    }

    #[test]
    fn nobody_is_told_to_kill_a_strangers_process() {
        let mut sleeping = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(sleeping.id()).unwrap();
        // Until it has become the other program it has our name, or that of this thread.
        while stranger(pid).as_deref() != Some("sleep") {
            std::thread::yield_now();
        }
        let told = silent(Path::new("/store"), Duration::from_secs(1), Some(pid)).message;
        sleeping.kill().unwrap();
        sleeping.wait().unwrap();
        assert!(told.contains("`sleep`") && told.contains("/store/control.sock") && !told.contains("KILL"), "{told}");
    }

    #[test]
    fn a_daemon_that_falls_silent_is_named() {
        let directory = tempfile::tempdir().unwrap();
        // The kernel takes connections for a process that never looks.
        let _listener = UnixListener::bind(directory.path().join("control.sock")).unwrap();
        let named = |e: Error| {
            assert_eq!(e.kind, ErrorKind::TimedOut, "{}", e.message);
            assert!(e.message.contains(&format!("kill -CONT {}", std::process::id())), "{}", e.message);
        };
        named(line(directory.path()).greet().unwrap_err());
        let mut line = line(directory.path());
        send(&mut line, &Request::Sync).unwrap();
        named(answer(&mut line).map(drop).unwrap_err());
        let large = vec![0_u8; 4 << 20];
        let refused = line.write_all(&large).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_full_queue_of_connections_is_no_reason_to_wait_for_ever() {
        let directory = tempfile::tempdir().unwrap();
        let listener = socket(AddressFamily::Unix, SockType::Stream, SockFlag::empty(), None).unwrap();
        let address = UnixAddr::new(&directory.path().join("control.sock")).unwrap();
        bind(listener.as_raw_fd(), &address).unwrap();
        listen(&listener, Backlog::new(1).unwrap()).unwrap();
        let mut waiting = Vec::new();
        let refused = (0..100).find_map(|_| match Line::dial(directory.path(), PATIENCE) {
            Ok(line) => {
                waiting.push(line);
                None
            }
            Err(e) => Some(e),
        });
        assert_eq!(refused.unwrap().kind, ErrorKind::TimedOut);
    }
}
