//! `talea fabric sonar`: known messages between two nodes, and their effect on the counters of a
//! port.
//!
//! Owns the table of expected and seen values, and the line with the address of a listener. The
//! exchange is `talea-network`'s.

use std::io::{self, Write as _};

use talea_network::sonar::{self, Pings, Sonar};

use super::cell::known;
use super::{FabricError, print_json};
use crate::table::{Column, Table};
use crate::terminal::{self, Palette, grouped, say};

/// Options of `talea fabric sonar`.
#[derive(Debug)]
pub(crate) struct Options {
    /// Interface, role and patience.
    pub(crate) how: sonar::Options,
    /// JSON instead of a table.
    pub(crate) json: bool,
}

/// Exchanges messages, and prints the comparison with the counters.
pub(crate) fn sonar(options: &Options) -> Result<(), FabricError> {
    let mut listening = |at| say(&format!("listening at {at}"));
    let sonar = sonar::exchange(&options.how, &mut listening)?;
    if options.json { print_json(&sonar.result()) } else { print(&sonar) }
}

fn print(sonar: &Sonar) -> Result<(), FabricError> {
    let mut table = Table::new(&[
        ("counter", Column::Yields),
        ("way", Column::Left),
        ("expected", Column::Right),
        ("seen", Column::Right),
        ("deviation", Column::Right),
    ]);
    for row in &sonar.rows {
        let absent = || "absent".to_owned();
        table.row([
            row.counter.clone(),
            row.way.to_owned(),
            grouped(row.expected),
            row.seen.map_or_else(absent, grouped),
            known(row.deviation(), |percent| format!("{percent:+.3} %")),
        ]);
    }
    let palette = Palette::stdout();
    let mut out = io::stdout().lock();
    let Pings { messages, bytes } = sonar.heard.pings;
    let head = format!(
        "{} messages of {} bytes, {} answered; {}, MTU {}",
        grouped(messages.into()),
        grouped(bytes.into()),
        grouped(sonar.heard.answered.into()),
        sonar.interface,
        sonar.mtu
    );
    writeln!(out, "{}", terminal::fitted(&head))?;
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    let findings = terminal::findings(&sonar.findings, palette);
    for line in findings.chain(terminal::gaps(&sonar.gaps, palette)) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
