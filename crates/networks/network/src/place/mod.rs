//! Comparison of placements of ranks, and the best of them.
//!
//! Owns the order of the steps, gaps of the comparison, and its public keys. [`candidates`] makes
//! placements, [`talea_fabric::place::best`] chooses. It refuses to write files of launchers, which
//! are [`talea_fabric::place::text`]'s.

mod candidates;
mod compared;
mod findings;
mod options;
mod picture;

use talea_analysis::Progress;
use talea_fabric::place::{Evaluation, Reason, best};
use talea_model::{Gap, GapKind, Gaps};
use talea_results::links::{PlacementName, PlacementTable};

use crate::NetworkError;
use crate::network::{Network, Ways};
use candidates::Making;
use findings::findings;

pub use compared::Compared;
pub use options::{Options, Order, Way};

/// Placements of ranks on a network, compared.
#[derive(Debug)]
pub struct Comparison {
    /// The network.
    pub network: Network,
    /// Routes of its messages.
    pub ways: Ways,
    /// The placements, at least one.
    pub compared: Vec<Compared>,
    /// Place of the best one.
    pub best: usize,
    /// Reason for it.
    pub reason: Reason,
    /// Sentences on its gain over the first, and on degraded links.
    pub findings: Vec<String>,
    /// Gaps of the messages, of the network and of the model.
    pub gaps: Gaps,
}

/// Makes or reads the placements, and compares them by the model; `None` if no placement was
/// requested.
///
/// Fails without messages or nodes, and for placements that do not fit the network.
pub fn compare(
    options: &Options,
    progress: Progress<'_>,
) -> Result<Option<Comparison>, NetworkError> {
    let network = Network::new(&options.network, &options.hosts)?;
    network.check_nodes()?;
    let (routing, ways) = network.routing()?;
    let mut known = options.sent.messages(&mut *progress)?;
    if known.messages.is_empty() {
        return Err(NetworkError::NoMessages);
    }
    let mut gaps = std::mem::take(&mut known.gaps);
    gaps.merge(network.gaps.clone());
    let making = Making::new(options, &network, &*routing, &known);
    let compared = making.all(progress)?;
    let all: Vec<&Evaluation> = compared.iter().map(|one| &one.found).collect();
    let Some((best, reason)) = best(&all) else { return Ok(None) };
    for one in &compared {
        gaps.merge(one.found.gaps.clone());
    }
    if compared.iter().any(|one| one.found.model_seconds.is_some_and(|seconds| seconds > 0.0)) {
        let of_times = [network.packets_gap("times of the model are"), network.ports_gap()];
        of_times.into_iter().flatten().for_each(|gap| gaps.note(gap));
    }
    if !known.sized {
        gaps.note(unsized_gap());
    }
    let mut findings = findings(&network, &compared, best);
    if compared.iter().all(|one| one.found.nodes == 1) && known.ranks > 1 {
        findings.push(format!(
            "all ranks are on one node, as it takes {}: nothing is on the network; --cores says how many ranks a node takes",
            making.cores
        ));
    }
    drop(making);
    drop(routing);
    Ok(Some(Comparison { network, ways, compared, best, reason, findings, gaps }))
}

impl Comparison {
    /// The best placement.
    pub fn recommended(&self) -> &Compared {
        &self.compared[self.best]
    }

    /// With the public keys.
    pub fn result(&self) -> PlacementTable {
        let best = self.recommended();
        PlacementTable {
            routers: self.network.fabric.routers().len(),
            links: self.network.fabric.links().len(),
            routing: self.ways.word(),
            placements: self.compared.iter().map(|one| one.result(&self.network)).collect(),
            recommended: PlacementName { placement: best.name.clone(), order: best.order },
            findings: self.findings.clone(),
            gaps: self.gaps.clone(),
        }
    }
}

/// Gap: a stencil without sizes has no times.
fn unsized_gap() -> Gap {
    let detail =
        "no time is predicted: loads are numbers of faces; --bytes says how much goes across one";
    Gap { kind: GapKind::Missing, rank: None, detail: detail.to_owned(), count: 0 }
}
