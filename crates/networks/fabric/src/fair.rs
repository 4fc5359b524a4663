//! A model of time: flows share links fairly, and the last one ends when all of its bytes are sent.
//!
//! Owns max-min fair rates by filling (Bertsekas and Gallager, "Data Networks", 1992, section
//! 6.5.2): no flow can get more unless one that has as little or less gets less. Flows that end
//! free their links: rates are computed again each time that a quarter of the flows has ended, and
//! for few flows each time that one has. It is a model and named so wherever it is shown: it
//! ignores packets, and all flows begin together. Load over capacity stands beside it as the
//! minimum time of any sharing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Up to this number of flows rates are computed again after each one.
const FEW: usize = 64;

/// Flows and the links that each uses, as one list of links for all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flows {
    /// Bytes of each flow.
    bytes: Vec<f64>,
    /// Number of equal flows that each represents.
    weights: Vec<f64>,
    /// End of each flow's links in `links`.
    ends: Vec<usize>,
    /// Links by flow.
    links: Vec<u32>,
    /// Bytes on each of those links for a byte of the flow.
    uses: Vec<f32>,
}

/// Rates and times of flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// Bytes a second of each flow while all send, of all flows that it represents; infinite if it
    /// uses no link.
    pub rates: Vec<f64>,
    /// Seconds until the last flow ends.
    pub seconds: f64,
    /// Seconds that the most loaded link needs for its bytes: no sharing is faster.
    pub least_seconds: f64,
}

impl Flows {
    /// Adds a flow that represents `weight` equal ones and sends `bytes` in all. `uses` are links
    /// with the bytes that go over each for one byte of the flow. Values that are not above 0 count
    /// as nothing: such a flow has no bytes, such a use is left out.
    pub fn add(&mut self, bytes: f64, weight: f64, uses: impl IntoIterator<Item = (usize, f32)>) {
        self.bytes.push(if bytes > 0.0 { bytes } else { 0.0 });
        self.weights.push(if weight > 0.0 { weight } else { 1.0 });
        for (link, by) in uses {
            if let (Ok(link), true) = (u32::try_from(link), by > 0.0) {
                self.links.push(link);
                self.uses.push(by);
            }
        }
        self.ends.push(self.links.len());
    }

    /// Number of flows.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True without flows.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Number of links of all routes together.
    pub fn hops(&self) -> usize {
        self.links.len()
    }

    fn range(&self, flow: usize) -> std::ops::Range<usize> {
        let begin = flow.checked_sub(1).map_or(0, |before| self.ends[before]);
        begin..self.ends[flow]
    }

    /// Fair rates over links of these capacities in bytes a second; `None` if a flow with bytes
    /// uses a link that has no capacity.
    pub fn shares(&self, capacities: &[Option<f64>]) -> Option<Shares> {
        let mut load = vec![0.0; capacities.len()];
        for (flow, &bytes) in self.bytes.iter().enumerate().filter(|(_, bytes)| **bytes > 0.0) {
            for at in self.range(flow) {
                let link = self.links[at] as usize;
                let capacity = capacities.get(link).copied().flatten();
                capacity.filter(|&capacity| capacity > 0.0)?;
                load[link] += f64::from(self.uses[at]) * bytes;
            }
        }
        let known: Vec<f64> = capacities.iter().map(|capacity| capacity.unwrap_or(0.0)).collect();
        let times = load.iter().zip(&known).filter(|(load, _)| **load > 0.0);
        let least_seconds = times.map(|(load, capacity)| load / capacity).fold(0.0, f64::max);
        let mut left = self.bytes.clone();
        let rates = self.rates(&left, &known);
        let seconds = self.last(&mut left, rates.clone(), &known);
        Some(Shares { rates, seconds, least_seconds })
    }

    /// Seconds until nothing is left.
    fn last(&self, left: &mut [f64], mut rates: Vec<f64>, capacities: &[f64]) -> f64 {
        let mut seconds = 0.0;
        loop {
            let sending = (0..self.len()).filter(|&flow| left[flow] > 0.0);
            let mut times: Vec<f64> = sending.map(|flow| left[flow] / rates[flow]).collect();
            if times.is_empty() {
                return seconds;
            }
            let done = if times.len() > FEW { times.len() / 4 } else { 0 };
            let step = *times.select_nth_unstable_by(done, f64::total_cmp).1;
            seconds += step;
            for (left, rate) in left.iter_mut().zip(&rates).filter(|(left, _)| **left > 0.0) {
                // Flows that end within rounding have ended: each step ends at least one flow.
                let time = *left / rate;
                *left = if time <= step * (1.0 + 1e-12) { 0.0 } else { *left - rate * step };
            }
            rates = self.rates(left, capacities);
        }
    }

