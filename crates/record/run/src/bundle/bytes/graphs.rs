//! Graphs and tables of arguments as bytes, columnwise.
//!
//! Owns their format: a column for each number of a graph, of all its nodes, of all their
//! successors; then the same for tables of arguments. Streams are named by [`FirstUses`],
//! successors by their distance from their node.

use super::columns::{Columns, FirstUses, Form, total};
use crate::bundle::{Body, Column, Graph, Node};
use crate::live::numbers::{Cursor, put_number};

pub(super) fn put_graphs(out: &mut Vec<u8>, form: Form, graphs: &[Graph]) {
    put_number(out, graphs.len() as u64);
    form.put(out, graphs.iter().map(|g| g.events as i64));
    form.put(out, graphs.iter().map(|g| i64::from(g.last)));
    form.put(out, graphs.iter().map(|g| g.nodes.len() as i64));
    let nodes = || graphs.iter().flat_map(|g| &g.nodes);
    form.put(out, nodes().map(|n| i64::from(n.procedure)));
    form.put(out, nodes().map(|n| i64::from(n.path)));
    form.put(out, nodes().map(|n| n.visits as i64));
    let mut streams = FirstUses::default();
    form.put(out, nodes().map(|n| stream_or_none(&mut streams, n.choices)));
    form.put(out, nodes().map(|n| n.successors.len() as i64));
    let distances = |graph: &Graph| -> Vec<i64> {
        let nodes = graph.nodes.iter().zip(0_i64..);
        nodes.flat_map(|(n, at)| n.successors.iter().map(move |&s| i64::from(s) - at)).collect()
    };
    form.put(out, graphs.iter().flat_map(distances));
}

pub(super) fn get_graphs(from: &mut Cursor<'_>, columns: &mut Columns) -> Option<Vec<Graph>> {
    let count = from.number()?;
    let events = columns.get(from, count)?;
    let last = columns.small(from, count)?;
    let lengths = columns.small(from, count)?;
    let nodes = total(&lengths);
    let procedures = columns.small(from, nodes)?;
    let paths = columns.small(from, nodes)?;
    let visits = columns.get(from, nodes)?;
    let mut streams = FirstUses::default();
    let choices = columns.small(from, nodes)?;
    let branches = columns.small(from, nodes)?;
    let mut distances = columns.get(from, total(&branches))?.into_iter();
    let mut node = 0;
    let mut graphs = Vec::new();
    for ((events, last), length) in events.into_iter().zip(last).zip(lengths) {
        let nodes = (0..i64::from(length)).map(|at| {
            let all = node;
            node += 1;
            let successors = distances.by_ref().take(branches[all] as usize);
            Some(Node {
                procedure: procedures[all],
                path: paths[all],
                visits: visits[all] as u64,
                successors: successors
                    .map(|distance| u32::try_from(at.checked_add(distance)?).ok())
                    .collect::<Option<_>>()?,
                choices: none_or_stream(&mut streams, choices[all]),
            })
        });
        graphs.push(Graph { events: events as u64, last, nodes: nodes.collect::<Option<_>>()? });
    }
    Some(graphs)
}

pub(super) fn put_bodies(out: &mut Vec<u8>, form: Form, bodies: &[Body]) {
    put_number(out, bodies.len() as u64);
    form.put(out, bodies.iter().map(|b| i64::from(b.graph)));
    form.put(out, bodies.iter().map(|b| b.columns.len() as i64));
    form.put(out, bodies.iter().map(|b| b.polls.len() as i64));
    let columns = || bodies.iter().flat_map(|b| &b.columns);
    let mut streams = FirstUses::default();
    form.put(out, columns().map(|c| streams.number(c.stream)));
    form.put(out, columns().map(|c| c.base));
    form.put(out, columns().map(|c| c.step as i64));
    let mut streams = FirstUses::default();
    let polls = bodies.iter().flat_map(|b| &b.polls);
    form.put(out, polls.map(|&p| stream_or_none(&mut streams, p)));
}

pub(super) fn get_bodies(from: &mut Cursor<'_>, columns: &mut Columns) -> Option<Vec<Body>> {
    let count = from.number()?;
    let graphs = columns.small(from, count)?;
    let widths = columns.small(from, count)?;
    let lengths = columns.small(from, count)?;
    let all = total(&widths);
    let mut first_uses = FirstUses::default();
    let streams = columns.small(from, all)?;
    let bases = columns.get(from, all)?;
    let steps = columns.get(from, all)?;
    let mut scaled = streams.into_iter().zip(bases).zip(steps).map(|((stream, base), step)| {
        Column { stream: first_uses.id(stream), base, step: step as u64 }
    });
    let mut poll_streams = FirstUses::default();
    let polls = columns.small(from, total(&lengths))?;
    let mut polls = polls.into_iter().map(|poll| none_or_stream(&mut poll_streams, poll));
    let bodies = graphs.into_iter().zip(widths).zip(lengths).map(|((graph, width), length)| Body {
        graph,
        columns: scaled.by_ref().take(width as usize).collect(),
        polls: polls.by_ref().take(length as usize).collect(),
    });
    Some(bodies.collect())
}

/// A stream's number + 1 with 0 for none, as in [`Node::choices`] and [`Body::polls`].
fn stream_or_none(streams: &mut FirstUses, stream: u32) -> i64 {
    stream.checked_sub(1).map_or(0, |id| streams.number(id) + 1)
}

fn none_or_stream(streams: &mut FirstUses, number: u32) -> u32 {
    number.checked_sub(1).map_or(0, |number| streams.id(number).saturating_add(1))
}
