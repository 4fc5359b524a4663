//! Tests of a node's counters in a run: wraps, maximum over intervals, times that decrease, files
//! of killed writers. Any bytes must be read or refused.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

/// A second port lies on top of the first one, whose counter of sent bytes wraps.
pub(in super::super) const TEXT: &str = include_str!("two_ports.counters");

#[test]
fn wraps_are_counted_as_often_as_they_happened() {
    // 100 steps, the first of which pass the wrap, then 56 and 10.
    let text = TEXT.replace("at 7000000000\n10 17", "at 7000000000\n100 17");
    let node = Node::parse("file", text).unwrap();
    let port = &node.ports[0];
    assert_eq!(port.bytes(), [Some(4 * (100 + 56 + 10)), Some(4000)]);
    assert_eq!(port.packets(), [Some(10), None]);
    assert_eq!((node.name.as_str(), node.readings, node.seconds()), ("n1", 5, Some(3.1)));
    assert_eq!(port.rates.faults, Some(2));
    let stalled = port.rates.sent.stalled.unwrap();
    assert!((stalled - 1.25 / 3.1).abs() < 1e-9, "{stalled}");
    // The last step is a part of an interval, with the highest bytes a second.
    let most = port.most.map(Option::unwrap);
    assert_eq!((most[0].rate, most[0].at), (400.0, Nanos(6_000_000_000)));
    assert_eq!((most[1].rate, most[1].utilisation), (1500.0, Some(1.5)));
    // A port on top of another port counts the same bytes.
    assert!(node.ports[1].is_above && !port.is_above);
    assert_eq!(node.bytes(), port.bytes());
    assert_eq!(node.steps.len(), 5);
    assert_eq!(node.steps[2].bytes[0], [Some(624), Some(500)]);
}

/// In a large file readings are further apart at its end; those of the beginning are still whole
/// intervals.
#[test]
fn the_most_is_that_of_any_interval_as_it_was_asked_for() {
    let end = "at 12100000000\n110 20 4400 1250000000 5\n110 20 4400 1250000000 5\n";
    let rarer = TEXT.replace("10 17 500 2", "100 17 500 2").replace(
        "#! ended",
        &format!("#! interval 2000000000\n#! interval 4000000000\n{end}#! ended"),
    );
    let node = Node::parse("file", rarer).unwrap();
    assert_eq!(
        (node.notes.asked, node.notes.interval),
        (Some(Nanos(1_000_000_000)), Some(Nanos(4_000_000_000)))
    );
    let most = node.ports[0].most.map(Option::unwrap);
    assert_eq!((most[0].rate, most[1].rate), (400.0, 1500.0));
    assert_eq!(most[1].at, Nanos(8_000_000_000));
}

#[test]
fn readings_that_go_back_in_time_are_left_out() {
    let text = TEXT.replace("at 7000000000\n10 17", "at 7000000000\n100 17");
    let odd =
        text.replace("at 7000000000", "at 4000000000\n0 1 500 0 -\n0 1 500 0 -\nat 7000000000");
    let [node, odd] = [text, odd].map(|text| Node::parse("file", text).unwrap());
    assert_eq!((odd.readings, odd.seconds(), odd.bytes()), (5, Some(3.1), node.bytes()));
    let before: Vec<_> = node.gaps.iter().collect();
    let said: Vec<_> = odd.gaps.iter().filter(|gap| !before.contains(gap)).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].detail.contains("readings are left out whose times lie before"), "{said:?}");
}

#[test]
fn what_one_step_cannot_say_the_whole_cannot() {
    let node = Node::parse("file", TEXT.to_owned()).unwrap();
    let port = &node.ports[0];
    // 44 to 10 is more than half of the range.
    assert_eq!((port.bytes()[0], port.rates.sent.bytes), (None, None));
    assert_eq!((node.bytes()[0], port.bytes()[1]), (None, Some(4000)));
    let told: Vec<_> = node.gaps.iter().map(|gap| gap.detail.as_str()).collect();
    let expected = ["mlx5_0/1", "bond0"].map(|port| {
        format!("network of node `n1`: counter `data` of port `{port}` ran backwards, as after a reset: its difference is absent")
    });
    assert_eq!(told.len(), 2);
    assert!(expected.iter().all(|gap| told.contains(&gap.as_str())), "{told:?}");
    assert!(port.most[0].is_some(), "other intervals are known");
}

#[test]
fn one_reading_says_nothing_and_a_killed_writer_is_told() {
    let (begin, _) = TEXT.split_once("at 6000000000").unwrap();
    let node = Node::parse("file", begin.to_owned()).unwrap();
    assert_eq!(node.bytes(), [None, None]);
    assert_eq!((node.seconds(), node.readings), (Some(0.0), 1));
    assert!(node.gaps.iter().any(|gap| gap.kind == GapKind::EndedEarly), "{:?}", node.gaps);
    let nameless = begin.replace("#! host n1\n", "");
    assert_eq!(Node::parse("file", nameless).unwrap().name, "file");
    assert!(Node::parse("file", String::new()).is_err());
}

/// A file that is cut anywhere holds no more than the whole one.
#[test]
fn a_cut_file_says_less() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n1.counters");
    let whole = TEXT.replace("10 17 500 2", "100 17 500 2");
    for end in 0..=whole.len() {
        std::fs::write(&path, &whole[..end]).unwrap();
        let Ok(node) = Node::read(&path) else { continue };
        assert!(node.readings <= 5);
        for port in &node.ports {
            let [sent, received] = port.bytes();
            assert!(sent.unwrap_or(0) <= 664 && received.unwrap_or(0) <= 4000, "{end}: {port:?}");
        }
        if end < whole.len() {
            assert!(!node.gaps.is_empty(), "{end}");
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_do_harm(places in prop::collection::vec((0..TEXT.len(), any::<u8>()), 1..20)) {
        let mut bytes = TEXT.as_bytes().to_vec();
        for (place, byte) in places {
            bytes[place] = byte;
        }
        if let Ok(node) = Node::parse("file", String::from_utf8_lossy(&bytes).into_owned()) {
            let ports: Vec<_> = node.ports.iter().map(|port| port.row(Some)).collect();
            prop_assert_eq!((ports.len(), node.bytes().len()), (node.ports.len(), 2));
        }
    }

    #[test]
    fn no_totals_do_harm(totals in prop::collection::vec(any::<[u64; 5]>(), 0..12)) {
        let (head, _) = TEXT.split_once("port bond0").unwrap();
        let mut text = head.replace("4B 8 wraps", "4B 64 wraps");
        for (at, [a, b, c, d, e]) in totals.iter().enumerate() {
            writeln!(text, "at {at}\n{a} {b} {c} {d} {}", e >> 32).unwrap();
        }
        let node = Node::parse("file", text).unwrap();
        prop_assert_eq!(node.readings as usize, totals.len());
        let _ = (node.bytes(), node.ports[0].row(Some));
    }
}
