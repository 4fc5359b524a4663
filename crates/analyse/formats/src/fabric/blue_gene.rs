//! Tables of a Blue Gene's torus that PAVE's tools recorded: packets of each link by region of the
//! code, coordinates of nodes, and nodes of ranks.
//!
//! Owns the form of such tables (a head in YAML that ends with `...` and names columns as `-
//! [packets, int64]`, then a row of numbers a line) and the meaning of their columns: `linkid`,
//! source `sx sy sz`, target `tx ty tz`, `code_region`, `packets`; `nodeid`, `x y z`; `mpirank`,
//! `nodeid`. Rows of the same link and region are summed, since a region is left and entered again.
//! Regions below 0 are those of the data besides the code's. Links without rows in a region are a
//! gap. It refuses columns that are no whole numbers. Follows Landge et al., "Visualizing Network
//! Traffic", 2012.

use std::collections::{BTreeMap, HashMap};

use talea_fabric::shape::Torus;
use talea_fabric::shape::torus::Wires;
use talea_fabric::{Coordinate, Fabric, RouterId};
use talea_model::Gaps;

use super::{Error, missing, wrong};

/// Maximum number of columns of a table, and of regions of a code.
const MOST_COLUMNS: usize = 64;
const MOST_REGIONS: usize = 256;
/// Maximum number of sums of packets, of all regions.
const MOST_SUMS: usize = 1 << 24;

/// Bytes a second of a link of Blue Gene/P's torus, one way: 3.4 Gbit/s.
pub const LINK: f64 = 425e6;

/// Packets of links in one region of the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its number; those below 0 are not the code's own.
    pub number: i64,
    /// By [`talea_fabric::LinkId`]; absent where the table has no row.
    pub packets: Vec<Option<u64>>,
}

/// Contents of the description of a recording (`..._meta.yaml`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The machine.
    pub torus: Torus,
    /// Number of nodes in the description.
    pub nodes: Option<u64>,
    /// Name of the table of links.
    pub link_table: Option<String>,
    /// Name of the table of nodes.
    pub node_table: Option<String>,
    /// Name of the table of ranks.
    pub rank_table: Option<String>,
}

/// Reads the description of a recording. Tables lie beside it: their names have no folder.
pub fn described(bytes: &[u8]) -> Result<Described, Error> {
    let torus = torus(bytes)?;
    let text = String::from_utf8_lossy(bytes);
    let (mut nodes, mut link_table, mut node_table, mut rank_table) = (None, None, None, None);
    // Name of the file of the current part.
    let mut file = None;
    for (line, number) in text.lines().zip(1..) {
        let trimmed = line.trim().trim_end_matches(',');
        if trimmed == "---" {
            file = None;
        }
        let value = |key: &str| trimmed.strip_prefix(key).map(str::trim);
        if let Some(name) = value("link_coords_table:") {
            link_table = Some(beside(name, number)?);
        } else if let Some(name) = value("coords_table:") {
            node_table = Some(beside(name, number)?);
        } else if let Some(name) = value("filename:") {
            file = Some(beside(name, number)?);
        } else if let Some(count) = value("nodes:") {
            let count = count.parse().map_err(|_| wrong(number, "a number of nodes", line))?;
            nodes = Some(count);
        } else if trimmed.starts_with('-') && trimmed.contains("field: mpirank") {
            rank_table = rank_table.or_else(|| file.take());
        }
    }
    Ok(Described { torus, nodes, link_table, node_table, rank_table })
}

/// The name of a file beside the description.
fn beside(name: &str, line: u64) -> Result<String, Error> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let plain = !name.is_empty() && name.len() <= 255 && name.chars().all(good);
    if !plain || name.starts_with('.') {
        return Err(wrong(line, "the name of a file beside this one", name));
    }
    Ok(name.to_owned())
}

