//! The tables of the slides, from given counters; and irregular counters.

use proptest::prelude::*;
use talea_model::{Bytes, Nanos};

use super::print::{job_wide, map_text, shares, sonar};
use super::tiles::{BITS, COUNTERS, READINGS, TILES};
use super::*;
use crate::coordinate::Coordinate;
use crate::error::FabricError;

/// Counters of a link: destination (that of the host is `None`) and sums.
type Shown = (Option<[u16; 3]>, [u64; COUNTERS]);

fn router(machine: &Machine, at: [u16; 3]) -> RouterId {
    machine.torus.as_ref().unwrap().router(Coordinate::new(&at).unwrap()).unwrap()
}

/// Readings of a router whose links show these sums, unevenly on their tiles, starting near the end
/// of the counters.
fn readings(machine: &Machine, of: RouterId, shown: &[Shown]) -> (Vec<u64>, Vec<u64>) {
    let largest = (1_u64 << BITS) - 1;
    let before: Vec<u64> = (0..READINGS as u64).map(|at| largest - at * 1000).collect();
    let mut after = before.clone();
    for (to, sums) in shown {
        let to = to.map(|to| router(machine, to));
        let tiles: Vec<usize> = (0..TILES)
            .filter(|&tile| match machine.tiles[of.at()][tile] {
                Use::Host => to.is_none(),
                Use::Network(peer) => to == Some(peer.to),
                Use::Unused => false,
            })
            .collect();
        for (counter, &sum) in sums.iter().enumerate() {
            let each = sum / (tiles.len() as u64 + 1);
            for (nth, tile) in tiles.iter().enumerate() {
                let steps = if nth == 0 { sum - each * (tiles.len() as u64 - 1) } else { each };
                let value = &mut after[tile * COUNTERS + counter];
                *value = (*value + steps) & largest;
            }
        }
    }
    (before, after)
}

fn table(machine: &Machine, routers: &[([u16; 3], Vec<Shown>)], interval: u64) -> Table {
    let ids: Vec<RouterId> = routers.iter().map(|(at, _)| router(machine, *at)).collect();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (id, (_, shown)) in ids.iter().zip(routers) {
        let (first, second) = readings(machine, *id, shown);
        before.extend(first);
        after.extend(second);
    }
    let interval = Nanos(interval);
    let readings = Readings { routers: &ids, before: &before, after: &after, interval };
    link_table(machine, &readings).unwrap()
}

/// Rows of the slide "Gathering Job Wide Information": router, destination, sums.
const JOB: &str = "\
0,1,1 1,1,1 1626452284 304999266 101662806 101666422 3533598961 2689080952
0,1,1 15,1,1 100506 38796 9780 12932 83 0
0,1,1 0,2,1 1627257610 305156760 101726643 101718920 1702270109 0
0,1,1 0,0,1 1153554135 216313236 72105559 72104412 1925883229 2366983378
0,1,1 0,1,2 815234359 152948952 50988260 50982984 133047991 776502961
0,1,1 0,1,0 1743043 378399 156635 126133 580 992022669
0,1,1 0,1,1 1834489368 344019696 114672167 114673232 10585723107 2263990777
0,0,1 1,0,1 1966685020 368797209 122929393 122932403 3317929506 3063532486
0,0,1 15,0,1 122194 43005 11983 14335 9 0
0,0,1 0,1,1 1154016206 216417552 72141025 72139184 3589170400 1097189607
0,0,1 0,11,1 96911 20538 9646 6846 56244 0
0,0,1 0,0,2 2477453033 458007486 153779007 152669162 952487628 2209098748
0,0,1 0,0,0 2071415 3684912 128723 1228304 464902 387186094
0,0,1 0,0,1 2174662127 407809092 135934105 135936364 10604254673 2216827070";

fn job() -> (Machine, Table) {
    let machine = machine([16, 12, 24]).unwrap();
    let place = |text: &str| -> [u16; 3] {
        text.parse::<Coordinate>().unwrap().values().try_into().unwrap()
    };
    let mut routers: Vec<([u16; 3], Vec<Shown>)> = Vec::new();
    for line in JOB.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let (router, to) = (place(words[0]), place(words[1]));
        if routers.last().is_none_or(|(last, _)| *last != router) {
            routers.push((router, Vec::new()));
        }
        let sums: Vec<u64> = words[2..].iter().map(|word| word.parse().unwrap()).collect();
        let shown = ((to != router).then_some(to), sums.try_into().unwrap());
        routers.last_mut().unwrap().1.push(shown);
    }
    let table = table(&machine, &routers, 3_000_000_000);
    (machine, table)
}

