//! Models: metrics that refer to each other and stand in a tree, such as CPI stacks and top-down analysis.
//!
//! Owns what every format of such models comes down to ([`Definition`]), the order in which metrics need each other, their values with
//! reasons, and the tree with what the children of a metric add up to. Readers of `formats` fill models; three of Talea's own are in
//! [`builtin`]. Metrics that are defined by themselves have no value, and say so. It refuses recursion, however deep references go.

pub mod builtin;
mod references;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::BTreeMap;

use crate::expression::{Absent, Expression};
use crate::synonyms;

pub use tree::{Node, Split};

/// A metric as its author defines it.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Its name; other metrics refer to it by this.
    pub name: String,
    /// What is shown behind the value.
    pub unit: String,
    /// What the value is multiplied with to be shown; references take it as it is.
    pub scale: f64,
    /// One line for people.
    pub description: String,
    /// Over counters, other metrics of the model, and literals.
    pub expression: Expression,
    /// Groups that the author puts it in.
    pub groups: Vec<String>,
    /// The metric that this is a part of.
    pub parent: Option<String>,
    /// Depth in the author's tree, from 1.
    pub level: Option<u32>,
    /// Not zero where the author finds the value worth a look.
    pub threshold: Option<Expression>,
    /// Line of the file, from 1; 0 where there is none.
    pub line: u64,
}

impl Definition {
    /// A metric without all that is optional.
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

/// What is wrong with a model, at which line of its file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// From 1; 0 where the whole file is meant.
    pub line: u64,
    /// What was expected, and what stands there.
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
    /// What it is called.
    pub name: String,
    /// In the order of the file; names are there once.
    pub metrics: Vec<Definition>,
    /// What could not be used, or looks wrong; the rest stands.
    pub problems: Vec<Problem>,
    /// For each metric those that its expression refers to.
    references: Vec<Vec<u32>>,
    /// Metrics such that each comes behind those that it refers to, but for those on a cycle.
    order: Vec<u32>,
    /// Metrics on a cycle, with how it goes round.
    cycles: BTreeMap<u32, String>,
}

impl Model {
    /// Puts definitions in order. Of those with the same name the first counts; that and cycles are problems.
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
        let references = references::of(&metrics, &places);
        let (order, cycles) = references::order(&metrics, &references);
        for (&metric, round) in &cycles {
            let what = format!("`{}` is defined by itself: {round}", metrics[metric as usize].name);
            problems.push(Problem { line: metrics[metric as usize].line, what });
        }
        problems.sort();
        Self { name: name.to_owned(), metrics, problems, references, order, cycles }
    }

    /// The value of each metric, not scaled, for numbers by the names of counters and literals; or why there is none.
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

    /// Whether each metric exceeds what its author finds worth a look; nothing where that cannot be said.
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
                // What is missing is what the metrics that it refers to lack.
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
                let mut seen = std::collections::BTreeSet::new();
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
