//! Which times of a node have a batch.
//!
//! Owns that a time of a node counts once, whatever starts of an agent and numbers its batches
//! claim: times that follow each other are one row, which batches may overlap by a tenth of their
//! interval. And that a slice holds no more than the cores of the node had time for.

use rusqlite::{OptionalExtension as _, Transaction, params};
use talea_model::Nanos;
use talea_model::shares::Batch;

use crate::plausible::most;

/// Times that are no further apart are one row.
const APART: i64 = 1_000_000_000;
/// Part of a batch that may lie in times that have one.
const TOLERATED: i64 = 10;

/// Notes the time of a batch, or says why it cannot be one.
pub(super) fn add(
    change: &Transaction<'_>,
    node: i64,
    batch: &Batch,
) -> rusqlite::Result<Result<(), String>> {
    let (begin, until) = (batch.begin.0 as i64, batch.end.0 as i64);
    if until <= begin {
        return Ok(Ok(()));
    }
    let near = near(change, node, begin.saturating_sub(APART), until.saturating_add(APART))?;
    let overlap: i64 =
        near.iter().map(|&(from, to)| (to.min(until) - from.max(begin)).max(0)).sum();
    if overlap > (until - begin) / TOLERATED {
        let (twice, interval) = (Nanos(overlap as u64), batch.end - batch.begin);
        return Ok(Err(format!(
            "{twice} of its {interval} have a batch of this node already: two agents have its token, or its clock was set back"
        )));
    }
    let union = near.iter().fold((begin, until), |(b, u), &(from, to)| (b.min(from), u.max(to)));
    let mut remove = change.prepare_cached("DELETE FROM span WHERE node = ?1 AND begin = ?2")?;
    for (from, _) in near {
        remove.execute([node, from])?;
    }
    change
        .prepare_cached("INSERT INTO span VALUES(?1, ?2, ?3)")?
        .execute([node, union.0, union.1])?;
    Ok(Ok(()))
}

/// Times of a node that touch this one.
fn near(
    change: &Transaction<'_>,
    node: i64,
    begin: i64,
    until: i64,
) -> rusqlite::Result<Vec<(i64, i64)>> {
    // They do not overlap each other: the first that ends before is the last to look at.
    let mut select = change.prepare_cached(
        "SELECT begin, until FROM span WHERE node = ?1 AND begin <= ?2 ORDER BY begin DESC",
    )?;
    let mut rows = select.query([node, until])?;
    let mut near = Vec::new();
    while let Some(row) = rows.next()? {
        let (from, to) = (row.get(0)?, row.get(1)?);
        if to < begin {
            break;
        }
        near.push((from, to));
    }
    Ok(near)
}

/// Says where a slice has more than cores can do: twice its width, as a batch counts where it
/// begins, and the margin that each batch has.
pub(super) fn room(
    change: &Transaction<'_>,
    slice: i64,
    batch: &Batch,
) -> rusqlite::Result<Result<(), String>> {
    let sql = "SELECT s.width, s.nanos, n.cores FROM slice s JOIN node n ON n.id = s.node WHERE s.id = ?1";
    let found = change
        .prepare_cached(sql)?
        .query_row([slice], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        })
        .optional()?;
    let Some((width, nanos, cores)) = found else { return Ok(Ok(())) };
    let width = Nanos(width.max(0) as u64);
    let cores = u128::from(batch.cores).max(cores.max(0) as u128).max(1);
    // Cores that went off within the interval are not among those of its end.
    let room = most(Nanos(width.0.saturating_mul(2)), batch.period) * cores * 2;
    if nanos.max(0) as u128 <= room {
        return Ok(Ok(()));
    }
    let (nanos, room) = (Nanos(nanos as u64), Nanos(u64::try_from(room).unwrap_or(u64::MAX)));
    Ok(Err(format!(
        "{nanos} of cores in {width} with the batches before it, expected at most {room} of {cores} cores"
    )))
}

/// Forgets that times within this one have batches.
pub(super) fn cut(
    change: &Transaction<'_>,
    node: i64,
    begin: i64,
    until: i64,
) -> rusqlite::Result<()> {
    for (from, to) in near(change, node, begin, until)? {
        change.execute("DELETE FROM span WHERE node = ?1 AND begin = ?2", [node, from])?;
        for (from, to) in [(from, to.min(begin)), (from.max(until), to)] {
            if from < to {
                change.execute("INSERT INTO span VALUES(?1, ?2, ?3)", params![node, from, to])?;
            }
        }
    }
    Ok(())
}
