//! Drawing: the activities of all cores, the view's rows with their shares, the keys.
//!
//! Owns the layout from 30 columns and 6 rows up. Columns never jump: figures have fixed widths,
//! what is too long is cut. The five activities differ in glyph and in colour, so that either alone
//! identifies them. Names from outside are cleaned on their way ([`Pen`]).

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use talea_model::Nanos;
use talea_model::notation::grouped;
use talea_model::shares::Activity;

use super::keys::KEYS;
use super::rows::{Parts, Row};
use super::state::{Order, State};
use super::view::View;
use crate::colour::Colours;
use crate::keys::{HelpPage, footer as footer_of_keys};
use crate::pen::Pen;

/// The displayed data.
pub(super) struct Shown<'a> {
    pub(super) head: &'a str,
    pub(super) cost: Option<f64>,
    pub(super) all: Parts,
    /// Length of the time of the figures.
    pub(super) time: Nanos,
    pub(super) rows: &'a [Row],
    /// The reason for absent figures.
    pub(super) trouble: Option<&'a str>,
    pub(super) gaps: &'a [String],
}

/// In the order of [`Activity::ALL`].
const GLYPHS: [char; 5] = ['█', '▓', '▚', '▒', '░'];

/// Computation blue, kernel vermilion, MPI green, waiting orange, idle grey.
fn style(colours: Colours, activity: usize) -> Style {
    const PALETTE: [u8; 5] = [32, 166, 36, 214, 240];
    match colours {
        Colours::Many => Style::new().fg(Color::Indexed(PALETTE[activity])),
        Colours::None => Style::new(),
    }
}

/// A bar of parts of `all`, whose last columns are those of the last part where the parts are all.
fn parts_bar(pen: &mut Pen<'_>, (x, y, width): (u16, u16, u16), parts: Parts, all: u64) {
    let (mut at, mut sum) = (x, 0_u64);
    for (activity, part) in parts.each().into_iter().enumerate() {
        sum = sum.saturating_add(part);
        let end = (sum as f64 / all.max(1) as f64 * f64::from(width)).round() as u16;
        let end = x + end.min(width);
        if end > at {
            let glyphs = String::from(GLYPHS[activity]).repeat(usize::from(end - at));
            at = pen.text(at, y, end - at, &glyphs, style(pen.colours, activity));
        }
    }
    // Less than a column is visible too.
    if at == x && sum > 0 {
        let first = parts.each().iter().position(|part| *part > 0).unwrap_or(0);
        pen.text(x, y, 1, "▏", style(pen.colours, first));
    }
}

/// Draws the whole screen.
pub(super) fn screen(buffer: &mut Buffer, shown: &Shown<'_>, state: &State, colours: Colours) {
    let area = buffer.area;
    let mut pen = Pen::new(buffer, colours);
    if area.width < 30 || area.height < 6 {
        pen.text(area.x, area.y, area.width, "expected 30 columns, 6 rows", Style::new());
        return;
    }
    if state.help {
        return help(&mut pen);
    }
    head(&mut pen, shown, state);
    let mut y = area.y + 3;
    if let Some(gap) = shown.gaps.first() {
        let more = shown.gaps.len() - 1;
        let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        let text = format!("gap: {gap}{more}");
        pen.text(area.x, y, area.width, &text, colours.warning());
        y += 1;
    }
    tabs(&mut pen, y, state);
    match shown.trouble {
        Some(trouble) => {
            pen.text(area.x, y + 2, area.width, trouble, colours.warning());
        }
        None => table(&mut pen, y + 1, shown, state),
    }
    footer(&mut pen, state);
}

fn head(pen: &mut Pen<'_>, shown: &Shown<'_>, state: &State) {
    let (area, colours) = (pen.area(), pen.colours);
    let paused = if state.paused.is_some() { " paused " } else { "" };
    let cost =
        shown.cost.map_or_else(String::new, |c| format!(" · takes {:.2} % of a core", c * 100.0));
    let length = shown.time;
    let samples = grouped(shown.all.all());
    let text = format!(" · {samples} samples in {length}{cost}");
    let x = pen.text(area.x, area.y, area.width, shown.head, colours.strong());
    pen.text(x, area.y, area.width, &text, colours.faint());
    if !paused.is_empty() {
        pen.right(area.right(), area.y, area.width, paused, colours.chosen());
    }
    let all = shown.all.all();
    parts_bar(pen, (area.x, area.y + 1, area.width), shown.all, all);
    // Five of them fit into 80 columns.
    let narrow = area.width < 90;
    let mut x = area.x;
    for (activity, part) in shown.all.each().into_iter().enumerate() {
        let share = if all > 0 {
            format!("{:5.1} %", part as f64 / all as f64 * 100.0)
        } else {
            "    -  ".to_owned()
        };
        x = pen.text(x, area.y + 2, 2, &format!("{} ", GLYPHS[activity]), style(colours, activity));
        // A lower bound; the help says why.
        let word = match Activity::ALL[activity] {
            Activity::Mpi if narrow => "MPI ≥".to_owned(),
            Activity::Mpi => "in MPI ≥".to_owned(),
            other => format!("{} ", other.words()),
        };
        x = pen.text(x, area.y + 2, 20, &word, Style::new());
        x = pen.text(x, area.y + 2, 10, &share, colours.strong()) + if narrow { 1 } else { 2 };
    }
}

