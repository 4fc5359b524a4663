//! Tests of simulated counters of ports: conservation of traffic, names and speeds of tiles, noise
//! that follows from its seed.

use talea_fabric::shape::Torus;
use talea_fabric::shape::torus::Wires;

use super::*;

const NONE: Noise = Noise { seed: 3, packets: 0 };

fn fabric() -> Fabric {
    let wires = Wires { kind: "cable".to_owned(), lane: Some(1.171_875e9), count: 4 };
    Torus::new(&[2, 2, 8]).unwrap().fabric(&wires, 2).unwrap()
}

/// What all six counters of the tiles that are at a router towards another one, or its hosts, grew
/// by.
fn grew(
    source: &Simulated,
    tiles: &[Tile],
    ends: (RouterId, Option<RouterId>),
    [before, after]: [&Readings; 2],
) -> [u64; 6] {
    let mut sums = [0; 6];
    for (at, tile) in tiles.iter().enumerate().filter(|(_, t)| (t.router, t.towards) == ends) {
        let port = &source.ports()[at];
        let pairs = before.port(at).iter().zip(after.port(at)).zip(&*port.counters);
        for (sum, ((before, after), counter)) in sums.iter_mut().zip(pairs) {
            let mut gaps = Gaps::default();
            let by = counter.grown(&tile.name, before.unwrap(), after.unwrap(), &mut gaps);
            *sum += by.unwrap();
        }
    }
    sums
}

#[test]
fn counters_show_what_comes_in() {
    let fabric = fabric();
    let tiles = tiles(&fabric, 8);
    let mut source = Simulated::new(&fabric, tiles.clone(), NONE);
    let mut gaps = Gaps::default();
    let before = source.read(Nanos(0), &mut gaps).unwrap();
    // One hop, from router 5 to router 6, and the responses back.
    let [a, b] = [5, 6].map(RouterId);
    let mut links = vec![Traffic::default(); fabric.links().len()];
    let mut hosts = vec![Traffic::default(); fabric.routers().len()];
    let request =
        Traffic { phits: [524_580, 42], packets: [16_401, 14], stalls: [57_659, 141_274] };
    let response = Traffic { phits: [278, 49_203], packets: [14, 16_401], stalls: [0, 0] };
    links[fabric.link(a, b).unwrap().at()] = request;
    links[fabric.link(b, a).unwrap().at()] = response;
    hosts[a.at()] = Traffic { stalls: [817_252, 0], ..request };
    hosts[b.at()] = response;
    source.carry(&links, &hosts);
    let after = source.read(Nanos(1_000_000_000), &mut gaps).unwrap();
    let grew = |ends| grew(&source, &tiles, ends, [&before, &after]);
    // The form of the table: requests are seen at the source's hosts, and where they arrive; output
    // stalls where they leave.
    assert_eq!(grew((a, Some(b))), [278, 49_203, 14, 16_401, 0, 141_274]);
    assert_eq!(grew((a, None)), [524_580, 42, 16_401, 14, 817_252, 0]);
    assert_eq!(grew((b, Some(a))), [524_580, 42, 16_401, 14, 57_659, 0]);
    assert_eq!(grew((b, None)), [278, 49_203, 14, 16_401, 0, 0]);
    assert_eq!(grew((b, Some(RouterId(7)))), [0; 6]);
    let said: Vec<_> = gaps.iter().map(|gap| gap.detail.as_str()).collect();
    assert_eq!(said, ["counters of `simulated tiles` are computed, not measured"]);
}

#[test]
fn tiles_have_the_speed_of_a_lane_and_names_of_one_word() {
    let fabric = fabric();
    let source = Simulated::new(&fabric, tiles(&fabric, 8), NONE);
    let tiles_of_a_router = 8 + 8 + 4 + 4 + 8;
    assert_eq!(source.ports().len(), 32 * tiles_of_a_router);
    let port = &source.ports()[0];
    assert_eq!((port.name.as_str(), port.speed), ("r(0,0,0)->r(0,0,1).0", Some(1.171_875e9)));
    assert!(source.name().starts_with("simulated"));
    assert!(source.ports().iter().all(|port| !port.name.contains(' ')));
}

