//! An agent with a made sampler: what it was told of jobs decides whose samples are, which are
//! kept, and who waits.

// A test says what went wrong by the line that it stopped at.
#![allow(clippy::unwrap_used, missing_docs)]

use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::time::Duration;

use talea_agent::notices::{self, Cores, Notice};
use talea_agent::{Agent, Budget, Delivery, Files, Options};
use talea_model::shares::{Activity, Batch, Sampler};
use talea_model::{Bytes, Gaps, Nanos};
use talea_sampling::system::{FileId, Hit, State, SystemSampler};
use talea_topology::CpuSet;

/// Gives the same hits once.
struct Made(Vec<Hit>);

impl SystemSampler for Made {
    fn name(&self) -> Sampler {
        Sampler::Bpf
    }

    fn cores(&self) -> CpuSet {
        CpuSet::from_list("0-3").unwrap()
    }

    fn collect(&mut self, hits: &mut Vec<Hit>, _: &mut Gaps) -> io::Result<()> {
        hits.append(&mut self.0);
        Ok(())
    }
}

fn hit(core: u32, state: State, user: u32) -> Hit {
    Hit {
        state,
        process: if state == State::Idle { 0 } else { std::process::id() },
        user: (state != State::Idle).then_some(user),
        executable: FileId::of_path(&std::env::current_exe().unwrap()),
        phase: Some((&b"solve"[..]).into()),
        count: 5,
        ..Hit::idle(core)
    }
}

fn batch(folder: &Path, hits: Vec<Hit>) -> Batch {
    let options = Options {
        node: "n".to_owned(),
        period: Nanos(1),
        interval: Duration::from_millis(1),
        budget: Budget::default(),
        spool: (folder.join("spool"), Bytes(1 << 20)),
        yields: None,
        run_dir: folder.join("run"),
        files: Files::default(),
    };
    let mut agent = Agent::new(Box::new(Made(hits)), options, Gaps::default()).unwrap();
    let taken = RefCell::new(None);
    let mut deliver = |batch: &Batch| {
        taken.borrow_mut().get_or_insert(batch.clone());
        Delivery::Taken
    };
    agent.run(&|| true, &mut deliver, &mut |_| {});
    taken.into_inner().unwrap()
}

fn tell(folder: &Path, id: &str, user: u32, cores: &str, monitored: bool) {
    let cores = CpuSet::from_list(cores).unwrap();
    let cores = if cores.is_empty() { Cores::Unknown } else { Cores::These(cores) };
    let notice = Notice { id: id.to_owned(), user: Some(user), cores, monitored };
    notices::start(&folder.join("run"), &notice).unwrap();
}

#[test]
fn told_jobs_have_their_samples_and_wait_on_their_cores() {
    let folder = tempfile::tempdir().unwrap();
    tell(folder.path(), "17", 7001, "0-1", true);
    let idle = |core| hit(core, State::Idle, 0);
    let batch = batch(folder.path(), vec![hit(0, State::User, 7001), idle(1), idle(2)]);
    assert_eq!(batch.check(), Ok(()));
    assert_eq!(batch.jobs.len(), 1);
    assert_eq!((&*batch.jobs[0].id, batch.jobs[0].user), ("17", Some(7001)));
    let rows: Vec<_> = batch.shares.iter().map(|row| (row.core, row.activity, row.job)).collect();
    let expected =
        [(0, Activity::User, Some(0)), (1, Activity::Waiting, Some(0)), (2, Activity::Idle, None)];
    assert_eq!(rows, expected);
    assert_eq!(batch.phases, ["solve"]);
    assert_eq!(batch.samples(), 15);
}

#[test]
fn of_jobs_without_samples_there_is_time_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    tell(folder.path(), "17", 7001, "0-3", false);
    let hits = vec![
        hit(0, State::User, 7001),
        hit(1, State::Kernel, 7001),
        hit(2, State::Idle, 0),
        // One that had ended before it was looked at.
        Hit { process: u32::MAX, ..hit(3, State::User, 7001) },
    ];
    let batch = batch(folder.path(), hits);
    assert_eq!(batch.samples(), 20);
    assert!(batch.jobs.is_empty() && batch.modules.is_empty() && batch.phases.is_empty());
    for row in &batch.shares {
        let named = (row.job, row.user, row.executable, row.library, row.address, row.phase);
        assert_eq!(named, (None, None, None, None, None, None));
    }
    let activities: Vec<_> = batch.shares.iter().map(|row| row.activity).collect();
    assert_eq!(activities, [Activity::User, Activity::Kernel, Activity::Idle, Activity::User]);
}
