//! Gaps of slices: few for each, so that no batch can fill the file with words.
//!
//! Owns their numbers in the file and who sees them. They may name what others ran, so that a user
//! gets the nodes only.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rusqlite::{Connection, Row, params};
use talea_model::{Gap, GapKind, Gaps, Rank};

use crate::question::{Question, Visible};
use crate::sqlite::levels::{BESIDE, FINE, Grain};
use crate::sqlite::removals;
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
    let (kind, detail) = (number(GapKind::MemoryBound), "further gaps, counted only");
    // One that came from another slice stands for as many as it says.
    let count = if gap.detail == detail { count } else { 1 };
    if more.execute(params![slice, kind, -1, detail, count])? == 0 {
        add.execute(params![slice, kind, -1, detail, count])?;
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

/// Gaps of the slices of a question: by node, and those of many nodes together where there are too
/// many for that.
pub(super) fn gaps(connection: &Connection, question: &Question) -> rusqlite::Result<Gaps> {
    // Not of hours, which have the gaps of times when a job or user was not there.
    let scan = Scan::filtered(connection, question, Grain::Fine)?;
    match question.visible {
        Visible::All => {
            let mut gaps = told(connection, &scan)?;
            removals::note(connection, question, &mut gaps)?;
            Ok(gaps)
        }
        Visible::User(_) => nodes(connection, &scan),
    }
}

/// Gaps and the nodes that reported them, as they come: those of all nodes with the same words
/// behind each other.
#[derive(Default)]
struct Told {
    /// By node; none any more once these are too many.
    by_node: Vec<Gap>,
    /// Those of all nodes together, most first.
    together: BTreeSet<(Reverse<u64>, Gap)>,
    /// The one that is coming, how many nodes have it, and the first of them.
    coming: Option<(Gap, u64, String)>,
    /// How many did not fit, and what they count.
    untold: (u64, u64),
    /// How many there are by node.
    rows: usize,
}

impl Told {
    fn add(&mut self, node: String, gap: Gap) {
        self.rows += 1;
        if self.rows <= MOST_TOLD {
            let detail = format!("node {node}: {}", gap.detail);
            self.by_node.push(Gap { detail, ..gap.clone() });
        }
        match &mut self.coming {
            Some((known, nodes, _))
                if (known.kind, known.rank) == (gap.kind, gap.rank)
                    && known.detail == gap.detail =>
            {
                known.count = known.count.saturating_add(gap.count);
                *nodes += 1;
            }
            _ => {
                self.next();
                self.coming = Some((gap, 1, node));
            }
        }
    }

    /// The one that is coming is complete.
    fn next(&mut self) {
        let Some((gap, nodes, first)) = self.coming.take() else { return };
        let detail = match nodes {
            1 => format!("node {first}: {}", gap.detail),
            nodes => format!("{nodes} nodes: {}", gap.detail),
        };
        self.together.insert((Reverse(gap.count), Gap { detail, ..gap }));
        if self.together.len() > MOST_TOLD
            && let Some((Reverse(count), _)) = self.together.pop_last()
        {
            self.untold = (self.untold.0 + 1, self.untold.1.saturating_add(count));
        }
    }

    fn gaps(mut self) -> Gaps {
        self.next();
        let mut gaps = Gaps::default();
        if self.rows <= MOST_TOLD {
            self.by_node.into_iter().for_each(|gap| gaps.note(gap));
            return gaps;
        }
        self.together.into_iter().for_each(|(_, gap)| gaps.note(gap));
        let (more, count) = self.untold;
        if more > 0 {
            gaps.note(Gap {
                kind: GapKind::MemoryBound,
                rank: None,
                detail: format!(
                    "{more} further gaps of nodes, with less than the {MOST_TOLD} listed"
                ),
                count,
            });
        }
        gaps
    }
}

/// `FROM` of the losses and nodes of a scan's slices. A fine slice that is in its hour's sum, and
/// the one for batches that came later, count as one slice.
fn losses(scan: &Scan) -> String {
    format!(
        "FROM (SELECT DISTINCT s.node, s.begin, CASE s.level WHEN {BESIDE} THEN {FINE} ELSE s.level END AS level {}) x
         CROSS JOIN slice t INDEXED BY slice_node ON t.node = x.node AND t.begin = x.begin
             AND t.level IN (x.level, CASE x.level WHEN {FINE} THEN {BESIDE} ELSE x.level END)
         CROSS JOIN loss l ON l.slice = t.id JOIN node n ON n.id = x.node",
        scan.slices()
    )
}

fn told(connection: &Connection, scan: &Scan) -> rusqlite::Result<Gaps> {
    let sql = format!(
        "SELECT n.name, l.kind, l.rank, l.detail, sum(l.count >> 32), sum(l.count & 4294967295)
         {}
         GROUP BY 2, 3, 4, 1 ORDER BY 2, 3, 4, 1",
        losses(scan)
    );
    let mut select = connection.prepare_cached(&sql)?;
    let mut rows = select.query(rusqlite::params_from_iter(scan.slice_values()))?;
    let mut told = Told::default();
    while let Some(row) = rows.next()? {
        let half = |at| row.get::<_, i64>(at).map(|half| half.max(0) as u128);
        let count = (half(4)? << 32) + half(5)?;
        let gap = Gap { count: u64::try_from(count).unwrap_or(u64::MAX), ..gap(row, 1)? };
        told.add(row.get(0)?, gap);
    }
    Ok(told.gaps())
}

/// The nodes alone.
fn nodes(connection: &Connection, scan: &Scan) -> rusqlite::Result<Gaps> {
    let sql = format!("SELECT DISTINCT n.name {} ORDER BY 1", losses(scan));
    let mut select = connection.prepare_cached(&sql)?;
    let mut rows = select.query(rusqlite::params_from_iter(scan.slice_values()))?;
    let mut told = Told::default();
    while let Some(row) = rows.next()? {
        let detail = "agents reported losses; operators see which".to_owned();
        told.add(row.get(0)?, Gap { kind: GapKind::Missing, rank: None, detail, count: 0 });
    }
    Ok(told.gaps())
}
