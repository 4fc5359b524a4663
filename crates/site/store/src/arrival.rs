//! Preparation of a batch for a store: checks, cut names, time assigned to its owner.
//!
//! Owns the rules that every store shares, so that they all answer the same. It refuses to store.

use talea_model::shares::{Activity, Batch, Rate, Share, Spread};
use talea_model::{Gap, GapKind, Gaps, Nanos};

use crate::error::StoreError;

/// Most bytes of a name; longer ones are cut and counted as a gap.
pub const LONGEST_NAME: usize = 4096;
/// Longest interval of a batch: two hours, as agents make them of an hour at most. Questions look
/// back so far from their begin for batches that reach into their time: one long batch would make
/// all of them read more.
pub const LONGEST_INTERVAL: Nanos = Nanos(7_200_000_000_000);
/// Most counters of a batch: an agent has at most a dozen.
pub const MOST_COUNTERS: usize = 256;
/// Maximum of one sum. Only nonsense gets there (146 years of one core in one row), where it stays.
pub(crate) const CAP: i64 = 1 << 62;
/// The address that stands for none in files. No processor has code there.
pub(crate) const NO_ADDRESS: u64 = 1 << 63;

/// The begin of a name that is kept.
pub(crate) fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(LONGEST_NAME)]
}

/// Cuts names that are too long, and notes it: a holder of other nodes' batches holds no more of
/// their names than a store keeps.
pub(crate) fn shorten(batch: &mut Batch) {
    let gaps = losses(batch);
    let modules =
        batch.modules.iter_mut().flat_map(|module| [&mut module.path, &mut module.build_id]);
    let counters =
        batch.counters.iter_mut().flat_map(|counter| [&mut counter.name, &mut counter.unit]);
    let names =
        batch.jobs.iter_mut().map(|job| &mut job.id).chain(&mut batch.phases).chain(modules);
    let mut is_long = false;
    for name in names.chain(counters).filter(|name| name.len() > LONGEST_NAME) {
        // Not `truncate`, which would keep the room of the whole name.
        *name = cut(name).to_owned();
        is_long = true;
    }
    if is_long || batch.gaps.iter().any(|gap| gap.detail.len() > LONGEST_NAME) {
        batch.gaps = gaps;
    }
}

/// Why a batch is not taken.
pub(crate) fn refused(batch: &Batch, why: String) -> StoreError {
    let node = cut(&batch.id.node).chars().take(80).collect();
    StoreError::Batch { node, number: batch.id.number, why }
}

/// Reason for which a store would refuse a batch; servers check it before they take batches of many
/// nodes in one step.
///
/// # Errors
/// Names the batch and what was expected.
pub fn check(batch: &Batch) -> Result<(), StoreError> {
    let id = &batch.id;
    let refused = |why| Err(refused(batch, why));
    if let Err(why) = batch.check() {
        return refused(why);
    }
    if id.node.len() > LONGEST_NAME {
        let found = id.node.len();
        return refused(format!("node's name of {found} bytes, expected at most {LONGEST_NAME}"));
    }
    if batch.counters.len() > MOST_COUNTERS {
        let found = batch.counters.len();
        return refused(format!("{found} counters, expected at most {MOST_COUNTERS}"));
    }
    // Columns are signed; none of these is anything real beyond.
    let end = ("end", batch.end.0);
    for (name, value) in [end, ("number", id.number), ("started", id.started)] {
        if value >= i64::MAX as u64 {
            return refused(format!("{name} is {value}, expected less than 2^63 - 1"));
        }
    }
    let interval = batch.end - batch.begin;
    if interval > LONGEST_INTERVAL {
        return refused(format!(
            "interval of {} s, expected two hours at most",
            interval.seconds()
        ));
    }
    Ok(())
}

/// Owner of a share's time: the owner of its job, else of its process.
pub(crate) fn owner(batch: &Batch, share: &Share) -> Option<u32> {
    owner_of(batch, share.job).or(share.user)
}

/// The same for a rate.
pub(crate) fn rate_owner(batch: &Batch, rate: &Rate) -> Option<u32> {
    owner_of(batch, rate.job).or(rate.user)
}

/// The same for a spread, which has a job only.
pub(crate) fn spread_owner(batch: &Batch, spread: &Spread) -> Option<u32> {
    owner_of(batch, Some(spread.job))
}

fn owner_of(batch: &Batch, job: Option<u32>) -> Option<u32> {
    batch.jobs.get(job? as usize)?.user
}

/// Nanoseconds of cores that a share stands for.
pub(crate) fn nanos(batch: &Batch, share: &Share) -> i64 {
    let exact = u128::from(share.samples) * u128::from(batch.period.0);
    i64::try_from(exact).unwrap_or(CAP).min(CAP)
}

/// Samples of a share, within what a sum can hold.
pub(crate) fn samples(share: &Share) -> i64 {
    capped(share.samples)
}

/// A number within what a sum can hold.
pub(crate) fn capped(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(CAP).min(CAP)
}

/// The word of an activity, as JSON has it.
pub(crate) fn activity(activity: Activity) -> &'static str {
    match activity {
        Activity::User => "user",
        Activity::Kernel => "kernel",
        Activity::Waiting => "waiting",
        Activity::Idle => "idle",
        Activity::Mpi => "mpi",
    }
}

/// Losses of the batch, and names of it that were cut.
pub(crate) fn losses(batch: &Batch) -> Gaps {
    let mut gaps = Gaps::default();
    for gap in &batch.gaps {
        gaps.note(Gap { detail: cut(&gap.detail).to_owned(), ..gap.clone() });
    }
    let modules = batch.modules.iter().flat_map(|module| [&module.path, &module.build_id]);
    let counters = batch.counters.iter().flat_map(|counter| [&counter.name, &counter.unit]);
    let names = batch.jobs.iter().map(|job| &job.id).chain(&batch.phases).chain(modules);
    let names = names.chain(counters);
    let long = names.filter(|name| name.len() > LONGEST_NAME).count() as u64;
    if long > 0 {
        gaps.note(Gap {
            kind: GapKind::MemoryBound,
            rank: None,
            detail: format!("names longer than {LONGEST_NAME} bytes were cut there"),
            count: long,
        });
    }
    gaps
}
