//! `topology.yaml`, which Slurm has since 25.05: a list of topologies; one is the cluster's.
//!
//! Owns the choice of the topology (the first with `cluster_default: true`, else the first of
//! switches or blocks) and its form: `tree: {switches: [{switch, children, nodes}]}`, `block:
//! {blocks: [{block, nodes}]}`, as indented lines. Of YAML it knows the subset of
//! [`crate::fabric::yaml`]. It refuses topologies without switches.

use talea_model::Gaps;

use super::{Error, MOST, Room, Switch, wrong};
use crate::fabric::yaml::{Node, Value, read as parse};
use crate::fabric::{missing, short};

pub(super) fn read(text: &str, gaps: &mut Gaps) -> Result<Vec<Switch>, Error> {
    let root = parse(text)?;
    let all = root.list("a list of topologies, each `- topology: NAME`")?;
    let is_default = |one: &&Node<'_>| {
        let value = one.get("cluster_default").and_then(Node::text);
        value.is_some_and(|value| ["true", "yes", "on"].contains(&&*value.to_ascii_lowercase()))
    };
    let has_switches = |one: &&Node<'_>| one.get("tree").or(one.get("block")).is_some();
    let chosen = all.iter().find(is_default).or_else(|| all.iter().find(has_switches));
    let chosen = chosen.or(all.first()).ok_or(Error::Nothing { expected: "a topology" })?;
    if all.len() > 1 {
        let name = chosen.get("topology").and_then(Node::text).unwrap_or("");
        let detail = format!("topologies beside `{}`, which is the one that is read", short(name));
        gaps.note(missing(detail, all.len() as u64 - 1));
    }
    let mut room = Room(MOST);
    let (members, is_block) = match (chosen.get("tree"), chosen.get("block")) {
        (Some(tree), None) => (tree.get("switches"), false),
        (None, Some(block)) => (block.get("blocks"), true),
        _ => {
            let keys = chosen.keys().join(", ");
            let expected = "a topology with `tree:` or `block:`, which names switches or blocks";
            return Err(wrong(chosen.line, expected, &keys));
        }
    };
    let expected = if is_block { "`blocks:` with a list" } else { "`switches:` with a list" };
    let members = members.ok_or_else(|| wrong(chosen.line, expected, ""))?.list(expected)?;
    members.iter().map(|member| switch(member, is_block, &mut room)).collect()
}

fn switch(member: &Node<'_>, is_block: bool, room: &mut Room) -> Result<Switch, Error> {
    let (own, expected) = if is_block {
        ("block", "`- block: NAME` with `nodes:`")
    } else {
        ("switch", "`- switch: NAME` with `children:` or `nodes:`")
    };
    let line = member.line;
    let Value::Map(entries) = &member.value else {
        return Err(wrong(line, expected, member.text().unwrap_or("")));
    };
    let mut switch = Switch { line, is_block, ..Switch::default() };
    for (key, node) in entries {
        let text = node.text().ok_or_else(|| wrong(node.line, expected, key))?;
        match *key {
            key if key == own && switch.name.is_empty() => {
                switch.name = room.name(text, node.line)?;
            }
            _ if text.is_empty() => {}
            "nodes" if switch.nodes.is_empty() => switch.nodes = room.list(text, node.line)?,
            "children" if !is_block && switch.switches.is_empty() => {
                switch.switches = room.list(text, node.line)?;
            }
            _ => return Err(wrong(node.line, format!("{expected}, each once"), key)),
        }
    }
    if switch.name.is_empty() {
        return Err(wrong(line, expected, ""));
    }
    Ok(switch)
}
