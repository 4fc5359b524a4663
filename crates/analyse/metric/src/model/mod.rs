//! Models: trees of metrics that refer to each other, such as CPI stacks and top-down analysis.
//!
//! Owns the common form of all formats of such models ([`Definition`]), the order in which metrics
//! need each other, their values with reasons, and the tree with the sums of children. Readers of
//! `formats` fill models; three of Talea's own are in [`builtin`]. Metrics that are defined by
//! themselves have no value, and a reason. It refuses recursion, however deep references go.

pub mod builtin;
mod references;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::{BTreeMap, BTreeSet};

use crate::expression::{Absent, Expression};
use crate::synonyms;

pub use tree::{Node, Split};

/// A metric as its author defines it.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Its name; other metrics refer to it by this.
    pub name: String,
    /// Unit after the value.
    pub unit: String,
    /// Factor of the displayed value; references take the value without it.
    pub scale: f64,
    /// One line for people.
    pub description: String,
    /// Expression of counters, other metrics of the model, and literals.
    pub expression: Expression,
    /// The author's groups.
    pub groups: Vec<String>,
    /// The metric that this is a part of.
    pub parent: Option<String>,
    /// Depth in the author's tree, from 1.
    pub level: Option<u32>,
    /// Not zero where the author considers the value worth a look.
    pub threshold: Option<Expression>,
    /// Line of the file, from 1; 0 where there is none.
    pub line: u64,
}

impl Definition {
    /// A metric without optional properties.
    pub fn new(name: &str, expression: Expression) -> Self {
        Self {
            name: name.to_owned(),
            unit: String::new(),
            scale: 1.0,
            description: String::new(),
            expression,
            groups: Vec::new(),
            parent: None,
            level: None,
            threshold: None,
            line: 0,
        }
    }
}

/// A problem of a model, and the line of its file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Line number, from 1; 0 for the whole file.
    pub line: u64,
    /// The expected and the found text.
    pub what: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => out.write_str(&self.what),
            line => write!(out, "line {line}: {}", self.what),
        }
    }
}

/// Metrics of one file, or of one kind of processor.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// Metrics in the order of the file; names are unique.
    pub metrics: Vec<Definition>,
    /// Parts that could not be used, or look wrong; the rest is valid.
    pub problems: Vec<Problem>,
    /// For each metric those that its expression refers to.
    references: Vec<Vec<u32>>,
    /// Metrics in an order in which each comes after those that it refers to, except for those on a
    /// cycle.
    order: Vec<u32>,
    /// Metrics on a cycle, with the text of the cycle.
    cycles: BTreeMap<u32, String>,
}

/// Names two of some columns that do not belong together.
pub type Apart<'a> = dyn FnMut(&BTreeSet<usize>) -> Option<(String, String)> + 'a;

impl Model {
    /// Sorts definitions. Of those with the same name the first counts; duplicates and cycles are
    /// problems.
    pub fn new(name: &str, definitions: Vec<Definition>, mut problems: Vec<Problem>) -> Self {
        let mut places: BTreeMap<String, u32> = BTreeMap::new();
        let mut metrics: Vec<Definition> = Vec::with_capacity(definitions.len());
        for definition in definitions {
            if places.contains_key(&definition.name) {
                let what = format!("`{}` is defined twice, the first counts", definition.name);
                problems.push(Problem { line: definition.line, what });
            } else {
                places.insert(definition.name.clone(), metrics.len() as u32);
                metrics.push(definition);
            }
        }
        let references = references::by_metric(&metrics, &places);
        let (order, cycles) = references::order(&metrics, &references);
        for (&metric, round) in &cycles {
            let what = format!("`{}` is defined by itself: {round}", metrics[metric as usize].name);
            problems.push(Problem { line: metrics[metric as usize].line, what });
        }
        problems.sort();
        Self { name: name.to_owned(), metrics, problems, references, order, cycles }
    }

