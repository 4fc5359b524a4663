//! Elements of an XML document one after another, each with its place.
//!
//! Owns the bounds: elements nest at most [`MOST_DEPTH`] deep and have at most [`MOST_ATTRIBUTES`]
//! attributes. Entities other than XML's five and characters by number are refused, never expanded;
//! a DTD is skipped unread. Lines are counted only for errors.

use std::borrow::Cow;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::XmlError;

/// Deepest nesting of elements; hwloc's own files have about 20.
pub const MOST_DEPTH: usize = 128;
/// Most attributes of an element; hwloc's own have about 20.
pub const MOST_ATTRIBUTES: usize = 64;

/// The next token.
pub(super) enum Token<'a> {
    Open(Element<'a>),
    Text(Cow<'a, str>),
    Close,
    End,
}

/// The begin of an element; one without content is closed by the next token.
pub(super) struct Element<'a> {
    start: BytesStart<'a>,
    /// Its begin, in bytes.
    pub(super) at: usize,
}

impl Element<'_> {
    pub(super) fn name(&self) -> &str {
        self.start.name().into_inner()
    }

    /// Names and values, entities replaced. Control characters, which XML cannot hold, become
    /// U+FFFD.
    pub(super) fn attributes<'e>(
        &'e self,
        text: &str,
    ) -> impl Iterator<Item = Result<(&'e str, Cow<'e, str>), XmlError>> {
        let lines = Lines(&text[..self.at]);
        self.start.attributes().enumerate().map(move |(count, attribute)| {
            let wrong = |found: String| {
                XmlError::unexpected(lines.count(), "an attribute `name=\"value\"`", &found)
            };
            if count >= MOST_ATTRIBUTES {
                return Err(XmlError::TooMany {
                    line: lines.count(),
                    limit: MOST_ATTRIBUTES,
                    what: "attributes of an element",
                });
            }
            let attribute = attribute.map_err(|error| wrong(error.to_string()))?;
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| wrong(error.to_string()))?;
            let value = if value.contains(is_control) {
                Cow::Owned(value.replace(is_control, "\u{fffd}"))
            } else {
                value
            };
            Ok((attribute.key.into_inner(), value))
        })
    }

    /// The value of one attribute.
    pub(super) fn attribute(&self, text: &str, name: &str) -> Result<Option<String>, XmlError> {
        for attribute in self.attributes(text) {
            let (key, value) = attribute?;
            if key == name {
                return Ok(Some(value.into_owned()));
            }
        }
        Ok(None)
    }
}

/// Characters that XML 1.0 cannot hold, not even by number.
pub(super) fn is_control(c: char) -> bool {
    matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

/// Text up to a place whose line is requested.
#[derive(Clone, Copy)]
pub(super) struct Lines<'t>(pub(super) &'t str);

impl Lines<'_> {
    /// The line of the end, from 1.
    pub(super) fn count(self) -> usize {
        1 + self.0.bytes().filter(|&byte| byte == b'\n').count()
    }
}

/// Reads tokens.
pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    reader: Reader<&'a [u8]>,
    depth: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut reader = Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        Self { text, reader, depth: 0 }
    }

    /// The line of a place.
    pub(super) fn line(&self, at: usize) -> usize {
        Lines(self.text.get(..at).unwrap_or(self.text)).count()
    }

    /// The line of the next token.
    pub(super) fn line_here(&self) -> usize {
        self.line(self.at())
    }

    fn at(&self) -> usize {
        usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX)
    }

    /// The next token; comments, the declaration, instructions and the DTD are skipped.
    pub(super) fn next(&mut self) -> Result<Token<'a>, XmlError> {
        loop {
            let at = self.at();
            let event = match self.reader.read_event() {
                Ok(event) => event,
                Err(error) => {
                    let line =
                        self.line(usize::try_from(self.reader.error_position()).unwrap_or(at));
                    return Err(XmlError::unexpected(line, "well-formed XML", &error.to_string()));
                }
            };
            match event {
                Event::Start(start) | Event::Empty(start) => {
                    self.depth += 1;
                    if self.depth > MOST_DEPTH {
                        return Err(XmlError::TooDeep { line: self.line(at), limit: MOST_DEPTH });
                    }
                    return Ok(Token::Open(Element { start, at }));
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    return Ok(Token::Close);
                }
                Event::Text(text) => return Ok(Token::Text(text.into_inner())),
                Event::CData(text) => return Ok(Token::Text(text.into_inner())),
                Event::GeneralRef(reference) => {
                    let found = format!("`&{};`", reference.into_inner());
                    return Err(XmlError::unexpected(self.line(at), "no entity here", &found));
                }
                Event::Eof => {
                    if self.depth > 0 {
                        let line = self.line(self.text.len());
                        return Err(XmlError::unexpected(
                            line,
                            "`</topology>`",
                            "the end of the file",
                        ));
                    }
                    return Ok(Token::End);
                }
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
    }

    /// Skips the rest of the element that was opened last.
    pub(super) fn skip(&mut self) -> Result<(), XmlError> {
        let outside = self.depth.saturating_sub(1);
        while self.depth > outside {
            if matches!(self.next()?, Token::End) {
                break;
            }
        }
        Ok(())
    }
}
