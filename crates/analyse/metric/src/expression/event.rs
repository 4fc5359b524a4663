//! Names of events inside expressions, in Linux' notation.
//!
//! Owns the signs of names besides letters: `\\` before any character, and the terms of an event of
//! a PMU between `@` or, where a `=` is among them, between `/` (tools/perf/util/expr.l); and the
//! functions whose argument is a name. It refuses recursion.

use std::ops::Range;

use super::token::{Token, bare, in_name};

/// The name that begins the text, unescaped, and its length in the text.
pub(super) fn name(text: &str) -> (String, usize) {
    let mut end = bare(text);
    let mut name = text[..end].to_owned();
    let bytes = text.as_bytes();
    loop {
        match bytes.get(end) {
            Some(b'\\') if bytes.get(end + 1).is_some_and(|&c| literal(c)) => {
                name.push(bytes[end + 1] as char);
                end += 2;
            }
            Some(&sign @ (b'@' | b'/')) => {
                let Some(length) = terms(&text[end + 1..], sign) else { return (name, end) };
                name.push('/');
                name.extend(unescaped(&text[end + 1..end + 1 + length]));
                name.push('/');
                end += length + 2;
            }
            // After an escape or terms the name continues.
            Some(&c) if in_name(c) => {
                name.push(c as char);
                end += 1;
            }
            Some(&c @ (b'.' | b':')) if bytes.get(end + 1).is_some_and(|&c| in_name(c)) => {
                name.push(c as char);
                end += 1;
            }
            _ => return (name, end),
        }
    }
}

fn literal(c: u8) -> bool {
    c.is_ascii_graphic() && c != b'"'
}

/// Length of the terms up to their closing sign; `None` where these are no terms.
fn terms(text: &str, sign: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut equals = false;
    while let Some(&c) = bytes.get(at) {
        match c {
            // Divisions have no single `=` between them.
            _ if c == sign => return (at > 0 && (sign == b'@' || equals)).then_some(at),
            b'\\' if bytes.get(at + 1).is_some_and(|&c| literal(c)) => at += 1,
            b'=' if sign == b'/' && bytes.get(at + 1) == Some(&b'=') => return None,
            b'=' => equals = true,
            b',' | b'.' | b':' | b'-' | b'?' | b'_' => {}
            _ if c.is_ascii_alphanumeric() => {}
            _ if sign == b'@' && literal(c) && !matches!(c, b'(' | b')') => {}
            _ => return None,
        }
        at += 1;
    }
    None
}

fn unescaped(terms: &str) -> impl Iterator<Item = char> + '_ {
    let mut rest = terms.chars();
    std::iter::from_fn(move || match rest.next()? {
        '\\' => rest.next(),
        c => Some(c),
    })
}

/// Joins functions of a name with the contents of their parentheses.
pub(super) fn called(tokens: Vec<(Token, Range<usize>)>, text: &str) -> Vec<(Token, Range<usize>)> {
    let mut result: Vec<(Token, Range<usize>)> = Vec::with_capacity(tokens.len());
    for (token, span) in tokens {
        result.push((token, span.clone()));
        let function = match &result[..] {
            [
                ..,
                (Token::Name { name, quoted: false }, from),
                (Token::Sign('('), _),
                argument,
                (Token::Sign(')'), _),
            ] => {
                let number = name == "strcmp_cpuid_str";
                match (&**name, &argument.0) {
                    ("has_event", Token::Name { name, .. }) => {
                        Some((Token::Has(name.clone()), from.start..span.end))
                    }
                    ("source_count", Token::Name { name: of, .. }) => {
                        let name = format!("source_count({of})");
                        Some((Token::Name { name, quoted: true }, from.start..span.end))
                    }
                    (_, Token::Number(_)) if number => {
                        let name = format!("{name}({})", text[argument.1.clone()].to_lowercase());
                        Some((Token::Name { name, quoted: true }, from.start..span.end))
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        if let Some(function) = function {
            result.truncate(result.len() - 4);
            result.push(function);
        }
    }
    result
}
