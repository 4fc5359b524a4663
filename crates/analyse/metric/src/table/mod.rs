//! Metrics of performance, architecture and instruction mix from the available counters.
//!
//! Owns the choice between counters: a metric is an expression over quantities, a quantity an
//! expression over counters, and of several the first whose counters were all measured. A metric
//! that cannot be computed names the counters that would suffice, and a physically impossible value
//! ([`crate::limits`]) is absent. It follows the table of Labarta's "Obtaining Extremely Detailed
//! Information at Scale", slides 19 and 20. It refuses to know the source of numbers: a run, a rank
//! and a cluster of bursts are the same to it.

mod quantities;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use quantities::{CACHE_LINE, QUANTITIES};
use rows::ROWS;

use crate::catalogue;
use crate::expression::{Absent, Expression};
use crate::limits::{LINES_A_PROBE, Limit};
use crate::synonyms::Known;

/// The three parts of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// Times and rates.
    Performance,
    /// Behaviour of caches and pipelines.
    Architecture,
    /// Kinds of instructions.
    InstructionMix,
}

impl Category {
    /// Title for a head line.
    pub fn title(self) -> &'static str {
        match self {
            Self::Performance => "Performance",
            Self::Architecture => "Architecture",
            Self::InstructionMix => "Instruction mix",
        }
    }
}

/// A metric of the table with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluated {
    /// Part of the table.
    pub category: Category,
    /// Key for programs; it does not change.
    pub key: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// Unit of the value: a base unit (`s`, `B/s`), `%`, or a word; empty for plain ratios.
    pub unit: &'static str,
    /// One line without a full stop.
    pub description: &'static str,
    /// The value, or the counters that it needs.
    pub value: Result<f64, String>,
    /// The expression over counters that gave the value.
    pub from: Option<Expression>,
    /// True if its counters are available: without a value, they are impossible.
    pub measured: bool,
}

struct Quantity {
    title: &'static str,
    alternatives: Vec<Expression>,
}

struct Metric {
    row: &'static rows::Row,
    alternatives: Vec<Expression>,
}

static PARSED: LazyLock<(BTreeMap<&'static str, Quantity>, Vec<Metric>)> = LazyLock::new(|| {
    let parse = |texts: &[&str]| -> Vec<Expression> {
        texts.iter().filter_map(|text| Expression::parse(text).ok()).collect()
    };
    let quantities = QUANTITIES.iter().map(|&(name, title, texts)| {
        let mut alternatives = parse(texts);
        // Events of perf from which a preset can be computed.
        for preset in texts.iter().filter(|text| text.starts_with("PAPI_")) {
            let more = catalogue::derived(preset);
            alternatives.extend(
                more.into_iter().filter(|one| !alternatives.contains(one)).collect::<Vec<_>>(),
            );
        }
        (name, Quantity { title, alternatives })
    });
    let metrics = ROWS.iter().map(|row| Metric { row, alternatives: parse(row.5) });
    (quantities.collect(), metrics.collect())
});

/// Names that [`metrics_of`] knows beside counters, for callers that fill the map.
///
/// `duration_time`: seconds of computation that the counters belong to, summed over locations ·
/// `total_time`: seconds of everything, summed likewise · `elapsed_time`: elapsed seconds ·
/// `bursts`: their number · `probes`: number of readings of counters meanwhile · `preempted_time`:
/// seconds in which something else ran · `#cache_line`: bytes of a line, 64 by default.
pub const NAMES: [&str; 7] = [
    "duration_time",
    "total_time",
    "elapsed_time",
    "bursts",
    "probes",
    "preempted_time",
    "#cache_line",
];

/// The whole table for numbers by name: counters by the names of PAPI, perf or the processor, and
/// [`NAMES`]. Non-finite numbers are missing.
pub fn metrics_of(values: &BTreeMap<String, f64>) -> Vec<Evaluated> {
    let known = Known::new(values);
    let number =
        |name: &str| known.number(name).or_else(|| (name == "#cache_line").then_some(CACHE_LINE));
    // The names under which the numbers are known, where those differ.
    let own = |expression: &Expression| {
        let names = expression.counters().iter().map(String::as_str);
        let others: BTreeMap<&str, Expression> = names
            .filter_map(|name| match known.names(name)[..] {
                [other] if other != name => Some((name, Expression::counter(other))),
                _ => None,
            })
            .collect();
        expression.replace(|name| others.get(name)).unwrap_or_else(|_| expression.clone())
    };
    let (quantities, metrics) = &*PARSED;
    let found: Found<'_> = quantities
        .iter()
        .map(|(&name, quantity)| {
            let wrong = |value: f64, from: &Expression| match name {
                "l3_misses" => lines_of_probes(value, &own(from), &number),
                "memory_bytes" => {
                    lines_of_probes(value / number("#cache_line")?, &own(from), &number)
                }
                _ => None,
            };
            let value = first(&quantity.alternatives, &number, &wrong);
            (name, value.map(|(value, from)| (value, own(from))))
        })
        .collect();
    metrics.iter().map(|metric| evaluated(metric, quantities, &found)).collect()
}

/// Quantities by name, each with the expression over counters that gave it.
type Found<'a> = BTreeMap<&'a str, Result<(f64, Expression), Absent>>;

