//! Batches into rows, all in one transaction.
//!
//! Owns that a batch counts once: of each start of an agent the numbers seen are kept as ranges,
//! which is one row as long as none is missing. Sums stop at a cap and never overflow, because
//! `SQLite` would turn them into floating point.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use talea_model::shares::Batch;

use crate::Put;
use crate::arrival::{CAP, NO_ADDRESS, losses, nanos, owner, refused, samples};
use crate::error::StoreError;
use crate::sqlite::levels::{BESIDE, FINE, SUMMED};
use crate::sqlite::rows::{Tables, adding, number_of_activity, number_of_sampler, slice_id};
use crate::sqlite::{HOUR, Options, loss, put_rates, spans};

const SHARE: &str = adding!(
    "INSERT INTO share VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    "slice, user, job, executable, library, phase, activity, core, address"
);
const PART: &str = adding!(
    "INSERT INTO part VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    "slice, user, job, executable, library, phase, activity"
);
const USER_AT: &str = adding!("INSERT INTO user_at VALUES(?1, ?2, ?3, ?4)", "user, slice");
const JOB_AT: &str = adding!("INSERT INTO job_at VALUES(?1, ?2, ?3, ?4, ?5)", "job, slice, user");

/// Samples and nanoseconds.
type Sum = (i64, i64);

fn add(sum: &mut Sum, more: Sum) {
    sum.0 = sum.0.saturating_add(more.0).min(CAP);
    sum.1 = sum.1.saturating_add(more.1).min(CAP);
}

/// All of them, or why one of them is not taken.
pub(super) fn all(
    connection: &mut Connection,
    options: &Options,
    batches: &[Batch],
) -> rusqlite::Result<Result<Vec<Put>, StoreError>> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut puts = Vec::with_capacity(batches.len());
    for batch in batches {
        match one(&change, options, batch)? {
            Ok(put) => puts.push(put),
            // Nothing of the change stays.
            Err(why) => return Ok(Err(refused(batch, why))),
        }
    }
    change.commit()?;
    Ok(Ok(puts))
}

/// Outcome of a batch, or the reason for which it is refused.
fn one(
    change: &Transaction<'_>,
    options: &Options,
    batch: &Batch,
) -> rusqlite::Result<Result<Put, String>> {
    let slice = options.slice;
    let node = change
        .prepare_cached("SELECT id FROM node WHERE name = ?1")?
        .query_row([&batch.id.node], |row| row.get(0))
        .optional()?;
    if let Some(node) = node
        && !is_first(change, node, batch)?
    {
        return Ok(Ok(Put::Already));
    }
    let new = self::node(change, batch)?;
    if node.is_none() {
        is_first(change, new, batch)?;
    }
    let node = new;
    if options.strict
        && let Err(why) = spans::add(change, node, batch)?
    {
        return Ok(Err(why));
    }
    let begin = batch.begin.0 - batch.begin.0.checked_rem(slice.0).unwrap_or(0);
    let width = slice.max(batch.end - batch.begin).0 as i64;
    let width = widened(change, node, begin as i64, width)?;
    let all = batch.shares.iter().fold((0, 0), |mut sum, share| {
        add(&mut sum, (samples(share), nanos(batch, share)));
        sum
    });
    let slice = slice_id(change, (node, FINE, begin as i64), width, all)?;
    if options.strict
        && let Err(why) = spans::room(change, slice, batch)?
    {
        return Ok(Err(why));
    }
    let mut tables = Tables::new(change, batch);
    shares(change, slice, batch, &mut tables)?;
    put_rates::rates(change, slice, batch, &mut tables)?;
    put_rates::spreads(change, slice, batch, &mut tables)?;
    for gap in &losses(batch) {
        loss::note(change, slice, gap)?;
    }
    Ok(Ok(Put::New))
}

/// The width of a fine slice. One that is in its hour's sum already stays, and what comes late lies
/// in one beside it: they are of the same length. The hour's is that of the longest of them.
fn widened(change: &Transaction<'_>, node: i64, begin: i64, width: i64) -> rusqlite::Result<i64> {
    let mut widen = change.prepare_cached(
        "UPDATE slice SET width = max(width, ?4) WHERE node = ?1 AND level = ?2 AND begin = ?3
         RETURNING width",
    )?;
    let there = widen.query_row([node, BESIDE, begin, width], |row| row.get(0)).optional()?;
    let Some(there) = there else { return Ok(width) };
    let hour = begin - begin % HOUR.0 as i64;
    widen.query_row([node, SUMMED, hour, there], |_| Ok(())).optional()?;
    Ok(there)
}

