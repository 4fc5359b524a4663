//! Comparison of placements: as a table, as JSON, as sentences and as pictures.
//!
//! Owns the columns, the public keys beside those of an evaluation, and the comparison of the best one with the first. Pictures show both;
//! their utilisation refers to one time for all, so that colours compare.

use std::io::{self, Write as _};

use serde_json::{Value, json};
use talea_fabric::place::Reason;
use talea_fabric::route::Routing;
use talea_fabric::traffic::Loads;
use talea_model::Gaps;
use talea_report::network::{Picture, Source, View};
use talea_topology::svg::amount;

use super::{Compared, Options};
use crate::fabric::FabricError;
use crate::fabric::cell::{known, tenths};
use crate::fabric::network::Network;
use crate::fabric::pictured::{self, Said};
use crate::table::{Column, Table};
use crate::terminal::{self, Palette};

/// Gain of the best one over the first, and degraded links.
pub(super) fn findings(network: &Network, compared: &[Compared], best: usize) -> Vec<String> {
    let mut said = Vec::new();
    let (first, most) = (&compared[0], &compared[best]);
    if best > 0 {
        let mut parts = Vec::new();
        let change = |before: f64, after: f64| {
            let part = (after / before - 1.0) * 100.0;
            let more = if part > 0.0 { "more" } else { "less" };
            (before > 0.0 && part.abs() >= 0.5).then(|| format!("{:.0} % {more}", part.abs()))
        };
        let bytes = |one: &Compared| one.found.bytes_per_node * one.found.nodes as f64;
        if let Some(change) = change(bytes(first), bytes(most)) {
            parts.push(format!("moves {change} off node than {}", first.named(" ")));
        }
        let load = |one: &Compared| one.found.max_link_load as f64;
        if let Some(link) = most.found.max_link {
            let (before, after) = (amount(load(first), "B"), amount(load(most), "B"));
            let link = network.link_name(link);
            let instead =
                if before == after { String::new() } else { format!(" instead of {before}") };
            parts.push(format!("its busiest link is {link} with {after}{instead}"));
        }
        if let Some((before, after)) = first.found.model_seconds.zip(most.found.model_seconds)
            && let Some(change) = change(before, after)
        {
            parts.push(format!("by the model it takes {change} time"));
        }
        if !parts.is_empty() {
            said.push(format!("{} {}", most.named(" "), parts.join("; ")));
        }
    }
    said.extend(network.worse_links());
    said
}

/// Pictures of the first and of the best one, and a page with all.
pub(super) fn draw(
    options: &Options,
    network: &Network,
    routing: &dyn Routing,
    (compared, best): (&[Compared], usize),
    findings: &[String],
    gaps: &Gaps,
) -> Result<(), FabricError> {
    // One time for all, so that equal utilisation has equal colours.
    let mut seconds = compared.iter().map(|one| one.found.model_seconds);
    let seconds = seconds.try_fold(0.0, |most: f64, one| Some(most.max(one?)));
    let view = |one: &Compared| {
        let (found, none) = (&one.found, Loads::default());
        let mut figures = vec![
            ("out of a router".to_owned(), amount(found.network_bytes_per_router, "B")),
            ("max of a link".to_owned(), amount(found.max_link_load as f64, "B")),
            ("mean".to_owned(), amount(found.mean_link_load, "B")),
        ];
        let share = found.off_node_share.map(|share| format!("{:.1} %", share * 100.0));
        figures.splice(0..0, share.map(|share| ("off node".to_owned(), share)));
        figures.extend(found.mean_hops.map(|hops| ("hops".to_owned(), format!("{hops:.2}"))));
        let model = found.model_seconds.map(|seconds| amount(seconds, "s"));
        figures.extend(model.map(|model| ("model".to_owned(), model)));
        let loads = one.loads.as_ref().unwrap_or(&none);
        View {
            name: one.named(", "),
            source: Source::Model,
            unit: "B",
            links: pictured::modelled(network, loads, seconds),
            figures,
        }
    };
    let views: Vec<View> = compared.iter().map(view).collect();
    let shown = if best == 0 { vec![0] } else { vec![0, best] };
    let mut facts = vec![pictured::facts(network), format!("ways: {}", routing.name())];
    facts.extend(seconds.filter(|&seconds| seconds > 0.0).map(|seconds| {
        format!("use is of {}, the model's time of the slowest placement", amount(seconds, "s"))
    }));
    let said =
        Said { title: "placements of ranks".to_owned(), facts, findings: findings.to_vec(), gaps };
    let drawn = pictured::drawn(network, Some(routing), said, views);
    let recommended = (compared.len() > 1).then_some(best);
    options.pictures.write(&drawn, &Picture { views: shown, recommended, ..Picture::default() })
}

/// A placement with the public keys.
pub(super) fn json(network: &Network, one: &Compared) -> Value {
    let mut value = json!(one.found);
    if let Value::Object(object) = &mut value {
        object.insert("placement".to_owned(), json!(one.name));
        object.insert("order".to_owned(), json!(one.order));
        let link = one.found.max_link.map(|link| network.link_name(link));
        object.insert("max_link".to_owned(), json!(link));
    }
    value
}

/// Reason for the best one.
fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::Only => "the only one",
        Reason::Time => "the model's last flow is done first",
        Reason::Load => "the most loaded link has the least load",
        Reason::OffNode => "of those that are otherwise equal it moves the fewest bytes off node",
        Reason::Equal => "the first of those that are equal",
    }
}

/// The table of all, the reason for the recommended one, and its gain.
pub(super) fn print(
    network: &Network,
    compared: &[Compared],
    (best, reason): (usize, Reason),
    findings: &[String],
) -> Result<(), FabricError> {
    let mut table = Table::new(&[
        ("", Column::Left),
        ("placement", Column::Left),
        ("order", Column::Left),
        ("off node", Column::Right),
        ("out of router", Column::Right),
        ("max of a link", Column::Right),
        ("mean", Column::Right),
        ("hops", Column::Right),
        ("model", Column::Right),
    ]);
    for (at, one) in compared.iter().enumerate() {
        let found = &one.found;
        table.row([
            if at == best { "*".to_owned() } else { String::new() },
            one.name.clone(),
            one.order.unwrap_or("-").to_owned(),
            tenths(found.off_node_share),
            amount(found.network_bytes_per_router, "B"),
            amount(found.max_link_load as f64, "B"),
            amount(found.mean_link_load, "B"),
            known(found.mean_hops, |hops| format!("{hops:.2}")),
            known(found.model_seconds, |seconds| amount(seconds, "s")),
        ]);
    }
    let mut out = io::stdout().lock();
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    let most = &compared[best];
    if let Some(link) = most.found.max_link {
        let link = network.link_name(link);
        let line = format!("* {}: {}; its busiest link is {link}", most.named(" "), why(reason));
        writeln!(out, "\n{}", terminal::fitted(&line))?;
    } else if compared.len() > 1 {
        let line = format!("* {}: {}", most.named(" "), why(reason));
        writeln!(out, "\n{}", terminal::fitted(&line))?;
    }
    for line in terminal::findings(findings, Palette::stdout()) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
