//! Tracked clusters over runs or windows: the path of each in the space of its first two
//! dimensions, and its figures by frame.
//!
//! Owns the layout: the plane at the left, four small plots at the right. A frame in which an
//! object is missing breaks its line.

use std::fmt::Write;

use crate::cluster_marks::{self, HALO, class, mark, percent};
use crate::cluster_svg;
use crate::data::clusters::{ObjectFrame, TrackData};
use crate::plot::{Area, Plot, Scale, Spacing, document};
use crate::text::xml;

const WIDTH: f64 = 1240.0;
const HEIGHT: f64 = 640.0;
/// Maximum number of objects that are drawn.
const MOST: usize = 12;
/// Maximum number of frames whose names stand below a small plot.
const NAMES: usize = 6;

type Value = fn(&ObjectFrame) -> Option<f64>;

/// The figures at the right: name, unit, true if magnitudes are compared, value.
const FIGURES: [(&str, &str, bool, Value); 4] = [
    ("share of the frame's time", "%", false, |one| Some(100.0 * one.time_share?)),
    ("mean duration", "ns", true, |one| one.mean_duration_ns),
    ("instructions per cycle", "", false, |one| one.ipc),
    ("instructions, all ranks", "", true, |one| one.instructions),
];

/// The objects of a tracking as a picture of 1,240 by 640 pixels.
pub fn track_svg(data: &TrackData) -> String {
    let objects = || format!("{} objects", data.objects.len());
    draw(data, &data.findings.first().cloned().unwrap_or_else(objects))
}

/// The same under another title.
pub(crate) fn draw(data: &TrackData, title: &str) -> String {
    let mut body = String::from(HALO);
    let _ = writeln!(body, "<text class=\"title\" x=\"14\" y=\"24\">{}</text>", xml(title, 150));
    plane(data, &mut body);
    let has: Vec<_> = FIGURES
        .iter()
        .filter(|(.., value)| {
            data.objects
                .iter()
                .flat_map(|one| one.frames.iter().flatten())
                .any(|one| value(one).is_some())
        })
        .collect();
    for (at, figure) in has.iter().enumerate() {
        let (column, row) = ((at % 2) as f64, (at / 2) as f64);
        let area =
            Area { x: 676.0 + 290.0 * column, y: 74.0 + 268.0 * row, width: 222.0, height: 190.0 };
        small(data, figure, area, &mut body);
    }
    let names: Vec<String> = data
        .frames
        .iter()
        .enumerate()
        .take(8)
        .map(|(at, frame)| format!("{}: {}", at + 1, frame.name))
        .collect();
    let more = data.frames.len().saturating_sub(8);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let foot = format!(
        "frames {}{more}; a path goes from the first to the last, where the number of its object stands",
        names.join(", ")
    );
    let _ = writeln!(
        body,
        "<text class=\"dim\" x=\"14\" y=\"{:.0}\">{}</text>",
        HEIGHT - 10.0,
        xml(&foot, 200)
    );
    document((WIDTH, HEIGHT), title, &body)
}

