//! The graph of a region: some stretches of the sequence, without the rest of the program.
//!
//! Owns nodes, transitions and strongly connected components (Tarjan, iterative) of such a local
//! graph. Nodes are renumbered in the order of first execution inside the region.

use std::collections::HashMap;

/// A stretch of the sequence: events from `begin` up to, not including, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub begin: u32,
    pub end: u32,
}

impl Span {
    pub(super) fn slice(self, sequence: &[u32]) -> &[u32] {
        &sequence[self.begin as usize..self.end as usize]
    }
}

pub(super) const NONE: u32 = u32::MAX;

/// A transition to another node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub to: u32,
    pub count: u64,
}

/// The graph of a region. Its nodes are places 0, 1, ... in the order of first execution.
#[derive(Debug, Default)]
pub(super) struct Local {
    /// Number of each node in the whole sequence.
    pub nodes: Vec<u32>,
    /// Number of visits of each node.
    pub visits: Vec<u64>,
    /// Transitions from each node, in the order of first use.
    pub links: Vec<Vec<Link>>,
    /// First nodes of stretches, in the order of first use, and the number of stretches of each.
    pub starts: Vec<Link>,
}

/// Number of successors from which on a map is faster than a linear search.
const FEW: usize = 16;

impl Local {
    /// The graph of `spans`. `place_of` must be [`NONE`] for every node of the sequence, and holds
    /// the places of the region's nodes afterwards, until [`Self::release`].
    pub(super) fn new(
        sequence: &[u32],
        spans: impl Iterator<Item = Span>,
        place_of: &mut [u32],
    ) -> Self {
        let mut local = Self::default();
        let mut recent: Vec<u32> = Vec::new();
        let mut many: HashMap<(u32, u32), u32> = HashMap::new();
        for span in spans {
            let mut before = NONE;
            for &node in span.slice(sequence) {
                let mut place = place_of[node as usize];
                if place == NONE {
                    place = local.nodes.len() as u32;
                    place_of[node as usize] = place;
                    local.nodes.push(node);
                    local.visits.push(0);
                    local.links.push(Vec::new());
                    recent.push(0);
                }
                local.visits[place as usize] += 1;
                if before == NONE {
                    match local.starts.iter_mut().find(|start| start.to == place) {
                        Some(start) => start.count += 1,
                        None => local.starts.push(Link { to: place, count: 1 }),
                    }
                } else {
                    let links = &mut local.links[before as usize];
                    let at = &mut recent[before as usize];
                    if links.get(*at as usize).is_none_or(|link| link.to != place) {
                        *at = find_or_add(links, &mut many, before, place);
                    }
                    links[*at as usize].count += 1;
                }
                before = place;
            }
        }
        local
    }

    /// Sets `place_of` back to [`NONE`] for the region's nodes.
    pub(super) fn release(&self, place_of: &mut [u32]) {
        for &node in &self.nodes {
            place_of[node as usize] = NONE;
        }
    }

    pub(super) fn edges(&self) -> impl Iterator<Item = (u32, Link)> + '_ {
        let from = 0_u32..;
        from.zip(&self.links).flat_map(|(from, links)| links.iter().map(move |link| (from, *link)))
    }

    /// Strongly connected components of the edges for which `keep` is true, searched from `roots`
    /// in their order.
    pub(super) fn components(&self, roots: &[u32], keep: impl Fn(u32, u32) -> bool) -> Components {
        let count = self.nodes.len();
        let mut found = Components { of: vec![NONE; count], cyclic: Vec::new() };
        let mut order = vec![NONE; count];
        let mut low = vec![0; count];
        let mut next_order = 0;
        let mut open: Vec<u32> = Vec::new();
        let mut path: Vec<(u32, usize)> = Vec::new();
        // Last successors first, so that components in the reverse order of their completion follow
        // one another as in the sequence: those used first come first, and chains stay together.
        for &root in roots.iter().rev().chain(&(0..count as u32).collect::<Vec<_>>()) {
            if order[root as usize] != NONE {
                continue;
            }
            path.push((root, self.links[root as usize].len()));
            order[root as usize] = next_order;
            low[root as usize] = next_order;
            next_order += 1;
            open.push(root);
            while let Some((node, left)) = path.last_mut() {
                let node = *node;
                if *left > 0 {
                    *left -= 1;
                    let to = self.links[node as usize][*left].to;
                    if !keep(node, to) {
                        continue;
                    }
                    if order[to as usize] == NONE {
                        order[to as usize] = next_order;
                        low[to as usize] = next_order;
                        next_order += 1;
                        open.push(to);
                        path.push((to, self.links[to as usize].len()));
                    } else if found.of[to as usize] == NONE {
                        low[node as usize] = low[node as usize].min(order[to as usize]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(before, _)) = path.last() {
                    low[before as usize] = low[before as usize].min(low[node as usize]);
                }
                if low[node as usize] == order[node as usize] {
                    let own = |link: &Link| link.to == node && keep(node, node);
                    let mut cyclic = self.links[node as usize].iter().any(own);
                    while let Some(member) = open.pop() {
                        found.of[member as usize] = found.cyclic.len() as u32;
                        if member == node {
                            break;
                        }
                        cyclic = true;
                    }
                    found.cyclic.push(cyclic);
                }
            }
        }
        // Completion is from the last to the first.
        let last = found.cyclic.len() as u32;
        found.cyclic.reverse();
        for component in &mut found.of {
            *component = last - 1 - *component;
        }
        found
    }
}

/// Strongly connected components, numbered so that every edge leads to the same or a higher number.
#[derive(Debug)]
pub(super) struct Components {
    /// Component of each node.
    pub of: Vec<u32>,
    /// For each component true if it has a cycle.
    pub cyclic: Vec<bool>,
}

fn find_or_add(
    links: &mut Vec<Link>,
    many: &mut HashMap<(u32, u32), u32>,
    from: u32,
    to: u32,
) -> u32 {
    let next = links.len() as u32;
    let found = if links.len() < FEW {
        links.iter().position(|link| link.to == to).map_or(next, |at| at as u32)
    } else {
        if links.len() == FEW {
            many.extend(links.iter().zip(0..).map(|(link, at)| ((from, link.to), at)));
        }
        *many.entry((from, to)).or_insert(next)
    };
    if found == next {
        links.push(Link { to, count: 0 });
    }
    found
}
