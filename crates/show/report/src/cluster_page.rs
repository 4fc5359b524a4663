//! Pages of clusters and of tracking: findings, gaps, pictures, tables. No program: hovering names
//! the marks.
//!
//! Owns the markup. External text is escaped; the page requests nothing and runs nothing.

use std::fmt::Write;

use talea_model::Gaps;

use crate::cluster_marks::{class, mark, number, percent, score};
use crate::cluster_svg::{self, place};
use crate::cluster_timeline_svg;
use crate::data::clusters::{ClusterData, DimensionData, TrackData};
use crate::text::xml;
use crate::track_svg;

const STYLE: &str = "\
:root{color-scheme:light dark;--paper:#fff;--ink:#1b2128;--dim:#59636e;--line:#e3e7eb;--gap:#fff6e0}
@media (prefers-color-scheme:dark){:root{--paper:#14181d;--ink:#e4e8ec;--dim:#9aa5b1;--line:#2b333c;--gap:#2c2619}}
body{margin:0 auto;padding:18px 20px 40px;max-width:1240px;background:var(--paper);color:var(--ink);font:14px/1.5 ui-sans-serif,system-ui,sans-serif}
h1{font-size:17px;margin:0 0 2px}h2{font-size:14px;margin:26px 0 6px}p{margin:4px 0}.dim{color:var(--dim)}
ul{margin:10px 0;padding-left:20px}li:first-child{font-weight:600}svg.plot{display:block;max-width:100%;height:auto}
.gaps{background:repeating-linear-gradient(135deg,var(--gap) 0 8px,transparent 8px 14px);padding:6px 10px;margin:10px 0}
.wide{overflow-x:auto}table{border-collapse:collapse;font:12.5px ui-monospace,monospace;font-variant-numeric:tabular-nums}
th,td{padding:3px 10px 3px 0;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}th{color:var(--dim);font-weight:400}
td.text,th.text{text-align:left}summary{cursor:pointer;margin:14px 0 6px}
";

fn page(title: &str, facts: &str, findings: &[String], gaps: &Gaps, body: &str) -> String {
    let mut said = String::new();
    for finding in findings {
        let _ = writeln!(said, "<li>{}</li>", xml(finding, 400));
    }
    let mut lost = String::new();
    for gap in gaps {
        let _ = writeln!(lost, "<div>{}</div>", xml(&gap.detail, 400));
    }
    if !lost.is_empty() {
        lost = format!("<div class=\"gaps\">{lost}</div>\n");
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
         base-uri 'none'; form-action 'none'\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title} \u{b7} talea</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>{title}</h1>\n<p class=\"dim\">{facts}</p>\n{lost}<ul>\n{said}</ul>\n{body}</body>\n</html>\n",
        title = xml(title, 120),
        facts = xml(facts, 400),
    )
}

fn optional(value: Option<f64>, unit: &str) -> String {
    value.map_or_else(|| "-".to_owned(), |value| number(value, unit))
}

fn swatch(cluster: u32) -> String {
    let mut path = String::new();
    mark(&mut path, cluster, (7.0, 7.0), 5.0);
    format!(
        "<svg class=\"plot\" width=\"14\" height=\"14\" style=\"display:inline-block;vertical-align:-2px\"><path class=\"{}\" d=\"{path}\"/></svg>",
        class(cluster)
    )
}

fn ranks(count: u64) -> String {
    if count == 1 { "1 rank".to_owned() } else { format!("{count} ranks") }
}

fn compared(dimensions: &[DimensionData]) -> String {
    let one = |one: &DimensionData| {
        format!("{}{}", one.name, if one.logarithmic { " (log)" } else { "" })
    };
    dimensions.iter().map(one).collect::<Vec<_>>().join(" \u{d7} ")
}

fn cell(out: &mut String, class: &str, text: &str) {
    let _ = write!(out, "<td{class}>{}</td>", xml(text, 120));
}

/// The clusters of one input as one self-contained HTML document.
pub fn cluster_html(data: &ClusterData) -> String {
    let heading = format!("Each mark is a burst: {}", compared(&data.dimensions));
    let mut body = cluster_svg::draw(data, &heading);
    if !data.timeline.rows.is_empty() {
        body.push_str(&cluster_timeline_svg::draw(data, "Each row is a rank over time"));
    }
    body.push_str("<h2>Clusters</h2>\n<div class=\"wide\"><table>\n<tr><th class=\"text\">cluster</th><th>bursts</th><th>ranks</th><th>time</th><th>mean</th><th>median</th>");
    for one in &data.dimensions {
        let _ = write!(body, "<th>{}</th>", xml(&one.name, 40));
    }
    let ipc = !data.dimensions.iter().any(|one| one.name == "IPC");
    body.push_str(if ipc { "<th>IPC</th>" } else { "" });
    body.push_str("<th>MIPS</th><th>SPMD</th><th class=\"text\">where</th></tr>\n");
    for row in &data.clusters {
        let _ = write!(body, "<tr><td class=\"text\">{} {}</td>", swatch(row.id), row.id);
        for text in [row.points.to_string(), row.ranks.to_string(), percent(row.time_share)] {
            cell(&mut body, "", &text);
        }
        cell(&mut body, "", &optional(row.mean_duration_ns, "ns"));
        cell(&mut body, "", &optional(row.median_duration_ns, "ns"));
        for (one, value) in data.dimensions.iter().zip(&row.centroid) {
            cell(&mut body, "", &number(*value, &one.unit));
        }
        let fixed = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".to_owned(), |v| format!("{v:.digits$}"))
        };
        if ipc {
            cell(&mut body, "", &fixed(row.ipc, 2));
        }
        cell(&mut body, "", &fixed(row.mips, 0));
        cell(&mut body, "", &score(row.spmd_score));
        cell(&mut body, " class=\"text\"", &row.site.as_ref().map(place).unwrap_or_default());
        body.push_str("</tr>\n");
    }
    if data.noise > 0 {
        let _ = writeln!(
            body,
            "<tr><td class=\"text\">{} noise</td><td>{}</td><td></td><td>{}</td></tr>",
            swatch(0),
            data.noise,
            percent(data.noise_time_share)
        );
    }
    body.push_str("</table></div>\n");
    counters(data, &mut body);
    left_out(data, &mut body);
    let facts = format!(
        "{} bursts on {}, {} clustered by {}{}, {} points to a core, {}",
        data.bursts,
        ranks(data.ranks),
        data.points,
        compared(&data.dimensions),
        if data.edges.is_some() { " and the calls at both ends" } else { "" },
        data.min_points,
        data.eps.map_or_else(
            || "eps of each cluster's own".to_owned(),
            |eps| format!("eps {eps:.4} ({})", data.eps_from)
        )
    );
    page(&format!("clusters of {}", data.name), &facts, &data.findings, &data.gaps, &body)
}

