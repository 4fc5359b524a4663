//! Words of an expression, and the characters of names.
//!
//! Owns what a name without quotes may consist of. It refuses the order of tokens.

use crate::catalogue;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(f64),
    /// A counter, or a function before `(`; quoted names are never functions.
    Name {
        name: String,
        quoted: bool,
    },
    Member(usize),
    /// `has_event(...)` of this counter.
    Has(String),
    If,
    Else,
    /// One of `+ - * / % ( ) , < > & | ^`, and `≤ ≥ = ≠` for the comparisons of two characters.
    Sign(char),
}

impl Token {
    /// Description for messages.
    pub(super) fn describe(&self, text: &str) -> String {
        match self {
            Self::Number(_) => format!("the number `{text}`"),
            Self::Name { .. } | Self::Member(_) | Self::Has(_) | Self::If | Self::Else => {
                format!("`{}`", text.trim_matches('"'))
            }
            Self::Sign(_) => format!("`{text}`"),
        }
    }
}

pub(super) fn in_name(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_'
}

/// Length of the name without quotes that begins here.
pub(super) fn bare(text: &str) -> usize {
    let bytes = text.as_bytes();
    let continues = |mut at: usize| {
        // Signs belong to the name only if it continues after them.
        while matches!(bytes.get(at), Some(b'.' | b':' | b'=')) {
            at += 1;
        }
        bytes.get(at).is_some_and(|&c| in_name(c))
    };
    let mut end = catalogue::hyphenated_prefix(text).map_or(0, str::len);
    let mut colon = false;
    while let Some(&c) = bytes.get(end) {
        match c {
            b':' if continues(end) => colon = true,
            // Each device: `net:*:rx_bytes`. No name ends in a colon, so that this is no product.
            b':' if bytes[end..].starts_with(b":*:")
                && (continues(end + 2) || bytes[end + 2..].starts_with(b":*:")) =>
            {
                colon = true;
                end += 1;
            }
            b'.' if continues(end) => {}
            b'=' if colon && continues(end) => {}
            _ if in_name(c) => {}
            _ => break,
        }
        end += 1;
    }
    end
}
