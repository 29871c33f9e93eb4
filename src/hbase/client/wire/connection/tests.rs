//! Of the connection: recorded answers, refusals, silence.

use std::io::Write;

use super::super::stream::CONNECT_TIMEOUT;
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
    let (id, answer) = parse(hex::decode(SCANNED).unwrap(), None).unwrap();
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
    let connection = Connection::open(
        &server,
        Service::Client,
        Caller { user: "somebody", compression: None, tls: None },
        CONNECT_TIMEOUT,
    )
    .unwrap();
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
        assert!(parse(whole[..end].to_vec(), None).is_err(), "{end}");
    }
    for at in 0..whole.len() {
        for value in [0, 0x7F, 0xFF] {
            let mut wrong = whole.clone();
            wrong[at] = value;
            if let Ok((_, Ok(answer))) = parse(wrong, None) {
                let _ = (answer.message::<ScanResponse>(), answer.cells());
            }
        }
    }
}
