//! Old times become coarser: minutes hours, hours days.
//!
//! Owns the steps. Each is about the slices of one node and one longer slice, in a transaction of
//! its own, so that it may be stopped anywhere and others write in between. An hour is summed soon
//! after it is over and stands beside its fine slices, so that questions of long times need not go
//! through these; once they are old they go. Nothing is thrown away but cores and addresses: all
//! sums stay what they were.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use talea_model::Nanos;

use crate::Retained;
use crate::sqlite::levels::{BESIDE, DAYS, FINE, HOURS, SUMMED};
use crate::sqlite::rows::{adding, slice_id};
use crate::sqlite::{DAY, HOUR, Options, loss};

/// How long after its end an hour is summed: what comes later makes a step more.
const SETTLES: Nanos = HOUR;

pub(super) const SAME: &str = adding!(
    "INSERT INTO share SELECT ?2, user, job, executable, library, phase, activity, core, address, samples, nanos
     FROM share WHERE slice = ?1",
    "slice, user, job, executable, library, phase, activity, core, address"
);
const SHARES: &str = adding!(
    "INSERT INTO share SELECT ?2, user, job, executable, library, phase, activity, -1,
         -9223372036854775808, samples, nanos FROM share WHERE slice = ?1",
    "slice, user, job, executable, library, phase, activity, core, address"
);
const PARTS: &str = adding!(
    "INSERT INTO part SELECT ?2, user, job, executable, library, phase, activity, samples, nanos
     FROM part WHERE slice = ?1",
    "slice, user, job, executable, library, phase, activity"
);
// Users and jobs of a slice are found by its parts; there is no index the other way.
const USERS: &str = adding!(
    "INSERT INTO user_at SELECT a.user, ?2, a.samples, a.nanos
     FROM (SELECT DISTINCT user FROM part WHERE slice = ?1) u
     CROSS JOIN user_at a ON a.user = u.user AND a.slice = ?1 WHERE true",
    "user, slice"
);
const JOBS: &str = adding!(
    "INSERT INTO job_at SELECT a.job, ?2, a.user, a.samples, a.nanos
     FROM (SELECT DISTINCT job, user FROM part WHERE slice = ?1) j
     CROSS JOIN job_at a ON a.job = j.job AND a.slice = ?1 AND a.user = j.user WHERE true",
    "job, slice, user"
);
const RATES: &str = "INSERT INTO rate
    SELECT ?2, user, job, executable, library, phase, counter, samples, nanos, count FROM rate WHERE slice = ?1
    ON CONFLICT(slice, user, job, executable, library, phase, counter) DO UPDATE SET
        samples = min(samples + excluded.samples, 4611686018427387904),
        nanos = min(nanos + excluded.nanos, 4611686018427387904),
        count = min(count + excluded.count, 4611686018427387904)";
const SPREADS: &str = "INSERT INTO spread
    SELECT ?2, user, job, counter, bucket, cores FROM spread WHERE slice = ?1
    ON CONFLICT(slice, user, job, counter, bucket) DO UPDATE SET
        cores = min(cores + excluded.cores, 4611686018427387904)";
const RATES_AT: &str = "INSERT OR IGNORE INTO rate_at
    SELECT job, user, ?2 FROM rate WHERE slice = ?1 UNION SELECT job, user, ?2 FROM spread WHERE slice = ?1";
const MODULES: &str = "INSERT OR IGNORE INTO module_at
    SELECT executable, ?2 FROM part WHERE slice = ?1 AND executable > 0
    UNION SELECT library, ?2 FROM part WHERE slice = ?1 AND library > 0";

/// Deletions of a slice, in order: rows before the parts and rates that lead to them.
const GOES: [&str; 10] = [
    "DELETE FROM user_at WHERE slice = ?1 AND user IN (SELECT user FROM part WHERE slice = ?1)",
    "DELETE FROM job_at WHERE slice = ?1 AND job IN (SELECT job FROM part WHERE slice = ?1)",
    "DELETE FROM module_at WHERE slice = ?1 AND module IN (SELECT executable FROM part WHERE slice = ?1
         UNION SELECT library FROM part WHERE slice = ?1)",
    "DELETE FROM rate_at WHERE (job, user, slice) IN (SELECT job, user, ?1 FROM rate WHERE slice = ?1
         UNION SELECT job, user, ?1 FROM spread WHERE slice = ?1)",
    "DELETE FROM rate WHERE slice = ?1",
    "DELETE FROM spread WHERE slice = ?1",
    "DELETE FROM loss WHERE slice = ?1",
    "DELETE FROM share WHERE slice = ?1",
    "DELETE FROM part WHERE slice = ?1",
    "DELETE FROM slice WHERE id = ?1",
];

/// A time of a node that is about to become coarser.
struct Step {
    node: i64,
    /// Begin of the longer slice.
    begin: i64,
    length: i64,
}

pub(super) fn retain(
    connection: &mut Connection,
    options: &Options,
    now: Nanos,
    steps: usize,
) -> rusqlite::Result<Retained> {
    let mut retained = Retained::default();
    let before = |length: Nanos, age: Nanos| {
        let old = (now - age).0.min(i64::MAX as u64);
        // Only whole long slices: a late batch makes one step more, not a slice of half an hour.
        (old - old % length.0) as i64
    };
    let gone = before(HOUR, options.fine_for);
    // Where fine slices are nearly hours, sums beside them would be as many.
    let summed = if options.slice.0 > HOUR.0 / 2 { gone } else { gone.max(before(HOUR, SETTLES)) };
    // Steps that make room come first: a full file can do no more.
    let levels =
        [(BESIDE, HOUR, gone), (FINE, HOUR, summed), (HOURS, DAY, before(DAY, options.hours_for))];
    let mut left = steps;
    for (level, length, before) in levels {
        loop {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let Some((node, begin)) = oldest(&change, level, before)? else { break };
            if left == 0 {
                retained.more = true;
                return Ok(retained);
            }
            left -= 1;
            let length = length.0 as i64;
            let step = Step { node, begin: begin - begin % length, length };
            retained.merged += match level {
                BESIDE => leave(&change, &step)?,
                FINE => sum(&change, &step, begin >= gone)?,
                _ => merge(&change, &step, level, DAYS)?,
            };
            change.commit()?;
        }
    }
    Ok(retained)
}

