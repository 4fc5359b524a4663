//! Common parts of the readers of metrics: items with their lines, expressions, texts.
//!
//! Owns the iteration over the items of JSON with the line of each, so that a mistake in one costs
//! that one only, and a file that was cut keeps the items before the cut. It refuses the
//! distinction of the kinds of files ([`crate::models`]).

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use talea_metric::expression::Expression;
use talea_metric::model::Problem;
use talea_metric::{Definition, Model};

/// Errors of files without metrics.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Another kind of file.
    #[error(
        "expected metrics of Intel's perfmon, of Linux' pmu-events or a group of LIKWID, found {0}"
    )]
    Unknown(&'static str),
    /// JSON that has no metric before its error.
    #[error("line {line}: expected JSON with metrics: {what}")]
    Json {
        /// Line number, from 1.
        line: u64,
        /// Message of the parser.
        what: String,
    },
}

/// The bytes as text; invalid ones become the replacement character.
pub(crate) fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
}

/// A part of a file, and its first line.
pub(crate) type Placed<'a> = (u64, &'a RawValue);

/// The items of a file of metrics with their lines, and the errors after the last.
pub(crate) fn items(text: &str) -> Result<(Vec<Placed<'_>>, Vec<Problem>), ModelError> {
    let mut items: Vec<&RawValue> = Vec::new();
    let mut problems = Vec::new();
    if let Err(error) = walk(text, &mut items) {
        let ModelError::Json { line, what } = &error else { return Err(error) };
        if items.is_empty() {
            return Err(error);
        }
        let what = format!("what follows the {} items before is not read: {what}", items.len());
        problems.push(Problem { line: *line, what });
    }
    let mut lines = Lines { text, at: 0, line: 1 };
    let placed = items.into_iter().map(|item| (lines.of(item.get()), item)).collect();
    Ok((placed, problems))
}

pub(crate) fn walk<'a>(text: &'a str, items: &mut Vec<&'a RawValue>) -> Result<(), ModelError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = Items(items).deserialize(&mut json).and_then(|()| json.end());
    read.map_err(|error| ModelError::Json { line: error.line() as u64, what: error.to_string() })
}

/// Lines of parts of a text that come in order.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: u64,
}

impl Lines<'_> {
    fn of(&mut self, part: &str) -> u64 {
        let at = part.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        if let Some(between) = self.text.as_bytes().get(self.at..at) {
            self.line += memchr::memchr_iter(b'\n', between).count() as u64;
            self.at = at;
        }
        self.line
    }
}

/// The items of an array, or of the array under `Metrics` of an object; those before a mistake
/// stay.
struct Items<'v, 'a>(&'v mut Vec<&'a RawValue>);

impl<'a> DeserializeSeed<'a> for Items<'_, 'a> {
    type Value = ();
    fn deserialize<D: Deserializer<'a>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Items<'_, 'a> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an array of metrics, or an object with one under `Metrics`")
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut array: S) -> Result<(), S::Error> {
        while let Some(item) = array.next_element()? {
            self.0.push(item);
        }
        Ok(())
    }

    fn visit_map<M: MapAccess<'a>>(self, mut object: M) -> Result<(), M::Error> {
        let mut found = false;
        while let Some(key) = object.next_key::<String>()? {
            if key == "Metrics" {
                found = true;
                object.next_value_seed(Items(&mut *self.0))?;
            } else {
                object.next_value::<IgnoredAny>()?;
            }
        }
        if found { Ok(()) } else { Err(M::Error::custom("expected the key `Metrics`")) }
    }
}

/// An expression, or a problem with the place of its error in the text.
pub(crate) fn expression(
    text: &str,
    of: &str,
    line: u64,
    problems: &mut Vec<Problem>,
) -> Option<Expression> {
    match Expression::parse(text) {
        Ok(expression) => Some(expression),
        Err(error) => {
            let of: String = of.chars().take(60).collect();
            let before: String = text.get(..error.span.start).unwrap_or("").to_owned();
            let near: String =
                before.chars().rev().take(20).collect::<Vec<_>>().into_iter().rev().collect();
            let what = match near.trim() {
                "" => format!("`{of}`: {error}"),
                near => format!("`{of}`: {error}, after `{near}`"),
            };
            problems.push(Problem { line, what });
            None
        }
    }
}

/// A text for people, in one line and not too long.
pub(crate) fn sentence(text: &str) -> String {
    const LONGEST: usize = 400;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = words.chars().take(LONGEST).collect();
    short.trim_end_matches('.').to_owned()
}

/// Groups, separated as in the two kinds of JSON.
pub(crate) fn groups(text: &str) -> Vec<String> {
    text.split(';').map(str::trim).filter(|group| !group.is_empty()).map(str::to_owned).collect()
}

/// The model of the definitions that could be read.
pub(crate) fn finished(name: &str, metrics: Vec<Definition>, problems: Vec<Problem>) -> Model {
    Model::new(name, metrics, problems)
}
