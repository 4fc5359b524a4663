//! Nearest points, exactly.
//!
//! Owns the walk from near boxes to far ones that stops where nothing nearer can be. Used where
//! cells of one eps do not help: distances to the k-th neighbour, and points that are not in the
//! clustering.

use crate::dbscan::tree::{Leaves, Order, Tree};
use crate::geometry::{by_dims, distance2, least_to_point, width};
use crate::points::Points;

/// Points to search.
pub(crate) struct Index {
    dims: usize,
    tree: Tree,
    order: Order,
}

/// Buffers of a walk.
#[derive(Default)]
pub(crate) struct Walk {
    ahead: Vec<(f64, usize)>,
    nearest: Vec<f64>,
}

impl Index {
    pub(crate) fn new(points: &Points) -> Self {
        let (tree, order) = Tree::new(points, Leaves::Few(16));
        Self { dims: points.dimensions(), tree, order }
    }

    /// Visits points whose box is no farther from `at` than the limit, which `look` may lower: it
    /// gets places and squared distances, and returns the new limit.
    fn walk<const D: usize>(
        &self,
        at: &[f64],
        mut limit: f64,
        ahead: &mut Vec<(f64, usize)>,
        mut look: impl FnMut(u32, f64) -> f64,
    ) {
        let dims = width::<D>(self.dims);
        ahead.clear();
        if !self.tree.is_empty() {
            ahead.push((least_to_point::<D>(self.tree.bounds(0), at), 0));
        }
        while let Some((least, node)) = ahead.pop() {
            if least > limit {
                continue;
            }
            match self.tree.halves(node) {
                Ok((left, right)) => {
                    let far = |node| (least_to_point::<D>(self.tree.bounds(node), at), node);
                    let (left, right) = (far(left), far(right));
                    // The nearer half is visited first.
                    let (near, far) = if left.0 <= right.0 { (left, right) } else { (right, left) };
                    ahead.extend([far, near]);
                }
                Err(leaf) => {
                    let (begin, end) = (self.order.starts[leaf], self.order.starts[leaf + 1]);
                    let (begin, end) = (begin as usize, end as usize);
                    let rows = self.order.rows[begin * dims..end * dims].chunks_exact(dims);
                    for (row, &place) in rows.zip(&self.order.of[begin..end]) {
                        let distance = distance2::<D>(at, row);
                        if distance <= limit {
                            limit = look(place, distance);
                        }
                    }
                }
            }
        }
    }

    /// The point nearest to `at` within the squared distance `limit`; at equal distances the one
    /// with the smaller `key`, then with the smaller place.
    pub(crate) fn nearest(
        &self,
        at: &[f64],
        limit: f64,
        key: impl Fn(u32) -> u32,
        walk: &mut Walk,
    ) -> Option<u32> {
        let mut best: Option<(f64, u32, u32)> = None;
        let look = |place: u32, distance: f64| {
            let one = (distance, key(place), place);
            if best.is_none_or(|best| one < best) {
                best = Some(one);
            }
            best.map_or(limit, |(distance, ..)| distance)
        };
        let ahead = &mut walk.ahead;
        match self.dims {
            1 => self.walk::<1>(at, limit, ahead, look),
            2 => self.walk::<2>(at, limit, ahead, look),
            3 => self.walk::<3>(at, limit, ahead, look),
            4 => self.walk::<4>(at, limit, ahead, look),
            _ => self.walk::<0>(at, limit, ahead, look),
        }
        best.map(|(_, _, place)| place)
    }

    /// The distance from `at` to its `k`-th nearest point; with fewer points, to the farthest. 0
    /// without points.
    pub(crate) fn kth(&self, at: &[f64], k: usize, walk: &mut Walk) -> f64 {
        fn run<const D: usize>(index: &Index, at: &[f64], k: usize, walk: &mut Walk) -> f64 {
            let nearest = &mut walk.nearest;
            nearest.clear();
            index.walk::<D>(at, f64::INFINITY, &mut walk.ahead, |_, distance| {
                // A sorted list: k is tens, and most candidates fall at its end.
                let place = nearest.partition_point(|&other| other <= distance);
                if nearest.len() == k {
                    nearest.pop();
                }
                nearest.insert(place.min(nearest.len()), distance);
                // A candidate as far as the k-th changes nothing: among many points in one place
                // most need no visit.
                if nearest.len() < k { f64::INFINITY } else { nearest[k - 1].next_down() }
            });
            nearest.last().map_or(0.0, |distance| distance.sqrt())
        }
        if k == 0 { 0.0 } else { by_dims!(self.dims, run(self, at, k, walk)) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_near_is_found(
            (dims, values) in (1..6_usize).prop_flat_map(|dims| {
                (Just(dims), prop::collection::vec(0..8_u8, dims..40 * dims))
            }),
            k in 1..20_usize,
        ) {
            let n = values.len() / dims;
            let rows = values[..n * dims].iter().map(|&v| f64::from(v)).collect();
            let points = Points::new(dims, rows).unwrap();
            let index = Index::new(&points);
            let mut walk = Walk::default();
            for i in 0..n {
                let at = points.row(i);
                let mut all: Vec<(f64, u32)> =
                    (0..n).map(|j| (distance2::<0>(at, points.row(j)), j as u32)).collect();
                all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                let kth = all[k.min(n) - 1].0.sqrt();
                prop_assert_eq!(index.kth(at, k, &mut walk).to_bits(), kth.to_bits());
                prop_assert_eq!(index.nearest(at, 0.0, |_| 0, &mut walk), Some(all[0].1));
                let other = |place: u32| u32::MAX - place;
                let last = all.iter().filter(|one| one.0 <= all[0].0).map(|one| one.1).max();
                prop_assert_eq!(index.nearest(at, 4.0, other, &mut walk), last);
            }
        }
    }
}
