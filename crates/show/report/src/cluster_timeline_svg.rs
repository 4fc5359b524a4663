//! Clusters over time: time to the right, ranks down, one row a rank, coloured by cluster.
//!
//! Owns the layout. Of many ranks neighbours share a row, which shows the first of them; the
//! picture says so. Clusters with the same colour differ in the height of their bars and, where
//! there is room, by their number.

use std::collections::BTreeMap;
use std::fmt::Write;

use talea_model::units::si;

use crate::cluster_marks::{HALO, class, percent};
use crate::cluster_svg::title;
use crate::data::clusters::ClusterData;
use crate::plot::{Area, Plot, Scale, Spacing, document};
use crate::text::xml;

const WIDTH: f64 = 1240.0;
const LEFT: f64 = 66.0;
const TOP: f64 = 62.0;
/// Minimum width of a bar with its number.
const NUMBERED: f64 = 20.0;

/// The bursts of all ranks as a picture 1,240 pixels wide.
pub fn cluster_timeline_svg(data: &ClusterData) -> String {
    draw(data, &title(data))
}

/// The same under another title.
pub(crate) fn draw(data: &ClusterData, title: &str) -> String {
    let timeline = &data.timeline;
    let rows = timeline.rows.len();
    let each = (360.0 / rows.max(1) as f64).clamp(7.0, 30.0);
    let height = TOP + each * rows as f64 + 62.0;
    let plot = Plot {
        area: Area { x: LEFT, y: TOP, width: WIDTH - LEFT - 20.0, height: each * rows as f64 },
        x: Scale::new("time", "ns", [timeline.from as f64, timeline.to as f64], Spacing::Linear),
        y: Scale::new("rank", "", [0.0, 1.0], Spacing::Linear),
    };
    let mut body = String::from(HALO);
    let _ = writeln!(body, "<text class=\"title\" x=\"14\" y=\"24\">{}</text>", xml(title, 150));
    legend(data, &mut body);
    body.push_str(&plot.axis_x());
    let mut paths = BTreeMap::<u32, String>::new();
    let mut numbers = String::new();
    // Names of rows that would touch are left out evenly.
    let every = (12.0 / each).ceil().max(1.0) as usize;
    for (at, row) in timeline.rows.iter().enumerate() {
        let top = TOP + each * at as f64;
        if at % every == 0 {
            let _ = writeln!(
                body,
                "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                top + each / 2.0 + 3.5,
                xml(&row.name, 9)
            );
        }
        let _ = writeln!(
            body,
            "<path class=\"rowline\" d=\"M{LEFT:.1} {:.1}h{:.1}\"/>",
            top + each - 0.5,
            plot.area.width
        );
        for span in &row.spans {
            let (x, to) = (plot.px(span.begin as f64), plot.px(span.end as f64));
            let width = (to - x).max(0.5);
            let bar = (each - 2.0) * part(span.cluster);
            let _ = write!(
                paths.entry(span.cluster).or_default(),
                "M{x:.1} {:.1}h{width:.1}v{bar:.1}h-{width:.1}z",
                top + each - 1.0 - bar
            );
            if width >= NUMBERED && each >= 11.0 && span.cluster > 0 && span.bursts == 1 {
                let _ = writeln!(
                    numbers,
                    "<text class=\"halo\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                    x + width / 2.0,
                    top + each / 2.0 + 3.5,
                    span.cluster
                );
            }
        }
    }
    for (cluster, path) in paths {
        let tip = match data.clusters.iter().find(|row| row.id == cluster) {
            Some(row) => format!(
                "Cluster {cluster}: {} of the time, {} bursts{}",
                percent(row.time_share),
                row.points,
                row.mean_duration_ns
                    .map_or_else(String::new, |mean| format!(", mean {}", si(mean, "ns")))
            ),
            None => "noise".to_owned(),
        };
        let _ = writeln!(
            body,
            "<path class=\"{}\" d=\"{path}\"><title>{}</title></path>",
            class(cluster),
            xml(&tip, 200)
        );
    }
    body.push_str(&numbers);
    let _ = writeln!(
        body,
        "<text class=\"dim\" x=\"14\" y=\"{:.0}\">{}</text>",
        height - 10.0,
        xml(&foot(data), 220)
    );
    document((WIDTH, height), &format!("clusters over time: {title}"), &body)
}

/// The height of a cluster's bars: full for the first eight, then less, as colours repeat.
fn part(cluster: u32) -> f64 {
    match cluster.saturating_sub(1) / 8 {
        0 => 1.0,
        1 => 0.66,
        _ => 0.4,
    }
}

fn foot(data: &ClusterData) -> String {
    let timeline = &data.timeline;
    let rows = timeline.rows.len() as u64;
    let ranks = if rows < timeline.ranks {
        format!(
            "{} ranks in {rows} rows, each with the bursts of the first of its ranks",
            timeline.ranks
        )
    } else {
        format!("{rows} rank{}", if rows == 1 { "" } else { "s" })
    };
    let many = timeline.rows.iter().flat_map(|row| &row.spans).any(|span| span.bursts != 1);
    let many = if many {
        "; short bursts side by side are one bar of the cluster with most of it"
    } else {
        ""
    };
    format!("{ranks}{many}; what is empty is not computation, or was left out")
}

fn legend(data: &ClusterData, body: &mut String) {
    let mut x = LEFT;
    let shown = data.clusters.iter().map(|row| (row.id, percent(row.time_share)));
    let noise = (data.noise > 0).then(|| (0, percent(data.noise_time_share)));
    for (id, share) in shown.take(9).chain(noise) {
        let name = if id == 0 { format!("noise {share}") } else { format!("{id}: {share}") };
        let bar = 10.0 * part(id);
        let _ = writeln!(
            body,
            "<rect class=\"{}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"10\" height=\"{bar:.1}\"/><text class=\"tick\" x=\"{:.1}\" y=\"48\">{name}</text>",
            class(id),
            49.0 - bar,
            x + 14.0
        );
        x += 24.0 + 6.6 * name.chars().count() as f64 + 8.0;
    }
    let more = data.clusters.len().saturating_sub(9);
    if more > 0 {
        let _ = writeln!(body, "<text class=\"tick\" x=\"{x:.1}\" y=\"48\">and {more} more</text>");
    }
}
