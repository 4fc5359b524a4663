//! Rows over time.
//!
//! Owns the statement and the shape of points. Keys are those of `usage` with the same question, so
//! that both can stand on one page.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, params_from_iter};
use talea_model::Nanos;

use crate::answer::{Point, Series, Value};
use crate::question::{Question, Visible};
use crate::sqlite::HOUR;
use crate::sqlite::ask::{Keys, Sums, at_a_moment, by_columns, halves, key, outer_columns};
use crate::sqlite::levels::{self, BESIDE, Grain, SUMMED};
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
    step_bound: i64,
    keys: usize,
) -> rusqlite::Result<(BTreeMap<i64, Point>, Nanos)> {
    let mut scan = Scan::of_time(connection, question, Grain::of_series(question, step_bound))?;
    let slices = scan.slices();
    let step = scan.bind(step_bound);
    let sql = format!(
        "SELECT {}, s.begin - s.begin % {step} AS t, max({width}) {slices} GROUP BY t",
        halves(Scan::whole(question)),
        width = match question.visible {
            Visible::All => "s.width".to_owned(),
            // The width of a summed hour is that of anybody's longest slice.
            Visible::User(_) => levels::own_width(),
        }
    );
    let mut select = connection.prepare_cached(&sql)?;
    let mut rows = select.query(params_from_iter(scan.values()))?;
    let (mut points, mut widest) = (BTreeMap::new(), 0_i64);
    while let Some(row) = rows.next()? {
        let begin: i64 = row.get(4)?;
        widest = widest.max(row.get::<_, Option<i64>>(5)?.unwrap_or(0));
        let point = Point {
            begin: Nanos(begin.max(0) as u64),
            all_samples: Sums::from_row(row, 0)?.samples(),
            samples: 0,
            by_key: vec![0; keys],
            core_seconds: vec![0.0; keys],
        };
        points.insert(begin, point);
    }
    if let Visible::User(user) = question.visible {
        widest = widest_in_hours(connection, question, step_bound, user, widest)?;
    }
    Ok((points, Nanos(widest.max(0) as u64)))
}

/// The longest slice of a user in summed hours, or `least` if none is longer. Hours come by falling
/// width, and the first that can be no longer than what is known ends it: usually all slices are
/// equally long, and one hour is looked into.
fn widest_in_hours(
    connection: &Connection,
    question: &Question,
    step: i64,
    user: u32,
    least: i64,
) -> rusqlite::Result<i64> {
    let scan = Scan::of_time(connection, question, Grain::of_series(question, step))?;
    let sql = format!(
        "SELECT s.node, s.begin, s.width {} AND s.level = {SUMMED} ORDER BY s.width DESC",
        scan.slices()
    );
    let mut hours = connection.prepare_cached(&sql)?;
    let mut own = connection.prepare_cached(&format!(
        "SELECT max(s.width) FROM slice s INDEXED BY slice_node
         WHERE s.node = ?1 AND s.level = {BESIDE} AND s.begin >= ?2 AND s.begin < ?2 + ?3
         AND EXISTS (SELECT 1 FROM user_at a WHERE a.user = ?4 AND a.slice = s.id)"
    ))?;
    let mut widest = least;
    let mut rows = hours.query(params_from_iter(scan.slice_values()))?;
    while let Some(row) = rows.next()? {
        let (node, begin, most): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if most <= widest {
            break;
        }
        let here: Option<i64> =
            own.query_row((node, begin, HOUR.0 as i64, user), |row| row.get(0))?;
        widest = widest.max(here.unwrap_or(0));
    }
    Ok(widest)
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
    let mut scan = Scan::filtered(connection, question, Grain::of_series(question, step))?;
    let shares = scan.shares();
    let step = scan.bind(step);
    let parts = Keys::new(by, scan.activity());
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
        let sums = Sums::from_row(row, 0)?;
        point.samples = point.samples.saturating_add(sums.samples());
        if let Some(&place) = places.get(key(row, by, 5)?.as_slice()) {
            point.by_key[place] = sums.samples();
            point.core_seconds[place] = sums.core_seconds();
        }
    }
    Ok(())
}
