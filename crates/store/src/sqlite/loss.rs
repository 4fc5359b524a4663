//! Gaps of slices: few for each, so that no batch can fill the file with words.
//!
//! Owns their numbers in the file and who sees them. They may name what others ran, so that a user gets the nodes only.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row, params};
use talea_model::{Gap, GapKind, Gaps, Rank};

use crate::question::{Question, Visible};
use crate::sqlite::scan::Scan;

/// Different gaps of a slice that are kept.
const MOST_OF_SLICE: i64 = 32;
/// Different gaps that an answer tells.
const MOST_TOLD: usize = 200;

const KINDS: [GapKind; 9] = [
    GapKind::EndedEarly,
    GapKind::MemoryBound,
    GapKind::DiskFull,
    GapKind::Paused,
    GapKind::Damaged,
    GapKind::Missing,
    GapKind::Unsupported,
    GapKind::Estimated,
    GapKind::Unresolved,
];

fn number(kind: GapKind) -> i64 {
    KINDS.iter().position(|&known| known == kind).unwrap_or(0) as i64
}

/// Adds a gap to a slice.
pub(super) fn note(connection: &Connection, slice: i64, gap: &Gap) -> rusqlite::Result<()> {
    let rank = gap.rank.map_or(-1, |rank| i64::from(rank.0));
    let count = gap.count.min(1 << 62) as i64;
    let kept: i64 = connection
        .prepare_cached("SELECT count(*) FROM loss WHERE slice = ?1")?
        .query_row([slice], |row| row.get(0))?;
    let mut more = connection.prepare_cached(
        "UPDATE loss SET count = min(count + ?5, 4611686018427387904)
         WHERE slice = ?1 AND kind = ?2 AND rank = ?3 AND detail = ?4",
    )?;
    let mut add = connection.prepare_cached("INSERT INTO loss VALUES(?1, ?2, ?3, ?4, ?5)")?;
    if more.execute(params![slice, number(gap.kind), rank, gap.detail, count])? > 0 {
        return Ok(());
    }
    if kept < MOST_OF_SLICE {
        return add.execute(params![slice, number(gap.kind), rank, gap.detail, count]).map(|_| ());
    }
    let (kind, detail) = (number(GapKind::MemoryBound), "further gaps, of which this many");
    if more.execute(params![slice, kind, -1, detail, 1])? == 0 {
        add.execute(params![slice, kind, -1, detail, 1])?;
    }
    Ok(())
}

/// A gap of a slice from its columns kind, rank, detail and count.
pub(super) fn gap(row: &Row<'_>, at: usize) -> rusqlite::Result<Gap> {
    let kind: i64 = row.get(at)?;
    Ok(Gap {
        kind: usize::try_from(kind)
            .ok()
            .and_then(|kind| KINDS.get(kind))
            .copied()
            .unwrap_or(GapKind::Missing),
        rank: u32::try_from(row.get::<_, i64>(at + 1)?).ok().map(Rank),
        detail: row.get(at + 2)?,
        count: row.get::<_, i64>(at + 3)?.max(0) as u64,
    })
}

/// Gaps of the slices of a question.
pub(super) fn of(connection: &Connection, question: &Question) -> rusqlite::Result<Gaps> {
    let scan = Scan::of(connection, question)?;
    let sql = format!(
        "SELECT n.name, l.kind, l.rank, l.detail, l.count
         FROM (SELECT DISTINCT s.id, s.node {}) x
         CROSS JOIN loss l ON l.slice = x.id JOIN node n ON n.id = x.node",
        scan.slices()
    );
    let mut select = connection.prepare_cached(&sql)?;
    let mut rows = select.query(rusqlite::params_from_iter(scan.slice_values()))?;
    let mut counts: BTreeMap<Gap, u64> = BTreeMap::new();
    let mut untold = 0_u64;
    while let Some(row) = rows.next()? {
        let node: String = row.get(0)?;
        let gap = gap(row, 1)?;
        let key = match question.visible {
            Visible::All => Gap { detail: format!("node {node}: {}", gap.detail), count: 0, ..gap },
            Visible::User(_) => Gap {
                kind: GapKind::Missing,
                rank: None,
                detail: format!("node {node}: its agent told of losses; operators see which"),
                count: 0,
            },
        };
        let more = if question.visible == Visible::All { gap.count } else { 0 };
        if counts.len() < MOST_TOLD || counts.contains_key(&key) {
            let count = counts.entry(key).or_default();
            *count = count.saturating_add(more);
        } else {
            untold += 1;
        }
    }
    let mut gaps = Gaps::default();
    for (gap, count) in counts {
        gaps.note(Gap { count, ..gap });
    }
    if untold > 0 {
        gaps.note(Gap {
            kind: GapKind::MemoryBound,
            rank: None,
            detail: format!("further gaps of nodes beside the {MOST_TOLD} told"),
            count: untold,
        });
    }
    Ok(gaps)
}
