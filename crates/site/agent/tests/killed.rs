//! An agent that is killed at any moment, whose server is away, slow to answer or forgets to: every
//! batch that its spool had accepted is in the store once, in order.
//!
//! The child is this test's own program: the loop of an agent with a made sampler, its spool, and
//! its sender. The server is a thread of the parent with a store behind it, which now and then
//! takes a batch and does not say so. Each start of the agent has a node's name of its own, so that
//! its numbers can be told from those of the others; the spool is one. Moments are chosen by how
//! much the child has said, never by the clock alone.

// A test says what went wrong by the line that it stopped at.
#![allow(clippy::unwrap_used, missing_docs)]

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use talea_agent::send::Sender;
use talea_agent::{Agent, Budget, Files, Options};
use talea_model::shares::{Batch, Sampler};
use talea_model::{Bytes, Gaps, Nanos};
use talea_sampling::system::{Hit, SystemSampler};
use talea_store::access::Server;
use talea_store::sqlite::{self, Sqlite};
use talea_store::{Put, Question, Store as _, Visible, wire};
use talea_topology::CpuSet;

const KILLS: u64 = 40;
const FOLDER: &str = "TALEA_AGENT_TEST_FOLDER";
const ADDRESS: &str = "TALEA_AGENT_TEST_ADDRESS";
const ROUND: &str = "TALEA_AGENT_TEST_ROUND";
/// More than all batches take.
const SPOOL: Bytes = Bytes(8 << 20);

/// One sample a look.
struct Made;

impl SystemSampler for Made {
    fn name(&self) -> Sampler {
        Sampler::Bpf
    }

    fn cores(&self) -> CpuSet {
        CpuSet::from_list("0").unwrap()
    }

    fn collect(&mut self, hits: &mut Vec<Hit>, _: &mut Gaps) -> io::Result<()> {
        hits.push(Hit { count: 1, ..Hit::idle(0) });
        Ok(())
    }
}

fn node(round: u64) -> String {
    format!("start-{round:03}")
}

/// Not a test: the agent, until it is killed; the last one until all is delivered.
#[test]
fn to_be_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    let round: u64 = std::env::var(ROUND).unwrap().parse().unwrap();
    let address = std::env::var(ADDRESS).unwrap();
    let token = folder.join("token");
    let sender = Sender::new(&Server { address, token, authorities: None }, "a").unwrap();
    let options = Options {
        node: node(round),
        period: Nanos(1_000_000),
        interval: Duration::from_millis(1),
        budget: Budget::default(),
        spool: (folder.join("spool"), SPOOL),
        yields: None,
        run_dir: folder.join("run"),
        files: Files::default(),
    };
    let mut agent = Agent::new(Box::new(Made), options, Gaps::default()).unwrap();
    let is_done = std::cell::Cell::new(false);
    println!();
    agent.run(&|| is_done.get(), &mut |batch| sender.send(batch), &mut |told| {
        assert_eq!(told.unkept, None);
        println!("kept {}", told.batches);
        is_done.set(round == KILLS && told.waiting == 0 && told.trouble.is_none());
    });
}

/// What came, as the server saw it.
#[derive(Default)]
struct Came {
    /// Node and number of batches that were new, in the order in which they came.
    new: Vec<(String, u64)>,
    again: u64,
    samples: u64,
    dropped: u64,
}

/// A server that is unreliable until it is told not to be.
struct Served {
    address: SocketAddr,
    came: Arc<Mutex<Came>>,
    is_steady: Arc<AtomicBool>,
}

fn served(folder: &Path) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let came = Arc::new(Mutex::new(Came::default()));
    let is_steady = Arc::new(AtomicBool::new(false));
    let mut store = Sqlite::open(&folder.join("t.db"), &sqlite::Options::default()).unwrap();
    let (seen, steady) = (Arc::clone(&came), Arc::clone(&is_steady));
    std::thread::spawn(move || {
        let requests = AtomicU64::new(0);
        for connection in listener.incoming() {
            // Who is killed in the middle of a request breaks it off.
            let _ = answer(connection.unwrap(), &mut store, &seen, &|| {
                let mixed =
                    requests.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                if steady.load(Ordering::Relaxed) { u64::MAX } else { mixed >> 60 }
            });
        }
    });
    Served { address, came, is_steady }
}

