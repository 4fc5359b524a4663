//! Rows that writers share: sums that are added to, slices, names of a batch, numbers of the file.
//!
//! Owns how each of them is found or made. It refuses deciding which rows a batch needs.

use rusqlite::{OptionalExtension, Transaction, params};
use talea_model::shares::{Activity, Batch, Sampler};

use crate::arrival::cut;

/// Adds to a row of the same key, within the cap; a constant of this file, no text from outside.
macro_rules! adding {
    ($head:literal, $key:literal) => {
        concat!(
            $head,
            " ON CONFLICT(",
            $key,
            ") DO UPDATE SET samples = min(samples + excluded.samples, 4611686018427387904), \
             nanos = min(nanos + excluded.nanos, 4611686018427387904)"
        )
    };
}
pub(super) use adding;

/// The slice of a node, level and begin, with these samples added.
pub(super) fn slice_id(
    change: &Transaction<'_>,
    (node, level, begin): (i64, i64, i64),
    width: i64,
    (samples, nanos): (i64, i64),
) -> rusqlite::Result<i64> {
    const UPSERT: &str = concat!(
        adding!(
            "INSERT INTO slice(node, level, begin, width, samples, nanos) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
            "node, level, begin"
        ),
        ", width = max(width, excluded.width) RETURNING id"
    );
    let mut upsert = change.prepare_cached(UPSERT)?;
    upsert.query_row([node, level, begin, width, samples, nanos], |row| row.get(0))
}

/// The tables of a batch, as rows of the file.
pub(super) struct Tables<'a> {
    change: &'a Transaction<'a>,
    batch: &'a Batch,
    jobs: Ids,
    pub(super) modules: Ids,
    phases: Ids,
    counters: Ids,
}

impl<'a> Tables<'a> {
    pub(super) fn new(change: &'a Transaction<'a>, batch: &'a Batch) -> Self {
        Self {
            change,
            batch,
            jobs: Ids::of(batch.jobs.len()),
            modules: Ids::of(batch.modules.len()),
            phases: Ids::of(batch.phases.len()),
            counters: Ids::of(batch.counters.len()),
        }
    }

    pub(super) fn job(&mut self, index: Option<u32>) -> rusqlite::Result<i64> {
        self.jobs.get(index, |at| {
            let job = &self.batch.jobs[at];
            let owner = job.user.map_or(-1, i64::from);
            let insert = "INSERT INTO job(name, owner) VALUES(?1, ?2) RETURNING id";
            let select = "SELECT id FROM job WHERE name = ?1 AND owner = ?2";
            named(self.change, select, insert, params![cut(&job.id), owner])
        })
    }

    pub(super) fn module(&mut self, index: Option<u32>) -> rusqlite::Result<i64> {
        self.modules.get(index, |at| {
            let module = &self.batch.modules[at];
            let insert = "INSERT INTO module(path, build_id) VALUES(?1, ?2) RETURNING id";
            let select = "SELECT id FROM module WHERE path = ?1 AND build_id = ?2";
            let keys = params![cut(&module.path), cut(&module.build_id)];
            named(self.change, select, insert, keys)
        })
    }

    pub(super) fn phase(&mut self, index: Option<u32>) -> rusqlite::Result<i64> {
        self.phases.get(index, |at| {
            let insert = "INSERT INTO phase(name) VALUES(?1) RETURNING id";
            let select = "SELECT id FROM phase WHERE name = ?1";
            named(self.change, select, insert, params![cut(&self.batch.phases[at])])
        })
    }

    pub(super) fn counter(&mut self, index: u32) -> rusqlite::Result<i64> {
        self.counters.get(Some(index), |at| {
            let counter = &self.batch.counters[at];
            let insert = "INSERT INTO counter(name, unit) VALUES(?1, ?2) RETURNING id";
            let select = "SELECT id FROM counter WHERE name = ?1 AND unit = ?2";
            let keys = params![cut(&counter.name), cut(&counter.unit)];
            named(self.change, select, insert, keys)
        })
    }
}

/// Rows of a batch's table, as far as rows spoke of them: names that nothing hit are not kept.
pub(super) struct Ids(pub(super) Vec<Option<i64>>);

impl Ids {
    fn of(length: usize) -> Self {
        Self(vec![None; length])
    }

    /// The row's id, 0 for none.
    fn get(
        &mut self,
        index: Option<u32>,
        name: impl FnOnce(usize) -> rusqlite::Result<i64>,
    ) -> rusqlite::Result<i64> {
        let Some(at) = index.map(|index| index as usize) else { return Ok(0) };
        if let Some(id) = self.0[at] {
            return Ok(id);
        }
        let id = name(at)?;
        self.0[at] = Some(id);
        Ok(id)
    }
}

fn named(
    change: &Transaction<'_>,
    select: &str,
    insert: &str,
    keys: &[&dyn rusqlite::ToSql],
) -> rusqlite::Result<i64> {
    let found = change.prepare_cached(select)?.query_row(keys, |row| row.get(0)).optional()?;
    match found {
        Some(id) => Ok(id),
        None => change.prepare_cached(insert)?.query_row(keys, |row| row.get(0)),
    }
}

/// Numbers of the file; they never change.
pub(super) fn number_of_activity(activity: Activity) -> i64 {
    match activity {
        Activity::User => 0,
        Activity::Kernel => 1,
        Activity::Waiting => 2,
        Activity::Idle => 3,
        Activity::Mpi => 4,
    }
}

pub(super) fn activity_of_number(number: i64) -> Option<Activity> {
    match number {
        0 => Some(Activity::User),
        1 => Some(Activity::Kernel),
        2 => Some(Activity::Waiting),
        3 => Some(Activity::Idle),
        4 => Some(Activity::Mpi),
        _ => None,
    }
}

pub(super) fn number_of_sampler(sampler: Sampler) -> i64 {
    match sampler {
        Sampler::Bpf => 0,
        Sampler::Rings => 1,
        Sampler::OwnProcesses => 2,
    }
}

pub(super) fn sampler_of_number(number: i64) -> Sampler {
    match number {
        0 => Sampler::Bpf,
        1 => Sampler::Rings,
        _ => Sampler::OwnProcesses,
    }
}
