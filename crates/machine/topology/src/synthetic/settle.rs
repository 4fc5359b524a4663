//! Valid combinations of levels, and the kinds of those without one.
//!
//! Owns the rules of hwloc 2: PUs are last, most kinds have one level, all levels have kinds or
//! none has, nodes are a level or beside levels, and a machine without nodes gets one.

use crate::objects::ObjectKind as K;

use super::SyntheticError;
use super::text::{Attributes, Cursor, Level};

/// Default bytes of a node of a level.
const DEFAULT_MEMORY: u64 = 1 << 30;

/// Checks the combination of levels, and names those without a name.
pub(super) fn settle(
    cursor: &Cursor<'_>,
    levels: &mut [Level],
    is_named: &[bool],
) -> Result<(), SyntheticError> {
    let last = levels.len() - 1;
    let end = cursor.text.len()..cursor.text.len();
    if last == 0 {
        return cursor.wrong_at(end, "levels of objects such as `pack:2 core:4 pu:2`");
    }
    if levels[last].kind != K::Pu {
        return cursor.wrong_at(levels[last].at.clone(), "PUs as the last level");
    }
    let has_attached = levels.iter().any(|level| !level.attached.is_empty());
    // All levels between machine and PUs are named, or none is.
    let between = 1..last;
    if let Some(first) = between.clone().find(|&at| is_named[at] != is_named[1]) {
        let expected = if is_named[1] {
            "a level with a kind, as those before it"
        } else {
            "a level without a kind, as those before it"
        };
        return cursor.wrong_at(levels[first].at.clone(), expected);
    }
    if last > 1 && !is_named[1] {
        for (level, kind) in levels[between].iter_mut().zip(default_kinds(last - 1, has_attached)) {
            level.kind = kind;
        }
    }
    for kind in [K::Pu, K::Package, K::Die, K::Core, K::NumaNode] {
        if let Some(second) = levels.iter().filter(|level| level.kind == kind).nth(1) {
            return cursor.wrong_at(second.at.clone(), &format!("one level of {kind}"));
        }
    }
    let node_level = levels.iter().find(|level| level.kind == K::NumaNode);
    let attached = levels.iter().find_map(|level| level.attached.first());
    let has_nodes = node_level.is_some() || has_attached;
    if let (Some(_), Some((at, _))) = (node_level, attached) {
        return cursor.wrong_at(at.clone(), "NUMA nodes either as a level or beside levels");
    }
    for level in levels.iter_mut() {
        let is_node = level.kind == K::NumaNode;
        if is_node && level.attributes.size == 0 {
            level.attributes.size = DEFAULT_MEMORY;
        }
    }
    if !has_nodes {
        let node = Attributes { size: DEFAULT_MEMORY, ..Attributes::default() };
        levels[0].attached.push((0..0, node));
    }
    Ok(())
}

/// Kinds of levels without names: groups, package, nodes, caches (L2, then L1, L3 and L1i where
/// there are more), core.
fn default_kinds(count: usize, has_attached: bool) -> Vec<K> {
    let mut left = count;
    let mut need = |most: usize| {
        let taken = left.min(most);
        left -= taken;
        taken
    };
    let nodes = need(usize::from(!has_attached));
    let (packages, cores, caches) = (need(1), need(1), need(4));
    let mut kinds = vec![K::Group; need(usize::MAX)];
    kinds.extend(std::iter::repeat_n(K::Package, packages));
    kinds.extend(std::iter::repeat_n(K::NumaNode, nodes));
    kinds.extend(match caches {
        0 => &[][..],
        1 => &[K::L2Cache],
        2 => &[K::L2Cache, K::L1Cache],
        3 => &[K::L3Cache, K::L2Cache, K::L1Cache],
        _ => &[K::L3Cache, K::L2Cache, K::L1Cache, K::L1ICache],
    });
    kinds.extend(std::iter::repeat_n(K::Core, cores));
    kinds
}