#[test]
fn noise_is_small_and_follows_from_its_seed() {
    let fabric = fabric();
    let tiles = tiles(&fabric, 8);
    let run = |seed| {
        let noise = Noise { seed, packets: 14 };
        let mut source = Simulated::new(&fabric, tiles.clone(), noise);
        let mut gaps = Gaps::default();
        let first = source.read(Nanos(0), &mut gaps).unwrap();
        let second = source.read(Nanos(1), &mut gaps).unwrap();
        let of_hosts =
            (0..32).map(|at| grew(&source, &tiles, (RouterId(at), None), [&first, &second]));
        (first.clone(), of_hosts.collect::<Vec<_>>())
    };
    let (first, hosts) = run(1);
    assert_eq!((first.clone(), hosts.clone()), run(1));
    assert_ne!(first, run(2).0);
    for [phits, responses, packets, acknowledged, ..] in &hosts {
        assert!(packets <= &14 && packets == acknowledged && responses == &(3 * packets));
        assert!((8 * packets..=32 * packets).contains(phits));
    }
    assert!(hosts.iter().any(|[_, _, packets, ..]| *packets > 0));
}

#[test]
fn tiles_that_lead_nowhere_count_nothing() {
    let fabric = fabric();
    let tile = |towards| Tile { name: "l00".to_owned(), router: RouterId(0), towards };
    let tiles = vec![tile(Some(RouterId(9))), tile(Some(RouterId(u32::MAX)))];
    let mut source = Simulated::new(&fabric, tiles, Noise { seed: 1, packets: 9 });
    let mut gaps = Gaps::default();
    let first = source.read(Nanos(0), &mut gaps);
    source.carry(&[], &[]);
    assert_eq!(source.read(Nanos(0), &mut gaps), first);
}

/// The machine of the experiment, and the table that its readings make.
#[test]
fn tiles_of_a_gemini_become_the_table_of_links() {
    use talea_fabric::Coordinate;
    use talea_fabric::gemini::{link_table, machine};

    let machine = machine([2, 2, 8]).unwrap();
    let fabric = &machine.fabric;
    let all: Vec<RouterId> = (0..fabric.routers().len() as u32).map(RouterId).collect();
    let tiles = tiles_of(&machine, &all);
    assert_eq!(tiles_of(&machine, &all[3..4]), tiles[3 * 48..4 * 48]);
    assert_eq!((tiles.len(), tiles[0].name.as_str()), (32 * 48, "c0-0c0s0g0l00"));
    let mut source = Simulated::new(fabric, tiles, NONE);
    let mut gaps = Gaps::default();
    let before = values(&source.read(Nanos(0), &mut gaps).unwrap());
    let at = |z| fabric.router_at(Coordinate::new(&[1, 0, z]).unwrap()).unwrap();
    let mut links = vec![Traffic::default(); fabric.links().len()];
    let mut hosts = vec![Traffic::default(); fabric.routers().len()];
    let request = Traffic { phits: [524_580, 42], packets: [16_401, 14], stalls: [0, 141_274] };
    let response = Traffic { phits: [278, 49_203], packets: [14, 16_401], stalls: [0, 0] };
    links[fabric.link(at(5), at(6)).unwrap().at()] = request;
    links[fabric.link(at(6), at(5)).unwrap().at()] = response;
    hosts[at(5).at()] = Traffic { stalls: [0, 0], ..request };
    source.carry(&links, &hosts);
    let after = values(&source.read(Nanos(1), &mut gaps).unwrap());
    let routers: Vec<RouterId> = (0..32).map(RouterId).collect();
    let (routers, interval) = (&*routers, Nanos(1_000_000_000));
    let readings = gemini::Readings { routers, before: &before, after: &after, interval };
    let table = link_table(&machine, &readings).unwrap();
    let sums = |router, to| {
        let row = table.rows.iter().find(|row| (row.router, row.to) == (router, to)).unwrap();
        row.sums.map(Option::unwrap)
    };
    assert_eq!(sums(at(5), at(6)), [278, 49_203, 14, 16_401, 0, 141_274]);
    assert_eq!(sums(at(5), at(5)), [524_580, 42, 16_401, 14, 0, 0]);
    assert_eq!(sums(at(6), at(5)), [524_580, 42, 16_401, 14, 0, 0]);
    assert_eq!(sums(at(6), at(7)), [0; 6]);
    assert!(table.gaps.is_empty(), "{:?}", table.gaps);
}
