//! The tree of a model: metrics and their parts.
//!
//! Owns the order in which a tree is shown and the comparison of a metric with the sum of its
//! parts. Metrics with unknown parents, and metrics that are their own ancestors, are roots. It
//! refuses recursion.

use std::collections::BTreeMap;

use super::Model;
use crate::expression::Absent;

/// A metric in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Place in [`Model::metrics`].
    pub metric: usize,
    /// Number of its ancestors.
    pub depth: usize,
    /// Place of its parent in [`Model::metrics`].
    pub parent: Option<usize>,
}

/// Comparison of a metric with the sum of its parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Place of the whole in [`Model::metrics`].
    pub metric: usize,
    /// Its value, not scaled.
    pub whole: f64,
    /// The sum of its parts, not scaled.
    pub parts: f64,
}

impl Split {
    /// Difference between the whole and its parts, divided by the whole; `None` where that is 0.
    pub fn rest(&self) -> Option<f64> {
        (self.whole != 0.0).then(|| (self.whole - self.parts) / self.whole)
    }
}

impl Model {
    /// All metrics, each before its parts, else in the order of the file.
    pub fn tree(&self) -> Vec<Node> {
        let parents = self.parents();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.metrics.len()];
        let mut roots = Vec::new();
        for (metric, &parent) in parents.iter().enumerate() {
            parent.map_or(&mut roots, |parent| &mut children[parent]).push(metric);
        }
        let mut nodes = Vec::with_capacity(self.metrics.len());
        let mut waiting: Vec<(usize, usize)> =
            roots.into_iter().rev().map(|root| (root, 0)).collect();
        while let Some((metric, depth)) = waiting.pop() {
            nodes.push(Node { metric, depth, parent: parents[metric] });
            waiting.extend(children[metric].iter().rev().map(|&child| (child, depth + 1)));
        }
        nodes
    }

    /// Each metric with parts and their sum, where all of them have values.
    pub fn splits(&self, values: &[Result<f64, Absent>]) -> Vec<Split> {
        let mut sums: BTreeMap<usize, Option<f64>> = BTreeMap::new();
        let of = |metric: usize| values.get(metric).and_then(|value| value.as_ref().ok()).copied();
        for (metric, parent) in self.parents().into_iter().enumerate() {
            if let Some(parent) = parent {
                let sum = sums.entry(parent).or_insert(Some(0.0));
                *sum = sum.zip(of(metric)).map(|(sum, value)| sum + value);
            }
        }
        let each = sums.into_iter().filter_map(|(metric, parts)| {
            Some(Split { metric, whole: of(metric)?, parts: parts? })
        });
        each.collect()
    }

    /// The parent of each metric, `None` where that would lead back to it.
    fn parents(&self) -> Vec<Option<usize>> {
        let places: BTreeMap<&str, usize> =
            self.metrics.iter().zip(0..).map(|(metric, at)| (metric.name.as_str(), at)).collect();
        let mut parents: Vec<Option<usize>> = self
            .metrics
            .iter()
            .zip(0..)
            .map(|(metric, at)| {
                let parent = places.get(metric.parent.as_deref()?).copied()?;
                (parent != at).then_some(parent)
            })
            .collect();
        // Visited by a walk upwards: 0 for none, else the number of the walk.
        let mut met = vec![0_usize; parents.len()];
        for from in 0..parents.len() {
            let mut at = from;
            while met[at] == 0 {
                met[at] = from + 1;
                let Some(parent) = parents[at] else { break };
                if met[parent] == from + 1 {
                    parents[at] = None;
                    break;
                }
                at = parent;
            }
        }
        parents
    }
}
