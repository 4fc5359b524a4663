//! Growth of counters, into rows of the same transaction.
//!
//! Owns rates and spreads of a batch, and the table that leads to them: a rate may be of a sample
//! in an earlier batch, so that shares cannot lead there.

use std::collections::BTreeSet;

use rusqlite::{Transaction, params};
use talea_model::shares::Batch;

use crate::arrival::{capped, rate_owner, spread_owner};
use crate::sqlite::rows::Tables;

const RATE: &str = "INSERT INTO rate VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
    ON CONFLICT(slice, user, job, executable, library, phase, counter) DO UPDATE SET
        samples = min(samples + excluded.samples, 4611686018427387904),
        nanos = min(nanos + excluded.nanos, 4611686018427387904),
        count = min(count + excluded.count, 4611686018427387904)";
const SPREAD: &str = "INSERT INTO spread VALUES(?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT(slice, user, job, counter, bucket) DO UPDATE SET
        cores = min(cores + excluded.cores, 4611686018427387904)";
const AT: &str = "INSERT OR IGNORE INTO rate_at VALUES(?1, ?2, ?3)";

pub(super) fn rates(
    change: &Transaction<'_>,
    slice: i64,
    batch: &Batch,
    tables: &mut Tables<'_>,
) -> rusqlite::Result<()> {
    let mut add = change.prepare_cached(RATE)?;
    let mut at = BTreeSet::new();
    for rate in &batch.rates {
        let user = rate_owner(batch, rate).map_or(-1, i64::from);
        let (job, phase) = (tables.job(rate.job)?, tables.phase(rate.phase)?);
        let (executable, library) = (tables.module(rate.executable)?, tables.module(rate.library)?);
        let counter = tables.counter(rate.counter)?;
        let [samples, nanos, count] = [rate.samples, rate.nanos, rate.count].map(capped);
        add.execute(params![
            slice, user, job, executable, library, phase, counter, samples, nanos, count
        ])?;
        at.insert((job, user));
    }
    lead(change, slice, at)
}

pub(super) fn spreads(
    change: &Transaction<'_>,
    slice: i64,
    batch: &Batch,
    tables: &mut Tables<'_>,
) -> rusqlite::Result<()> {
    let mut add = change.prepare_cached(SPREAD)?;
    let mut at = BTreeSet::new();
    for spread in &batch.spreads {
        let user = spread_owner(batch, spread).map_or(-1, i64::from);
        let (job, counter) = (tables.job(Some(spread.job))?, tables.counter(spread.counter)?);
        for &(bucket, cores) in &spread.cores {
            add.execute([slice, user, job, counter, bucket.into(), cores.into()])?;
        }
        at.insert((job, user));
    }
    lead(change, slice, at)
}

fn lead(change: &Transaction<'_>, slice: i64, at: BTreeSet<(i64, i64)>) -> rusqlite::Result<()> {
    let mut add = change.prepare_cached(AT)?;
    for (job, user) in at {
        add.execute([job, user, slice])?;
    }
    Ok(())
}
