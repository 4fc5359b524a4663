//! Lists of counters and their outputs: `EVSET` and `REDUCTION` of Hierarchical-monitors.
//!
//! Owns the outputs of a block. One output is the monitor itself; of several each is a monitor
//! `NAME:output`. A member of a list that is an earlier monitor with several outputs stands for all
//! of them. It refuses that project's compiled functions over samples: only expressions and `AGG`
//! are supported.

use std::collections::BTreeMap;
use std::ops::Range;

use talea_metric::expression::Expression;

use super::Aggregate;
use super::blocks::{Block, Field, Key, trimmed};
use super::fields::{Reader, Written};

/// Maximum number of counters of a list.
const MOST_MEMBERS: usize = 256;

/// The functions over all events of a list: `monitor_events_sum` and so on, in the older form
/// `MONITOR_EVSET_SUM`.
fn function_over_all(name: &str) -> Option<Aggregate> {
    let name = name.to_ascii_lowercase();
    let word = name.strip_prefix("monitor_events_").or(name.strip_prefix("monitor_evset_"))?;
    Aggregate::ALL.iter().find(|known| known.0 == word).map(|known| known.1)
}

/// Outputs of a block, with the last part of their names if there are several, and the aggregation
/// of a function.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    pub(super) all: Vec<(String, Written)>,
    pub(super) aggregate: Option<Aggregate>,
    /// Members of the list.
    pub(super) members: Vec<String>,
}

impl Reader<'_> {
    /// The outputs of a block; `earlier` are monitors with several of them.
    pub(super) fn outputs(
        &mut self,
        block: &Block,
        earlier: &BTreeMap<String, Vec<String>>,
        library: Option<&str>,
    ) -> Outputs {
        let (ctr, reduction) = (block.field(Key::Ctr), block.field(Key::Reduction));
        let mut outputs = Outputs::default();
        let mut spans = Vec::new();
        if let Some(evset) = block.field(Key::Evset) {
            for span in self.split(&evset.value) {
                // A single counter, which may have attributes such as `:u=1`.
                let Some(member) = self.expression(&span, &[]) else { continue };
                let Some(name) = member.expression.as_counter() else {
                    self.mistakes.note(span, "expected a counter or a monitor");
                    continue;
                };
                let names = earlier.get(name).cloned().unwrap_or_else(|| vec![name.to_owned()]);
                spans.extend(names.iter().map(|_| span.clone()));
                outputs.members.extend(names);
                if outputs.members.len() > MOST_MEMBERS {
                    let message = format!("expected at most {MOST_MEMBERS} counters");
                    self.mistakes.note(evset.value.clone(), message);
                    return Outputs::default();
                }
            }
            if outputs.members.is_empty() {
                return outputs;
            }
        }
        match (ctr, reduction) {
            (Some(_), Some(reduction)) => {
                self.mistakes
                    .note(reduction.key_span.clone(), "expected either `CTR` or `REDUCTION`");
            }
            (Some(ctr), None) => {
                let written = self.expression(&ctr.value, &outputs.members);
                outputs.all.extend(written.map(|written| (String::new(), written)));
            }
            (None, Some(reduction)) if !outputs.members.is_empty() => {
                self.reduction(reduction, library, &mut outputs, &spans);
            }
            _ if !outputs.members.is_empty() => outputs.all = each(&outputs.members, &spans),
            _ => {
                let message = format!("expected `CTR` in `{}`", block.name);
                let help = "for example `CTR = PAPI_L3_TCM;`".to_owned();
                self.mistakes.note_with(block.name_span.clone(), message, Some(help));
            }
        }
        outputs
    }

    /// `name = expression, ...` or a function.
    fn reduction(
        &mut self,
        field: &Field,
        library: Option<&str>,
        outputs: &mut Outputs,
        spans: &[Range<usize>],
    ) {
        let text = &self.text[field.value.clone()];
        let function = text.split_once('#').map_or(text, |(_, function)| function).trim();
        if let Some(aggregate) = function_over_all(function) {
            // In those libraries the events of `hierarchical` are those of the objects below.
            if matches!(library, Some("hierarchical" | "accumulate")) {
                outputs.aggregate = Some(aggregate);
                outputs.all = each(&outputs.members, spans);
            } else {
                let text = over_all(aggregate, outputs.members.len());
                let parsed = Expression::parse_with(&text, &outputs.members);
                match parsed {
                    Ok(parsed) => {
                        let spans = parsed.spans.iter().map(|_| field.value.clone()).collect();
                        let written = Written { expression: parsed.expression, spans };
                        outputs.all.push((String::new(), written));
                    }
                    Err(error) => self.mistakes.note(field.value.clone(), error.to_string()),
                }
            }
            return;
        }
        let compiled = ["monitor_", "MONITOR_", "gsl_"];
        if text.contains('#') || compiled.iter().any(|prefix| function.starts_with(prefix)) {
            let help = "write expressions over $0, $1 ..., or one of monitor_events_sum, _mean, _min, _max";
            let shown: String = function.chars().take(40).collect();
            let message = format!("expected an expression, found the function `{shown}`");
            self.mistakes.note_with(field.value.clone(), message, Some(help.to_owned()));
            return;
        }
        let parts = self.split(&field.value);
        for (i, part) in parts.into_iter().enumerate() {
            let text = &self.text[part.clone()];
            // `=` belongs to a counter's name only after `:`.
            let named = text.split_once('=').filter(|(name, _)| !name.contains([':', '"', '$']));
            let (name, body) = match named {
                Some((name, body)) => (name.trim().to_owned(), part.end - body.len()..part.end),
                None => (i.to_string(), part.clone()),
            };
            if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c)) {
                self.mistakes.note(part, "expected an output such as `ipc=$1/$0`");
                continue;
            }
            let body = trimmed(self.text, body);
            outputs.all.extend(self.expression(&body, &outputs.members).map(|w| (name, w)));
        }
    }

    /// Parts between commas that are neither in quotes nor in parentheses.
    fn split(&mut self, span: &Range<usize>) -> Vec<Range<usize>> {
        let (mut parts, mut start) = (Vec::new(), span.start);
        let (mut quoted, mut depth) = (false, 0_i32);
        for (at, c) in self.text[span.clone()].char_indices() {
            match c {
                '"' => quoted = !quoted,
                '(' if !quoted => depth += 1,
                ')' if !quoted => depth -= 1,
                ',' if !quoted && depth <= 0 => {
                    parts.push(trimmed(self.text, start..span.start + at));
                    start = span.start + at + 1;
                }
                _ => {}
            }
        }
        parts.push(trimmed(self.text, start..span.end));
        parts
    }
}

/// Each member as its own output.
fn each(members: &[String], spans: &[Range<usize>]) -> Vec<(String, Written)> {
    let written = |(name, span): (&String, &Range<usize>)| {
        let expression = Expression::counter(name);
        (name.clone(), Written { expression, spans: vec![span.clone()] })
    };
    members.iter().zip(spans).map(written).collect()
}

/// A function over the whole list as an expression.
fn over_all(function: Aggregate, members: usize) -> String {
    let all: Vec<String> = (0..members).map(|i| format!("${i}")).collect();
    match function {
        _ if members == 1 => "$0".to_owned(),
        Aggregate::Sum => all.join("+"),
        Aggregate::Mean => format!("({})/{members}", all.join("+")),
        Aggregate::Min => format!("min({})", all.join(",")),
        Aggregate::Max => format!("max({})", all.join(",")),
    }
}
