//! Numbering of connected cells as clusters, in the order of the input points.
//!
//! Owns sums of weights, always in the same order, and the numbering by them.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use super::cells::Cells;
use super::union::Union;
use crate::label::{Cluster, Clustering, Label};

/// Sets of cells that share a cluster.
pub(super) struct Components {
    /// For each cell with core points the number of its component.
    pub(super) of_cell: Vec<u32>,
    /// For each component its place by the weight of its core points, then by its first core point.
    pub(super) rank: Vec<u32>,
    /// For each component its first core point.
    first: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// Numbers the connected sets, and ranks them.
pub(super) fn components(
    cells: &Cells,
    cores: &[u32],
    union: &Union,
    weights: Option<&[f64]>,
) -> Components {
    let mut of_cell = vec![NONE; cells.len()];
    let mut count = 0;
    for cell in 0..cells.len() {
        if cores[cell] > 0 {
            // The smallest member stands for all, and was numbered before.
            let root = union.find(cell as u32) as usize;
            if root == cell {
                of_cell[cell] = count;
                count += 1;
            } else {
                of_cell[cell] = of_cell[root];
            }
        }
    }
    let mut first = vec![NONE; count as usize];
    let mut weight = vec![0.0; count as usize];
    let firsts: Vec<u32> = (0..cells.len())
        .into_par_iter()
        .with_min_len(256)
        .map(|cell| {
            let begin = cells.places(cell).start;
            let core = &cells.of[begin..begin + cores[cell] as usize];
            core.iter().copied().min().unwrap_or(NONE)
        })
        .collect();
    for cell in (0..cells.len()).filter(|&cell| cores[cell] > 0) {
        let component = of_cell[cell] as usize;
        first[component] = first[component].min(firsts[cell]);
        weight[component] += match weights {
            None => f64::from(cores[cell]),
            Some(weights) => {
                let begin = cells.places(cell).start;
                let core = &cells.of[begin..begin + cores[cell] as usize];
                core.iter().map(|&point| weights[point as usize]).sum()
            }
        };
    }
    let rank = ranks(&weight, &first);
    Components { of_cell, rank, first }
}

/// The rank of each by weight, the heaviest first, then by first core point.
fn ranks(weight: &[f64], first: &[u32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..weight.len() as u32).collect();
    order.sort_unstable_by(|&a, &b| {
        let (a, b) = (a as usize, b as usize);
        weight[b].total_cmp(&weight[a]).then(first[a].cmp(&first[b]))
    });
    let mut rank = vec![0; order.len()];
    for (place, &one) in order.iter().enumerate() {
        rank[one as usize] = place as u32;
    }
    rank
}

/// Totals of each component, from words of all points: the first is noise.
fn sums(words: &[u32], count: usize, weights: Option<&[f64]>) -> Vec<Cluster> {
    const CHUNK: usize = 1 << 16;
    // Chunks, and the order in which their sums are added, do not depend on threads. With many
    // components one chunk has all.
    let chunk = if count <= CHUNK / 16 { CHUNK } else { words.len().max(1) };
    let of_chunk = |(i, words): (usize, &[u32])| {
        let mut sums = vec![Cluster::default(); count];
        for (point, &word) in (i * chunk..).zip(words) {
            let sum = &mut sums[(word >> 1) as usize];
            sum.points += 1;
            sum.core_points += u64::from(word & 1);
            sum.weight += weights.map_or(1.0, |weights| weights[point]);
        }
        sums
    };
    let parts: Vec<Vec<Cluster>> = words.par_chunks(chunk).enumerate().map(of_chunk).collect();
    let mut sums = vec![Cluster::default(); count];
    for part in parts {
        for (sum, part) in sums.iter_mut().zip(part) {
            sum.points += part.points;
            sum.core_points += part.core_points;
            sum.weight += part.weight;
        }
    }
    sums
}

/// Labels in the order of points, and clusters in the order of weights.
pub(super) fn clustering(
    cells: &Cells,
    cores: &[u32],
    components: &Components,
    border: &[(u32, u32)],
    weights: Option<&[f64]>,
) -> Clustering {
    // Component and core in one word: places are scattered, and one miss is enough. 0 is noise.
    let words: Vec<AtomicU32> = (0..cells.of.len()).map(|_| AtomicU32::new(0)).collect();
    cells.blocks().into_par_iter().for_each(|block| {
        for cell in block.filter(|&cell| cores[cell] > 0) {
            let begin = cells.places(cell).start;
            let word = (components.of_cell[cell] + 1) << 1 | 1;
            for &point in &cells.of[begin..begin + cores[cell] as usize] {
                words[point as usize].store(word, Relaxed);
            }
        }
    });
    for &(place, component) in border {
        let point = cells.of[place as usize];
        words[point as usize].store((component + 1) << 1, Relaxed);
    }
    let words: Vec<u32> = words.into_iter().map(AtomicU32::into_inner).collect();
    let mut sums = sums(&words, components.first.len() + 1, weights);
    for (sum, &first) in sums[1..].iter_mut().zip(&components.first) {
        sum.first_core = first;
    }
    let weight: Vec<f64> = sums[1..].iter().map(|sum| sum.weight).collect();
    let rank = ranks(&weight, &components.first);
    let mut clusters = vec![Cluster::default(); rank.len()];
    let mut labels_of = vec![Label::NOISE];
    for (sum, &rank) in sums[1..].iter().zip(&rank) {
        clusters[rank as usize] = *sum;
        labels_of.push(Label::of_place(rank as usize));
    }
    let core = words.par_iter().with_min_len(1 << 14).map(|word| word & 1 == 1).collect();
    let labels =
        words.into_par_iter().with_min_len(1 << 14).map(|w| labels_of[(w >> 1) as usize]).collect();
    Clustering { labels, core, clusters }
}
