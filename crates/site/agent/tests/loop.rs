//! The loop of an agent with a made sampler: what it does while a store is away, a disk is full, or
//! it is to stop.

// A test says what went wrong by the line that it stopped at.
#![allow(clippy::unwrap_used, missing_docs)]

use std::cell::{Cell, RefCell};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use talea_agent::{Agent, Budget, Delivery, Files, Options, Progress};
use talea_model::shares::{Batch, Counter, Sampler};
use talea_model::{Bytes, Gaps, Nanos};
use talea_sampling::system::{FileId, Hit, Rated, State, Sum, SystemSampler};
use talea_store::spool::Spool;
use talea_topology::CpuSet;

/// Gives hits look by look, and counts the looks.
#[derive(Default)]
struct Made {
    hits: Vec<Vec<Hit>>,
    rated: Vec<Rated>,
    counters: Vec<Counter>,
    looks: Arc<AtomicUsize>,
    /// The look at which the agent dies, as one that is killed does: without another word.
    dies: Option<usize>,
    /// How long the path of a file takes, as on a busy file system.
    slow: Duration,
}

impl SystemSampler for Made {
    fn name(&self) -> Sampler {
        Sampler::Bpf
    }

    fn cores(&self) -> CpuSet {
        CpuSet::from_list("0-3").unwrap()
    }

    fn collect(&mut self, hits: &mut Vec<Hit>, _: &mut Gaps) -> io::Result<()> {
        let look = self.looks.fetch_add(1, Ordering::Relaxed);
        assert!(self.dies != Some(look), "killed");
        if !self.hits.is_empty() {
            hits.append(&mut self.hits.remove(0));
        }
        Ok(())
    }

    fn lost_samples(&self) -> u64 {
        9
    }

    fn path(&self, _: FileId) -> Option<PathBuf> {
        std::thread::sleep(self.slow);
        None
    }

    fn counters(&self) -> &[Counter] {
        &self.counters
    }

    fn rated(&mut self, rated: &mut Vec<Rated>) -> io::Result<()> {
        rated.append(&mut self.rated);
        Ok(())
    }
}

fn hit(state: State, process: u32, offset: u64) -> Hit {
    Hit { state, process, user: Some(7), offset, count: 1, ..Hit::idle(0) }
}

fn agent(folder: &Path, sampler: Made, most: u64) -> Agent {
    agent_of(folder, sampler, most, Budget::default())
}

fn agent_of(folder: &Path, sampler: Made, most: u64, budget: Budget) -> Agent {
    let options = options(folder, most, budget);
    Agent::new(Box::new(sampler), options, Gaps::default()).unwrap()
}

fn options(folder: &Path, most: u64, budget: Budget) -> Options {
    Options {
        node: "n".to_owned(),
        period: Nanos(1),
        interval: Duration::from_millis(1),
        budget,
        spool: (folder.join("spool"), Bytes(most)),
        yields: None,
        run_dir: folder.join("run"),
        files: Files::default(),
    }
}

/// Runs for so many batches; gives what was told of each.
fn run(
    agent: &mut Agent,
    batches: u64,
    deliver: &mut dyn FnMut(&Batch) -> Delivery,
) -> Vec<Progress> {
    let made = Cell::new(0);
    let mut told = Vec::new();
    agent.run(&|| made.get() + 1 >= batches, deliver, &mut |progress| {
        made.set(progress.batches);
        told.push(progress.clone());
    });
    told
}

#[test]
fn a_full_spool_keeps_the_agent_from_neither_samples_nor_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let away = &mut |_: &Batch| Delivery::Later("away".to_owned());
    run(&mut agent(folder.path(), Made::default(), 1 << 20), 20, away);
    let sampler = Made::default();
    let looks = Arc::clone(&sampler.looks);
    let mut agent = agent(folder.path(), sampler, 1 << 20);
    let (stop, at) = (Cell::new(false), RefCell::new(Vec::new()));
    let mut deliver = |_: &Batch| {
        stop.set(true);
        at.borrow_mut().push(looks.load(Ordering::Relaxed));
        Delivery::Taken
    };
    agent.run(&|| stop.get(), &mut deliver, &mut |_| {});
    // One at the first look, in which it was told to stop; the last one takes the rest along.
    assert_eq!(*at.borrow(), [vec![1], vec![2; 21]].concat());
}

