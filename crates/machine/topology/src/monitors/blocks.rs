//! A text of monitors to blocks of fields.
//!
//! Owns comments, names, braces, separators and keys; and the recovery after a mistake. It refuses
//! meaning: values stay bytes of the text.

use std::ops::Range;

use super::LONGEST_TEXT;
use super::mistakes::Mistakes;

/// Key of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Obj,
    Ctr,
    Evset,
    Reduction,
    Agg,
    When,
    Per,
    Min,
    Max,
    Logscale,
    Unit,
    Accumulate,
    Window,
    Silent,
    PerfLib,
}

pub(super) const KEYS: [(&str, Key); 16] = [
    ("OBJ", Key::Obj),
    ("CTR", Key::Ctr),
    ("EVSET", Key::Evset),
    ("REDUCTION", Key::Reduction),
    ("EVSET_REDUCE", Key::Reduction),
    ("AGG", Key::Agg),
    ("WHEN", Key::When),
    ("PER", Key::Per),
    ("MIN", Key::Min),
    ("MAX", Key::Max),
    ("LOGSCALE", Key::Logscale),
    ("UNIT", Key::Unit),
    ("ACCUMULATE", Key::Accumulate),
    ("WINDOW", Key::Window),
    ("SILENT", Key::Silent),
    ("PERF_LIB", Key::PerfLib),
];

/// A monitor's name and fields.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) name: String,
    pub(super) name_span: Range<usize>,
    pub(super) fields: Vec<Field>,
}

/// A key and the place of its value.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) key: Key,
    pub(super) key_span: Range<usize>,
    pub(super) value: Range<usize>,
}

impl Block {
    pub(super) fn field(&self, key: Key) -> Option<&Field> {
        self.fields.iter().find(|field| field.key == key)
    }
}

/// The text with comments blanked, so that all places are kept, and its blocks.
pub(super) fn blocks(text: &str, mistakes: &mut Mistakes) -> (String, Vec<Block>) {
    if text.len() > LONGEST_TEXT {
        let message =
            format!("expected at most {LONGEST_TEXT} bytes of monitors, found {}", text.len());
        mistakes.note(0..0, message);
        return (String::new(), Vec::new());
    }
    let text = without_comments(text);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = find(&text, at, b"{}") {
        let name_span = trimmed(&text, at..open);
        if text.as_bytes()[open] == b'}' {
            mistakes.note(open..open + 1, "expected `{` before this `}`");
            at = open + 1;
            continue;
        }
        let close = find(&text, open + 1, b"{}");
        // An unclosed block ends before the line of the next one's brace.
        let (end, next) = match close {
            Some(close) if text.as_bytes()[close] == b'}' => (close, close + 1),
            other => {
                mistakes.note(open..open + 1, "expected `}` for this `{`");
                let stop = other.unwrap_or(text.len());
                let line = text[open + 1..stop].rfind([';', '\n']);
                let stop = line.map_or(stop, |line| open + 2 + line);
                (stop, stop)
            }
        };
        let name = name(&text, &name_span, open, mistakes);
        let fields = fields(&text, open + 1..end, mistakes);
        if let Some(name) = name {
            found.push(Block { name, name_span, fields });
        }
        at = next;
    }
    let rest = trimmed(&text, at..text.len());
    if !rest.is_empty() {
        mistakes.note(rest, "expected `NAME{ OBJ = ...; CTR = ...; }`");
    }
    (text, found)
}

/// Blanks comments. Quotes end with the line.
fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let (mut at, mut quoted) = (0, false);
    // The begin of the field, and the last byte that is not blank.
    let (mut field, mut before) = (0, b'\n');
    while at < bytes.len() {
        let c = bytes[at];
        // `5#function` in a reduction gives the number of outputs.
        let outputs = c == b'#'
            && at > 0
            && bytes[at - 1].is_ascii_digit()
            && bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic)
            && text[field..at].contains("REDUC");
        let comment = match c {
            b'#' => !outputs,
            b'/' => bytes.get(at + 1) == Some(&b'/'),
            b'%' => matches!(before, b'\n' | b';' | b'{' | b'}'),
            _ => false,
        };
        if comment && !quoted {
            let end = bytes[at..].iter().position(|&c| c == b'\n').map_or(bytes.len(), |n| at + n);
            bytes[at..end].fill(b' ');
            at = end;
            continue;
        }
        match c {
            b'"' => quoted = !quoted,
            b'\n' => quoted = false,
            b';' | b'{' | b'}' if !quoted => field = at + 1,
            _ => {}
        }
        if c == b'\n' || !c.is_ascii_whitespace() {
            before = c;
        }
        at += 1;
    }
    // Whole characters were blanked, as comments begin and end at ASCII.
    String::from_utf8(bytes).unwrap_or_default()
}

