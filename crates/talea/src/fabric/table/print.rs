//! The table of links as text and as JSON.
//!
//! Owns the columns beside the model, the text of findings, and the public keys. The table of the slides itself is
//! [`talea_fabric::gemini::print`]'s.

use std::io::Write;

use serde_json::{Value, json};
use talea_fabric::gemini::{Label, Row, TileCounter, print};
use talea_model::Nanos;
use talea_topology::svg::amount;

use super::Form;
use super::own::Own;
use super::recording::{Frame, Recording};
use crate::fabric::FabricError;
use crate::fabric::cell::known;
use crate::fabric::network::Network;
use crate::table::{Column, Table};

/// An interval as text.
pub(super) fn frame(
    out: &mut impl Write,
    network: &Network,
    recording: &Recording,
    frame: &Frame,
    (form, each): (Form, bool),
) -> Result<(), FabricError> {
    let (begin, end) = (since(recording, frame.begin), since(recording, frame.end));
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

/// Seconds since the first reading.
pub(super) fn since(recording: &Recording, at: Nanos) -> f64 {
    Nanos(at.0.saturating_sub(recording.total.begin.0)).seconds()
}

/// The job's own traffic, beside the counters.
pub(super) fn beside(
    out: &mut impl Write,
    network: &Network,
    frame: &Frame,
    own: &Own,
) -> Result<(), FabricError> {
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

/// The most important findings; `whole` is false for a selection of routers.
pub(super) fn findings(
    network: &Network,
    recording: &Recording,
    (own, whole): (Option<&Own>, bool),
) -> Vec<String> {
    let (table, interval) = (&recording.total.table, recording.total.table.interval);
    let mut said = Vec::new();
    let links = || table.rows.iter().filter(|row| row.label != Label::Host);
    let name = |row: &Row| {
        let [from, to] = [row.to, row.router].map(|router| network.router_name(router));
        format!("{from} to {to}")
    };
    let used = links().filter_map(|row| Some((row.utilisation(interval)?, row)));
    if let Some((used, row)) = used.max_by(|a, b| a.0.total_cmp(&b.0)) {
        let link = name(row);
        let of = if whole { "" } else { " of those shown" };
        let used = used * 100.0;
        said.push(format!("the busiest link{of}, {link}, used {used:.1} % of its capacity"));
    }
    for (counter, what) in [
        (TileCounter::InqStalls, "what came in waited to get through the router"),
        (TileCounter::CreditStalls, "what was to go out waited for the next router"),
    ] {
        let stalled = links().filter_map(|row| Some((row.stalled(counter, interval)?, row)));
        let most = stalled.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(share, _)| *share > 0.0);
        if let Some((share, row)) = most {
            let [at, other] = [row.router, row.to].map(|router| network.router_name(router));
            let share = share * 100.0;
            said.push(format!("at {at}, tiles towards {other}: {share:.1} % of the time {what}"));
        }
    }
    if let Some(own) = own {
        let all = |value: &dyn Fn(&Row) -> Option<u64>| {
            links().filter_map(value).fold(0, u64::saturating_add)
        };
        let measured = all(&|row| own.beside(network, row).measured);
        let other = all(&|row| own.beside(network, row).other);
        if measured > 0 {
            let share = other as f64 / measured as f64 * 100.0;
            said.push(format!(
                "{share:.1} % of what these links carried is beyond the model of the job's own messages"
            ));
        }
        let mut routers: Vec<_> = table.rows.iter().map(|row| row.router).collect();
        routers.dedup();
        let nodes = routers.iter().map(|&router| own.nodes(router));
        let shared = nodes.clone().filter(|(all, own)| *own > 0 && own < all).count();
        if shared > 0 {
            said.push(format!(
                "{shared} of {} routers have nodes of the job and of others, whose traffic their counters do not tell apart",
                routers.len()
            ));
        }
        let others = nodes.filter(|(_, own)| *own == 0).count();
        if others > 0 {
            said.push(format!("{others} of {} routers have no node of the job", routers.len()));
        }
    }
    said.extend(network.worse_links());
    said
}

/// An interval with the public keys.
pub(super) fn json(
    network: &Network,
    recording: &Recording,
    frame: &Frame,
    own: Option<&Own>,
) -> Value {
    let interval = frame.table.interval;
    let rows: Vec<Value> = frame
        .table
        .rows
        .iter()
        .map(|row| {
            let host = row.label == Label::Host;
            let sum = |counter| row.sum(counter);
            let mut value = json!({
                "router": network.router_name(row.router),
                "from": network.router_name(row.to),
                "way": row.label.name(),
                "host": host,
                "tiles": row.tiles,
                "bytes_per_second": row.capacity,
                "vc0_phits": sum(TileCounter::Vc0Phits),
                "vc1_phits": sum(TileCounter::Vc1Phits),
                "vc0_packets": sum(TileCounter::Vc0Packets),
                "vc1_packets": sum(TileCounter::Vc1Packets),
                "input_stalls": sum(TileCounter::InqStalls),
                "output_stalls": sum(TileCounter::CreditStalls),
                "utilisation": row.utilisation(interval),
                "stalled_in": row.stalled(TileCounter::InqStalls, interval),
                "stalled_out": row.stalled(TileCounter::CreditStalls, interval),
                "bytes_per_packet": row.bytes_a_packet(),
                "phits_per_packet": row.phits_a_packet(),
            });
            if let (Some(own), Value::Object(object)) = (own, &mut value) {
                let mut beside = own.beside(network, row).json();
                if let (true, Value::Object(beside)) = (host, &mut beside) {
                    let (nodes, mine) = own.nodes(row.router);
                    beside.insert("nodes".to_owned(), json!(nodes));
                    beside.insert("own_nodes".to_owned(), json!(mine));
                }
                object.insert("beside".to_owned(), beside);
            }
            value
        })
        .collect();
    json!({
        "begin_seconds": since(recording, frame.begin),
        "end_seconds": since(recording, frame.end),
        "rows": rows,
    })
}
