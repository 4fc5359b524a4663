//! Titles and hints: texts with places that are filled in when a rule holds.
//!
//! Owns the form: `{library}` names a thing, `{waiting:%}` is a value in percent, `{faults}` a
//! value with three digits; `{{` and `}}` are braces. What fills a place is bytes from outside:
//! control characters do not get through, and each is cut.

use talea_model::text::shortened;
use talea_store::Dimension;

use crate::metrics;

/// Longest name that is filled in, in characters.
const LONGEST: usize = 200;

/// A text with places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Template(pub(crate) Vec<Piece>);

/// A piece of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// As it stands.
    Text(String),
    /// The name of the thing that matters here.
    Name(Dimension),
    /// A value by its name.
    Value { name: String, percent: bool },
}

/// The dimension that a place may name.
fn named(word: &str) -> Option<Dimension> {
    Some(match word {
        "job" => Dimension::Job,
        "user" => Dimension::User,
        "node" => Dimension::Node,
        "core" => Dimension::Core,
        word => return metrics::dimension(word),
    })
}

impl Template {
    /// Reads a text.
    ///
    /// # Errors
    /// Says what was expected.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let (sign, after) = rest[at..].split_at(1);
            if let Some(after) = after.strip_prefix(sign) {
                plain.push_str(sign);
                rest = after;
                continue;
            }
            let inside = after.split_once('}').filter(|_| sign == "{");
            let Some((inside, after)) = inside else {
                return Err(format!(
                    "expected `{{` with `}}`, or `{sign}{sign}` for the sign itself"
                ));
            };
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(match inside.strip_suffix(":%") {
                Some(name) => Piece::Value { name: name.to_owned(), percent: true },
                None => match named(inside) {
                    Some(dimension) => Piece::Name(dimension),
                    None => Piece::Value { name: inside.to_owned(), percent: false },
                },
            });
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self(pieces))
    }

    /// Things that it names.
    pub(crate) fn names(&self) -> impl Iterator<Item = Dimension> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Name(dimension) => Some(*dimension),
            _ => None,
        })
    }

    /// Values that it shows.
    pub(crate) fn values(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Value { name, .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// The text, with what the callers know.
    pub(crate) fn filled(
        &self,
        name: impl Fn(Dimension) -> Option<String>,
        value: impl Fn(&str) -> Option<f64>,
    ) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Name(dimension) => {
                    text.push_str(
                        &name(*dimension)
                            .map_or_else(|| "(unknown)".to_owned(), |n| shortened(&n, LONGEST)),
                    );
                }
                Piece::Value { name, percent } => {
                    let scale = if *percent { 100.0 } else { 1.0 };
                    let found = value(name).map(|value| three(value * scale));
                    text.push_str(&found.unwrap_or_else(|| "(unknown)".to_owned()));
                    text.push_str(if *percent { " %" } else { "" });
                }
            }
        }
        text
    }
}

/// Three digits, with k, M, G where there are more before the point.
pub(crate) fn three(value: f64) -> String {
    let (divisor, unit) = match value.abs() {
        size if size >= 1e9 => (1e9, " G"),
        size if size >= 1e6 => (1e6, " M"),
        size if size >= 1e4 => (1e3, " k"),
        _ => (1.0, ""),
    };
    let scaled = value / divisor;
    let digits = match scaled.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{scaled:.digits$}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}{unit}", if text.contains('.') { short } else { &text })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn places_are_filled() {
        let text =
            Template::parse("{{x}} {waiting:%} of {job} in {library}: {faults} a second").unwrap();
        assert_eq!(text.names().collect::<Vec<_>>(), [Dimension::Job, Dimension::Library]);
        assert_eq!(text.values().collect::<Vec<_>>(), ["waiting", "faults"]);
        let filled = text.filled(
            |name| (name == Dimension::Job).then(|| "47\n1\u{202e}1".to_owned()),
            |name| Some(if name == "waiting" { 0.9231 } else { 45_300.0 }),
        );
        assert_eq!(filled, "{x} 92.3 % of 47\u{fffd}1\u{fffd}1 in (unknown): 45.3 k a second");
        assert!(Template::parse("{x").is_err() && Template::parse("a } b").is_err());
    }

    #[test]
    fn numbers_have_three_digits() {
        let shown = [0.0, 0.123_4, 1.0, 12.345, 100.0, 1234.5, 12_345.0, 2.5e6, 3e12].map(three);
        assert_eq!(shown, ["0", "0.12", "1", "12.3", "100", "1234", "12.3 k", "2.5 M", "3000 G"]);
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in ".{0,60}") {
            if let Ok(template) = Template::parse(&text) {
                let _ = template.filled(|_| Some("n".repeat(300)), |_| Some(f64::INFINITY));
            }
        }
    }
}
