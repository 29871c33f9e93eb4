//! One TCP connection to one service of one server: many calls at once, answered in any order.
//!
//! Callers write their requests themselves, one at a time; one thread reads the answers and hands each to its caller.
//! What bounds memory: an answer has at most [`MOST_ANSWER`] bytes, and a caller has one call open.

use std::collections::HashMap;
use std::io::Read;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_channel::{Sender, bounded};
use parking_lot::Mutex;
use prost::Message;

use super::cell::{CODEC, Cell, decode};
use super::compress::Compression;
use super::stream::{self, Receiver};
use super::tls::Tls;
use crate::hbase::client::deadline::Left;
use crate::hbase::client::error::{Error, Kind, Result};
use crate::hbase::client::proto::rpc::{ConnectionHeader, RequestHeader, ResponseHeader, UserInformation, VersionInfo};

/// A longer answer ends the connection; a server's own bound is 100 MiB.
const MOST_ANSWER: usize = 160 << 20;
/// A call that was given less tells nothing of a connection by its silence.
const SILENCE: Duration = Duration::from_secs(1);
/// So many milliseconds a refusal may take to be read.
const LAST_WORDS: u32 = 200;
/// Magic, version 0, and the code of callers without tickets.
const PREAMBLE: [u8; 6] = *b"HBas\x00\x50";

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Server {
    pub host: String,
    pub port: u16,
}

impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// What a connection is for: each speaks one service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// Rows.
    Client,
    /// Regions of a server.
    Admin,
    Master,
    /// Where the master and hbase:meta are.
    Registry,
}

impl Service {
    fn name(self) -> &'static str {
        match self {
            Self::Client => "ClientService",
            Self::Admin => "AdminService",
            Self::Master => "MasterService",
            Self::Registry => "ClientMetaService",
        }
    }
}

/// The answer of a call: its message, and the cells that came with it.
pub struct Answer {
    body: Vec<u8>,
    message: std::ops::Range<usize>,
    cells: std::ops::Range<usize>,
}

impl Answer {
    pub fn message<M: Message + Default>(&self) -> Result<M> {
        M::decode(&self.body[self.message.clone()]).map_err(Error::protocol)
    }

    pub fn cells(&self) -> Result<Vec<Cell>> {
        decode(&self.body[self.cells.clone()])
    }
}

/// Calls that wait; `Err` once the connection is broken.
type Waiting = std::result::Result<HashMap<u32, Sender<Result<Answer>>>, Error>;

/// See the module.
pub struct Connection {
    server: Server,
    writer: Mutex<stream::Sender>,
    /// The same, to hang up while somebody writes.
    stream: TcpStream,
    waiting: Arc<Mutex<Waiting>>,
    next_id: AtomicU32,
    /// Answers that have come.
    heard: Arc<AtomicU64>,
    /// A call's time has passed in which nothing came at all.
    is_silent: AtomicBool,
}

/// Who connects, and how cells are to come.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    pub user: &'a str,
    pub compression: Option<Compression>,
    pub tls: Option<&'a Tls>,
}

/// A call to make.
pub struct Call<'a> {
    pub method: &'static str,
    /// The encoded message.
    pub message: &'a [u8],
    pub priority: Priority,
    pub timeout: Duration,
}

/// Which of a server's queues takes a call (HConstants).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    Normal,
    /// Of hbase:meta.
    Meta,
}

impl Connection {
    /// Connects and starts the thread that reads.
    pub fn open(server: &Server, service: Service, caller: Caller<'_>, timeout: Duration) -> Result<Self> {
        let unreachable = |e: std::io::Error| {
            // What a certificate lacks does not come by waiting.
            let is_refused = e.kind() == std::io::ErrorKind::InvalidData;
            let kind = if is_refused { Kind::Refused } else { Kind::Unreachable };
            Error::new(kind, format!("connect to {server}: {e}"))
        };
        let left = Left::new(timeout);
        let (mut writer, reader) =
            stream::open((&server.host, server.port), timeout, caller.tls).map_err(unreachable)?;
        let header = header(service, caller).encode_to_vec();
        let mut hello = PREAMBLE.to_vec();
        hello.extend(u32::try_from(header.len()).unwrap_or(u32::MAX).to_be_bytes());
        hello.extend(header);
        writer.write(&hello, left).map_err(unreachable)?;
        let waiting: Arc<Mutex<Waiting>> = Arc::new(Mutex::new(Ok(HashMap::new())));
        let hang_up = writer.socket().map_err(unreachable)?;
        let heard: Arc<AtomicU64> = Arc::default();
        let packed = caller.compression;
        let (told, of, hears) = (Arc::clone(&waiting), server.clone(), Arc::clone(&heard));
        std::thread::Builder::new()
            .name("hbase-reader".into())
            .spawn(move || read_answers(reader, (&of, packed), (&told, &hears)))
            .map_err(unreachable)?;
        Ok(Self {
            server: server.clone(),
            writer: Mutex::new(writer),
            stream: hang_up,
            waiting,
            next_id: AtomicU32::new(1),
            heard,
            is_silent: AtomicBool::new(false),
        })
    }

