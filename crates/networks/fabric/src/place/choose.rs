//! Recommendation among several placements, and its reason.
//!
//! Owns the order of reasons: the minimum time of the model, where it has that of all, else the
//! minimum load of the most loaded link; among equals the fewest bytes off node, then the minimum
//! load, then the first. Times within a thousandth are equal: they differ by rounding, or by less
//! than the model's accuracy.

use super::Evaluation;

/// Maximum relative difference of equal times.
const EQUAL: f64 = 1e-3;

/// Reason for the best placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The only placement.
    Only,
    /// Its last flow ends first, by the model.
    Time,
    /// Its most loaded link has the minimum load.
    Load,
    /// Of placements that are equal in this it moves the fewest bytes off node.
    OffNode,
    /// None: others are equal to it.
    Equal,
}

/// True if the model has the times of all.
pub fn is_timed<'a>(all: impl IntoIterator<Item = &'a Evaluation>) -> bool {
    all.into_iter().all(|one| one.model_seconds.is_some())
}

/// Place of the best placement, and the reason; `None` without placements.
pub fn best(all: &[&Evaluation]) -> Option<(usize, Reason)> {
    let timed = is_timed(all.iter().copied());
    let seconds = |one: &Evaluation| one.model_seconds.filter(|_| timed).unwrap_or(0.0);
    let least = all.iter().map(|one| seconds(one)).min_by(f64::total_cmp)?;
    let mut left: Vec<usize> = (0..all.len()).collect();
    let mut reason = if all.len() == 1 { Reason::Only } else { Reason::Equal };
    // Each step keeps the best ones by its figure; the last one that leaves some out is the reason.
    let mut keep = |good: &dyn Fn(&Evaluation) -> bool, why: Reason| {
        let before = left.len();
        left.retain(|&at| good(all[at]));
        if left.len() < before {
            reason = why;
        }
        left.clone()
    };
    let left = keep(&|one| seconds(one) <= least * (1.0 + EQUAL), Reason::Time);
    let load = |left: &[usize]| left.iter().map(|&at| all[at].max_link_load).min();
    let left = match load(&left).filter(|_| !timed) {
        Some(load) => keep(&|one| one.max_link_load == load, Reason::Load),
        None => left,
    };
    let share = |one: &Evaluation| one.off_node_share.unwrap_or(0.0);
    let fewest = left.iter().map(|&at| share(all[at])).min_by(f64::total_cmp)?;
    let left = keep(&|one| share(one) <= fewest * (1.0 + 1e-12), Reason::OffNode);
    let load = load(&left)?;
    let left = keep(&|one| one.max_link_load == load, Reason::Load);
    Some((*left.first()?, reason))
}

/// True if a placement is better than another one.
pub fn is_better(one: &Evaluation, than: &Evaluation) -> bool {
    matches!(best(&[than, one]), Some((1, _)))
}

#[cfg(test)]
mod tests {
    use talea_model::Gaps;

    use super::*;

    fn evaluation(seconds: Option<f64>, load: u64, off_node: f64) -> Evaluation {
        Evaluation {
            ranks: 4,
            nodes: 2,
            routers: 2,
            off_node_share: Some(off_node),
            bytes_per_node: 0.0,
            bytes_per_router: 0.0,
            network_bytes_per_router: 0.0,
            max_bytes_per_router: 0,
            max_link_load: load,
            max_link: None,
            mean_link_load: 0.0,
            mean_hops: None,
            max_link_utilisation: None,
            per_dimension: Vec::new(),
            model_seconds: seconds,
            model_least_seconds: seconds,
            gaps: Gaps::default(),
        }
    }

    fn chosen(all: &[(Option<f64>, u64, f64)]) -> Option<(usize, Reason)> {
        let all: Vec<_> = all.iter().map(|one| evaluation(one.0, one.1, one.2)).collect();
        best(&all.iter().collect::<Vec<_>>())
    }

    #[test]
    fn times_that_rounding_tells_apart_are_equal() {
        // Each needs 529.2 ns; the first a little less by rounding.
        let [first, second] = [5.291_999_999_999_998e-7, 5.292e-7].map(Some);
        assert_eq!(chosen(&[(first, 5, 0.8), (second, 5, 0.4)]), Some((1, Reason::OffNode)));
        assert_eq!(chosen(&[(second, 5, 0.4), (first, 5, 0.8)]), Some((0, Reason::OffNode)));
        assert_eq!(chosen(&[(first, 5, 0.4), (second, 4, 0.4)]), Some((1, Reason::Load)));
        assert_eq!(chosen(&[(first, 5, 0.4), (second, 5, 0.4)]), Some((0, Reason::Equal)));
    }

    #[test]
    fn time_comes_first_where_all_have_one() {
        let (fast, slow) = (Some(1.0), Some(1.1));
        assert_eq!(chosen(&[(slow, 1, 0.1), (fast, 9, 0.9)]), Some((1, Reason::Time)));
        assert_eq!(chosen(&[(None, 1, 0.9), (fast, 9, 0.1)]), Some((0, Reason::Load)));
        assert_eq!(chosen(&[(None, 0, 0.9), (None, 0, 0.1)]), Some((1, Reason::OffNode)));
        assert_eq!(chosen(&[(slow, 0, 0.9)]), Some((0, Reason::Only)));
        assert_eq!(chosen(&[]), None);
        // Of these three the first two are equal in time, but not the first and the third.
        let times = [1.0, 1.0009, 1.0018].map(Some);
        let all = [(times[0], 1, 0.5), (times[1], 1, 0.4), (times[2], 1, 0.1)];
        assert_eq!(chosen(&all), Some((1, Reason::OffNode)));
    }
}
