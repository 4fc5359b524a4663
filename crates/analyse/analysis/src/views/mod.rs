//! Views of an analysed run as typed results: the data of `talea show`.
//!
//! Owns the way from an analysis to [`talea_results::views`]; call sites and hosts are
//! [`crate::report`]'s, and the matrix of the report is [`crate::matrix`]'s.

mod choice;
mod collection;
mod growth;
mod iterations;
mod samples;
mod structure;

use talea_model::Nanos;
use talea_results::views::{
    ClassData, CollectiveData, GraphSizes, GraphView, MatrixData, StatsData,
};

pub use choice::{ViewError, check, choose, sampled};
pub use collection::{Plan, collection};
pub use growth::{NoTimes, growth};
pub use iterations::{IterationsError, Which, iterations};
pub use samples::{rows as sample_rows, samples};
pub use structure::{Drawn, structure, trees};

use crate::classes::Class;
use crate::delays::Delay;
use crate::display::Shown;
use crate::location::ThreadAt;
use crate::rank::{ThreadStudy, part};
use crate::{Analysis, graph, matrix};

/// The event flow graph of a thread, chains of calls as one node.
pub fn flow_graph(analysis: &Analysis<'_>, at: ThreadAt) -> GraphView {
    let thread = analysis.recorded(at);
    let (recording, process) = (&analysis.run.recording, analysis.process(at.process));
    let shown = Shown::from_thread(recording, process, thread, &analysis.paths);
    let study = analysis.thread(at);
    GraphView {
        rank: analysis.ranks[at.process].rank,
        thread: study.number,
        stats: GraphSizes {
            nodes: study.graph.nodes,
            edges: study.graph.edges,
            events: study.graph.events,
            cardinality: study.graph.cardinality,
        },
        graph: graph::graph(analysis, thread, &shown, 0),
    }
}

/// Counts and sizes of the recording.
pub fn stats(analysis: &Analysis<'_>) -> StatsData {
    let recording = &analysis.run.recording;
    let threads = || analysis.ranks.iter().flat_map(|rank| rank.active().map(|(_, one)| one));
    let mean = |value: &dyn Fn(&ThreadStudy) -> f64| {
        let count = threads().count();
        (count > 0).then(|| threads().map(value).sum::<f64>() / count as f64)
    };
    let time = analysis.time_of_all();
    let mpi: Nanos = analysis.ranks.iter().map(|rank| rank.mpi).sum();
    let delay = analysis.delay();
    StatsData {
        ranks: analysis.ranks.len(),
        calls: analysis.calls.calls(),
        events: recording.events(),
        nodes: mean(&|thread| thread.graph.nodes as f64),
        edges: mean(&|thread| thread.graph.edges as f64),
        cardinality: mean(&|thread| thread.graph.cardinality),
        bytes_total: recording.sizes.total,
        bytes_sequence: recording.sizes.sequence,
        bytes_times: recording.sizes.times,
        classes: analysis.classes.len(),
        dominant_loop_share: analysis.dominant_share(),
        // Calls without an order have sums, but no begin and end.
        mpi_share: (time > Nanos(0) && mpi <= time).then(|| part(mpi, time)),
        waiting_share: analysis.waiting_share().filter(|_| time > Nanos(0)),
        waiting_judged: analysis.judged_part(),
        threads_wait_for_pus: analysis.is_crowded(),
        running_share: delay.map(Delay::ran_share),
        delayed_share: delay.map(Delay::share),
        gaps: recording.gaps.clone(),
    }
}

/// Communication from rank to rank, one cell for each pair.
pub fn matrix(analysis: &Analysis<'_>) -> MatrixData {
    let folded = matrix::matrix(analysis);
    let collectives = analysis.collectives.iter().map(|(procedure, sum)| CollectiveData {
        procedure: procedure.clone(),
        calls: sum.calls,
        bytes: sum.bytes,
    });
    MatrixData {
        ranks: folded.ranks,
        what: folded.what,
        cells: analysis
            .matrix
            .cells()
            .map(|(from, to, cell)| (from, to, cell.bytes, cell.messages))
            .collect(),
        collectives: collectives.collect(),
    }
}

/// Classes of threads that behave alike.
pub fn classes(analysis: &Analysis<'_>) -> Vec<ClassData> {
    let class = |(id, class): (usize, &Class)| {
        let study = analysis.thread(class.representative);
        ClassData {
            id,
            name: class.name.clone(),
            ranks: analysis.ranks_of(&class.members),
            locations: analysis.locations(&class.members),
            count: class.members.len(),
            representative: analysis.ranks[class.representative.process].rank,
            thread: study.number,
            exact_classes: class.exact,
            events: study.events,
            nodes: study.graph.nodes,
            edges: study.graph.edges,
        }
    };
    analysis.classes.iter().enumerate().map(class).collect()
}
