//! Limits of wrong passwords.
//!
//! Owns counts by name and by address over a window of time, in bounded tables. Guesses from the
//! address of an operator do not lock the operator out. An attempt counts before its password is
//! checked, so that many at once are no way around, and is taken back if it was right. Tokens and
//! sessions are not limited: 256 bits cannot be guessed.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::connections::network;

const WINDOW: Duration = Duration::from_mins(5);
pub(crate) const MOST_OF_NAME: usize = 10;
pub(crate) const MOST_OF_ADDRESS: usize = 30;
/// Maximum number of names and addresses; those with the oldest attempts are removed.
const MOST: usize = 8192;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Name(String),
    Address(IpAddr),
}

#[derive(Debug, Default)]
pub(super) struct Limits(HashMap<Key, Vec<Instant>>);

fn keys(name: &str, address: IpAddr) -> [(Key, usize); 2] {
    let address = network(address);
    let short: String = name.chars().take(255).collect();
    [(Key::Name(short), MOST_OF_NAME), (Key::Address(address), MOST_OF_ADDRESS)]
}

/// An attempt that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    /// Wait of all but operators of this address: the answer to a wrong password, so that it does
    /// not show which users are operators.
    pub(super) wait: Option<Duration>,
}

impl Limits {
    /// Counts an attempt at a name, or returns the time to wait.
    pub(super) fn attempt(
        &mut self,
        name: &str,
        address: IpAddr,
        is_operator: bool,
        now: Instant,
    ) -> Result<Attempt, Duration> {
        let mut keys = keys(name, address).to_vec();
        let mut attempt = Attempt { wait: None };
        for (key, most) in &keys {
            let Some(times) = self.0.get_mut(key) else { continue };
            times.retain(|time| now.duration_since(*time) < WINDOW);
            if let Some(first) = times.first().filter(|_| times.len() >= *most) {
                let wait = WINDOW.saturating_sub(now.duration_since(*first));
                if !is_operator || matches!(key, Key::Name(_)) {
                    return Err(wait);
                }
                attempt.wait = Some(wait);
            }
        }
        // The address is at its limit: an operator's attempt would only be taken back.
        keys.retain(|(key, _)| attempt.wait.is_none() || matches!(key, Key::Name(_)));
        for (key, _) in keys {
            if self.0.len() >= MOST && !self.0.contains_key(&key) {
                self.forget(now);
            }
            self.0.entry(key).or_default().push(now);
        }
        Ok(attempt)
    }

    fn forget(&mut self, now: Instant) {
        let fresh = |times: &Vec<Instant>| {
            times.last().is_some_and(|last| now.duration_since(*last) < WINDOW)
        };
        self.0.retain(|_, times| fresh(times));
        if self.0.len() >= MOST {
            let quiet = self.0.iter().min_by_key(|(_, times)| times.last().copied());
            if let Some(key) = quiet.map(|(key, _)| key.clone()) {
                self.0.remove(&key);
            }
        }
    }

    /// The attempt was right: it does not count.
    pub(super) fn right(&mut self, name: &str, address: IpAddr, attempt: Attempt) {
        let is_counted = |key: &Key| attempt.wait.is_none() || matches!(key, Key::Name(_));
        for (key, _) in keys(name, address).into_iter().filter(|(key, _)| is_counted(key)) {
            if let Some(times) = self.0.get_mut(&key) {
                times.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    #[test]
    fn names_and_addresses_have_their_bounds() {
        let mut limits = Limits::default();
        let now = Instant::now();
        let address = |n| IpAddr::V4(Ipv4Addr::new(10, 0, 0, n));
        for n in 0..MOST_OF_NAME {
            limits.attempt("anna", address(n as u8), false, now).unwrap();
        }
        let wait = limits.attempt("anna", address(99), false, now).unwrap_err();
        assert_eq!(wait, WINDOW);
        limits.attempt("berta", address(99), false, now).unwrap();
        limits.attempt("anna", address(99), false, now + WINDOW).unwrap();
        for n in 0..100 {
            let here = limits.attempt(&n.to_string(), address(100), false, now);
            assert_eq!(here.is_ok(), n < MOST_OF_ADDRESS, "{n}");
        }
    }

    #[test]
    fn who_is_right_may_go_on() {
        let mut limits = Limits::default();
        let (now, here) = (Instant::now(), IpAddr::V4(Ipv4Addr::LOCALHOST));
        for _ in 0..1000 {
            let attempt = limits.attempt("anna", here, false, now).unwrap();
            limits.right("anna", here, attempt);
        }
    }

    #[test]
    fn operators_get_in_where_others_guess() {
        let mut limits = Limits::default();
        let (now, here) = (Instant::now(), IpAddr::V4(Ipv4Addr::LOCALHOST));
        for n in 0..MOST_OF_ADDRESS {
            limits.attempt(&n.to_string(), here, false, now).unwrap();
        }
        let wait = limits.attempt("anna", here, false, now).unwrap_err();
        for _ in 0..100 {
            let attempt = limits.attempt("root", here, true, now).unwrap();
            assert_eq!(attempt.wait, Some(wait));
            limits.right("root", here, attempt);
            // Nor does it let others guess once more.
            limits.attempt("anna", here, false, now).unwrap_err();
        }
        // Who guesses at theirs is bound as anybody.
        for _ in 0..MOST_OF_NAME {
            limits.attempt("root", here, true, now).unwrap();
        }
        limits.attempt("root", here, true, now).unwrap_err();
    }

    #[test]
    fn tables_do_not_grow() {
        let mut limits = Limits::default();
        let now = Instant::now();
        for n in 0..3 * MOST as u128 {
            let address = IpAddr::V6(Ipv6Addr::from((n << 64) + 7));
            let _ = limits.attempt(&n.to_string(), address, false, now);
        }
        assert!(limits.0.len() <= MOST);
    }
}
