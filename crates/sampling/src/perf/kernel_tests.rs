//! Software events of the kernel that runs the tests; it needs no PMU.

use std::hint::black_box;
use std::process::id;

use super::*;
use crate::sources::now;

/// Why perf events cannot be tested here; in CI they must be.
fn skipped(source: &PerfSource) -> bool {
    let Offer::Refused(reason) = source.offers("task-clock") else { return false };
    assert!(std::env::var_os("CI").is_none(), "missing in CI: {reason}");
    println!("skipped: {reason}");
    true
}

fn opened(
    source: &mut PerfSource,
    counters: &[&str],
    target: &Target,
) -> (Vec<Vec<f64>>, Vec<Opened>, Gaps) {
    let mut gaps = Gaps::default();
    let names: Vec<String> = counters.iter().map(|name| (*name).to_owned()).collect();
    let opened = source.open(&names, target, &mut gaps).unwrap();
    (opened.iter().map(|o| vec![f64::NAN; o.places.len()]).collect(), opened, gaps)
}

/// Touches so many new pages.
fn touch(pages: usize) {
    let mut memory = vec![0_u8; pages * 4096 + 4096];
    for page in memory.chunks_mut(4096) {
        page[0] = 1;
    }
    black_box(&memory);
}

#[test]
fn own_work_is_counted_where_it_happens() {
    let mut source = PerfSource::new(Root::machine());
    if skipped(&source) {
        return;
    }
    let target = Target::Processes { pids: vec![id()], children: false };
    let counters = ["task-clock", "page-faults", "minor-faults", "major-faults"];
    let (mut numbers, opened, mut gaps) = opened(&mut source, &counters, &target);
    let online = cpus::online(&Root::machine());
    assert_eq!(opened[0].places.len(), online.len());
    let began = now();
    // A thread that is created after counting began is counted too, by inheritance.
    let thread = std::thread::spawn(|| {
        let began = now();
        while now() - began < Nanos(60_000_000) {
            touch(16);
        }
    });
    touch(2000);
    thread.join().unwrap();
    source.read(Nanos(1), &mut numbers, &mut gaps);
    let wall = (now() - began).0 as f64;
    let sum = |i: usize| numbers[i].iter().sum::<f64>();
    // Other tests run in this process; that many PUs there are, and no more.
    assert!(sum(0) > 1_000_000.0, "{numbers:?}");
    assert!(sum(0) <= 1.1 * wall * online.len() as f64 + 1e6, "{numbers:?} in {wall} ns");
    assert!(sum(1) >= 2000.0, "{numbers:?}");
    assert!((sum(1) - sum(2) - sum(3)).abs() < 1.0, "{numbers:?}");
    assert!(gaps.is_empty(), "{gaps:?}");
}

#[test]
fn pus_add_up_to_the_machine() {
    let mut source = PerfSource::new(Root::machine());
    let root_only = matches!(source.offers("context-switches"), Offer::Yes(_));
    if skipped(&source) || !root_only {
        return;
    }
    let counters = ["cpu-clock", "page-faults", "task-clock:u", "context-switches"];
    let (mut numbers, opened, mut gaps) = opened(&mut source, &counters, &Target::Machine);
    if opened[0].places.is_empty() {
        println!("skipped: {gaps:?}");
        return;
    }
    let began = now();
    touch(3000);
    source.read(Nanos(1), &mut numbers, &mut gaps);
    let wall = (now() - began).0 as f64;
    // Each PU's clock runs all the time.
    for clock in &numbers[0] {
        assert!(*clock >= 0.5 * wall && *clock <= 20.0 * wall + 1e8, "{numbers:?} in {wall} ns");
    }
    assert!(numbers[1].iter().sum::<f64>() >= 3000.0, "{numbers:?}");
    assert!(gaps.iter().all(|gap| gap.kind == GapKind::Estimated), "{gaps:?}");
    assert_eq!(source.descriptors(), 4 * opened[0].places.len());
    // Nothing asked, nothing open.
    source.open(&[], &Target::Machine, &mut gaps).unwrap();
    assert_eq!(source.descriptors(), 0);
}

#[test]
fn what_cannot_be_had_is_a_gap_with_its_reason() {
    let mut source = PerfSource::new(Root::machine());
    if skipped(&source) {
        return;
    }
    let (numbers, _, gaps) = opened(&mut source, &["nope/x/", "page-faults"], &Target::Machine);
    assert!(numbers[0].is_empty());
    let text = format!("{gaps:?}");
    assert!(text.contains("counter `nope/x/` is not measured: no PMU `nope`"), "{text}");
    let gone = Target::Processes { pids: vec![u32::MAX >> 2], children: true };
    let error = source.open(&["page-faults".to_owned()], &gone, &mut Gaps::default()).unwrap_err();
    assert_eq!(error.to_string(), "expected a running process, found none with number 1073741823");
    match source.offers("cycles") {
        Offer::Yes(offered) => assert_eq!(offered, Offered::growing(Scope::Pu, "")),
        Offer::Refused(reason) => assert!(reason.contains("PMU"), "{reason}"),
        Offer::No => panic!("every kernel knows the name"),
    }
    assert_eq!(source.offers("nonsense"), Offer::No);
}