/// The node's row, which knows what its latest batch said.
fn node(change: &Transaction<'_>, batch: &Batch) -> rusqlite::Result<i64> {
    let mut upsert = change.prepare_cached(
        "INSERT INTO node(name, first, last, cores, sampler) VALUES(?1, ?2, ?3, ?4, ?5)
         ON CONFLICT(name) DO UPDATE SET
             cores = CASE WHEN (excluded.last, excluded.cores, excluded.sampler) > (last, cores, sampler)
                 THEN excluded.cores ELSE cores END,
             sampler = CASE WHEN (excluded.last, excluded.cores, excluded.sampler) > (last, cores, sampler)
                 THEN excluded.sampler ELSE sampler END,
             first = min(first, excluded.first), last = max(last, excluded.last)
         RETURNING id",
    )?;
    let (begin, end) = (batch.begin.0 as i64, batch.end.0 as i64);
    let sampler = number_of_sampler(batch.sampler);
    upsert.query_row(params![batch.id.node, begin, end, batch.cores, sampler], |row| row.get(0))
}

/// Notes a batch's number; false if it is noted already.
fn is_first(change: &Transaction<'_>, node: i64, batch: &Batch) -> rusqlite::Result<bool> {
    let (started, number) = (batch.id.started as i64, batch.id.number as i64);
    let mut before = change.prepare_cached(
        "SELECT first, last FROM seen WHERE node = ?1 AND started = ?2 AND first <= ?3
         ORDER BY first DESC LIMIT 1",
    )?;
    let before: Option<(i64, i64)> = before
        .query_row([node, started, number], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if before.is_some_and(|(_, last)| last >= number) {
        return Ok(false);
    }
    // The range that begins just behind it becomes part of its own.
    let mut behind = change.prepare_cached(
        "DELETE FROM seen WHERE node = ?1 AND started = ?2 AND first = ?3 RETURNING last",
    )?;
    let behind: Option<i64> =
        behind.query_row([node, started, number + 1], |row| row.get(0)).optional()?;
    let first = before.filter(|&(_, last)| last + 1 == number).map_or(number, |(first, _)| first);
    change.prepare_cached("INSERT OR REPLACE INTO seen VALUES(?1, ?2, ?3, ?4)")?.execute([
        node,
        started,
        first,
        behind.unwrap_or(number),
    ])?;
    Ok(true)
}

fn shares(
    change: &Transaction<'_>,
    slice: i64,
    batch: &Batch,
    tables: &mut Tables<'_>,
) -> rusqlite::Result<()> {
    let mut user_at: BTreeMap<i64, Sum> = BTreeMap::new();
    let mut job_at: BTreeMap<(i64, i64), Sum> = BTreeMap::new();
    let mut parts: BTreeMap<[i64; 6], Sum> = BTreeMap::new();
    let mut add_share = change.prepare_cached(SHARE)?;
    for share in &batch.shares {
        let job = tables.job(share.job)?;
        let (executable, library) =
            (tables.module(share.executable)?, tables.module(share.library)?);
        let phase = tables.phase(share.phase)?;
        let user = owner(batch, share).map_or(-1, i64::from);
        let sum = (samples(share), nanos(batch, share));
        let address = share.address.unwrap_or(NO_ADDRESS) as i64;
        let activity = number_of_activity(share.activity);
        let core = i64::from(share.core);
        add_share.execute(params![
            slice, user, job, executable, library, phase, activity, core, address, sum.0, sum.1
        ])?;
        let part = [user, job, executable, library, phase, activity];
        add(parts.entry(part).or_default(), sum);
        if user >= 0 {
            add(user_at.entry(user).or_default(), sum);
        }
        if job > 0 {
            add(job_at.entry((job, user)).or_default(), sum);
        }
    }
    let mut add_part = change.prepare_cached(PART)?;
    for ([user, job, executable, library, phase, activity], (samples, nanos)) in parts {
        let key = [slice, user, job, executable, library, phase, activity];
        add_part.execute(rusqlite::params_from_iter(key.into_iter().chain([samples, nanos])))?;
    }
    let mut add_user = change.prepare_cached(USER_AT)?;
    for (user, (samples, nanos)) in user_at {
        add_user.execute([user, slice, samples, nanos])?;
    }
    let mut add_job = change.prepare_cached(JOB_AT)?;
    for ((job, user), (samples, nanos)) in job_at {
        add_job.execute([job, slice, user, samples, nanos])?;
    }
    let mut add_module = change.prepare_cached("INSERT OR IGNORE INTO module_at VALUES(?1, ?2)")?;
    for &module in tables.modules.0.iter().flatten() {
        add_module.execute([module, slice])?;
    }
    Ok(())
}
