//! The parts of a layered layout that are independent of graphs of events: depth-first order, order
//! in layers, columns, lanes and ports.
//!
//! Columns follow the pools of adjacent violators: each layer moves towards its neighbours, as near
//! as the order and the distances allow.

use std::collections::HashMap;

/// Number of rounds of moving layers towards their neighbours.
const ROUNDS: usize = 40;

/// Items in the order in which a depth-first search leaves them, and the edges that close a cycle.
/// `next[i]` lists target and edge number. No recursion: chains of ten thousand nodes exist.
pub(super) fn depth_first(next: &[Vec<(usize, usize)>]) -> (Vec<usize>, Vec<usize>) {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; next.len()];
    let (mut finished, mut closing) = (Vec::with_capacity(next.len()), Vec::new());
    for start in 0..next.len() {
        if marks[start] != Mark::New {
            continue;
        }
        marks[start] = Mark::Open;
        let mut path = vec![(start, 0)];
        while let Some((item, at)) = path.pop() {
            let Some(&(to, edge)) = next[item].get(at) else {
                marks[item] = Mark::Done;
                finished.push(item);
                continue;
            };
            path.push((item, at + 1));
            match marks[to] {
                Mark::New => {
                    marks[to] = Mark::Open;
                    path.push((to, 0));
                }
                Mark::Open => closing.push(edge),
                Mark::Done => {}
            }
        }
    }
    (finished, closing)
}

/// Sorts each layer by the mean place of its neighbours, down and up; items without neighbours
/// stay.
pub(super) fn order(layers: &mut [Vec<usize>], links: &[(usize, usize)]) {
    let count = layers.iter().map(Vec::len).sum();
    let mut neighbours: [Vec<Vec<usize>>; 2] = [vec![Vec::new(); count], vec![Vec::new(); count]];
    for &(upper, lower) in links {
        neighbours[0][lower].push(upper);
        neighbours[1][upper].push(lower);
    }
    let mut place = vec![0.0_f64; count];
    for layer in layers.iter() {
        for (at, &item) in layer.iter().enumerate() {
            place[item] = at as f64 - layer.len() as f64 / 2.0;
        }
    }
    for round in 0..6 {
        let side = &neighbours[round % 2];
        let sequence: Vec<usize> = if round % 2 == 0 {
            (0..layers.len()).collect()
        } else {
            (0..layers.len()).rev().collect()
        };
        for at in sequence {
            let mean = |item: usize| {
                let all = &side[item];
                if all.is_empty() {
                    place[item]
                } else {
                    all.iter().map(|&one| place[one]).sum::<f64>() / all.len() as f64
                }
            };
            let mut keyed: Vec<(f64, usize)> =
                layers[at].iter().map(|&item| (mean(item), item)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (index, &(_, item)) in keyed.iter().enumerate() {
                place[item] = index as f64 - keyed.len() as f64 / 2.0;
            }
            layers[at] = keyed.into_iter().map(|(_, item)| item).collect();
        }
    }
}

/// Preference of an edge for an item: to stand `offset` right of another item's left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pull {
    pub(super) toward: usize,
    pub(super) offset: f64,
    pub(super) weight: f64,
}

/// The left of every item, from the pulls on each.
pub(super) fn columns(
    layers: &[Vec<usize>],
    widths: &[f64],
    pulls: &[Vec<Pull>],
    gap: f64,
) -> Vec<f64> {
    let mut left = vec![0.0; widths.len()];
    for layer in layers {
        let total: f64 = layer.iter().map(|&item| widths[item] + gap).sum();
        let mut x = -total / 2.0;
        for &item in layer {
            left[item] = x;
            x += widths[item] + gap;
        }
    }
    for round in 0..ROUNDS {
        let mut sequence: Vec<usize> = (0..layers.len()).collect();
        if round % 2 == 1 {
            sequence.reverse();
        }
        for at in sequence {
            let layer = &layers[at];
            let wish: Vec<(f64, f64)> = layer
                .iter()
                .map(|&item| {
                    let own = &pulls[item];
                    if own.is_empty() {
                        return (left[item], 0.1);
                    }
                    let weight: f64 = own.iter().map(|one| one.weight).sum();
                    let wished = |one: &Pull| (left[one.toward] + one.offset) * one.weight;
                    (own.iter().map(wished).sum::<f64>() / weight, weight)
                })
                .collect();
            let distance: Vec<f64> = layer.iter().map(|&item| widths[item] + gap).collect();
            for (&item, x) in layer.iter().zip(settle(&wish, &distance)) {
                left[item] = x;
            }
        }
    }
    left
}

