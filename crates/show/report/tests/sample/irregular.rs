//! A graph with branches, nested loops and iterations that differ, as molecular dynamics has it.

use talea_model::Nanos;
use talea_report::data::{Category, GraphData, GraphEdge, GraphLoop, GraphNode};

/// The graph of a walk through the program below, with every node in the loop that it stands in.
pub fn irregular() -> GraphData {
    let walk = walk();
    let mut names: Vec<(&str, Option<u32>)> = Vec::new();
    for step in &walk {
        if !names.contains(step) {
            names.push(*step);
        }
    }
    let place =
        |step: &(&str, Option<u32>)| names.iter().position(|one| one == step).unwrap() as u32;
    let nodes = (0..).zip(&names).map(|(id, &(name, loop_id))| GraphNode {
        id,
        label: name.to_owned(),
        procedure: name.split(' ').next().unwrap().to_owned(),
        site: None,
        visits: walk.iter().filter(|step| step.0 == name).count() as u64,
        time: Nanos(u64::from(id) * 7919 % 13 * 1_000_000),
        loop_id,
        category: category(name),
        calls: Vec::new(),
    });
    let mut edges: Vec<GraphEdge> = Vec::new();
    for pair in walk.windows(2) {
        let (from, to) = (place(&pair[0]), place(&pair[1]));
        if let Some(edge) = edges.iter_mut().find(|edge| (edge.from, edge.to) == (from, to)) {
            edge.transitions += 1;
            edge.gap += Nanos(100_000);
        } else {
            let label = String::new();
            edges.push(GraphEdge {
                from,
                to,
                transitions: 1,
                gap: Nanos(100_000),
                label,
                back: to <= from,
            });
        }
    }
    let one = |id, parent, iterations, label: &str| GraphLoop {
        id,
        parent,
        iterations,
        label: label.to_owned(),
    };
    let loops = vec![
        one(1, None, 100, "×100  verlet.cpp:291"),
        one(2, Some(1), 300, "×300  comm.cpp:12"),
        one(3, Some(2), 900, "×900  comm.cpp:40"),
    ];
    GraphData { nodes: nodes.collect(), edges, loops }
}

fn category(name: &str) -> Category {
    match name {
        name if name.contains("Wait") => Category::Waiting,
        name if name.contains("send") || name.contains("ecv") => Category::Transfer,
        name if name.contains("File") => Category::Io,
        name if ["MPI_Init", "MPI_Finalize", "MPI_Comm_split"].contains(&name) => Category::Setup,
        _ => Category::Collective,
    }
}

fn walk() -> Vec<(&'static str, Option<u32>)> {
    let mut walk: Vec<(&'static str, Option<u32>)> =
        ["MPI_Init", "MPI_Comm_split", "MPI_Bcast", "MPI_Allgather"]
            .map(|name| (name, None))
            .to_vec();
    for step in 0..100 {
        let mut call = |inside, names: &[&'static str]| {
            walk.extend(names.iter().map(|&name| (name, Some(inside))));
        };
        call(1, &["MPI_Irecv halo"]);
        if step % 20 == 0 {
            call(1, &["MPI_Sendrecv x", "MPI_Sendrecv y", "MPI_Allreduce count", "MPI_Alltoall"]);
            if step % 40 == 0 {
                call(1, &["MPI_Barrier"]);
            }
        } else {
            call(1, &["MPI_Isend halo"]);
        }
        call(1, &["MPI_Waitany"]);
        for side in 0..3 {
            call(2, &["MPI_Send side"]);
            for _ in 0..2 + (step + side) % 3 {
                call(3, &["MPI_Irecv part", "MPI_Isend part"]);
                if (step + side) % 5 == 0 {
                    call(3, &["MPI_Test"]);
                }
                call(3, &["MPI_Wait part"]);
            }
            call(2, &["MPI_Recv side"]);
            if side == 1 && step % 7 == 0 {
                call(2, &["MPI_Probe"]);
            }
        }
        if step % 10 == 9 {
            call(1, &["MPI_Allreduce thermo", "MPI_Gather"]);
        }
        if step == 50 {
            call(1, &["MPI_File_write"]);
        }
        if step % 3 == 0 {
            call(1, &["MPI_Iallreduce", "MPI_Wait sum"]);
        }
    }
    walk.extend([("MPI_Reduce", None), ("MPI_Finalize", None)]);
    walk
}
