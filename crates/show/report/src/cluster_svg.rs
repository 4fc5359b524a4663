//! The scatter plot of clusters: every point, or one mark for many, by the first two dimensions,
//! and a legend with figures.
//!
//! Owns the layout. Axes have names, units and their spacing; a line below explains the marks.

use std::collections::BTreeMap;
use std::fmt::Write;

use talea_model::units::si;

use crate::cluster_marks::{HALO, axis, class, mark, percent, score};
use crate::data::clusters::{ClusterData, ClusterRow, ClusterSite, DimensionData};
use crate::plot::{Area, Plot, Scale, Spacing, document};
use crate::text::xml;

const WIDTH: f64 = 1240.0;
const HEIGHT: f64 = 600.0;
/// Maximum number of rows of the legend.
const MOST: usize = 22;

/// The clusters of one input as a picture of 1,240 by 600 pixels.
pub fn cluster_svg(data: &ClusterData) -> String {
    draw(data, &title(data))
}

/// The same under another title.
pub(crate) fn draw(data: &ClusterData, title: &str) -> String {
    let mut body = String::from(HALO);
    let _ = writeln!(body, "<text class=\"title\" x=\"14\" y=\"24\">{}</text>", xml(title, 150));
    let plot = plot(data);
    body.push_str(&plot.axes());
    marks(data, &plot, &mut body);
    legend(data, &mut body);
    let _ = writeln!(
        body,
        "<text class=\"dim\" x=\"14\" y=\"{:.0}\">{}</text>",
        HEIGHT - 10.0,
        xml(&foot(data), 220)
    );
    document((WIDTH, HEIGHT), title, &body)
}

/// The first finding, or a summary.
pub(crate) fn title(data: &ClusterData) -> String {
    data.findings.first().cloned().unwrap_or_else(|| format!("{} clusters", data.clusters.len()))
}

fn foot(data: &ClusterData) -> String {
    let scatter = &data.scatter;
    let marks = if (scatter.marks.len() as u64) < scatter.points {
        format!(
            "{} marks stand for {} points, larger ones for more",
            scatter.marks.len(),
            scatter.points
        )
    } else {
        format!("a mark for each of {} points", scatter.points)
    };
    let left = data.bursts.saturating_sub(data.points);
    let left = if left > 0 {
        format!("; {left} of {} bursts were left out", data.bursts)
    } else {
        String::new()
    };
    let more = data.dimensions.len().saturating_sub(2);
    let more =
        if more > 0 { format!("; {more} more dimensions are not drawn") } else { String::new() };
    let eps = data
        .eps
        .map_or_else(|| "eps of each cluster's own".to_owned(), |eps| format!("eps {eps:.4}"));
    format!("{marks}{left}{more}; {eps}, {} points to a core", data.min_points)
}

fn scale(dimension: Option<&DimensionData>, values: impl Iterator<Item = f64> + Clone) -> Scale {
    match dimension {
        Some(one) => axis(one, values),
        None => Scale::around("time", "ns", values, Spacing::Linear),
    }
}

fn plot(data: &ClusterData) -> Plot {
    let (marks, dimensions) = (&data.scatter.marks, &data.dimensions);
    // A single dimension is drawn over time.
    let of = |at: usize| data.scatter.axes.get(at).and_then(|&at| dimensions.get(at));
    let (x, y) = if data.scatter.axes.len() < 2 { (None, of(0)) } else { (of(0), of(1)) };
    Plot {
        area: Area { x: 66.0, y: 62.0, width: 750.0, height: HEIGHT - 62.0 - 66.0 },
        x: scale(x, marks.iter().map(|mark| mark.x)),
        y: scale(y, marks.iter().map(|mark| mark.y)),
    }
}

fn tip(row: &ClusterRow) -> String {
    let mut out = format!(
        "Cluster {}: {} of the time, {} bursts",
        row.id,
        percent(row.time_share),
        row.points
    );
    if let Some(mean) = row.mean_duration_ns {
        let _ = write!(out, ", mean {}", si(mean, "ns"));
    }
    if let Some(ipc) = row.ipc {
        let _ = write!(out, ", IPC {ipc:.2}");
    }
    if row.spmd_score.is_some() {
        let _ = write!(out, ", SPMD {}", score(row.spmd_score));
    }
    if let Some(site) = &row.site {
        let _ = write!(out, ", {}", place(site));
    }
    out
}

/// Text of a place in the source.
pub(crate) fn place(site: &ClusterSite) -> String {
    if site.line.is_empty() {
        site.function.clone()
    } else {
        format!("{} {}", site.line, site.function)
    }
}

