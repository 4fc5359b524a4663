//! Answers as bytes, and how many of them there are.
//!
//! Owns their form (JSON), the longest one, and the memory of all that are on their way: who reads
//! slowly holds what is not read yet. Each person has a part of it; some of it is operators' alone.
//! Answers are made where the store is asked, so that a long one keeps no other request waiting.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use talea_store::{Bounds, StoreError};

use crate::access::Person;
use crate::refusal::Refusal;

/// Longest answer to a query of Prometheus.
pub(crate) const LONGEST: usize = 32 << 20;
/// Answers of one person that are under way, all of users, and all.
const OF_ONE: usize = 64 << 20;
const OF_USERS: usize = 192 << 20;
const ALL: usize = 256 << 20;
/// Shorter ones are not counted: connections bound them.
const SHORT: usize = 64 << 10;

/// Answers under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    of_person: HashMap<String, usize>,
    of_users: usize,
    all: usize,
}

/// Bytes that are counted until they are gone.
struct Held {
    bytes: Vec<u8>,
    /// Their owner, the owner's role, and where they are counted; `None` for short ones.
    counted: Option<(Answers, String, bool)>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some((answers, name, is_operator)) = &self.counted {
            answers.inner().end(name, *is_operator, self.bytes.len());
        }
    }
}

/// An answer that is made.
pub(crate) struct Rendered(Held);

impl Inner {
    fn begin(&mut self, name: &str, is_operator: bool, bytes: usize) -> bool {
        let own = self.of_person.get(name).copied().unwrap_or(0);
        // One alone always has room: else a long one never had.
        let has_own = own == 0 || own + bytes <= OF_ONE;
        let has_room = if is_operator {
            self.all == 0 || self.all + bytes <= ALL
        } else {
            self.of_users == 0 || self.of_users + bytes <= OF_USERS
        };
        if !has_own || !has_room {
            return false;
        }
        *self.of_person.entry(name.to_owned()).or_default() += bytes;
        self.all += bytes;
        self.of_users += if is_operator { 0 } else { bytes };
        true
    }

    fn end(&mut self, name: &str, is_operator: bool, bytes: usize) {
        self.all = self.all.saturating_sub(bytes);
        self.of_users = self.of_users.saturating_sub(if is_operator { 0 } else { bytes });
        match self.of_person.get_mut(name) {
            Some(own) if *own > bytes => *own -= bytes,
            _ => drop(self.of_person.remove(name)),
        }
    }
}

impl Answers {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An answer to somebody, whose bytes are JSON.
    pub(crate) fn render(&self, person: &Person, mut bytes: Vec<u8>) -> Result<Rendered, Refusal> {
        bytes.shrink_to_fit();
        if bytes.len() <= SHORT {
            return Ok(Rendered(Held { bytes, counted: None }));
        }
        if !self.inner().begin(&person.name, person.operator, bytes.len()) {
            return Err(Refusal::busy("too many answers are not read yet"));
        }
        let counted = Some((self.clone(), person.name.clone(), person.operator));
        Ok(Rendered(Held { bytes, counted }))
    }

    /// The same of a value.
    pub(crate) fn json(
        &self,
        person: &Person,
        value: &impl Serialize,
    ) -> Result<Rendered, Refusal> {
        self.render(person, serde_json::to_vec(value).map_err(|_| Refusal::bug())?)
    }
}

impl IntoResponse for Rendered {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(Bytes::from_owner(self.0)));
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }
}

/// Bytes of an answer that is being made, within the bounds of its question.
pub(crate) struct Text<'a> {
    bytes: Vec<u8>,
    bounds: &'a Bounds,
    counted: usize,
}

impl<'a> Text<'a> {
    pub(crate) fn new(bounds: &'a Bounds) -> Self {
        Self { bytes: Vec::new(), bounds, counted: 0 }
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// A value as JSON has it.
    pub(crate) fn json<T: Serialize + ?Sized>(&mut self, value: &T) {
        // Numbers, texts and lists of them always have a form.
        let _ = serde_json::to_writer(&mut self.bytes, value);
    }

    /// Looks whether it may become longer; false where it is too long.
    pub(crate) fn look(&mut self) -> Result<bool, StoreError> {
        self.bounds.check()?;
        self.bounds.take(self.bytes.len() - self.counted)?;
        self.counted = self.bytes.len();
        Ok(self.counted <= LONGEST)
    }

    pub(crate) fn done(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(name: &str, operator: bool) -> Person {
        Person { name: name.to_owned(), uid: 1, operator }
    }

    #[test]
    fn answers_that_nobody_reads_are_bounded() {
        let answers = Answers::default();
        let take =
            |name: &str, operator| answers.render(&person(name, operator), vec![b' '; LONGEST]);
        let mut held = Vec::new();
        for name in ["a", "b", "c", "d"] {
            held.extend((0..5).map_while(|_| take(name, false).ok()));
        }
        // Two of each of three; no more of all users.
        assert_eq!(held.len(), 6);
        assert_eq!(take("a", false).err().map(|refusal| refusal.status.as_u16()), Some(503));
        held.extend((0..5).map_while(|_| take("root", true).ok()));
        assert_eq!(held.len(), 8);
        // What is short needs no room.
        assert!(answers.render(&person("a", false), vec![0; SHORT]).is_ok());
        let response = held.remove(0).into_response();
        assert!(take("d", false).is_err());
        drop(response);
        assert!(take("d", false).is_ok());
        held.clear();
        let inner = answers.inner();
        assert_eq!((inner.all, inner.of_users, inner.of_person.len()), (0, 0, 0));
    }
}
