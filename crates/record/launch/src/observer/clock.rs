//! The clocks of a job's hosts, compared while the program runs.
//!
//! Owns the exchange outside MPI by which an observer learns how fast its host's clock is. `talea
//! run` answers each request with its own time. An observer uses the fastest of twenty answers
//! (Cristian 1989). Ranks have measured the offsets of their clocks at the initialisation of MPI.
//! The change since then follows from the first and the newest comparison.
//!
//! Requests and answers are UDP datagrams. A request has the token of the run and a random number,
//! which the answer repeats. Only the run's owner can read the token. Other datagrams get no
//! answer, and an answer is shorter than its request. `talea run` opens the port when an observer
//! is about to begin on another host, and closes it at its end. Where no answer comes, the drift is
//! only known to be that of an oscillator.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
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
/// Minimum time between the comparisons that give a rate, in nanoseconds.
const MIN_SPAN: u64 = 1_000_000_000;
/// Maximum difference between the rates of two clocks that nobody compares, in nanoseconds a
/// second: oscillators of computers differ by less.
const OSCILLATOR: u64 = 100_000;
/// Pause before the server, or the file with its addresses, is looked for again: at first, and
/// later.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// Time in which programs begin, as a rule.
const BEGIN: Duration = Duration::from_secs(10);
/// Maximum time until the server notices that it has to end.
const STOP: Duration = Duration::from_millis(200);
const TOKEN_BYTES: usize = 16;
/// A token and a number.
const REQUEST_BYTES: usize = TOKEN_BYTES + 8;
/// The number, and nanoseconds.
const ANSWER_BYTES: usize = 16;

type Token = [u8; TOKEN_BYTES];

