//! Loads of links: packets, phits and bytes over each for one placement.
//!
//! Owns the sums over routes, requests and responses each on their own, and the view of a router's
//! tiles, whose counters count incoming data (Pedretti et al., "Using the Cray Gemini Performance
//! Counters", 2013, "Tile Counter Directionality"). It refuses time: see [`crate::fair`].

use rayon::prelude::*;

use super::{Load, Pair, Pairs, TrafficError};
use crate::machine::{Fabric, LinkId, RouterId};
use crate::route::Routing;

/// Maximum number of sums kept at the same time: 160 MiB.
const MOST_SUMS: usize = 1 << 22;

/// Loads of all links and of all routers' hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loads {
    /// By [`LinkId`], in the link's own direction.
    pub links: Vec<Load>,
    /// By [`RouterId`]: load that its hosts send into it.
    pub injected: Vec<Load>,
    /// By [`RouterId`]: load that it delivers to its hosts.
    pub delivered: Vec<Load>,
}

/// A row of a router's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The router at the other end of the tiles; `None` for host tiles.
    pub towards: Option<RouterId>,
    /// Load in their counters: that from the other end.
    pub load: Load,
}

impl Loads {
    /// Loads of these pairs on the routes of a routing.
    ///
    /// # Errors
    /// Two routers without a route.
    pub fn new(
        pairs: &Pairs,
        fabric: &Fabric,
        routing: &dyn Routing,
    ) -> Result<Self, TrafficError> {
        let empty = || Self {
            links: vec![Load::default(); fabric.links().len()],
            injected: vec![Load::default(); fabric.routers().len()],
            delivered: vec![Load::default(); fabric.routers().len()],
        };
        // Each piece has loads of its own for all links.
        let most = (MOST_SUMS / fabric.links().len().max(1)).clamp(1, 16);
        let pieces = rayon::current_num_threads().clamp(1, most);
        let size = pairs.pairs.len().div_ceil(pieces).max(1);
        let some = |pairs: &[Pair]| {
            let mut loads = empty();
            let mut way = Vec::new();
            for pair in pairs {
                loads.add(pair, routing, &mut way)?;
            }
            Ok::<_, TrafficError>(loads)
        };
        let all: Vec<Result<Self, _>> = pairs.pairs.par_chunks(size).map(some).collect();
        // The error is that of the first pair, whichever piece ended first.
        let all: Vec<Self> = all.into_iter().collect::<Result<_, _>>()?;
        let sum = all.into_iter().reduce(|mut sum, other| {
            sum.sum(&other);
            sum
        });
        Ok(sum.unwrap_or_else(empty))
    }

    fn add(
        &mut self,
        pair: &Pair,
        routing: &dyn Routing,
        way: &mut Vec<LinkId>,
    ) -> Result<(), TrafficError> {
        let Pair { from, to, choice, back_choice, cost, .. } = pair;
        let ways = [(*from, *to, *choice, &cost.there), (*to, *from, *back_choice, &cost.back)];
        for (from, to, choice, load) in ways {
            self.injected[from.at()].sum(load);
            self.delivered[to.at()].sum(load);
            way.clear();
            routing.way(from, to, choice, way)?;
            for link in &*way {
                self.links[link.at()].sum(load);
            }
        }
        Ok(())
    }

    /// Adds other loads of the same fabric.
    pub fn sum(&mut self, other: &Self) {
        let lists = [
            (&mut self.links, &other.links),
            (&mut self.injected, &other.injected),
            (&mut self.delivered, &other.delivered),
        ];
        for (sums, others) in lists {
            sums.iter_mut().zip(others).for_each(|(sum, other)| sum.sum(other));
        }
    }

    /// Counters of a router: a row for each link that leaves it, with the load from that link's
    /// other end, and one for its hosts' tiles, with the load that they send.
    pub fn router_counters(&self, fabric: &Fabric, router: RouterId) -> Vec<Shown> {
        let rows = fabric.from(router).1.iter().map(|link| {
            let inward = fabric.link(link.to, router);
            let load = inward.and_then(|link| self.links.get(link.at())).copied();
            Shown { towards: Some(link.to), load: load.unwrap_or_default() }
        });
        let hosts = self.injected.get(router.at()).copied().unwrap_or_default();
        rows.chain([Shown { towards: None, load: hosts }]).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicBool, Ordering};

    use proptest::prelude::*;

    use super::*;
    use crate::coordinate::Coordinate;
    use crate::machine::HostId;
    use crate::route::{Dimensions, NoWay};
    use crate::shape::Torus;
    use crate::shape::torus::Wires;
    use crate::traffic::protocol::{Control, Transaction};
    use crate::traffic::{Message, Messages, Protocol};

