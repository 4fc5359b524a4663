//! Levels to objects.
//!
//! Owns the choice of levels that become objects: groups that add nothing are dropped as in hwloc,
//! and nodes without a level that has room for them get a group each. Objects are made in
//! depth-first order, PU by PU; sets are derived as for files.

use crate::cpuset::MOST_PUS;
use crate::levels;
use crate::objects::{Attributes as Facts, Object, ObjectId, ObjectKind, Topology};
use crate::xml;

use super::text::{Attributes, Level};
use super::{MOST_OBJECTS, SyntheticError, indexes};

/// hwloc's kinds of groups: of a description, and for a node.
const OF_TEXT: u32 = 10;
const FOR_MEMORY: u32 = 1001;

/// A level of normal objects.
struct Row {
    kind: ObjectKind,
    width: u64,
    size: u64,
    numbers: Option<Vec<u32>>,
    group: (u32, u32),
    /// Nodes beside each object: bytes, bytes of the cache before, the operating system's numbers.
    nodes: Vec<(u64, u64, Vec<u32>)>,
}

/// Makes the machine.
pub(super) fn build(text: &str, levels: &[Level]) -> Result<Topology, SyntheticError> {
    let whole = 0..text.len();
    let too_large =
        |expected: String| SyntheticError { at: whole.clone(), expected, found: "more".to_owned() };
    let objects = levels.iter().fold(0_u64, |sum, level| {
        sum.saturating_add(level.width.saturating_mul(2 * (1 + level.attached.len() as u64)))
    });
    if objects > MOST_OBJECTS as u64 {
        return Err(too_large(format!(
            "a machine of at most {MOST_OBJECTS} objects (Talea's limit)"
        )));
    }
    let pus = levels.last().map_or(1, |level| level.width);
    if pus > MOST_PUS as u64 {
        let (expected, found) =
            (format!("at most {MOST_PUS} PUs (Talea's limit)"), pus.to_string());
        return Err(SyntheticError { at: whole.clone(), expected, found });
    }
    let rows = rows(levels, pus)?;
    let mut objects = make(&rows, pus);
    let lacking = vec![0; objects.len()];
    let no_place = vec![0; objects.len()];
    xml::derive_sets(&mut objects, &lacking, &no_place)
        .map_err(|error| too_large(error.to_string()))?;
    let (mut objects, _) = levels::sort(objects);
    levels::number(&mut objects);
    for (number, object) in (1..).zip(&mut objects) {
        object.gp_index = Some(number);
    }
    let infos = vec![
        ("Backend".to_owned(), "Synthetic".to_owned()),
        ("SyntheticDescription".to_owned(), text.trim().to_owned()),
    ];
    Ok(Topology { objects, infos, ..Topology::default() })
}

/// The levels that become objects, with their numbers and nodes.
fn rows(levels: &[Level], pus: u64) -> Result<Vec<Row>, SyntheticError> {
    let mut nodes: Vec<(u64, Attributes, Option<Vec<u32>>)> = Vec::new();
    let mut rows: Vec<Row> = Vec::new();
    let mut groups = levels.iter().filter(|level| level.kind == ObjectKind::Group).count() as u32;
    for (at, level) in levels.iter().enumerate() {
        let must_differ = matches!(level.kind, ObjectKind::Pu | ObjectKind::NumaNode);
        let numbers = indexes::numbers(&level.attributes, level.width, &levels[..at], must_differ)?;
        if level.kind == ObjectKind::NumaNode {
            nodes.push((level.width, level.attributes.clone(), numbers));
        } else {
            // Groups without a number are counted from the innermost, which is 1.
            let depth = level.group.unwrap_or(groups);
            if level.kind == ObjectKind::Group && level.group.is_none() {
                groups = groups.saturating_sub(1);
            }
            rows.push(Row {
                kind: level.kind,
                width: level.width,
                size: level.attributes.size,
                numbers,
                group: (OF_TEXT, depth.saturating_sub(1)),
                nodes: Vec::new(),
            });
        }
        nodes.extend(
            level.attached.iter().map(|(_, attributes)| (level.width, attributes.clone(), None)),
        );
    }
    number_attached(&mut nodes, pus)?;
    let node_level = levels.iter().find(|level| level.kind == ObjectKind::NumaNode);
    drop_groups(&mut rows, node_level.map(|level| level.width));
    for (width, attributes, numbers) in nodes {
        let at = holder(&mut rows, width);
        let numbers = numbers.unwrap_or_else(|| (0..width as u32).collect());
        rows[at].nodes.push((attributes.size, attributes.side_cache, numbers));
    }
    Ok(rows)
}

