//! Names in the language of Prometheus: labels' values, `PromQL`'s literals, patterns as regular
//! expressions.
//!
//! Owns the one place where text from outside becomes part of a query. Names of metrics and labels
//! are this crate's alone; what users name is a label's value. An empty label is a missing one
//! there, so that an empty name is written `\`, and one that begins with `\` gets one more.

use std::fmt::Write as _;

use crate::arrival::cut;
use crate::question::Text;

/// A name as a label's value; never empty.
pub(super) fn value(name: &str) -> String {
    let name = cut(name);
    if name.is_empty() || name.starts_with('\\') { format!("\\{name}") } else { name.to_owned() }
}

/// The name of a label's value.
pub(super) fn name(value: &str) -> &str {
    value.strip_prefix('\\').unwrap_or(value)
}

/// Text as a string of `PromQL`, quotes included.
pub(super) fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            // Characters that end lines or cannot be seen are written as numbers.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The matcher of a label for the names that a text asks for.
pub(super) fn matcher(label: &str, text: &Text) -> String {
    match text {
        Text::Is(name) => format!("{label}={}", literal(&value(name))),
        Text::Like(pattern) => format!("{label}=~{}", literal(&regex(pattern))),
    }
}

/// The matcher of a label for any of these values, the empty one for a missing label.
pub(super) fn any_of<'a>(label: &str, values: impl Iterator<Item = &'a str>) -> String {
    let values: Vec<String> = values.map(quoted).collect();
    format!("{label}=~{}", literal(&format!("(?s:{})", values.join("|"))))
}

/// A regular expression of RE2, anchored by the server, for values whose names are like the
/// pattern. It never matches a missing label.
fn regex(pattern: &str) -> String {
    let mut parts: Vec<char> = Vec::new();
    for c in pattern.chars() {
        if c != '*' || parts.last() != Some(&'*') {
            parts.push(c);
        }
    }
    // Values that begin with `\` are such names, or the empty one, behind one more.
    let behind = format!("\\\\{}", pieces(&parts));
    let as_is = match parts.as_slice() {
        [] => None,
        ['*'] => Some("[^\\\\].*".to_owned()),
        // Either the star takes something, whose first is no `\`, or what is behind it begins.
        ['*', rest @ ..] => {
            let some = format!("[^\\\\].*{}", pieces(rest));
            Some(first_is_none(rest).map_or(some.clone(), |none| format!("{some}|{none}")))
        }
        rest => first_is_none(rest),
    };
    let all = as_is.map_or(behind.clone(), |as_is| format!("{as_is}|{behind}"));
    format!("(?s:{all})")
}

/// Parts that begin with no star, for values that do not begin with `\`.
fn first_is_none(parts: &[char]) -> Option<String> {
    match parts {
        ['\\', ..] | [] => None,
        ['?', rest @ ..] => Some(format!("[^\\\\]{}", pieces(rest))),
        parts => Some(pieces(parts)),
    }
}

/// A regular expression of one text.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn pieces(parts: &[char]) -> String {
    let mut out = String::new();
    for &c in parts {
        match c {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            c if c.is_ascii_punctuation() => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What Go and `PromQL` make of a literal.
    fn read(literal: &str) -> Option<String> {
        let mut chars = literal.strip_prefix('"')?.strip_suffix('"')?.chars();
        let mut out = String::new();
        while let Some(c) = chars.next() {
            match c {
                '"' => return None,
                '\\' => match chars.next()? {
                    'n' => out.push('\n'),
                    'u' => {
                        let digits: String = chars.by_ref().take(4).collect();
                        out.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                    }
                    c @ ('"' | '\\') => out.push(c),
                    _ => return None,
                },
                c if c.is_control() => return None,
                c => out.push(c),
            }
        }
        Some(out)
    }

    proptest! {
        #[test]
        fn literals_come_back(text in any::<String>()) {
            prop_assert_eq!(read(&literal(&text)), Some(text));
        }

        #[test]
        fn names_come_back_and_are_never_empty(text in "[\\\\a\"é]{0,4}") {
            let value = value(&text);
            prop_assert!(!value.is_empty());
            prop_assert_eq!(name(&value), text);
        }
    }

    #[test]
    fn patterns() {
        insta::assert_snapshot!(
            ["", "*", "**", "?", "*/lmp", "*?", "a.b*", "\\*", "*\\d"].map(regex).join("\n")
        );
    }
}