    /// Whether calls are to be made; a broken one does not heal. One that is silent is left to who waits at it still: the
    /// way to the server may be cut without a word, and a new connection finds out.
    pub fn is_whole(&self) -> bool {
        !self.is_silent.load(Ordering::Relaxed) && self.waiting.lock().is_ok()
    }

    /// Makes a call and waits for its answer.
    pub fn call(&self, call: &Call<'_>) -> Result<Answer> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed) & 0x7FFF_FFFF;
        let (left, heard) = (Left::new(call.timeout), self.heard.load(Ordering::Relaxed));
        let (sender, answer) = bounded(1);
        match &mut *self.waiting.lock() {
            Ok(waiting) => drop(waiting.insert(id, sender)),
            // Not sent: a connection that broke may be made anew, one that was refused may not.
            Err(e) if e.may_pass() => return Err(Error::new(Kind::Unreachable, e.text.clone())),
            Err(e) => return Err(e.clone()),
        }
        let timeout = u32::try_from(call.timeout.as_millis()).unwrap_or(u32::MAX);
        let header = RequestHeader {
            call_id: Some(id),
            method_name: Some(call.method.to_owned()),
            request_param: Some(true),
            cell_block_meta: None,
            priority: (call.priority == Priority::Meta).then_some(300),
            timeout: Some(timeout),
        };
        let frame = frame(&header, call.message)?;
        let Some(mut writer) = self.writer.try_lock_for(left.time()) else {
            self.give_up(id);
            let text = format!("{} took no call within {:?}: others wait for it too", self.server, call.timeout);
            return Err(Error::new(Kind::Unreachable, text));
        };
        let written = writer.write(&frame, left);
        drop(writer);
        if let Err(e) = written {
            return Err(self.refused().unwrap_or_else(|| {
                let error = Error::new(Kind::Lost, format!("send to {}: {e}", self.server));
                // A frame that is cut off can be followed by nothing.
                self.break_off(&error);
                error
            }));
        }
        answer.recv_timeout(left.time()).unwrap_or_else(|_| {
            self.give_up(id);
            if self.heard.load(Ordering::Relaxed) == heard && call.timeout >= SILENCE {
                self.is_silent.store(true, Ordering::Relaxed);
            }
            let text = format!("{} did not answer {} within {:?}", self.server, call.method, call.timeout);
            Err(Error::new(Kind::Lost, text))
        })
    }

