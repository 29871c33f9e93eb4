//! One TCP connection to one service of one server: many calls at once, answered in any order.
//!
//! Callers write their requests themselves, one at a time; one thread reads the answers and hands each to its caller.
//! What bounds memory: an answer has at most [`MOST_ANSWER`] bytes, and a caller has one call open.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crossbeam_channel::{Sender, bounded};
use parking_lot::Mutex;
use prost::Message;

use super::cell::{CODEC, Cell, decode};
use super::error::{Error, Kind, Result};
use super::proto::rpc::{ConnectionHeader, RequestHeader, ResponseHeader, UserInformation, VersionInfo};

/// A longer answer ends the connection; a server's own bound is 100 MiB.
const MOST_ANSWER: usize = 160 << 20;
/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A server that takes nothing for so long is given up.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
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
    writer: Mutex<TcpStream>,
    waiting: Arc<Mutex<Waiting>>,
    next_id: AtomicU32,
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
    /// Connects as `user` and starts the thread that reads.
    pub fn open(server: &Server, service: Service, user: &str, timeout: Duration) -> Result<Self> {
        let unreachable = |e: std::io::Error| Error::new(Kind::Unreachable, format!("connect to {server}: {e}"));
        let mut stream = connect(server, timeout).map_err(unreachable)?;
        stream.set_nodelay(true).map_err(unreachable)?;
        stream.set_write_timeout(Some(WRITE_TIMEOUT)).map_err(unreachable)?;
        let header = header(service, user).encode_to_vec();
        let mut hello = PREAMBLE.to_vec();
        hello.extend(u32::try_from(header.len()).unwrap_or(u32::MAX).to_be_bytes());
        hello.extend(header);
        stream.write_all(&hello).map_err(unreachable)?;
        let waiting: Arc<Mutex<Waiting>> = Arc::new(Mutex::new(Ok(HashMap::new())));
        let reader = stream.try_clone().map_err(unreachable)?;
        let (told, of) = (Arc::clone(&waiting), server.clone());
        std::thread::Builder::new()
            .name("hbase-reader".into())
            .spawn(move || read_answers(reader, &of, &told))
            .map_err(unreachable)?;
        Ok(Self { server: server.clone(), writer: Mutex::new(stream), waiting, next_id: AtomicU32::new(1) })
    }

    /// Whether calls can be made; a broken one does not heal.
    pub fn is_whole(&self) -> bool {
        self.waiting.lock().is_ok()
    }

    /// Makes a call and waits for its answer.
    pub fn call(&self, call: &Call<'_>) -> Result<Answer> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed) & 0x7FFF_FFFF;
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
        if let Err(e) = self.send(&header, call.message) {
            return Err(self.refused().unwrap_or_else(|| {
                let error = Error::new(Kind::Lost, format!("send to {}: {e}", self.server));
                self.break_off(&error);
                error
            }));
        }
        answer.recv_timeout(call.timeout).unwrap_or_else(|_| {
            if let Ok(waiting) = &mut *self.waiting.lock() {
                waiting.remove(&id);
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

    fn send(&self, header: &RequestHeader, message: &[u8]) -> std::io::Result<()> {
        let mut frame = vec![0; 4];
        let encoded = header.encode_length_delimited(&mut frame).and_then(|()| {
            prost::encode_length_delimiter(message.len(), &mut frame)?;
            frame.extend_from_slice(message);
            Ok(())
        });
        encoded.map_err(std::io::Error::other)?;
        let len = u32::try_from(frame.len() - 4).map_err(std::io::Error::other)?;
        frame[..4].copy_from_slice(&len.to_be_bytes());
        // A frame that is cut off is followed by nothing: the caller breaks the connection.
        self.writer.lock().write_all(&frame)
    }

    /// Ends the connection; who waits is told.
    pub fn break_off(&self, error: &Error) {
        end(&self.waiting, error);
        // The reader ends by it; one that is gone already is no news.
        let _ = self.writer.lock().shutdown(std::net::Shutdown::Both);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.break_off(&Error::new(Kind::Unreachable, "the connection was closed"));
    }
}

fn connect(server: &Server, timeout: Duration) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::other("the name has no address");
    for address in (server.host.as_str(), server.port).to_socket_addrs()? {
        let timeout = timeout.min(CONNECT_TIMEOUT).max(Duration::from_millis(1));
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => return Ok(stream),
            Err(e) => last = e,
        }
    }
    Err(last)
}

fn header(service: Service, user: &str) -> ConnectionHeader {
    let unknown = || "Unknown".to_owned();
    ConnectionHeader {
        user_info: Some(UserInformation { effective_user: user.to_owned() }),
        service_name: Some(service.name().to_owned()),
        cell_block_codec_class: Some(CODEC.to_owned()),
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

fn read_answers(mut stream: TcpStream, server: &Server, waiting: &Mutex<Waiting>) {
    loop {
        let read = read_frame(&mut stream)
            .map_err(|e| Error::new(Kind::Lost, format!("the connection to {server} broke: {e}")))
            .and_then(|body| parse(body).map_err(|e| e.at(server)));
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

fn read_frame(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
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
fn parse(body: Vec<u8>) -> Result<(Option<u32>, Result<Answer>)> {
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
    let (message, cells) = (start..start + len, start + len..start + len + cells);
    Ok((id, Ok(Answer { body, message, cells })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hbase::client::proto::data::ScanResponse;

    /// What a server of 2.6.4 sent: the end of a scan that was asked for four cells of two rows.
    const SCANNED: &str = concat!(
        "0608021a0208701e0802080210b5858080f0f8bbca3e180120e0d40330003800380040005807000000170000000f00000000",
        "0001720166710000018bcfe5680008000000190000000f000000020001720166710000018bcfe56800047631000000170000",
        "000f0000000000017301666e0000018bcfe5680104000000190000000f000000020001730166710000018bcfe56800047631",
    );

    #[test]
    fn a_recorded_answer_is_taken_apart() {
        let (id, answer) = parse(hex::decode(SCANNED).unwrap()).unwrap();
        assert_eq!(id, Some(2));
        let answer = answer.unwrap();
        let message: ScanResponse = answer.message().unwrap();
        assert_eq!((message.cells_per_result, message.partial_flag_per_result), (vec![2, 2], vec![false, false]));
        assert_eq!((message.more_results, message.more_results_in_region), (Some(true), Some(false)));
        assert_eq!((message.scanner_id, message.ttl), (Some(4_509_492_764_882_240_181), Some(60_000)));
        assert_eq!(answer.cells().unwrap().len(), 4);
    }

    /// As a server does that wants tickets (ServerRpcConnection.processPreamble): it answers no call, and hangs up.
    #[test]
    fn a_server_that_wants_tickets_is_told_apart() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server { host: "127.0.0.1".into(), port: listener.local_addr().unwrap().port() };
        let refusing = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut preamble = [0; 6];
            stream.read_exact(&mut preamble).unwrap();
            let exception = crate::hbase::client::proto::rpc::ExceptionResponse {
                exception_class_name: Some("org.apache.hadoop.hbase.security.AccessDeniedException".into()),
                stack_trace: Some(
                    "org.apache.hadoop.hbase.security.AccessDeniedException: Authentication is required".into(),
                ),
                do_not_retry: Some(true),
                server_overloaded: None,
            };
            let header = ResponseHeader { call_id: Some(u32::MAX), exception: Some(exception), cell_block_meta: None };
            let header = header.encode_length_delimited_to_vec();
            stream.write_all(&u32::try_from(header.len()).unwrap().to_be_bytes()).unwrap();
            stream.write_all(&header).unwrap();
            // Order: bytes that nobody has read would make the hang-up a reset, which may overtake the refusal.
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
            preamble
        });
        let connection = Connection::open(&server, Service::Client, "somebody", CONNECT_TIMEOUT).unwrap();
        let call = Call { method: "Get", message: &[], priority: Priority::Normal, timeout: CONNECT_TIMEOUT };
        let refused = connection.call(&call).map(|_| ()).unwrap_err();
        assert_eq!(refused.kind, Kind::Kerberos, "{refused}");
        assert!(!connection.is_whole());
        // The server waits for our end.
        drop(connection);
        assert_eq!(refusing.join().unwrap(), PREAMBLE);
    }

    #[test]
    fn answers_that_are_cut_off_or_changed_are_errors_and_no_faults() {
        let whole = hex::decode(SCANNED).unwrap();
        for end in 0..whole.len() {
            assert!(parse(whole[..end].to_vec()).is_err(), "{end}");
        }
        for at in 0..whole.len() {
            for value in [0, 0x7F, 0xFF] {
                let mut wrong = whole.clone();
                wrong[at] = value;
                if let Ok((_, Ok(answer))) = parse(wrong) {
                    let _ = (answer.message::<ScanResponse>(), answer.cells());
                }
            }
        }
    }
}