    /// Fair rates of the flows that have bytes left; infinite for the others.
    fn rates(&self, bytes: &[f64], capacities: &[f64]) -> Vec<f64> {
        let mut left = capacities.to_vec();
        let mut demand = vec![0.0; left.len()];
        let mut first = vec![0_usize; left.len() + 1];
        for flow in (0..self.len()).filter(|&flow| bytes[flow] > 0.0) {
            for at in self.range(flow) {
                let link = self.links[at] as usize;
                demand[link] += f64::from(self.uses[at]) * self.weights[flow];
                first[link + 1] += 1;
            }
        }
        let by_link = self.by_link(bytes, &mut first);
        let mut rates = self.fill(&mut left, &mut demand, &first, &by_link);
        rates.iter_mut().zip(&self.weights).for_each(|(rate, weight)| *rate *= weight);
        rates
    }

    /// Flows of each link; `first` is the number of flows of each, one place further, and then
    /// their beginnings.
    fn by_link(&self, bytes: &[f64], first: &mut [usize]) -> Vec<u32> {
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut next = first.to_vec();
        let mut by_link = vec![0_u32; first.last().copied().unwrap_or(0)];
        for flow in (0..self.len()).filter(|&flow| bytes[flow] > 0.0) {
            for &link in &self.links[self.range(flow)] {
                let place = &mut next[link as usize];
                by_link[*place] = flow as u32;
                *place += 1;
            }
        }
        by_link
    }

    /// Rates for a weight of one. The link with the minimum share for each of its flows is full
    /// first; the rates of its flows are subtracted from the other links, whose shares can only
    /// grow. A heap that is corrected when a link is removed from it therefore finds the minimum.
    fn fill(
        &self,
        left: &mut [f64],
        demand: &mut [f64],
        first: &[usize],
        by_link: &[u32],
    ) -> Vec<f64> {
        let mut levels = vec![f64::INFINITY; self.len()];
        // Positive floating-point numbers have the order of their bits.
        let share = |left: f64, demand: f64| (left.max(0.0) / demand).to_bits();
        let mut waiting: Vec<usize> = first.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let busy = (0..left.len()).filter(|&link| waiting[link] > 0);
        let heap: Vec<_> =
            busy.map(|link| Reverse((share(left[link], demand[link]), link))).collect();
        let mut heap = BinaryHeap::from(heap);
        while let Some(Reverse((known, link))) = heap.pop() {
            if waiting[link] == 0 {
                continue;
            }
            let now = share(left[link], demand[link]);
            if now > known && heap.peek().is_some_and(|Reverse(next)| *next < (now, link)) {
                heap.push(Reverse((now, link)));
                continue;
            }
            // Rounding must not let a later link have less than an earlier one.
            let level = f64::from_bits(now.max(known));
            for &flow in &by_link[first[link]..first[link + 1]] {
                let flow = flow as usize;
                if levels[flow].is_finite() {
                    continue;
                }
                levels[flow] = level;
                for at in self.range(flow) {
                    let used = f64::from(self.uses[at]) * self.weights[flow];
                    let other = self.links[at] as usize;
                    left[other] -= used * level;
                    demand[other] -= used;
                    waiting[other] -= 1;
                }
            }
        }
        levels
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn flows(all: &[(f64, f64, &[usize])]) -> Flows {
        let mut flows = Flows::default();
        for (bytes, weight, links) in all {
            flows.add(*bytes, *weight, links.iter().map(|&link| (link, 1.0)));
        }
        flows
    }

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }

