//! Old times become coarser: minutes hours, hours days.
//!
//! Owns the steps. Each brings the slices of one node and one longer slice together in a transaction of its own, so that it may be
//! stopped anywhere and others write in between. Nothing is thrown away but cores and addresses: all sums stay what they were.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use talea_model::Nanos;

use crate::Retained;
use crate::sqlite::put::{adding, slice_id};
use crate::sqlite::{DAY, HOUR, Options, loss};

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

/// What goes before the parts and rates that lead to it.
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

pub(super) fn retain(
    connection: &mut Connection,
    options: &Options,
    now: Nanos,
    steps: usize,
) -> rusqlite::Result<Retained> {
    let mut retained = Retained::default();
    let levels = [(0, HOUR, options.fine_for), (1, DAY, options.hours_for)];
    let mut left = steps;
    for (level, length, kept_for) in levels {
        // Only whole long slices: a late batch makes one step more, not a slice of half an hour.
        let old = (now - kept_for).0.min(i64::MAX as u64);
        let before = (old - old % length.0) as i64;
        loop {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let Some((node, begin)) = oldest(&change, level, before)? else { break };
            if left == 0 {
                retained.more = true;
                return Ok(retained);
            }
            left -= 1;
            let begin = begin - begin % length.0 as i64;
            retained.merged += step(&change, node, level, begin, length)?;
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

/// Brings the slices of a node between `begin` and `length` later into one of the next level.
fn step(
    change: &Transaction<'_>,
    node: i64,
    level: i64,
    begin: i64,
    length: Nanos,
) -> rusqlite::Result<u64> {
    let length = length.0 as i64;
    let mut select = change.prepare_cached(
        "SELECT id, samples, nanos FROM slice INDEXED BY slice_node
         WHERE node = ?1 AND level = ?2 AND begin >= ?3 AND begin < ?4 ORDER BY begin",
    )?;
    let slices = select
        .query_map([node, level, begin, begin.saturating_add(length)], |row| {
            Ok((row.get(0)?, (row.get(1)?, row.get(2)?)))
        })?
        .collect::<rusqlite::Result<Vec<(i64, (i64, i64))>>>()?;
    for &(old, sums) in &slices {
        let new = slice_id(change, (node, level + 1, begin), length, sums)?;
        for insert in [SHARES, PARTS, USERS, JOBS, MODULES, RATES, SPREADS, RATES_AT] {
            change.prepare_cached(insert)?.execute([old, new])?;
        }
        let mut losses =
            change.prepare_cached("SELECT kind, rank, detail, count FROM loss WHERE slice = ?1")?;
        let losses = losses
            .query_map(params![old], |row| loss::gap(row, 0))?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        for gap in &losses {
            loss::note(change, new, gap)?;
        }
        for delete in GOES {
            change.prepare_cached(delete)?.execute([old])?;
        }
    }
    Ok(slices.len() as u64)
}
