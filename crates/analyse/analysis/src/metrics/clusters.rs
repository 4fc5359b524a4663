//! The table for each cluster of an input's bursts.
//!
//! Owns the figures of a cluster: its time, and its counters, completed where sets took turns. The
//! share of the duration is of the time of all bursts.

use std::collections::BTreeMap;

use talea_metric::measure::Part;
use talea_metric::metrics_of;
use talea_model::{Gap, GapKind, Gaps};

use super::models::Models;
use crate::clusters;
use crate::input::Input;

/// A cluster and its values of the table.
pub struct Cluster {
    /// From 1, by time.
    pub id: u32,
    /// Its bursts.
    pub bursts: u64,
    /// Its share of the time of all bursts.
    pub time_share: f64,
    /// Values in the order of the table; `NaN` where there is none.
    pub table: Vec<f64>,
}

/// The default clusters of `talea cluster` for this part.
pub(super) fn default_clusters(
    input: Input,
    part: Part,
    models: &Models,
    gaps: &mut Gaps,
) -> Vec<Cluster> {
    let known = input.computation.map(|computation| computation.bursts);
    let Some(data) = clusters::of_part(&input.trace, known, part, "") else {
        gaps.note(Gap {
            kind: GapKind::Missing,
            rank: None,
            detail: "there are no bursts that could be clustered".to_owned(),
            count: 0,
        });
        return Vec::new();
    };
    gaps.merge(data.gaps.clone());
    let all = data.time_ns.unwrap_or(f64::NAN);
    let cluster = |row: &talea_report::data::clusters::ClusterRow| {
        let counters = row.counters.iter();
        let mut values: BTreeMap<String, f64> =
            counters.filter_map(|one| Some((one.name.clone(), one.extrapolated?))).collect();
        values.insert("duration_time".to_owned(), row.time_ns / 1e9);
        values.insert("total_time".to_owned(), all / 1e9);
        values.insert("bursts".to_owned(), row.points as f64);
        models.own_values(&mut values, None);
        let table = metrics_of(&values).into_iter();
        Cluster {
            id: row.id,
            bursts: row.points,
            time_share: row.time_ns / all,
            table: table.map(|one| one.value.unwrap_or(f64::NAN)).collect(),
        }
    };
    data.clusters.iter().map(cluster).collect()
}
