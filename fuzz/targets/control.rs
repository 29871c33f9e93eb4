//! The control socket: any bytes are a message or an error, and a message that is written again is the same.
#![no_main]

use cellfs::daemon::control::protocol::{Request, Response, receive, send};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((side, mut frame)) = data.split_first() else { return };
    // The length in front of it comes by itself, or is the input's own.
    let mut framed = u32::try_from(frame.len()).unwrap().to_le_bytes().to_vec();
    framed.extend_from_slice(frame);
    if side & 2 == 0 {
        frame = &framed;
    }
    let mut said = Vec::new();
    if side & 1 == 0 {
        while let Ok(Some(request)) = receive::<Request>(&mut frame) {
            send(&mut said, &request).unwrap();
        }
        while let Some(request) = receive::<Request>(&mut said.as_slice()).unwrap() {
            let mut again = Vec::new();
            send(&mut again, &request).unwrap();
            assert_eq!(again, said[..again.len()]);
            said.drain(..again.len());
        }
    } else {
        while let Ok(Some(response)) = receive::<Response>(&mut frame) {
            send(&mut said, &response).unwrap();
        }
    }
});