/// Places nearest to the wishes (value, weight) that keep the order and the distances.
fn settle(wish: &[(f64, f64)], distance: &[f64]) -> Vec<f64> {
    // Subtracting the distances before an item turns the rule into "never falls".
    let mut before = 0.0;
    let mut pools: Vec<(f64, f64, usize)> = Vec::with_capacity(wish.len());
    for (&(value, weight), step) in wish.iter().zip(distance) {
        pools.push(((value - before) * weight, weight, 1));
        before += step;
        while let [.., low, high] = pools.as_slice()
            && low.0 / low.1 > high.0 / high.1
        {
            let joined = (low.0 + high.0, low.1 + high.1, low.2 + high.2);
            pools.truncate(pools.len() - 2);
            pools.push(joined);
        }
    }
    let mut out = Vec::with_capacity(wish.len());
    let mut before = 0.0;
    for (sum, weight, count) in pools {
        for _ in 0..count {
            out.push(sum / weight + before);
            before += distance[out.len() - 1];
        }
    }
    out
}

/// A lane for each span (first, end, number): short spans next to the content, no two on one lane
/// at once.
pub(super) fn lanes(mut spans: Vec<(usize, usize, usize)>) -> (Vec<(usize, usize)>, usize) {
    spans.sort_unstable_by_key(|&(first, end, number)| (end - first, first, number));
    let mut taken: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut out = Vec::with_capacity(spans.len());
    for (first, end, number) in spans {
        let free =
            |lane: &Vec<(usize, usize)>| lane.iter().all(|one| one.1 <= first || end <= one.0);
        let lane = taken.iter().position(free).unwrap_or_else(|| {
            taken.push(Vec::new());
            taken.len() - 1
        });
        taken[lane].push((first, end));
        out.push((number, lane));
    }
    (out, taken.len())
}

/// Places along one side of an item, by the key of each edge: edges to other layers around the
/// middle, those that leave to the left (`f64::MIN`) or right (`f64::MAX`) near that corner.
pub(super) fn spread(ends: &mut [(f64, usize)], width: f64, ports: &mut HashMap<usize, f64>) {
    ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let left = ends.iter().take_while(|end| end.0 <= f64::MIN).count();
    let right = ends.iter().rev().take_while(|end| end.0 >= f64::MAX).count();
    let middle = ends.len() - left - right;
    let step = |count: usize, room: f64| (room / (count + 1) as f64).min(16.0);
    let start = width / 2.0 - step(middle, width / 2.0) * (middle.max(1) - 1) as f64 / 2.0;
    for (at, &(_, edge)) in ends.iter().enumerate() {
        let x = if at < left {
            step(left, width / 4.0) * (at + 1) as f64
        } else if at >= left + middle {
            width - step(right, width / 4.0) * (ends.len() - at) as f64
        } else {
            start + step(middle, width / 2.0) * (at - left) as f64
        };
        ports.insert(edge, x);
    }
}

#[cfg(test)]
mod tests {
    use super::settle;

    #[test]
    fn wishes_that_cross_meet_in_the_middle() {
        assert_eq!(settle(&[(10.0, 1.0), (0.0, 1.0)], &[4.0, 4.0]), [3.0, 7.0]);
        assert_eq!(settle(&[(0.0, 1.0), (9.0, 1.0)], &[4.0, 4.0]), [0.0, 9.0]);
    }
}