    fn machine(lengths: &[u16], hosts: u16) -> (Torus, Fabric) {
        let torus = Torus::new(lengths).unwrap();
        let wires = Wires { kind: "cable".to_owned(), lane: Some(1.0), count: 1 };
        let fabric = torus.fabric(&wires, hosts).unwrap();
        (torus, fabric)
    }

    /// Counters of one router as (towards, VC0 phits, VC1 phits, VC0 packets, VC1 packets), in the
    /// slide's order of directions.
    fn rows(
        loads: &Loads,
        fabric: &Fabric,
        torus: &Torus,
        at: [u16; 3],
    ) -> Vec<(String, [u64; 4])> {
        let router = torus.router(Coordinate::new(&at).unwrap()).unwrap();
        let rows = loads.router_counters(fabric, router).into_iter().map(|shown| {
            let towards =
                shown.towards.map_or("HH".to_owned(), |at| torus.coordinate(at).to_string());
            let Load { requests, responses, .. } = shown.load;
            (towards, [requests.phits, responses.phits, requests.packets, responses.packets])
        });
        rows.collect()
    }

    /// No route at all. The first pair's answer comes after that of the last one.
    struct NoRoutes {
        last: RouterId,
        asked: AtomicBool,
    }

    impl Routing for NoRoutes {
        fn name(&self) -> &'static str {
            "none"
        }

        fn way(
            &self,
            from: RouterId,
            to: RouterId,
            _choice: u32,
            _links: &mut Vec<LinkId>,
        ) -> Result<(), NoWay> {
            if from == self.last {
                self.asked.store(true, Ordering::Release);
            }
            while !self.asked.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            Err(NoWay { from, to })
        }

        fn dimensions(&self) -> Vec<String> {
            Vec::new()
        }