/// `CLOCK_MONOTONIC`, in nanoseconds.
pub(super) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let found = getrandom(&mut bytes, GetRandomFlags::empty())?;
    if found == N { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// A thread that works until it is asked to stop.
#[derive(Debug)]
struct Worker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Without a thread nothing is compared.
    fn start(work: impl FnOnce(&AtomicBool) + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = Builder::new().name("talea-clock".into()).spawn(move || work(&seen)).ok();
        Self { stop, thread }
    }

    fn finish(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// The thread of `talea run` that answers observers.
#[derive(Debug)]
pub(super) struct Server(Worker);

impl Server {
    /// Answers observers whose files are in the folder `live` of the run directory.
    pub(super) fn start(live: PathBuf) -> Self {
        // Without a port there is no comparison.
        Self(Worker::start(move |stop| {
            let _ = serve(&live, stop);
        }))
    }

    /// Ends when no observer is left.
    pub(super) fn finish(mut self) {
        self.0.finish();
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
        std::thread::park_timeout(if is_begin { PAUSE_MIN } else { PAUSE_MAX });
    }
    let sockets = bound()?;
    let token = random()?;
    let port = sockets.first().ok_or(io::ErrorKind::AddrNotAvailable)?.local_addr()?.port();
    let addresses = own_addresses().into_iter().map(|address| SocketAddr::new(address, port));
    let server = TimeServer { token, addresses: addresses.collect() };
    server.publish(live)?;
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
    TimeServer::withdraw(live);
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

/// Addresses under which other hosts may reach this one. Those of the host itself come last:
/// namespaces of one machine may have no others.
fn own_addresses() -> Vec<IpAddr> {
    let is_local = |address: &IpAddr| match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    let all = if_addrs::get_if_addrs().unwrap_or_default().into_iter();
    let all = all.filter(if_addrs::Interface::is_oper_up).map(|one| one.ip());
    let (own, mut others): (Vec<_>, Vec<_>) =
        all.filter(|address| !is_local(address)).partition(IpAddr::is_loopback);
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

/// Change of this clock's offset to that of `talea run`, over a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Drift {
    /// Nanoseconds; the time is never zero.
    time: u64,
    change: i64,
    /// Uncertainty of `change`, in nanoseconds.
    error: u64,
}

impl Drift {
    /// Of two clocks that were not compared.
    pub(super) const UNKNOWN: Self = Self { time: 1_000_000_000, change: 0, error: OSCILLATOR };

    /// Between two comparisons; unknown where these say less than that.
    pub(super) fn between(first: Comparison, newest: Comparison) -> Self {
        let time = newest.at.saturating_sub(first.at);
        let error = first.error.saturating_add(newest.error);
        let is_better =
            u128::from(error) * 1_000_000_000 < u128::from(OSCILLATOR) * u128::from(time);
        if time < MIN_SPAN || !is_better {
            return Self::UNKNOWN;
        }
        Self { time, change: newest.offset.saturating_sub(first.offset), error }
    }

    /// True if it was measured.
    pub(super) fn is_known(&self) -> bool {
        *self != Self::UNKNOWN
    }

    /// Change of the offset in so many nanoseconds, and its uncertainty.
    pub(super) fn over(&self, nanos: i64) -> (i64, u64) {
        let change = i128::from(self.change) * i128::from(nanos) / i128::from(self.time);
        let error = u128::from(self.error) * u128::from(nanos.unsigned_abs());
        let error = error.div_ceil(u128::from(self.time));
        let range = i128::from(i64::MIN)..=i128::from(i64::MAX);
        let change = change.clamp(*range.start(), *range.end()) as i64;
        (change, u64::try_from(error).unwrap_or(u64::MAX))
    }
}

/// Result of the comparisons so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Compared {
    /// Change of the offset over time.
    pub(super) drift: Drift,
    /// The newest comparison, if there is any.
    pub(super) newest: Option<Comparison>,
}

impl Compared {
    /// Without a comparison.
    pub(super) const NOTHING: Self = Self { drift: Drift::UNKNOWN, newest: None };
}

/// The thread of an observer that compares clocks.
#[derive(Debug)]
pub(super) struct Clock {
    compared: Arc<Mutex<Compared>>,
    worker: Worker,
}

impl Clock {
    /// Of an observer whose file is in the folder `live` of the run directory.
    pub(super) fn start(live: PathBuf) -> Self {
        let compared = Arc::new(Mutex::new(Compared::NOTHING));
        let found = Arc::clone(&compared);
        let worker = Worker::start(move |stop| follow(&live, stop, &found));
        Self { compared, worker }
    }

    /// The result so far.
    pub(super) fn compared(&self) -> Compared {
        self.compared.lock().map_or(Compared::NOTHING, |compared| *compared)
    }

    /// Compares a last time.
    pub(super) fn finish(mut self) -> Compared {
        self.worker.finish();
        self.compared()
    }
}

/// Compares until it is to stop, and then once more.
fn follow(live: &Path, stop: &AtomicBool, compared: &Mutex<Compared>) {
    let is_stopped = || stop.load(Ordering::Acquire);
    let mut pause = PAUSE_MIN;
    let (socket, token) = loop {
        if is_stopped() {
            return;
        }
        if let Some(server) = TimeServer::find(live)
            && let Some(socket) = reach(&server, &is_stopped)
        {
            break (socket, server.token);
        }
        std::thread::park_timeout(pause);
        pause = (pause * 2).min(INTERVAL_MAX);
    };
    let (mut first, mut interval) = (None, INTERVAL_MIN);
    loop {
        let is_last = is_stopped();
        if let Some(newest) = compare(&socket, &token)
            && let Ok(mut compared) = compared.lock()
        {
            let drift = Drift::between(*first.get_or_insert(newest), newest);
            *compared = Compared { drift, newest: Some(newest) };
        }
        if is_last {
            return;
        }
        let due = Instant::now() + interval;
        interval = (interval * 2).min(INTERVAL_MAX);
        while let Some(left) = due.checked_duration_since(Instant::now())
            && !is_stopped()
        {
            std::thread::park_timeout(left);
        }
    }
}

/// The best of some requests; after one without an answer there are no more.
fn compare(socket: &UdpSocket, token: &Token) -> Option<Comparison> {
    let asked = (0..ROUNDS).map_while(|_| ask(socket, token, ANSWER));
    asked.min_by_key(|one| one.error)
}

/// A socket to the first address that answers.
fn reach(server: &TimeServer, is_stopped: &dyn Fn() -> bool) -> Option<UdpSocket> {
    let addresses = server.addresses.iter().take_while(|_| !is_stopped());
    addresses.into_iter().find_map(|address| {
        let own: IpAddr = match address {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
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
        return Some(Comparison {
            at,
            offset: there.wrapping_sub(at) as i64,
            error: trip.div_ceil(2),
        });
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
        let at = |at, offset, error| Comparison { at, offset, error };
        let first = at(1_000_000_000, -500, 10);
        let drift = Drift::between(first, at(11_000_000_000, 1_500, 20));
        assert!(drift.is_known());
        assert_eq!(drift.over(10_000_000_000), (2_000, 30));
        assert_eq!(drift.over(5_000_000_000), (1_000, 15));
        assert_eq!(drift.over(-5_000_000_000), (-1_000, 15));
        assert_eq!(drift.over(20_000_000_000), (4_000, 60));
        assert_eq!(drift.over(0), (0, 0));
        // Too short, and less certain than an oscillator.
        let unknown = [at(1_900_000_000, -500, 10), at(2_000_000_000, -500, 100_000)];
        for newest in unknown {
            assert_eq!(Drift::between(first, newest), Drift::UNKNOWN);
        }
        assert_eq!(Drift::UNKNOWN.over(3_600_000_000_000), (0, 360_000_000));
        let far = at(u64::MAX, i64::MIN, u64::MAX);
        for (one, other) in [(first, far), (far, first), (at(0, i64::MAX, 0), at(u64::MAX, -9, 0))]
        {
            Drift::between(one, other).over(i64::MIN);
            Drift::between(one, other).over(i64::MAX);
        }
    }

    #[test]
    fn the_clock_of_one_host_does_not_drift() {
        let folder = tempfile::tempdir().unwrap();
        let live = folder.path().to_owned();
        let server = Server::start(live.clone());
        let clock = Clock::start(live.clone());
        assert_eq!((clock.compared(), TimeServer::find(&live)), (Compared::NOTHING, None));
        std::fs::write(live.join("other-0.observer"), "").unwrap();
        let begin = Instant::now();
        while !clock.compared().drift.is_known() {
            assert!(begin.elapsed() < Duration::from_mins(1), "no drift was measured");
            std::thread::sleep(PAUSE_MIN);
        }
        let place = TimeServer::find(&live).unwrap();
        let socket = reach(&place, &|| false).unwrap();
        let one = compare(&socket, &place.token).unwrap();
        assert!(one.offset.unsigned_abs() <= one.error, "{one:?}");
        let drift = clock.finish().drift;
        assert!(drift.change.unsigned_abs() <= drift.error, "{drift:?}");
        server.finish();
        assert_eq!(TimeServer::find(&live), None);
        assert_eq!(compare(&socket, &place.token), None, "nobody answers any more");
        assert!(reach(&place, &|| false).is_none());
    }
}
