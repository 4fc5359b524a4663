//! The most expensive queries of many users, while an operator opens the page of the machine.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use talea_model::Nanos;
use talea_model::shares::{Batch, Share};
use talea_store::Store as _;
use talea_store::sqlite::{Options, Sqlite};

use super::{Attack, Extent, Outcome, SECOND, batch, median, seconds};
use crate::site::{self, Role, Server, Site};

pub(super) const ATTACKS: &[Attack] = &[Attack {
    name: "20 clients with the most expensive PromQL over 2 h, step 30 s, 1,000 nodes; 5 of them disconnect early",
    before: "the operator's page 503, 4.7 GB",
    limit: "the operator's page 200 within 1 s (median of 15), memory below 1,472 MiB",
    extent: Extent::Full,
    make,
}];

const MINUTE: u64 = 60 * SECOND;
const NODES: u64 = 1000;
const MINUTES: u64 = 120;
const CORES: u32 = 8;
const CLIENTS: usize = 20;
const PAGES: usize = 15;
/// Six queries of 192 MiB, answers of 256 MiB, and 64 MiB for the rest.
const MEMORY: u64 = (6 * 192 + 256 + 64) << 20;

/// Two hours of nodes that are one user's, each core in two libraries.
fn fill(path: &Path, start: Nanos) -> Result<(), String> {
    let options = Options { slice: Nanos(MINUTE), ..Options::default() };
    let mut store = Sqlite::open(path, &options).map_err(|error| error.to_string())?;
    for minute in 0..MINUTES {
        let made = |node: u64| {
            let begin = start + Nanos(minute * MINUTE);
            let pattern = batch(&format!("n{node:03}"), minute, begin);
            let share = |core, library| Share {
                core,
                library: Some(library),
                samples: 30,
                ..pattern.shares[0].clone()
            };
            let shares = (0..CORES).flat_map(|core| [share(core, 0), share(core, 1)]).collect();
            let end = begin + Nanos(MINUTE);
            Batch { begin, end, cores: CORES, shares, ..pattern }
        };
        let all: Vec<Batch> = (0..NODES).map(made).collect();
        store.put_all(&all).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// A path of a range query over all of the time, escaped.
fn query(text: &str, start: u64) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'_' => escaped.push(char::from(byte)),
            _ => {
                let _ = write!(escaped, "%{byte:02X}");
            }
        }
    }
    let end = start + MINUTES * 60;
    format!("/prometheus/api/v1/query_range?start={start}&end={end}&step=30&query={escaped}")
}

fn make(site: &Site, _: Extent) -> Result<Outcome, String> {
    let start = (Nanos::now().0 / MINUTE - MINUTES) * MINUTE;
    fill(&site.path("t.db"), Nanos(start))?;
    let root = site.user("root", 0, Role::Operator)?;
    let user = |at| site.user(&format!("user{at}"), 1000, Role::User);
    let users: Vec<String> = (0..CLIENTS).map(user).collect::<Result<_, _>>()?;
    let server = site.server("t.db", &[])?;
    let begin = start / SECOND;
    let by = "sum by (core,node,executable,library,phase,activity)";
    let all = format!("{by} (sum_over_time(talea_core_samples[1m]))");
    // As many rows as a query may just have, and eight times the same.
    let half = format!("{by} (sum_over_time(talea_core_samples{{node=~\"n[0-4].*\"}}[1m]))");
    let paths = [query(&all, begin), query(&half, begin), query(&[&*all; 8].join(" + "), begin)];
    let (is_over, answers, whole) =
        (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let client = |at: usize| -> Result<(), String> {
        let (client, path) = (site::client(), &paths[at % paths.len()]);
        while !is_over.load(Ordering::Relaxed) {
            if at % 4 == 3 {
                disconnects(&server, &users[at], path)?;
                continue;
            }
            let came = site::get(&client, &server.address, &users[at], path)?;
            if ![200, 400, 503].contains(&came.status) {
                return Err(format!("a query: {}", came.status));
            }
            answers.fetch_add(1, Ordering::Relaxed);
            whole.fetch_add(usize::from(came.status == 200), Ordering::Relaxed);
        }
        Ok(())
    };
    let pages = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|at| scope.spawn(move || client(at))).collect();
        let pages = pages(&server, &root);
        is_over.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().map_err(|_| "a bug of a client")??;
        }
        pages
    });
    let mut pages = pages?;
    let (middle, last) = median(&mut pages);
    let memory = server.memory()?;
    let figures = format!(
        "page 200: median {}, maximum {}; {} MiB; {} answers, {} with all rows",
        seconds(middle),
        seconds(last),
        memory >> 20,
        answers.load(Ordering::Relaxed),
        whole.load(Ordering::Relaxed),
    );
    Ok(Outcome::of(middle < Duration::from_secs(1) && memory < MEMORY, figures))
}

fn disconnects(server: &Server, user: &str, path: &str) -> Result<(), String> {
    let mut gone = TcpStream::connect(&server.address).map_err(|error| error.to_string())?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {user}\r\n\r\n");
    let _ = gone.write_all(head.as_bytes());
    std::thread::sleep(Duration::from_millis(100));
    Ok(())
}

/// Times of the page of the machine: what it asks, one after the other.
fn pages(server: &Server, root: &str) -> Result<Vec<Duration>, String> {
    let paths = [
        "/api/v1/usage?last=2h&by=activity",
        "/api/v1/usage?last=2h&by=job,user&limit=26",
        "/api/v1/nodes",
        "/metrics",
    ];
    // Clients are at work by then.
    std::thread::sleep(Duration::from_secs(3));
    let mut times = Vec::new();
    for _ in 0..PAGES {
        let begin = Instant::now();
        for path in paths {
            let status = server.get(root, path)?.status;
            if status != 200 {
                return Err(format!("the operator's page: {status}: {path}"));
            }
        }
        times.push(begin.elapsed());
        std::thread::sleep(Duration::from_millis(300));
    }
    Ok(times)
}
