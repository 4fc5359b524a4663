//! Use of cores: sums of rows by dimensions.
//!
//! Owns the statement. Rows are summed by numbers first and get names afterwards, as far fewer
//! groups than rows need names. Sums are taken in two halves of 32 bits each: sixty-four are not
//! enough for the nanoseconds of a machine, floating point is not exact.

use rusqlite::{Connection, Row as Found, params_from_iter};
use talea_model::{Gap, GapKind, Gaps, Module, Nanos};

use crate::answer::{Answer, Row, Totals, Value};
use crate::proportion::Proportion;
use crate::question::{Dimension, Question};
use crate::sqlite::HOUR;
use crate::sqlite::levels::{self, BESIDE, DAYS, FINE, Grain, HOURS};
use crate::sqlite::loss;
use crate::sqlite::rows::activity_of_number;
use crate::sqlite::scan::Scan;

/// Samples and nanoseconds of any size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) samples: u128,
    pub(super) nanos: u128,
}

impl Sums {
    /// From four columns that [`halves`] made.
    pub(super) fn from_row(row: &Found<'_>, at: usize) -> rusqlite::Result<Self> {
        let half = |at| row.get::<_, Option<i64>>(at).map(|half| half.unwrap_or(0).max(0) as u128);
        Ok(Self {
            samples: (half(at)? << 32) + half(at + 1)?,
            nanos: (half(at + 2)? << 32) + half(at + 3)?,
        })
    }

    pub(super) fn add(&mut self, other: Self) {
        self.samples += other.samples;
        self.nanos += other.nanos;
    }

    pub(super) fn samples(self) -> u64 {
        u64::try_from(self.samples).unwrap_or(u64::MAX)
    }

    pub(super) fn core_seconds(self) -> f64 {
        self.nanos as f64 / 1e9
    }
}

/// Columns that sum a table's samples and nanoseconds.
pub(super) fn halves(table: &str) -> String {
    format!(
        "sum({table}.samples >> 32) AS a, sum({table}.samples & 4294967295) AS b, \
         sum({table}.nanos >> 32) AS c, sum({table}.nanos & 4294967295) AS d"
    )
}

/// The statement's parts for the dimensions.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Columns of the inner statement, with names.
    pub(super) inner: Vec<String>,
    /// Columns of the outer one.
    pub(super) outer: Vec<String>,
    /// Tables of names.
    pub(super) joins: String,
}

impl Keys {
    /// `activity` is the number of a row's activity, as SQL.
    pub(super) fn new(by: &[Dimension], activity: &str) -> Self {
        let mut keys = Self::default();
        for dimension in by {
            let mut named = |column: &str, table: &str, alias: &str, names: &[&str]| {
                keys.inner.push(format!("{column} AS {alias}_id"));
                keys.outer.extend(names.iter().map(|name| format!("{alias}.{name}")));
                let join = format!(" LEFT JOIN {table} {alias} ON {alias}.id = g.{alias}_id");
                keys.joins.push_str(&join);
            };
            match dimension {
                Dimension::Node => named("s.node", "node", "n", &["name"]),
                Dimension::Job => named("r.job", "job", "j", &["name"]),
                Dimension::Executable => named("r.executable", "module", "e", &["path"]),
                Dimension::Library => named("r.library", "module", "l", &["path"]),
                Dimension::Phase => named("r.phase", "phase", "p", &["name"]),
                Dimension::Function => {
                    named("r.library", "module", "f", &["path", "build_id"]);
                    keys.inner.push("r.address AS address".to_owned());
                    // In the order of unsigned numbers, none first.
                    keys.outer.push("NULLIF(g.address, -9223372036854775808) < 0".to_owned());
                    keys.outer.push("NULLIF(g.address, -9223372036854775808)".to_owned());
                }
                Dimension::User => keys.number("r.user", "user"),
                Dimension::Core => keys.number("r.core", "core"),
                Dimension::Activity => keys.number(activity, "activity"),
            }
        }
        keys
    }

    fn number(&mut self, value: &str, name: &str) {
        self.inner.push(format!("{value} AS {name}"));
        self.outer.push(format!("NULLIF(g.{name}, -1)"));
    }
}