    /// What a server has said before it hung up: that may still be on its way through the reader.
    fn refused(&self) -> Option<Error> {
        for _ in 0..LAST_WORDS {
            if let Err(e) = &*self.waiting.lock() {
                return (!e.may_pass()).then(|| e.clone());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }

    /// Nobody waits for this answer any more.
    fn give_up(&self, id: u32) {
        if let Ok(waiting) = &mut *self.waiting.lock() {
            waiting.remove(&id);
        }
    }

    /// Ends the connection; who waits is told.
    pub fn break_off(&self, error: &Error) {
        end(&self.waiting, error);
        stream::hang_up(&self.stream);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.break_off(&Error::new(Kind::Unreachable, "the connection was closed"));
    }
}

fn frame(header: &RequestHeader, message: &[u8]) -> Result<Vec<u8>> {
    let too_long = |_| Error::new(Kind::TooLarge, "a request of 4 GiB and more");
    let mut frame = vec![0; 4];
    // A vector takes whatever is written to it.
    header.encode_length_delimited(&mut frame).map_err(Error::protocol)?;
    prost::encode_length_delimiter(message.len(), &mut frame).map_err(Error::protocol)?;
    frame.extend_from_slice(message);
    let len = u32::try_from(frame.len() - 4).map_err(too_long)?;
    frame[..4].copy_from_slice(&len.to_be_bytes());
    Ok(frame)
}

fn header(service: Service, caller: Caller<'_>) -> ConnectionHeader {
    let unknown = || "Unknown".to_owned();
    ConnectionHeader {
        user_info: Some(UserInformation { effective_user: caller.user.to_owned() }),
        service_name: Some(service.name().to_owned()),
        cell_block_codec_class: Some(CODEC.to_owned()),
        cell_block_compressor_class: caller.compression.map(|packed| packed.class().to_owned()),
        // Without it cells of a Get come within the message.
        version_info: Some(VersionInfo {
            version: "2.6.0".to_owned(),
            url: unknown(),
            revision: unknown(),
            user: unknown(),
            date: unknown(),
            src_checksum: unknown(),
            major: Some(2),
            minor: Some(6),
        }),
    }
}

fn end(waiting: &Mutex<Waiting>, error: &Error) {
    let mut waiting = waiting.lock();
    if let Ok(calls) = std::mem::replace(&mut *waiting, Err(error.clone())) {
        for sender in calls.into_values() {
            // Who has given up does not listen.
            let _ = sender.try_send(Err(error.clone()));
        }
    }
}

fn read_answers(
    mut stream: Receiver,
    (server, packed): (&Server, Option<Compression>),
    (waiting, heard): (&Mutex<Waiting>, &AtomicU64),
) {
    loop {
        let read = read_frame(&mut stream)
            .map_err(|e| Error::new(Kind::Lost, format!("the connection to {server} broke: {e}")))
            .and_then(|body| parse(body, packed).map_err(|e| e.at(server)));
        heard.fetch_add(1, Ordering::Relaxed);
        match read {
            Ok((Some(id), answer)) => {
                if let Ok(calls) = &mut *waiting.lock()
                    && let Some(sender) = calls.remove(&id)
                {
                    let _ = sender.try_send(answer);
                }
            }
            // Of no call: the server refuses the connection.
            Ok((None, answer)) => {
                let error = answer.err().unwrap_or_else(|| Error::protocol("an answer of no call"));
                return end(waiting, &error.at(server));
            }
            Err(error) => return end(waiting, &error),
        }
    }
}

fn read_frame(stream: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut len = [0; 4];
    stream.read_exact(&mut len)?;
    let len = u32::from_be_bytes(len) as usize;
    if len > MOST_ANSWER {
        return Err(std::io::Error::other(format!("an answer of {len} bytes; {MOST_ANSWER} are taken at most")));
    }
    let mut body = Vec::new();
    // Order: memory grows with what comes, not with what is announced.
    stream.take(len as u64).read_to_end(&mut body)?;
    if body.len() < len { Err(std::io::ErrorKind::UnexpectedEof.into()) } else { Ok(body) }
}

/// The call that an answer is of (`None`: of none), and the answer.
fn parse(mut body: Vec<u8>, packed: Option<Compression>) -> Result<(Option<u32>, Result<Answer>)> {
    let mut rest = &body[..];
    let header = ResponseHeader::decode_length_delimited(&mut rest).map_err(Error::protocol)?;
    let id = header.call_id.filter(|id| *id != u32::MAX);
    if let Some(exception) = &header.exception {
        return Ok((id, Err(Error::remote(exception))));
    }
    let len = prost::decode_length_delimiter(&mut rest).map_err(Error::protocol)?;
    let start = body.len() - rest.len();
    let cells = header.cell_block_meta.and_then(|meta| meta.length).unwrap_or(0) as usize;
    if len.checked_add(cells).is_none_or(|both| both > rest.len()) {
        return Err(Error::protocol("it is longer than its frame"));
    }
    let (message, mut cells) = (start..start + len, start + len..start + len + cells);
    if let Some(packed) = packed.filter(|_| !cells.is_empty()) {
        let unpacked = packed.unpack(&body[cells.clone()], MOST_ANSWER)?;
        body.truncate(cells.start);
        body.extend_from_slice(&unpacked);
        cells.end = body.len();
    }
    Ok((id, Ok(Answer { body, message, cells })))
}

#[cfg(test)]
mod tests;
