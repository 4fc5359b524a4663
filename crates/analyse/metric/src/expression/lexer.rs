//! Text of an expression to tokens with their bytes.
//!
//! Owns the rules for names and numbers, which the module above documents.

use std::ops::Range;

use super::token::{Token, in_name};
use super::{ExpressionError, LONGEST_NAME, Wrong, event};
use crate::catalogue;

pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Range<usize>)>, ExpressionError> {
    let mut found: Vec<(Token, Range<usize>)> = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let wrong = |length: usize, wrong| ExpressionError { span: at..at + length, wrong };
        let after_dot = rest.as_bytes().get(1);
        let (token, length) = match first {
            '+' | '-' | '*' | '/' | '%' | '^' | '(' | ')' | ',' => (Token::Sign(first), 1),
            '<' | '>' | '&' | '|' | '=' | '!' => {
                comparison(rest).ok_or_else(|| wrong(1, Wrong::Character(first)))?
            }
            '#' if after_dot.is_some_and(|&c| in_name(c)) => {
                let length = 1 + rest[1..].bytes().take_while(|&c| in_name(c)).count();
                let name = rest[..length].to_ascii_lowercase();
                (Token::Name { name, quoted: true }, length)
            }
            '0'..='9' => number(rest).map_err(|(length, what)| wrong(length, what))?,
            '.' if after_dot.is_some_and(u8::is_ascii_digit) => {
                number(rest).map_err(|(length, what)| wrong(length, what))?
            }
            '$' => {
                let digits = digits(&rest[1..]);
                let member = rest[1..=digits].parse();
                let member = member
                    .map_err(|_| wrong(digits + 1, Wrong::Number(shown(&rest[..=digits]))))?;
                (Token::Member(member), digits + 1)
            }
            '"' => {
                let end = rest[1..].find(|c: char| c == '"' || c.is_control());
                let end = end.filter(|&end| rest[1 + end..].starts_with('"'));
                let end = end.ok_or_else(|| wrong(1, Wrong::UnclosedQuote))?;
                (Token::Name { name: rest[1..=end].to_owned(), quoted: true }, end + 2)
            }
            _ if starts_name(first) => {
                let (name, length) = event::name(rest);
                match &*name {
                    "if" => (Token::If, length),
                    "else" => (Token::Else, length),
                    _ => (Token::Name { name, quoted: false }, length),
                }
            }
            _ => return Err(wrong(first.len_utf8(), Wrong::Character(first))),
        };
        if let Token::Name { name, .. } = &token
            && !(1..=LONGEST_NAME).contains(&name.len())
        {
            return Err(wrong(length, Wrong::NameLength(name.len())));
        }
        found.push((token, at..at + length));
        at += length;
    }
    Ok(event::called(joined(found), text))
}

/// A comparison or a logical sign and its length; `None` for a single `=` or `!`.
fn comparison(text: &str) -> Option<(Token, usize)> {
    let bytes = text.as_bytes();
    let (sign, length) = match (bytes.first()?, bytes.get(1)) {
        (b'<', Some(b'=')) => ('≤', 2),
        (b'>', Some(b'=')) => ('≥', 2),
        (b'=', Some(b'=')) => ('=', 2),
        (b'!', Some(b'=')) => ('≠', 2),
        (b'&', Some(b'&')) => ('&', 2),
        (b'|', Some(b'|')) => ('|', 2),
        (&sign @ (b'<' | b'>' | b'&' | b'|'), _) => (sign as char, 1),
        _ => return None,
    };
    Some((Token::Sign(sign), length))
}

fn starts_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// The beginning of a text, for messages.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

/// A number and its length, or the length of an invalid one.
fn number(text: &str) -> Result<(Token, usize), (usize, Wrong)> {
    let bytes = text.as_bytes();
    if let [b'0', b'x' | b'X', ..] = bytes {
        let length = 2 + text[2..].bytes().take_while(|&c| in_name(c)).count();
        // 53 bits are exact; more would be another number.
        let value = u64::from_str_radix(&text[2..length], 16).ok().filter(|&n| n >> 53 == 0);
        let value = value.ok_or_else(|| (length, Wrong::Number(shown(&text[..length]))))?;
        return Ok((Token::Number(value as f64), length));
    }
    let mut end = digits(text);
    if bytes.get(end) == Some(&b'.') {
        end += 1 + digits(&text[end + 1..]);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(&text[end + 1 + sign..]);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let (factor, suffix) = match bytes.get(end) {
        Some(b'k') => (1e3, 1),
        Some(b'M') => (1e6, 1),
        Some(b'G') => (1e9, 1),
        Some(b'T') => (1e12, 1),
        _ => (1.0, 0),
    };
    let beyond = text.bytes().skip(end + suffix).take_while(|&c| in_name(c) || c == b'.').count();
    let whole = end + suffix + beyond;
    let value = text[..end].parse::<f64>().map_or(f64::NAN, |value| value * factor);
    if beyond > 0 || !value.is_finite() {
        return Err((whole, Wrong::Number(shown(&text[..whole]))));
    }
    Ok((Token::Number(value), whole))
}

/// Joins words that are one name of the catalogue when `_` stands between them.
fn joined(tokens: Vec<(Token, Range<usize>)>) -> Vec<(Token, Range<usize>)> {
    let word = |token: &Token| matches!(token, Token::Name { quoted: false, .. });
    let mut result: Vec<(Token, Range<usize>)> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.into_iter().peekable();
    while let Some((token, span)) = rest.next() {
        let mut run = vec![(token, span)];
        if word(&run[0].0) {
            while let Some(next) = rest.next_if(|(token, _)| word(token)) {
                run.push(next);
            }
        }
        let words = run.iter().filter_map(|(token, _)| match token {
            Token::Name { name, .. } => Some(name.as_str()),
            _ => None,
        });
        // A catalogue's name has few words; a long run need not be looked up.
        let name = if (2..=8).contains(&run.len()) {
            Some(words.collect::<Vec<_>>().join("_")).filter(|name| catalogue::spec(name).is_some())
        } else {
            None
        };
        match name {
            Some(name) => {
                let span = run[0].1.start..run[run.len() - 1].1.end;
                result.push((Token::Name { name, quoted: false }, span));
            }
            None => result.append(&mut run),
        }
    }
    result
}