fn marks(data: &ClusterData, plot: &Plot, body: &mut String) {
    let mut paths = BTreeMap::<u32, (String, f64, f64, f64)>::new();
    let most = data.scatter.marks.iter().map(|mark| mark.points).max().unwrap_or(1).max(2) as f64;
    for one in &data.scatter.marks {
        let (x, y) = (plot.px(one.x), plot.py(one.y));
        let (path, sum_x, sum_y, count) = paths.entry(one.cluster).or_default();
        // Areas grow with the logarithm: a mark of thousands must not hide others.
        let r = 2.6 + 4.4 * (one.points.max(1) as f64).ln() / most.ln();
        mark(path, one.cluster, (x, y), r);
        let points = one.points as f64;
        (*sum_x, *sum_y, *count) = (*sum_x + x * points, *sum_y + y * points, *count + points);
    }
    // The small ones last, so that they are visible.
    for (cluster, (path, ..)) in &paths {
        let tip = match data.clusters.iter().find(|row| row.id == *cluster) {
            Some(row) => tip(row),
            None => format!(
                "noise: {} points, {} of the time",
                data.noise,
                percent(data.noise_time_share)
            ),
        };
        let _ = writeln!(
            body,
            "<path class=\"mk {}\" d=\"{path}\"><title>{}</title></path>",
            class(*cluster),
            xml(&tip, 300)
        );
    }
    let mut taken: Vec<(f64, f64)> = Vec::new();
    for row in data.clusters.iter().take(MOST) {
        let Some((_, x, y, count)) = paths.get(&row.id) else { continue };
        let (x, mut y) = (x / count, y / count);
        // Numbers keep clear of each other where that takes a few steps.
        for _ in 0..6 {
            if taken.iter().all(|(a, b)| (a - x).abs() > 16.0 || (b - y).abs() > 13.0) {
                break;
            }
            y -= 13.0;
        }
        taken.push((x, y));
        let _ = writeln!(
            body,
            "<text class=\"halo\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            y - 8.0,
            row.id
        );
    }
}

fn legend(data: &ClusterData, body: &mut String) {
    let left = 846.0;
    let columns = [
        (left + 92.0, "time"),
        (left + 138.0, "bursts"),
        (left + 202.0, "mean"),
        (left + 240.0, "IPC"),
    ];
    let mut y = 58.0;
    let _ = writeln!(body, "<text class=\"name\" x=\"{left}\" y=\"{y}\">cluster</text>");
    for (x, name) in columns {
        let _ = writeln!(
            body,
            "<text class=\"name\" x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{name}</text>"
        );
    }
    let sites = data.clusters.iter().any(|row| row.site.is_some());
    if sites {
        let head = if data.source == "regions" { "where" } else { "ends at the call" };
        let _ =
            writeln!(body, "<text class=\"name\" x=\"{}\" y=\"{y}\">{head}</text>", left + 250.0);
    }
    let mut line = |cluster: u32, cells: [String; 4], place: &str, tip: &str| {
        y += 21.0;
        let mut path = String::new();
        mark(&mut path, cluster, (left + 6.0, y - 4.0), 5.0);
        let name = if cluster == 0 { "noise".to_owned() } else { cluster.to_string() };
        let _ = write!(
            body,
            "<g><title>{}</title><path class=\"{}\" d=\"{path}\"/><text class=\"strong\" x=\"{}\" y=\"{y}\">{name}</text>",
            xml(tip, 300),
            class(cluster),
            left + 18.0
        );
        for ((x, _), cell) in columns.iter().zip(&cells) {
            let _ = write!(
                body,
                "<text class=\"tick\" x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{}</text>",
                xml(cell, 12)
            );
        }
        let _ =
            writeln!(body, "<text x=\"{}\" y=\"{y}\">{}</text></g>", left + 250.0, xml(place, 22));
    };
    for row in data.clusters.iter().take(MOST) {
        let cells = [
            percent(row.time_share),
            row.points.to_string(),
            row.mean_duration_ns.map_or_else(|| "-".to_owned(), |mean| si(mean, "ns")),
            row.ipc.map_or_else(|| "-".to_owned(), |ipc| format!("{ipc:.2}")),
        ];
        let place = row
            .site
            .as_ref()
            .map(|site| if site.line.is_empty() { &site.function } else { &site.line });
        line(row.id, cells, place.map_or("", String::as_str), &tip(row));
    }
    if data.noise > 0 {
        let cells =
            [percent(data.noise_time_share), data.noise.to_string(), String::new(), String::new()];
        line(0, cells, "", "points in no cluster");
    }
    let more = data.clusters.len().saturating_sub(MOST);
    if more > 0 {
        let _ = writeln!(
            body,
            "<text class=\"dim\" x=\"{left}\" y=\"{}\">and {more} more clusters</text>",
            y + 21.0
        );
    }
}
