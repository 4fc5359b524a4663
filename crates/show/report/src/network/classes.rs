//! Classes of similar links: an axis and direction of a torus, inside or between groups, up or down
//! between levels.
//!
//! Owns the names of kinds of links in tables and pictures. It reads coordinates and the form
//! alone, so that a link that does not fit its form (a torus with a link across) is `other` and
//! listed, not drawn in a wrong place.

use talea_fabric::Link;

use super::{Form, Network};

/// Names of axes.
pub(super) const AXES: [&str; 6] = ["X", "Y", "Z", "A", "B", "C"];

/// The class of a link that the form does not explain.
pub(super) const OTHER: &str = "other";

/// Classes of links.
pub(super) struct Classes {
    /// Names, such as `X+` or `global`.
    pub(super) names: Vec<String>,
    /// For each class its dimension, in [`Classes::dimensions`].
    pub(super) of: Vec<usize>,
    /// Names of dimensions, such as `X`.
    pub(super) dimensions: Vec<String>,
    /// Place in [`Classes::names`] of each link.
    pub(super) links: Vec<u16>,
}

impl Classes {
    /// The classes of all links.
    pub(super) fn new(network: &Network<'_>) -> Self {
        let mut classes = Self::empty(&network.form, network);
        let other = classes.names.len() as u16;
        let links = network.fabric.links().iter();
        classes.links = links.map(|link| class(network, link).unwrap_or(other)).collect();
        if classes.links.contains(&other) {
            classes.names.push(OTHER.to_owned());
            classes.of.push(classes.dimensions.len());
            classes.dimensions.push(OTHER.to_owned());
        }
        classes
    }

    fn empty(form: &Form, network: &Network<'_>) -> Self {
        let (names, of, dimensions): (Vec<String>, Vec<usize>, Vec<String>) = match form {
            Form::Torus(lengths) => {
                let axes = lengths.len().min(AXES.len());
                let names = (0..2 * axes).map(|at| format!("{}{}", AXES[at / 2], SIGNS[at % 2]));
                let dimensions = AXES[..axes].iter().map(|&axis| axis.to_owned());
                (names.collect(), (0..2 * axes).map(|at| at / 2).collect(), dimensions.collect())
            }
            Form::Groups(_) => {
                let names = if grid(network) {
                    vec!["in a row", "in a column", "global"]
                } else {
                    vec!["in a group", "global"]
                };
                let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
                (names.clone(), (0..names.len()).collect(), names)
            }
            Form::Levels(levels) => {
                let most = levels.iter().copied().max().unwrap_or(0).min(LEVELS);
                let names = (0..most).flat_map(|at| {
                    [format!("up {at}\u{2192}{}", at + 1), format!("down {}\u{2192}{at}", at + 1)]
                });
                let of = (0..most as usize).flat_map(|_| [0, 1]).collect();
                (names.collect(), of, vec!["up".to_owned(), "down".to_owned()])
            }
        };
        Self { names, of, dimensions, links: Vec::new() }
    }

    /// The dimension of a link.
    pub(super) fn dimension(&self, link: usize) -> usize {
        self.of[usize::from(self.links[link])]
    }
}

const SIGNS: [&str; 2] = ["+", "-"];

/// Maximum number of levels with names of their own.
const LEVELS: u32 = 16;

/// True if groups have rows and columns.
pub(super) fn grid(network: &Network<'_>) -> bool {
    let mut routers = network.fabric.routers().iter();
    routers.all(|router| router.at.is_some_and(|at| at.values().len() == 3))
}

fn class(network: &Network<'_>, link: &Link) -> Option<u16> {
    let ends = [link.from, link.to];
    match &network.form {
        Form::Torus(lengths) => {
            let [from, to] = ends.map(|end| network.fabric.routers()[end.at()].at);
            let (axis, plus) = step(from?.values(), to?.values(), lengths)?;
            Some((2 * axis + usize::from(!plus)) as u16)
        }
        Form::Groups(groups) => {
            let [from, to] = ends.map(|end| groups.get(end.at()).copied());
            if from? != to? {
                return Some(if grid(network) { 2 } else { 1 });
            }
            if !grid(network) {
                return Some(0);
            }
            let [from, to] = ends.map(|end| network.fabric.routers()[end.at()].at);
            let (from, to) = (from?, to?);
            match (from.values()[1] == to.values()[1], from.values()[2] == to.values()[2]) {
                (true, _) => Some(0),
                (_, true) => Some(1),
                _ => None,
            }
        }
        Form::Levels(levels) => {
            let [from, to] = ends.map(|end| levels.get(end.at()).copied());
            let (from, to) = (from?, to?);
            let low = from.min(to);
            (from.abs_diff(to) == 1 && low < LEVELS)
                .then(|| (2 * low + u32::from(from > to)) as u16)
        }
    }
}

/// The axis on which two neighbours differ, and true if the direction is to larger numbers (or
/// round from the largest to 0). On an axis of two the direction from 0 is the one to larger
/// numbers.
pub(super) fn step(from: &[u16], to: &[u16], lengths: &[u16]) -> Option<(usize, bool)> {
    if from.len() != lengths.len() || to.len() != lengths.len() || lengths.len() > AXES.len() {
        return None;
    }
    let mut differ = (0..lengths.len()).filter(|&axis| from[axis] != to[axis]);
    let (axis, None) = (differ.next()?, differ.next()) else { return None };
    let (length, from, to) = (lengths[axis], from[axis], to[axis]);
    if from >= length || to >= length {
        return None;
    }
    if from + 1 == to || (length > 2 && from + 1 == length && to == 0) {
        Some((axis, true))
    } else if to + 1 == from || (length > 2 && to + 1 == length && from == 0) {
        Some((axis, false))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_and_others() {
        let lengths = [4, 2, 3];
        for (from, to, expected) in [
            ([0, 0, 0], [1, 0, 0], Some((0, true))),
            ([3, 0, 0], [0, 0, 0], Some((0, true))),
            ([0, 0, 0], [3, 0, 0], Some((0, false))),
            ([0, 0, 0], [0, 1, 0], Some((1, true))),
            ([0, 1, 0], [0, 0, 0], Some((1, false))),
            ([0, 0, 2], [0, 0, 1], Some((2, false))),
            ([0, 0, 0], [2, 0, 0], None),
            ([0, 0, 0], [1, 1, 0], None),
            ([0, 0, 0], [0, 0, 0], None),
            ([0, 0, 0], [4, 0, 0], None),
        ] {
            assert_eq!(step(&from, &to, &lengths), expected, "{from:?} {to:?}");
        }
        assert_eq!(step(&[0], &[1], &lengths), None);
    }
}