fn plane(data: &TrackData, body: &mut String) {
    let at = |one: &ObjectFrame, at: usize| one.centroid.get(at).copied().unwrap_or(f64::NAN);
    let of = |axis: usize| -> Vec<f64> {
        let frames = data.objects.iter().take(MOST).flat_map(|one| one.frames.iter().flatten());
        frames.map(|one| at(one, axis)).collect()
    };
    let scale = |axis: usize| match data.dimensions.get(axis) {
        Some(one) => cluster_marks::axis(one, of(axis).into_iter()),
        None => Scale::new("", "", [0.0, 1.0], Spacing::Linear),
    };
    let area = Area { x: 66.0, y: 74.0, width: 540.0, height: 478.0 };
    let plot = Plot { area, x: scale(0), y: scale(1) };
    body.push_str(&plot.axes());
    let single = data.dimensions.len() < 2;
    for (place, object) in data.objects.iter().take(MOST).enumerate() {
        let id = place as u32 + 1;
        let (mut line, mut marks, mut last) = (String::new(), String::new(), None);
        let mut pen = 'M';
        for one in &object.frames {
            let Some(one) = one else {
                pen = 'M';
                continue;
            };
            // A single dimension has a row for each object.
            let y = if single {
                area.y + area.height * (place as f64 + 0.5) / data.objects.len().min(MOST) as f64
            } else {
                plot.py(at(one, 1))
            };
            let x = plot.px(at(one, 0));
            let _ = write!(line, "{pen}{x:.1} {y:.1}");
            pen = 'L';
            let r = 3.2 + 7.0 * one.time_share.unwrap_or(0.0).max(0.0).sqrt();
            mark(&mut marks, id, (x, y), r);
            last = Some((x, y, r));
        }
        let tip = tip(data, place);
        let _ = writeln!(
            body,
            "<g><title>{}</title><path class=\"line {}\" d=\"{line}\"/><path class=\"mk {}\" d=\"{marks}\"/></g>",
            xml(&tip, 400),
            class(id),
            class(id)
        );
        if let Some((x, y, r)) = last {
            let _ = writeln!(
                body,
                "<text class=\"halo\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{id}</text>",
                y - r - 4.0
            );
        }
    }
    let _ = writeln!(
        body,
        "<text class=\"name\" x=\"{}\" y=\"50\">each kind of computation: where it goes from frame to frame; size is its share of the time</text>",
        66.0
    );
}

fn tip(data: &TrackData, place: usize) -> String {
    let object = &data.objects[place];
    let mut out = format!("object {}", place + 1);
    if let Some(site) = &object.site {
        let _ = write!(out, ", {}", cluster_svg::place(site));
    }
    for (frame, one) in data.frames.iter().zip(&object.frames) {
        if let Some(one) = one {
            let _ = write!(out, "; {}: {}", frame.name, percent(one.time_share));
        }
    }
    out
}

fn small(
    data: &TrackData,
    &(name, unit, logarithmic, value): &(&str, &str, bool, Value),
    area: Area,
    body: &mut String,
) {
    let drawn = || data.objects.iter().take(MOST).enumerate();
    let values = drawn().flat_map(|(_, one)| one.frames.iter().flatten()).filter_map(value);
    let spacing = if logarithmic { Spacing::Logarithmic } else { Spacing::Linear };
    let y = if logarithmic {
        Scale::around(name, unit, values, spacing)
    } else {
        let scale = Scale::new(name, unit, [0.0, values.fold(0.0, f64::max) * 1.06], spacing);
        if unit.is_empty() { scale.plain() } else { scale }
    };
    let last = data.frames.len().saturating_sub(1).max(1) as f64;
    let x = Scale::new("frame", "", [-0.25, last + 0.25], Spacing::Linear);
    let plot = Plot { area, x, y };
    body.push_str(&plot.axis_y());
    let every = data.frames.len().div_ceil(NAMES).max(1);
    for (at, frame) in data.frames.iter().enumerate().filter(|(at, _)| at % every == 0) {
        let short: String = frame.name.chars().take(14).collect();
        let _ = writeln!(
            body,
            "<path class=\"grid\" d=\"M{x:.1} {:.1}v{:.1}\"/><text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            area.y,
            area.height,
            area.y + area.height + 14.0,
            xml(&short, 14),
            x = plot.px(at as f64)
        );
    }
    for (place, object) in drawn() {
        let id = place as u32 + 1;
        let (mut line, mut marks) = (String::new(), String::new());
        let mut pen = 'M';
        for (at, one) in object.frames.iter().enumerate() {
            let Some(value) = one.as_ref().and_then(value) else {
                pen = 'M';
                continue;
            };
            let (x, y) = (plot.px(at as f64), plot.py(value));
            let _ = write!(line, "{pen}{x:.1} {y:.1}");
            pen = 'L';
            mark(&mut marks, id, (x, y), 3.4);
        }
        let _ = writeln!(
            body,
            "<g><title>{}</title><path class=\"line {}\" d=\"{line}\"/><path class=\"{}\" d=\"{marks}\"/></g>",
            xml(&tip(data, place), 400),
            class(id),
            class(id)
        );
    }
}
