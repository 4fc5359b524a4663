//! Connections and passwords from one address that keep others out.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{Attack, Extent, Outcome, seconds};
use crate::site::{PASSWORD, Role, SOON, Site, until};

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "4,090 connections with half a request each from one address",
        before: "everybody else is shut out",
        limit: "at most 256 are kept; an operator of another address has an answer within 1 s",
        extent: Extent::Fast,
        make: half_requests,
    },
    Attack {
        name: "30 wrong passwords of 3 names, then an operator of the same address",
        before: "no line of log; the operator is locked out for 5 min",
        limit: "30 lines as fail2ban reads them, 429 to others, 200 to the operator's right password",
        extent: Extent::Fast,
        make: passwords,
    },
];

const CONNECTIONS: usize = 4090;
const KEPT: u64 = 256;

/// A connection from an address of loopback.
fn connected(from: Ipv4Addr, to: SocketAddrV4) -> io::Result<TcpStream> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &SocketAddrV4::new(from, 0))?;
    connect(&socket, &to)?;
    Ok(TcpStream::from(socket))
}

/// Room for all connections in this process; the maximum of files where there is less.
fn open_files() -> Result<(), u64> {
    let needed = CONNECTIONS as u64 + 100;
    let limit = getrlimit(Resource::Nofile);
    let maximum = limit.maximum.unwrap_or(u64::MAX);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let more = Rlimit { current: Some(needed.min(maximum)), maximum: limit.maximum };
    if maximum < needed || setrlimit(Resource::Nofile, more).is_err() {
        Err(maximum)
    } else {
        Ok(())
    }
}

fn half_requests(site: &Site, _: Extent) -> Result<Outcome, String> {
    if let Err(files) = open_files() {
        return Ok(Outcome::Skipped(format!("a process may open {files} files only")));
    }
    let root = site.user("root", 0, Role::Operator)?;
    let server = site.server("t.db", &[])?;
    let to: SocketAddrV4 = server.address.parse().map_err(|_| "not an address of version 4")?;
    let mut held = Vec::new();
    for _ in 0..CONNECTIONS {
        if let Ok(mut stream) = connected(Ipv4Addr::new(127, 0, 0, 2), to) {
            let _ = stream.write_all(b"GET /api/v1/usage HTTP/1.1\r\nHost: x\r\n");
            held.push(stream);
        }
    }
    let begin = Instant::now();
    let status = server.get(&root, "/api/v1/me")?.status;
    let took = begin.elapsed();
    let kept = || server.metric("talea_serve_connections").unwrap_or(u64::MAX).saturating_sub(1);
    until(Duration::from_secs(5), || kept() <= KEPT);
    let (kept, open) = (kept(), held.iter().filter(|stream| is_open(stream)).count());
    let turned = server.process.lines_with("connections are turned away").len();
    let figures = format!(
        "{kept} kept, {} closed; operator {status} after {}; {turned} lines of log",
        held.len() - open,
        seconds(took)
    );
    let holds = kept <= KEPT && open as u64 <= KEPT && turned == 1;
    Ok(Outcome::of(holds && status == 200 && took < Duration::from_secs(1), figures))
}

/// True where the server has not closed it.
fn is_open(mut stream: &TcpStream) -> bool {
    let _ = stream.set_nonblocking(true);
    matches!(stream.read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

fn passwords(site: &Site, _: Extent) -> Result<Outcome, String> {
    site.user("root", 0, Role::Operator)?;
    site.user("anna", 1000, Role::User)?;
    let server = site.server("t.db", &[])?;
    for name in ["anna", "bert", "carl"] {
        for guess in 0..10 {
            server.log_in(name, &format!("guess number {guess}"))?;
        }
    }
    let (user, operator) = (server.log_in("anna", PASSWORD)?, server.log_in("root", PASSWORD)?);
    // As packaging/fail2ban/talea-serve.conf.
    let lines = || server.process.lines_with(" talea serve: login failed from=\"127.0.0.1\"").len();
    until(SOON, || lines() >= 30);
    let lines = lines();
    let figures = format!("{lines} lines; user {user}; operator {operator}");
    Ok(Outcome::of(lines == 30 && user == 429 && operator == 200, figures))
}
