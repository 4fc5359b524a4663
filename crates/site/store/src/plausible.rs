//! Whether a batch can be true: its cores had no more time than its interval.
//!
//! Owns the bounds and their margin. A server checks the batches of a node, whose token may have
//! been stolen; a node that keeps its own batches need not check. Claims that need other batches of
//! the node (the same time twice) are the store's: [`crate::sqlite::Options::strict`].

use std::collections::BTreeMap;

use talea_model::Nanos;
use talea_model::shares::Batch;

use crate::arrival::refused;
use crate::error::StoreError;

/// Highest number of cores of a node, and of a core: `CONFIG_NR_CPUS` of Linux at most.
pub const MOST_CORES: u32 = 8192;
/// Time of a core beyond one and a half times the interval: what a sampler took between its start
/// and that of the first interval.
const START: Nanos = Nanos(2_000_000_000);
/// Samples of a core beyond, as the first and the last of an interval come by chance.
const CHANCE: u64 = 4;
/// Longest time of a rate's sample, in periods: it is between three samples, each at most three
/// periods from the next.
const LONGEST_RATE: u64 = 8;

/// Nanoseconds of one core that are believed of a time: half as much again, as no clock is exact,
/// with two seconds and four periods more.
pub(crate) fn most(interval: Nanos, period: Nanos) -> u128 {
    let half = u128::from(interval.0) * 3 / 2;
    half + u128::from(START.0) + u128::from(period.0) * u128::from(CHANCE)
}

/// Impossible claims of a batch that a store would accept.
///
/// # Errors
/// Names the batch, what it claims and what its cores and interval allow.
pub fn plausible(batch: &Batch) -> Result<(), StoreError> {
    check(batch).map_err(|why| refused(batch, why))
}

fn check(batch: &Batch) -> Result<(), String> {
    let cores = batch.cores;
    if cores > MOST_CORES {
        return Err(format!("{cores} cores, expected at most {MOST_CORES}"));
    }
    if let Some(share) = batch.shares.iter().find(|share| share.core >= MOST_CORES) {
        let core = share.core;
        return Err(format!("core {core}, expected a number below {MOST_CORES}"));
    }
    let mut of_core: BTreeMap<u32, u128> = BTreeMap::new();
    for share in &batch.shares {
        *of_core.entry(share.core).or_default() += u128::from(share.samples);
    }
    // Cores that went off within the interval are no longer among those of its end.
    let most_cores = u64::from(cores) * 2;
    if of_core.len() as u64 > most_cores {
        let found = of_core.len();
        return Err(format!("samples of {found} cores, expected at most {most_cores} of {cores}"));
    }
    let (interval, period) = (batch.end - batch.begin, batch.period);
    let most = most(interval, period);
    for (core, samples) in &of_core {
        if samples * u128::from(period.0) > most {
            return Err(too_much(&format!("{samples} samples of core {core}"), most, batch));
        }
    }
    let of_all = most * u128::from(most_cores.max(1));
    let mut of_counter: BTreeMap<u32, u128> = BTreeMap::new();
    for (row, rate) in batch.rates.iter().enumerate() {
        let longest = u128::from(rate.samples) * u128::from(period.0) * u128::from(LONGEST_RATE);
        if u128::from(rate.nanos) > longest {
            let (nanos, samples) = (Nanos(rate.nanos), rate.samples);
            return Err(format!("rate {row}: {nanos} in {samples} samples of {period} each"));
        }
        let sum = of_counter.entry(rate.counter).or_default();
        *sum += u128::from(rate.samples);
        if *sum * u128::from(period.0) > of_all {
            return Err(too_much(&format!("rates of {sum} samples"), of_all, batch));
        }
    }
    for (row, spread) in batch.spreads.iter().enumerate() {
        let found: u64 = spread.cores.iter().map(|(_, cores)| u64::from(*cores)).sum();
        if found > most_cores {
            return Err(format!(
                "spread {row}: {found} cores, expected at most {most_cores} of {cores}"
            ));
        }
    }
    Ok(())
}

fn too_much(what: &str, most: u128, batch: &Batch) -> String {
    let samples = most / u128::from(batch.period.0.max(1));
    let (interval, period) = (batch.end - batch.begin, batch.period);
    format!(
        "{what}, expected at most {samples} in {interval} with a sample every {period} on {} cores",
        batch.cores
    )
}

#[cfg(test)]
mod tests {
    use talea_model::shares::{Activity, Share};

    use super::*;
    use crate::tests::made::batch;

    fn said(change: impl FnOnce(&mut Batch)) -> String {
        let mut batch = batch("n1", 1, 0);
        change(&mut batch);
        plausible(&batch).unwrap_err().to_string()
    }

    #[test]
    fn what_cores_cannot_have_done_is_refused() {
        let all = [
            said(|batch| batch.shares[0].samples = 1_000_000_000_000_000),
            said(|batch| batch.shares[0].samples = 22),
            said(|batch| batch.shares[1].core = u32::MAX),
            said(|batch| batch.cores = 0),
            said(|batch| batch.cores = MOST_CORES + 1),
            said(|batch| {
                let share = Share { samples: 1, ..batch.shares[0].clone() };
                batch.shares = (0..5).map(|core| Share { core, ..share.clone() }).collect();
            }),
            said(|batch| batch.end = batch.begin + Nanos(1)),
            said(|batch| batch.rates[0].samples = 1_000_000),
            said(|batch| batch.rates[0].nanos = u64::MAX),
            said(|batch| batch.spreads[0].cores[0].1 = 1_000),
        ];
        insta::assert_snapshot!(all.join("\n"));
    }

    #[test]
    fn what_cores_can_have_done_is_taken() {
        // As much again as chance and a late start make it: 1.5 * 10 s + 2 s + 4 samples.
        let mut most = batch("n1", 1, 0);
        most.shares.iter_mut().for_each(|share| share.samples = 21);
        plausible(&most).unwrap();
        // The last batch of an agent is short.
        let mut short = batch("n1", 1, 0);
        short.end = short.begin + Nanos(50_000_000);
        short.shares.truncate(1);
        short.shares[0].samples = 1;
        short.rates.clear();
        plausible(&short).unwrap();
        // Half of the cores went off.
        let mut off = batch("n1", 1, 0);
        off.cores = 1;
        plausible(&off).unwrap();
        // Idle and busy time of one core are one time.
        let mut both = batch("n1", 1, 0);
        both.shares[1] = Share { core: 0, activity: Activity::Idle, ..both.shares[1].clone() };
        plausible(&both).unwrap();
        both.shares[1].samples = 12;
        assert!(plausible(&both).is_err());
    }
}
