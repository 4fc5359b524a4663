//! The first line of a `.prv`: date, duration and its unit, nodes, applications with their tasks,
//! number of communicators that follow.
//!
//! Owns this form, as one line:
//!
//! ```text
//! #Paraver (dd/mm/yyyy at hh:mm):<end>[_ns|_us|_ms|_s]:<nodes>(<cpus>,...):<applications>
//!     :<application>...[,<communicators>]
//! ```
//!
//! with `<application>` being `<tasks>(<threads>:<node>,...)`. Whatever the numbers claim, memory
//! is that of the listed items.

use talea_model::trace::{Locations, TimeUnit};

use super::careful::{Break, unsigned, wrong};

/// Contents of the first line.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) date: String,
    pub(super) unit: TimeUnit,
    /// Duration in units.
    pub(super) duration: u64,
    pub(super) locations: Locations,
    /// Number of lines of communicators that should follow; absent where the header has none.
    pub(super) communicators: Option<u64>,
    /// Number of tasks on nodes that are not listed.
    pub(super) lost_tasks: u64,
}

struct Text<'a> {
    line: &'a [u8],
    at: usize,
}

impl Text<'_> {
    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    fn wrong(&self, expected: impl Into<String>) -> Break {
        wrong(self.line, self.at, expected)
    }

    /// Takes one of these bytes.
    fn one_of(&mut self, bytes: &[u8], expected: &str) -> Result<u8, Break> {
        self.blanks();
        match self.peek().filter(|byte| bytes.contains(byte)) {
            Some(byte) => {
                self.at += 1;
                Ok(byte)
            }
            None => Err(self.wrong(expected)),
        }
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    fn number(&mut self, expected: &str) -> Result<u64, Break> {
        self.blanks();
        let begin = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        let number = unsigned(&self.line[begin..self.at]);
        let number = number.ok_or_else(|| wrong(self.line, begin, expected))?;
        self.blanks();
        Ok(number)
    }

    fn small(&mut self, expected: &str) -> Result<u32, Break> {
        let begin = self.at;
        let number = self.number(expected)?;
        u32::try_from(number).map_err(|_| wrong(self.line, begin, expected))
    }
}

/// Reads the first line, without its end.
pub(super) fn header(line: &[u8]) -> Result<Header, Break> {
    const START: &str = "a first line such as `#Paraver (dd/mm/yyyy at hh:mm):`";
    let mut text = Text { line, at: 0 };
    let start = line.get(..8).unwrap_or(line);
    if !start.eq_ignore_ascii_case(b"#Paraver") {
        return Err(text.wrong(START));
    }
    text.at = 8;
    text.blanks();
    text.one_of(b"(", "`(` and a date")?;
    let rest = &line[text.at..];
    // The date contains colons, so that fields begin only after its parenthesis.
    let Some(length) = memchr::memchr(b')', rest) else {
        return Err(wrong(line, line.len(), "`)` behind the date"));
    };
    let date = super::labels::text(&rest[..length]);
    text.at += length + 1;
    text.one_of(b":", "`:` behind the date")?;
    let duration = text.number("the duration of the trace")?;
    let unit = unit(&mut text)?;
    text.one_of(b":", "`:` behind the duration")?;
    let mut header = Header { date, unit, duration, ..Header::default() };
    nodes(&mut text, &mut header)?;
    text.one_of(b":", "`:` behind the nodes")?;
    applications(&mut text, &mut header)?;
    Ok(header)
}

fn unit(text: &mut Text) -> Result<TimeUnit, Break> {
    if text.peek() != Some(b'_') {
        return Ok(TimeUnit::Microseconds);
    }
    let rest = &text.line[text.at..];
    let length = memchr::memchr(b':', rest).unwrap_or(rest.len());
    let unit = match rest[..length].trim_ascii() {
        b"_ns" => TimeUnit::Nanoseconds,
        b"_us" => TimeUnit::Microseconds,
        b"_ms" => TimeUnit::Milliseconds,
        b"_s" | b"_sec" => TimeUnit::Seconds,
        _ => {
            return Err(
                text.wrong("one of the units _ns, _us, _ms and _s, or none for microseconds")
            );
        }
    };
    text.at += length;
    Ok(unit)
}

fn nodes(text: &mut Text, header: &mut Header) -> Result<(), Break> {
    let begin = text.at;
    let count = text.number("the number of nodes, or 0 where they are not known")?;
    let mut listed = Vec::new();
    if text.peek() == Some(b'(') {
        text.at += 1;
        text.blanks();
        while text.peek() != Some(b')') {
            listed.push(text.small("the number of CPUs of a node")?);
            if text.peek() != Some(b')') {
                text.one_of(b",", "`,` and the next node's CPUs, or `)`")?;
            }
        }
        text.at += 1;
    }
    if listed.len() as u64 != count {
        let expected = format!("{} nodes, as many as are listed", listed.len());
        return Err(wrong(text.line, begin, expected));
    }
    header.locations.nodes = listed;
    Ok(())
}

fn applications(text: &mut Text, header: &mut Header) -> Result<(), Break> {
    let count = text.number("the number of applications")?;
    if count == 0 && text.peek() == Some(b',') {
        // Nothing ran: only communicators are counted.
        text.at += 1;
        header.communicators = Some(text.number("the number of communicators")?);
    } else {
        text.one_of(b":", "`:` and the first application")?;
    }
    for number in 1..=count {
        application(text, header)?;
        // Communicators may be counted after each application, and any character stands before the
        // next one.
        while let Some(b',' | b':') = text.peek() {
            let separator = text.at;
            text.at += 1;
            text.blanks();
            if text.peek().is_none() {
                break;
            }
            let begin = text.at;
            let communicators = text.number("an application, or the number of communicators")?;
            if text.peek() == Some(b'(') {
                text.at = if number == count { separator } else { begin };
                break;
            }
            let sum = header.communicators.unwrap_or_default().saturating_add(communicators);
            header.communicators = Some(sum);
        }
    }
    text.blanks();
    match text.peek() {
        None => Ok(()),
        Some(_) => Err(text.wrong(format!("the end of the line behind {count} applications"))),
    }
}

fn application(text: &mut Text, header: &mut Header) -> Result<(), Break> {
    let begin = text.at;
    let tasks = text.number("the number of tasks of an application")?;
    text.one_of(b"(", "`(` and the threads of each task")?;
    text.blanks();
    header.locations.push_application();
    let mut listed = 0_u64;
    while text.peek() != Some(b')') {
        let at = text.at;
        let threads = text.small("the number of threads of a task")?;
        text.one_of(b":", "`:` and the task's node")?;
        let node = text.small("the node of a task")?;
        let nodes = header.locations.nodes.len();
        header.lost_tasks += u64::from(nodes > 0 && node as usize > nodes);
        header
            .locations
            .push_task(threads, node)
            .map_err(|error| wrong(text.line, at, error.to_string().replace("expected ", "")))?;
        listed += 1;
        if text.peek() != Some(b')') {
            text.one_of(b",", "`,` and the next task, or `)`")?;
        }
    }
    text.at += 1;
    text.blanks();
    if listed != tasks {
        return Err(wrong(text.line, begin, format!("{listed} tasks, as many as are listed")));
    }
    Ok(())
}