/// The torus in the description of a recording (`..._meta.yaml`).
pub fn torus(bytes: &[u8]) -> Result<Torus, Error> {
    let text = String::from_utf8_lossy(bytes);
    for (line, number) in text.lines().zip(1..) {
        let Some(value) = line.trim().strip_prefix("dim:") else { continue };
        let expected = "`dim: {x: 8, y: 8, z: 8}`";
        let other = || wrong(number, expected, line);
        let inner = value.trim().trim_end_matches(',').strip_prefix('{').ok_or_else(other)?;
        let inner = inner.strip_suffix('}').ok_or_else(other)?;
        let mut lengths = Vec::new();
        for (part, axis) in inner.split(',').zip(["x", "y", "z", ""]) {
            let length = part.split_once(':').filter(|(name, _)| name.trim() == axis);
            let length = length.and_then(|(_, length)| length.trim().parse::<u16>().ok());
            lengths.push(length.ok_or_else(other)?);
        }
        if lengths.len() != 3 {
            return Err(other());
        }
        return Torus::new(&lengths).map_err(super::at_line(number));
    }
    Err(Error::Nothing { expected: "lengths such as `dim: {x: 8, y: 8, z: 8}`" })
}

/// The network of such a torus, one node at each router.
pub fn fabric(torus: &Torus) -> Result<Fabric, Error> {
    let wires = Wires { kind: "torus".to_owned(), lane: Some(LINK), count: 1 };
    Ok(torus.fabric(&wires, 1)?)
}

/// Packets of the links of a torus (`..._links.yaml`), by region in ascending order.
pub fn links(bytes: &[u8], torus: &Torus, fabric: &Fabric) -> Result<(Vec<Region>, Gaps), Error> {
    let table = Numbers::read(bytes)?;
    let ends = ["sx", "sy", "sz", "tx", "ty", "tz"].map(|name| table.column(name));
    let [sx, sy, sz, tx, ty, tz] = ends;
    let (from, to) = ([sx?, sy?, sz?], [tx?, ty?, tz?]);
    let [link, region, packets] =
        ["linkid", "code_region", "packets"].map(|name| table.column(name));
    let (link, region, packets) = (link?, region?, packets?);
    let mut regions: BTreeMap<i64, Vec<Option<u64>>> = BTreeMap::new();
    let mut known = HashMap::new();
    let mut all = 0;
    for (line, row) in table.rows() {
        let [from, to] = [from, to].map(|at| router(torus, at.map(|column| row[column])));
        let id = from.zip(to).and_then(|(from, to)| fabric.link(from, to));
        let id = id.ok_or_else(|| {
            let expected = "a source and a target that are next to each other on the torus";
            wrong(line, expected, &format!("{row:?}"))
        })?;
        if *known.entry(row[link]).or_insert(id) != id {
            let expected = "the same ends of a link as before";
            return Err(wrong(line, expected, &format!("link {}", row[link])));
        }
        let count = u64::try_from(row[packets])
            .map_err(|_| wrong(line, "packets from 0 on", &row[packets].to_string()))?;
        let most = MOST_REGIONS.min(MOST_SUMS / fabric.links().len().max(1));
        if regions.len() >= most && !regions.contains_key(&row[region]) {
            let expected = format!("at most {most} regions of the code");
            return Err(wrong(line, expected, &row[region].to_string()));
        }
        let of_region =
            regions.entry(row[region]).or_insert_with(|| vec![None; fabric.links().len()]);
        // Then the sums of regions, directions and links stay below it, too.
        all = u64::checked_add(all, count).ok_or_else(|| {
            let expected = "packets that are fewer than 2^64 in all";
            wrong(line, expected, &row[packets].to_string())
        })?;
        let sum = &mut of_region[id.at()];
        *sum = Some(sum.unwrap_or(0).saturating_add(count));
    }
    let mut gaps = Gaps::default();
    if table.is_cut {
        let detail =
            "the table of links ends without the end of its line: its last number may be cut";
        gaps.note(missing(detail.to_owned(), 0));
    }
    let absent = regions.values().flatten().filter(|packets| packets.is_none()).count();
    if absent > 0 {
        let detail = "packets of links in regions that the table has no row for".to_owned();
        gaps.note(missing(detail, absent as u64));
    }
    let regions = regions.into_iter().map(|(number, packets)| Region { number, packets });
    Ok((regions.collect(), gaps))
}

