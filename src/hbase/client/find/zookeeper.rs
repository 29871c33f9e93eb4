//! As much of ZooKeeper as it takes to read a node: connect, getData, close; no watch, no session that is kept.
//!
//! Source: ZooKeeper's jute records (ConnectRequest, GetDataRequest), each behind 4 bytes length.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::hbase::client::deadline::Left;
use crate::hbase::client::error::{Error, Kind, Result};
use crate::hbase::client::wire::connection::Server;

/// Longest answer that is taken: nodes of HBase have some hundred bytes.
const MOST: usize = 1 << 20;
const GET_DATA: i32 = 4;
const CLOSE: i32 = -11;
/// The node does not exist.
const NO_NODE: i32 = -101;
/// The caller may not read the node.
const NO_AUTH: i32 = -102;
const SESSION_MS: i32 = 10_000;

/// The data of a node, from the first server of the ensemble that answers.
pub fn read(ensemble: &[Server], path: &str, timeout: Duration) -> Result<Vec<u8>> {
    let mut failed = Error::new(Kind::Address, "no ZooKeeper is named");
    let left = Left::new(timeout);
    for (at, server) in ensemble.iter().enumerate() {
        // One that is silent leaves time for the others.
        let part = left.time() / u32::try_from(ensemble.len() - at).unwrap_or(u32::MAX);
        match read_from(server, path, part) {
            Err(e) if e.kind == Kind::Unreachable => failed = e,
            answered => return answered,
        }
    }
    Err(failed)
}

fn read_from(server: &Server, path: &str, timeout: Duration) -> Result<Vec<u8>> {
    let unreachable = |e: std::io::Error| Error::new(Kind::Unreachable, format!("ZooKeeper {server}: {e}"));
    let left = Left::new(timeout);
    let mut stream = open(server, left).map_err(unreachable)?;
    stream.write_all(&hello()).map_err(unreachable)?;
    // What is no ZooKeeper says nothing, hangs up, or says something else.
    let strange = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::InvalidData => not_zookeeper(server),
        // So does a ZooKeeper that starts.
        std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset => Error::new(
            Kind::Unreachable,
            format!("{server} hangs up without an answer: it is no ZooKeeper, or one that is not ready"),
        ),
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => Error::new(
            Kind::Unreachable,
            format!("{server} takes connections and does not answer as ZooKeeper does within {timeout:?}"),
        ),
        _ => unreachable(e),
    };
    let greeting = frame(&mut stream).map_err(strange)?;
    // Version, timeout, session; a session of zero is a refusal.
    if greeting.len() < 16 || greeting[8..16] == [0; 8] {
        return Err(not_zookeeper(server));
    }
    stream.set_read_timeout(Some(left.time())).map_err(unreachable)?;
    stream.write_all(&get_data(path)).map_err(unreachable)?;
    let answer = frame(&mut stream).map_err(strange)?;
    // The session would end by itself.
    let _ = stream.write_all(&request(CLOSE, &[]));
    let code = answer.get(12..16).and_then(|code| code.try_into().ok()).map(i32::from_be_bytes);
    match code {
        Some(0) => data(&answer).ok_or_else(|| not_zookeeper(server)),
        Some(NO_NODE) => Err(Error::new(Kind::NoNode, format!("ZooKeeper {server} has no node {path}"))),
        Some(NO_AUTH) => Err(Error::new(Kind::AccessDenied, format!("ZooKeeper {server} does not let {path} be read"))),
        Some(code) => Err(Error::new(Kind::Passing, format!("ZooKeeper {server} answers {path} with error {code}"))),
        None => Err(not_zookeeper(server)),
    }
}

fn not_zookeeper(server: &Server) -> Error {
    Error::new(Kind::Protocol, format!("what listens at {server} is no ZooKeeper"))
}

fn open(server: &Server, left: Left) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::other("the name has no address");
    for address in (server.host.as_str(), server.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left.time()) {
            Ok(stream) => {
                stream.set_read_timeout(Some(left.time()))?;
                stream.set_write_timeout(Some(left.time()))?;
                return Ok(stream);
            }
            Err(e) => last = e,
        }
    }
    Err(last)
}

fn framed(body: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes().to_vec();
    frame.extend(body);
    frame
}

/// ConnectRequest: version, last transaction seen, timeout, session, password, read-only servers will do.
fn hello() -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(0_i32.to_be_bytes());
    body.extend(0_i64.to_be_bytes());
    body.extend(SESSION_MS.to_be_bytes());
    body.extend(0_i64.to_be_bytes());
    body.extend(16_i32.to_be_bytes());
    body.extend([0; 16]);
    body.push(1);
    framed(&body)
}

fn request(kind: i32, arguments: &[u8]) -> Vec<u8> {
    let mut body = 1_i32.to_be_bytes().to_vec();
    body.extend(kind.to_be_bytes());
    body.extend(arguments);
    framed(&body)
}

fn get_data(path: &str) -> Vec<u8> {
    let mut arguments = u32::try_from(path.len()).unwrap_or(u32::MAX).to_be_bytes().to_vec();
    arguments.extend(path.as_bytes());
    // No watch.
    arguments.push(0);
    request(GET_DATA, &arguments)
}

/// Behind the header (xid, zxid, error) a length and the bytes.
fn data(answer: &[u8]) -> Option<Vec<u8>> {
    let len = i32::from_be_bytes(answer.get(16..20)?.try_into().ok()?);
    Some(answer.get(20..20 + usize::try_from(len).ok()?)?.to_vec())
}

fn frame(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut len = [0; 4];
    stream.read_exact(&mut len)?;
    let len = u32::from_be_bytes(len) as usize;
    if len > MOST {
        return Err(std::io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; len];
    stream.read_exact(&mut body)?;
    Ok(body)
}

/// The message in a node of HBase: 0xFF, 4 bytes length and an id of so many bytes, `PBUF`, the message.
pub fn message(node: &[u8]) -> Option<&[u8]> {
    let node = match node.split_first() {
        Some((0xFF, rest)) => {
            let len = u32::from_be_bytes(rest.get(..4)?.try_into().ok()?) as usize;
            rest.get(4..)?.get(len..)?
        }
        _ => node,
    };
    node.strip_prefix(b"PBUF")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_hbase_are_opened_and_others_are_not() {
        // The node hbaseid as it was read from a server.
        let node = b"\xff\0\0\0\x14master:17000\xdc\x1a0\xe7\x17gR\xcePBUF\n$41b1d9ff-2341-42d1-9b32-0c5cc65cede6";
        assert_eq!(message(node), Some(&b"\n$41b1d9ff-2341-42d1-9b32-0c5cc65cede6"[..]));
        assert_eq!(message(b"PBUFxyz"), Some(&b"xyz"[..]));
        for wrong in [&b""[..], b"\xFF", b"\xFF\0\0\0\x09abcPBUF", b"\xFF\xFF\xFF\xFF\xFFPBUF", b"xyz"] {
            assert_eq!(message(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_data_length_that_lies_is_no_fault() {
        let mut answer = vec![0; 16];
        answer.extend((-1_i32).to_be_bytes());
        assert_eq!(data(&answer), None);
        answer[16..20].copy_from_slice(&5_i32.to_be_bytes());
        assert_eq!(data(&answer), None);
    }
}