/// The key of a row of the outer statement, whose columns begin at `at`.
pub(super) fn key(
    row: &Found<'_>,
    by: &[Dimension],
    mut at: usize,
) -> rusqlite::Result<Vec<Value>> {
    let mut key = Vec::with_capacity(by.len());
    for dimension in by {
        key.push(match dimension {
            Dimension::User | Dimension::Core => {
                let number: Option<i64> = row.get(at)?;
                number.map_or(Value::Absent, |number| Value::Number(number.max(0) as u64))
            }
            Dimension::Activity => {
                let number: Option<i64> = row.get(at)?;
                number.and_then(activity_of_number).map_or(Value::Absent, Value::Activity)
            }
            Dimension::Function => {
                let path: Option<String> = row.get(at)?;
                let build_id: Option<String> = row.get(at + 1)?;
                let address: Option<i64> = row.get(at + 3)?;
                at += 3;
                let module = path.zip(build_id).map(|(path, build_id)| Module { path, build_id });
                Value::Function { module, address: address.map(|address| address as u64) }
            }
            _ => row.get::<_, Option<String>>(at)?.map_or(Value::Absent, Value::Text),
        });
        at += 1;
    }
    Ok(key)
}

pub(super) fn usage(connection: &Connection, question: &Question) -> rusqlite::Result<Answer> {
    // One moment of the file for all statements, while others write.
    let moment = connection.unchecked_transaction()?;
    let answer = at_a_moment(connection, question)?;
    moment.finish()?;
    Ok(answer.completed())
}

pub(super) fn at_a_moment(
    connection: &Connection,
    question: &Question,
) -> rusqlite::Result<Answer> {
    let scan = Scan::filtered(connection, question, Grain::for_question(question))?;
    let sql = statement(&scan, &question.by);
    let mut select = connection.prepare_cached(&sql)?;
    let mut found = select.query(params_from_iter(scan.values()))?;
    let (mut kept, mut matched, mut groups) = (Vec::new(), Sums::default(), 0);
    while let Some(row) = found.next()? {
        let sums = Sums::from_row(row, 0)?;
        matched.add(sums);
        groups += 1;
        if kept.len() < question.limit {
            kept.push((key(row, &question.by, 4)?, sums));
        }
    }
    let mut gaps = loss::gaps(connection, question)?;
    let (mut totals, all) = totals(connection, question, &mut gaps)?;
    totals.samples = matched.samples();
    totals.core_seconds = matched.core_seconds();
    let rows = kept.into_iter().map(|(key, sums)| Row {
        key,
        samples: sums.samples(),
        core_seconds: sums.core_seconds(),
        of_all: Proportion::new(sums.samples(), all.samples()),
        of_matched: Proportion::new(sums.samples(), matched.samples()),
    });
    Ok(Answer { by: question.by.clone(), rows: rows.collect(), groups, totals, gaps })
}

fn statement(scan: &Scan, by: &[Dimension]) -> String {
    let (halves, shares) = (halves("r"), scan.shares());
    if by.is_empty() {
        return format!("SELECT {halves} {shares} HAVING count(*) > 0");
    }
    let Keys { inner, outer, joins } = Keys::new(by, scan.activity());
    let (inner, outer) = (inner.join(", "), outer.join(", "));
    let places: Vec<String> = (1..=by_columns(by)).map(|place| place.to_string()).collect();
    let groups = places.join(", ");
    let keys: Vec<String> = (5..5 + outer_columns(by)).map(|place| place.to_string()).collect();
    let order = keys.join(", ");
    format!(
        "SELECT sum(g.a), sum(g.b), sum(g.c), sum(g.d), {outer}
         FROM (SELECT {inner}, {halves} {shares} GROUP BY {groups}) g{joins}
         GROUP BY {order} ORDER BY sum(g.a) * 4294967296 + sum(g.b) DESC, {order}"
    )
}

/// How many columns the inner statement has for the dimensions.
pub(super) fn by_columns(by: &[Dimension]) -> usize {
    by.len() + usize::from(by.contains(&Dimension::Function))
}