        fn dimension(&self, _link: LinkId) -> usize {
            0
        }
    }

    #[test]
    fn the_error_is_that_of_the_first_pair() {
        let (_, fabric) = machine(&[2, 2, 2], 1);
        let hosts: Vec<HostId> = (0..8).map(HostId).collect();
        let mut messages = Messages::default();
        messages.add(Message { from: 0, to: 1, bytes: 8, count: 1 }).unwrap();
        messages.add(Message { from: 6, to: 7, bytes: 8, count: 1 }).unwrap();
        let routing = NoRoutes { last: RouterId(6), asked: AtomicBool::new(false) };
        let pairs = Pairs::new(&messages, (&hosts, &[]), &fabric, &routing, &Protocol::MPI);
        let threads = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let loads = threads.install(|| Loads::new(&pairs.unwrap(), &fabric, &routing));
        let first = NoWay { from: RouterId(0), to: RouterId(1) };
        assert_eq!(loads.unwrap_err(), TrafficError::from(first));
    }

    #[test]
    fn the_sonar_table_of_the_slides() {
        // Slide "Tile Counter Directionality (1)": one MiB from (1,0,5) to (1,0,7). The difference
        // is MPI's own: the slide has 524,580 and 524,584 phits where this has 524,592, and 278
        // where this has 280. Its host tiles at (1,0,6) show 8 packets of other programs, which no
        // model has.
        let (torus, fabric) = machine(&[2, 2, 8], 1);
        let routing = Dimensions::new(&torus, &fabric).unwrap();
        let host = |at: [u16; 3]| HostId(torus.router(Coordinate::new(&at).unwrap()).unwrap().0);
        let hosts = [host([1, 0, 5]), host([1, 0, 7])];
        let mut messages = Messages::default();
        messages.add(Message { from: 0, to: 1, bytes: 1 << 20, count: 1 }).unwrap();
        let protocol = Protocol { control: Control::SONAR, ..Protocol::MPI };
        let pairs = Pairs::new(&messages, (&hosts, &[]), &fabric, &routing, &protocol).unwrap();
        let loads = Loads::new(&pairs, &fabric, &routing).unwrap();
        let (zero, data, answers) = ([0; 4], [524_592, 42, 16_401, 14], [280, 49_203, 14, 16_401]);
        let expected = |rows: &[(&str, [u64; 4])]| -> Vec<(String, [u64; 4])> {
            rows.iter().map(|(towards, counts)| ((*towards).to_owned(), *counts)).collect()
        };
        assert_eq!(
            rows(&loads, &fabric, &torus, [1, 0, 5]),
            expected(&[
                ("(0,0,5)", zero),
                ("(1,0,4)", zero),
                ("(1,0,6)", answers),
                ("(1,1,5)", zero),
                ("HH", data),
            ])
        );
        assert_eq!(
            rows(&loads, &fabric, &torus, [1, 0, 6]),
            expected(&[
                ("(0,0,6)", zero),
                ("(1,0,5)", data),
                ("(1,0,7)", answers),
                ("(1,1,6)", zero),
                ("HH", zero),
            ])
        );
        assert_eq!(
            rows(&loads, &fabric, &torus, [1, 0, 7]),
            expected(&[
                ("(0,0,7)", zero),
                ("(1,0,0)", zero),
                ("(1,0,6)", data),
                ("(1,1,7)", zero),
                ("HH", answers),
            ])
        );
        for (model, seen) in [(data[0], 524_580), (data[0], 524_584), (answers[0], 278)] {
            assert!((model as f64 / f64::from(seen) - 1.0).abs() < 0.01, "{model} {seen}");
        }
    }

    #[test]
    fn ranks_and_hosts_that_are_not_there() {
        let (torus, fabric) = machine(&[2], 1);
        let routing = Dimensions::new(&torus, &fabric).unwrap();
        let mut messages = Messages::default();
        messages.add(Message { from: 0, to: 2, bytes: 1, count: 1 }).unwrap();
        let pairs = |hosts: &[u32]| {
            let hosts: Vec<_> = hosts.iter().copied().map(HostId).collect();
            Pairs::new(&messages, (&hosts, &[]), &fabric, &routing, &Protocol::PUT)
        };
        assert_eq!(pairs(&[0, 1]), Err(TrafficError::Rank { rank: 2, ranks: 2 }));
        assert_eq!(pairs(&[0, 1, 2]), Err(TrafficError::Host { host: 2, hosts: 2 }));
        assert_eq!(pairs(&[0, 1, 1]).unwrap().pairs.len(), 1);
    }

    proptest! {
        #[test]
        fn loads_are_those_of_each_message_walked_alone(
            lengths in prop::collection::vec(1_u16..5, 3),
            hosts in prop::collection::vec(any::<prop::sample::Index>(), 6),
            sent in prop::collection::vec((0_u32..6, 0_u32..6, 0_u64..20_000, 0_u64..3), 0..20),
            get in any::<bool>(),
        ) {
            let (torus, fabric) = machine(&lengths, 2);
            let routing = Dimensions::new(&torus, &fabric).unwrap();
            let hosts: Vec<_> =
                hosts.iter().map(|host| HostId(host.index(torus.routers() * 2) as u32)).collect();
            let transaction = if get { Transaction::Get } else { Transaction::Put };
            let protocol = Protocol { transaction, control: Control::SONAR, ..Protocol::MPI };
            let mut messages = Messages::default();
            for (from, to, bytes, count) in sent {
                messages.add(Message { from, to, bytes, count }).unwrap();
            }
            let pairs = Pairs::new(&messages, (&hosts, &[]), &fabric, &routing, &protocol).unwrap();
            let loads = Loads::new(&pairs, &fabric, &routing).unwrap();

            let mut walked: BTreeMap<(Vec<u16>, Vec<u16>), Load> = BTreeMap::new();
            let (mut within, mut between) = (0, 0);
            for message in messages.iter() {
                let ends = [message.from, message.to].map(|rank| hosts[rank as usize]);
                if ends[0] == ends[1] {
                    within += message.bytes;
                    continue;
                }
                between += message.bytes;
                let at = ends.map(|host| torus.coordinate(RouterId(host.0 / 2)).values().to_vec());
                let cost = protocol.cost(&message);
                for (from, to, load) in [
                    (&at[0], &at[1], cost.there),
                    (&at[1], &at[0], cost.back)
                ] {
                    let mut here = from.clone();
                    for axis in 0..3 {
                        while here[axis] != to[axis] {
                            let length = lengths[axis];
                            let up = (to[axis] + length - here[axis]) % length;
                            let step = if up * 2 <= length { 1 } else { length - 1 };
                            let before = here.clone();
                            here[axis] = (here[axis] + step) % length;
                            walked.entry((before, here.clone())).or_default().sum(&load);
                        }
                    }
                }
            }
            prop_assert_eq!((pairs.within, pairs.between), (within, between));
            for (link, load) in fabric.links().iter().zip(&loads.links) {
                let ends = [link.from, link.to].map(|at| torus.coordinate(at).values().to_vec());
                let [from, to] = ends;
                let expected = walked.remove(&(from, to)).unwrap_or_default();
                prop_assert_eq!(*load, expected);
            }
            prop_assert!(walked.is_empty());
            let injected: u64 = loads.injected.iter().map(|load| load.bytes).sum();
            let delivered: u64 = loads.delivered.iter().map(|load| load.bytes).sum();
            prop_assert_eq!((injected, delivered), (between, between));
        }
    }
}