#[test]
fn the_table_of_a_whole_job() {
    let (machine, table) = job();
    assert!(table.gaps.is_empty());
    let text = job_wide(&machine.fabric, &table);
    assert!(text.contains("\nX+\t(1, 1, 1)\t9.38\t1626452284\t304999266\t101662806\t101666422\t3533598961\t2689080952\n"));
    insta::assert_snapshot!(text);
    insta::assert_snapshot!(shares(&machine.fabric, &table));
}

#[test]
fn the_table_of_a_sonar() {
    let machine = machine([2, 2, 8]).unwrap();
    let data = [524_580, 42, 16_401, 14, 0, 0];
    let routers = [
        (
            [1, 0, 5],
            vec![
                (Some([1, 0, 6]), [278, 49_203, 14, 16_401, 0, 141_274]),
                (None, [524_580, 42, 16_401, 14, 817_252, 0]),
            ],
        ),
        (
            [1, 0, 6],
            vec![
                (Some([1, 0, 7]), [278, 49_203, 14, 16_401, 0, 0]),
                (Some([1, 0, 5]), data),
                (None, [156, 24, 8, 8, 0, 0]),
            ],
        ),
        (
            [1, 0, 7],
            vec![
                (Some([1, 0, 6]), [524_584, 42, 16_401, 14, 57_659, 0]),
                (None, [278, 49_203, 14, 16_401, 0, 0]),
            ],
        ),
    ];
    let table = table(&machine, &routers, 1_000_000);
    let marks = [([1, 0, 5], "SOURCE"), ([1, 0, 7], "DESTINATION")]
        .map(|(at, mark)| (router(&machine, at), mark));
    let text = sonar(&machine.fabric, &table, &marks);
    let slide = "\
(1, 0, 5) SOURCE
X- (0, 0, 5) 18.75	0	0	0	0	0	0
Y+ (1, 1, 5) 14.06	0	0	0	0	0	0
Z+ (1, 0, 6) 15.00	278	49203	14	16401	0	141274
Z- (1, 0, 4) 15.00	0	0	0	0	0	0
HH (1, 0, 5) 10.40	524580	42	16401	14	817252	0
(1, 0, 6)
X- (0, 0, 6) 18.75	0	0	0	0	0	0
Y+ (1, 1, 6) 14.06	0	0	0	0	0	0
Z+ (1, 0, 7) 15.00	278	49203	14	16401	0	0
Z- (1, 0, 5) 15.00	524580	42	16401	14	0	0
HH (1, 0, 6) 10.40	156	24	8	8	0	0
(1, 0, 7) DESTINATION
X- (0, 0, 7) 18.75	0	0	0	0	0	0
Y+ (1, 1, 7) 14.06	0	0	0	0	0	0
Z+ (1, 0, 0) 9.38	0	0	0	0	0	0
Z- (1, 0, 6) 15.00	524584	42	16401	14	57659	0
HH (1, 0, 7) 10.40	278	49203	14	16401	0	0
";
    assert_eq!(text, slide);
}

#[test]
fn what_follows_from_sums() {
    let (_, table) = job();
    let row = &table.rows[0];
    // 1,931,451,550 phits of 3 bytes in 3 s on 9.375 GB/s; stalls of 8 tiles.
    assert!((row.utilisation(table.interval).unwrap() - 0.206_021_499).abs() < 1e-8);
    let stalled = row.stalled(TileCounter::InqStalls, table.interval).unwrap();
    assert!((stalled - 3_533_598_961.0 * 1.25 / 8.0 / 3e9).abs() < 1e-12);
    assert_eq!(row.stalled(TileCounter::Vc0Phits, table.interval), None);
    assert!((row.phits_a_packet().unwrap() - 9.499_134).abs() < 1e-5);
    assert!((row.bytes_a_packet().unwrap() - 28.497_40).abs() < 1e-4);
    assert_eq!(row.utilisation(Nanos(0)), None);
    // More bytes than fit, of many intervals.
    let many = Row { sums: [Some((1 << 63) - 1); COUNTERS], ..*row };
    assert!(many.utilisation(table.interval).unwrap() > 1e9);
    assert_eq!(Bytes(row.phits().unwrap() * 3), Bytes(5_794_354_650));
    // As many phits as a crafted recording may sum up to have more bytes than 64 bits.
    let full = Row { sums: [Some(u64::MAX / 2); COUNTERS], ..row.clone() };
    assert!(full.utilisation(table.interval).unwrap() > 1e9);
}

