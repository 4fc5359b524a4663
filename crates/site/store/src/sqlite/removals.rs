//! Removals as the file has them written down.
//!
//! Owns their list, and the gaps that they leave in answers. It refuses removing
//! ([`super::forget`]).

use rusqlite::Connection;
use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_results::site::Forgotten;

use crate::question::Question;

/// Most removals that an answer tells of.
const MOST_TOLD: usize = 50;

pub(super) fn nanos(at: i64) -> Nanos {
    Nanos(at.max(0) as u64)
}

pub(super) fn list(connection: &Connection) -> rusqlite::Result<Vec<Forgotten>> {
    if !is_kept(connection)? {
        return Ok(Vec::new());
    }
    let mut select = connection.prepare(
        "SELECT at, user, node, begin, until, slices, samples FROM forgotten ORDER BY id",
    )?;
    let all = select.query_map([], |row| {
        Ok(Forgotten {
            at: nanos(row.get(0)?),
            user: row.get(1)?,
            node: row.get(2)?,
            begin: nanos(row.get(3)?),
            end: nanos(row.get(4)?),
            slices: row.get::<_, i64>(5)?.max(0) as u64,
            samples: row.get::<_, i64>(6)?.max(0) as u64,
        })
    })?;
    all.collect()
}

/// A file of an earlier version that is only read has no such table.
fn is_kept(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'forgotten')";
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0))
}

/// Notes the data that were removed from a query's time.
pub(super) fn note(
    connection: &Connection,
    question: &Question,
    gaps: &mut Gaps,
) -> rusqlite::Result<()> {
    let touches = |one: &Forgotten| {
        let is_asked = question.node.as_ref().is_none_or(|node| node.matches(&one.node));
        is_asked && one.slices > 0 && one.begin < question.to && one.end > question.from
    };
    let all = list(connection)?;
    for one in all.iter().filter(|one| touches(one)).take(MOST_TOLD) {
        gaps.note(Gap {
            kind: GapKind::Missing,
            rank: None,
            detail: format!(
                "node {}: samples of this time were removed by `talea store forget`",
                one.node
            ),
            count: one.samples,
        });
    }
    Ok(())
}
