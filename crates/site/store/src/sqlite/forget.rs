//! Removing what a node should not have sent.
//!
//! Owns which slices go, and that it is written down. An hour goes in a transaction of its own:
//! where some of its fine slices stay, they are no longer in a sum and are summed anew by `retain`.
//! It refuses clocks: who calls says what time it is.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use talea_model::Nanos;
use talea_results::site::Forgotten;

use crate::sqlite::levels::{BESIDE, DAYS, FINE, HOURS, SUMMED};
use crate::sqlite::removals::nanos;
use crate::sqlite::retain::{SAME, add, find, remove};
use crate::sqlite::rows::slice_id;
use crate::sqlite::{HOUR, spans};

/// Data to be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forget {
    /// Exact name of the node.
    pub node: String,
    /// Begin of the time, in nanoseconds since 1970.
    pub from: Nanos,
    /// Its end, not included.
    pub until: Nanos,
    /// Nanoseconds since 1970.
    pub now: Nanos,
    /// User that removes them, by the system's number.
    pub user: u32,
    /// Only tells what would go.
    pub dry: bool,
}

/// A slice that goes.
struct Slice {
    id: i64,
    level: i64,
    begin: i64,
    width: i64,
    samples: i64,
}

/// None where there is no such node.
pub(super) fn forget(
    connection: &mut Connection,
    asked: &Forget,
) -> rusqlite::Result<Option<Forgotten>> {
    let [from, until, now] =
        [asked.from, asked.until, asked.now].map(|at| at.0.min(i64::MAX as u64) as i64);
    let node: Option<i64> = connection
        .query_row("SELECT id FROM node WHERE name = ?1", [&asked.node], |row| row.get(0))
        .optional()?;
    let Some(node) = node else { return Ok(None) };
    let slices = touched(connection, node, from, until)?;
    let begin = slices.iter().map(|slice| slice.begin).min().unwrap_or(from);
    let end = slices.iter().map(|slice| slice.begin.saturating_add(slice.width)).max();
    let end = end.unwrap_or(until);
    let mut forgotten = Forgotten {
        at: asked.now,
        user: asked.user,
        node: asked.node.clone(),
        begin: nanos(begin),
        end: nanos(end),
        slices: 0,
        samples: 0,
    };
    let mut hours: BTreeMap<(i64, i64), Vec<Slice>> = BTreeMap::new();
    for slice in slices {
        let hour = slice.begin - slice.begin.rem_euclid(HOUR.0 as i64);
        // Hours and days go by themselves.
        let level = if matches!(slice.level, HOURS | DAYS) { slice.level } else { FINE };
        hours.entry((hour, level)).or_default().push(slice);
    }
    if asked.dry {
        for slice in hours.values().flatten() {
            count(&mut forgotten, slice);
        }
        return Ok(Some(forgotten));
    }
    // Written down before anything goes.
    connection.execute(
        "INSERT INTO forgotten(at, user, node, begin, until, slices, samples) VALUES(?1, ?2, ?3, ?4, ?5, 0, 0)",
        params![now, asked.user, asked.node, begin, end],
    )?;
    let record = connection.last_insert_rowid();
    for ((hour, level), slices) in hours {
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for slice in &slices {
            // One that became part of an hour meanwhile is gone with it, or goes with the next
            // call.
            if is_there(&change, slice)? {
                remove(&change, slice.id)?;
                count(&mut forgotten, slice);
            }
        }
        if level == FINE {
            unsummed(&change, node, hour)?;
        }
        change.execute(
            "UPDATE forgotten SET slices = ?2, samples = ?3 WHERE id = ?1",
            params![record, forgotten.slices as i64, forgotten.samples.min(i64::MAX as u64) as i64],
        )?;
        change.commit()?;
    }
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    spans::cut(&change, node, begin, end)?;
    rest(&change, node)?;
    change.commit()?;
    Ok(Some(forgotten))
}

fn count(forgotten: &mut Forgotten, slice: &Slice) {
    forgotten.slices += 1;
    forgotten.samples = forgotten.samples.saturating_add(slice.samples.max(0) as u64);
}

/// Slices of a node that a time touches, but for hours that only sum others up.
fn touched(
    connection: &Connection,
    node: i64,
    from: i64,
    until: i64,
) -> rusqlite::Result<Vec<Slice>> {
    let mut select = connection.prepare(
        "SELECT id, level, begin, width, samples FROM slice
         WHERE node = ?1 AND level != ?2 AND begin < ?4 AND begin + max(width, 1) > ?3 ORDER BY begin",
    )?;
    let slices = select.query_map([node, SUMMED, from, until], |row| {
        Ok(Slice {
            id: row.get(0)?,
            level: row.get(1)?,
            begin: row.get(2)?,
            width: row.get(3)?,
            samples: row.get(4)?,
        })
    })?;
    slices.collect()
}

fn is_there(change: &Transaction<'_>, slice: &Slice) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM slice WHERE id = ?1 AND begin = ?2)";
    change.prepare_cached(sql)?.query_row([slice.id, slice.begin], |row| row.get(0))
}

/// Takes away the sum of an hour; its fine slices that are left wait for another one.
fn unsummed(change: &Transaction<'_>, node: i64, hour: i64) -> rusqlite::Result<()> {
    let Some(sum) = find(change, node, SUMMED, hour)? else { return Ok(()) };
    remove(change, sum)?;
    let end = hour.saturating_add(HOUR.0 as i64);
    let mut select = change.prepare_cached(
        "SELECT id, begin, width, samples, nanos FROM slice
         WHERE node = ?1 AND level = ?2 AND begin >= ?3 AND begin < ?4",
    )?;
    let left = select.query_map([node, BESIDE, hour, end], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, (row.get(3)?, row.get(4)?)))
    })?;
    let left = left.collect::<rusqlite::Result<Vec<(i64, i64, i64, (i64, i64))>>>()?;
    for (id, begin, width, sums) in left {
        if find(change, node, FINE, begin)?.is_some() {
            let there = slice_id(change, (node, FINE, begin), width, sums)?;
            add(change, id, there, Some(SAME))?;
            remove(change, id)?;
        } else {
            change
                .prepare_cached("UPDATE slice SET level = ?2 WHERE id = ?1")?
                .execute([id, FINE])?;
        }
    }
    Ok(())
}

/// Remaining data of the node: its times, or none.
fn rest(change: &Transaction<'_>, node: i64) -> rusqlite::Result<()> {
    let left: (Option<i64>, Option<i64>) = change.query_row(
        "SELECT min(begin), max(begin + width) FROM slice WHERE node = ?1 AND level != ?2",
        [node, SUMMED],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    if let (Some(first), Some(last)) = left {
        change.execute(
            "UPDATE node SET first = max(first, ?2), last = min(last, ?3) WHERE id = ?1",
            [node, first, last],
        )?;
        return Ok(());
    }
    for delete in [
        "DELETE FROM seen WHERE node = ?1",
        "DELETE FROM span WHERE node = ?1",
        "DELETE FROM node WHERE id = ?1",
    ] {
        change.execute(delete, [node])?;
    }
    Ok(())
}