    #[test]
    fn the_textbook_s_network() {
        // Three links in a row of capacity 1; one flow over the first two, two over the second one,
        // one over the third, as in figure 6.10 of Bertsekas and Gallager.
        let flows = flows(&[
            (1.0, 1.0, &[0, 1]),
            (1.0, 1.0, &[1]),
            (1.0, 1.0, &[1]),
            (1.0, 1.0, &[0]),
            (1.0, 1.0, &[2]),
        ]);
        let shares = flows.shares(&[Some(1.0); 3]).unwrap();
        close(&shares.rates, &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0, 1.0]);
        close(&[shares.seconds, shares.least_seconds], &[3.0, 3.0]);
    }

    #[test]
    fn flows_that_are_done_free_their_links() {
        // Each has one half until the small one ends at 2; the large one then has all.
        let one = flows(&[(9.0, 1.0, &[0]), (1.0, 1.0, &[0])]);
        let shares = one.shares(&[Some(1.0)]).unwrap();
        close(&shares.rates, &[0.5, 0.5]);
        close(&[shares.seconds, shares.least_seconds], &[10.0, 10.0]);
    }

    #[test]
    fn fair_sharing_takes_longer_than_the_load_alone() {
        // Two long flows share the link in the middle; each shares its other link with two short
        // ones. With a third each they use two thirds of the middle until the short ones end at
        // .75; the remaining 1.25 of each then need 2.5.
        let all = flows(&[
            (1.5, 1.0, &[0, 1]),
            (1.5, 1.0, &[1, 2]),
            (0.25, 1.0, &[0]),
            (0.25, 1.0, &[0]),
            (0.25, 1.0, &[2]),
            (0.25, 1.0, &[2]),
        ]);
        let shares = all.shares(&[Some(1.0); 3]).unwrap();
        close(&shares.rates, &[1.0 / 3.0; 6]);
        close(&[shares.seconds, shares.least_seconds], &[3.25, 3.0]);
    }

    #[test]
    fn many_flows_are_looked_at_by_quarters() {
        // Of 200 flows over one link each ends when the link has sent its bytes, those of all
        // smaller flows, and as many of each larger one.
        let all: Vec<_> = (1..=200).map(|bytes| (f64::from(bytes), 1.0, &[0_usize][..])).collect();
        let shares = flows(&all).shares(&[Some(2.0)]).unwrap();
        let least = f64::from(200 * 201 / 2) / 2.0;
        close(&[shares.least_seconds], &[least]);
        // Links idle a little between the computations of rates.
        assert!(
            shares.seconds >= least - 1e-6 && shares.seconds < least * 1.2,
            "{}",
            shares.seconds
        );
    }

    #[test]
    fn weights_and_uses() {
        let mut flows = Flows::default();
        flows.add(6.0, 3.0, [(0, 1.0)]);
        flows.add(2.0, 1.0, [(0, 1.0), (1, 0.5)]);
        let shares = flows.shares(&[Some(8.0), Some(0.5)]).unwrap();
        // The second link gives 1 to the second flow; the first one gives 7 / 3 to each of three.
        close(&shares.rates, &[7.0, 1.0]);
        close(&[shares.seconds], &[2.0]);
    }

    #[test]
    fn links_without_a_capacity_are_not_guessed() {
        let all = flows(&[(1.0, 1.0, &[0, 1])]);
        assert_eq!(all.shares(&[Some(1.0), None]), None);
        assert_eq!(all.shares(&[Some(1.0), Some(0.0)]), None);
        assert_eq!(all.shares(&[Some(1.0)]), None);
        let nothing = flows(&[(0.0, 1.0, &[0]), (3.0, 1.0, &[])]);
        let shares = nothing.shares(&[None]).unwrap();
        assert_eq!((shares.seconds, shares.least_seconds), (0.0, 0.0));
        assert!(shares.rates.iter().all(|rate| rate.is_infinite()));
    }

    /// Raises all rates together by small equal parts of the remaining capacity, link by link:
    /// slow, and a fixed point of the definition.
    fn slow(flows: &Flows, capacities: &[f64]) -> Vec<f64> {
        let mut levels = vec![f64::INFINITY; flows.len()];
        loop {
            let mut least = (f64::INFINITY, usize::MAX);
            for (link, capacity) in capacities.iter().enumerate() {
                let (mut left, mut demand) = (*capacity, 0.0);
                for (flow, level) in levels.iter().enumerate() {
                    for at in flows.range(flow).filter(|&at| flows.links[at] as usize == link) {
                        let used = f64::from(flows.uses[at]) * flows.weights[flow];
                        if level.is_finite() {
                            left -= used * level;
                        } else {
                            demand += used;
                        }
                    }
                }
                if demand > 0.0 && left / demand < least.0 {
                    least = (left / demand, link);
                }
            }
            if least.1 == usize::MAX {
                return levels;
            }
            for (flow, level) in levels.iter_mut().enumerate() {
                let links = &flows.links[flows.range(flow)];
                if links.contains(&(least.1 as u32)) && level.is_infinite() {
                    *level = least.0;
                }
            }
        }
    }

    proptest! {
        #[test]
        fn rates_are_those_of_the_slow_way_and_no_link_is_overfull(
            capacities in prop::collection::vec(1_u32..20, 1..6),
            all in prop::collection::vec(
                (1_u32..9, 1_u32..4, prop::collection::btree_map(0_usize..6, 1_u32..5, 1..4)),
                1..10,
            ),
        ) {
            let mut flows = Flows::default();
            for (bytes, weight, uses) in &all {
                let uses = uses.iter().filter(|(link, _)| **link < capacities.len());
                let uses = uses.map(|(&link, &by)| (link, by as f32));
                flows.add(f64::from(*bytes), f64::from(*weight), uses);
            }
            let capacities: Vec<f64> = capacities.into_iter().map(f64::from).collect();
            let known: Vec<_> = capacities.iter().copied().map(Some).collect();
            let shares = flows.shares(&known).unwrap();
            prop_assert!(shares.seconds >= shares.least_seconds * (1.0 - 1e-9));
            let levels = slow(&flows, &capacities);
            let mut used = vec![0.0; capacities.len()];
            for (flow, level) in levels.iter().enumerate() {
                let rate = level * flows.weights[flow];
                let same = rate.is_infinite() && shares.rates[flow].is_infinite();
                prop_assert!(same || (rate / shares.rates[flow] - 1.0).abs() < 1e-9);
                for at in flows.range(flow) {
                    used[flows.links[at] as usize] += f64::from(flows.uses[at]) * rate;
                }
            }
            for (used, capacity) in used.iter().zip(&capacities) {
                prop_assert!(*used <= capacity * (1.0 + 1e-9));
            }
        }
    }
}
