//! Maps of nodes to a torus: `nid00006 0 0 3 0`, that is node, x, y, z and number among the nodes
//! of its router.
//!
//! Owns that syntax with its head, the number of nodes and of numbers after a name (`6528 4`).
//! Lengths of axes are those of the listed coordinates; places without nodes and a head with more
//! nodes than are listed are gaps. It refuses to determine the kind of links: callers do.

use std::collections::HashMap;

use talea_fabric::gemini::{Machine, machine_of};
use talea_fabric::shape::Torus;
use talea_fabric::shape::torus::Wires;
use talea_fabric::{Coordinate, Draft, Fabric, RouterId};
use talea_model::Gaps;

use super::{Error, at_line, lengths, missing, wrong};

/// Longest name in bytes.
const LONGEST: usize = 256;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Coordinate of its router.
    pub at: Coordinate,
    /// Its number among the nodes of the router.
    pub slot: u32,
    /// Its line.
    pub line: u64,
}

/// Nodes of a torus.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeMap {
    /// Lengths of the axes.
    pub torus: Torus,
    /// Nodes in the order of the file.
    pub nodes: Vec<Node>,
    /// Gaps.
    pub gaps: Gaps,
}

/// Reads a map.
pub fn read(bytes: &[u8]) -> Result<NodeMap, Error> {
    let text = String::from_utf8_lossy(bytes);
    let mut stated = None;
    let mut nodes: Vec<Node> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let words: Vec<&str> = line.split_whitespace().take(6).collect();
        match words[..] {
            [] => {}
            [count, columns] if stated.is_none() && nodes.is_empty() => {
                let count = count.parse::<u64>().ok().filter(|_| columns == "4");
                let expected = "a number of nodes and 4, for x, y, z and slot";
                stated = Some(count.ok_or_else(|| wrong(number, expected, line))?);
            }
            [name, x, y, z, slot] => {
                let node = of_node(name, [x, y, z], slot, number);
                let expected = "a node and four numbers, such as `nid00006 0 0 3 0`";
                nodes.push(node.ok_or_else(|| wrong(number, expected, line))?);
            }
            _ => {
                let expected = "a node and four numbers, such as `nid00006 0 0 3 0`";
                return Err(wrong(number, expected, line));
            }
        }
    }
    let mut names = HashMap::new();
    for Node { name, line, .. } in &nodes {
        if let Some(first) = names.insert(name.as_str(), *line) {
            let expected = format!("a name that the node of line {first} has not");
            return Err(wrong(*line, expected, name));
        }
    }
    let mut twice: Vec<(Coordinate, u32, u64)> =
        nodes.iter().map(|node| (node.at, node.slot, node.line)).collect();
    twice.sort_unstable();
    if let Some(pair) =
        twice.windows(2).find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1))
    {
        let expected = format!("a place that the node of line {} has not", pair[0].2);
        return Err(wrong(pair[1].2, expected, &format!("{} {}", pair[1].0, pair[1].1)));
    }
    let places: Vec<_> = nodes.iter().map(|node| (node.line, node.at)).collect();
    if places.is_empty() {
        return Err(Error::Nothing { expected: "lines such as `nid00006 0 0 3 0`" });
    }
    let torus = Torus::new(&lengths(&places)?)?;
    let gaps = gaps(&torus, &nodes, stated);
    Ok(NodeMap { torus, nodes, gaps })
}

fn of_node(name: &str, at: [&str; 3], slot: &str, line: u64) -> Option<Node> {
    let [x, y, z] = at.map(|value| value.parse::<u16>().ok());
    let at = Coordinate::new(&[x?, y?, z?])?;
    let slot = slot.parse().ok()?;
    (name.len() <= LONGEST).then(|| Node { name: name.to_owned(), at, slot, line })
}

fn gaps(torus: &Torus, nodes: &[Node], stated: Option<u64>) -> Gaps {
    let mut gaps = Gaps::default();
    let mut here = vec![0_u64; torus.routers()];
    for router in nodes.iter().filter_map(|node| torus.router(node.at)) {
        here[router.at()] += 1;
    }
    let most = here.iter().copied().max().unwrap_or(0);
    let absent: u64 = here.iter().map(|count| most - count).sum();
    if absent > 0 {
        let lengths: Vec<String> = torus.lengths().iter().map(ToString::to_string).collect();
        let detail = format!(
            "the map has not {absent} nodes of a torus of {} with {most} at each router",
            lengths.join("x")
        );
        gaps.note(missing(detail, absent));
    }
    if let Some(stated) = stated.filter(|&stated| stated != nodes.len() as u64) {
        let detail = format!("the map states {stated} nodes and has {}", nodes.len());
        gaps.note(missing(detail, stated.abs_diff(nodes.len() as u64)));
    }
    gaps
}