fn counters(data: &ClusterData, body: &mut String) {
    let Some(first) = data.clusters.first().filter(|row| !row.counters.is_empty()) else { return };
    body.push_str("<details><summary>Counters: mean of a burst, and how many bursts have it</summary>\n<div class=\"wide\"><table>\n<tr><th class=\"text\">counter</th>");
    for row in data.clusters.iter().take(12) {
        let _ = write!(body, "<th>{} {}</th>", swatch(row.id), row.id);
    }
    body.push_str("</tr>\n");
    for (at, counter) in first.counters.iter().enumerate() {
        let _ = write!(body, "<tr><td class=\"text\">{}</td>", xml(&counter.name, 80));
        for one in data.clusters.iter().take(12).map(|row| row.counters.get(at)) {
            let text = one.and_then(|one| Some((one.mean?, one.measured)));
            cell(
                body,
                "",
                &text.map_or_else(
                    || "-".to_owned(),
                    |(mean, n)| format!("{} ({n})", number(mean, "")),
                ),
            );
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</table></div></details>\n");
}

fn left_out(data: &ClusterData, body: &mut String) {
    if data.left_out.is_empty() && data.tried.is_empty() {
        return;
    }
    body.push_str("<details><summary>How clusters were found</summary>\n");
    for one in &data.left_out {
        let _ = writeln!(
            body,
            "<p>{} bursts, {} of the time, were left out: {}</p>",
            one.bursts,
            percent(one.time_share),
            xml(&one.reason, 200)
        );
    }
    if !data.tried.is_empty() {
        body.push_str("<table>\n<tr><th>eps</th><th>clusters</th><th>noise</th><th>time in clusters</th><th>SPMD</th></tr>\n");
        for one in &data.tried {
            let noise = one.noise.map_or_else(|| "-".to_owned(), |noise| noise.to_string());
            let score = score(one.spmd_score);
            let _ = writeln!(
                body,
                "<tr><td>{:.4}</td><td>{}</td><td>{noise}</td><td>{}</td><td>{score}</td></tr>",
                one.eps,
                one.clusters,
                percent(one.time_share)
            );
        }
        body.push_str("</table>\n");
    }
    body.push_str("</details>\n");
}

/// Tracked clusters as one self-contained HTML document.
pub fn track_html(data: &TrackData) -> String {
    let mut body = track_svg::draw(data, "Each kind of computation from frame to frame");
    body.push_str("<h2>Objects</h2>\n<div class=\"wide\"><table>\n<tr><th class=\"text\">object</th><th class=\"text\">frame</th><th>clusters</th><th>bursts</th><th>time</th><th>share</th><th>mean</th>");
    for one in &data.dimensions {
        let _ = write!(body, "<th>{}</th>", xml(&one.name, 40));
    }
    let ipc = !data.dimensions.iter().any(|one| one.name == "IPC");
    body.push_str(if ipc { "<th>IPC</th>" } else { "" });
    body.push_str("<th>instructions</th><th>SPMD</th><th class=\"text\">where</th></tr>\n");
    for object in &data.objects {
        for (frame, one) in data.frames.iter().zip(&object.frames) {
            let Some(one) = one else { continue };
            let clusters: Vec<String> = one.clusters.iter().map(ToString::to_string).collect();
            let _ = write!(body, "<tr><td class=\"text\">{} {}</td>", swatch(object.id), object.id);
            cell(&mut body, " class=\"text\"", &frame.name);
            for text in [
                clusters.join(" "),
                one.points.to_string(),
                number(one.time_ns, "ns"),
                percent(one.time_share),
                optional(one.mean_duration_ns, "ns"),
            ] {
                cell(&mut body, "", &text);
            }
            for (dimension, value) in data.dimensions.iter().zip(&one.centroid) {
                cell(&mut body, "", &number(*value, &dimension.unit));
            }
            if ipc {
                cell(
                    &mut body,
                    "",
                    &one.ipc.map_or_else(|| "-".to_owned(), |ipc| format!("{ipc:.2}")),
                );
            }
            cell(&mut body, "", &optional(one.instructions, ""));
            cell(&mut body, "", &score(one.spmd_score));
            cell(
                &mut body,
                " class=\"text\"",
                &object.site.as_ref().map(place).unwrap_or_default(),
            );
            body.push_str("</tr>\n");
        }
    }
    body.push_str("</table></div>\n<h2>Frames</h2>\n<div class=\"wide\"><table>\n<tr><th class=\"text\">frame</th><th>ranks</th><th>bursts</th><th>points</th><th>clusters</th><th>noise</th><th>matched with the frame before</th><th>equivalent in a row</th></tr>\n");
    for frame in &data.frames {
        let matched = frame.matched.map_or_else(
            || "-".to_owned(),
            |[before, after]| format!("{} and {}", percent(before), percent(after)),
        );
        let _ = write!(body, "<tr>");
        cell(&mut body, " class=\"text\"", &frame.name);
        for text in [frame.ranks, frame.bursts, frame.points, frame.clusters, frame.noise]
            .map(|n| n.to_string())
        {
            cell(&mut body, "", &text);
        }
        cell(&mut body, "", &matched);
        cell(
            &mut body,
            "",
            &format!("{}{}", frame.in_a_row, if frame.is_stable { ", stable" } else { "" }),
        );
        body.push_str("</tr>\n");
    }
    body.push_str("</table></div>\n");
    let names: Vec<&str> = data.frames.iter().map(|frame| frame.name.as_str()).take(6).collect();
    let facts = format!(
        "{} {}, compared by {}{}",
        data.frames.len(),
        data.of,
        compared(&data.dimensions),
        if data.per_task { ", counts times ranks" } else { "" }
    );
    page(&format!("clusters over {}", names.join(", ")), &facts, &data.findings, &data.gaps, &body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::clusters::{
        ClusterRow, ClusterRowTimeline, ClusterSite, ClusterSpan, ClusterTimeline, CounterData,
        FrameData, ObjectData, ObjectFrame, ScatterData, ScatterMark,
    };

    const EVIL: &str = "</style><script>alert(1)</script>";

    fn dimension(name: &str, logarithmic: bool) -> DimensionData {
        DimensionData {
            name: name.into(),
            expression: name.into(),
            logarithmic,
            factor: 1.0,
            ..DimensionData::default()
        }
    }

    fn row(id: u32) -> ClusterRow {
        let site = ClusterSite { function: EVIL.into(), line: "a.c:1".into(), share: 1.0 };
        let counter = CounterData { name: EVIL.into(), ..CounterData::default() };
        ClusterRow {
            id,
            points: 3,
            centroid: vec![10.0, f64::NAN],
            mean_duration_ns: Some(1e6),
            site: Some(site),
            counters: vec![counter],
            ..ClusterRow::default()
        }
    }

    fn data(clusters: u32) -> ClusterData {
        let mark = |n: u32| ScatterMark {
            x: f64::from(n),
            y: f64::from(n % 7),
            points: 1 + u64::from(n),
            cluster: n,
        };
        let span = |n: u32| ClusterSpan {
            begin: u64::from(n) * 100,
            end: u64::from(n) * 100 + 90,
            cluster: n,
            bursts: 1,
        };
        ClusterData {
            input: EVIL.into(),
            name: EVIL.into(),
            dimensions: vec![dimension(EVIL, true), dimension("IPC", false)],
            clusters: (1..=clusters).map(row).collect(),
            noise: 1,
            scatter: ScatterData {
                axes: vec![0, 1],
                marks: (0..=clusters).map(mark).collect(),
                points: 99,
            },
            timeline: ClusterTimeline {
                from: 0,
                to: 100 * u64::from(clusters),
                rows: vec![ClusterRowTimeline {
                    name: EVIL.into(),
                    spans: (0..clusters).map(span).collect(),
                }],
                ranks: 4,
            },
            findings: vec![EVIL.into()],
            ..ClusterData::default()
        }
    }

    fn is_whole(text: &str) {
        assert!(
            !text.contains("<script") && !text.contains("NaN") && !text.contains("inf "),
            "{text}"
        );
        let count = |what: &str| text.matches(what).count();
        assert_eq!((count("<svg"), count("<g>")), (count("</svg>"), count("</g>")));
    }

    #[test]
    fn nothing_from_outside_becomes_markup_and_nothing_is_not_a_number() {
        for clusters in [0, 1, 3, 40] {
            let data = data(clusters);
            let page = cluster_html(&data);
            is_whole(&page);
            assert!(clusters == 0 || page.contains("a.c:1"));
            assert_eq!(page.contains("and 18 more clusters"), clusters == 40);
        }
        is_whole(&cluster_html(&ClusterData::default()));
        // One dimension over time.
        let mut one = data(2);
        one.dimensions.truncate(1);
        one.scatter.axes.truncate(1);
        is_whole(&cluster_html(&one));
    }

    #[test]
    fn trajectories_break_where_an_object_is_missing() {
        let frame = |share| ObjectFrame {
            centroid: vec![1e6, 1.5],
            time_share: Some(share),
            mean_duration_ns: Some(1e6),
            ..ObjectFrame::default()
        };
        let named = |name: &str| FrameData { name: name.into(), ..FrameData::default() };
        let data = TrackData {
            dimensions: vec![dimension("instructions", true), dimension("IPC", false)],
            frames: vec![named("1"), named(EVIL), named("16"), named("64")],
            objects: vec![ObjectData {
                id: 1,
                site: None,
                joins: None,
                frames: vec![Some(frame(0.5)), None, Some(frame(0.4)), Some(frame(0.3))],
            }],
            ..TrackData::default()
        };
        let page = track_html(&data);
        is_whole(&page);
        let line = page.lines().find(|line| line.contains("class=\"line c0\"")).unwrap_or_default();
        let path =
            line.split("d=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 1), "{path}");
        is_whole(&track_html(&TrackData::default()));
    }
}
