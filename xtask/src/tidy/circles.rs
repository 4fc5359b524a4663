//! Circles between the files of a library or program.
//!
//! A file depends on the files that define the items it names; re-exports are followed to the
//! definition. A module's file and the files below it depend on one another as they like, because
//! the parent declares its children and their `impl` blocks extend its types: such edges are left
//! out. Refuses types: a method that is called leads to no file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::modules::{Place, Tree};
use super::source::Checkout;
use super::{Finding, Kind};

/// Why one file depends on another.
#[derive(Default)]
struct Edge {
    items: BTreeSet<String>,
    /// Of the first of them.
    line: usize,
}

type Edges = BTreeMap<(usize, usize), Edge>;

/// One finding for each file in a circle, and its edges to the others; small circles first.
pub(super) fn check(checkout: &Checkout) -> Vec<Finding> {
    let mut circles = Vec::new();
    for member in &checkout.members {
        for tree in &member.trees {
            let edges = edges_of(tree);
            for circle in strongly_connected(&edges.keys().copied().collect::<Vec<_>>()) {
                circles.push((circle.len(), describe(checkout, &member.name, &circle, &edges)));
            }
        }
    }
    circles.sort_by_key(|(files, _)| *files);
    circles.into_iter().flat_map(|(_, findings)| findings).collect()
}

fn describe(
    checkout: &Checkout,
    member: &str,
    circle: &BTreeSet<usize>,
    edges: &Edges,
) -> Vec<Finding> {
    let short = |file: usize| {
        let path = &checkout.files[file].path;
        path.split_once("/src/").map_or(path.as_str(), |(_, name)| name)
    };
    circle
        .iter()
        .map(|&from| {
            let mut line = 1;
            let mut to = String::new();
            for ((_, target), edge) in edges.range((from, 0)..=(from, usize::MAX)) {
                if !circle.contains(target) {
                    continue;
                }
                if to.is_empty() {
                    line = edge.line;
                }
                let items: Vec<&str> = edge.items.iter().map(String::as_str).collect();
                let _ = write!(
                    to,
                    "\n    line {} -> {}: {}",
                    edge.line,
                    short(*target),
                    items.join(", ")
                );
            }
            let wrong = format!("in a circle of {} files of {member}", circle.len());
            let todo = format!("move an item that both sides need to a file below them:{to}");
            Finding::new(Kind::Circles, &checkout.files[from].path, line, wrong, todo)
        })
        .collect()
}

/// Files of modules, each with a file of a module below it.
struct Family(BTreeSet<(usize, usize)>);

impl Family {
    fn new(tree: &Tree) -> Self {
        let mut pairs = BTreeSet::new();
        for module in &tree.modules {
            let mut above = module.parent;
            while let Some(number) = above {
                pairs.insert((tree.modules[number].file, module.file));
                above = tree.modules[number].parent;
            }
        }
        Self(pairs)
    }

    fn related(&self, one: usize, other: usize) -> bool {
        self.0.contains(&(one, other)) || self.0.contains(&(other, one))
    }
}

fn edges_of(tree: &Tree) -> Edges {
    let family = Family::new(tree);
    let mut edges = Edges::new();
    for (number, module) in tree.modules.iter().enumerate() {
        for found in &module.found {
            let target = match tree.resolve(number, &found.segments) {
                Some(Place::Item(target)) => target,
                Some(Place::Module(target)) if found.glob => target,
                _ => continue,
            };
            let file = tree.modules[target].file;
            if file == module.file || family.related(file, module.file) {
                continue;
            }
            let edge = edges.entry((module.file, file)).or_default();
            edge.line = if edge.line == 0 { found.line } else { edge.line.min(found.line) };
            edge.items.insert(last_of(&found.segments));
        }
    }
    edges
}

fn last_of(segments: &[String]) -> String {
    let item = segments.iter().find(|part| part.starts_with(char::is_uppercase));
    item.or(segments.last()).cloned().unwrap_or_default()
}

/// Strongly connected components of two files or more, by reachability: files are few.
fn strongly_connected(edges: &[(usize, usize)]) -> Vec<BTreeSet<usize>> {
    let mut next: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &(from, to) in edges {
        next.entry(from).or_default().push(to);
    }
    let reached: BTreeMap<usize, BTreeSet<usize>> = next
        .keys()
        .map(|&from| {
            let mut seen = BTreeSet::new();
            let mut open = vec![from];
            while let Some(at) = open.pop() {
                open.extend(next.get(&at).into_iter().flatten().filter(|&&to| seen.insert(to)));
            }
            (from, seen)
        })
        .collect();
    let mut components = Vec::new();
    let mut placed: BTreeSet<usize> = BTreeSet::new();
    for (&file, far) in &reached {
        if !far.contains(&file) || placed.contains(&file) {
            continue;
        }
        let returns = |other: &usize| reached.get(other).is_some_and(|far| far.contains(&file));
        let component: BTreeSet<usize> = far.iter().copied().filter(returns).collect();
        placed.extend(&component);
        if component.len() > 1 {
            components.push(component);
        }
    }
    components
}