#[test]
fn what_cannot_be_kept_is_told_and_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // Places in the kernel that nothing can pack, more than half of the spool may hold.
    let place = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(n | 1);
    let many = (0..20_000).map(|n| hit(State::Kernel, std::process::id(), place(n))).collect();
    let mut agent = agent(folder.path(), Made { hits: vec![many], ..Made::default() }, 64 << 10);
    let mut taken = Vec::new();
    let told = run(&mut agent, 2, &mut |batch| {
        taken.push(batch.clone());
        Delivery::Taken
    });
    let unkept = told.iter().map(|told| told.unkept.as_deref().map(|why| why.contains("at most")));
    assert_eq!(unkept.collect::<Vec<_>>(), [Some(true), None]);
    assert_eq!(taken.len(), 1);
    let upkeep = taken[0].upkeep.unwrap();
    assert!(upkeep.processor.0 > 0 && upkeep.most_memory >= upkeep.memory, "{upkeep:?}");
    assert_eq!((upkeep.lost_batches, upkeep.lost_samples, upkeep.waiting), (1, 9, 0));
    let lost = taken[0].gaps.iter().find(|gap| gap.detail.contains("dropped")).unwrap();
    assert_eq!((taken[0].id.number, lost.count), (1, 1));
}

#[test]
fn what_it_takes_beyond_its_budget_is_a_gap_of_the_batch() {
    let folder = tempfile::tempdir().unwrap();
    for (budget, expected) in [
        (Budget { processor: 64.0, memory: 0 }, Some("MiB, more than the 0.0 MiB")),
        (Budget { processor: 64.0, memory: u64::MAX }, None),
    ] {
        let mut agent = agent_of(folder.path(), Made::default(), 1 << 20, budget);
        let mut details = Vec::new();
        run(&mut agent, 2, &mut |batch| {
            details.extend(batch.gaps.iter().map(|gap| gap.detail.clone()));
            Delivery::Taken
        });
        let told = details.iter().find(|detail| detail.contains("it looks every 2 s"));
        assert_eq!(told.is_some(), expected.is_some(), "{details:?}");
        assert!(told.is_none_or(|told| told.contains(expected.unwrap())), "{details:?}");
    }
}

#[test]
fn a_folder_that_goes_and_comes_back_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let spool = folder.path().join("spool");
    let mut agent = agent(folder.path(), Made::default(), 1 << 20);
    std::fs::remove_dir_all(&spool).unwrap();
    let taken = &mut |_: &Batch| Delivery::Taken;
    let told = run(&mut agent, 2, taken);
    assert!(told.iter().all(|told| told.unkept.is_some()), "{told:?}");
    std::fs::create_dir(&spool).unwrap();
    let told = run(&mut agent, 3, taken);
    assert_eq!(told.last().unwrap().unkept, None);
    assert_eq!(Spool::open(&spool, Bytes(1 << 20)).unwrap().waiting(), 0);
}

#[test]
fn what_is_counted_around_samples_counts_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let gone = hit(State::User, u32::MAX, 0);
    let earlier = Hit { user: Some(8), ..gone.clone() };
    let sums = vec![Sum { samples: 1, nanos: 2, count: 3 }];
    let rated = |hit: &Hit| Rated { hit: Hit { count: 0, ..hit.clone() }, sums: sums.clone() };
    let made = Made {
        hits: vec![vec![gone.clone()]],
        // Rates come later than the hit where the sample behind it does.
        rated: vec![rated(&gone), rated(&earlier)],
        counters: vec![Counter { name: "page-faults".to_owned(), unit: "1".to_owned() }],
        ..Made::default()
    };
    let mut taken = Vec::new();
    run(&mut agent(folder.path(), made, 1 << 20), 1, &mut |batch| {
        taken.push(batch.clone());
        Delivery::Taken
    });
    let ended = taken[0].gaps.iter().filter(|gap| gap.detail.contains("had ended"));
    assert_eq!(ended.map(|gap| gap.count).collect::<Vec<_>>(), [1]);
}

