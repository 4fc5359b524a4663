//! Drawing: the run as a whole, its main loop over time, call sites and ranks side by side, keys.
//!
//! Owns the layout from 40 columns and 12 rows up. Columns never jump: figures have fixed widths,
//! and text that is too long is cut. Names from outside are cleaned on their way ([`Pen`]).

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use talea_model::notation::grouped;
use talea_model::{Gap, Nanos};
use talea_results::watch::{IterationGroup, LoopNow, RankNow, RankState, SiteNow, WatchData};

use super::{KEYS, State, clusters, percent};
use crate::colour::Colours;
use crate::glyphs::upwards;
use crate::keys::{HelpPage, footer};
use crate::pen::Pen;

/// Rows of the picture of iterations.
const ROWS: u16 = 4;
/// Rows that call sites and clusters need to stand one above the other.
const BOTH: u16 = 9;
/// Columns of the ranks where call sites stand beside them.
const RANKS: u16 = 44;

/// Draws the whole screen.
pub(super) fn screen(
    buffer: &mut Buffer,
    name: &str,
    data: &WatchData,
    state: &State,
    colours: Colours,
) {
    let area = buffer.area;
    let mut pen = Pen::new(buffer, colours);
    if area.width < 40 || area.height < 12 {
        let text = format!("expected 40 x 12 cells, found {} x {}", area.width, area.height);
        pen.text(area.x, area.y, area.width, &text, Style::new());
        return;
    }
    if state.help {
        let title = "talea watch: keys";
        HelpPage { title, table: &KEYS, columns: 5, reading: &READING, bullet: "" }
            .draw(&mut pen, area);
        return;
    }
    let mut y = head(&mut pen, name, data, state);
    y = main_loop(&mut pen, y, data) + 1;
    let below = Rect { y, height: area.bottom().saturating_sub(y + 1), ..area };
    let ranks = state.sorted(&data.ranks);
    if area.width < 2 * RANKS {
        let half = below.height / 2;
        computation(&mut pen, Rect { height: half, ..below }, data, state);
        let rest = Rect { y: y + half, height: below.height - half, ..below };
        ranks_table(&mut pen, rest, &ranks, state.first);
    } else {
        let left = area.width - RANKS - 2;
        computation(&mut pen, Rect { width: left, ..below }, data, state);
        let right = Rect { x: area.x + left + 2, width: RANKS, ..below };
        ranks_table(&mut pen, right, &ranks, state.first);
    }
    let last = Rect { y: area.bottom() - 1, height: 1, ..area };
    footer(&mut pen, last, &KEYS, 2, None);
}

/// Call sites, or clusters; both where there are enough rows.
fn computation(pen: &mut Pen<'_>, area: Rect, data: &WatchData, state: &State) {
    let Some(now) = &data.clusters else { return sites(pen, area, &data.sites) };
    if state.clusters {
        return clusters::table(pen, area, now);
    }
    let height = clusters::rows(now).min(area.height / 2);
    if area.height < BOTH {
        return sites(pen, area, &data.sites);
    }
    let above = Rect { height: area.height - height, ..area };
    sites(pen, above, &data.sites);
    // One row stays empty between them.
    let y = above.bottom() + 1;
    clusters::table(pen, Rect { y, height: height.saturating_sub(1), ..area }, now);
}

