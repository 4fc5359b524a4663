//! Names of kinds in files, and the kind of a cache.
//!
//! Owns the other names of versions: version 1's `Cache` and `Socket`, tiles and modules, machines
//! within machines.

use crate::objects::ObjectKind;

/// hwloc's kinds of groups for tiles and modules of some processors, and for dies in version 2.0.
const TILE: u32 = 102;
const MODULE: u32 = 103;
pub(super) const DIE: u32 = 104;

/// The kind, `None` for version 1's `Cache`; and a group's kind that the name implies.
pub(super) fn kind_of(name: &str, is_root: bool) -> Option<(Option<ObjectKind>, u32)> {
    match name {
        "Cache" => Some((None, 0)),
        "Tile" => Some((Some(ObjectKind::Group), TILE)),
        "Module" => Some((Some(ObjectKind::Group), MODULE)),
        "Machine" | "System" if !is_root => Some((Some(ObjectKind::Group), 0)),
        _ => ObjectKind::from_name(name).map(|kind| (Some(kind), 0)),
    }
}

pub(super) fn cache_kind(depth: u32, cache_type: u32) -> Option<ObjectKind> {
    use ObjectKind as K;
    match (depth, cache_type) {
        (1, 2) => Some(K::L1ICache),
        (2, 2) => Some(K::L2ICache),
        (3, 2) => Some(K::L3ICache),
        (1, _) => Some(K::L1Cache),
        (2, _) => Some(K::L2Cache),
        (3, _) => Some(K::L3Cache),
        (4, _) => Some(K::L4Cache),
        (5, _) => Some(K::L5Cache),
        _ => None,
    }
}

/// The level of a CPU's cache.
pub(crate) fn level_of(kind: ObjectKind) -> Option<u32> {
    use ObjectKind as K;
    match kind {
        K::L1Cache | K::L1ICache => Some(1),
        K::L2Cache | K::L2ICache => Some(2),
        K::L3Cache | K::L3ICache => Some(3),
        K::L4Cache => Some(4),
        K::L5Cache => Some(5),
        _ => None,
    }
}
