//! Connections: their maximum number in all and of one address, and their maximum time without
//! progress.
//!
//! Owns the limits, beyond which new connections are closed at once, the reserve for known agents
//! and operators, and the end of connections whose other side does not read. The time of requests
//! is the matter of their readers. It refuses to know the content of a connection.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum_server::accept::Accept;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use crate::log::Seldom;

/// Maximum number of connections.
pub const MOST: usize = 4096;
/// Default maximum number of connections of one address.
pub const MOST_OF_ADDRESS: usize = 256;
/// One connection in so many is reserved for addresses of known agents and operators.
pub(crate) const RESERVED: usize = 4;
/// Maximum number of connections of such an address in the reserve.
const OF_KNOWN: usize = 8;
/// Time for which an address is known after a request with a node's token or of an operator.
const KNOWN: Duration = Duration::from_hours(24);
/// Maximum number of known addresses.
const MOST_KNOWN: usize = 65_536;
/// Files that are open beside connections: of the store's handles, users, tokens and the runtime.
const OTHER_FILES: u64 = 128;

/// Maximum times for the other side of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Until the head of a request is complete, and between two requests: longer than the 15 s for
    /// which agents keep an unused connection, so that none is closed under a batch.
    pub headers: Duration,
    /// Until a body of batches is complete.
    pub body: Duration,
    /// Until any other body is complete.
    pub form: Duration,
    /// Between two reads of an answer.
    pub answer: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { headers: seconds(20), body: seconds(30), form: seconds(10), answer: seconds(30) }
    }
}

/// Maximum number of connections that the limit of open files allows, at most `most`.
pub(crate) fn bound(most: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    // The hard limit is requested; if the system refuses, the maximum is lower.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let room = usize::try_from(files.saturating_sub(OTHER_FILES)).unwrap_or(usize::MAX);
    most.min(room.max(16))
}

/// The address that limits count by: of version 6 the whole /64, whose addresses belong to one host
/// or site.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(long) => IpAddr::V6((u128::from(long) & !u128::from(u64::MAX)).into()),
        short @ IpAddr::V4(_) => short,
    }
}

/// Reasons why a connection is closed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TooMany {
    All,
    OfAddress,
}

/// Open connections and known addresses.
#[derive(Debug, Default)]
struct Open {
    all: usize,
    of_address: HashMap<IpAddr, usize>,
    known: HashMap<IpAddr, Instant>,
}

impl Open {
    fn take(&mut self, from: IpAddr, most: usize, of_address: usize) -> Result<(), TooMany> {
        let own = self.of_address.get(&from).copied().unwrap_or(0);
        if own >= of_address {
            return Err(TooMany::OfAddress);
        }
        let is_known = self.known.get(&from).is_some_and(|at| at.elapsed() < KNOWN);
        let has_room = self.all < most - most / RESERVED;
        let is_kept_for = self.all < most && is_known && own < OF_KNOWN;
        if !has_room && !is_kept_for {
            return Err(TooMany::All);
        }
        self.all += 1;
        self.of_address.insert(from, own + 1);
        Ok(())
    }

    fn give_back(&mut self, from: IpAddr) {
        self.all = self.all.saturating_sub(1);
        match self.of_address.get_mut(&from) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(self.of_address.remove(&from)),
        }
    }

    fn know(&mut self, from: IpAddr, now: Instant) {
        if self.known.len() >= MOST_KNOWN && !self.known.contains_key(&from) {
            self.known.retain(|_, at| now.duration_since(*at) < KNOWN);
            if self.known.len() >= MOST_KNOWN {
                return;
            }
        }
        self.known.insert(from, now);
    }
}

#[derive(Debug)]
struct Room {
    most: usize,
    of_address: usize,
    open: Mutex<Open>,
    turned_away: AtomicU64,
    turned_away_of_address: AtomicU64,
    log: Seldom,
}

impl Room {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the connections.
#[derive(Debug)]
struct Held {
    room: Arc<Room>,
    from: IpAddr,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.room.open().give_back(self.from);
    }
}

/// Accepts connections within its limits.
#[derive(Clone, Debug)]
pub(crate) struct Bounded {
    room: Arc<Room>,
    answer: Duration,
}

impl Bounded {
    /// Limits: connections in all, and of one address.
    pub(crate) fn new(most: usize, of_address: usize, patience: Patience) -> Self {
        let room = Room {
            most,
            of_address: of_address.clamp(1, most.max(1)),
            open: Mutex::default(),
            turned_away: AtomicU64::default(),
            turned_away_of_address: AtomicU64::default(),
            log: Seldom::new(1, Duration::from_mins(1)),
        };
        Self { room: Arc::new(room), answer: patience.answer }
    }

