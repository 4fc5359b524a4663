//! Where ranks ran, in the shape that the report and `talea show RUN hosts` show.
//!
//! Owns the rows and the pictures of hosts; what is odd about a host is found by `analysis::hosts`.

use std::collections::HashMap;

use talea_report::data::{HostData, PlaceRow};
use talea_topology::svg::{self, Placed, Shown};
use talea_topology::{ObjectId, ObjectKind, layout, restrict};

use crate::Analysis;
use crate::hosts::Host;

/// Hosts that are drawn; ranks of the others stand in the table.
const DRAWN: usize = 4;

/// Where ranks ran, by host.
pub fn host_rows(analysis: &Analysis<'_>) -> Vec<HostData> {
    let row = |(at, host): (usize, &Host)| HostData {
        name: host.name.clone(),
        machine: host.describe(),
        pus: host.pus().to_string(),
        notes: host.notes(),
        gaps: host.gaps.clone(),
        ranks: host
            .processes
            .iter()
            .map(|placed| PlaceRow {
                rank: placed.rank,
                pid: placed.pid,
                allowed: placed.allowed.to_string(),
                inside: host.inside(&placed.allowed),
                last: placed.last.to_string(),
                threads: placed.threads as u64,
                working: placed.working as u64,
            })
            .collect(),
        picture: (at < DRAWN).then(|| picture(host)).flatten(),
    };
    analysis.hosts().iter().enumerate().map(row).collect()
}

/// Room for the objects of a host.
const PICTURE: (f64, f64) = (760.0, 420.0);

/// The objects of a host without its devices, and ranks where they ran last.
fn picture(host: &Host) -> Option<String> {
    let topology = restrict::without_io(host.topology.as_ref()?);
    let pus: HashMap<u32, ObjectId> = topology
        .of_kind(ObjectKind::Pu)
        .filter_map(|(id, object)| Some((object.os_index?, id)))
        .collect();
    let placement = host
        .processes
        .iter()
        .flat_map(|placed| placed.last.iter().map(move |pu| (placed, pu)))
        .filter_map(|(placed, pu)| {
            let label = format!("rank {}", placed.rank);
            Some(Placed { pu: *pus.get(&u32::try_from(pu).ok()?)?, label })
        })
        .collect();
    let room = layout::Options { width: PICTURE.0, height: PICTURE.1, ..Default::default() };
    let shown = Shown { placement, ..Shown::default() };
    Some(svg::fragment(&topology, &layout::layout(&topology, &room), &shown))
}
