//! Rows over time.
//!
//! Owns the statement and the shape of points. Keys are those of `usage` with the same question, so that both can stand on one page.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, params_from_iter};
use talea_model::Nanos;

use crate::answer::{Point, Series, Value};
use crate::question::Question;
use crate::sqlite::ask::{Keys, Sums, at_a_moment, by_columns, halves, key, outer_columns};
use crate::sqlite::levels::Grain;
use crate::sqlite::scan::Scan;

pub(super) fn series(
    connection: &Connection,
    question: &Question,
    step: Nanos,
) -> rusqlite::Result<Series> {
    let moment = connection.unchecked_transaction()?;
    let answer = at_a_moment(connection, question)?;
    let keys: Vec<Vec<Value>> = answer.rows.into_iter().map(|row| row.key).collect();
    let step_bound = step.0.min(i64::MAX as u64) as i64;
    let (mut points, widest) = points(connection, question, step_bound, keys.len())?;
    fill(connection, question, step_bound, &keys, &mut points)?;
    moment.finish()?;
    let points = points.into_values().collect();
    Ok(Series { by: question.by.clone(), keys, step, points, gaps: answer.gaps, widest })
}

/// The steps in which anything was observed, and the longest slice of them.
fn points(
    connection: &Connection,
    question: &Question,
    step: i64,
    keys: usize,
) -> rusqlite::Result<(BTreeMap<i64, Point>, Nanos)> {
    let mut scan = Scan::of_time(connection, question, Grain::of_series(question, step))?;
    let slices = scan.slices();
    let step = scan.bind(step);
    let sql = format!(
        "SELECT {}, s.begin - s.begin % {step} AS t, max(s.width) {slices} GROUP BY t",
        halves(Scan::whole(question))
    );
    let mut select = connection.prepare_cached(&sql)?;
    let mut rows = select.query(params_from_iter(scan.values()))?;
    let (mut points, mut widest) = (BTreeMap::new(), 0_i64);
    while let Some(row) = rows.next()? {
        let begin: i64 = row.get(4)?;
        widest = widest.max(row.get(5)?);
        let point = Point {
            begin: Nanos(begin.max(0) as u64),
            all_samples: Sums::of(row, 0)?.samples(),
            samples: 0,
            by_key: vec![0; keys],
            core_seconds: vec![0.0; keys],
        };
        points.insert(begin, point);
    }
    Ok((points, Nanos(widest.max(0) as u64)))
}

fn fill(
    connection: &Connection,
    question: &Question,
    step: i64,
    keys: &[Vec<Value>],
    points: &mut BTreeMap<i64, Point>,
) -> rusqlite::Result<()> {
    let by = &question.by;
    let places: HashMap<&[Value], usize> =
        keys.iter().enumerate().map(|(place, key)| (key.as_slice(), place)).collect();
    let mut scan = Scan::of(connection, question, Grain::of_series(question, step))?;
    let shares = scan.shares();
    let step = scan.bind(step);
    let parts = Keys::of(by);
    let list = |columns: Vec<String>| [vec![String::new()], columns].concat().join(", ");
    let numbers = |from: usize, to: usize| list((from..to).map(|n| n.to_string()).collect());
    let sql = format!(
        "SELECT sum(g.a), sum(g.b), sum(g.c), sum(g.d), g.t{}
         FROM (SELECT s.begin - s.begin % {step} AS t{}, {} {shares} GROUP BY 1{}) g{}
         GROUP BY 5{}",
        list(parts.outer),
        list(parts.inner),
        halves("r"),
        numbers(2, 2 + by_columns(by)),
        parts.joins,
        numbers(6, 6 + outer_columns(by)),
    );
    let mut select = connection.prepare_cached(&sql)?;
    let mut rows = select.query(params_from_iter(scan.values()))?;
    while let Some(row) = rows.next()? {
        let Some(point) = points.get_mut(&row.get(4)?) else { continue };
        let sums = Sums::of(row, 0)?;
        point.samples = point.samples.saturating_add(sums.samples());
        if let Some(&place) = places.get(key(row, by, 5)?.as_slice()) {
            point.by_key[place] = sums.samples();
            point.core_seconds[place] = sums.core_seconds();
        }
    }
    Ok(())
}
