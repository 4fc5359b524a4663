//! The page of a folded region: findings, pictures, tables, gaps, in one file without requests.
//!
//! Owns the frame and the tables. The page has no program: elements under the pointer show their
//! value by themselves, and light or dark follows the reader's system.

use std::fmt::Write;

use talea_model::Nanos;
use talea_model::units::{si, three_digits};

use crate::data::folded::{FoldedData, FoldedGroup};
use crate::fold_svg::fold_svg;
use crate::text::xml;

/// Maximum length of the text in a cell.
const LONGEST: usize = 200;

const STYLE: &str = "\
:root{color-scheme:light dark;--paper:#fff;--ink:#1b2128;--dim:#59636e;--line:#e3e7eb;--soft:#f5f7f9;--warn:#a15c00}
@media (prefers-color-scheme:dark){:root{--paper:#14181d;--ink:#e4e8ec;--dim:#9aa5b1;--line:#2b333c;--soft:#1b2128;--warn:#f2b134}}
body{margin:0;background:var(--paper);color:var(--ink);font:14px/1.5 ui-sans-serif,system-ui,sans-serif}
main{max-width:1240px;margin:0 auto;padding:14px 16px 40px}
header{display:flex;gap:14px;align-items:baseline;border-bottom:1px solid var(--line);padding-bottom:8px}
header b{font-size:16px}header span{color:var(--dim);overflow-wrap:anywhere}
.findings{margin:12px 0 4px;padding:0;list-style:none;max-width:100ch}.findings li{margin:3px 0}.findings li:first-child{font-weight:600}
.gaps{color:var(--warn);border-left:3px dashed var(--warn);padding:2px 0 2px 10px;margin:10px 0;font-size:13px}
.gaps summary{cursor:pointer}.gaps ul{margin:4px 0;padding-left:18px}
.picture{overflow-x:auto;margin:10px 0}.picture svg{max-width:none;display:block}
h2{font-size:14px;margin:22px 0 6px}
table{border-collapse:collapse;font-size:13px}th{text-align:left;color:var(--dim);font-weight:500}
th,td{padding:3px 14px 3px 0;border-bottom:1px solid var(--line);vertical-align:top}
td.n,th.n{text-align:right;font-family:ui-monospace,monospace;font-variant-numeric:tabular-nums;white-space:nowrap}
code{font-family:ui-monospace,monospace}.scroll{overflow-x:auto}footer{color:var(--dim);font-size:13px;margin-top:26px;max-width:100ch}
";

/// The page as HTML.
pub fn fold_html(data: &FoldedData) -> String {
    let title = xml(&format!("{} folded", data.region.name), 120);
    let inputs = xml(&data.names.join(", "), 300);
    let mut body = format!(
        "<header><b>{}</b><span>folded by talea · {inputs}</span></header>\n<ul class=\"findings\">\n",
        xml(&data.region.name, LONGEST)
    );
    for finding in &data.findings {
        let _ = writeln!(body, "<li>{}</li>", xml(finding, 500));
    }
    body.push_str("</ul>\n");
    body.push_str(&gaps(data));
    let _ = write!(body, "<div class=\"picture\">\n{}</div>\n", fold_svg(data));
    body.push_str(&counters(&data.all, data.scored));
    body.push_str(&models(&data.all));
    body.push_str(&stack(&data.all));
    body.push_str(&parts(data));
    body.push_str(&differences(data));
    let held = if data.scored {
        "held-out: root mean square error of the rate in equal parts of the region, in mean rates, fitted on half of the instances and compared with \
         what the others counted directly; in band: share of those parts in which that lies in the 95 % band"
    } else {
        "held-out: root mean square error of the rate in equal parts of the region, in mean rates, fitted on one half of the instances and \
         compared with what the other half counted directly"
    };
    let _ = writeln!(
        body,
        "<footer>{held}. Values of all curves: <code>talea fold --csv FILE</code>.</footer>"
    );
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         img-src data:; base-uri 'none'; form-action 'none'\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title} · talea</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )
}

