//! The clocks of a job's hosts, compared while the program runs.
//!
//! Owns the exchange outside MPI by which an observer learns how fast its host's clock is. It asks
//! `talea run` ([`server`]) for its time by UDP, and uses the fastest of twenty answers (Cristian
//! 1989). Ranks have measured the offsets of their clocks at the initialisation of MPI. The change
//! since then follows from the first and the newest comparison. Without an answer the drift is only
//! known to be that of an oscillator.

mod server;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::rand::{GetRandomFlags, getrandom};
use rustix::time::{ClockId, clock_gettime};
pub(super) use server::Server;
pub use server::server_addresses;
use talea_run::live::layout::{CLOCK_RATES_PPM, Header};
use talea_run::observers::{CLOCK, ServerAddress};

use super::worker::Worker;

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
/// Pause before the file with the server's addresses is looked for again, at first and later.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Maximum age of a process that has just begun, in nanoseconds. An older one was found before by
/// another observer.
pub(super) const MAX_START: u64 = 60_000_000_000;
/// Number of addresses that are tried when there is no time left.
const LAST_ADDRESSES: usize = 4;
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

impl Comparison {
    /// The offset that a process has measured when it initialised MPI: a moment ago, if it was
    /// known to begin or has just begun.
    pub(super) fn of_ranks(header: &Header, was_beginning: bool) -> Self {
        let now = now();
        let is_new = was_beginning || now.saturating_sub(header.start_nanos) < MAX_START;
        let at = if is_new { now } else { header.start_nanos };
        Self { at, offset: header.offset_start, error: header.offset_error }
    }
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
    pub(super) const UNKNOWN: Self = Self { time: 1_000_000, change: 0, error: CLOCK_RATES_PPM };

    /// Between two comparisons; unknown where these say less than that.
    pub(super) fn between(first: Comparison, newest: Comparison) -> Self {
        let time = newest.at.saturating_sub(first.at);
        let error = first.error.saturating_add(newest.error);
        if time < MIN_SPAN {
            return Self::UNKNOWN;
        }
        let found = Self { time, change: newest.offset.saturating_sub(first.offset), error };
        if found.is_better_than(&Self::UNKNOWN) { found } else { Self::UNKNOWN }
    }

    /// True if it was measured.
    pub(super) fn is_known(&self) -> bool {
        *self != Self::UNKNOWN
    }

    /// True if it has the smaller uncertainty, for the same time.
    fn is_better_than(&self, other: &Self) -> bool {
        let error = |one: &Self, by: &Self| u128::from(one.error) * u128::from(by.time);
        error(self, other) < error(other, self)
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
    /// The first comparison, if there is any.
    first: Option<Comparison>,
    /// The one that tells most about now.
    pub(super) newest: Option<Comparison>,
}

impl Compared {
    /// Without a comparison.
    pub(super) const NOTHING: Self = Self { drift: Drift::UNKNOWN, first: None, newest: None };

    /// Adds a comparison. One that took long says less than what follows from those before.
    pub(super) fn add(&mut self, new: Comparison) {
        let first = *self.first.get_or_insert(new);
        let drift = Drift::between(first, new);
        if drift.is_better_than(&self.drift) {
            self.drift = drift;
        }
        let expected = self.newest.map(|old| {
            let age = new.at.saturating_sub(old.at).min(i64::MAX as u64);
            old.error.saturating_add(self.drift.over(age as i64).1)
        });
        if expected.is_none_or(|expected| new.error <= expected) {
            self.newest = Some(new);
        }
    }
}

/// The thread of an observer that compares clocks.
#[derive(Debug)]
pub(super) struct Clock {
    compared: Arc<Mutex<Compared>>,
    worker: Worker<()>,
}

impl Clock {
    /// Of an observer whose file is in the folder `live` of the run directory, and which has
    /// compared before.
    pub(super) fn start(live: PathBuf, before: Compared) -> Self {
        let compared = Arc::new(Mutex::new(before));
        let found = Arc::clone(&compared);
        let worker = Worker::start("talea-clock", move |stop| follow(&live, stop, &found));
        Self { compared, worker }
    }

