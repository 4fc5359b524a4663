//! From labels and names of rows to a `.pcf` and a `.row`.
//!
//! Owns the order of sections, that of Extrae's files. Types that share their values, and stand
//! side by side, share a block.

use std::fmt::Write;

use talea_model::trace::{Labels, Level};

/// Without line ends: a name is one line.
fn one_line(text: &str) -> String {
    text.trim_ascii().replace(['\n', '\r'], " ")
}

/// A `.pcf`.
pub fn write_labels(labels: &Labels) -> String {
    let mut out = String::new();
    pairs(&mut out, "DEFAULT_OPTIONS", &labels.options);
    pairs(&mut out, "DEFAULT_SEMANTIC", &labels.semantic);
    let states = labels.states.iter();
    let named = states.clone().filter_map(|one| Some((one.number, one.name.clone()?)));
    numbered(&mut out, "STATES", named);
    let coloured = states.filter_map(|one| Some((one.number, colour(one.colour?))));
    numbered(&mut out, "STATES_COLOR", coloured);
    event_types(&mut out, labels);
    let gradients = labels.gradients.iter();
    let coloured = gradients.clone().filter_map(|one| Some((one.number, colour(one.colour?))));
    numbered(&mut out, "GRADIENT_COLOR", coloured);
    let named = gradients.filter_map(|one| Some((one.number, one.name.clone()?)));
    numbered(&mut out, "GRADIENT_NAMES", named);
    for raw in &labels.raw {
        out.push_str(&one_line(&raw.title));
        out.push('\n');
        for line in &raw.lines {
            out.push_str(&one_line(line));
            out.push('\n');
        }
        out.push_str("\n\n");
    }
    out
}

fn event_types(out: &mut String, labels: &Labels) {
    let alike = |a: &talea_model::trace::EventType, b: &talea_model::trace::EventType| {
        (a.values, a.precision) == (b.values, b.precision)
    };
    for block in labels.event_types.chunk_by(alike) {
        out.push_str("EVENT_TYPE\n");
        for one in block {
            // Text formatting into a String cannot fail.
            let _ = writeln!(out, "{}    {}    {}", one.gradient, one.number, one_line(&one.label));
        }
        let Some(first) = block.first() else { continue };
        if let Some(digits) = first.precision {
            let _ = writeln!(out, "PRECISION {digits}");
        }
        if let Some(set) = first.values.and_then(|set| labels.value_sets.get(set as usize)) {
            out.push_str("VALUES\n");
            for (value, label) in set.iter() {
                let _ = writeln!(out, "{value}   {}", one_line(label));
            }
        }
        out.push_str("\n\n");
    }
}

fn colour([red, green, blue]: [u8; 3]) -> String {
    format!("{{{red},{green},{blue}}}")
}

fn numbered(out: &mut String, title: &str, entries: impl Iterator<Item = (u32, String)>) {
    let mut entries = entries.peekable();
    if entries.peek().is_none() {
        return;
    }
    out.push_str(title);
    out.push('\n');
    for (number, text) in entries {
        let _ = writeln!(out, "{number}    {}", one_line(&text));
    }
    out.push_str("\n\n");
}

fn pairs(out: &mut String, title: &str, entries: &[(String, String)]) {
    if entries.is_empty() {
        return;
    }
    out.push_str(title);
    out.push_str("\n\n");
    for (key, value) in entries {
        let _ = writeln!(out, "{:<19} {}", one_line(key), one_line(value));
    }
    out.push_str("\n\n");
}

/// A `.row`.
pub fn write_rows(levels: &[Level]) -> String {
    let mut out = String::new();
    for (number, level) in levels.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let _ = writeln!(out, "LEVEL {} SIZE {}", one_line(&level.name), level.rows.len());
        for row in &level.rows {
            out.push_str(&row.replace(['\n', '\r'], " "));
            out.push('\n');
        }
    }
    out
}