fn oldest(
    change: &Transaction<'_>,
    level: i64,
    before: i64,
) -> rusqlite::Result<Option<(i64, i64)>> {
    let mut select = change.prepare_cached(
        "SELECT node, begin FROM slice INDEXED BY slice_time
         WHERE level = ?1 AND begin < ?2 ORDER BY begin LIMIT 1",
    )?;
    select.query_row([level, before], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// A slice that becomes part of another one.
struct Old {
    id: i64,
    begin: i64,
    width: i64,
    /// Samples and nanoseconds.
    sums: (i64, i64),
}

/// The slices of a level within a step.
fn slices(change: &Transaction<'_>, step: &Step, level: i64) -> rusqlite::Result<Vec<Old>> {
    let mut select = change.prepare_cached(
        "SELECT id, begin, width, samples, nanos FROM slice INDEXED BY slice_node
         WHERE node = ?1 AND level = ?2 AND begin >= ?3 AND begin < ?4 ORDER BY begin",
    )?;
    let end = step.begin.saturating_add(step.length);
    let slices = select.query_map([step.node, level, step.begin, end], |row| {
        let sums = (row.get(3)?, row.get(4)?);
        Ok(Old { id: row.get(0)?, begin: row.get(1)?, width: row.get(2)?, sums })
    })?;
    slices.collect()
}

pub(super) fn find(
    change: &Transaction<'_>,
    node: i64,
    level: i64,
    begin: i64,
) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT id FROM slice WHERE node = ?1 AND level = ?2 AND begin = ?3";
    change.prepare_cached(sql)?.query_row([node, level, begin], |row| row.get(0)).optional()
}

/// Adds all rows of a slice to another one, `shares` as it says.
pub(super) fn add(
    change: &Transaction<'_>,
    old: i64,
    new: i64,
    shares: Option<&str>,
) -> rusqlite::Result<()> {
    let others = [PARTS, USERS, JOBS, MODULES, RATES, SPREADS, RATES_AT];
    for insert in shares.into_iter().chain(others) {
        change.prepare_cached(insert)?.execute([old, new])?;
    }
    let mut losses =
        change.prepare_cached("SELECT kind, rank, detail, count FROM loss WHERE slice = ?1")?;
    let losses = losses
        .query_map(params![old], |row| loss::gap(row, 0))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    losses.iter().try_for_each(|gap| loss::note(change, new, gap))
}

pub(super) fn remove(change: &Transaction<'_>, slice: i64) -> rusqlite::Result<()> {
    for delete in GOES {
        change.prepare_cached(delete)?.execute([slice])?;
    }
    Ok(())
}

/// Brings slices together in one of a coarser level.
fn merge(change: &Transaction<'_>, step: &Step, from: i64, to: i64) -> rusqlite::Result<u64> {
    let old = slices(change, step, from)?;
    for Old { id, sums, .. } in &old {
        let new = slice_id(change, (step.node, to, step.begin), step.length, *sums)?;
        add(change, *id, new, Some(SHARES))?;
        remove(change, *id)?;
    }
    Ok(old.len() as u64)
}

/// Sums an hour. Its fine slices stay beside it while they are `kept`, or others of the hour are.
fn sum(change: &Transaction<'_>, step: &Step, kept: bool) -> rusqlite::Result<u64> {
    let Step { node, begin, .. } = *step;
    let has = |level| find(change, node, level, begin).map(|slice| slice.is_some());
    if !has(SUMMED)? && (!kept || has(HOURS)?) {
        return merge(change, step, FINE, HOURS);
    }
    let fine = slices(change, step, FINE)?;
    for Old { id, begin: at, width, sums } in &fine {
        let hour = slice_id(change, (node, SUMMED, begin), *width, *sums)?;
        add(change, *id, hour, None)?;
        if find(change, node, BESIDE, *at)?.is_some() {
            // It came late, and joins what was there.
            let there = slice_id(change, (node, BESIDE, *at), *width, *sums)?;
            add(change, *id, there, Some(SAME))?;
            remove(change, *id)?;
        } else {
            change
                .prepare_cached("UPDATE slice SET level = ?2 WHERE id = ?1")?
                .execute([*id, BESIDE])?;
        }
    }
    Ok(fine.len() as u64)
}

/// The fine slices of an hour go, and it stands for itself.
fn leave(change: &Transaction<'_>, step: &Step) -> rusqlite::Result<u64> {
    let fine = slices(change, step, BESIDE)?;
    let hour = find(change, step.node, SUMMED, step.begin)?;
    for Old { id, .. } in &fine {
        // Shares of an hour are read when there are no finer ones.
        if let Some(hour) = hour {
            change.prepare_cached(SHARES)?.execute([*id, hour])?;
        }
        remove(change, *id)?;
    }
    change
        .prepare_cached(
            "UPDATE slice SET level = ?4, width = ?5 WHERE node = ?1 AND level = ?2 AND begin = ?3",
        )?
        .execute([step.node, SUMMED, step.begin, HOURS, step.length])?;
    Ok(fine.len() as u64)
}