/// Routers of nodes (`..._nodes.yaml`), by number of the node in ascending order.
pub fn nodes(bytes: &[u8], torus: &Torus) -> Result<(Vec<(u32, RouterId)>, Gaps), Error> {
    let table = Numbers::read(bytes)?;
    let [node, x, y, z] = ["nodeid", "x", "y", "z"].map(|name| table.column(name));
    let (node, at) = (node?, [x?, y?, z?]);
    let mut nodes: BTreeMap<u32, RouterId> = BTreeMap::new();
    for (line, row) in table.rows() {
        let router = router(torus, at.map(|column| row[column])).ok_or_else(|| {
            let expected = format!("a place on a torus of {:?}", torus.lengths());
            wrong(line, expected, &format!("{:?}", at.map(|column| row[column])))
        })?;
        let number = unsigned(line, row[node])?;
        if *nodes.entry(number).or_insert(router) != router {
            let expected = "the same place of a node as before";
            return Err(wrong(line, expected, &format!("node {number}")));
        }
    }
    let mut gaps = Gaps::default();
    let absent = torus.routers().saturating_sub(nodes.len());
    if absent > 0 {
        gaps.note(missing("nodes of the torus that the table has not".to_owned(), absent as u64));
    }
    Ok((nodes.into_iter().collect(), gaps))
}

/// Nodes of ranks (`..._map.yaml`), by rank in ascending order.
pub fn ranks(bytes: &[u8]) -> Result<Vec<(u32, u32)>, Error> {
    let table = Numbers::read(bytes)?;
    let (rank, node) = (table.column("mpirank")?, table.column("nodeid")?);
    let mut ranks = BTreeMap::new();
    for (line, row) in table.rows() {
        let number = unsigned(line, row[rank])?;
        if ranks.insert(number, unsigned(line, row[node])?).is_some() {
            return Err(wrong(line, "each rank once", &format!("rank {number}")));
        }
    }
    Ok(ranks.into_iter().collect())
}

fn unsigned(line: u64, value: i64) -> Result<u32, Error> {
    u32::try_from(value).map_err(|_| wrong(line, "a number from 0 to 2^32 - 1", &value.to_string()))
}

fn router(torus: &Torus, at: [i64; 3]) -> Option<RouterId> {
    let [x, y, z] = at.map(|value| u16::try_from(value).ok());
    torus.router(Coordinate::new(&[x?, y?, z?])?)
}

/// A table of whole numbers.
struct Numbers {
    names: Vec<String>,
    /// Values row after row.
    values: Vec<i64>,
    lines: Vec<u64>,
    /// The last line has no end, so that its last number may be a part of one.
    is_cut: bool,
}

impl Numbers {
    fn read(bytes: &[u8]) -> Result<Self, Error> {
        let text = String::from_utf8_lossy(bytes);
        let is_cut = !text.ends_with('\n');
        let mut numbers = Self { names: Vec::new(), values: Vec::new(), lines: Vec::new(), is_cut };
        let mut head = true;
        for (line, number) in text.lines().zip(1_u64..) {
            let line = line.trim();
            if !head {
                numbers.row(line, number)?;
            } else if line == "..." {
                head = false;
                if numbers.names.is_empty() {
                    return Err(wrong(number, "columns such as `- [packets, int64]`", line));
                }
            } else if let Some(column) = line.strip_prefix("- ") {
                numbers.name(column.trim(), number)?;
            }
        }
        if numbers.lines.is_empty() {
            return Err(Error::Nothing { expected: "rows behind a head that ends with `...`" });
        }
        Ok(numbers)
    }