fn gaps(data: &FoldedData) -> String {
    let count = data.gaps.iter().count();
    if count == 0 {
        return "<p class=\"gaps\" style=\"color:var(--dim);border-color:var(--line)\">gaps: none</p>\n".to_owned();
    }
    let mut out = format!(
        "<details class=\"gaps\"{}><summary>gaps: {count}</summary><ul>\n",
        if count <= 4 { " open" } else { "" }
    );
    for gap in &data.gaps {
        let _ = writeln!(out, "<li>{}</li>", xml(&gap.detail, 500));
    }
    out.push_str("</ul></details>\n");
    out
}

fn percent(value: Option<f64>) -> String {
    value
        .filter(|value| value.is_finite())
        .map_or_else(|| "–".to_owned(), |value| format!("{:.2} %", 100.0 * value))
}

/// A table; cells of columns whose head begins with `#` are numbers.
fn table(title: &str, heads: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let class = |head: &str| if head.starts_with('#') { " class=\"n\"" } else { "" };
    let mut out = format!("<h2>{title}</h2>\n<div class=\"scroll\"><table><thead><tr>");
    for head in heads {
        let _ = write!(out, "<th{}>{}</th>", class(head), head.trim_start_matches('#'));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (cell, head) in row.iter().zip(heads) {
            let _ = write!(out, "<td{}>{}</td>", class(head), xml(cell, LONGEST));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}

fn counters(group: &FoldedGroup, scored: bool) -> String {
    let rows: Vec<Vec<String>> = group
        .counters
        .iter()
        .map(|one| {
            let jumps: Vec<String> = one
                .jumps
                .iter()
                .map(|jump| format!("{:.1} %: {}", 100.0 * jump.at, si(jump.height, &one.unit)))
                .collect();
            vec![
                one.name.clone(),
                one.samples.to_string(),
                one.instances.to_string(),
                si(one.mean_total, ""),
                si(one.mean_rate, &one.unit),
                percent(one.error_held_out),
                if scored { percent(one.band_coverage) } else { percent(one.error_estimated) },
                format!("{:.1e}", one.smoothing),
                if jumps.is_empty() { "none".to_owned() } else { jumps.join("; ") },
            ]
        })
        .collect();
    let sixth = if scored { "#in band" } else { "#error at a place" };
    table(
        "Counters",
        &[
            "counter",
            "#samples",
            "#instances",
            "#count each",
            "#mean rate",
            "#held-out",
            sixth,
            "#smoothing",
            "jumps",
        ],
        &rows,
    )
}

fn models(group: &FoldedGroup) -> String {
    let rows: Vec<Vec<String>> = group
        .models
        .iter()
        .map(|one| {
            let finite = || one.curve.value.iter().copied().filter(|value| value.is_finite());
            let text = |value: f64| {
                if value.is_finite() { three_digits(value) } else { "–".to_owned() }
            };
            vec![
                one.name.clone(),
                one.expression.clone(),
                text(one.mean),
                text(finite().fold(f64::INFINITY, f64::min)),
                text(finite().fold(f64::NEG_INFINITY, f64::max)),
                one.unit.clone(),
            ]
        })
        .collect();
    table(
        "Models",
        &["model", "expression of rates a second", "#mean", "#least", "#most", "unit"],
        &rows,
    )
}

fn stack(group: &FoldedGroup) -> String {
    let rows: Vec<Vec<String>> = group
        .stack
        .iter()
        .map(|run| {
            let lines: Vec<String> = run
                .lines
                .iter()
                .map(|line| format!("{} {:.0} %", line.name, 100.0 * line.share))
                .collect();
            let time = (run.to - run.from) * group.mean_ns.0 as f64;
            vec![
                run.routine
                    .clone()
                    .unwrap_or_else(|| format!("in turns: {}", run.mixed.join(", "))),
                format!("{:.1} %", 100.0 * run.from),
                format!("{:.1} %", 100.0 * run.to),
                Nanos(time as u64).to_string(),
                run.samples.to_string(),
                format!("{:.0} %", 100.0 * run.purity),
                lines.join(", "),
            ]
        })
        .collect();
    table(
        "Call stack",
        &["routine", "#from", "#to", "#time", "#samples", "#its own", "lines"],
        &rows,
    )
}

fn parts(data: &FoldedData) -> String {
    let rows: Vec<Vec<String>> = data
        .parts
        .iter()
        .map(|part| {
            let first = part.counters.first();
            vec![
                part.name.clone(),
                part.folded.to_string(),
                part.mean_ns.to_string(),
                percent(Some(part.spread)),
                first.map_or_else(
                    || "–".to_owned(),
                    |one| format!("{} {}", one.name, si(one.mean_rate, &one.unit)),
                ),
            ]
        })
        .collect();
    table("Parts", &["part", "#instances", "#duration", "#spread", "mean rate"], &rows)
}

fn differences(data: &FoldedData) -> String {
    let rows: Vec<Vec<String>> = data
        .differences
        .iter()
        .map(|one| {
            vec![
                one.counter.clone(),
                format!("{:.1} %", 100.0 * one.from),
                format!("{:.1} %", 100.0 * one.to),
                one.lowest.clone(),
                one.highest.clone(),
                format!("{:.1} %", 100.0 * one.difference),
            ]
        })
        .collect();
    table(
        "Where parts differ by more than chance",
        &["counter", "#from", "#to", "lowest", "highest", "#by"],
        &rows,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::folded::{
        FoldedBand, FoldedCounter, FoldedCoverage, FoldedJump, FoldedLine, FoldedRegion, FoldedRun,
    };

    /// A region whose names are hostile and whose numbers are partly absent.
    fn sample(name: &str) -> FoldedData {
        let absent = f64::NAN;
        let band = FoldedBand {
            value: vec![1.0, 2.0, absent, 3.0],
            low: vec![0.5, absent, absent, 2.0],
            high: vec![1.5, absent, f64::INFINITY, 4.0],
        };
        let counter = FoldedCounter {
            name: name.to_owned(),
            samples: 9,
            instances: 3,
            mean_rate: 2.0,
            jumps: vec![FoldedJump { at: 0.5, within: absent, height: -1.0 }],
            rate: band.clone(),
            accumulated: band,
            points: vec![[0.2, 1.0], [0.4, absent], [0.6, 1e30]],
            ..FoldedCounter::default()
        };
        let run = |from, to, routine: Option<&str>| FoldedRun {
            from,
            to,
            routine: routine.map(str::to_owned),
            mixed: vec![name.to_owned()],
            ..FoldedRun::default()
        };
        let line = |from, to, line| FoldedLine {
            from,
            to,
            routine: Some(name.to_owned()),
            line,
            file: Some(name.to_owned()),
            share: 0.5,
            samples: 4,
        };
        let all = FoldedGroup {
            name: name.to_owned(),
            mean_ns: Nanos(1_000),
            spread: absent,
            coverage: FoldedCoverage {
                samples: 9,
                hole_at: 0.2,
                hole: 0.5,
                ..FoldedCoverage::default()
            },
            counters: vec![counter],
            stack: vec![run(0.0, 0.5, Some(name)), run(0.5, 1.0, None)],
            lines: vec![
                line(0.0, 0.5, Some(u32::MAX)),
                line(0.5, 1.0, Some(1)),
                line(0.9, 1.0, None),
            ],
            ..FoldedGroup::default()
        };
        FoldedData {
            region: FoldedRegion { name: name.to_owned(), ..FoldedRegion::default() },
            findings: vec![name.to_owned()],
            parts: vec![all.clone(), FoldedGroup::default()],
            all,
            ..FoldedData::default()
        }
    }

    #[test]
    fn names_are_harmless_and_absent_numbers_are_not_drawn() {
        let data = sample("</title><script>alert(1)</script>");
        for text in [fold_html(&data), fold_svg(&data)] {
            assert!(!text.contains("<script") && text.contains("&lt;script&gt;"));
            let coordinates = ["=\"NaN", "=\"inf", "MNaN", "LNaN", " NaN\""];
            assert!(coordinates.iter().all(|wrong| !text.contains(wrong)), "{text}");
        }
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let page = fold_html(&FoldedData::default());
        assert!(page.contains("gaps: none") && page.ends_with("</html>\n"));
    }

    #[test]
    fn curves_and_call_stack_share_their_axis() {
        let picture = fold_svg(&sample("f"));
        // The first panel's grid begins where the strip's first routine does: 62 pixels from the
        // left.
        assert!(picture.contains("<path class=\"grid\" d=\"M62.0 "), "{picture}");
        assert!(picture.contains("<rect class=\"run c0\" x=\"62.0\""), "{picture}");
        // Each ends at the same place: half of the area's width after half of the region.
        assert!(picture.contains("<rect class=\"turns\" x=\"631.0\""), "{picture}");
    }
}
