//! Groups of LIKWID (`perfgroups/PROCESSOR/GROUP.txt`).
//!
//! Owns their sections: `SHORT` (title), `EVENTSET` (register and event), `METRICS` (name, and
//! after the last blank a formula over registers), `LONG` (prose, not read). Registers become their
//! events' names with the register's options (`EVENT:STATE=0x3F`); where several registers count
//! the same event, as memory channels do, `EVENT:REGISTER`. A register may be named without its
//! options. `time` is the time of computation, `inverseClock` one by the frequency of the time
//! stamp counter. A name in a formula that is not in the event set is a problem of that line.
//! Follows LIKWID's `perfgroup.c`.

use std::collections::{BTreeMap, HashMap, HashSet};

use talea_metric::expression::Expression;
use talea_metric::model::Problem;
use talea_metric::{Definition, Model};

use crate::definitions;

#[derive(Clone, Copy, PartialEq)]
enum Section {
    Before,
    EventSet,
    Metrics,
    Long,
}

/// Reads a group; `name` is that of the group.
pub fn read(bytes: &[u8], name: &str) -> Model {
    let text = definitions::text(bytes);
    let mut group = Group::default();
    let mut section = Section::Before;
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if section == Section::Long {
            break;
        }
        let first = line.split_whitespace().next().unwrap_or("");
        match first {
            "SHORT" => {
                group.title = definitions::sentence(line.strip_prefix("SHORT").unwrap_or(""));
            }
            "EVENTSET" => section = Section::EventSet,
            "METRICS" => section = Section::Metrics,
            "LONG" => section = Section::Long,
            "REQUIRE_NOHT" => {}
            _ => match section {
                Section::EventSet => group.event(line, number),
                Section::Metrics => group.lines.push((number, line.to_owned())),
                _ => group.problem(
                    number,
                    format!("expected SHORT, EVENTSET, METRICS or LONG, found `{}`", short(line)),
                ),
            },
        }
    }
    group.finish(name)
}

#[derive(Default)]
struct Group {
    title: String,
    /// Register and event.
    events: Vec<(String, String)>,
    /// Registers seen so far.
    registers: HashSet<String>,
    lines: Vec<(u64, String)>,
    problems: Vec<Problem>,
}

impl Group {
    fn problem(&mut self, line: u64, what: String) {
        self.problems.push(Problem { line, what });
    }

    fn event(&mut self, line: &str, number: u64) {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some(register), Some(event), None) => {
                // Its later name, with the register in it.
                let name = Expression::checked_counter(&format!("{event}:{register}"));
                if let Err(wrong) = name {
                    return self.problem(number, format!("`{}`: {wrong}", short(event)));
                }
                if self.registers.insert(register.to_owned()) {
                    self.events.push((register.to_owned(), event.to_owned()));
                } else {
                    self.problem(number, format!("`{register}` is there twice, the first counts"));
                }
            }
            _ => self.problem(
                number,
                format!("expected a register and an event, found `{}`", short(line)),
            ),
        }
    }

    fn finish(mut self, name: &str) -> Model {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, event) in &self.events {
            *counts.entry(event).or_default() += 1;
        }
        let mut registers: HashMap<String, Expression> = HashMap::new();
        for (register, event) in &self.events {
            let alone = counts.get(event.as_str()) == Some(&1);
            let (bare, options) = register.split_once(':').unwrap_or((register, ""));
            let name = match (alone, options) {
                (false, _) => format!("{event}:{register}"),
                (true, "") => event.clone(),
                (true, options) => format!("{event}:{options}"),
            };
            let counter = Expression::counter(&name);
            registers.entry(bare.to_owned()).or_insert_with(|| counter.clone());
            registers.insert(register.clone(), counter);
        }
        let mut metrics = Vec::new();
        for (line, text) in std::mem::take(&mut self.lines) {
            let Some((title, formula)) = text.rsplit_once(char::is_whitespace) else {
                self.problem(
                    line,
                    format!("expected a name and a formula, found `{}`", short(&text)),
                );
                continue;
            };
            let title = title.trim();
            let Some(expression) =
                definitions::expression(formula, title, line, &mut self.problems)
            else {
                continue;
            };
            match resolved(&expression, &registers) {
                Ok(expression) => {
                    let (title, unit) = with_unit(title);
                    metrics.push(Definition { unit, line, ..Definition::new(&title, expression) });
                }
                Err(what) => self.problem(line, format!("`{title}`: {what}")),
            }
        }
        for metric in &mut metrics {
            metric.description.clone_from(&self.title);
            metric.groups = vec![name.to_owned()];
        }
        definitions::finished(name, metrics, self.problems)
    }
}

/// The formula with events in place of registers.
fn resolved(
    formula: &Expression,
    registers: &HashMap<String, Expression>,
) -> Result<Expression, String> {
    let of_machine = |name: &str| {
        let text = match name {
            "time" => "duration_time",
            "inverseClock" => "1 / #system_tsc_freq",
            "num_sockets" => "#num_packages",
            "num_numadomains" => "#num_numadomains",
            "num_cores" => "#num_cores",
            _ => return None,
        };
        Expression::parse(text).ok()
    };
    let own: HashMap<&str, Expression> = formula
        .counters()
        .iter()
        .filter_map(|name| Some((name.as_str(), of_machine(name)?)))
        .collect();
    let mut counters = formula.counters().iter();
    if let Some(unknown) =
        counters.find(|name| !registers.contains_key(*name) && !own.contains_key(name.as_str()))
    {
        return Err(format!("the formula uses `{unknown}`, which the event set has not"));
    }
    formula
        .replace(|name| registers.get(name).or_else(|| own.get(name)))
        .map_err(|wrong| wrong.to_string())
}

/// `Power [W]` is `Power` in `W`.
fn with_unit(title: &str) -> (String, String) {
    match title.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        // Names stay as they are, as some groups have one in two units.
        Some((_, unit)) => (title.to_owned(), unit.trim().to_owned()),
        None => (title.to_owned(), String::new()),
    }
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = include_str!("../tests/samples/likwid.txt");

    #[test]
    fn registers_become_events_and_mistakes_have_lines() {
        let model = read(SAMPLE.as_bytes(), "STALLS");
        let lines: Vec<String> = model
            .metrics
            .iter()
            .map(|one| format!("{} {} = {} [{}]", one.line, one.name, one.expression, one.unit))
            .chain(model.problems.iter().map(ToString::to_string))
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
