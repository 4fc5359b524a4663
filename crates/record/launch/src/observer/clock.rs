//! The clocks of a job's hosts, compared while the program runs.
//!
//! Owns the exchange outside MPI by which an observer learns how fast its host's clock is. `talea
//! run` answers each request with its own time, and an observer uses the fastest of twenty answers
//! (Cristian 1989). Ranks have measured at the initialisation of MPI how far their clocks are
//! apart; the change since then follows from the first and the newest comparison.
//!
//! Requests and answers are UDP datagrams. A request has the token of the run, which stands in a
//! file that only its owner can read, and a random number, which the answer repeats. Nothing else
//! is answered, and an answer is shorter than its request. `talea run` opens the port when the
//! first observer has begun on another host. Hosts that do not reach it are not compared.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::rand::{GetRandomFlags, getrandom};
use rustix::time::{ClockId, clock_gettime};
use talea_run::observers::{self, TimeServer};

/// Number of requests of one comparison.
const ROUNDS: usize = 20;
/// Time between the first two comparisons, which doubles up to a maximum.
const INTERVAL_MIN: Duration = Duration::from_secs(1);
const INTERVAL_MAX: Duration = Duration::from_secs(10);
/// Maximum time for the first answer, and for each later one.
const FIRST_ANSWER: Duration = Duration::from_millis(200);
const ANSWER: Duration = Duration::from_millis(20);
/// Minimum time between the first and the newest comparison: a shorter one says little about the
/// rate of a clock.
const MIN_SPAN: u64 = 1_000_000_000;
/// Pause of the server between two looks whether it is needed, at the begin and later.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);
const TOKEN_BYTES: usize = 16;
/// A token and a number.
const REQUEST_BYTES: usize = TOKEN_BYTES + 8;
/// The number, and nanoseconds.
const ANSWER_BYTES: usize = 16;

type Token = [u8; TOKEN_BYTES];

/// `CLOCK_MONOTONIC`, in nanoseconds.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let found = getrandom(&mut bytes, GetRandomFlags::empty())?;
    if found == N { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// The thread of `talea run` that answers observers.
#[derive(Debug)]
pub(super) struct Server {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Answers observers whose files are in the folder `live` of the run directory.
    pub(super) fn start(live: PathBuf) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        // Without a port there is no comparison.
        let thread = std::thread::spawn(move || {
            let _ = serve(&live, &seen);
        });
        Self { stop, thread }
    }

    /// Ends when no observer is left.
    pub(super) fn finish(self) {
        self.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        let _ = self.thread.join();
    }
}

fn serve(live: &Path, stop: &AtomicBool) -> io::Result<()> {
    let mut pause = PAUSE_MIN;
    while observers::unfinished(live).is_empty() {
        if stop.load(Ordering::Acquire) {
            return Ok(());
        }
        std::thread::park_timeout(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
    // Of both families where the kernel has IPv6.
    let any = [IpAddr::from(Ipv6Addr::UNSPECIFIED), Ipv4Addr::UNSPECIFIED.into()];
    let socket = UdpSocket::bind(&any.map(|address| SocketAddr::new(address, 0))[..])?;
    socket.set_read_timeout(Some(PAUSE_MIN))?;
    let token = random()?;
    let port = socket.local_addr()?.port();
    let addresses = own_addresses().into_iter().map(|address| SocketAddr::new(address, port));
    let server = TimeServer { token, addresses: addresses.collect() };
    server.publish(live)?;
    while !stop.load(Ordering::Acquire) {
        let mut request = [0; REQUEST_BYTES + 1];
        // Errors are those of single datagrams, such as an answer that did not arrive.
        let Ok((length, from)) = socket.recv_from(&mut request) else { continue };
        if let Some(answer) = answer(&request[..length], &token, now()) {
            let _ = socket.send_to(&answer, from);
        }
    }
    TimeServer::withdraw(live);
    Ok(())
}

/// The answer to a request; `None` for other datagrams.
fn answer(request: &[u8], token: &Token, now: u64) -> Option<[u8; ANSWER_BYTES]> {
    let number = request.strip_prefix(token)?;
    let mut answer = [0; ANSWER_BYTES];
    (number.len() == 8).then(|| answer[..8].copy_from_slice(number))?;
    answer[8..].copy_from_slice(&now.to_le_bytes());
    Some(answer)
}

/// Addresses under which other hosts may reach this one. The own ones are last: namespaces of one
/// machine may have no others.
fn own_addresses() -> Vec<IpAddr> {
    let is_local = |address: &IpAddr| match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    let all = if_addrs::get_if_addrs().unwrap_or_default();
    let all = all.into_iter().map(|one| one.ip()).filter(|address| !is_local(address));
    let (own, mut others): (Vec<_>, Vec<_>) = all.partition(IpAddr::is_loopback);
    others.extend(own);
    others
}

/// Difference between the clock of `talea run` and this host's, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Comparison {
    /// Time on this host's clock, in nanoseconds.
    pub(super) at: u64,
    /// Nanoseconds to add to it.
    pub(super) offset: i64,
    /// Uncertainty of `offset`, in nanoseconds.
    pub(super) error: u64,
}

/// Rate of this host's clock, by that of `talea run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Drift {
    pub(super) first: Comparison,
    pub(super) newest: Comparison,
}

impl Drift {
    /// Change of this clock's offset in a time of so many nanoseconds, and its uncertainty.
    pub(super) fn over(&self, nanos: u64) -> (i64, u64) {
        let span = u128::from(self.newest.at.saturating_sub(self.first.at).max(1));
        let change = i128::from(self.newest.offset) - i128::from(self.first.offset);
        let error = u128::from(self.first.error) + u128::from(self.newest.error);
        let scaled = change.saturating_mul(nanos.into()) / span as i128;
        let error = error.saturating_mul(nanos.into()).div_ceil(span);
        (scaled.clamp(i64::MIN.into(), i64::MAX.into()) as i64, error.min(i64::MAX as u128) as u64)
    }
}