    /// The value of each metric, not scaled, for numbers by the names of counters and literals; or
    /// the reason why there is none.
    pub fn evaluate(&self, number: &dyn Fn(&str) -> Option<f64>) -> Vec<Result<f64, Absent>> {
        let unknown = || Err(Absent::NotANumber);
        let mut values: Vec<Result<f64, Absent>> = self.metrics.iter().map(|_| unknown()).collect();
        for (&metric, round) in &self.cycles {
            values[metric as usize] = Err(Absent::Cycle(round.clone()));
        }
        for &metric in &self.order {
            values[metric as usize] =
                self.value(metric, &self.metrics[metric as usize].expression, &values, number);
        }
        values
    }

    /// Removes the value of metrics whose counters, their own and those of the metrics that they
    /// refer to, do not belong together. `columns` are the places of the counters that a name
    /// stands for; `apart` names two of them that do not belong together.
    pub fn refuse_apart(
        &self,
        values: &mut [Result<f64, Absent>],
        columns: &dyn Fn(&str) -> Vec<usize>,
        apart: &mut Apart<'_>,
    ) {
        let mut needed = vec![BTreeSet::new(); self.metrics.len()];
        for &metric in &self.order {
            let at = metric as usize;
            let references = &self.references[at];
            let mut needs: BTreeSet<usize> = BTreeSet::new();
            for name in self.metrics[at].expression.counters() {
                let other =
                    references.iter().find(|&&other| self.metrics[other as usize].name == *name);
                match other {
                    Some(&other) => needs.extend(&needed[other as usize]),
                    None => needs.extend(columns(name)),
                }
            }
            if values[at].is_ok()
                && let Some((a, b)) = apart(&needs)
            {
                values[at] = Err(Absent::Apart(a, b));
            }
            needed[at] = needs;
        }
    }

    /// For each metric true if it exceeds its author's threshold; `None` where that is unknown.
    pub fn exceeded(
        &self,
        values: &[Result<f64, Absent>],
        number: &dyn Fn(&str) -> Option<f64>,
    ) -> Vec<Option<bool>> {
        let places: BTreeMap<&str, usize> =
            self.metrics.iter().zip(0..).map(|(metric, at)| (metric.name.as_str(), at)).collect();
        let of = |name: &str| match places.get(name) {
            Some(&at) => values.get(at)?.as_ref().ok().copied(),
            None => synonyms::lookup(name, number),
        };
        let each = self.metrics.iter().map(|metric| {
            let value = metric.threshold.as_ref()?.value(of).ok()?;
            Some(value != 0.0)
        });
        each.collect()
    }

    /// The value of a metric whose references have theirs.
    fn value(
        &self,
        metric: u32,
        expression: &Expression,
        values: &[Result<f64, Absent>],
        number: &dyn Fn(&str) -> Option<f64>,
    ) -> Result<f64, Absent> {
        let references = &self.references[metric as usize];
        let referred = |name: &str| {
            references.iter().copied().find(|&other| self.metrics[other as usize].name == name)
        };
        let of = |name: &str| match referred(name) {
            Some(other) => values[other as usize].as_ref().ok().copied(),
            None => synonyms::lookup(name, number),
        };
        match expression.value(of) {
            Err(Absent::Missing(names)) => {
                // A metric lacks the counters that its references lack.
                const MOST: usize = 16;
                let mut missing: Vec<String> = Vec::new();
                let mut other = None;
                for name in names {
                    match referred(&name).map(|at| &values[at as usize]) {
                        Some(Err(Absent::Missing(more))) => missing.extend(more.iter().cloned()),
                        Some(Err(why)) => other = other.or(Some(why.clone())),
                        _ => missing.push(name),
                    }
                }
                let mut seen = BTreeSet::new();
                missing.retain(|name| seen.insert(name.clone()));
                missing.truncate(MOST);
                match other {
                    Some(why) if missing.is_empty() => Err(why),
                    _ => Err(Absent::Missing(missing)),
                }
            }
            found => found,
        }
    }
}