    /// The result so far.
    pub(super) fn compared(&self) -> Compared {
        self.compared.lock().map_or(Compared::NOTHING, |compared| *compared)
    }

    /// Compares a last time.
    pub(super) fn finish(self) -> Compared {
        // Without a thread nothing is compared.
        let _ = self.worker.finish();
        self.compared.lock().map_or(Compared::NOTHING, |compared| *compared)
    }
}

/// Compares until it is to stop, and then once more.
fn follow(live: &Path, stop: &AtomicBool, compared: &Mutex<Compared>) {
    let is_stopped = || stop.load(Ordering::Acquire);
    let mut pause = PAUSE_MIN;
    let (socket, token) = loop {
        let is_last = is_stopped();
        if let Some(server) = ServerAddress::find(live, CLOCK)
            && let Some(socket) = reach(&server, &is_stopped)
        {
            break (socket, server.token);
        }
        if is_last {
            return;
        }
        std::thread::park_timeout(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    };
    let mut interval = INTERVAL_MIN;
    loop {
        let is_last = is_stopped();
        if let Some(new) = compare(&socket, &token)
            && let Ok(mut compared) = compared.lock()
        {
            compared.add(new);
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
fn reach(server: &ServerAddress, is_stopped: &dyn Fn() -> bool) -> Option<UdpSocket> {
    let addresses = server.addresses.iter().enumerate();
    let addresses = addresses.take_while(|&(at, _)| at < LAST_ADDRESSES || !is_stopped());
    addresses.map(|(_, address)| address).find_map(|address| {
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
    fn comparisons_that_took_long_change_little() {
        let at =
            |second: u64, offset, error| Comparison { at: second * 1_000_000_000, offset, error };
        let mut compared = Compared::NOTHING;
        compared.add(at(1, 100, 10));
        assert_eq!((compared.drift, compared.newest), (Drift::UNKNOWN, Some(at(1, 100, 10))));
        compared.add(at(11, 1_100, 10));
        let good = compared;
        assert_eq!(good.drift.over(1_000_000_000), (100, 2));
        compared.add(at(12, 90_000, 99_000));
        assert_eq!(compared, good);
        compared.add(at(21, 2_300, 10));
        assert_eq!(
            (compared.drift.over(1_000_000_000), compared.newest),
            ((110, 1), Some(at(21, 2_300, 10)))
        );
    }

    #[test]
    fn the_clock_of_one_host_does_not_drift() {
        let folder = tempfile::tempdir().unwrap();
        let live = folder.path().to_owned();
        let server = Server::start(live.clone());
        let clock = Clock::start(live.clone(), Compared::NOTHING);
        assert_eq!(
            (clock.compared(), ServerAddress::find(&live, CLOCK)),
            (Compared::NOTHING, None)
        );
        std::fs::write(live.join("other-0.observer"), "").unwrap();
        let begin = Instant::now();
        while !clock.compared().drift.is_known() {
            assert!(begin.elapsed() < Duration::from_mins(1), "no drift was measured");
            std::thread::sleep(PAUSE_MIN);
        }
        let place = ServerAddress::find(&live, CLOCK).unwrap();
        // The server's threads may get no PU for some time.
        let once = || {
            let socket = reach(&place, &|| false)?;
            compare(&socket, &place.token).map(|one| (socket, one))
        };
        let (socket, one) = loop {
            assert!(begin.elapsed() < Duration::from_mins(2), "no answer");
            if let Some(found) = once() {
                break found;
            }
        };
        assert!(one.offset.unsigned_abs() <= one.error, "{one:?}");
        let drift = clock.finish().drift;
        assert!(drift.change.unsigned_abs() <= drift.error, "{drift:?}");
        server.finish().unwrap();
        assert_eq!(ServerAddress::find(&live, CLOCK), None);
        assert_eq!(compare(&socket, &place.token), None, "nobody answers any more");
        assert!(reach(&place, &|| false).is_none());
    }
}
