//! Metrics of Intel's perfmon repository (`PROCESSOR/metrics/*.json`).
//!
//! Owns formulas over aliases: each item names its events and constants, whose aliases the formula
//! uses. Aliases become the events' names; constants become numbers or Linux' literals for them.
//! The tree is given by `ParentCategory` and `Level`, thresholds refer to `LegacyName`s, or in
//! older files have forms such as `> 10 & P`, where `P` is the threshold of the parent. It refuses
//! the rest.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use talea_metric::expression::{Expression, Wrong};
use talea_metric::model::Problem;
use talea_metric::{Definition, Model};

use crate::definitions::{self, ModelError};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Item {
    metric_name: Option<String>,
    #[serde(default)]
    legacy_name: String,
    parent_category: Option<String>,
    level: Option<u32>,
    #[serde(default)]
    brief_description: String,
    #[serde(default)]
    unit_of_measure: String,
    #[serde(default)]
    events: Vec<Alias>,
    #[serde(default)]
    constants: Vec<Alias>,
    formula: Option<String>,
    #[serde(default)]
    category: String,
    #[serde(default)]
    threshold: Option<Threshold>,
    #[serde(default)]
    metric_group: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Alias {
    name: String,
    alias: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Threshold {
    Text(String),
    #[serde(rename_all = "PascalCase")]
    Formula {
        #[serde(default)]
        formula: String,
        #[serde(default)]
        threshold_metrics: Vec<Value>,
    },
}

/// An alias of a threshold's formula.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Value {
    alias: String,
    value: String,
}

/// Reads the metrics of a file.
pub fn read(bytes: &[u8], name: &str) -> Result<Model, ModelError> {
    let text = definitions::text(bytes);
    let (raw, mut problems) = definitions::items(&text)?;
    let mut items: Vec<(u64, String, Item)> = Vec::new();
    for (line, raw) in raw {
        let item: Result<Item, _> = serde_json::from_str(raw.get());
        match item {
            Ok(mut item) => match item.metric_name.take().filter(|name| !name.is_empty()) {
                Some(name) => items.push((line, name, item)),
                None => problems.push(Problem { line, what: "expected a `MetricName`".into() }),
            },
            Err(error) => {
                problems.push(Problem { line, what: format!("expected a metric: {error}") });
            }
        }
    }
    let legacy: HashMap<String, String> =
        items.iter().map(|(_, name, item)| (item.legacy_name.clone(), name.clone())).collect();
    // Texts of thresholds by metric, for the `P` of their parts.
    let mut thresholds: BTreeMap<String, String> = BTreeMap::new();
    let mut metrics = Vec::new();
    for (line, name, item) in items {
        let Some(formula) = &item.formula else {
            problems.push(Problem { line, what: format!("`{name}`: expected a `Formula`") });
            continue;
        };
        let Some(expression) = definitions::expression(formula, &name, line, &mut problems) else {
            continue;
        };
        let expression = match unaliased(&expression, &item) {
            Ok(expression) => expression,
            Err(wrong) => {
                problems.push(Problem { line, what: format!("`{name}`: {wrong}") });
                continue;
            }
        };
        let parent = item.parent_category.clone().filter(|parent| !parent.is_empty());
        let threshold = threshold(&name, &item, parent.as_deref(), &legacy, &thresholds);
        let threshold = threshold.and_then(|text| {
            let read =
                definitions::expression(&text, &format!("{name}, threshold"), line, &mut problems)?;
            thresholds.insert(name.clone(), text);
            Some(read)
        });
        let mut groups = definitions::groups(&item.metric_group);
        if !item.category.is_empty() {
            groups.insert(0, item.category.clone());
        }
        metrics.push(Definition {
            unit: unit(&item.unit_of_measure),
            description: definitions::sentence(&item.brief_description),
            groups,
            parent,
            level: item.level,
            threshold,
            line,
            ..Definition::new(&name, expression)
        });
    }
    Ok(definitions::finished(name, metrics, problems))
}

/// The formula with events and literals in place of aliases.
fn unaliased(formula: &Expression, item: &Item) -> Result<Expression, String> {
    let mut aliases: HashMap<&str, Expression> = HashMap::new();
    for event in &item.events {
        let counter =
            Expression::checked_counter(&event.name).map_err(|wrong| wrong.to_string())?;
        aliases.insert(&event.alias, counter);
    }
    for constant in &item.constants {
        let value = literal(&constant.name).map_err(|wrong| wrong.to_string())?;
        aliases.insert(&constant.alias, value);
    }
    let own: HashMap<&str, Expression> = formula
        .counters()
        .iter()
        .filter(|name| !aliases.contains_key(name.as_str()))
        .filter_map(|name| Some((name.as_str(), literal(name).ok()?)))
        .collect();
    let unknown = own.iter().filter(|(name, read)| read.as_counter() == Some(**name));
    if let Some((name, _)) = unknown.min_by_key(|(name, _)| **name) {
        return Err(format!(
            "the formula uses `{name}`, which is no alias of an event or a constant"
        ));
    }
    formula
        .replace(|name| aliases.get(name).or_else(|| own.get(name)))
        .map_err(|wrong| wrong.to_string())
}

/// Value of a constant: a number, or Linux' name of it.
fn literal(name: &str) -> Result<Expression, Wrong> {
    let plain = name.trim().trim_start_matches('#').to_ascii_uppercase();
    let text = match plain.as_str() {
        "HYPERTHREADING_ON" | "SMT_ON" => "#smt_on",
        "SYSTEM_TSC_FREQ" => "#system_tsc_freq",
        "SOCKET_COUNT" | "SYSTEM_SOCKET_COUNT" => "#num_packages",
        "THREADS_PER_CORE" | "THREADS" => "#num_cpus / #num_cores",
        "CORES_PER_SOCKET" => "#num_cores / #num_packages",
        "CHAS_PER_SOCKET" => "#chas_per_socket",
        "DURATIONTIMEINSECONDS" => "duration_time",
        "DURATIONTIMEINMILLISECONDS" => "duration_time * 1000",
        _ if plain.parse::<f64>().is_ok_and(f64::is_finite) => plain.as_str(),
        _ if name.starts_with('#') => name,
        _ => return Expression::checked_counter(name),
    };
    Expression::parse(text).or_else(|_| Expression::checked_counter(name))
}

/// Maximum bytes of a word that may be a name with parentheses around it.
const LONGEST_WORD: usize = 1_000;

/// The text of a threshold over names of metrics.
fn threshold(
    name: &str,
    item: &Item,
    parent: Option<&str>,
    legacy: &HashMap<String, String>,
    of_others: &BTreeMap<String, String>,
) -> Option<String> {
    let quoted = |name: &str| format!("\"{name}\"");
    match item.threshold.as_ref()? {
        Threshold::Text(text) => {
            // Text after `;` names other metrics to look at.
            let text = text.split(';').next().unwrap_or("").trim();
            if text.is_empty() {
                return None;
            }
            let mut asked = parent.and_then(|parent| of_others.get(parent));
            let terms = text.split('&').map(str::trim).map(|term| match term {
                // Only the first one is replaced: a file may have any number of them.
                "P" => asked.take().map(|text| format!("({text})")),
                term if term.starts_with(['<', '>']) => Some(format!("{} {term}", quoted(name))),
                term => Some(term.to_owned()),
            });
            Some(terms.flatten().collect::<Vec<_>>().join(" & "))
        }
        Threshold::Formula { formula, threshold_metrics } => {
            if formula.trim().is_empty() {
                return None;
            }
            let mut aliases: HashMap<&str, &str> = HashMap::new();
            for one in threshold_metrics {
                aliases.entry(&one.alias).or_insert(&one.value);
            }
            let named = |word: &str| {
                let value = aliases.get(word).copied().unwrap_or(word);
                legacy.get(value).map(|name| quoted(name))
            };
            let words = formula.split_whitespace().map(|word| {
                // Names are never that long; each parenthesis after one is tried.
                if word.len() > LONGEST_WORD {
                    return word.to_owned();
                }
                let open = word.len() - word.trim_start_matches('(').len();
                let mut end = word.len();
                loop {
                    if let Some(name) = named(&word[open..end]) {
                        return format!("{}{name}{}", &word[..open], &word[end..]);
                    }
                    if end <= open || !word[open..end].ends_with(')') {
                        return word.to_owned();
                    }
                    end -= 1;
                }
            });
            Some(words.collect::<Vec<_>>().join(" "))
        }
    }
}

fn unit(text: &str) -> String {
    match text.trim() {
        "percent" => "%".to_owned(),
        other => {
            other.strip_prefix("per ").map_or_else(|| other.to_owned(), |per| format!("1/{per}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = include_str!("../tests/samples/perfmon.json");

    #[test]
    fn formulas_over_aliases_become_formulas_over_events() {
        let model = read(SAMPLE.as_bytes(), "sample").unwrap();
        let lines: Vec<String> = model
            .metrics
            .iter()
            .map(|one| {
                let threshold = one.threshold.as_ref().map(ToString::to_string);
                let parent = one.parent.as_deref();
                format!(
                    "{} {} = {} [{}] {parent:?} if {threshold:?}",
                    one.line, one.name, one.expression, one.unit
                )
            })
            .chain(model.problems.iter().map(ToString::to_string))
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
