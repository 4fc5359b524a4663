//! Structure trees and flow graphs of the made-up runs.

use talea_model::Nanos;
use talea_report::data::{
    ChainCall, GraphData, GraphEdge, GraphLoop, GraphNode, TreeKind, TreeNode,
};

use super::fill::tree_node;
use super::play::{Call, SITES};
use super::{INNER, INNER_LOOP, MAIN_LOOP, category};

fn figures(node: &mut TreeNode, calls: &[Call], sites: &[usize], gaps: bool) {
    let own = || calls.iter().filter(|call| sites.contains(&call.site));
    let mpi: u64 = own().map(|call| call.duration).sum();
    let gap: u64 = if gaps { own().map(|call| call.gap).sum() } else { 0 };
    let all = calls.last().map_or(1, |call| call.begin + call.duration);
    node.time = Nanos(mpi + gap);
    node.share = node.time.0 as f64 / all as f64;
    node.mpi_share = mpi as f64 / (mpi + gap).max(1) as f64;
    node.events = own().count() as u64;
}

pub(super) fn tree(class: u32, calls: &[Call]) -> TreeNode {
    let mut next = class * 1000;
    let mut make = |kind, label: &str, sites: &[usize]| {
        next += 1;
        let mut node = tree_node(next, kind, label);
        figures(&mut node, calls, sites, kind != TreeKind::Call);
        if kind == TreeKind::Call {
            node.site = Some(sites[0] as u32);
        }
        node
    };
    let ran = |site: &usize| calls.iter().any(|call| call.site == *site);
    let mut root = make(TreeKind::Root, "run", &(0..SITES.len()).collect::<Vec<_>>());
    root.children.push(make(TreeKind::Call, "MPI_Init", &[0]));
    let mut setup = make(TreeKind::Sequence, "set-up", &[1, 2, 3, 4]);
    setup.children =
        (1..5).map(|site| make(TreeKind::Call, SITES[site].procedure, &[site])).collect();
    root.children.push(setup);
    let mut main = make(TreeKind::Loop, "halo.c:120", &(5..14).collect::<Vec<_>>());
    main.loop_id = Some(class * 10 + MAIN_LOOP);
    main.count = Some(calls.iter().filter(|call| call.site == 9).count() as u64);
    for site in (5..10).filter(ran) {
        main.children.push(make(TreeKind::Call, SITES[site].procedure, &[site]));
    }
    let mut inner = make(TreeKind::Loop, "cg.c:40", &[10, 11]);
    inner.loop_id = Some(class * 10 + INNER_LOOP);
    inner.count = Some(INNER);
    inner.children = vec![
        make(TreeKind::Call, "MPI_Allreduce", &[10]),
        make(TreeKind::Call, "MPI_Sendrecv", &[11]),
    ];
    main.children.push(inner);
    if ran(&12) {
        let mut write = make(TreeKind::Sequence, "output", &[12]);
        write.guard = "9,59,10,1".to_owned();
        write.children = vec![make(TreeKind::Call, SITES[12].procedure, &[12])];
        main.children.push(write);
    }
    main.children.push(make(TreeKind::Call, "MPI_Allreduce", &[13]));
    root.children.push(main);
    for site in (14..17).filter(ran) {
        root.children.push(make(TreeKind::Call, SITES[site].procedure, &[site]));
    }
    root
}

