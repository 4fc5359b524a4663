//! What tests stand on: batches with names of whose they are.

use talea_model::shares::{Activity, Batch, BatchId, Counter, Job, Rate, Sampler, Share, Spread};
use talea_model::{Module, Nanos};
use talea_store::wire;

pub(crate) const SECOND: u64 = 1_000_000_000;
/// 2026-01-01.
pub(crate) const START: u64 = 1_767_225_600 * SECOND;

/// A batch of ten seconds with ten samples of each job: its name, owner, and what it runs.
pub(crate) fn batch(node: &str, number: u64, jobs: &[(&str, u32, &str)]) -> Batch {
    let begin = START + number * 10 * SECOND;
    let path = |path: String| Module { path, build_id: "ab".to_owned() };
    let modules = jobs.iter().flat_map(|(_, _, name)| {
        [path(format!("/home/{name}/bin/{name}")), path(format!("/home/{name}/lib/lib{name}.so"))]
    });
    let share = |at: usize, user: u32| Share {
        core: at as u32,
        activity: Activity::User,
        job: Some(at as u32),
        user: Some(user),
        executable: Some(at as u32 * 2),
        library: Some(at as u32 * 2 + 1),
        address: Some(0x1000),
        phase: Some(at as u32),
        samples: 10,
    };
    Batch {
        begin: Nanos(begin),
        end: Nanos(begin + 10 * SECOND),
        period: Nanos(SECOND),
        cores: jobs.len().max(2) as u32,
        sampler: Sampler::Bpf,
        jobs: jobs
            .iter()
            .map(|(id, user, _)| Job { id: (*id).to_owned(), user: Some(*user) })
            .collect(),
        modules: modules.collect(),
        phases: jobs.iter().map(|(_, _, name)| format!("phase of {name}")).collect(),
        shares: jobs.iter().enumerate().map(|(at, (_, user, _))| share(at, *user)).collect(),
        counters: vec![Counter { name: "page-faults".to_owned(), unit: "1".to_owned() }],
        rates: (0..jobs.len())
            .map(|at| Rate {
                counter: 0,
                job: Some(at as u32),
                user: Some(jobs[at].1),
                executable: Some(at as u32 * 2),
                library: Some(at as u32 * 2 + 1),
                phase: Some(at as u32),
                samples: 8,
                nanos: 8 * SECOND,
                count: 4000 + at as u64,
            })
            .collect(),
        spreads: (0..jobs.len())
            .map(|at| Spread { counter: 0, job: at as u32, cores: vec![(at as i16, 2)] })
            .collect(),
        ..Batch::empty(BatchId { node: node.to_owned(), started: 1, number })
    }
}

/// The body of a request.
pub(crate) fn framed(batches: &[Batch]) -> Vec<u8> {
    let mut body = Vec::new();
    for batch in batches {
        let wire = wire::encode(batch).unwrap();
        body.extend((wire.len() as u32).to_le_bytes());
        body.extend(wire);
    }
    body
}
