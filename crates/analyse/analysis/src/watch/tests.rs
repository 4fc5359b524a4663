//! Snapshots of random hosts: merged in any order, as bytes, and beyond all bounds.

use proptest::prelude::*;
use talea_flow::growth::Look;
use talea_flow::history::Group;
use talea_model::random::Random;
use talea_model::{Gap, GapKind, Nanos};
use talea_results::watch::{OpenCall, RankState};

use super::snapshot::{MainPart, RankPart, Share, SiteSums, Snapshot, World};
use super::spread::{Bursts, Kind};
use super::*;

/// Size of a random host.
#[derive(Clone, Copy, Debug)]
struct Size {
    ranks: u32,
    sites: usize,
    bursts: usize,
    /// Length of names.
    name: usize,
}

const SMALL: Size = Size { ranks: 4, sites: 5, bursts: 200, name: 12 };

fn site(number: usize, size: Size) -> String {
    format!("MPI_Send {number} {}", "x".repeat(size.name))
}

fn bursts(host: u32, size: Size, random: &mut Random) -> Bursts {
    let mut all = Bursts::default();
    for rank in 0..size.ranks {
        let mut own: Vec<(u32, u64)> = Vec::new();
        for _ in 0..size.bursts {
            let (from, to) = (random.below(size.sites), random.below(size.sites));
            let edge = all.edge([site(from, size), site(to, size)]);
            own.push((edge, 1000 << random.below(12) | random.below(1000) as u64));
        }
        let bins = own.iter().map(|&(edge, nanos)| {
            let bin = talea_cluster::bins::Bin { bursts: 1, nanos };
            (talea_cluster::bins::Key::new(edge, nanos), bin)
        });
        let newest = own.iter().rev().copied();
        all.add_thread(u64::from(host * 1000 + rank).wrapping_mul(0x9e37_79b9), bins, newest);
    }
    all
}

fn snapshot(host: u32, size: Size, seed: u64) -> Snapshot {
    let mut random = Random::new(seed ^ u64::from(host) << 32);
    let mut next = |below: u64| random.below(below as usize) as u64;
    let share = |part: u64| Share { part, all: part + 10 };
    let world = next(2);
    let started = 1_000 + next(100);
    let mut all = Snapshot {
        span: Some((started, started + next(1000))),
        worlds: vec![World { started, id: world }],
        running: u64::from(size.ranks),
        events: next(1000),
        nodes: next(10),
        look: Look { events: next(9), time: Nanos(next(90)), new: Nanos(next(9)) },
        mpi: share(next(100)),
        time: next(1000),
        ..Snapshot::default()
    };
    for number in 0..size.sites {
        let sums = SiteSums { calls: next(100), time: next(1000), recent: next(100) };
        all.sites.insert(site(number, size), sums);
    }
    for rank in 0..size.ranks {
        let counted = (0..next(3)).map(|at| (site(at as usize, size), next(50))).collect();
        let inside = (next(2) > 0).then(|| OpenCall { site: site(1, size), since_ns: Nanos(1) });
        all.ranks.push(RankPart {
            world,
            rank: Some(host * size.ranks + rank),
            host: format!("host{host}"),
            state: if next(9) == 0 { RankState::Finalized } else { RankState::Running },
            events: next(100),
            counted,
            mpi: share(next(100)),
            recent_mpi: share(next(10)),
            inside,
        });
    }
    if next(3) > 0 {
        let group = |at: u64| Group { begin: Nanos(at), count: 1, ..Group::default() };
        all.main = Some(MainPart {
            rank: host * size.ranks,
            started,
            world,
            place: "main".into(),
            counted_by: site(0, size),
            iterations: 3,
            share: share(5),
            variation: 0.5,
            history: (0..300).map(group).collect(),
        });
    }
    let detail = format!("a gap of {host}");
    all.gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 });
    let bursts = bursts(host, size, &mut random);
    all.burst_count = bursts.bins.total().bursts;
    all.bursts = Some(bursts);
    all
}

fn merged(all: &[Snapshot], order: &[usize]) -> Snapshot {
    let mut sum = Snapshot::default();
    for &at in order {
        sum.merge(all[at].clone());
    }
    sum
}