/// The comparisons of one observer.
#[derive(Debug)]
pub(super) struct Clock {
    /// Folder of the file with the server's addresses.
    live: PathBuf,
    tried: Option<Instant>,
    interval: Duration,
    reached: Option<(UdpSocket, Token)>,
    first: Option<Comparison>,
}

impl Clock {
    /// Of an observer whose file is in the folder `live` of the run directory.
    pub(super) fn new(live: PathBuf) -> Self {
        Self { live, tried: None, interval: INTERVAL_MIN, reached: None, first: None }
    }

    /// Compares, if that is due.
    pub(super) fn look(&mut self) -> Option<Drift> {
        if self.tried.is_some_and(|last| last.elapsed() < self.interval) {
            return None;
        }
        if self.tried.is_some() {
            self.interval = (self.interval * 2).min(INTERVAL_MAX);
        }
        self.compare()
    }

    /// Compares now.
    pub(super) fn compare(&mut self) -> Option<Drift> {
        if self.reached.is_none() {
            // The file is there when the server is.
            let server = TimeServer::find(&self.live)?;
            self.tried = Some(Instant::now());
            self.reached = reach(&server).map(|socket| (socket, server.token));
        }
        self.tried = Some(Instant::now());
        let (socket, token) = self.reached.as_ref()?;
        let asked = (0..ROUNDS).filter_map(|_| ask(socket, token, ANSWER));
        let newest = asked.min_by_key(|one| one.error)?;
        let first = *self.first.get_or_insert(newest);
        let is_long = newest.at.saturating_sub(first.at) >= MIN_SPAN;
        is_long.then_some(Drift { first, newest })
    }
}

/// A socket to the first address that answers.
fn reach(server: &TimeServer) -> Option<UdpSocket> {
    server.addresses.iter().find_map(|address| {
        let own: IpAddr = if address.is_ipv4() {
            Ipv4Addr::UNSPECIFIED.into()
        } else {
            Ipv6Addr::UNSPECIFIED.into()
        };
        let socket = UdpSocket::bind(SocketAddr::new(own, 0)).ok()?;
        socket.connect(address).ok()?;
        ask(&socket, &server.token, FIRST_ANSWER).map(|_| socket)
    })
}

/// One request. Answers to earlier ones are passed over.
fn ask(socket: &UdpSocket, token: &Token, patience: Duration) -> Option<Comparison> {
    let number: [u8; 8] = random().ok()?;
    let mut request = [0; REQUEST_BYTES];
    request[..TOKEN_BYTES].copy_from_slice(token);
    request[TOKEN_BYTES..].copy_from_slice(&number);
    let (begin, before) = (Instant::now(), now());
    socket.send(&request).ok()?;
    loop {
        let left = patience.checked_sub(begin.elapsed()).filter(|left| !left.is_zero())?;
        socket.set_read_timeout(Some(left)).ok()?;
        let mut answer = [0; ANSWER_BYTES + 1];
        let length = socket.recv(&mut answer).ok()?;
        let after = now();
        if length != ANSWER_BYTES || answer[..8] != number {
            continue;
        }
        let there = u64::from_le_bytes(std::array::from_fn(|at| answer[8 + at]));
        let trip = after.saturating_sub(before);
        let at = before + trip / 2;
        let offset = there.wrapping_sub(at) as i64;
        return Some(Comparison { at, offset, error: trip.div_ceil(2) });
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn drift_follows_from_two_comparisons() {
        let first = Comparison { at: 1_000_000_000, offset: -500, error: 10 };
        let newest = Comparison { at: 11_000_000_000, offset: 1_500, error: 20 };
        let drift = Drift { first, newest };
        assert_eq!(drift.over(10_000_000_000), (2_000, 30));
        assert_eq!(drift.over(5_000_000_000), (1_000, 15));
        assert_eq!(drift.over(20_000_000_000), (4_000, 60));
        assert_eq!(drift.over(0), (0, 0));
        let far = Comparison { at: u64::MAX, offset: i64::MIN, error: u64::MAX };
        Drift { first, newest: far }.over(u64::MAX);
        Drift { first: far, newest: first }.over(u64::MAX);
    }

    #[test]
    fn the_clock_of_one_host_does_not_drift() {
        let folder = tempfile::tempdir().unwrap();
        let live = folder.path().to_owned();
        let server = Server::start(live.clone());
        let mut clock = Clock::new(live.clone());
        assert_eq!(clock.look(), None);
        // Nobody is on another host yet.
        std::thread::sleep(PAUSE_MIN * 3);
        assert_eq!(TimeServer::find(&live), None);
        std::fs::write(live.join("other-0.observer"), "").unwrap();
        let begin = Instant::now();
        while clock.first.is_none() {
            assert!(begin.elapsed() < Duration::from_secs(30), "no answer");
            assert_eq!(clock.look(), None, "one comparison gives no rate");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(clock.look(), None, "it is not due");
        std::thread::sleep(INTERVAL_MIN);
        let drift = clock.look().unwrap();
        for one in [drift.first, drift.newest] {
            assert!(one.offset.unsigned_abs() <= one.error, "{drift:?}");
            assert!(one.error < FIRST_ANSWER.as_nanos() as u64);
        }
        let (change, error) = drift.over(drift.newest.at - drift.first.at);
        assert!(change.unsigned_abs() <= error, "{change} {error}");
        server.finish();
        assert_eq!(TimeServer::find(&live), None);
        // Nobody answers any more.
        assert_eq!(clock.compare(), None);
    }
}
