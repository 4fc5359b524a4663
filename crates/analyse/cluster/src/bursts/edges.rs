//! Edges of the flow graph: the calls at the two ends of a burst.
//!
//! Owns their numbers, by first appearance. A call is identified by the called function, its
//! caller, and the line; the call at a burst's begin is the one that ended the burst before.
//! Instances of functions have no such ends.

use std::collections::HashMap;

use super::{Bursts, Site, Source};

/// Sites up to which the numbers of all pairs are a table.
const FEW: usize = 1 << 10;
/// A pair without a number.
const NONE: u32 = u32::MAX;

/// Numbers of pairs of sites.
enum Numbers {
    /// A row for each site, of the site after it.
    Table(Vec<u32>, usize),
    Map(HashMap<(u32, u32), u32>),
}

impl Numbers {
    fn new(sites: usize) -> Self {
        if sites <= FEW {
            Self::Table(vec![NONE; sites * sites], sites)
        } else {
            Self::Map(HashMap::new())
        }
    }

    /// The number of a pair; `next` where it is new.
    fn number(&mut self, before: u32, site: u32, next: u32) -> u32 {
        match self {
            Self::Table(numbers, sites) => {
                let number = &mut numbers[before as usize * *sites + site as usize];
                if *number == NONE {
                    *number = next;
                }
                *number
            }
            Self::Map(numbers) => *numbers.entry((before, site)).or_insert(next),
        }
    }
}

/// Numbers the edges of all bursts; of some of the bursts there are none, as the call at a burst's
/// begin is not known.
pub(super) fn fill(bursts: &mut Bursts) {
    let unknown = Site::default();
    if !bursts.in_window.is_empty() {
        return;
    }
    if bursts.source == Source::Regions || bursts.sites.iter().all(|site| *site == unknown) {
        return;
    }
    // The first burst of a thread has no call before it.
    let none = bursts.sites.iter().position(|site| *site == unknown).unwrap_or(bursts.sites.len());
    let mut numbers = Numbers::new(bursts.sites.len() + 1);
    let mut next = 0;
    let mut edges = Vec::with_capacity(bursts.len());
    let mut last = None;
    for (&rank, &site) in bursts.rank.iter().zip(&bursts.site) {
        let before = last.filter(|&(of, _)| of == rank).map_or(none as u32, |(_, site)| site);
        let number = numbers.number(before, site, next);
        next += u32::from(number == next);
        edges.push(number);
        last = Some((rank, site));
    }
    bursts.edge = edges;
}
