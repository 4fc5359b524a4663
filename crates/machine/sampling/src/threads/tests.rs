//! Tests of thread sampling on this machine: samples with counters, rotation of event sets, counts
//! between samples, losses as gaps, whole call stacks.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::*;
use crate::root::Root;

fn request() -> Request {
    Request {
        trigger: "task-clock".into(),
        period: 1_000_000,
        sets: Vec::new(),
        stack: Some(16 << 10),
    }
}

/// What this machine gives; none, with a word, where it gives nothing.
fn selected(request: &Request) -> Option<Selected> {
    match select(&Root::machine(), request) {
        Ok(selected) => Some(selected),
        Err(reason) => talea_testing::missing(&reason),
    }
}

#[inline(never)]
fn burn(until: Instant) -> u64 {
    let mut sum = 0_u64;
    while Instant::now() < until {
        for i in 0..1000 {
            sum = std::hint::black_box(sum.wrapping_mul(3) ^ i);
        }
    }
    sum
}

/// Runs a thread that computes, and gives what its events said.
fn run(
    selected: &Selected,
    mut at_each: impl FnMut(&mut Sampled),
) -> Vec<(u64, usize, Vec<u64>, bool)> {
    static TID: AtomicU32 = AtomicU32::new(0);
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = ALONE.lock();
    let go = AtomicBool::new(false);
    let mut samples = Vec::new();
    TID.store(0, Ordering::SeqCst);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            TID.store(rustix::thread::gettid().as_raw_nonzero().get() as u32, Ordering::SeqCst);
            while !go.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            burn(Instant::now() + Duration::from_millis(200))
        });
        while TID.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        let mut sampled = Sampled::open(selected, TID.load(Ordering::SeqCst), 0).unwrap();
        go.store(true, Ordering::SeqCst);
        while !worker.is_finished() {
            at_each(&mut sampled);
            sampled.drain(|sample| {
                let known = match sample.stack {
                    Stack::Copy { registers, bytes } => registers.sp() != 0 && !bytes.is_empty(),
                    Stack::Chain(chain) => !chain.is_empty(),
                    Stack::Unknown => false,
                };
                samples.push((sample.time, sample.set, sample.counts().collect(), known));
            });
            std::thread::yield_now();
        }
    });
    samples
}

#[test]
fn a_thread_that_computes_is_sampled_with_its_counters() {
    for stack in [Some(8 << 10), None] {
        let Some(selected) = selected(&Request { stack, ..request() }) else { return };
        let samples = run(&selected, |_| {});
        assert!(samples.len() > 20, "{}", samples.len());
        let known = samples.iter().filter(|sample| sample.3).count();
        assert!(known * 10 > samples.len() * 9, "{known} of {}", samples.len());
        assert!(samples.iter().all(|s| s.2.len() == selected.sets[0].len()));
        for pair in samples.windows(2) {
            assert!(pair[0].0 <= pair[1].0);
            assert!(pair[0].2.iter().zip(&pair[1].2).all(|(a, b)| a <= b), "{pair:?}");
        }
    }
}

#[test]
fn sets_take_turns() {
    let sets = [["page-faults"], ["context-switches"]].map(|set| set.map(str::to_owned).to_vec());
    let Some(selected) = selected(&Request { sets: sets.into(), ..request() }) else { return };
    assert_eq!(selected.sets, [vec![0, 1], vec![0, 2]]);
    let mut last = Instant::now();
    let samples = run(&selected, |sampled| {
        if last.elapsed() > Duration::from_millis(10) {
            last = Instant::now();
            sampled.switch(1 - sampled.active()).unwrap();
            sampled.set_period(200_000).unwrap();
        }
    });
    for set in [0, 1] {
        assert!(samples.iter().any(|sample| sample.1 == set), "no sample of set {set}");
    }
}

#[test]
fn counts_are_read_between_samples() {
    let Some(selected) = selected(&request()) else { return };
    let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    let sampled = Sampled::open(&selected, tid, 0).unwrap();
    let readers = sampled.readers();
    let mut rows = [[ABSENT; 32]; 2];
    assert!(readers[0].read_into(&mut rows[0]));
    burn(Instant::now() + Duration::from_millis(2));
    assert!(readers[0].read_into(&mut rows[1]));
    assert!(rows[1][0] > rows[0][0] && rows[0][0] != ABSENT, "{rows:?}");
    assert!(sampled.progress().unwrap() >= rows[1][0]);
}

#[test]
fn what_is_missing_is_said_once() {
    let Some(selected) = selected(&request()) else { return };
    assert_eq!(selected.counters[0].name, "task-clock");
    assert!(selected.gaps.iter().count() <= 2, "{:?}", selected.gaps);
    let odd = Request {
        trigger: "no-such-thing".into(),
        sets: vec![vec!["page-faults".into(), "net:eth0:rx_bytes".into()]],
        ..request()
    };
    let Some(selected) = self::selected(&odd) else { return };
    let gaps: Vec<&str> = selected.gaps.iter().map(|gap| gap.detail.as_str()).collect();
    assert_eq!(selected.sets, [[0, 1]]);
    assert!(gaps.iter().any(|gap| gap.contains("every 10 ms")), "{gaps:?}");
    assert!(gaps.iter().any(|gap| gap.contains("net:eth0:rx_bytes")), "{gaps:?}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn stacks_are_walked_to_their_begin() {
    use std::path::Path;

    use crate::unwind::{Unwinder, Walked};

    let Some(selected) = selected(&request()) else { return };
    let mut unwinder = Unwinder::default();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut begins: Vec<(String, u64, u64)> = Vec::new();
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (range, path) = (words.next().unwrap(), words.nth(4).unwrap_or_default());
        let (from, to) = range.split_once('-').unwrap();
        let [from, to] = [from, to].map(|hex| u64::from_str_radix(hex, 16).unwrap());
        match begins.iter_mut().find(|known| known.0 == path) {
            Some(known) => known.2 = to,
            None => begins.push((path.to_owned(), from, to)),
        }
    }
    for (path, from, to) in begins.iter().filter(|known| known.0.starts_with('/')) {
        let _ = unwinder.add_file(Path::new(path), *from, *from..*to);
    }
    let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    let mut sampled = Sampled::open(&selected, tid, 0).unwrap();
    // Its own time, however much of a core it gets.
    while sampled.progress().unwrap_or(u64::MAX) < 50_000_000 {
        burn(Instant::now() + Duration::from_millis(5));
    }
    let (mut whole, mut all) = (0, 0);
    let mut frames = Vec::new();
    sampled.drain(|sample| {
        let Stack::Copy { registers, bytes } = sample.stack else { return };
        all += 1;
        whole += usize::from(unwinder.walk(&registers, bytes, 200, &mut frames) == Walked::Whole);
    });
    assert!(all > 10 && whole * 10 >= all * 8, "{whole} of {all}");
}
