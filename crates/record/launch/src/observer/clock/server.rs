//! The time of `talea run`, for the observers of other hosts.
//!
//! Owns the port. A request has the token of the run and a random number, which the answer repeats.
//! Other datagrams get no answer, and an answer is shorter than its request. The token stands in a
//! file that only the run's owner can read. The port is open from the claim of the first observer
//! on another host to the end of the run.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

use talea_run::observers::{self, CLOCK, ServerAddress};

use super::super::worker::Worker;
use super::{ANSWER_BYTES, REQUEST_BYTES, Token, now, random};

/// Pauses between two looks for observers, in the time in which programs begin and later.
const PAUSE: Duration = Duration::from_millis(50);
const LATER: Duration = Duration::from_secs(2);
const BEGIN: Duration = Duration::from_secs(10);
/// Maximum time until the end is noticed.
const STOP: Duration = Duration::from_millis(200);

/// The thread of `talea run` that answers observers.
#[derive(Debug)]
pub(in super::super) struct Server(Worker<io::Result<()>>);

impl Server {
    /// Answers observers whose files are in the folder `live` of the run directory.
    pub(in super::super) fn start(live: PathBuf) -> Self {
        Self(Worker::start("talea-clock", move |stop| serve(&live, stop)))
    }

    /// Ends when no observer is left.
    ///
    /// # Errors
    /// Those of the system: without a port there was no comparison.
    pub(in super::super) fn finish(self) -> io::Result<()> {
        self.0.finish()?
    }
}

fn serve(live: &Path, stop: &AtomicBool) -> io::Result<()> {
    let is_stopped = || stop.load(Ordering::Acquire);
    let begin = Instant::now();
    while observers::unfinished(live).is_empty() {
        if is_stopped() {
            return Ok(());
        }
        let is_begin = begin.elapsed() < BEGIN;
        std::thread::park_timeout(if is_begin { PAUSE } else { LATER });
    }
    let sockets = bound()?;
    let token = random()?;
    let port = sockets.first().ok_or(io::ErrorKind::AddrNotAvailable)?.local_addr()?.port();
    let server = ServerAddress { token, addresses: server_addresses(port) };
    server.publish(live, CLOCK)?;
    std::thread::scope(|scope| {
        for socket in &sockets {
            let work = move || {
                while !is_stopped() {
                    reply(socket, &token);
                }
            };
            let _ = Builder::new().spawn_scoped(scope, work);
        }
    });
    ServerAddress::withdraw(live, CLOCK);
    Ok(())
}

/// Sockets for both families of addresses, with the same port: one socket where the system lets
/// one serve both.
fn bound() -> io::Result<Vec<UdpSocket>> {
    let bind = |address: IpAddr, port| UdpSocket::bind(SocketAddr::new(address, port));
    let mut sockets: Vec<UdpSocket> = bind(Ipv6Addr::UNSPECIFIED.into(), 0).into_iter().collect();
    let port = sockets.first().map_or(Ok(0), |one| one.local_addr().map(|own| own.port()))?;
    sockets.extend(bind(Ipv4Addr::UNSPECIFIED.into(), port));
    for socket in &sockets {
        socket.set_read_timeout(Some(STOP))?;
    }
    Ok(sockets)
}

/// Waits for a request and answers it. Errors are those of single datagrams.
fn reply(socket: &UdpSocket, token: &Token) {
    let mut request = [0; REQUEST_BYTES + 1];
    let Ok((length, from)) = socket.recv_from(&mut request) else { return };
    if let Some(answer) = answer(&request[..length], token, now()) {
        let _ = socket.send_to(&answer, from);
    }
}

/// The answer to a request; `None` for other datagrams.
fn answer(request: &[u8], token: &Token, now: u64) -> Option<[u8; ANSWER_BYTES]> {
    let number = request.strip_prefix(token)?;
    let mut answer = [0; ANSWER_BYTES];
    (number.len() == 8).then(|| answer[..8].copy_from_slice(number))?;
    answer[8..].copy_from_slice(&now.to_le_bytes());
    Some(answer)
}

/// Addresses of a server on all interfaces of this host, for other hosts. Those of the host itself
/// come last: namespaces of one machine may have no others.
pub fn server_addresses(port: u16) -> Vec<SocketAddr> {
    let is_local = |address: &IpAddr| match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    let all = if_addrs::get_if_addrs().unwrap_or_default().into_iter();
    let all = all.filter(if_addrs::Interface::is_oper_up).map(|one| one.ip());
    let (own, mut others): (Vec<_>, Vec<_>) =
        all.filter(|address| !is_local(address)).partition(IpAddr::is_loopback);
    others.extend(own);
    others.into_iter().map(|address| SocketAddr::new(address, port)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::TOKEN_BYTES;
    use super::*;

    #[test]
    fn only_requests_with_the_token_are_answered() {
        let token = [7; TOKEN_BYTES];
        let request = [&token[..], &[1, 2, 3, 4, 5, 6, 7, 8]].concat();
        let found = answer(&request, &token, 0x0102).unwrap();
        assert_eq!(found, [1, 2, 3, 4, 5, 6, 7, 8, 2, 1, 0, 0, 0, 0, 0, 0]);
        assert!(found.len() < request.len());
        assert_eq!(answer(&request, &[8; TOKEN_BYTES], 0), None);
        assert_eq!(answer(&[&request[..], &[0]].concat(), &token, 0), None);
        for length in 0..request.len() {
            assert_eq!(answer(&request[..length], &token, 0), None);
        }
    }
}
