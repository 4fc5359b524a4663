//! From bytes to a trace.

use std::collections::{HashMap, HashSet};

use super::{Container, Error, Trace, Value};

/// Maximum number of fields of an event, and of events of a file; the format has four and two.
const MOST_FIELDS: usize = 64;
const MOST_EVENTS: usize = 1024;

/// Fields of the two known events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Id,
    Phase,
    Time,
    Value,
    Level,
    Sibling,
    Name,
    LogScale,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Value,
    Container,
    Other,
}

/// A definition: its event, and the fields of its lines in order.
#[derive(Debug)]
struct Definition {
    event: Event,
    fields: Vec<Field>,
}

/// Reads a trace. Lines that violate the format are errors; text after the last whole line of a
/// file that was cut is not read.
pub fn read(bytes: &[u8]) -> Result<Trace, Error> {
    let mut reader = Reader::default();
    let ends_whole = bytes.last().is_none_or(|&byte| byte == b'\n');
    let lines = bytes.split(|&byte| byte == b'\n').count() as u64;
    for (line, number) in bytes.split(|&byte| byte == b'\n').zip(1..) {
        let text = String::from_utf8_lossy(line);
        match reader.line(text.trim(), number) {
            Err(_) if number == lines && !ends_whole => {}
            result => result?,
        }
    }
    if let Some((line, _, _)) = reader.open {
        return Err(Error::Open { line });
    }
    let known = |definition: &Definition| definition.event != Event::Other;
    if !reader.definitions.values().any(known) {
        return Err(Error::Nothing);
    }
    Ok(reader.trace)
}

#[derive(Debug, Default)]
struct Reader {
    definitions: HashMap<String, Definition>,
    /// The definition being read: its first line, number and content.
    open: Option<(u64, String, Definition)>,
    defined: HashSet<u64>,
    trace: Trace,
}

impl Reader {
    fn line(&mut self, text: &str, line: u64) -> Result<(), Error> {
        if let Some(rest) = text.strip_prefix('%') {
            return self.definition(rest.trim(), line);
        }
        if text.is_empty() || text.starts_with('#') {
            return Ok(());
        }
        let (number, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let Some(definition) = self.definitions.get(number) else {
            return Err(wrong(
                line,
                "the number of an event that a %EventDef before defines",
                number,
            ));
        };
        match definition.event {
            Event::Other => self.trace.skipped += 1,
            Event::Container => {
                let container = container(rest, &definition.fields, line)?;
                self.defined.insert(container.id);
                self.trace.containers.push(container);
            }
            Event::Value => {
                let value = value(rest, &definition.fields, line)?;
                if !self.defined.contains(&value.id) {
                    self.trace.orphans += 1;
                }
                self.trace.values.push(value);
            }
        }
        Ok(())
    }

    fn definition(&mut self, text: &str, line: u64) -> Result<(), Error> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match (&words[..], &mut self.open) {
            ([], _) => Ok(()),
            (["EventDef", name, number], None) => {
                let event = match name.to_ascii_lowercase().as_str() {
                    "val" | "value" => Event::Value,
                    "container" => Event::Container,
                    _ => Event::Other,
                };
                let definition = Definition { event, fields: Vec::new() };
                self.open = Some((line, (*number).to_owned(), definition));
                Ok(())
            }
            (["EventDef", ..], None) => {
                Err(wrong(line, "a name and a number after %EventDef", text))
            }
            (["EventDef", ..], Some(_)) => Err(wrong(line, "a field or %EndEventDef", text)),
            (["EndEventDef"], open) => {
                let Some((_, number, definition)) = open.take() else {
                    return Err(wrong(line, "%EventDef before %EndEventDef", text));
                };
                if self.definitions.len() >= MOST_EVENTS {
                    return Err(wrong(line, "at most 1024 definitions", &number));
                }
                self.definitions.insert(number, definition);
                Ok(())
            }
            ([field, _type], Some((_, _, definition))) => {
                if definition.fields.len() >= MOST_FIELDS {
                    return Err(wrong(line, "at most 64 fields", text));
                }
                definition.fields.push(field_of(field));
                Ok(())
            }
            (_, Some(_)) => Err(wrong(line, "a field with its type, or %EndEventDef", text)),
            (_, None) => Err(wrong(line, "%EventDef", text)),
        }
    }
}