/// The lines about the run as a whole; returns the row after them.
fn head(pen: &mut Pen<'_>, name: &str, data: &WatchData, state: &State) -> u16 {
    let (area, colours) = (pen.area(), pen.colours);
    let word = if data.running { "running" } else { "ended" };
    let ranks = match data.other_ranks.saturating_add(data.ranks.len() as u64) {
        1 => "1 rank".to_owned(),
        many => format!("{many} ranks"),
    };
    let text = format!(" · {ranks} · {word} · {}", data.time_ns);
    let x = pen.text(area.x, area.y, area.width, name, colours.strong());
    pen.text(x, area.y, area.width, &text, Style::new());
    if state.paused {
        pen.right(area.right(), area.y, area.width, " paused ", colours.chosen());
    }
    let seconds = data.interval_ns.seconds();
    let rate = if seconds > 0.0 { data.new_events as f64 / seconds } else { 0.0 };
    let (now, all) = (percent(data.recent_mpi_share), percent(data.mpi_share));
    let y = area.y + 1;
    let x = pen.text(area.x, y, area.width, "in MPI ", Style::new());
    let x = pen.text(x, y, area.width, now.trim_start(), colours.strong());
    let text = format!(
        " now, {} since the start · {} calls, {} a second",
        all.trim_start(),
        grouped(data.events),
        grouped(rate.round() as u64)
    );
    pen.text(x, y, area.width, &text, colours.faint());
    let steady = match (data.steady_since_ns, data.change) {
        (Some(since), _) => format!("steady from {since} on"),
        (None, Some(change)) => {
            format!("not yet steady, {} of the time on new edges", percent(change).trim())
        }
        (None, None) => "no new calls".to_owned(),
    };
    let text = format!("graph: {steady} · {} nodes, {} edges", data.nodes, data.edges);
    let mut y = y + 1;
    pen.text(area.x, y, area.width, &text, colours.faint());
    y += 1;
    if data.left_events > 0 {
        let text = format!("{} calls are left for the next look", grouped(data.left_events));
        pen.text(area.x, y, area.width, &text, colours.warning());
        y += 1;
    }
    if let Some(gap) = data.gaps.iter().next() {
        let more = data.gaps.iter().count() - 1;
        let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        let text = format!("gap: {}{more}", Gap::sentence(gap));
        pen.text(area.x, y, area.width, &text, colours.warning());
        y += 1;
    }
    y + 1
}

/// The main loop and the picture of its iterations; returns the row after them.
fn main_loop(pen: &mut Pen<'_>, y: u16, data: &WatchData) -> u16 {
    let (area, colours) = (pen.area(), pen.colours);
    let Some(main) = &data.main_loop else {
        pen.text(area.x, y, area.width, "no main loop found", colours.faint());
        return y + 1;
    };
    let x = pen.text(area.x, y, area.width, "loop ", Style::new());
    let x = pen.text(x, y, area.width, &main.place, colours.strong());
    let text = format!(
        " · {} of {} ({:.0} % variation) · {} of the time",
        iterations(main),
        main.mean_ns,
        main.variation * 100.0,
        percent(main.share).trim()
    );
    pen.text(x, y, area.width, &text, Style::new());
    picture(pen, y + 1, &main.history);
    y + 1 + ROWS + 1
}

fn iterations(main: &LoopNow) -> String {
    let (min, max) = (grouped(main.min_iterations), grouped(main.max_iterations));
    if min == max { format!("{max} iterations") } else { format!("{min} to {max} iterations") }
}

/// Mean durations over time, as columns from zero, with a line up to the longest iteration. Lines
/// are cut at twice the highest mean: a few slow iterations would flatten all others.
fn picture(pen: &mut Pen<'_>, y: u16, history: &[IterationGroup]) {
    const AXIS: u16 = 10;
    let (area, colours) = (pen.area(), pen.colours);
    let width = area.width.saturating_sub(AXIS);
    let columns = columns(history, usize::from(width));
    let highest = |of: fn(&(f64, f64)) -> f64| columns.iter().map(of).fold(0.0, f64::max);
    let longest = highest(|column| column.1);
    let top = longest.min(2.0 * highest(|column| column.0));
    if top <= 0.0 {
        return;
    }
    let time = |nanos: f64| Nanos(nanos as u64).to_string();
    pen.right(area.x + AXIS - 1, y, AXIS, &time(top), colours.faint());
    pen.right(area.x + AXIS - 1, y + ROWS - 1, AXIS, "0 s", colours.faint());
    let (mean_style, max_style) = (paint(colours, 32), paint(colours, 240));
    for (x, &(mean, max)) in (area.x + AXIS..).zip(&columns) {
        let [mean, max] = [mean, max].map(|value| value / top * f64::from(ROWS));
        for row in 0..ROWS {
            let base = f64::from(ROWS - 1 - row);
            if mean > base {
                pen.text(x, y + row, 1, upwards(mean - base), mean_style);
            } else if max > base {
                pen.text(x, y + row, 1, if max - base >= 0.5 { "│" } else { "╷" }, max_style);
            }
        }
    }
    let count: u64 = history.iter().map(|group| group.count).sum();
    let cut = if longest > top { ", longer lines cut" } else { "" };
    let label =
        format!("{} iterations: mean and maximum, up to {}{cut}", grouped(count), time(longest));
    pen.text(area.x + AXIS, y + ROWS, width, &label, colours.faint());
}