/// Answers the requests of a connection. Of sixteen moods, one is away and one takes the batch but
/// breaks off before it says so.
fn answer(
    mut connection: TcpStream,
    store: &mut Sqlite,
    seen: &Mutex<Came>,
    mood: &dyn Fn() -> u64,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    let mut piece = [0; 16 << 10];
    loop {
        let head = bytes.windows(4).position(|w| w == b"\r\n\r\n").map(|at| at + 4);
        let whole = head.and_then(|head| {
            let length = bytes.get(head..head + 4)?;
            Some(head..head + 4 + u32::from_le_bytes(length.try_into().unwrap()) as usize)
        });
        let Some(whole) = whole.filter(|whole| bytes.len() >= whole.end) else {
            let read = connection.read(&mut piece)?;
            if read == 0 {
                return Ok(());
            }
            bytes.extend_from_slice(&piece[..read]);
            continue;
        };
        let batch = wire::decode(&bytes[whole.start + 4..whole.end]).unwrap();
        bytes.drain(..whole.end);
        let mood = mood();
        let said = if mood == 0 {
            ("503 Later", "{}")
        } else {
            let put = store.put(&batch).unwrap();
            note(&mut seen.lock().unwrap(), &batch, put);
            if mood == 1 {
                return Ok(());
            }
            ("200 OK", if put == Put::New { "{\"new\":1}" } else { "{\"new\":0}" })
        };
        let (status, body) = said;
        let length = body.len();
        // In one piece: else each answer waits for the other side to acknowledge its begin.
        let whole = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
        connection.write_all(whole.as_bytes())?;
    }
}

fn note(came: &mut Came, batch: &Batch, put: Put) {
    if put == Put::Already {
        came.again += 1;
        return;
    }
    came.new.push((batch.id.node.clone(), batch.id.number));
    came.samples += batch.samples();
    let dropped = batch.gaps.iter().filter(|gap| gap.detail.contains("dropped"));
    came.dropped += dropped.map(|gap| gap.count).sum::<u64>();
}

fn started(folder: &Path, address: SocketAddr, round: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "to_be_killed", "--nocapture"])
        .env(FOLDER, folder)
        .env(ADDRESS, format!("http://{address}"))
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads to the end what a child says it has kept; kills it after so many lines.
fn kept(mut child: Child, lines: Option<u64>) -> u64 {
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let (mut kept, mut read, mut line) = (0, 0, String::new());
    while out.read_line(&mut line).unwrap() > 0 {
        if let Some(number) = line.trim().strip_prefix("kept ") {
            kept = number.parse().unwrap();
            read += 1;
            if Some(read) == lines {
                // Somewhere inside what it does next.
                std::thread::sleep(Duration::from_micros(read * 7919 % 3000));
                child.kill().unwrap();
            }
        }
        line.clear();
    }
    let ended = child.wait().unwrap();
    assert!(lines.is_some() || ended.success(), "{ended}");
    assert!(lines.is_none_or(|lines| read >= lines), "the child ended by itself after {read}");
    kept
}

#[test]
fn what_the_spool_accepted_is_in_the_store_once_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "secret\n").unwrap();
    std::fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let server = served(folder.path());
    let mut said = Vec::new();
    for round in 0..KILLS {
        let child = started(folder.path(), server.address, round);
        said.push(kept(child, Some(1 + round * 37 % 29)));
    }
    server.is_steady.store(true, Ordering::Relaxed);
    said.push(kept(started(folder.path(), server.address, KILLS), None));
    let came = server.came.lock().unwrap();
    assert!(came.new.is_sorted(), "{:?}", came.new);
    for (round, &kept) in said.iter().enumerate() {
        let node = node(round as u64);
        let numbers: Vec<u64> =
            came.new.iter().filter(|(of, _)| *of == node).map(|(_, number)| *number).collect();
        // One more may be there than was said.
        let there = numbers.len() as u64;
        assert!(there >= kept && there <= kept + 1, "{node}: {there} came, {kept} were kept");
        assert_eq!(numbers, (0..there).collect::<Vec<_>>(), "{node}");
    }
    assert_eq!(came.dropped, 0);
    assert!(came.again > 0, "nothing was ever sent again");
    let store =
        Sqlite::open_to_read(&folder.path().join("t.db"), &sqlite::Options::default()).unwrap();
    let everything = Question::everything(Visible::All, Nanos(0), Nanos(i64::MAX as u64));
    assert_eq!(store.usage(&everything).unwrap().totals.samples, came.samples);
}
