//! Which nodes and jobs there are.
//!
//! Owns both lists. A user's list of nodes has no times of other users. Slices of a node are
//! searched by their level, as the index has them: the finest that exists.

use rusqlite::{Connection, params_from_iter};
use talea_model::Nanos;
use talea_model::shares::Job;

use crate::answer::{JobSeen, NodeSeen};
use crate::question::{Question, Text, Visible};
use crate::sqlite::ask::{Sums, halves};
use crate::sqlite::levels::{BESIDE, DAYS, FINE, Grain, HOURS, SUMMED};
use crate::sqlite::rows::sampler_of_number;
use crate::sqlite::scan::Scan;

fn at(at: i64) -> Nanos {
    Nanos(at.max(0) as u64)
}

/// All nodes. Late batches have a slice beside the one of the same begin that is in its hour's sum
/// already: both are one here.
fn all() -> String {
    let last = |level: i64| {
        format!(
            "SELECT * FROM (SELECT begin, width FROM slice WHERE node = n.id AND level = {level} ORDER BY begin DESC LIMIT 2)"
        )
    };
    let widest = |slices: &str| {
        format!(
            "(SELECT max(width) FROM (SELECT begin, max(width) AS width FROM ({slices}) GROUP BY begin ORDER BY begin DESC LIMIT 2))"
        )
    };
    let fine = format!("{} UNION ALL {}", last(FINE), last(BESIDE));
    let [fine, hours, days] = [fine, last(HOURS), last(DAYS)].map(|slices| widest(&slices));
    format!(
        "SELECT n.name, n.first, n.last, n.cores, n.sampler, coalesce({fine}, {hours}, {days}) FROM node n ORDER BY n.name"
    )
}

pub(super) fn nodes(connection: &Connection, visible: Visible) -> rusqlite::Result<Vec<NodeSeen>> {
    let (sql, user) = match visible {
        Visible::All => (all(), None),
        Visible::User(user) => (
            format!(
                "SELECT n.name, min(s.begin), max(s.begin + s.width), n.cores, n.sampler, NULL
                 FROM user_at a CROSS JOIN slice s ON s.id = a.slice JOIN node n ON n.id = s.node
                 WHERE a.user = ?1 AND s.level != {SUMMED} GROUP BY n.id ORDER BY n.name"
            ),
            Some(user),
        ),
    };
    let mut select = connection.prepare_cached(&sql)?;
    let nodes = select.query_map(params_from_iter(user), |row| {
        Ok(NodeSeen {
            name: row.get(0)?,
            first: at(row.get(1)?),
            last: at(row.get(2)?),
            cores: row.get(3)?,
            sampler: sampler_of_number(row.get(4)?),
            interval: row.get::<_, Option<i64>>(5)?.map(at),
        })
    })?;
    nodes.collect()
}

pub(super) fn jobs(connection: &Connection, question: &Question) -> rusqlite::Result<Vec<JobSeen>> {
    let rows = question.executable.is_some()
        || question.library.is_some()
        || question.phase.is_some()
        || question.core.is_some()
        || question.activity.is_some()
        // A user who asks for somebody else's: no rows, which only the rows' filters know.
        || matches!(
            question.visible,
            Visible::User(user) if question.user.is_some_and(|other| other != user)
        );
    // Sums of a job and slice are kept: without filters of rows there is no need to look at any.
    // `*` is every job, and none without one.
    let every = question.job.clone().unwrap_or_else(|| Text::Like("*".to_owned()));
    let asked = &Question { job: Some(every), by: Vec::new(), ..question.clone() };
    // Not from hours: begin and end of jobs are as exact as they can be.
    let scan = Scan::filtered(connection, asked, Grain::Fine)?;
    let (from, table) = if rows { (scan.shares(), "r") } else { (scan.slices(), "a") };
    let sql = format!(
        "SELECT g.a, g.b, g.c, g.d, j.name, j.owner, g.first, g.last, g.nodes
         FROM (SELECT a.job AS job, {}, min(s.begin) AS first, max(s.begin + s.width) AS last,
                   count(DISTINCT s.node) AS nodes {from} GROUP BY a.job) g
         JOIN job j ON j.id = g.job
         ORDER BY g.a * 4294967296 + g.b DESC, j.name, j.owner LIMIT {}",
        halves(table),
        question.limit
    );
    let values = if rows { scan.values() } else { scan.slice_values() };
    let mut select = connection.prepare_cached(&sql)?;
    let jobs = select.query_map(params_from_iter(values), |row| {
        let sums = Sums::from_row(row, 0)?;
        let user = u32::try_from(row.get::<_, i64>(5)?).ok();
        Ok(JobSeen {
            job: Job { id: row.get(4)?, user },
            first: at(row.get(6)?),
            last: at(row.get(7)?),
            nodes: row.get::<_, i64>(8)?.max(0) as u64,
            samples: sums.samples(),
            core_seconds: sums.core_seconds(),
        })
    })?;
    jobs.collect()
}
