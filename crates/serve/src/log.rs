//! What the server says on standard error: a line for each thing that somebody may want to know later, never one for each request.
//!
//! Owns the form: time, word, then `key="value"`. Values come from outside: they are quoted and cannot break a line.

use std::fmt::Write as _;
use std::io::Write as _;

/// One line.
pub(crate) fn line(what: &str, values: &[(&str, &str)]) {
    let mut text = format!("{} talea serve: {what}", jiff::Timestamp::now().strftime("%FT%T%.3fZ"));
    for (key, value) in values {
        let short: String = value.chars().take(500).collect();
        let _ = write!(text, " {key}={short:?}");
    }
    text.push('\n');
    // Nobody is left to be told that standard error is gone.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
