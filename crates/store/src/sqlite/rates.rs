//! What counters did: sums of rates by dimensions, and spreads of jobs.
//!
//! Owns both statements. Whom rows are visible to is decided by the scan, as for shares; sums are taken in halves for the same reason as there.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row as Found, params_from_iter};
use talea_model::shares::Counter;
use talea_model::{Gap, GapKind, Gaps};

use crate::answer::Value;
use crate::question::{Dimension, Question};
use crate::rates::{RateRow, Rates, SpreadSeen};
use crate::sqlite::ask::{Keys, Sums, halves, key, totals};
use crate::sqlite::loss;
use crate::sqlite::scan::Scan;

/// Columns before those of the key: six halves, counter and unit.
const BEFORE: usize = 8;

pub(super) fn rates(connection: &Connection, question: &Question) -> rusqlite::Result<Rates> {
    let moment = connection.unchecked_transaction()?;
    let mut of_key: BTreeMap<Vec<Value>, Vec<RateRow>> = BTreeMap::new();
    {
        let scan = Scan::of_counters(connection, question, "rate")?;
        let mut select = connection.prepare_cached(&statement(&scan, &question.by))?;
        let mut found = select.query(params_from_iter(scan.values()))?;
        while let Some(row) = found.next()? {
            let key = key(row, &question.by, BEFORE)?;
            of_key.entry(key.clone()).or_default().push(rate(row, key)?);
        }
    }
    let mut gaps = loss::of(connection, question)?;
    let time = totals(connection, question, &mut gaps)?.0.time;
    moment.finish()?;
    let groups = of_key.len() as u64;
    let most = |rows: &[RateRow]| rows.iter().map(|row| row.samples).max();
    let mut keys: Vec<Vec<RateRow>> = of_key.into_values().collect();
    // Stable: those of as many samples stay in the order of their keys.
    keys.sort_by_key(|rows| std::cmp::Reverse(most(rows)));
    let rows = keys.into_iter().take(question.limit).flatten().collect();
    Ok(Rates { by: question.by.clone(), rows, groups, time, gaps })
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
    let Keys { inner, outer, joins } = Keys::of(by);
    let list = |columns: Vec<String>| [vec![String::new()], columns].concat().join(", ");
    let numbers = |from: usize, to: usize| list((from..to).map(|n| n.to_string()).collect());
    format!(
        "SELECT sum(g.a), sum(g.b), sum(g.c), sum(g.d), sum(g.e), sum(g.f), c.name, c.unit{}
         FROM (SELECT r.counter AS counter{}, {}, sum(r.count >> 32) AS e, sum(r.count & 4294967295) AS f
               {} GROUP BY 1{}) g
         JOIN counter c ON c.id = g.counter{joins}
         GROUP BY 7, 8{key} ORDER BY 7, 8{key}",
        list(outer),
        list(inner),
        halves("r"),
        scan.shares(),
        numbers(2, 2 + by.len()),
        key = numbers(BEFORE + 1, BEFORE + 1 + by.len()),
    )
}

fn rate(row: &Found<'_>, key: Vec<Value>) -> rusqlite::Result<RateRow> {
    let sums = Sums::of(row, 0)?;
    let half = |at| row.get::<_, i64>(at).map(|half| half.max(0) as u128);
    let count = (half(4)? << 32) + half(5)?;
    let most = |sum: u128| u64::try_from(sum).unwrap_or(u64::MAX);
    let counter = Counter { name: row.get(6)?, unit: row.get(7)? };
    let (nanos, count) = (most(sums.nanos), most(count));
    Ok(RateRow { counter, key, samples: sums.samples(), nanos, count })
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
        SpreadSeen::of(counter, &buckets)
    });
    Ok(spreads.take(question.limit).collect())
}
