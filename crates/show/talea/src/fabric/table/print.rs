//! The table of links as text.
//!
//! Owns the columns beside the model. The table of the slides itself is
//! [`talea_fabric::gemini::print`]'s.

use std::io::Write;

use talea_fabric::gemini::{Label, print};
use talea_network::links::Links;
use talea_network::links::own::Own;
use talea_network::links::recording::Frame;
use talea_topology::svg::amount;

use super::Form;
use crate::fabric::FabricError;
use crate::fabric::cell::known;
use crate::table::{Column, Table};

/// An interval as text.
pub(super) fn frame(
    out: &mut impl Write,
    links: &Links,
    frame: &Frame,
    (form, each): (Form, bool),
) -> Result<(), FabricError> {
    let Links { network, recording, .. } = links;
    let (begin, end) = (recording.since(frame.begin), recording.since(frame.end));
    if each {
        writeln!(out, "from {begin:.3} s to {end:.3} s")?;
    } else if form == Form::Shares {
        writeln!(out, "{}, {:.3} s", recording.source, frame.table.interval.seconds())?;
    }
    let text = match form {
        Form::JobWide => print::job_wide(&network.fabric, &frame.table),
        Form::Shares => print::shares(&network.fabric, &frame.table),
    };
    Ok(write!(out, "{text}")?)
}

/// The job's own traffic, beside the counters.
pub(super) fn beside(out: &mut impl Write, links: &Links, own: &Own) -> Result<(), FabricError> {
    let (network, frame) = (&links.network, &links.recording.total);
    let mut table = Table::new(&[
        ("router", Column::Left),
        ("from", Column::Left),
        ("measured", Column::Right),
        ("own (model)", Column::Right),
        ("other", Column::Right),
        ("differs", Column::Right),
        ("nodes", Column::Left),
    ]);
    for row in &frame.table.rows {
        let beside = own.beside(network, row);
        let bytes = |bytes: u64| amount(bytes as f64, "B");
        let host = row.label == Label::Host;
        table.row([
            network.router_name(row.router),
            if host { "its nodes".to_owned() } else { network.router_name(row.to) },
            known(beside.measured, bytes),
            bytes(beside.own),
            known(beside.other, bytes),
            known(beside.deviation, differs),
            if host { own.whose(row.router).to_owned() } else { String::new() },
        ]);
    }
    writeln!(out)?;
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// A part of 1 in percent, with a word where it is large.
fn differs(part: f64) -> String {
    if part >= 99.0 { format!("x{:.0}", part + 1.0) } else { format!("{:+.1} %", part * 100.0) }
}
