//! Rows over time.
//!
//! Owns the statement and the shape of points. Keys are those of `usage` with the same question, so that both can stand on one page.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, params_from_iter};
use talea_model::Nanos;

use crate::answer::{Point, Series, Value};
use crate::question::{Question, Visible};
use crate::sqlite::HOUR;
use crate::sqlite::ask::{Keys, Sums, at_a_moment, by_columns, halves, key, outer_columns};
use crate::sqlite::levels::{BESIDE, Grain, SUMMED};
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
    let (mut points, mut widest) = points(connection, question, step_bound, keys.len())?;
    if let Visible::User(user) = question.visible {
        widest = widest_of_hours(connection, question, user, step_bound, widest)?;
    }
    fill(connection, question, step_bound, &keys, &mut points)?;
    moment.finish()?;
    let points = points.into_values().collect();
    Ok(Series { by: question.by.clone(), keys, step, points, gaps: answer.gaps, widest })
}

/// The steps in which anything was observed, and the longest slice of them. Of one user the hours that sum up others do not count here: their length is
/// that of the longest slice of anybody.
fn points(
    connection: &Connection,
    question: &Question,
    step: i64,
    keys: usize,
) -> rusqlite::Result<(BTreeMap<i64, Point>, Nanos)> {
    let mut scan = Scan::of_time(connection, question, Grain::of_series(question, step))?;
    let slices = scan.slices();
    let step = scan.bind(step);
    let width = match question.visible {
        Visible::All => "s.width".to_owned(),
        Visible::User(_) => format!("CASE s.level WHEN {SUMMED} THEN 0 ELSE s.width END"),
    };
    let sql = format!(
        "SELECT {}, s.begin - s.begin % {step} AS t, max({width}) {slices} GROUP BY t",
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

/// The longest slice of a user in summed hours, if it is longer than `known`. The longest hours come first, so that mostly a few are looked into.
fn widest_of_hours(
    connection: &Connection,
    question: &Question,
    user: u32,
    step: i64,
    known: Nanos,
) -> rusqlite::Result<Nanos> {
    let mut scan = Scan::of_time(connection, question, Grain::of_series(question, step))?;
    let slices = scan.slices();
    let mut widest = known.0.min(i64::MAX as u64) as i64;
    let longer = scan.bind(widest);
    let sql = format!(
        "SELECT s.node, s.begin, s.width {slices} AND s.level = {SUMMED} AND s.width > {longer}
         ORDER BY s.width DESC"
    );
    let mut hours = connection.prepare_cached(&sql)?;
    let mut own = connection.prepare_cached(&format!(
        "SELECT max(s.width) FROM slice s INDEXED BY slice_node
         CROSS JOIN user_at a ON a.user = ?1 AND a.slice = s.id
         WHERE s.node = ?2 AND s.level = {BESIDE} AND s.begin >= ?3 AND s.begin < ?4"
    ))?;
    let mut hours = hours.query(params_from_iter(scan.values()))?;
    while let Some(hour) = hours.next()? {
        let (node, begin, width): (i64, i64, i64) = (hour.get(0)?, hour.get(1)?, hour.get(2)?);
        if width <= widest {
            break;
        }
        let end = begin.saturating_add(HOUR.0 as i64);
        let values = [i64::from(user), node, begin, end];
        let found: Option<i64> = own.query_row(values, |row| row.get(0))?;
        widest = widest.max(found.unwrap_or(0));
    }
    Ok(Nanos(widest.max(0) as u64))
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