/// The views, the choices on the way here, and the filter.
fn tabs(pen: &mut Pen<'_>, y: u16, state: &State) {
    let (area, colours) = (pen.area(), pen.colours);
    let mut x = area.x;
    for view in View::ALL {
        let style = if view == state.view { colours.chosen() } else { colours.faint() };
        // On a narrow screen only the one that is shown has its whole name.
        let word =
            if area.width < 60 && view != state.view { &view.word()[..1] } else { view.word() };
        x = pen.text(x, y, area.width, &format!(" {word} "), style);
    }
    x += 1;
    for (view, value) in &state.only {
        let value = match value {
            talea_store::Value::Text(text) => short(text, 24),
            talea_store::Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        x = pen.text(x, y, area.width, &format!("{} {value} › ", view.word()), colours.key());
    }
    if state.typing || !state.filter.is_empty() {
        let cursor = if state.typing { "▏" } else { "" };
        pen.text(x, y, area.width, &format!("/{}{cursor}", state.filter), colours.warning());
    }
}

fn table(pen: &mut Pen<'_>, y: u16, shown: &Shown<'_>, state: &State) {
    let (area, colours) = (pen.area(), pen.colours);
    let core = state.view == View::Core;
    let bar = match area.width {
        0..60 => 0,
        60..90 => 12,
        _ => 24,
    };
    // share, its interval, cores, bar, name.
    let ends = [area.x + 7, area.x + 21, area.x + 28];
    let name = area.x + 30 + if bar > 0 { bar + 2 } else { 0 };
    let largest = shown.rows.iter().map(|row| row.parts.all()).max().unwrap_or(0);
    let of_largest = if core { 1.0 } else { largest as f64 / shown.all.all().max(1) as f64 };
    let faint = colours.faint();
    pen.right(ends[0], y, area.width, if core { "busy" } else { "share" }, faint);
    pen.right(ends[1], y, area.width, "95 %", faint);
    pen.right(ends[2], y, area.width, "cores", faint);
    if bar > 0 {
        let scale = format!("0 to {:.1} %", of_largest * 100.0);
        pen.text(area.x + 30, y, bar, &scale, faint);
    }
    let arrow = if state.order == Order::Name { " ↓" } else { "" };
    pen.text(name, y, area.width, &format!("{}{arrow}", state.view.word()), faint);
    let room = usize::from(area.bottom().saturating_sub(y + 2));
    let chosen = state.chosen.min(shown.rows.len().saturating_sub(1));
    let first = chosen.saturating_sub(room.saturating_sub(1));
    for (at, row) in shown.rows.iter().enumerate().skip(first).take(room) {
        let y = y + 1 + (at - first) as u16;
        let style = if at == chosen { colours.chosen() } else { Style::new() };
        let percent = |part: f64| format!("{:5.1}", part * 100.0);
        let share =
            row.share.map_or_else(|| "-".to_owned(), |share| format!("{} %", percent(share.share)));
        let between = row.share.map_or_else(String::new, |share| {
            format!("{} to {}", percent(share.low).trim_start(), percent(share.high))
        });
        pen.right(ends[0], y, area.width, &share, colours.strong());
        pen.right(ends[1], y, area.width, &between, faint);
        pen.right(ends[2], y, area.width, &format!("{:.2}", row.cores), Style::new());
        if bar > 0 {
            let all = if core { row.parts.all() } else { largest };
            parts_bar(pen, (area.x + 30, y, bar), row.parts, all);
        }
        let width = area.right().saturating_sub(name);
        pen.text(name, y, width, &short(&row.name, usize::from(width)), style);
    }
    if shown.rows.is_empty() {
        let why =
            if state.filter.is_empty() { "nothing but idle time" } else { "no row has this text" };
        pen.text(area.x + 1, y + 1, area.width, why, faint);
    }
}

/// The end of a path that does not fit; names of files are more important than their folders.
fn short(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width || !text.starts_with('/') || width == 0 {
        return text.to_owned();
    }
    let end: String = text.chars().skip(length - width + 1).collect();
    format!("…{end}")
}

fn footer(pen: &mut Pen<'_>, state: &State) {
    let (area, colours) = (pen.area(), pen.colours);
    let y = area.bottom() - 1;
    if state.typing {
        pen.text(
            area.x,
            y,
            area.width,
            "text that names have · ⏎ keeps it · Esc takes it away",
            colours.faint(),
        );
        return;
    }
    footer_of_keys(pen, Rect { y, height: 1, ..area }, &KEYS, 2, None);
}

/// How to read the figures, one sentence a line.
const READING: [&str; 8] = [
    "shares are of all samples of the time, idle ones too; in the view of cores, of each core's own",
    "the 95 % interval is that of sampling: a longer time (+) or a higher --rate narrows it",
    "cores is how many cores' time it took on average; bars are of the largest row",
    "█ user: code of a program · ▓ kernel: for it, or for itself",
    "▚ in MPI: code of a program in a library of MPI or of a network",
    "≥ time in MPI is a lower bound: what MPI calls counts as kernel and user",
    "▒ waiting: nothing, on a core that a job has · ░ idle: nothing",
    "NO_COLOR in the environment turns colours off",
];

fn help(pen: &mut Pen<'_>) {
    let area = pen.area();
    HelpPage { title: "talea top: keys", table: &KEYS, columns: 5, reading: &READING, bullet: "" }
        .draw(pen, area);
}
