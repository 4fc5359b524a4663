//! The link table as text.
//!
//! Owns, beside the map of tiles, three forms: that of a whole job and that of a sonar as the
//! slides of Pedretti et al. 2013 print them, with tabs between cells, and one of shares for
//! people. An absent value is a `-`. Coordinates have blanks after their commas there.

use std::fmt::Write;

use super::table::{Row, Table};
use super::tiles::{COLUMNS, Tile, TileCounter, TileMap, Use};
use crate::machine::{Fabric, RouterId};

/// The table of slide "Gathering Job Wide Information": a line for each router, and one for each of
/// its links.
pub fn job_wide(fabric: &Fabric, table: &Table) -> String {
    let mut text = "#\tDEST_COORD\t#\tSRC_COORD\tGB/s".to_owned();
    for counter in TileCounter::ALL {
        text.push('\t');
        text.push_str(counter.heading());
    }
    text.push('\n');
    of_routers(&table.rows, |router, rows| {
        let _ = writeln!(text, "{}", place(fabric, router));
        for row in rows {
            let _ = write!(text, "{}\t{}\t{}", row.label, place(fabric, row.to), capacity(row));
            sums(&mut text, row);
        }
    });
    text
}

/// The table of slide "Tile Counter Directionality": direction, destination and capacity in one
/// cell; `marks`, such as `SOURCE`, follow their routers.
pub fn sonar(fabric: &Fabric, table: &Table, marks: &[(RouterId, &str)]) -> String {
    let mut text = String::new();
    of_routers(&table.rows, |router, rows| {
        text.push_str(&place(fabric, router));
        for (_, mark) in marks.iter().filter(|(marked, _)| *marked == router) {
            text.push(' ');
            text.push_str(mark);
        }
        text.push('\n');
        for row in rows {
            let _ = write!(text, "{} {} {}", row.label, place(fabric, row.to), capacity(row));
            sums(&mut text, row);
        }
    });
    text
}

/// For people: share of capacity, of time stalled on the way in and out, and mean sizes of packets.
pub fn shares(fabric: &Fabric, table: &Table) -> String {
    let headings = ["used %", "in %", "out %", "B/packet", "phits"];
    let mut text = format!("{:<5} {:<16} {:>6}", "link", "to", "GB/s");
    for heading in headings {
        let _ = write!(text, " {heading:>9}");
    }
    text.push('\n');
    of_routers(&table.rows, |router, rows| {
        let _ = writeln!(text, "{}", place(fabric, router));
        for row in rows {
            let percent = |share: Option<f64>| share.map(|share| share * 100.0);
            let stalled = |counter| percent(row.stalled(counter, table.interval));
            let cells = [
                percent(row.utilisation(table.interval)),
                stalled(TileCounter::InqStalls),
                stalled(TileCounter::CreditStalls),
                row.bytes_a_packet(),
                row.phits_a_packet(),
            ];
            let to = place(fabric, row.to);
            let _ = write!(text, "{:<5} {to:<16} {:>6}", row.label, capacity(row));
            for cell in cells {
                let cell = cell.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
                let _ = write!(text, " {cell:>9}");
            }
            text.push('\n');
        }
    });
    text
}

/// Rows of one router after the other.
fn of_routers(rows: &[Row], mut each: impl FnMut(RouterId, &[Row])) {
    for rows in rows.chunk_by(|one, next| one.router == next.router) {
        if let Some(first) = rows.first() {
            each(first.router, rows);
        }
    }
}

fn place(fabric: &Fabric, router: RouterId) -> String {
    match fabric.routers().get(router.at()) {
        Some(router) => match router.at {
            Some(at) => at.to_string().replace(',', ", "),
            None => router.name.clone(),
        },
        None => "-".to_owned(),
    }
}

fn capacity(row: &Row) -> String {
    row.capacity.map_or_else(|| "-".to_owned(), |capacity| format!("{:.2}", capacity / 1e9))
}

fn sums(text: &mut String, row: &Row) {
    for sum in row.sums {
        let cell = sum.map_or_else(|| "-".to_owned(), |sum| sum.to_string());
        text.push('\t');
        text.push_str(&cell);
    }
    text.push('\n');
}

/// Uses of the tiles of a router as the slide draws them, six rows of eight cells after tabs:
/// number, direction and kind.
pub fn map_text(map: &TileMap) -> String {
    let mut text = String::new();
    for (tile, used) in Tile::all().zip(map) {
        let cell = match used {
            Use::Unused => format!("{} -", tile.at()),
            Use::Host => format!("{} Host", tile.at()),
            Use::Network(peer) => {
                let name = peer.wire.name();
                let (first, rest) = name.split_at(1);
                format!("{} {} {}{rest}", tile.at(), peer.label, first.to_uppercase())
            }
        };
        text.push_str(&cell);
        text.push(if tile.column() == COLUMNS - 1 { '\n' } else { '\t' });
    }
    text
}
