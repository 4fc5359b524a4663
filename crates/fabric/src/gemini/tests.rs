//! The tables of the slides, from counters that are fed in; and what is odd in counters.

use proptest::prelude::*;
use talea_model::{Bytes, Nanos};

use super::print::{job_wide, map_text, shares, sonar};
use super::tiles::{BITS, COUNTERS, READINGS, TILES};
use super::*;
use crate::coordinate::Coordinate;
use crate::error::FabricError;

/// What counters of a link show: destination (that of the host is `None`) and sums.
type Shown = (Option<[u16; 3]>, [u64; COUNTERS]);

fn router(machine: &Machine, at: [u16; 3]) -> RouterId {
    machine.torus.as_ref().unwrap().router(Coordinate::of(&at).unwrap()).unwrap()
}

/// Readings of a router whose links show so much, unevenly on their tiles, from values near the end of the counters on.
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

/// The slide "Gathering Job Wide Information".
fn job() -> (Machine, Table) {
    let machine = machine([16, 12, 24]).unwrap();
    let routers = [
        (
            [0, 1, 1],
            vec![
                (
                    Some([1, 1, 1]),
                    [
                        1_626_452_284,
                        304_999_266,
                        101_662_806,
                        101_666_422,
                        3_533_598_961,
                        2_689_080_952,
                    ],
                ),
                (Some([15, 1, 1]), [100_506, 38_796, 9780, 12_932, 83, 0]),
                (
                    Some([0, 2, 1]),
                    [1_627_257_610, 305_156_760, 101_726_643, 101_718_920, 1_702_270_109, 0],
                ),
                (
                    Some([0, 0, 1]),
                    [
                        1_153_554_135,
                        216_313_236,
                        72_105_559,
                        72_104_412,
                        1_925_883_229,
                        2_366_983_378,
                    ],
                ),
                (
                    Some([0, 1, 2]),
                    [815_234_359, 152_948_952, 50_988_260, 50_982_984, 133_047_991, 776_502_961],
                ),
                (Some([0, 1, 0]), [1_743_043, 378_399, 156_635, 126_133, 580, 992_022_669]),
                (
                    None,
                    [
                        1_834_489_368,
                        344_019_696,
                        114_672_167,
                        114_673_232,
                        10_585_723_107,
                        2_263_990_777,
                    ],
                ),
            ],
        ),
        (
            [0, 0, 1],
            vec![
                (
                    Some([1, 0, 1]),
                    [
                        1_966_685_020,
                        368_797_209,
                        122_929_393,
                        122_932_403,
                        3_317_929_506,
                        3_063_532_486,
                    ],
                ),
                (Some([15, 0, 1]), [122_194, 43_005, 11_983, 14_335, 9, 0]),
                (
                    Some([0, 1, 1]),
                    [
                        1_154_016_206,
                        216_417_552,
                        72_141_025,
                        72_139_184,
                        3_589_170_400,
                        1_097_189_607,
                    ],
                ),
                (Some([0, 11, 1]), [96_911, 20_538, 9646, 6846, 56_244, 0]),
                (
                    Some([0, 0, 2]),
                    [
                        2_477_453_033,
                        458_007_486,
                        153_779_007,
                        152_669_162,
                        952_487_628,
                        2_209_098_748,
                    ],
                ),
                (Some([0, 0, 0]), [2_071_415, 3_684_912, 128_723, 1_228_304, 464_902, 387_186_094]),
                (
                    None,
                    [
                        2_174_662_127,
                        407_809_092,
                        135_934_105,
                        135_936_364,
                        10_604_254_673,
                        2_216_827_070,
                    ],
                ),
            ],
        ),
    ];
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
    assert_eq!(Bytes(row.phits().unwrap() * 3), Bytes(5_794_354_650));
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
    let told: Vec<String> = table.gaps.iter().map(talea_model::Gap::told).collect();
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
