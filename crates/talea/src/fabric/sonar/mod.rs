//! `talea fabric sonar`: known messages between two nodes, and their effect on the counters of a port.
//!
//! Owns the order of the steps and the table of expected and seen values. Messages are [`exchange`]'s, counters [`interface`]'s, their
//! comparison [`rows`]'s. Follows the experiments of Pedretti et al., "Using the Cray Gemini Performance Counters", 2013: a request with
//! its response, on an otherwise idle network.

mod exchange;
mod interface;
mod rows;
mod wire;

use std::io::{self, Write as _};
use std::net::SocketAddr;

use serde_json::{Value, json};
use talea_model::{Gaps, Nanos};

use super::cell::known;
use super::{FabricError, print_json};
use crate::table::{Column, Table};
use crate::terminal::{self, Palette, grouped};
use exchange::{listen, send};
use interface::Interface;
use rows::{Row, findings};
use wire::Frames;

/// Options of `talea fabric sonar`.
#[derive(Debug)]
pub(crate) struct Options {
    /// The interface whose counters are read.
    pub(crate) interface: String,
    /// Role of this end.
    pub(crate) end: End,
    /// Time to wait for the other end.
    pub(crate) wait: Nanos,
    /// JSON instead of a table.
    pub(crate) json: bool,
}

/// Role of this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It sends to this address.
    Sends {
        /// Address of the listener.
        to: SocketAddr,
        /// The messages to send.
        pings: Pings,
    },
    /// It answers at this address.
    Listens {
        /// Address to listen at.
        at: SocketAddr,
    },
}

/// Known messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pings {
    /// Number of messages.
    pub(crate) messages: u32,
    /// Bytes of each, without headers.
    pub(crate) bytes: u32,
}

/// Result of an exchange at either end.
#[derive(Debug)]
struct Heard {
    pings: Pings,
    /// Number of messages that were answered.
    answered: u32,
    /// Frames sent and received after the counters were read.
    sent: Frames,
    received: Frames,
}

/// Exchanges messages, and prints the comparison with the counters.
pub(crate) fn sonar(options: &Options) -> Result<(), FabricError> {
    let mut gaps = Gaps::default();
    let mut interface = Interface::find(&options.interface, &mut gaps)?;
    let heard = match options.end {
        End::Sends { to, pings } => send(to, pings, options.wait, &mut interface, &mut gaps)?,
        End::Listens { at } => listen(at, options.wait, &mut interface, &mut gaps)?,
    };
    let rows = interface.rows(&heard, &mut gaps);
    let findings = findings(&rows, &heard, &interface.port().name);
    if options.json {
        return print_json(&json!({
            "interface": interface.port().name, "mtu": interface.mtu,
            "messages": heard.pings.messages, "bytes": heard.pings.bytes, "answered": heard.answered,
            "rows": rows.iter().map(Row::json).collect::<Vec<Value>>(), "findings": findings, "gaps": gaps,
        }));
    }
    print(&interface, &heard, &rows, &findings, &gaps)
}

fn print(
    interface: &Interface,
    heard: &Heard,
    rows: &[Row],
    findings: &[String],
    gaps: &Gaps,
) -> Result<(), FabricError> {
    let mut table = Table::new(&[
        ("counter", Column::Yields),
        ("way", Column::Left),
        ("expected", Column::Right),
        ("seen", Column::Right),
        ("deviation", Column::Right),
    ]);
    for row in rows {
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
    let Pings { messages, bytes } = heard.pings;
    let head = format!(
        "{} messages of {} bytes, {} answered; {}, MTU {}",
        grouped(messages.into()),
        grouped(bytes.into()),
        grouped(heard.answered.into()),
        interface.port().name,
        interface.mtu
    );
    writeln!(out, "{}", terminal::fitted(&head))?;
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    for line in terminal::findings(findings, palette).chain(terminal::gaps(gaps, palette)) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
