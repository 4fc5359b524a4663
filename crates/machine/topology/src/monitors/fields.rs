//! Values of fields.
//!
//! Owns the possible values of each key, apart from lists of counters (`sets`). Mistakes are noted
//! at their bytes; a monitor with mistakes is still built as far as possible, so that those that
//! refer to it are checked too.

use std::ops::Range;

use talea_metric::expression::{Expression, ExpressionError, Parsed, Wrong};

use super::blocks::{Block, Field, Key};
use super::mistakes::Mistakes;
use super::{Aggregate, LONGEST_WINDOW, Monitor, ObjectsOf, Per, When};
use crate::objects::ObjectKind;

/// Other words for kinds, for suggestions.
const MORE_KINDS: [&str; 8] = ["L1", "socket", "node", "numa", "thread", "L3d", "L2d", "system"];

/// A text with comments blanked, and its mistakes so far.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) mistakes: &'a mut Mistakes,
}

/// An unresolved expression: its counters may be monitors.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) expression: Expression,
    /// Bytes of the text for each of its counters.
    pub(super) spans: Vec<Range<usize>>,
}

impl Reader<'_> {
    fn value(&self, field: &Field) -> &str {
        &self.text[field.value.clone()]
    }

    pub(super) fn expression(&mut self, span: &Range<usize>, list: &[String]) -> Option<Written> {
        match Expression::parse_with(&self.text[span.clone()], list) {
            Ok(Parsed { expression, spans }) => {
                let spans = spans.into_iter().map(|s| s.start + span.start..s.end + span.start);
                Some(Written { expression, spans: spans.collect() })
            }
            Err(ExpressionError { span: part, wrong }) => {
                let text = &self.text[span.clone()];
                // Names of perf's units look like divisions: `cpu/cache-misses/`.
                let unit = matches!(wrong, Wrong::ExpectedValue(_)) && text.ends_with('/');
                let help = match wrong {
                    _ if unit => Some(format!("names with `/` need quotes: \"{text}\"")),
                    Wrong::ExpectedOperator(_) => {
                        Some("names with blanks or other signs need quotes".to_owned())
                    }
                    Wrong::NoList(_) => Some("`EVSET := a, b;` gives the list".to_owned()),
                    _ => None,
                };
                let help = help.filter(|help| help.len() < 300);
                let place = part.start + span.start..part.end + span.start;
                self.mistakes.note_with(place, wrong.to_string(), help);
                None
            }
        }
    }

    /// A number, possibly computed.
    fn number(&mut self, field: &Field) -> Option<f64> {
        let written = self.expression(&field.value, &[])?;
        let value = written.expression.constant();
        if value.is_none() {
            self.mistakes.note(written.spans[0].clone(), "expected a number without counters");
        }
        value
    }

    fn whole(&mut self, field: &Field, least: u32, most: u32) -> Option<u32> {
        let number = self.value(field).parse().ok().filter(|n| (least..=most).contains(n));
        if number.is_none() {
            let message = format!("expected a whole number from {least} to {most}");
            self.mistakes.note(field.value.clone(), message);
        }
        number
    }

    /// A kind, a depth, or some objects of a kind.
    pub(super) fn objects(&mut self, span: &Range<usize>) -> Option<ObjectsOf> {
        let text = &self.text[span.clone()];
        if let Ok(depth) = text.parse() {
            return Some(ObjectsOf::Depth(depth));
        }
        let (word, numbers) = match text.split_once(':') {
            Some((word, numbers)) => (word.trim_end(), Some(numbers.trim())),
            None => (text, None),
        };
        let Some(kind) = ObjectKind::from_name(word) else {
            let kinds = ObjectKind::ALL.iter();
            let names = kinds.clone().map(|kind| kind.short()).chain(kinds.map(|kind| kind.name()));
            let near = talea_metric::suggest(word, names.chain(MORE_KINDS));
            let shown: String = word.chars().take(40).collect();
            let message =
                format!("expected a kind of object such as L3, or a depth, found `{shown}`");
            let help = near.map(|near| format!("did you mean `{near}`?"));
            self.mistakes.note_with(span.start..span.start + word.len(), message, help);
            return None;
        };
        let Some(numbers) = numbers else { return Some(ObjectsOf::Kind(kind)) };
        let (first, last) =
            numbers.split_once("..").or(numbers.split_once('-')).unwrap_or((numbers, numbers));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if first <= last => Some(ObjectsOf::Some { kind, first, last }),
            _ => {
                let message = "expected a logical number such as `L3:1`, or some such as `PU:0-3`";
                self.mistakes.note(span.end - numbers.len()..span.end, message);
                None
            }
        }
    }

    /// One of some words, which are listed in the message.
    fn word<T: Copy>(&mut self, field: &Field, words: &[(&str, T)]) -> Option<T> {
        let text = self.value(field);
        let found = words.iter().find(|word| word.0.eq_ignore_ascii_case(text));
        if found.is_none() {
            let names: Vec<_> = words.iter().map(|word| word.0).collect();
            let help = Some(text).filter(|text| text.len() > 1);
            let help = help.and_then(|text| talea_metric::suggest(text, names.iter().copied()));
            let message = format!("expected one of {}", names.join(", "));
            let help = help.map(|near| format!("did you mean `{near}`?"));
            self.mistakes.note_with(field.value.clone(), message, help);
        }
        found.map(|word| word.1)
    }

    fn when(&mut self, field: &Field) -> When {
        match self.value(field).to_ascii_lowercase().as_str() {
            "after" => When::After,
            "before" => When::Before,
            _ => self.objects(&field.value).map_or(When::After, When::At),
        }
    }

    fn unit(&mut self, field: &Field) -> Option<String> {
        let text = self.value(field);
        let text = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text);
        if text.contains(|c: char| c == '"' || c.is_control()) || text.chars().count() > 32 {
            let message = "expected a unit of at most 32 characters without quotes";
            self.mistakes.note(field.value.clone(), message);
            return None;
        }
        Some(text.to_owned())
    }

    /// The monitor of a block without its expression; the divisor's counters may still be monitors.
    pub(super) fn monitor(&mut self, block: &Block) -> (Monitor, Option<Written>) {
        let field = |key| block.field(key);
        let objects = match field(Key::Obj) {
            Some(field) => self.objects(&field.value),
            // The successor's default.
            None if field(Key::Evset).is_some() => None,
            None => {
                let message = format!("expected `OBJ` in `{}`", block.name);
                let help = "for example `OBJ = L3;`".to_owned();
                self.mistakes.note_with(block.name_span.clone(), message, Some(help));
                None
            }
        };
        let objects = objects.unwrap_or(ObjectsOf::Kind(ObjectKind::Machine));
        let mut monitor = Monitor::new(&block.name, objects, Expression::counter(""));
        let flag = [("0", false), ("1", true)];
        monitor.log = field(Key::Logscale).and_then(|f| self.word(f, &flag)).unwrap_or(false);
        monitor.accumulate =
            field(Key::Accumulate).and_then(|f| self.word(f, &flag)).unwrap_or(false);
        monitor.silent = field(Key::Silent).and_then(|f| self.word(f, &flag)).unwrap_or(false);
        monitor.window =
            field(Key::Window).and_then(|f| self.whole(f, 1, LONGEST_WINDOW)).unwrap_or(1);
        if let (true, 2.., Some(field)) = (monitor.accumulate, monitor.window, field(Key::Window)) {
            self.mistakes.note(field.key_span.clone(), "expected either `WINDOW` or `ACCUMULATE`");
        }
        let aggregates = [("avg", Aggregate::Mean)];
        let aggregates: Vec<_> = Aggregate::ALL.into_iter().chain(aggregates).collect();
        monitor.aggregate =
            field(Key::Agg).and_then(|f| self.word(f, &aggregates)).unwrap_or_default();
        monitor.when = field(Key::When).map(|f| self.when(f)).unwrap_or_default();
        monitor.unit = field(Key::Unit).and_then(|f| self.unit(f));
        monitor.min = field(Key::Min).and_then(|f| self.number(f));
        monitor.max = field(Key::Max).and_then(|f| self.number(f));
        if let (Some(min), Some(max), Some(field)) = (monitor.min, monitor.max, field(Key::Max))
            && max < min
        {
            let message = format!("expected `MAX` not below `MIN`, which is {min}");
            self.mistakes.note(field.value.clone(), message);
        }
        if let Some(field) = field(Key::PerfLib) {
            let word = self.value(field);
            if word.len() <= 100 && word.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c)) {
                monitor.library = Some(word.to_owned());
            } else {
                self.mistakes.note(field.value.clone(), "expected a library's name such as `papi`");
            }
        }
        let mut divisor = None;
        if let Some(field) = field(Key::Per) {
            match self.value(field).to_ascii_lowercase().as_str() {
                "second" | "s" => monitor.per = Per::Second,
                "instruction" => monitor.per = Per::Instruction,
                "cycle" => monitor.per = Per::Cycle,
                _ => divisor = self.expression(&field.value, &[]),
            }
        }
        if let Some(written) = &divisor
            && written.expression.constant() == Some(0.0)
            && let Some(field) = field(Key::Per)
        {
            let message = Wrong::DivisionByZero.to_string();
            self.mistakes.note(field.value.clone(), message);
            divisor = None;
        }
        (monitor, divisor)
    }
}
