//! The folded call stack below folded curves: routines as a strip, and their lines as a scatter, on
//! the curves' x.
//!
//! Owns the colours of routines, by falling time in the region, and the fitting of text. A stretch
//! in which routines take turns is hatched.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::data::folded::{FoldedGroup, FoldedRun};
use crate::plot::{CATEGORIES, category};
use crate::text::xml;

/// Height of strip and scatter with their names.
pub(crate) const STRIP: f64 = 132.0;
/// Height of the strip.
const HEIGHT: f64 = 20.0;
/// Height of the scatter of lines.
const LINES: f64 = 64.0;
/// Width of a letter.
const LETTER: f64 = 6.2;

/// The class of each routine; grey for those beyond the available colours.
pub(crate) fn palette(group: &FoldedGroup) -> BTreeMap<String, String> {
    let mut sums = BTreeMap::<&str, f64>::new();
    for run in &group.stack {
        if let Some(name) = &run.routine {
            *sums.entry(name).or_default() += run.to - run.from;
        }
    }
    for line in &group.lines {
        if let Some(name) = &line.routine {
            // Routines that only take turns come after those with a stretch of their own.
            *sums.entry(name).or_default() += 1e-3 * (line.to - line.from);
        }
    }
    let mut names: Vec<(&str, f64)> = sums.into_iter().collect();
    names.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let class = |at: usize| if at < CATEGORIES.len() { category(at) } else { "noise".to_owned() };
    names.into_iter().enumerate().map(|(at, (name, _))| (name.to_owned(), class(at))).collect()
}

/// Strip and scatter at `x` and `y`, `width` wide.
pub(crate) fn draw(
    group: &FoldedGroup,
    palette: &BTreeMap<String, String>,
    (x, y, width): (f64, f64, f64),
) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">routine</text>",
        x - 6.0,
        y + 14.0
    );
    for run in &group.stack {
        out.push_str(&stretch(run, palette, (x, y, width)));
    }
    if group.lines.iter().any(|line| line.line.is_some()) {
        out.push_str(&scatter(group, palette, (x, y + HEIGHT + 10.0, width)));
    }
    out
}

fn stretch(
    run: &FoldedRun,
    palette: &BTreeMap<String, String>,
    (x, y, width): (f64, f64, f64),
) -> String {
    let (from, wide) = (x + width * run.from, width * (run.to - run.from));
    let name = run.routine.clone().unwrap_or_else(|| format!("turns: {}", run.mixed.join(", ")));
    let class = run.routine.as_ref().and_then(|name| palette.get(name));
    let lines: Vec<String> =
        run.lines.iter().map(|line| format!("{} {:.0} %", line.name, 100.0 * line.share)).collect();
    let tip = format!(
        "{name}: {:.1} % to {:.1} %, {} samples, {:.0} % of them its own{}{}",
        100.0 * run.from,
        100.0 * run.to,
        run.samples,
        100.0 * run.purity,
        if lines.is_empty() { "" } else { "; lines " },
        lines.join(", ")
    );
    let fill = class
        .map_or_else(|| "class=\"turns\"".to_owned(), |class| format!("class=\"run {class}\""));
    let mut out = format!(
        "<rect {fill} x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{HEIGHT}\"><title>{}</title></rect>",
        (wide - 0.6).max(0.4),
        xml(&tip, 400)
    );
    let fits = (wide / LETTER) as usize;
    if fits >= 4 {
        // The last part of a qualified name is the most informative.
        let short = name.rsplit("::").next().unwrap_or(&name);
        let text = if name.chars().count() <= fits { &name } else { short };
        let class = if class.is_some() { "inside" } else { "outside" };
        let _ = write!(
            out,
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            from + 4.0,
            y + 14.0,
            xml(text, fits.saturating_sub(1))
        );
    }
    out.push('\n');
    out
}

/// Each part of the region at its most frequent line; files are bands one below the other where
/// there are several.
fn scatter(
    group: &FoldedGroup,
    palette: &BTreeMap<String, String>,
    (x, y, width): (f64, f64, f64),
) -> String {
    let lines = || group.lines.iter().filter_map(|one| Some((one, one.line?)));
    // Only lines of one file compare with each other: each file has its part of the height, by the
    // range of its lines.
    let mut files = BTreeMap::<&str, (u32, u32)>::new();
    for (one, line) in lines() {
        let span = files.entry(one.file.as_deref().unwrap_or_default()).or_insert((line, line));
        *span = (span.0.min(line), span.1.max(line));
    }
    let room = LINES / files.len().max(1) as f64;
    let places: BTreeMap<&str, (usize, (u32, u32))> =
        files.into_iter().enumerate().map(|(at, (file, span))| (file, (at, span))).collect();
    let mut out = String::new();
    for (at, (file, (_, span))) in places.iter().enumerate() {
        let top = y + at as f64 * room;
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{x:.1} {top:.1}h{width:.1}\"/><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\">{}</text>",
            x - 5.0,
            top + 9.0,
            span.0
        );
        if span.1 > span.0 && room > 22.0 {
            let _ = write!(
                out,
                "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                x - 5.0,
                top + room - 2.0,
                span.1
            );
        }
        if room > 10.0 {
            let _ = write!(
                out,
                "<text class=\"tick outside\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                x + width - 3.0,
                top + 10.0,
                xml(file, 40)
            );
        }
    }
    let _ = writeln!(out, "<path class=\"grid\" d=\"M{x:.1} {:.1}h{width:.1}\"/>", y + LINES);
    for (one, line) in lines() {
        let Some(&(at, span)) = places.get(one.file.as_deref().unwrap_or_default()) else {
            continue;
        };
        let part = f64::from(line - span.0) / f64::from((span.1 - span.0).max(1));
        let inner = (room - 7.0).max(1.0);
        let down = y + at as f64 * room + 3.5 + inner * part;
        let class = one.routine.as_ref().and_then(|name| palette.get(name));
        let tip = format!(
            "{:.1} %: {} {}:{line}, {:.0} % of {} samples",
            100.0 * one.from,
            one.routine.as_deref().unwrap_or("?"),
            one.file.as_deref().unwrap_or("line"),
            100.0 * one.share,
            one.samples
        );
        let _ = writeln!(
            out,
            "<rect class=\"{}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"2.6\"><title>{}</title></rect>",
            class.map_or("noise", String::as_str),
            x + width * one.from,
            down - 1.3,
            (width * (one.to - one.from)).max(1.5),
            xml(&tip, 200)
        );
    }
    out
}