pub(super) fn graph(class: u32, calls: &[Call]) -> GraphData {
    let ran = |site: &usize| calls.iter().any(|call| call.site == *site);
    let mut groups: Vec<Vec<usize>> = vec![vec![0], vec![1, 2, 3, 4]];
    let exchange: Vec<usize> = (5..9).filter(ran).collect();
    if exchange.len() > 2 {
        groups.push(exchange);
    } else {
        groups.extend(exchange.into_iter().map(|site| vec![site]));
    }
    groups.extend((9..17).filter(ran).map(|site| vec![site]));
    let node_of = |site: usize| groups.iter().position(|group| group.contains(&site)).unwrap();
    let (main, inner) = (class * 10 + MAIN_LOOP, class * 10 + INNER_LOOP);
    let mut nodes: Vec<GraphNode> = Vec::new();
    for (id, group) in groups.iter().enumerate() {
        let time = |site: usize| {
            calls.iter().filter(|call| call.site == site).map(|call| Nanos(call.duration)).sum()
        };
        let first = group[0];
        let single = group.len() == 1;
        nodes.push(GraphNode {
            id: id as u32,
            label: if single {
                SITES[first].procedure.to_owned()
            } else {
                format!("{} calls: {} …", group.len(), SITES[first].function)
            },
            procedure: if single { SITES[first].procedure.to_owned() } else { String::new() },
            site: single.then_some(first as u32),
            visits: calls.iter().filter(|call| call.site == first).count() as u64,
            time: group.iter().map(|&site| time(site)).sum(),
            loop_id: match first {
                10 | 11 => Some(inner),
                5..=13 => Some(main),
                _ => None,
            },
            category: category(*group.last().unwrap()),
            calls: if single {
                Vec::new()
            } else {
                group
                    .iter()
                    .map(|&site| ChainCall {
                        label: format!(
                            "{} {}:{}",
                            SITES[site].procedure, SITES[site].file, SITES[site].line
                        ),
                        site: Some(site as u32),
                        time: time(site),
                        category: category(site),
                    })
                    .collect()
            },
        });
    }
    let mut edges: Vec<(GraphEdge, Vec<u64>)> = Vec::new();
    let mut visits = vec![0; nodes.len()];
    let mut before: Option<usize> = None;
    for call in calls {
        let node = node_of(call.site);
        if call.site != groups[node][0] {
            continue;
        }
        if let Some(from) = before {
            let key = (from as u32, node as u32);
            let at = edges.iter().position(|(edge, _)| (edge.from, edge.to) == key).unwrap_or_else(
                || {
                    edges.push((
                        GraphEdge {
                            from: key.0,
                            to: key.1,
                            transitions: 0,
                            gap: Nanos(0),
                            label: String::new(),
                            back: node <= from,
                        },
                        Vec::new(),
                    ));
                    edges.len() - 1
                },
            );
            edges[at].0.transitions += 1;
            edges[at].0.gap += Nanos(call.gap);
            edges[at].1.push(visits[from]);
        }
        visits[node] += 1;
        before = Some(node);
    }
    for (edge, taken) in &mut edges {
        if edge.transitions != nodes[edge.from as usize].visits {
            edge.label = label(taken);
        }
    }
    let one = |id, parent, iterations: u64, place: &str| GraphLoop {
        id,
        parent,
        iterations,
        label: format!("×{iterations}  {place}"),
    };
    let count = |site| calls.iter().filter(|call| call.site == site).count() as u64;
    let loops =
        vec![one(main, None, count(9), "halo.c:120"), one(inner, Some(main), count(10), "cg.c:40")];
    GraphData { nodes, edges: edges.into_iter().map(|one| one.0).collect(), loops }
}

/// Blocks `first,last,stride,length`, greedily from the left.
fn label(taken: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &visit in taken {
        match runs.last_mut() {
            Some(run) if run.0 + run.1 == visit => run.1 += 1,
            _ => runs.push((visit, 1)),
        }
    }
    let mut parts = Vec::new();
    let mut at = 0;
    while at < runs.len() {
        let (first, length) = runs[at];
        let stride = runs.get(at + 1).map_or(0, |next| next.0 - first);
        let mut last = at;
        while last + 1 < runs.len() && runs[last + 1] == (runs[last].0 + stride, length) {
            last += 1;
        }
        let end = runs[last].0 + length - 1;
        parts.push(if last == at {
            format!("{first},{end}")
        } else {
            format!("{first},{end},{stride},{length}")
        });
        at = last + 1;
    }
    parts.join("|")
}
