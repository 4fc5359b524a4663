//! What tests stand on: batches with names of whose they are.

use talea_model::shares::{Activity, Batch, BatchId, Job, Sampler, Share};
use talea_model::{Gaps, Module, Nanos};
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
        id: BatchId { node: node.to_owned(), started: 1, number },
        begin: Nanos(begin),
        end: Nanos(begin + 10 * SECOND),
        period: Nanos(SECOND),
        cores: 2,
        sampler: Sampler::Bpf,
        jobs: jobs
            .iter()
            .map(|(id, user, _)| Job { id: (*id).to_owned(), user: Some(*user) })
            .collect(),
        modules: modules.collect(),
        phases: jobs.iter().map(|(_, _, name)| format!("phase of {name}")).collect(),
        shares: jobs.iter().enumerate().map(|(at, (_, user, _))| share(at, *user)).collect(),
        counters: Vec::new(),
        rates: Vec::new(),
        spreads: Vec::new(),
        gaps: Gaps::default(),
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