/// Numbers of nodes beside levels: in the order in which hwloc meets them, those of inner objects
/// first.
fn number_attached(
    nodes: &mut [(u64, Attributes, Option<Vec<u32>>)],
    pus: u64,
) -> Result<(), SyntheticError> {
    let mut total = 0;
    let mut given = None;
    for (width, attributes, numbers) in nodes.iter() {
        if numbers.is_none() {
            total += width;
            given = if attributes.indexes.is_some() { Some(attributes.clone()) } else { given };
        }
    }
    // One list applies to them all; the last one counts.
    let list = match given {
        Some(attributes) => indexes::numbers(&attributes, total, &[], true)?,
        None => None,
    };
    let mut next = 0;
    let mut number = || {
        let number = list.as_ref().and_then(|list| list.get(next).copied()).unwrap_or(next as u32);
        next += 1;
        number
    };
    let is_level = |numbers: &Option<Vec<u32>>| numbers.is_some();
    let open: Vec<usize> = (0..nodes.len()).filter(|&at| !is_level(&nodes[at].2)).collect();
    let mut found: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
    for pu in 1..=pus {
        let mut at = open.len();
        while at > 0 {
            // Nodes beside one object stay in the order of the text.
            let width = nodes[open[at - 1]].0;
            let first = open[..at]
                .iter()
                .rposition(|&node| nodes[node].0 != width)
                .map_or(0, |last| last + 1);
            if pu % (pus / width).max(1) == 0 {
                for &node in &open[first..at] {
                    found[node].push(number());
                }
            }
            at = first;
        }
    }
    for (node, numbers) in nodes.iter_mut().zip(found) {
        node.2.get_or_insert(numbers);
    }
    Ok(())
}

/// Groups that contain just one object, or are all the contents of one, add nothing.
fn drop_groups(rows: &mut Vec<Row>, nodes: Option<u64>) {
    let mut at = 1;
    while at < rows.len() {
        let width = rows[at].width;
        let is_same = |other: Option<&Row>| other.is_some_and(|row| row.width == width);
        // PUs cannot have nodes: those of a level then stay with the group.
        let next =
            rows.get(at + 1).filter(|row| row.kind != ObjectKind::Pu || nodes != Some(width));
        let adds_nothing = is_same(rows.get(at - 1)) || is_same(next);
        if rows[at].kind == ObjectKind::Group && adds_nothing {
            rows.remove(at);
        } else {
            at += 1;
        }
    }
}

/// The row whose objects have such nodes: the topmost of that width below the machine, the machine,
/// or a new one of groups.
fn holder(rows: &mut Vec<Row>, width: u64) -> usize {
    let found =
        rows.iter().skip(1).position(|row| row.width == width && row.kind != ObjectKind::Pu);
    if let Some(at) = found {
        return at + 1;
    }
    if width == 1 {
        return 0;
    }
    let at = rows.iter().position(|row| row.width >= width).unwrap_or(rows.len() - 1);
    let group = Row {
        kind: ObjectKind::Group,
        width,
        size: 0,
        numbers: None,
        group: (FOR_MEMORY, 0),
        nodes: Vec::new(),
    };
    rows.insert(at, group);
    at
}

/// All objects, parents before children, linked.
fn make(rows: &[Row], pus: u64) -> Vec<Object> {
    let mut made = Topology::default();
    let mut open: Vec<ObjectId> = vec![ObjectId(0); rows.len()];
    for pu in 0..pus {
        for (at, row) in rows.iter().enumerate() {
            let span = (pus / row.width).max(1);
            if pu % span != 0 {
                continue;
            }
            let index = (pu / span) as usize;
            let mut object = Object::new(row.kind);
            object.attributes = facts(row);
            let counts = !row.kind.is_cache() && row.kind != ObjectKind::Group;
            object.os_index = match &row.numbers {
                Some(numbers) => numbers.get(index).copied(),
                None => counts.then_some(index as u32),
            };
            let parent = at.checked_sub(1).map(|above| open[above]);
            open[at] = made.add(object, parent);
            for (memory, side_cache, numbers) in &row.nodes {
                let mut beside = open[at];
                if *side_cache > 0 {
                    let mut cache = Object::new(ObjectKind::MemCache);
                    cache.attributes = Facts::Cache {
                        size: *side_cache,
                        depth: 1,
                        line: 64,
                        associativity: 0,
                        data: true,
                        instructions: true,
                    };
                    beside = made.add(cache, Some(beside));
                }
                let mut node = Object::new(ObjectKind::NumaNode);
                node.os_index = numbers.get(index).copied();
                node.attributes =
                    Facts::Numa { memory: *memory, pages: vec![(4096, memory / 4096)] };
                made.add(node, Some(beside));
            }
        }
    }
    made.objects
}

fn facts(row: &Row) -> Facts {
    match xml::level_of(row.kind) {
        Some(depth) => {
            // Defaults of the text: 32 KiB, 4 MiB, 16 MiB ...
            let size = if depth == 1 { 32 << 10 } else { (256 << 10) << (2 * depth) };
            let is_instructions = matches!(
                row.kind,
                ObjectKind::L1ICache | ObjectKind::L2ICache | ObjectKind::L3ICache
            );
            Facts::Cache {
                size: if row.size == 0 { size } else { row.size },
                depth,
                line: 64,
                associativity: 0,
                data: !is_instructions,
                instructions: is_instructions || row.kind != ObjectKind::L1Cache,
            }
        }
        None if row.kind == ObjectKind::Group => {
            Facts::Group { kind: row.group.0, subkind: row.group.1 }
        }
        None => Facts::None,
    }
}