#[test]
fn uses_of_tiles_as_text() {
    let machine = machine([16, 12, 24]).unwrap();
    let text = map_text(machine.tiles(RouterId(0)).unwrap());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[4],
        "32 X+ Cable\t33 X+ Cable\t34 Y- Cable\t35 Host\t36 Host\t37 Y+ Mezzanine\t38 X- Cable\t39 X- Cable"
    );
    assert_eq!(lines.len(), 6);
}

#[test]
fn counters_that_ran_backwards_leave_sums_absent() {
    let machine = machine([2, 2, 8]).unwrap();
    let routers = [RouterId(3), RouterId(4)];
    let mut before = vec![1000_u64; 2 * READINGS];
    let mut after = vec![1007_u64; 2 * READINGS];
    // A tile of Z+ of the second router, and one of its host that could not be read.
    after[READINGS + 2] = 10;
    before[READINGS + 19 * COUNTERS] = u64::MAX;
    let interval = Nanos(1);
    let readings = Readings { routers: &routers, before: &before, after: &after, interval };
    let table = link_table(&machine, &readings).unwrap();
    let absent: Vec<(String, usize)> = table
        .rows
        .iter()
        .flat_map(|row| {
            let label = format!("{} {}", row.router.0, row.label);
            let absent = (0..COUNTERS).filter(|&at| row.sums[at].is_none());
            absent.map(move |at| (label.clone(), at)).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(absent, [("4 Z+".to_owned(), 2), ("4 HH".to_owned(), 0)]);
    let told: Vec<String> = table.gaps.iter().map(talea_model::Gap::sentence).collect();
    insta::assert_snapshot!(told.join("\n"));
    let row = table.rows.iter().find(|row| row.label == Label::ZPlus).unwrap();
    assert_eq!(row.sums, [Some(56); COUNTERS]);
    assert!(sonar(&machine.fabric, &table, &[]).contains("\t-\t"));
}

#[test]
fn readings_that_cannot_be() {
    let machine = machine([1, 2, 2]).unwrap();
    let values = vec![0; READINGS];
    let ask = |routers: &[RouterId], before: &[u64]| {
        let interval = Nanos(1);
        link_table(&machine, &Readings { routers, before, after: &values, interval }).map(|_| ())
    };
    assert_eq!(ask(&[RouterId(3)], &values), Ok(()));
    assert!(matches!(ask(&[RouterId(3)], &[]), Err(FabricError::Size { .. })));
    assert!(matches!(ask(&[RouterId(4)], &values), Err(FabricError::Unknown { .. })));
    let twice = [RouterId(0), RouterId(0)];
    assert!(matches!(ask(&twice, &values), Err(FabricError::Twice { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn sums_are_those_of_all_tiles(lengths in prop::array::uniform3(1_u16..5), seed: u64) {
        let machine = machine(lengths).unwrap();
        let routers: Vec<RouterId> = (0..machine.tiles.len() as u32).map(RouterId).collect();
        let count = routers.len() * READINGS;
        let steps = |at: usize| (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ seed) >> 40;
        let largest = (1_u64 << BITS) - 1;
        let before: Vec<u64> = (0..count).map(|at| (seed ^ at as u64) & largest).collect();
        let after: Vec<u64> =
            before.iter().enumerate().map(|(at, value)| (value + steps(at)) & largest).collect();
        let interval = Nanos(1);
        let readings = Readings { routers: &routers, before: &before, after: &after, interval };
        let table = link_table(&machine, &readings).unwrap();
        prop_assert!(table.gaps.is_empty());
        let all: u64 = table.rows.iter().flat_map(|row| row.sums).flatten().sum();
        let mut expected = 0;
        for (router, map) in machine.tiles.iter().enumerate() {
            for (tile, _) in map.iter().enumerate().filter(|(_, used)| **used != Use::Unused) {
                let first = router * READINGS + tile * COUNTERS;
                expected += (first..first + COUNTERS).map(steps).sum::<u64>();
            }
        }
        prop_assert_eq!(all, expected);
        for row in table.rows.iter().filter(|row| row.label != Label::Host) {
            let link = machine.fabric.link(row.router, row.to).unwrap();
            prop_assert_eq!(row.capacity, machine.fabric.links()[link.at()].capacity);
        }
    }
}
