//! The `.pcf`: names of event types, values and states, and their colours.
//!
//! Owns its sections. A title stands alone on a line; entries follow, with blank lines anywhere.
//! `VALUES` belongs to all types of the `EVENT_TYPE` before it. Other sections are kept as they
//! are. Nothing here is an error: unreadable text, and contradictory repetitions, become gaps, one
//! for each kind.

use std::collections::HashMap;

use talea_model::trace::{EventType, Gradient, Labels, RawSection, StateLabel, ValueSet};
use talea_model::{Gap, GapKind, Gaps};

use super::careful::{unsigned, value};

/// Bytes as text: UTF-8, or Latin-1, which older tools wrote.
pub(super) fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().copied().map(char::from).collect(),
    }
}

/// A number of cases and a description of the first.
#[derive(Debug, Default)]
struct Cases {
    count: u64,
    first: String,
}

impl Cases {
    fn add(&mut self, describe: impl FnOnce() -> String) {
        if self.count == 0 {
            self.first = describe();
        }
        self.count += 1;
    }

    fn note(self, what: &str, gaps: &mut Gaps) {
        if self.count > 0 {
            let detail = format!("labels: {what}, the first: {}", self.first);
            gaps.note(Gap { kind: GapKind::Damaged, rank: None, detail, count: self.count });
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Nothing,
    Options,
    Semantic,
    States,
    StateColours,
    EventTypes,
    Values,
    GradientColours,
    GradientNames,
    Raw,
}

fn section(title: &[u8]) -> Option<Section> {
    Some(match title {
        b"DEFAULT_OPTIONS" => Section::Options,
        b"DEFAULT_SEMANTIC" => Section::Semantic,
        b"STATES" => Section::States,
        b"STATES_COLOR" => Section::StateColours,
        b"EVENT_TYPE" => Section::EventTypes,
        b"VALUES" => Section::Values,
        b"GRADIENT_COLOR" => Section::GradientColours,
        b"GRADIENT_NAMES" => Section::GradientNames,
        _ => return None,
    })
}

#[derive(Debug)]
struct Parser {
    labels: Labels,
    section: Section,
    /// True if the section has an entry already: only after one does a blank line end it.
    entered: bool,
    /// First event type of the block, and the block's set of values.
    block: usize,
    values: Option<u32>,
    /// Places of types, states and gradients in their lists.
    types: HashMap<u32, usize>,
    states: HashMap<u32, usize>,
    gradients: HashMap<u32, usize>,
    unread: Cases,
    contradictions: Cases,
}

/// Reads a `.pcf`.
pub fn read_labels(bytes: &[u8], gaps: &mut Gaps) -> Labels {
    let mut parser = Parser {
        labels: Labels::default(),
        section: Section::Nothing,
        entered: false,
        block: 0,
        values: None,
        types: HashMap::new(),
        states: HashMap::new(),
        gradients: HashMap::new(),
        unread: Cases::default(),
        contradictions: Cases::default(),
    };
    for (line, number) in bytes.split(|&byte| byte == b'\n').zip(1_u64..) {
        let line = line.trim_ascii();
        if let Err(expected) = parser.line(line) {
            let shown: String = text(line).chars().take(40).collect();
            parser.unread.add(|| format!("line {number}: expected {expected}, found `{shown}`"));
        }
    }
    parser.unread.note("lines could not be read", gaps);
    parser.contradictions.note("a thing has two names", gaps);
    if bytes.last().is_some_and(|&byte| byte != b'\n') {
        let detail = "labels: the last line has no end: expected a newline, it may be cut short";
        gaps.note(Gap { kind: GapKind::Estimated, rank: None, detail: detail.into(), count: 1 });
    }
    parser.labels
}

impl Parser {
    fn line(&mut self, line: &[u8]) -> Result<(), &'static str> {
        if line.is_empty() {
            let words = matches!(self.section, Section::Options | Section::Semantic | Section::Raw);
            if words && self.entered {
                self.section = Section::Nothing;
            }
            return Ok(());
        }
        if let Some(section) = section(line) {
            self.begin(section);
            return Ok(());
        }
        self.entered = true;
        match self.section {
            Section::Options => self.labels.options.push(pair(line)),
            Section::Semantic => self.labels.semantic.push(pair(line)),
            Section::Raw => {
                if let Some(raw) = self.labels.raw.last_mut() {
                    raw.lines.push(text(line));
                }
            }
            Section::EventTypes if line.starts_with(b"PRECISION") => return self.precision(line),
            _ if is_title(line) => {
                self.begin(Section::Raw);
                self.labels.raw.push(RawSection { title: text(line), lines: Vec::new() });
            }
            Section::States => return self.state(line),
            Section::StateColours => return self.state_colour(line),
            Section::EventTypes => return self.event_type(line),
            Section::Values => return self.value(line),
            Section::GradientColours => return self.gradient_colour(line),
            Section::GradientNames => return self.gradient_name(line),
            Section::Nothing => return Err("the title of a section"),
        }
        Ok(())
    }

    fn begin(&mut self, section: Section) {
        match section {
            Section::EventTypes => {
                self.block = self.labels.event_types.len();
                self.values = None;
            }
            // A second VALUES of the same block continues the first.
            Section::Values if self.values.is_none() => {
                let set = self.labels.value_sets.len() as u32;
                let types = &mut self.labels.event_types[self.block..];
                if !types.is_empty() {
                    for one in types {
                        one.values = Some(set);
                    }
                    self.labels.value_sets.push(ValueSet::default());
                    self.values = Some(set);
                }
            }
            _ => {}
        }
        self.section = section;
        self.entered = false;
    }

    fn event_type(&mut self, line: &[u8]) -> Result<(), &'static str> {
        const EXPECTED: &str = "a gradient, an event type and its name";
        let (gradient, rest) = word(line);
        let (number, label) = word(rest);
        let gradient = small(gradient).ok_or(EXPECTED)?;
        let number = small(number).ok_or(EXPECTED)?;
        let label = text(label);
        if let Some(&before) = self.types.get(&number) {
            let first = &self.labels.event_types[before].label;
            if *first != label {
                let describe = || format!("event type {number}: `{first}` and `{label}`");
                self.contradictions.add(describe);
            }
        } else {
            self.types.insert(number, self.labels.event_types.len());
        }
        // A type after its block's VALUES shares them too.
        let values = self.values;
        self.labels.event_types.push(EventType {
            number,
            gradient,
            label,
            precision: None,
            values,
        });
        Ok(())
    }

