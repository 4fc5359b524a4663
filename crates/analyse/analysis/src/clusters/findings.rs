//! Findings about clusters, in sentences with figures.
//!
//! Owns the sentences and their order. They contain only facts of the data.

use talea_model::units::{percent, si};
use talea_report::data::clusters::{ClusterData, ClusterRow, ClusterSite};

use talea_model::notation::grouped;

/// Text of a score whose distance from 100 % is of interest.
pub fn score(score: f64) -> String {
    format!("{:.1} %", 100.0 * score)
}

/// Usual name of a place in the source.
pub fn place(site: &ClusterSite) -> String {
    if site.line.is_empty() {
        site.function.clone()
    } else {
        format!("{}, {}", site.line, site.function)
    }
}

/// The share of a cluster: of the time, or of the points where there are no times.
fn share(data: &ClusterData, row: &ClusterRow) -> f64 {
    row.time_share.unwrap_or(row.points as f64 / data.points.max(1) as f64)
}

/// The findings of some clusters, most important first.
pub(super) fn findings(data: &ClusterData, rows: &str) -> Vec<String> {
    let mut out = Vec::new();
    let clusters = &data.clusters;
    let share = |row: &ClusterRow| share(data, row);
    let of = if data.time_ns.is_some() { "computing time" } else { "points" };
    if clusters.is_empty() {
        out.push(format!(
            "No cluster: all {} points are noise with eps {} and {} points to a core.",
            grouped(data.points),
            data.eps.unwrap_or_default(),
            data.min_points
        ));
        return out;
    }
    let mut most = 0;
    let mut held = 0.0;
    for row in clusters {
        if most > 0 && (held >= 0.9 || share(row) < 0.02) {
            break;
        }
        held += share(row);
        most += 1;
    }
    let all = clusters.len();
    let noise = match data.noise {
        0 => "no point is noise".to_owned(),
        n => format!("{} of {} points are noise", grouped(n), grouped(data.points)),
    };
    let whole = if most == all { String::new() } else { format!(" of {all}") };
    let was = if data.time_ns.is_some() { "was" } else { "were" };
    let noun = if all == 1 { "cluster" } else { "clusters" };
    let verb = if most == 1 { "holds" } else { "hold" };
    out.push(format!(
        "{most}{whole} {noun} {verb} {} of the {of} that {was} clustered; {noise}.",
        percent(held)
    ));
    if let Some(share) = data.noise_time_share.filter(|share| *share >= 0.1) {
        out.push(format!(
            "Noise, bursts that are like few others, takes {} of the {of}.",
            percent(share)
        ));
    }
    for row in clusters.iter().take(2) {
        let time = row
            .mean_duration_ns
            .map_or_else(String::new, |mean| format!(" of {} on average", si(mean, "ns")));
        let ipc =
            row.ipc.map_or_else(String::new, |ipc| format!(", {ipc:.2} instructions per cycle"));
        let at = if data.source == "regions" { "in" } else { "before the call at" };
        let place = row.site.as_ref().map(|site| format!(", {at} {}", place(site)));
        let place = place.unwrap_or_default();
        out.push(format!(
            "Cluster {} takes {} of the {of}: {} bursts{time}{ipc}{place}.",
            row.id,
            percent(share(row)),
            grouped(row.points)
        ));
    }
    let slow = clusters
        .iter()
        .skip(1)
        .filter(|row| share(row) >= 0.02)
        .filter_map(|row| Some((row, row.ipc?)));
    if let (Some(first), Some((row, ipc))) =
        (clusters[0].ipc, slow.min_by(|a, b| a.1.total_cmp(&b.1)))
        && ipc < 0.7 * first
    {
        out.push(format!(
            "Cluster {} runs at {ipc:.2} instructions per cycle, {} of Cluster 1's {first:.2}.",
            row.id,
            percent(ipc / first)
        ));
    }
    ranks(data, of, rows, &mut out);
    out
}

/// Similarity of ranks (or threads: `rows`), and losses of a part.
fn ranks(data: &ClusterData, of: &str, rows: &str, out: &mut Vec<String>) {
    let clusters = &data.clusters;
    let share = |row: &ClusterRow| share(data, row);
    if data.ranks > 1 {
        let some =
            clusters.iter().filter(|row| share(row) >= 0.01).find(|row| row.ranks < data.ranks);
        if let Some(row) = some {
            out.push(format!(
                "Cluster {} ({} of the {of}) is done by {} of {} {rows} only.",
                row.id,
                percent(share(row)),
                row.ranks,
                data.ranks
            ));
        }
        if let Some(score) = data.spmd_score {
            let what = if score >= 0.95 {
                "nearly always do the same at the same place of their sequences"
            } else if score >= 0.7 {
                "mostly do the same at the same place of their sequences"
            } else {
                "often do something else at the same place of their sequences"
            };
            out.push(format!("The {rows} {what} (SPMD score {}).", self::score(score)));
        }
    }
    if let Some(check) = &data.check {
        let index =
            check.adjusted_rand.map_or_else(|| "unknown".to_owned(), |index| format!("{index:.4}"));
        out.push(format!(
            "Beside clustering all points: adjusted Rand index {index}, {} of {} clusters lost.",
            check.lost,
            check.clusters.len()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_read_well() {
        assert_eq!(
            [0.0, 0.00001, 0.004, 0.0994, 0.0996, 1.0].map(percent),
            ["0 %", "< 0.1 %", "0.4 %", "9.9 %", "10 %", "100 %"]
        );
    }
}