fn field_of(name: &str) -> Field {
    match name.to_ascii_lowercase().as_str() {
        "id" => Field::Id,
        "phase" => Field::Phase,
        "time_us" | "time" => Field::Time,
        "value" => Field::Value,
        "level" => Field::Level,
        "sibling" => Field::Sibling,
        "name" => Field::Name,
        "logscale" => Field::LogScale,
        _ => Field::Other,
    }
}

fn wrong(line: u64, expected: &str, found: &str) -> Error {
    let shown: String = found.chars().take(60).collect();
    Error::Line { line, expected: expected.to_owned(), found: shown }
}

/// Words of a line; a quoted one may have blanks.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let quoted = rest.strip_prefix('"').and_then(|inner| inner.split_once('"'));
        let (word, left) =
            quoted.or_else(|| rest.split_once(char::is_whitespace)).unwrap_or((rest, ""));
        words.push(word);
        rest = left.trim_start();
    }
    words
}

/// Each field with its words: one, except for the field that takes all that the others leave.
fn fields<'a>(
    words: &'a [&'a str],
    fields: &[Field],
    wide: Field,
    line: u64,
) -> Result<Vec<(Field, &'a [&'a str])>, Error> {
    let Some(more) = words.len().checked_sub(fields.len()) else {
        let expected = format!("{} fields", fields.len());
        return Err(wrong(line, &expected, &words.join(" ")));
    };
    let has_wide = fields.contains(&wide);
    if more > 0 && !has_wide {
        let expected = format!("{} fields", fields.len());
        return Err(wrong(line, &expected, &words.join(" ")));
    }
    let mut at = 0;
    let mut taken = false;
    let mut found = Vec::new();
    for &field in fields {
        let width = if field == wide && !taken { 1 + more } else { 1 };
        taken |= field == wide;
        found.push((field, &words[at..at + width]));
        at += width;
    }
    Ok(found)
}

fn container(text: &str, order: &[Field], line: u64) -> Result<Container, Error> {
    let words = words(text);
    let mut container = Container {
        id: 0,
        level: String::new(),
        sibling: 0,
        name: String::new(),
        log_scale: false,
    };
    for (field, words) in fields(&words, order, Field::Name, line)? {
        let word = words[0];
        match field {
            Field::Id => container.id = number(word, "an id", line)?,
            Field::Level => word.clone_into(&mut container.level),
            Field::Sibling => container.sibling = number(word, "the number of an object", line)?,
            // Names may have blanks, as on the tool's own slides.
            Field::Name => container.name = words.join(" "),
            Field::LogScale => container.log_scale = number::<i64>(word, "0 or 1", line)? != 0,
            _ => {}
        }
    }
    Ok(container)
}

fn value(text: &str, order: &[Field], line: u64) -> Result<Value, Error> {
    let words = words(text);
    let mut value = Value { id: 0, phase: 0, time_us: 0, value: f64::NAN };
    for (field, words) in fields(&words, order, Field::Value, line)? {
        let word = words[0];
        match field {
            Field::Id => value.id = number(word, "an id", line)?,
            Field::Phase => value.phase = number(word, "a phase", line)?,
            Field::Time => value.time_us = number(word, "microseconds", line)?,
            Field::Value => value.value = decimal(words, line)?,
            _ => {}
        }
    }
    Ok(value)
}

fn number<T: std::str::FromStr>(word: &str, expected: &str, line: u64) -> Result<T, Error> {
    word.parse().map_err(|_| wrong(line, expected, word))
}

/// A number with a point or a comma, and possibly with blanks before and after that.
fn decimal(words: &[&str], line: u64) -> Result<f64, Error> {
    let text = words.concat().replace(',', ".");
    // Two separate numbers are not one: only a comma or point may be torn off.
    let torn = |pair: &[&str]| !pair[0].ends_with(['.', ',']) && !pair[1].starts_with(['.', ',']);
    match text.parse() {
        Ok(number) if !words.windows(2).any(torn) => Ok(number),
        _ => Err(wrong(line, "a number", &words.join(" "))),
    }
}
