//! A way to a server that is cut without a word: connections stay, and what is sent by them is lost. New ones get through.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::server::Cluster;
use super::tree::Mounted;

const TIMEOUT: Duration = Duration::from_secs(9);
/// Where the server itself listens; it names localhost, where the way begins.
const BEHIND: &str = "127.0.0.2";

/// How often the way was cut.
#[derive(Default)]
struct Way(AtomicUsize);

impl Way {
    fn cut(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn cuts(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Lets connections through from now on.
    fn lead(self: Arc<Self>, port: u16) {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let near = near.unwrap();
                // Before the server listens there is nobody to be found.
                let Ok(far) = TcpStream::connect((BEHIND, port)) else { continue };
                let cuts = self.cuts();
                for (from, to) in [(near.try_clone(), far.try_clone()), (Ok(far), Ok(near))] {
                    let (way, from, to) = (Arc::clone(&self), from.unwrap(), to.unwrap());
                    std::thread::spawn(move || way.carry(from, to, cuts));
                }
            }
        });
    }

    /// What comes goes on, unless the way was cut since there had been so many cuts.
    fn carry(&self, mut from: TcpStream, mut to: TcpStream, cuts: usize) {
        let mut bytes = [0; 8192];
        while let Ok(read @ 1..) = from.read(&mut bytes) {
            if self.cuts() == cuts && to.write_all(&bytes[..read]).is_err() {
                break;
            }
        }
        if self.cuts() == cuts {
            // It may be closed already.
            let _ = to.shutdown(Shutdown::Both);
        }
    }
}

#[test]
fn whoever_reads_asks_again_by_another_connection() {
    let way = Arc::new(Way::default());
    let settings = format!("hbase.regionserver.ipc.address {BEHIND}\n");
    let mut cluster = Cluster::start_behind(Some(&settings), |port| Arc::clone(&way).lead(port));
    cluster.address += &format!("?timeout={}", TIMEOUT.as_secs());
    let mounted = Mounted::new(Arc::new(cluster), "cut", "cache=0");
    let cell = mounted.path("r/f/q");
    fs::write(&cell, "first").unwrap();
    let in_time = |what: &str, act: &dyn Fn()| {
        way.cut();
        let started = Instant::now();
        act();
        assert!(started.elapsed() < TIMEOUT, "{what}: {:?}", started.elapsed());
    };
    in_time("a read", &|| assert_eq!(fs::read_to_string(&cell).unwrap(), "first"));
    in_time("a listing", &|| assert_eq!(fs::read_dir(mounted.path("r/f")).unwrap().count(), 1));
    in_time("a write, before which its name is looked up", &|| fs::write(&cell, "second").unwrap());
    assert_eq!(fs::read_to_string(&cell).unwrap(), "second");
}
