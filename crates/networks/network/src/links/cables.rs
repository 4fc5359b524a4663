//! The traffic of each cable, from `perfquery` output for all ports of an InfiniBand network.
//!
//! Owns the order of rows, those with the most bytes first, and the public keys. The assignment of
//! counters to cables is [`talea_formats::fabric::cables`]'s.

use std::cmp::Reverse;
use std::path::Path;

use talea_formats::fabric::cables::{Carried, carried};
use talea_formats::fabric::ibnetdiscover::{End, InfiniBand};
use talea_formats::fabric::{ibnetdiscover, perfquery};
use talea_model::{Gap, GapKind, Gaps};
use talea_results::links::{CableRow, CableTable};

use crate::NetworkError;
use crate::input::bytes;

/// Traffic of the cables of a network.
#[derive(Debug)]
pub struct Cables {
    /// The network.
    found: InfiniBand,
    /// One direction between two switches, or a switch and a node, each.
    pub rows: Vec<Carried>,
    /// Gaps of the network, and of the counters.
    pub gaps: Gaps,
}

/// Traffic between two outputs of `perfquery`, or since counters were cleared.
///
/// Fails for output without ports, and for ports of another network.
pub fn cables(after: &Path, since: Option<&Path>, network: &Path) -> Result<Cables, NetworkError> {
    let described = |path: &Path| {
        let path = path.to_owned();
        move |source| NetworkError::Described { source, path }
    };
    let found = ibnetdiscover::read(&bytes(network)?).map_err(described(network))?;
    let print = |path: &Path| perfquery::read(&bytes(path)?).map_err(described(path));
    let (before, after_print) = (since.map(print).transpose()?, print(after)?);
    if after_print.ports.is_empty() {
        let source =
            talea_formats::fabric::Error::Nothing { expected: "`# Port counters: Lid N port N`" };
        return Err(described(after)(source));
    }
    let ports = before.as_ref().map(|printed| &printed.ports[..]);
    let (mut rows, mut gaps) =
        carried(&found, ports, &after_print.ports).map_err(described(after))?;
    rows.sort_by_key(|row| (Reverse(row.bytes), row.from, row.to));
    gaps.merge(found.gaps.clone());
    gaps.merge(after_print.gaps);
    if let Some(before) = before {
        gaps.merge(before.gaps);
    } else {
        let detail =
            "counters run since they were last cleared; --since FILE subtracts an earlier reading"
                .to_owned();
        gaps.note(Gap { kind: GapKind::Estimated, rank: None, detail, count: 0 });
    }
    Ok(Cables { found, rows, gaps })
}

impl Cables {
    /// Name of an end of a cable.
    pub fn name(&self, end: End) -> &str {
        match end {
            End::Router(router) => &self.found.fabric.routers()[router.at()].name,
            End::Host(host) => &self.found.fabric.hosts()[host.at()].name,
        }
    }

    /// With the public keys.
    pub fn result(&self) -> CableTable {
        let row = |row: &Carried| CableRow {
            from: self.name(row.from).to_owned(),
            to: self.name(row.to).to_owned(),
            kinds: row.kinds.clone(),
            bytes: row.bytes,
            packets: row.packets,
            wait_ticks: row.waited,
        };
        CableTable { cables: self.rows.iter().map(row).collect(), gaps: self.gaps.clone() }
    }
}