impl NodeMap {
    /// The torus with these nodes, whose links are all alike.
    pub fn fabric(&self, wires: &Wires) -> Result<Fabric, Error> {
        let bare = self.torus.fabric(wires, 0)?;
        let mut draft = Draft::default();
        for router in bare.routers() {
            draft.router(router.name.clone(), router.at)?;
        }
        for kind in bare.kinds() {
            draft.kind(&kind.name, kind.lane)?;
        }
        for node in &self.nodes {
            let router = self.torus.router(node.at).unwrap_or(RouterId(u32::MAX));
            draft.host(node.name.clone(), router).map_err(at_line(node.line))?;
        }
        for link in bare.links() {
            for lanes in &link.lanes {
                for _ in 0..lanes.count {
                    draft.lane(link.from, link.to, lanes.kind)?;
                }
            }
        }
        Ok(draft.finish()?)
    }

    /// A Gemini machine with these nodes.
    pub fn gemini(&self) -> Result<Machine, Error> {
        let hosts: Vec<(String, Coordinate)> =
            self.nodes.iter().map(|node| (node.name.clone(), node.at)).collect();
        let lengths = self.torus.lengths();
        let lengths =
            <[u16; 3]>::try_from(lengths).map_err(|_| Error::Nothing { expected: "three axes" })?;
        let mut machine = machine_of(lengths, &hosts)?;
        machine.gaps.merge(self.gaps.clone());
        Ok(machine)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fabric::damaged::{changed, changes};

    const SAMPLE: &str = "\
7 4
nid00000 0 0 0 0
nid00001 0 0 0 1
nid00002 0 0 1 0
nid00003 0 0 1 1
nid00004 1 0 1 0
nid00005 1 0 1 1
";

    #[test]
    fn nodes_and_what_is_not_there() {
        let map = read(SAMPLE.as_bytes()).unwrap();
        assert_eq!(map.torus.lengths(), [2, 1, 2]);
        let told: Vec<String> = map.gaps.iter().map(talea_model::Gap::sentence).collect();
        let expected = [
            "the map has not 2 nodes of a torus of 2x1x2 with 2 at each router",
            "the map states 7 nodes and has 6 (1)",
        ];
        assert_eq!(told, expected);
        let wires = Wires { kind: "cable".to_owned(), lane: Some(1e9), count: 2 };
        let fabric = map.fabric(&wires).unwrap();
        assert_eq!((fabric.routers().len(), fabric.hosts().len()), (4, 6));
        assert_eq!(fabric.links()[0].capacity, Some(4e9));
        assert_eq!(fabric.hosts()[4].router, RouterId(3));
        let gemini = map.gemini().unwrap();
        assert_eq!((gemini.fabric.hosts(), &gemini.gaps), (fabric.hosts(), &map.gaps));
    }

    #[test]
    fn what_is_wrong_with_maps() {
        let told = [
            String::new(),
            "7 4\n".to_owned(),
            "7 3\n".to_owned(),
            SAMPLE[..SAMPLE.len() - 3].to_owned(),
            SAMPLE.replace("1 0 1 1", "1 0 1 0"),
            SAMPLE.replace("1 0 1 1", "1 0 70000 1"),
            SAMPLE.replace("1 0 1 1", "1 0 40 1"),
            SAMPLE.replace("nid00005", "nid00004"),
            (0..=u16::MAX).map(|x| format!("n{x} {x} 0 0 0\n")).collect::<Vec<_>>().concat(),
        ]
        .map(|text| read(text.as_bytes()).unwrap_err().to_string());
        insta::assert_snapshot!(told.join("\n"));
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(changes in changes()) {
            if let Ok(map) = read(&changed(SAMPLE, &changes)) {
                prop_assert!(map.torus.routers() < 10_000);
            }
        }
    }
}