/// The next of these signs outside quotes.
fn find(text: &str, from: usize, signs: &[u8]) -> Option<usize> {
    let mut quoted = false;
    for (at, c) in text.bytes().enumerate().skip(from) {
        match c {
            b'"' => quoted = !quoted,
            b'\n' => quoted = false,
            _ if !quoted && signs.contains(&c) => return Some(at),
            _ => {}
        }
    }
    None
}

pub(super) fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let part = &text[span.clone()];
    let start = span.start + part.len() - part.trim_start().len();
    start..start + part.trim().len()
}

/// The name with `_` for blanks.
fn name(text: &str, span: &Range<usize>, open: usize, mistakes: &mut Mistakes) -> Option<String> {
    let words: Vec<&str> = text[span.clone()].split_whitespace().collect();
    let name = words.join("_");
    let fits = |c: char| c.is_alphanumeric() || "_-.:".contains(c);
    if name.is_empty() {
        mistakes.note(open..open + 1, "expected a monitor's name before `{`");
        return None;
    }
    if !name.chars().all(fits) || name.len() > 200 {
        let message = "expected a monitor's name of letters, digits, `_ - . :`, 200 bytes at most";
        mistakes.note(span.clone(), message);
        return None;
    }
    Some(name)
}

/// The fields of a block.
fn fields(text: &str, span: Range<usize>, mistakes: &mut Mistakes) -> Vec<Field> {
    let mut found: Vec<Field> = Vec::new();
    let (mut at, mut end) = (span.start, span.start);
    let body = &text[..span.end];
    while at < span.end {
        if at >= end {
            end = find(body, at, b";").unwrap_or(span.end);
        }
        let part = trimmed(text, at..end);
        at = end + 1;
        if part.is_empty() {
            continue;
        }
        let Some((key_span, mut value)) = key_and_value(text, &part) else {
            mistakes.note(part, "expected `KEY = value;`");
            continue;
        };
        // A key in the middle of a value: the `;` before it is missing. The rest is read as its own
        // field.
        if let Some(next) = inner_key(text, &value) {
            value = trimmed(text, value.start..next);
            mistakes.note(value.end..value.end, "expected `;`");
            at = next;
        }
        let word = &text[key_span.clone()];
        let Some(key) = KEYS.iter().find(|key| key.0.eq_ignore_ascii_case(word)) else {
            unknown_key(word, key_span, mistakes);
            continue;
        };
        if value.is_empty() {
            mistakes.note(key_span, format!("expected a value of `{}`", key.0));
        } else if found.iter().any(|field| field.key == key.1) {
            mistakes.note(key_span, format!("expected `{}` once", key.0));
        } else {
            found.push(Field { key: key.1, key_span, value });
        }
    }
    found
}

fn key_and_value(text: &str, part: &Range<usize>) -> Option<(Range<usize>, Range<usize>)> {
    let equals = part.start + text[part.clone()].find('=')?;
    let colon = usize::from(text[part.start..equals].ends_with(':'));
    let key = trimmed(text, part.start..equals - colon);
    Some((key, trimmed(text, equals + 1..part.end)))
}

/// Place in a value of a word that is a key and stands before `=`.
fn inner_key(text: &str, value: &Range<usize>) -> Option<usize> {
    let mut from = value.start;
    while let Some(equals) = find(&text[..value.end], from, b"=") {
        let before = text[from..equals].trim_end_matches(':').trim_end();
        // Keys are letters and `_`; only these need to be examined.
        let in_key = |c: &u8| c.is_ascii_alphabetic() || *c == b'_';
        let length = before.bytes().rev().take(16).take_while(in_key).count();
        let (rest, word) = before.split_at(before.len() - length);
        let known = KEYS.iter().any(|key| key.0.eq_ignore_ascii_case(word));
        if known && rest.ends_with(|c: char| c.is_ascii_whitespace()) {
            return Some(from + rest.len());
        }
        from = equals + 1;
    }
    None
}

fn unknown_key(word: &str, span: Range<usize>, mistakes: &mut Mistakes) {
    let upper = word.to_uppercase();
    let help = match upper.as_str() {
        "N_SAMPLE" | "N_SAMPLES" => {
            Some("`WINDOW` says over how many frames counters are averaged".into())
        }
        "SAMPLES_REDUCE" | "SAMPLE_REDUCE" => {
            Some("write an expression as `REDUCTION`, or `AGG`".into())
        }
        _ => talea_metric::suggest(&upper, KEYS.iter().map(|key| key.0))
            .map(|near| format!("did you mean `{near}`?")),
    };
    let shown: String = word.chars().take(40).collect();
    mistakes.note_with(span, format!("expected a key such as OBJ or CTR, found `{shown}`"), help);
}
