//! The table for each cluster of an input's bursts.
//!
//! Owns the figures of a cluster: its time, and its counters, completed where sets took turns. The
//! share of the duration is of the time of all bursts.

use std::collections::BTreeMap;
use std::path::Path;

use talea_cluster::bursts::Bursts;
use talea_metric::metrics_of;
use talea_model::{Gap, GapKind, Gaps, Trace};
use talea_report::data::clusters::ClusterData;

use super::models::Models;
use crate::Progress;
use crate::clusters::{self, Names, RestError};
use crate::input::{Extent, Input, InputError};

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
    path: &Path,
    input: Input,
    extent: Extent,
    models: &Models,
    gaps: &mut Gaps,
    progress: Progress<'_>,
) -> Result<Vec<Cluster>, InputError> {
    let known = input.computation.map(|computation| computation.bursts);
    let Some(data) = of_part(path, &input.trace, known, extent, progress)? else {
        gaps.note(Gap {
            kind: GapKind::Missing,
            rank: None,
            detail: "there are no bursts that could be clustered".to_owned(),
            count: 0,
        });
        return Ok(Vec::new());
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
    Ok(data.clusters.iter().map(cluster).collect())
}

/// The clusters of all bursts of a part; `None` where there is nothing to cluster.
fn of_part(
    path: &Path,
    trace: &Trace,
    known: Option<Bursts>,
    extent: Extent,
    progress: Progress<'_>,
) -> Result<Option<ClusterData>, InputError> {
    let how = clusters::Options {
        part: extent.part,
        most: Some(extent.most),
        ..clusters::Options::default()
    };
    let bursts = clusters::source::bursts_of(trace, known, extent.part);
    let Ok((bursts, looked)) = bursts else { return Ok(None) };
    let Ok(mut study) = clusters::study::study(bursts, looked, &how) else { return Ok(None) };
    match clusters::complete(&mut study, (path, Some(trace)), &how, progress) {
        Err(RestError::Input(error)) => Err(error),
        Err(RestError::Study(_)) => Ok(None),
        Ok(()) => Ok(Some(clusters::data(&study, &Names::from_trace(Some(trace)), ""))),
    }
}
