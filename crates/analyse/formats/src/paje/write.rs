//! From a trace to text.

use std::fmt::Write as _;

use super::{Container, Trace, Value};

const DEFINITIONS: &str = "\
%EventDef val 0
%  Id int
%  Phase int
%  Time_us date
%  Value double
%EndEventDef
%EventDef container 1
%  Id int
%  Level string
%  Sibling int
%  Name string
%  Logscale int
%EndEventDef
";

/// The text of a trace.
pub fn write(trace: &Trace) -> String {
    write_containers(&trace.containers) + &write_values(&trace.values)
}

/// The beginning of a trace that grows: definitions and containers.
pub fn write_containers(containers: &[Container]) -> String {
    let mut text = DEFINITIONS.to_owned();
    for container in containers {
        let log_scale = u8::from(container.log_scale);
        let (id, sibling) = (container.id, container.sibling);
        let (level, name) = (word(&container.level), word(&container.name));
        let _ = writeln!(text, "1 {id} {level} {sibling} {name} {log_scale}");
    }
    text
}

/// Lines of values, with decimal points and every digit needed to read the same number again.
///
/// Absent values (`NaN`) have no line: the format has no form for them.
pub fn write_values(values: &[Value]) -> String {
    let mut text = String::new();
    for value in values.iter().filter(|value| !value.value.is_nan()) {
        let (id, phase, time) = (value.id, value.phase, value.time_us);
        let _ = writeln!(text, "0 {id} {phase} {time} {}", value.value);
    }
    text
}

/// A text as one word: in quotes where it has blanks, without characters that would end it.
fn word(text: &str) -> String {
    let clean: String =
        text.chars().map(|c| if c == '"' || c.is_control() { '\'' } else { c }).collect();
    let plain = !clean.is_empty() && !clean.contains(char::is_whitespace);
    if plain { clean } else { format!("\"{clean}\"") }
}
