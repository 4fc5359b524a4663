//! Sessions of browsers.
//!
//! Owns the secrets of cookies, in memory only: after a restart everybody logs in again. Their
//! number is bounded, of one user and of all; the oldest ones go.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::tokens::{hash, random};
use super::{AccessError, users::User};

/// How long somebody stays logged in.
pub(crate) const LASTS: Duration = Duration::from_hours(12);
const MOST: usize = 10_000;
const MOST_OF_ONE: usize = 50;

#[derive(Debug)]
struct Session {
    name: String,
    /// Of the password that it was begun with: another password ends it.
    password: String,
    begun: Instant,
}

/// All sessions, by the hash of their secrets.
#[derive(Debug, Default)]
pub(super) struct Sessions(HashMap<[u8; 32], Session>);

impl Sessions {
    /// Begins one; gives its secret.
    pub(super) fn begin(&mut self, user: &User, now: Instant) -> Result<String, AccessError> {
        self.0.retain(|_, session| now.duration_since(session.begun) < LASTS);
        let of_user = |session: &Session| session.name == user.name;
        if self.0.values().filter(|session| of_user(session)).count() >= MOST_OF_ONE {
            self.remove_oldest(of_user);
        }
        if self.0.len() >= MOST {
            self.remove_oldest(|_| true);
        }
        let secret = random()?;
        let session = Session { name: user.name.clone(), password: user.hash.clone(), begun: now };
        self.0.insert(hash(&secret), session);
        Ok(secret)
    }

    fn remove_oldest(&mut self, which: impl Fn(&Session) -> bool) {
        let of_these = self.0.iter().filter(|(_, session)| which(session));
        if let Some(oldest) = of_these.min_by_key(|(_, session)| session.begun).map(|(id, _)| *id) {
            self.0.remove(&oldest);
        }
    }

    /// Name and password's hash of who began it.
    pub(super) fn find(&self, secret: &str, now: Instant) -> Option<(&str, &str)> {
        let session = self.0.get(&hash(secret))?;
        let fresh = now.duration_since(session.begun) < LASTS;
        fresh.then_some((session.name.as_str(), session.password.as_str()))
    }

    pub(super) fn end(&mut self, secret: &str) {
        self.0.remove(&hash(secret));
    }
}

#[cfg(test)]
mod tests {
    use super::super::users::Role;
    use super::*;

    #[test]
    fn sessions_end() {
        let user = User { name: "a".to_owned(), uid: 1, role: Role::User, hash: "h".to_owned() };
        let mut sessions = Sessions::default();
        let begin = Instant::now();
        let first = sessions.begin(&user, begin).unwrap();
        assert_eq!(sessions.find(&first, begin), Some(("a", "h")));
        assert_eq!(sessions.find(&first, begin + LASTS), None);
        assert_eq!(sessions.find("", begin), None);
        for n in 1..=MOST_OF_ONE as u64 {
            sessions.begin(&user, begin + Duration::from_secs(n)).unwrap();
        }
        assert_eq!(sessions.0.len(), MOST_OF_ONE);
        assert_eq!(sessions.find(&first, begin), None, "the oldest one goes");
        let last = sessions.begin(&user, begin + Duration::from_mins(5)).unwrap();
        sessions.end(&last);
        assert_eq!(sessions.find(&last, begin + Duration::from_mins(5)), None);
        sessions.begin(&user, begin + LASTS * 2).unwrap();
        assert_eq!(sessions.0.len(), 1, "old ones are forgotten");
    }
}
