//! A model of time: flows share links fairly, and the last one is done when it has sent all of its bytes at its rate.
//!
//! Owns max-min fair rates by filling (Bertsekas and Gallager, "Data Networks", 1992, section 6.5.2): no flow can have more without one that has as little or less having less. It is a model: rates hold
//! from the begin to the end, though flows that are done would free their links, packets are not looked at, and waiting is none. Load over capacity stands beside it as the least time that any
//! sharing could need. Both are named so wherever they are shown.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Flows and what each uses, as one list of links for all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flows {
    /// Bytes of each flow.
    bytes: Vec<f64>,
    /// How many equal flows it stands for.
    weights: Vec<f64>,
    /// Where the uses of each end.
    ends: Vec<usize>,
    /// Links by flow.
    links: Vec<u32>,
    /// Bytes on each of those links for a byte of the flow.
    uses: Vec<f32>,
}

/// Rates and times of flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// Bytes a second of each flow, of all that it stands for; infinite if it uses no link.
    pub rates: Vec<f64>,
    /// Seconds until the last flow is done, if all hold their rates.
    pub seconds: f64,
    /// Seconds that the most loaded link needs for its bytes: no sharing is faster.
    pub least_seconds: f64,
}

impl Flows {
    /// Adds a flow that stands for `weight` equal ones and sends `bytes` in all. `uses` are links with the bytes that go over each for one byte of the flow. What is not above 0 is
    /// nothing: such a flow has no bytes, such a use is left out.
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

    /// How many there are.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Links of all ways together.
    pub fn hops(&self) -> usize {
        self.links.len()
    }

    fn range(&self, flow: usize) -> std::ops::Range<usize> {
        let begin = flow.checked_sub(1).map_or(0, |before| self.ends[before]);
        begin..self.ends[flow]
    }

    /// Fair rates over links of these capacities in bytes a second; none if a flow with bytes uses a link that has no capacity.
    pub fn shares(&self, capacities: &[Option<f64>]) -> Option<Shares> {
        let mut left: Vec<f64> = Vec::with_capacity(capacities.len());
        left.extend(capacities.iter().map(|capacity| capacity.unwrap_or(0.0)));
        let active = |flow: usize| self.bytes[flow] > 0.0;
        let mut demand = vec![0.0; left.len()];
        let mut load = vec![0.0; left.len()];
        let mut first = vec![0_usize; left.len() + 1];
        for flow in (0..self.len()).filter(|&flow| active(flow)) {
            for at in self.range(flow) {
                let link = self.links[at] as usize;
                let capacity = capacities.get(link).copied().flatten();
                capacity.filter(|&capacity| capacity > 0.0)?;
                demand[link] += f64::from(self.uses[at]) * self.weights[flow];
                load[link] += f64::from(self.uses[at]) * self.bytes[flow];
                first[link + 1] += 1;
            }
        }
        let times = load.iter().zip(&left).filter(|(load, _)| **load > 0.0);
        let least_seconds = times.map(|(load, capacity)| load / capacity).fold(0.0, f64::max);
        let by_link = self.by_link(&mut first);
        let levels = self.fill(&mut left, &mut demand, &first, &by_link);
        let rates: Vec<f64> =
            levels.iter().zip(&self.weights).map(|(level, weight)| level * weight).collect();
        let times = self.bytes.iter().zip(&rates).filter(|(bytes, _)| **bytes > 0.0);
        let seconds = times.map(|(bytes, rate)| bytes / rate).fold(0.0, f64::max);
        Some(Shares { rates, seconds, least_seconds })
    }

    /// Flows of each link; `first` is how many each has, one place further, and then where they begin.
    fn by_link(&self, first: &mut [usize]) -> Vec<u32> {
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut next = first.to_vec();
        let mut by_link = vec![0_u32; first.last().copied().unwrap_or(0)];
        for flow in (0..self.len()).filter(|&flow| self.bytes[flow] > 0.0) {
            for &link in &self.links[self.range(flow)] {
                let place = &mut next[link as usize];
                by_link[*place] = flow as u32;
                *place += 1;
            }
        }
        by_link
    }

    /// Rates for a weight of one. The link with the least for each of its flows is full first; what its flows take is taken from the other links, whose shares can only grow. A heap
    /// that is set right when a link is taken from it therefore finds the least.
    fn fill(
        &self,
        left: &mut [f64],
        demand: &mut [f64],
        first: &[usize],
        by_link: &[u32],
    ) -> Vec<f64> {
        let mut levels = vec![f64::INFINITY; self.len()];
        // Positive floating-point numbers are ordered as their bits are.
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
        // Three links in a row of capacity 1; one flow over the first two, two over the second one, one over the third, as in figure 6.10 of Bertsekas and Gallager.
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
    fn fair_sharing_takes_longer_than_the_load_alone() {
        // A large flow shares with a small one: load says 10 / 1, the fair rate of one half says 18.
        let flows = flows(&[(9.0, 1.0, &[0]), (1.0, 1.0, &[0])]);
        let shares = flows.shares(&[Some(1.0)]).unwrap();
        close(&[shares.seconds, shares.least_seconds], &[18.0, 10.0]);
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

    /// Raises all rates together by small equal parts of what is left, link by link: slow, and a fixed point of the definition.
    fn slow(flows: &Flows, capacities: &[f64]) -> Vec<f64> {
        let mut levels = vec![f64::INFINITY; flows.len()];
        loop {
            let mut least = (f64::INFINITY, usize::MAX);
            for (link, capacity) in capacities.iter().enumerate() {
                let (mut left, mut demand) = (*capacity, 0.0);
                for flow in 0..flows.len() {
                    for at in flows.range(flow).filter(|&at| flows.links[at] as usize == link) {
                        let used = f64::from(flows.uses[at]) * flows.weights[flow];
                        if levels[flow].is_finite() {
                            left -= used * levels[flow];
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
            for flow in 0..flows.len() {
                let links = &flows.links[flows.range(flow)];
                if links.contains(&(least.1 as u32)) && levels[flow].is_infinite() {
                    levels[flow] = least.0;
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
                let same = rate == shares.rates[flow];
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
