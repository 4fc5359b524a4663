//! Log of the server on standard error: a line for each event that may be needed later, never one
//! for each request.
//!
//! Owns the form: time, word, then `key="value"`. Values come from outside: they are quoted and
//! cannot break a line. And how often lines are written that others can cause: a store that fails,
//! a node that is refused, passwords that are guessed.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use talea_model::text::without_hidden;

/// Causes that are distinguished at a time; all others count as one.
const MOST_CAUSES: usize = 4096;
/// The one that stands for them.
const OTHERS: &str = "";

/// One line.
pub(crate) fn line(what: &str, values: &[(&str, &str)]) {
    // Nothing can be printed when standard error is closed.
    let _ = std::io::stderr().write_all(text(what, values).as_bytes());
}

fn text(what: &str, values: &[(&str, &str)]) -> String {
    let mut text = format!("{} talea serve: {what}", jiff::Timestamp::now().strftime("%FT%T%.3fZ"));
    for (key, value) in values {
        let short: String = value.chars().take(500).collect();
        let _ = write!(text, " {key}={}", without_hidden(&format!("{short:?}")));
    }
    text.push('\n');
    text
}

/// Lines of one kind: so many of a cause in a window of time.
#[derive(Debug)]
pub(crate) struct Seldom {
    most: u32,
    window: Duration,
    causes: Mutex<HashMap<String, Cause>>,
}

#[derive(Debug)]
struct Cause {
    since: Instant,
    said: u32,
    unsaid: u64,
}

impl Seldom {
    pub(crate) fn new(most: u32, window: Duration) -> Self {
        Self { most, window, causes: Mutex::default() }
    }

    /// Writes a line, unless as many of its cause were written in the window. The first one after
    /// such a time says how many were not.
    pub(crate) fn line(&self, cause: &str, what: &str, values: &[(&str, &str)]) {
        match self.turn(cause, Instant::now()) {
            None => {}
            Some(0) => line(what, values),
            Some(unsaid) => {
                let unsaid = unsaid.to_string();
                line(what, &[values, &[("not_said_before", unsaid.as_str())]].concat());
            }
        }
    }

    /// Everything is new again.
    pub(crate) fn clear(&self) {
        self.causes.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// How many were not said before, if it is to be said now.
    fn turn(&self, cause: &str, now: Instant) -> Option<u64> {
        let mut causes = self.causes.lock().unwrap_or_else(PoisonError::into_inner);
        let cause = if causes.len() < MOST_CAUSES || causes.contains_key(cause) {
            cause
        } else {
            causes.retain(|_, cause| now.duration_since(cause.since) < self.window);
            if causes.len() < MOST_CAUSES { cause } else { OTHERS }
        };
        let new = || Cause { since: now, said: 0, unsaid: 0 };
        let known = causes.entry(cause.to_owned()).or_insert_with(new);
        let unsaid = known.unsaid;
        if now.duration_since(known.since) >= self.window {
            *known = new();
        }
        if known.said >= self.most {
            known.unsaid = unsaid.saturating_add(1);
            return None;
        }
        known.said += 1;
        known.unsaid = 0;
        Some(unsaid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_break_no_line_and_end_no_value() {
        let line =
            text("login failed", &[("from", "::1"), ("user", "a\" from=\"b\n\u{202e}\u{3164}")]);
        assert_eq!(line.lines().count(), 1);
        assert!(line.ends_with(
            " talea serve: login failed from=\"::1\" user=\"a\\\" from=\\\"b\\n\\u{202e}\u{fffd}\"\n"
        ));
    }

    #[test]
    fn what_repeats_is_said_now_and_then() {
        let window = Duration::from_mins(1);
        let (seldom, begin) = (Seldom::new(2, window), Instant::now());
        let turns = |cause: &str, at: Duration| seldom.turn(cause, begin + at);
        let none = Duration::ZERO;
        assert_eq!([(); 5].map(|()| turns("a", none)), [Some(0), Some(0), None, None, None]);
        assert_eq!(turns("b", none), Some(0));
        assert_eq!([(); 3].map(|()| turns("a", window)), [Some(3), Some(0), None]);
        seldom.clear();
        assert_eq!(turns("a", window), Some(0));
        for cause in 0..3 * MOST_CAUSES {
            turns(&cause.to_string(), window);
        }
        assert!(seldom.causes.lock().unwrap().len() <= MOST_CAUSES + 1);
        // What is forgotten after a while makes room.
        assert_eq!(turns("c", window * 3), Some(0));
    }
}