    fn name(&mut self, column: &str, line: u64) -> Result<(), Error> {
        let inner = column.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let parts = inner.and_then(|inner| inner.split_once(','));
        let name = parts.filter(|(_, kind)| matches!(kind.trim(), "int32" | "int64"));
        let expected = "a column such as `- [packets, int64]`";
        let (name, _) = name.ok_or_else(|| wrong(line, expected, column))?;
        if self.names.len() == MOST_COLUMNS {
            return Err(wrong(line, format!("at most {MOST_COLUMNS} columns"), column));
        }
        let name = name.trim();
        if self.names.iter().any(|before| before == name) {
            return Err(wrong(line, "each column once", column));
        }
        self.names.push(name.to_owned());
        Ok(())
    }

    fn row(&mut self, text: &str, line: u64) -> Result<(), Error> {
        if text.is_empty() {
            return Ok(());
        }
        let before = self.values.len();
        // One more value shows a row that is too long.
        for word in text.split_whitespace().take(self.names.len() + 1) {
            let value = word.parse().map_err(|_| wrong(line, "a whole number", word))?;
            self.values.push(value);
        }
        if self.values.len() - before != self.names.len() {
            return Err(wrong(line, format!("{} numbers", self.names.len()), text));
        }
        self.lines.push(line);
        Ok(())
    }

    fn column(&self, name: &str) -> Result<usize, Error> {
        let found = self.names.iter().position(|one| one == name);
        found.ok_or_else(|| {
            wrong(1, format!("a head with the column {name}"), &self.names.join(" "))
        })
    }