/// A snapshot without the numbers of edges, which follow the order of merging.
fn plain(all: &Snapshot) -> (Snapshot, Vec<String>) {
    let mut all = all.clone();
    let bursts = all.bursts.take().unwrap_or_default();
    let ends = |edge: u32| bursts.ends(edge).cloned().unwrap_or_default().concat();
    let bins = bursts.bins.iter();
    let bins = bins.map(|(key, bin)| format!("{} {} {bin:?}", ends(key.edge), key.class()));
    let recent = bursts.recent().into_iter();
    let recent = recent.map(|one| format!("{} {} {}", one.rank.0, ends(one.edge), one.nanos));
    let mut lines: Vec<String> = bins.chain(recent).collect();
    lines.sort();
    (all, lines)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn snapshots_merge_in_any_order(seed in any::<u64>(), cut in 1_usize..5) {
        let all: Vec<Snapshot> = (0..6).map(|host| snapshot(host, SMALL, seed)).collect();
        let forward = merged(&all, &[0, 1, 2, 3, 4, 5]);
        let backward = merged(&all, &[5, 4, 3, 2, 1, 0]);
        prop_assert!(plain(&forward) == plain(&backward));
        let order = [0, 1, 2, 3, 4, 5];
        let mut tree = merged(&all, &order[..cut]);
        tree.merge(merged(&all, &order[cut..]));
        prop_assert!(plain(&forward) == plain(&tree));
        let events: u64 = all.iter().map(|one| one.events).sum();
        prop_assert_eq!(forward.events, events);
    }

    #[test]
    fn bytes_have_everything_that_is_short(seed in any::<u64>()) {
        let mut all = snapshot(1, SMALL, seed);
        if let Some(main) = &mut all.main {
            main.history.truncate(200);
        }
        let bytes = all.clone().to_bytes(MAX_BYTES, &Guide::default());
        let again = Snapshot::from_bytes(&bytes).unwrap();
        prop_assert!(plain(&again) == plain(&all));
    }

    #[test]
    fn damaged_bytes_never_panic_and_cut_ones_are_errors(
        seed in any::<u64>(),
        at in any::<prop::sample::Index>(),
        with in any::<u8>()
    ) {
        let mut bytes = snapshot(1, SMALL, seed).to_bytes(MAX_BYTES, &Guide::default());
        let at = at.index(bytes.len());
        prop_assert!(Snapshot::from_bytes(&bytes[..at]).is_err());
        bytes[at] ^= with;
        let _ = Snapshot::from_bytes(&bytes);
        let _ = Guide::from_bytes(&bytes);
    }
}

/// Whatever the number of hosts, an edge of the tree has at most so many bytes, and exact totals.
#[test]
fn bytes_are_bounded() {
    for size in [
        Size { ranks: 3000, sites: 40, bursts: 10, name: 30 },
        Size { ranks: 40, sites: 3000, bursts: 500, name: 30 },
        Size { ranks: 50, sites: 500, bursts: 200, name: 2000 },
    ] {
        let all: Vec<Snapshot> = (0..3).map(|host| snapshot(host, size, 5)).collect();
        let mut full = merged(&all, &[0, 1, 2]);
        full.ranks.iter_mut().skip(77).step_by(1000).for_each(|one| one.state = RankState::Aborted);
        for max in [MAX_BYTES, 9000] {
            let bytes = full.clone().to_bytes(max, &Guide::default());
            assert!(bytes.len() <= max, "{size:?}: {}", bytes.len());
            let short = Snapshot::from_bytes(&bytes).unwrap();
            assert_eq!(short.events, full.events);
            let calls = |all: &Snapshot| all.sites.values().map(|sums| sums.calls).sum::<u64>();
            assert_eq!(calls(&short), calls(&full));
            let ranks = |all: &Snapshot| all.ranks.len() as u64 + all.other_ranks.count;
            assert_eq!(ranks(&short), ranks(&full));
            let total = |all: &Snapshot| all.bursts.as_ref().unwrap().bins.total();
            assert_eq!(total(&short), total(&full));
            let call = &site(0, size);
            if size.name < 400 {
                assert_eq!(short.visits(call), full.visits(call));
            }
            let stands_out = |one: &&RankPart| one.state == RankState::Aborted;
            if max == MAX_BYTES {
                let [kept, all] =
                    [&short, &full].map(|all| all.ranks.iter().filter(stands_out).count());
                assert_eq!(kept, all, "{size:?}");
            }
        }
    }
}

/// Each host counts its threads for each cluster, and the sum is that of all threads.
#[test]
fn threads_are_counted_where_they_run() {
    let size = Size { ranks: 6, ..SMALL };
    let mut random = Random::new(7);
    let hosts: Vec<Bursts> = (0..4).map(|host| bursts(host, size, &mut random)).collect();
    let mut all = Bursts::default();
    for one in &hosts {
        all.merge(one);
    }
    let ends = |from, to| Some([site(from, size), site(to, size)]);
    let kinds = [
        Kind { id: 3, ends: ends(0, 1), low: 700, high: 800 },
        Kind { id: 4, ends: ends(0, 1), low: 801, high: 4095 },
        Kind { id: 9, ends: ends(2, 2), low: 0, high: 4095 },
        Kind { id: 9, ends: ends(4, 9), low: 0, high: 4095 },
    ];
    let mut whole = all.clone();
    whole.count_threads(&kinds);
    let mut parts = Bursts::default();
    for mut one in hosts {
        one.count_threads(&kinds);
        let travelled = rmp_serde::from_slice(&rmp_serde::to_vec_named(&one).unwrap()).unwrap();
        parts.merge(&travelled);
    }
    let counts = |all: &Bursts| {
        let mut counts: Vec<_> = all.threads_of(|_| None).into_iter().collect();
        counts.sort_unstable();
        counts
    };
    assert_eq!(counts(&parts), counts(&whole));
    assert!(counts(&whole).iter().any(|&(_, threads)| threads > 6));
    // Of a cluster that hosts did not know yet, the threads of its fullest bin are a minimum.
    let is_new = |key: talea_cluster::bins::Key| (key.class() > 900).then_some(77);
    let [least, exact] = [&parts, &all].map(|one| one.threads_of(is_new)[&77]);
    assert!(exact == 24 && (10..=24).contains(&least), "{least} of {exact}");
}
