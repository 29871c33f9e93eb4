//! The bytes of a connection, plain or within TLS: one half is written by callers, the other read by a thread.
//!
//! A record of TLS is made and written under the lock of the half that writes, so that records leave in the order in which
//! they were made; the state that both halves share is held only while bytes are turned over, never while a socket is
//! waited for.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::ClientConnection;

use super::tls::Tls;
use crate::hbase::client::deadline::Left;

/// How long a connection may take to come about.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// After so many seconds of silence the kernel asks whether the peer is there,
const KEEP_ALIVE_S: u32 = 60;
/// again after so many,
const KEEP_ALIVE_AGAIN_S: u32 = 10;
/// and so often until it takes the connection for broken.
const KEEP_ALIVE_TIMES: u32 = 3;
/// Bytes that are turned over at once.
const PIECE: usize = 16 << 10;

type Shared = Option<Arc<Mutex<ClientConnection>>>;

/// The half that is written.
pub struct Sender {
    stream: TcpStream,
    tls: Shared,
}

/// The half that is read.
pub struct Receiver {
    stream: TcpStream,
    tls: Shared,
    /// What has come and was not turned over yet.
    packed: Vec<u8>,
}

/// Connects, and agrees on TLS where it is asked for.
pub fn open((host, port): (&str, u16), timeout: Duration, tls: Option<&Tls>) -> io::Result<(Sender, Receiver)> {
    let left = Left::new(timeout);
    let mut stream = connect((host, port), timeout)?;
    stream.set_nodelay(true)?;
    keep_alive(&stream)?;
    let tls = match tls {
        Some(tls) => Some(Arc::new(Mutex::new(shake_hands(&mut stream, tls.begin(host)?, left)?))),
        None => None,
    };
    stream.set_write_timeout(Some(left.time()))?;
    let reader = stream.try_clone()?;
    Ok((Sender { stream, tls: tls.clone() }, Receiver { stream: reader, tls, packed: Vec::new() }))
}

fn connect(place: (&str, u16), timeout: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the name has no address");
    let left = Left::new(timeout.min(CONNECT_TIMEOUT));
    for address in place.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left.time()) {
            Ok(stream) => return Ok(stream),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// Has the kernel ask a silent peer now and then: what stands between keeps the way open, and a way that is cut without a
/// word breaks the connection (tcp(7); HBase: hbase.ipc.client.tcpkeepalive).
fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    use nix::sys::socket::{setsockopt, sockopt};
    setsockopt(stream, sockopt::KeepAlive, &true)?;
    setsockopt(stream, sockopt::TcpKeepIdle, &KEEP_ALIVE_S)?;
    setsockopt(stream, sockopt::TcpKeepInterval, &KEEP_ALIVE_AGAIN_S)?;
    setsockopt(stream, sockopt::TcpKeepCount, &KEEP_ALIVE_TIMES)?;
    Ok(())
}

fn shake_hands(stream: &mut TcpStream, mut tls: ClientConnection, left: Left) -> io::Result<ClientConnection> {
    while tls.is_handshaking() {
        stream.set_read_timeout(Some(left.time()))?;
        stream.set_write_timeout(Some(left.time()))?;
        let failed = |e: io::Error| io::Error::new(e.kind(), format!("no TLS: {e}"));
        tls.complete_io(stream).map_err(failed)?;
    }
    // The thread that reads waits for ever.
    stream.set_read_timeout(None)?;
    Ok(tls)
}

impl Sender {
    /// Another handle of the socket, to hang up while somebody writes.
    pub fn socket(&self) -> io::Result<TcpStream> {
        self.stream.try_clone()
    }

    /// Writes all of it, or fails within the time.
    pub fn write(&mut self, bytes: &[u8], left: Left) -> io::Result<()> {
        let Some(tls) = &self.tls else { return write(&mut self.stream, bytes, left) };
        let mut records = Vec::new();
        for piece in bytes.chunks(PIECE) {
            {
                let mut tls = tls.lock();
                tls.writer().write_all(piece)?;
                while tls.wants_write() {
                    tls.write_tls(&mut records)?;
                }
            }
            write(&mut self.stream, &records, left)?;
            records.clear();
        }
        Ok(())
    }
}

fn write(stream: &mut TcpStream, bytes: &[u8], left: Left) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        stream.set_write_timeout(Some(left.time()))?;
        match stream.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => rest = &rest[written..],
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Ends both halves: who waits at the socket is told.
pub fn hang_up(socket: &TcpStream) {
    // One that is gone already is no news.
    let _ = socket.shutdown(Shutdown::Both);
}

impl Read for Receiver {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &self.tls else { return self.stream.read(out) };
        loop {
            {
                let mut tls = tls.lock();
                match tls.reader().read(out) {
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                    read => return read,
                }
                if !self.packed.is_empty() {
                    let mut rest = &self.packed[..];
                    let taken = tls.read_tls(&mut rest)?;
                    tls.process_new_packets().map_err(io::Error::other)?;
                    self.packed.drain(..taken);
                    continue;
                }
            }
            let mut packed = [0; PIECE];
            match self.stream.read(&mut packed)? {
                // Cut off, whether the other side has said so or not.
                0 => return Ok(0),
                read => self.packed.extend_from_slice(&packed[..read]),
            }
        }
    }
}