    fn precision(&mut self, line: &[u8]) -> Result<(), &'static str> {
        let (_, number) = word(line);
        let digits = small(number).ok_or("PRECISION and a number of digits")?;
        for one in &mut self.labels.event_types[self.block..] {
            one.precision = Some(digits);
        }
        Ok(())
    }

    fn value(&mut self, line: &[u8]) -> Result<(), &'static str> {
        let (number, label) = word(line);
        let number = value(number).ok_or("a value of 64 bits and its name")?;
        let Some(set) = self.values.and_then(|set| self.labels.value_sets.get_mut(set as usize))
        else {
            return Err("an EVENT_TYPE before its VALUES");
        };
        let label = text(label);
        let shown = label.clone();
        if let Some(first) = set.push(number, label)
            && first != shown
        {
            self.contradictions.add(|| format!("value {number}: `{first}` and `{shown}`"));
        }
        Ok(())
    }

    fn state_entry(&mut self, number: u32) -> &mut StateLabel {
        let states = &mut self.labels.states;
        let at = *self.states.entry(number).or_insert_with(|| {
            states.push(StateLabel { number, ..StateLabel::default() });
            states.len() - 1
        });
        &mut states[at]
    }

    fn gradient_entry(&mut self, number: u32) -> &mut Gradient {
        let gradients = &mut self.labels.gradients;
        let at = *self.gradients.entry(number).or_insert_with(|| {
            gradients.push(Gradient { number, ..Gradient::default() });
            gradients.len() - 1
        });
        &mut gradients[at]
    }

    fn state(&mut self, line: &[u8]) -> Result<(), &'static str> {
        let (number, name) = numbered(line).ok_or("a state and its name")?;
        let name = text(name);
        let before = &mut self.state_entry(number).name;
        let first = before.get_or_insert_with(|| name.clone()).clone();
        if first != name {
            self.contradictions.add(|| format!("state {number}: `{first}` and `{name}`"));
        }
        Ok(())
    }

    fn state_colour(&mut self, line: &[u8]) -> Result<(), &'static str> {
        let (number, rest) = numbered(line).ok_or("a state and its colour")?;
        let colour = colour(rest).ok_or("a colour such as {117,195,255}")?;
        let first = *self.state_entry(number).colour.get_or_insert(colour);
        if first != colour {
            self.contradictions
                .add(|| format!("colour of state {number}: {first:?} and {colour:?}"));
        }
        Ok(())
    }

    fn gradient_colour(&mut self, line: &[u8]) -> Result<(), &'static str> {
        let (number, rest) = numbered(line).ok_or("a gradient and its colour")?;
        let colour = colour(rest).ok_or("a colour such as {117,195,255}")?;
        self.gradient_entry(number).colour.get_or_insert(colour);
        Ok(())
    }

    fn gradient_name(&mut self, line: &[u8]) -> Result<(), &'static str> {
        let (number, name) = numbered(line).ok_or("a gradient and its name")?;
        let name = text(name);
        self.gradient_entry(number).name.get_or_insert(name);
        Ok(())
    }
}

/// True if a line looks like a title: one word in capitals.
fn is_title(line: &[u8]) -> bool {
    let capital = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    line.first().is_some_and(u8::is_ascii_uppercase) && line.iter().all(capital)
}

/// The first word and the rest, without blanks between.
fn word(line: &[u8]) -> (&[u8], &[u8]) {
    let length = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    (&line[..length], line[length..].trim_ascii_start())
}

fn pair(line: &[u8]) -> (String, String) {
    let (key, value) = word(line);
    (text(key), text(value))
}

fn small(text: &[u8]) -> Option<u32> {
    unsigned(text)?.try_into().ok()
}

fn numbered(line: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = word(line);
    Some((small(number)?, rest))
}

/// `{r,g,b}`
fn colour(text: &[u8]) -> Option<[u8; 3]> {
    let inner = text.strip_prefix(b"{")?.strip_suffix(b"}")?;
    let mut parts = inner.split(|&byte| byte == b',');
    let mut next = || unsigned(parts.next()?.trim_ascii())?.try_into().ok();
    let colour = [next()?, next()?, next()?];
    next().is_none().then_some(colour)
}
