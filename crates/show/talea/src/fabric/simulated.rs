//! `talea fabric sonar --simulate`: known messages on a simulated machine, and the counters of its
//! tiles.
//!
//! Owns the table of expected and counted values; the table of the slides is
//! [`talea_fabric::gemini::print`]'s, the experiment `talea-network`'s. All of it is simulated, and
//! every output says so.

use std::io::{self, Write as _};

use talea_fabric::gemini::print;
use talea_simulated::experiment::{self, Experiment, network, simulate};

use super::cell::known;
use super::pictures::Files;
use super::{FabricError, print_json, say_gaps};
use crate::table::{Column, Table};
use crate::terminal::grouped;

/// Options of `talea fabric sonar --simulate`.
#[derive(Debug)]
pub(crate) struct Options {
    /// Machine and messages.
    pub(crate) how: experiment::Options,
    pub(crate) pictures: Files,
    pub(crate) json: bool,
}

/// Runs the experiment, and prints it.
pub(crate) fn ping(options: &Options) -> Result<(), FabricError> {
    let found = simulate(&options.how)?;
    if options.pictures.wanted() {
        let network = network(&options.how)?;
        let (routing, _) = network.routing()?;
        let (drawn, shown) = found.picture(&options.how, &network, &*routing);
        options.pictures.write(&drawn, &shown)?;
    }
    if options.json {
        return print_json(&found.result());
    }
    print(&found)?;
    say_gaps(&found.gaps);
    Ok(())
}

fn print(found: &Experiment) -> Result<(), FabricError> {
    let Experiment { machine, routers, table, rows, .. } = found;
    let marks = [(routers[0], "SOURCE"), (routers[routers.len() - 1], "DESTINATION")];
    let mut out = io::stdout().lock();
    write!(out, "{}", print::sonar(&machine.fabric, table, &marks))?;
    writeln!(out)?;
    let mut text = Table::new(&[
        ("router", Column::Left),
        ("from", Column::Left),
        ("counter", Column::Left),
        ("expected", Column::Right),
        ("counted", Column::Right),
        ("differs", Column::Right),
    ]);
    for row in rows.iter().filter(|row| row.expected > 0) {
        let place = |router| found.coordinate(router);
        text.row([
            place(row.router),
            if row.to == row.router { "its nodes".to_owned() } else { place(row.to) },
            row.counter.to_owned(),
            grouped(row.expected),
            known(row.counted, grouped),
            known(row.differs(), |part| format!("{:+.3} %", part * 100.0)),
        ]);
    }
    for line in text.lines() {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