    /// Rows with their lines.
    fn rows(&self) -> impl Iterator<Item = (u64, &[i64])> {
        self.lines.iter().copied().zip(self.values.chunks_exact(self.names.len()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fabric::damaged::{changed, changes};

    const META: &str = "---\nhardware: {\n network: torus,\n dim: {x: 1, y: 1, z: 3},\n}\n";
    #[test]
    fn tables_of_a_description() {
        let text = "---\nhardware: {\n nodes: 3,\n coords_table: n.yaml,\n dim: {x: 1, y: 1, z: 3},\n link_coords_table: l.yaml\n}\n---\nfilename: n.yaml\n---\nfilename: r.yaml\nsubdomain:\n- { domain: COMM, type: RANK, field: mpirank }\n---\nsubdomain:\n- { field: mpirank }\n...\n";
        let found = described(text.as_bytes()).unwrap();
        let name = |name: &str| Some(name.to_owned());
        assert_eq!(found.nodes, Some(3));
        assert_eq!((found.link_table, found.node_table), (name("l.yaml"), name("n.yaml")));
        assert_eq!(found.rank_table, name("r.yaml"));
        let bare = described(META.as_bytes()).unwrap();
        assert_eq!((bare.link_table, bare.rank_table, bare.nodes), (None, None, None));
        for name in ["../l.yaml", "/etc/passwd", "", ".", "a b"] {
            let error = described(text.replace("l.yaml", name).as_bytes()).unwrap_err();
            assert!(error.to_string().contains("line 6"), "{error}");
        }
        assert!(described(text.replace("nodes: 3", "nodes: x").as_bytes()).is_err());
    }

    const LINKS: &str = "\
---
key: SAMPLE
---
- [linkid, int32]
- [sx, int32]
- [sy, int32]
- [sz, int32]
- [tx, int32]
- [ty, int32]
- [tz, int32]
- [code_region, int32]
- [packets, int64]
...
0 0 0 0 0 0 1 -2 9
1 0 0 0 0 0 2 -2 8
0 0 0 0 0 0 1 7 3
0 0 0 0 0 0 1 7 4
";
    const NODES: &str = "---\n- [nodeid, int32]\n- [x, int32]\n- [y, int32]\n- [z, int32]\n- [muls, int64]\n...\n5 0 0 2 17\n5 0 0 2 18\n4 0 0 1 3\n";
    const RANKS: &str = "- [mpirank, int32]\n- [nodeid, int32]\n...\n1 5\n0 4\n";

    #[test]
    fn packets_of_links() {
        let torus = torus(META.as_bytes()).unwrap();
        assert_eq!(torus.lengths(), [1, 1, 3]);
        let fabric = fabric(&torus).unwrap();
        let (regions, gaps) = links(LINKS.as_bytes(), &torus, &fabric).unwrap();
        let none = [None; 4];
        let expected = [
            Region { number: -2, packets: [&[Some(9), Some(8)][..], &none].concat() },
            Region { number: 7, packets: [&[Some(7), None][..], &none].concat() },
        ];
        assert_eq!(regions, expected);
        assert_eq!(gaps.iter().map(|gap| gap.count).collect::<Vec<_>>(), [9]);
        // The last number may be a part of one.
        let cut = LINKS.trim_end().as_bytes();
        let (_, gaps) = links(cut, &torus, &fabric).unwrap();
        let said: Vec<_> = gaps.iter().map(|gap| gap.detail.as_str()).collect();
        assert!(said[1].contains("without the end of its line"), "{said:?}");
        let (nodes, gaps) = nodes(NODES.as_bytes(), &torus).unwrap();
        assert_eq!(nodes, [(4, RouterId(1)), (5, RouterId(2))]);
        assert_eq!(gaps.iter().map(|gap| gap.count).collect::<Vec<_>>(), [1]);
        assert_eq!(ranks(RANKS.as_bytes()).unwrap(), [(0, 4), (1, 5)]);
    }

    #[test]
    fn what_is_wrong_with_tables() {
        let torus = super::torus(META.as_bytes()).unwrap();
        let fabric = fabric(&torus).unwrap();
        let of_links = |text: String| links(text.as_bytes(), &torus, &fabric).unwrap_err();
        let told = [
            super::torus(b"---\n").unwrap_err(),
            super::torus(b"dim: {x: 8, y: 8}\n").unwrap_err(),
            super::torus(b"dim: {x: 8, y: 8, z: 0}\n").unwrap_err(),
            of_links(LINKS[..60].to_owned()),
            of_links(LINKS[..LINKS.len() - 4].to_owned()),
            of_links(LINKS.replace("0 0 1 7 3", "0 0 3 7 3")),
            of_links(LINKS.replace("0 0 1 7 3", "0 0 2 7 3")),
            of_links(LINKS.replace("1 7 3", "1 7 -3")),
            of_links(LINKS.replace("1 7 3", "1 7 x")),
            of_links(LINKS.replace("1 7 3", &"1 ".repeat(1 << 20))),
            of_links(LINKS.replace("packets", "bytes")),
            of_links(LINKS.replace("int64", "text")),
            of_links(LINKS.replace("[packets", "[sx")),
            of_links(format!("{LINKS}{0}{0}{0}", "0 0 0 0 0 0 1 7 9223372036854775807\n")),
            nodes(NODES.replace("5 0 0 2 18", "5 0 0 1 18").as_bytes(), &torus).unwrap_err(),
            nodes(NODES.replace("5 0 0 2 18", "5 0 9 1 18").as_bytes(), &torus).unwrap_err(),
            ranks(RANKS.replace("0 4", "1 4").as_bytes()).unwrap_err(),
        ]
        .map(|error| error.to_string());
        insta::assert_snapshot!(told.join("\n"));
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(changes in changes()) {
            let torus = Torus::new(&[1, 1, 3]).unwrap();
            let fabric = fabric(&torus).unwrap();
            let _ = links(&changed(LINKS, &changes), &torus, &fabric);
            let _ = nodes(&changed(NODES, &changes), &torus);
            let _ = ranks(&changed(RANKS, &changes));
            let _ = super::torus(&changed(META, &changes));
            let _ = described(&changed(META, &changes));
        }
    }
}