/// Mean and maximum of durations for each column, nanoseconds.
fn columns(history: &[IterationGroup], width: usize) -> Vec<(f64, f64)> {
    let each = history.len().div_ceil(width.max(1)).max(1);
    let column = |groups: &[IterationGroup]| {
        let count: f64 = groups.iter().map(|group| group.count as f64).sum();
        let sum: f64 = groups.iter().map(|group| group.mean_ns.0 as f64 * group.count as f64).sum();
        let max = groups.iter().map(|group| group.max_ns.0).max().unwrap_or_default();
        (sum / count.max(1.0), max as f64)
    };
    history.chunks(each).map(column).collect()
}

fn paint(colours: Colours, colour: u8) -> Style {
    match colours {
        Colours::Many => Style::new().fg(Color::Indexed(colour)),
        Colours::None => Style::new(),
    }
}

fn sites(pen: &mut Pen<'_>, area: Rect, sites: &[SiteNow]) {
    let colours = pen.colours;
    let faint = colours.faint();
    let ends = [area.x + 8, area.x + 17];
    pen.right(ends[0], area.y, area.width, "now", faint);
    pen.right(ends[1], area.y, area.width, "all", faint);
    pen.text(area.x + 19, area.y, area.width, "call site", faint);
    let rows = usize::from(area.height.saturating_sub(1));
    for (y, site) in (area.y + 1..).zip(sites.iter().take(rows)) {
        pen.right(ends[0], y, area.width, &percent(site.recent_share), colours.strong());
        pen.right(ends[1], y, area.width, &percent(site.share), Style::new());
        let width = area.width.saturating_sub(19);
        pen.text(area.x + 19, y, width, &site.site, Style::new());
    }
    if sites.is_empty() {
        pen.text(area.x + 1, area.y + 1, area.width, "no calls yet", faint);
    }
}

fn ranks_table(pen: &mut Pen<'_>, area: Rect, ranks: &[&RankNow], first: usize) {
    const BAR: u16 = 8;
    let colours = pen.colours;
    let faint = colours.faint();
    let ends = [area.x + 5, area.x + 6 + BAR, area.x + 15 + BAR];
    pen.right(ends[0], area.y, area.width, "rank", faint);
    pen.text(area.x + 6, area.y, BAR, "in MPI", faint);
    pen.right(ends[2], area.y, area.width, "now", faint);
    pen.text(ends[2] + 1, area.y, area.width, "inside", faint);
    let rows = usize::from(area.height.saturating_sub(1));
    let first = first.min(ranks.len().saturating_sub(rows));
    for (y, rank) in (area.y + 1..).zip(ranks.iter().skip(first).take(rows)) {
        let number = rank.rank.map_or_else(|| "?".to_owned(), |rank| rank.to_string());
        let number = if rank.world > 0 { format!("{}:{number}", rank.world) } else { number };
        pen.right(ends[0], y, area.width, &number, colours.strong());
        pen.bar(area.x + 6, y, BAR, Some(rank.recent_mpi_share));
        pen.right(ends[2], y, area.width, &percent(rank.recent_mpi_share), Style::new());
        let (text, style) = match (&rank.inside, rank.state) {
            (_, RankState::Killed) => ("killed".to_owned(), colours.warning()),
            (Some(inside), RankState::Running) => {
                (format!("{} {}", inside.since_ns, inside.site), faint)
            }
            (None, RankState::Running) => ("-".to_owned(), faint),
            (_, state) => (state.word().to_owned(), faint),
        };
        let x = ends[2] + 1;
        pen.text(x, y, area.right().saturating_sub(x), &text, style);
    }
    let left = ranks.len().saturating_sub(first + rows);
    if left > 0 && rows > 0 {
        let text = format!("{} more", grouped(left as u64 + 1));
        let y = area.bottom() - 1;
        pen.text(area.x, y, area.width, &" ".repeat(usize::from(area.width)), Style::new());
        pen.text(area.x + 1, y, area.width, &text, faint);
    }
}

/// How to read the figures, one sentence a line.
const READING: [&str; 10] = [
    "now covers the time since the previous look, all the time since MPI_Init",
    "shares of ranks exclude MPI_Init and MPI_Finalize; those of call sites include them",
    "the loop is that of the first rank that has one; iterations are visits of its most regular call",
    "columns of the picture are mean durations; the line above one ends at its longest iteration",
    "lines are cut at twice the highest mean",
    "clusters group the computation between calls by duration; now is since the previous clustering",
    "the graph is steady after three looks in a row with at most 1 % of the time on new edges",
    "inside is the current call of a rank and the time in it; - is a rank outside MPI",
    "the structure of the finished run, `talea show RUN structure`, also uses the source's loops",
    "NO_COLOR in the environment turns colours off",
];
