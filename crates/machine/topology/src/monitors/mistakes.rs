//! Mistakes in a text of monitors, shown at their places.
//!
//! Owns the list and its picture, drawn by annotate-snippets without colours. It refuses to draw
//! more than a few: many mistakes usually come from one at the top.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::LONGEST_TEXT;

/// Maximum number of mistakes that are kept.
const MOST: usize = 1000;
/// Maximum number of mistakes that are drawn.
const MOST_DRAWN: usize = 20;
/// Maximum number of characters of a line that are drawn before and after a mistake.
const AROUND: usize = 200;

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Bytes of the text.
    pub span: Range<usize>,
    /// The expected and the found text.
    pub message: String,
    /// A suggestion, for example the name that was probably meant.
    pub help: Option<String>,
}

/// All mistakes of a text. Its `Display` is many lines, for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Mistakes {
    file: Option<String>,
    /// The text; the lines of all mistakes could be all lines.
    text: String,
    list: Vec<Mistake>,
    more: usize,
}

impl Mistakes {
    pub(super) fn new(text: &str) -> Self {
        let text = if text.len() > LONGEST_TEXT { "" } else { text };
        Self { file: None, text: text.to_owned(), list: Vec::new(), more: 0 }
    }

    pub(super) fn note(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.note_with(span, message, None);
    }

    pub(super) fn note_with(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        if self.list.len() < MOST {
            self.list.push(Mistake { span, message: message.into(), help });
        } else {
            self.more += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// True if further ones are only counted.
    pub(super) fn is_full(&self) -> bool {
        self.list.len() >= MOST
    }

    /// Sorts them in the order of the text.
    pub(super) fn sort(&mut self) {
        self.list.sort_by_key(|mistake| (mistake.span.start, mistake.span.end));
    }

    /// Mistakes in the order of the text, 1000 at most.
    pub fn iter(&self) -> std::slice::Iter<'_, Mistake> {
        self.list.iter()
    }

    /// Sets the file name of the text.
    #[must_use]
    pub fn in_file(mut self, path: &str) -> Self {
        self.file = Some(path.to_owned());
        self
    }

    fn group<'a>(&'a self, mistake: &'a Mistake) -> Group<'a> {
        // Only the lines of the mistake are drawn, and of those the part near it: a text may be a
        // single line of a megabyte.
        let at = |place: usize| self.text.floor_char_boundary(place.min(self.text.len()));
        let span = at(mistake.span.start)..at(mistake.span.end.min(mistake.span.start + AROUND));
        let line = self.text[..span.start].rfind('\n').map_or(0, |end| end + 1);
        let number = 1 + self.text[..line].bytes().filter(|&c| c == b'\n').count();
        let end = self.text[span.end..].find('\n').map_or(self.text.len(), |next| span.end + next);
        let line = line.max(at(span.start.saturating_sub(AROUND)));
        let end = end.min(at(span.end + AROUND)).max(span.end);
        let snippet = Snippet::source(&self.text[line..end])
            .line_start(number)
            .path(self.file.as_deref())
            .annotation(AnnotationKind::Primary.span(span.start - line..span.end - line));
        let mut group = Level::ERROR.primary_title(mistake.message.as_str()).element(snippet);
        if let Some(help) = &mistake.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        group
    }
}

impl<'a> IntoIterator for &'a Mistakes {
    type Item = &'a Mistake;
    type IntoIter = std::slice::Iter<'a, Mistake>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups: Vec<Group<'_>> =
            self.list.iter().take(MOST_DRAWN).map(|mistake| self.group(mistake)).collect();
        out.write_str(&Renderer::plain().term_width(100).render(&groups))?;
        match self.list.len().saturating_sub(MOST_DRAWN) + self.more {
            0 => Ok(()),
            more => write!(out, "\nand {more} more"),
        }
    }
}