/// How many the outer one has.
pub(super) fn outer_columns(by: &[Dimension]) -> usize {
    by.len() + 3 * usize::from(by.contains(&Dimension::Function))
}

fn times(row: &Found<'_>, at: usize) -> rusqlite::Result<Option<(Nanos, Nanos)>> {
    let begin: Option<i64> = row.get(at)?;
    let end: Option<i64> = row.get(at + 1)?;
    let at = |at: i64| Nanos(at.max(0) as u64);
    Ok(begin.zip(end).map(|(begin, end)| (at(begin), at(end))))
}

/// When the fine slices of the first of some summed hours begin, and those of the last end. They
/// may be longer than what is left of their hour, so that one of an hour before may end last.
fn ends(
    connection: &Connection,
    question: &Question,
    summed: [i64; 3],
) -> rusqlite::Result<(Nanos, Nanos)> {
    let [first, last, widest] = summed.map(|at| Nanos(at.max(0) as u64));
    let of = |from: Nanos, to: Nanos| -> rusqlite::Result<Option<(Nanos, Nanos)>> {
        let (from, to) = (from.max(question.from), to.min(question.to));
        let asked = Question { from, to, ..question.clone() };
        let scan = Scan::of_time(connection, &asked, Grain::Fine)?;
        let sql = format!("SELECT {} {}", levels::times(), scan.slices());
        let mut select = connection.prepare_cached(&sql)?;
        select.query_row(params_from_iter(scan.slice_values()), |row| times(row, 0))
    };
    let begin = of(first, first + HOUR)?.map_or(first, |(begin, _)| begin);
    let end = of(last - widest, last + HOUR)?.map_or(last + HOUR, |(_, end)| end);
    Ok((begin, end))
}

/// How many slices a scan has. One that came late and the one that it will join, which are of the
/// same time, are one.
fn count(connection: &Connection, scan: &Scan) -> rusqlite::Result<i64> {
    let sql = format!(
        "SELECT count(*) FROM (SELECT DISTINCT s.node, s.begin, CASE s.level WHEN {BESIDE} THEN {FINE} ELSE s.level END {})",
        scan.slices()
    );
    let mut select = connection.prepare_cached(&sql)?;
    select.query_row(params_from_iter(scan.slice_values()), |row| row.get(0))
}

/// Totals of the time, and in what the answer is coarser than the query.
pub(super) fn totals(
    connection: &Connection,
    question: &Question,
    gaps: &mut Gaps,
) -> rusqlite::Result<(Totals, Sums)> {
    let scan = Scan::of_time(connection, question, Grain::for_question(question))?;
    let sql = format!(
        "SELECT {}, {}, {}, sum(s.level IN ({HOURS}, {DAYS})) {}",
        halves(Scan::whole(question)),
        levels::times(),
        levels::hours(),
        scan.slices()
    );
    let mut select = connection.prepare_cached(&sql)?;
    let values = params_from_iter(scan.slice_values());
    let (all, mut time, hours, coarse) = select.query_row(values, |row| {
        let hours = row.get::<_, Option<i64>>(6)?.zip(row.get(7)?).zip(row.get(8)?);
        let coarse: Option<i64> = row.get(9)?;
        Ok((Sums::from_row(row, 0)?, times(row, 4)?, hours, coarse.unwrap_or(0)))
    })?;
    if let Some(((first, last), widest)) = hours {
        let ends = ends(connection, question, [first, last, widest])?;
        time = Some(time.map_or(ends, |time| (time.0.min(ends.0), time.1.max(ends.1))));
    }
    question.note_wider(time, gaps);
    if coarse > 0 && question.is_fine() {
        let slices = count(connection, &scan)?;
        gaps.note(Gap {
            kind: GapKind::Missing,
            rank: None,
            detail: format!("{coarse} of {slices} slices are old and have no cores and addresses"),
            count: coarse as u64,
        });
    }
    let totals = Totals {
        time,
        all_samples: all.samples(),
        all_core_seconds: all.core_seconds(),
        ..Totals::default()
    };
    Ok((totals, all))
}