/// Idle time of a core may be in `/proc/stat` long after its interval: its samples come all at
/// once.
#[test]
fn late_idle_samples_make_no_batch_that_a_server_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let idle = |count| vec![Hit { count, ..Hit::idle(0) }];
    let made = Made { hits: vec![idle(1), idle(300), idle(1)], ..Made::default() };
    let short = Options {
        period: Nanos(10_000_000),
        interval: Duration::from_millis(50),
        ..options(folder.path(), 1 << 20, Budget::default())
    };
    let mut agent = Agent::new(Box::new(made), short, Gaps::default()).unwrap();
    let mut taken = Vec::new();
    run(&mut agent, 12, &mut |batch| {
        talea_store::plausible(batch).unwrap();
        taken.push(batch.clone());
        Delivery::Taken
    });
    let found: u64 = taken.iter().map(Batch::samples).sum();
    let gaps = taken.last().unwrap().gaps.iter();
    let lacks: u64 = gaps.filter(|gap| gap.detail.contains("too late")).map(|gap| gap.count).sum();
    // Those without room until the end are in a gap.
    assert_eq!(found + lacks, 302);
    assert!(taken.iter().filter(|batch| batch.samples() > 0).count() > 5, "{taken:?}");
}

#[test]
fn intervals_end_when_hits_are_collected() {
    let folder = tempfile::tempdir().unwrap();
    let file = Some(FileId { device: 1, inode: 5 });
    let slow = Duration::from_millis(300);
    let hits = vec![vec![Hit { file, ..hit(State::User, u32::MAX, 0) }]];
    let mut agent = agent(folder.path(), Made { hits, slow, ..Made::default() }, 1 << 20);
    let mut taken = Vec::new();
    run(&mut agent, 2, &mut |batch| {
        taken.push((batch.begin, batch.end));
        Delivery::Taken
    });
    // Samples that came while names were found are of the second interval, and so is that time.
    let [first, second] = taken[..] else { panic!("{taken:?}") };
    assert!(first.1.0.abs_diff(second.0.0) < 100_000_000, "{taken:?}");
    assert!((second.1 - second.0).0 >= slow.as_nanos() as u64, "{taken:?}");
}

/// An agent with long intervals that is killed at a look.
fn killed(folder: &Path, looks: usize) {
    let hits = (0..looks).map(|_| vec![hit(State::User, u32::MAX, 0)]).collect();
    let made = Made { hits, dies: Some(looks), ..Made::default() };
    let long = Options {
        interval: Duration::from_hours(1),
        ..options(folder, 1 << 20, Budget::default())
    };
    let mut agent = Agent::new(Box::new(made), long, Gaps::default()).unwrap();
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        agent.run(&|| false, &mut |_| Delivery::Taken, &mut |_| {});
    }));
    assert!(died.is_err());
}

#[test]
fn an_interval_survives_the_agent_that_is_killed_in_it() {
    let folder = tempfile::tempdir().unwrap();
    // Kept at its first look, and two seconds later, which is the third or fourth.
    killed(folder.path(), 4);
    std::thread::sleep(Duration::from_millis(300));
    let mut taken = Vec::new();
    run(&mut agent(folder.path(), Made::default(), 1 << 20), 1, &mut |batch| {
        taken.push(batch.clone());
        Delivery::Taken
    });
    let count = |batch: &Batch, what: &str| {
        let gap = batch.gaps.iter().find(|gap| gap.detail.contains(what));
        gap.map(|gap| gap.count)
    };
    assert_eq!(taken.len(), 2);
    let (survived, next) = (&taken[0], &taken[1]);
    assert!((3..=4).contains(&survived.samples()), "{survived:?}");
    assert_eq!(count(survived, "killed in the middle"), Some(1));
    assert_eq!(count(survived, "not sampled"), None);
    let between = next.begin.0.saturating_sub(survived.end.0) / 1_000_000;
    let told = count(next, "milliseconds were not sampled").unwrap();
    assert!(told >= 300 && told.abs_diff(between) < 50, "{told} of {between}");
    assert_eq!(count(next, "killed"), None);
    // Who ends by himself leaves no interval, but until when he sampled.
    let mut last = Vec::new();
    run(&mut agent(folder.path(), Made::default(), 1 << 20), 1, &mut |batch| {
        last.push(batch.clone());
        Delivery::Taken
    });
    assert_eq!(last.len(), 1);
    assert!(count(&last[0], "not sampled").is_none_or(|told| told < 10_000), "{last:?}");
}
