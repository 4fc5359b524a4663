//! Growth of counters: sums of rates by dimensions, and spreads of jobs.
//!
//! Owns both statements. The scan decides the visibility of rows, as for shares; sums are taken in
//! halves for the same reason as there.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rusqlite::{Connection, Row as Found, params_from_iter};
use talea_model::shares::Counter;
use talea_model::{Gap, GapKind, Gaps};

use crate::answer::Value;
use crate::question::{Dimension, Question};
use crate::rates::{RateRow, Rates, SpreadSeen, fitting, note_beyond};
use crate::sqlite::ask::{Keys, Sums, halves, key, totals};
use crate::sqlite::loss;
use crate::sqlite::scan::Scan;

/// Columns before those of the key: six halves, counter and unit.
const BEFORE: usize = 8;

pub(super) fn rates(connection: &Connection, question: &Question) -> rusqlite::Result<Rates> {
    let moment = connection.unchecked_transaction()?;
    let mut kept = Kept { limit: question.limit, ..Kept::default() };
    let mut beyond = 0;
    {
        let scan = Scan::of_counters(connection, question, "rate")?;
        let mut select = connection.prepare_cached(&statement(&scan, &question.by))?;
        let mut found = select.query(params_from_iter(scan.values()))?;
        while let Some(row) = found.next()? {
            match rate(row, key(row, &question.by, BEFORE)?)? {
                Some(row) => kept.add(row),
                None => beyond += 1,
            }
        }
    }
    kept.next();
    let mut gaps = loss::gaps(connection, question)?;
    note_beyond(beyond, &mut gaps);
    let time = totals(connection, question, &mut gaps)?.0.time;
    moment.finish()?;
    let Kept { best, groups, .. } = kept;
    let rows = best.into_values().flatten().collect();
    Ok(Rates { by: question.by.clone(), rows, groups, time, gaps })
}

/// The keys with most samples of those that came so far, so that no more than the limit are held.
#[derive(Default)]
struct Kept {
    limit: usize,
    /// Rows of the key that is coming.
    rows: Vec<RateRow>,
    best: BTreeMap<(Reverse<u64>, Vec<Value>), Vec<RateRow>>,
    groups: u64,
}

impl Kept {
    /// Takes a row; those of a key come together.
    fn add(&mut self, row: RateRow) {
        if self.rows.first().is_some_and(|first| first.key != row.key) {
            self.next();
        }
        self.rows.push(row);
    }

    /// The key is complete.
    fn next(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let Some(first) = rows.first() else { return };
        let most = rows.iter().map(|row| row.samples).max().unwrap_or(0);
        self.groups += 1;
        self.best.insert((Reverse(most), first.key.clone()), rows);
        if self.best.len() > self.limit {
            self.best.pop_last();
        }
    }
}

/// The answer of a file that cannot have any.
pub(super) fn none(connection: &Connection, question: &Question) -> rusqlite::Result<Rates> {
    let mut gaps = Gaps::default();
    let time = totals(connection, question, &mut gaps)?.0.time;
    let detail =
        "the file is of a version without rates, until an agent or server has it open".to_owned();
    gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 });
    Ok(Rates { by: question.by.clone(), rows: Vec::new(), groups: 0, time, gaps })
}

fn statement(scan: &Scan, by: &[Dimension]) -> String {
    let Keys { inner, outer, joins } = Keys::new(by, scan.activity());
    let list = |columns: Vec<String>| [vec![String::new()], columns].concat().join(", ");
    let numbers = |from: usize, to: usize| list((from..to).map(|n| n.to_string()).collect());
    // By key first, so that the rows of a key come together.
    let order: Vec<String> =
        (1..=by.len()).map(|n| BEFORE + n).chain([7, 8]).map(|n| n.to_string()).collect();
    format!(
        "SELECT sum(g.a), sum(g.b), sum(g.c), sum(g.d), sum(g.e), sum(g.f), c.name, c.unit{}
         FROM (SELECT r.counter AS counter{}, {}, sum(r.count >> 32) AS e, sum(r.count & 4294967295) AS f
               {} GROUP BY 1{}) g
         JOIN counter c ON c.id = g.counter{joins}
         GROUP BY 7, 8{key} ORDER BY {order}",
        list(outer),
        list(inner),
        halves("r"),
        scan.shares(),
        numbers(2, 2 + by.len()),
        key = numbers(BEFORE + 1, BEFORE + 1 + by.len()),
        order = order.join(", "),
    )
}

/// A row; none where its sums do not fit.
fn rate(row: &Found<'_>, key: Vec<Value>) -> rusqlite::Result<Option<RateRow>> {
    let sums = Sums::from_row(row, 0)?;
    let half = |at| row.get::<_, i64>(at).map(|half| half.max(0) as u128);
    let count = (half(4)? << 32) + half(5)?;
    let counter = Counter { name: row.get(6)?, unit: row.get(7)? };
    let fitting = fitting([sums.samples, sums.nanos, count]);
    Ok(fitting.map(|[samples, nanos, count]| RateRow { counter, key, samples, nanos, count }))
}

pub(super) fn spreads(
    connection: &Connection,
    question: &Question,
) -> rusqlite::Result<Vec<SpreadSeen>> {
    let scan = Scan::of_counters(connection, question, "spread")?;
    let sql = format!(
        "SELECT c.name, c.unit, g.bucket, sum(g.a), sum(g.b)
         FROM (SELECT r.counter AS counter, r.bucket AS bucket, sum(r.cores >> 32) AS a,
                   sum(r.cores & 4294967295) AS b {} GROUP BY 1, 2) g
         JOIN counter c ON c.id = g.counter GROUP BY 1, 2, 3",
        scan.shares()
    );
    let mut select = connection.prepare_cached(&sql)?;
    let mut found = select.query(params_from_iter(scan.values()))?;
    let mut of_counter: BTreeMap<Counter, BTreeMap<i16, u128>> = BTreeMap::new();
    while let Some(row) = found.next()? {
        let counter = Counter { name: row.get(0)?, unit: row.get(1)? };
        let [bucket, high, low] = [row.get::<_, i64>(2)?, row.get(3)?, row.get(4)?];
        let Ok(bucket) = i16::try_from(bucket) else { continue };
        let cores = ((high.max(0) as u128) << 32) + low.max(0) as u128;
        of_counter.entry(counter).or_default().insert(bucket, cores);
    }
    let spreads = of_counter.into_iter().filter_map(|(counter, buckets)| {
        let buckets = buckets.into_iter().filter(|&(_, cores)| cores > 0).collect();
        SpreadSeen::from_buckets(counter, &buckets)
    });
    Ok(spreads.take(question.limit).collect())
}