    /// Number of open connections.
    pub(crate) fn open(&self) -> usize {
        self.room.open().all
    }

    /// Number of connections that were closed beyond the limits.
    pub(crate) fn turned_away(&self) -> u64 {
        self.room.turned_away.load(Ordering::Relaxed)
    }

    /// Number of these beyond the limit of their address.
    pub(crate) fn turned_away_of_address(&self) -> u64 {
        self.room.turned_away_of_address.load(Ordering::Relaxed)
    }

    /// Notes the address of a known agent or operator for the reserve.
    pub(crate) fn know(&self, from: IpAddr) {
        self.room.open().know(network(from), Instant::now());
    }

    fn take(&self, from: IpAddr) -> io::Result<Held> {
        let room = &self.room;
        let taken = room.open().take(from, room.most, room.of_address);
        let Err(too_many) = taken else { return Ok(Held { room: Arc::clone(room), from }) };
        room.turned_away.fetch_add(1, Ordering::Relaxed);
        let why = match too_many {
            TooMany::All => format!("there are {} connections", self.open()),
            TooMany::OfAddress => {
                room.turned_away_of_address.fetch_add(1, Ordering::Relaxed);
                format!("it has {} connections", room.of_address)
            }
        };
        let from = from.to_string();
        let values = [("from", from.as_str()), ("why", &why)];
        room.log.line(&from, "connections are turned away", &values);
        Err(io::Error::other("too many connections"))
    }
}

impl<S> Accept<TcpStream, S> for Bounded {
    type Stream = Connection;
    type Service = S;
    type Future = std::future::Ready<io::Result<(Connection, S)>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        let held = stream.peer_addr().and_then(|from| self.take(network(from.ip())));
        let connection =
            held.map(|held| Connection { stream, answer: self.answer, stuck: None, _held: held });
        std::future::ready(connection.map(|connection| (connection, service)))
    }
}

/// A connection that ends with an error if the other side does not read.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    answer: Duration,
    /// Since something waits to be written.
    stuck: Option<Pin<Box<Sleep>>>,
    _held: Held,
}

impl Connection {
    /// Waits for what is written, but not for ever.
    fn bounded<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let answer = self.answer;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(answer)));
        ready!(stuck.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bounded(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.bounded(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let written = Pin::new(&mut self.stream).poll_flush(context);
        self.bounded(written, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    #[test]
    fn addresses_have_their_share_and_known_ones_a_reserve() {
        let address = |n: u32| IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + n));
        let mut open = Open::default();
        let (most, of_address) = (64, 10);
        let taken = |open: &mut Open, n: u32| open.take(address(n), most, of_address);
        for _ in 0..of_address {
            taken(&mut open, 0).unwrap();
        }
        assert_eq!(taken(&mut open, 0), Err(TooMany::OfAddress));
        for n in 1..5 {
            (0..10).for_each(|_| {
                let _ = taken(&mut open, n);
            });
        }
        // Three quarters are taken.
        assert_eq!(open.all, 48);
        assert_eq!(taken(&mut open, 9), Err(TooMany::All));
        let now = Instant::now();
        for n in [7, 8] {
            open.know(address(n), now);
            (0..OF_KNOWN).for_each(|_| taken(&mut open, n).unwrap());
            assert_eq!(taken(&mut open, n), Err(TooMany::All));
        }
        assert_eq!(open.all, most);
        open.know(address(10), now);
        assert_eq!(taken(&mut open, 10), Err(TooMany::All));
        for n in 0..9 {
            (0..10).for_each(|_| {
                if open.of_address.contains_key(&address(n)) {
                    open.give_back(address(n));
                }
            });
        }
        assert_eq!((open.all, open.of_address.len()), (0, 0));
    }

    #[test]
    fn addresses_of_version_6_count_by_network() {
        let long =
            |low: u64| IpAddr::V6(Ipv6Addr::from((0x2001_0db8_u128 << 96) + u128::from(low)));
        assert_eq!(network(long(1)), network(long(u64::MAX)));
        let mapped = IpAddr::V6(Ipv4Addr::LOCALHOST.to_ipv6_mapped());
        assert_eq!(network(mapped), IpAddr::V4(Ipv4Addr::LOCALHOST));
    }

    #[test]
    fn tables_do_not_grow() {
        let mut open = Open::default();
        let now = Instant::now();
        for n in 0..MOST_KNOWN as u32 + 1000 {
            open.know(IpAddr::V4(Ipv4Addr::from(n)), now);
        }
        assert_eq!(open.known.len(), MOST_KNOWN);
    }
}