/// The value of the first alternative whose counters are available. Without one, the error of an
/// alternative that lacks nothing, or the missing counters of the alternative that lacks the
/// fewest.
fn first<'a>(
    alternatives: &'a [Expression],
    number: &impl Fn(&str) -> Option<f64>,
    wrong: &dyn Fn(f64, &Expression) -> Option<String>,
) -> Result<(f64, &'a Expression), Absent> {
    let mut reason: Option<Vec<String>> = None;
    for expression in alternatives {
        match expression.value(number) {
            // Counts, times and their quotients cannot be negative: misses of one level minus those
            // of another may be.
            Ok(value) if value < 0.0 => return Err(Absent::Negative(expression.to_string())),
            Ok(value) => match wrong(value, expression) {
                Some(why) => return Err(Absent::Impossible(why)),
                None => return Ok((value, expression)),
            },
            Err(Absent::Missing(names)) => {
                if reason.as_ref().is_none_or(|fewest: &Vec<String>| names.len() < fewest.len()) {
                    reason = Some(names);
                }
            }
            Err(why) => return Err(why),
        }
    }
    Err(reason.map_or(Absent::NotANumber, Absent::Missing))
}

/// Reason why misses of the last cache are no figure of the program: probes may have caused all of
/// them.
fn lines_of_probes(
    lines: f64,
    from: &Expression,
    number: &impl Fn(&str) -> Option<f64>,
) -> Option<String> {
    let each = lines / number("probes").filter(|&probes| probes > 0.0)?;
    let names: Vec<&str> =
        from.counters().iter().map(String::as_str).filter(|name| !name.starts_with('#')).collect();
    // Memory controllers do not belong to the core.
    let own = !names.iter().any(|name| name.starts_with("imc:"));
    (own && each < LINES_A_PROBE).then(|| {
        format!(
            "{} counts {} misses for each time that counters were read, which may cause \
             {LINES_A_PROBE} itself",
            names.join(" + "),
            short(each)
        )
    })
}

fn evaluated(
    metric: &Metric,
    quantities: &BTreeMap<&str, Quantity>,
    found: &Found<'_>,
) -> Evaluated {
    let &(category, key, name, unit, description, _, limit) = metric.row;
    let number = |name: &str| found.get(name)?.as_ref().ok().map(|(value, _)| *value);
    let from = |expression: &Expression| {
        let of = |name: &str| Some(&found.get(name)?.as_ref().ok()?.1);
        expression.replace(of).unwrap_or_else(|_| expression.clone())
    };
    let beyond = |value: f64, expression: &Expression| impossible(value, &from(expression), limit);
    let outcome = first(&metric.alternatives, &number, &beyond);
    let measured = match &outcome {
        Err(Absent::Missing(names)) => names
            .iter()
            .all(|name| matches!(found.get(name.as_str()), Some(Err(why)) if cannot_be(why))),
        Err(why) => cannot_be(why),
        Ok(_) => true,
    };
    let (value, from) = match outcome {
        Ok((value, expression)) => (Ok(value), Some(from(expression))),
        Err(why) => (Err(reason(&why, quantities, found)), None),
    };
    Evaluated { category, key, name, unit, description, value, from, measured }
}

/// True if counters are available and their values impossible.
fn cannot_be(why: &Absent) -> bool {
    matches!(why, Absent::Impossible(_) | Absent::Negative(_))
}

/// Reason for an impossible value, and its expression.
fn impossible(value: f64, from: &Expression, limit: Limit) -> Option<String> {
    let bound = limit.exceeded(value)?;
    let than = if value < bound { "less" } else { "more" };
    Some(format!("{from} is {}, {than} than is possible ({})", short(value), short(bound)))
}

/// A number of any size in few characters.
fn short(value: f64) -> String {
    if value == 0.0 || (1e-3..1e6).contains(&value.abs()) {
        talea_model::units::three_digits(value)
    } else {
        format!("{value:.2e}")
    }
}

/// The missing quantities and the counters that would give them.
fn reason(why: &Absent, quantities: &BTreeMap<&str, Quantity>, found: &Found<'_>) -> String {
    let title = |name: &str| quantities.get(name).map_or("", |quantity| quantity.title);
    match why {
        Absent::Missing(names) => {
            let each = names.iter().map(|name| match found.get(name.as_str()) {
                Some(Err(Absent::Missing(_))) | None => {
                    format!("no {}: {}", title(name), counters(quantities.get(name.as_str())))
                }
                Some(Err(Absent::Impossible(why))) => why.clone(),
                Some(Err(other)) => format!("no {}: {other}", title(name)),
                Some(Ok(_)) => String::new(),
            });
            each.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
        }
        Absent::DivisionByZero(name) => {
            let title = title(name);
            let what = if title.is_empty() { name } else { title };
            format!("division by zero: {what}: 0")
        }
        other => other.to_string(),
    }
}

/// Counters that would suffice, a few of them.
fn counters(quantity: Option<&Quantity>) -> String {
    const SHOWN: usize = 3;
    let Some(quantity) = quantity else { return String::new() };
    let texts: Vec<String> = quantity
        .alternatives
        .iter()
        .take(SHOWN)
        .map(|one| one.to_string().replace('"', ""))
        .collect();
    let more = if quantity.alternatives.len() > SHOWN { " ..." } else { "" };
    format!("{}{more} not measured", texts.join(" or "))
}
