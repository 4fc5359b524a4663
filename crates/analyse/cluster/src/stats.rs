//! Statistics of each cluster: its share of the time, and its counters.
//!
//! Owns sums over the points of a cluster. A counter that a point did not have (NaN) is absent
//! there, and a counter that no point had is absent from the cluster, never zero. Counters that
//! take turns ("multiplexed sets") are completed as in the slides: the mean of the points that
//! measured one stands for all points of the cluster.

use thiserror::Error;

use crate::label::Label;

/// Figures of one column over the points of a cluster that have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Points that have the value.
    pub measured: u64,
    /// Their mean.
    pub mean: f64,
    /// Their median: of an even number the mean of the two in the middle.
    pub median: f64,
    /// Minimum.
    pub low: f64,
    /// Maximum.
    pub high: f64,
    /// The sum that all points of the cluster would have: the mean times their number.
    pub extrapolated: f64,
}

/// Figures of one cluster, or of noise.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterStatistics {
    /// The cluster.
    pub label: Label,
    /// Number of its points.
    pub points: u64,
    /// The sum of their durations.
    pub time: f64,
    /// Its share of the time of all points, noise included; `None` if that is 0.
    pub share: Option<f64>,
    /// One for each column; `None` where no point has it.
    pub columns: Vec<Option<Summary>>,
}

/// Error of statistics: lengths that differ.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("expected {expected} values in {what}, one for each point, found {found}")]
pub struct StatisticsError {
    expected: usize,
    what: String,
    found: usize,
}

/// Figures of noise and of each cluster up to the highest label, by label: the first is noise.
///
/// `columns` are dimensions and further counters in their own units, `NaN` where a point has none.
pub fn statistics(
    labels: &[Label],
    durations: &[f64],
    columns: &[&[f64]],
) -> Result<Vec<ClusterStatistics>, StatisticsError> {
    let check = |found: usize, what: String| {
        if found == labels.len() {
            Ok(())
        } else {
            Err(StatisticsError { expected: labels.len(), what, found })
        }
    };
    check(durations.len(), "durations".into())?;
    for (i, column) in columns.iter().enumerate() {
        check(column.len(), format!("column {i}"))?;
    }
    // Points by label, so that the work is that of a sort whatever the number of clusters.
    let places = by_label(labels);
    let all: f64 = durations.iter().filter(|duration| duration.is_finite()).sum();
    let mut found = Vec::new();
    let mut values = Vec::new();
    for points in places.chunk_by(|&a, &b| labels[a as usize] == labels[b as usize]) {
        let label = labels[points[0] as usize];
        // Labels without points are few: clusters are numbered without holes.
        while (found.len() as u32) < label.0 && found.len() <= labels.len() {
            found.push(none(found.len() as u32, columns.len()));
        }
        let of = |column: &[f64], values: &mut Vec<f64>| {
            values.clear();
            values.extend(points.iter().map(|&point| column[point as usize]));
            values.retain(|value| value.is_finite());
        };
        of(durations, &mut values);
        let time: f64 = values.iter().sum();
        let summaries = columns.iter().map(|column| {
            of(column, &mut values);
            summary(&mut values, points.len())
        });
        found.push(ClusterStatistics {
            label,
            points: points.len() as u64,
            time,
            share: (all > 0.0).then(|| time / all),
            columns: summaries.collect(),
        });
    }
    if found.is_empty() {
        found.push(none(0, columns.len()));
    }
    Ok(found)
}

/// The places of points by label, then by place.
fn by_label(labels: &[Label]) -> Vec<u32> {
    let most = labels.iter().map(|label| label.0 as usize).max().unwrap_or(0);
    // Labels that are far more than points are those of a few points only.
    if most > 2 * labels.len() {
        let mut places: Vec<u32> = (0..labels.len() as u32).collect();
        places.sort_by_key(|&place| labels[place as usize]);
        return places;
    }
    let mut next = vec![0_u32; most + 2];
    for label in labels {
        next[label.0 as usize + 1] += 1;
    }
    for label in 1..next.len() {
        next[label] += next[label - 1];
    }
    let mut places = vec![0; labels.len()];
    for (place, label) in (0..).zip(labels) {
        let free = &mut next[label.0 as usize];
        places[*free as usize] = place;
        *free += 1;
    }
    places
}

fn none(label: u32, columns: usize) -> ClusterStatistics {
    let columns = vec![None; columns];
    ClusterStatistics { label: Label(label), points: 0, time: 0.0, share: None, columns }
}

fn summary(values: &mut [f64], points: usize) -> Option<Summary> {
    if values.is_empty() {
        return None;
    }
    let count = values.len();
    // In the order of points: the same sum each time.
    let mean = values.iter().sum::<f64>() / count as f64;
    let ends = (values[0], values[0]);
    let (low, high) = values.iter().fold(ends, |(low, high), value| {
        let low = if value.total_cmp(&low).is_lt() { *value } else { low };
        (low, if high.total_cmp(value).is_lt() { *value } else { high })
    });
    let (before, &mut middle, _) = values.select_nth_unstable_by(count / 2, f64::total_cmp);
    // Of an even number two are in the middle, and the other one is the largest before.
    let other = before.iter().copied().max_by(f64::total_cmp).filter(|_| count.is_multiple_of(2));
    Some(Summary {
        measured: count as u64,
        mean,
        median: f64::midpoint(other.unwrap_or(middle), middle),
        low,
        high,
        extrapolated: mean * points as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_take_turns_are_made_whole() {
        let nan = f64::NAN;
        let labels = [1, 1, 1, 1, 0, 2].map(Label);
        let durations = [10.0, 10.0, 20.0, 20.0, 30.0, 10.0];
        let loads = [4.0, nan, 8.0, nan, 1.0, nan];
        let found = statistics(&labels, &durations, &[&durations, &loads]).unwrap();
        assert_eq!(
            found.iter().map(|c| (c.label.0, c.points)).collect::<Vec<_>>(),
            [(0, 1), (1, 4), (2, 1)]
        );
        let first = &found[1];
        assert_eq!((first.time, first.share), (60.0, Some(0.6)));
        let time = first.columns[0].unwrap();
        assert_eq!((time.mean, time.median, time.low, time.high), (15.0, 15.0, 10.0, 20.0));
        let loads = first.columns[1].unwrap();
        assert_eq!((loads.measured, loads.mean, loads.extrapolated), (2, 6.0, 24.0));
        assert_eq!(found[2].columns[1], None, "absent, not zero");
    }

    #[test]
    fn labels_without_points_and_wrong_lengths() {
        let found = statistics(&[Label(2)], &[0.0], &[&[1.0]]).unwrap();
        assert_eq!(
            found.iter().map(|c| (c.points, c.share)).collect::<Vec<_>>(),
            [(0, None), (0, None), (1, None)]
        );
        assert_eq!(statistics(&[], &[], &[]).unwrap().len(), 1);
        let error = statistics(&[Label(1)], &[1.0], &[&[]]).unwrap_err().to_string();
        assert_eq!(error, "expected 1 values in column 0, one for each point, found 0");
    }
}
