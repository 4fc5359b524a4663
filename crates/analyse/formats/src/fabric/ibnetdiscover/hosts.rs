//! Grouping of adapters by host, and names of hosts.
//!
//! Owns descriptions such as `n1 mlx5_0` (the kernel's own form: the host's name, and the
//! adapter's), by which adapters are grouped. A name that two adapters of the same number have (as
//! `localhost mlx5_0` where none was set) is that of many hosts and groups nothing. Adapters
//! without a host's name are one host each; the ports of an adapter that share an identifier are of
//! one. It refuses to guess from names of vendors.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Device, Side};

/// A host: its name, and its adapters in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) name: String,
    /// Places of devices.
    pub(super) adapters: Vec<usize>,
}

/// Key by which adapters belong to one host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Key<'a> {
    Name(&'a str),
    Guid(u64),
    Alone(usize),
}

/// Hosts by their first adapter, and the number of adapters whose name is that of several hosts.
pub(super) fn groups(devices: &[Device], sides: &[Side]) -> (Vec<Group>, u64) {
    let numbers = numbers(devices.len(), sides);
    let named = |at: usize| named(&devices[at].description).map(|(host, _)| Key::Name(host));
    let adapter = |at: usize| named_adapter(&devices[at]);
    let hosts: Vec<usize> =
        (0..devices.len()).filter(|&at| devices[at].is_host_adapter()).collect();
    let by_name = clashes(&hosts, &numbers, named, adapter);
    let guid = |at: usize| Some(Key::Guid(devices[at].guid));
    let by_guid = clashes(&hosts, &numbers, guid, |_| "");
    let key = |at: usize| {
        let whole = |key: &Key<'_>, clashes: &BTreeSet<Key<'_>>| !clashes.contains(key);
        let name = named(at).filter(|key| whole(key, &by_name));
        name.or_else(|| guid(at).filter(|key| whole(key, &by_guid))).unwrap_or(Key::Alone(at))
    };
    let mut places: HashMap<Key<'_>, usize> = HashMap::new();
    let mut groups: Vec<(Key<'_>, Vec<usize>)> = Vec::new();
    for &at in &hosts {
        let place = *places.entry(key(at)).or_insert_with(|| {
            groups.push((key(at), Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(at);
    }
    let alike = hosts.iter().filter(|&&at| named(at).is_some_and(|key| by_name.contains(&key)));
    let alike = alike.count() as u64;
    // Names of hosts take precedence over descriptions. Each description must be of one adapter.
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for (key, adapters) in &groups {
        let name = match key {
            Key::Name(name) => name,
            _ => devices[adapters[0]].description.as_str(),
        };
        *counts.entry(name).or_default() += 1;
    }
    let groups = groups.into_iter().map(|(key, mut adapters)| {
        // `mlx5_10` comes after `mlx5_9`.
        adapters.sort_by_key(|&at| (adapter(at).len(), adapter(at), at));
        let first = &devices[adapters[0]];
        let description = first.description.as_str();
        let alone = !description.is_empty() && counts.get(description) == Some(&1);
        let name = match key {
            Key::Name(name) => name,
            _ if alone => description,
            _ => &first.id,
        };
        Group { name: name.to_owned(), adapters }
    });
    (groups.collect(), alike)
}

/// Numbers of the connected ports of each device.
fn numbers(devices: usize, sides: &[Side]) -> Vec<Vec<u32>> {
    let mut numbers = vec![Vec::new(); devices];
    for side in sides {
        numbers[side.from.0].push(side.from.1);
    }
    numbers
}

/// Keys by which two devices would have the same port of the same adapter.
fn clashes<'a>(
    hosts: &[usize],
    numbers: &[Vec<u32>],
    key: impl Fn(usize) -> Option<Key<'a>>,
    adapter: impl Fn(usize) -> &'a str,
) -> BTreeSet<Key<'a>> {
    let mut seen = BTreeSet::new();
    let mut clashes = BTreeSet::new();
    for &at in hosts {
        let Some(key) = key(at) else { continue };
        for &number in &numbers[at] {
            if !seen.insert((key.clone(), adapter(at), number)) {
                clashes.insert(key.clone());
            }
        }
    }
    clashes
}

fn named_adapter(device: &Device) -> &str {
    named(&device.description).map_or("", |(_, adapter)| adapter)
}

/// Host and adapter of a description, such as `o0001` and `HCA-1` of `o0001 HCA-1`.
fn named(description: &str) -> Option<(&str, &str)> {
    const ADAPTERS: [&str; 17] = [
        "HCA-", "mlx4_", "mlx5_", "mthca", "qib", "hfi1_", "ib", "roce", "rdma", "opa", "bnxt_re",
        "efa_", "irdma", "cxgb", "hns_", "mana_", "erdma_",
    ];
    let (host, adapter) = description.split_once(' ')?;
    let adapter = adapter.trim_start();
    let begin = ADAPTERS.iter().find(|begin| adapter.starts_with(**begin))?;
    let rest = &adapter[begin.len()..];
    let numbered = rest.bytes().any(|byte| byte.is_ascii_digit());
    (!host.is_empty() && numbered && !adapter.contains(' ')).then_some((host, adapter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_with_a_host() {
        for (description, expected) in [
            ("o0001 HCA-1", Some(("o0001", "HCA-1"))),
            ("n1 mlx5_10", Some(("n1", "mlx5_10"))),
            ("n1.cluster  ibp12s0f1", Some(("n1.cluster", "ibp12s0f1"))),
            ("login1 mlx5_bond_0", Some(("login1", "mlx5_bond_0"))),
            ("MT25408 ConnectX Mellanox Technologies", None),
            ("Mellanox Technologies Aggregation Node", None),
            ("Voltaire HCA410", None),
            ("node1", None),
            ("node1 mlx5_", None),
            ("MT4123 ConnectX6   Mellanox mlx5_0", None),
            (" mlx5_0", None),
            ("", None),
        ] {
            assert_eq!(named(description), expected, "{description}");
        }
    }
}
