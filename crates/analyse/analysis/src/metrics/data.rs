//! The public data of metrics, from a study.

use talea_metric::Category;
use talea_metric::measure::Chosen;
use talea_results::metrics::{
    Efficiency, MetricCategory, MetricRow, MetricsCluster, MetricsData, MetricsRank, MetricsSpan,
    ModelProblem, ModelRow, ModelTree, SpanChoice,
};

use super::{ModelLine, Outcome, Study};

/// Metrics of one input.
pub fn data(study: &Study) -> MetricsData {
    let metrics = study.table.iter().enumerate().map(|(at, one)| MetricRow {
        category: match one.category {
            Category::Performance => MetricCategory::Performance,
            Category::Architecture => MetricCategory::Architecture,
            Category::InstructionMix => MetricCategory::InstructionMix,
        },
        key: one.key.to_owned(),
        name: one.name.to_owned(),
        unit: one.unit.to_owned(),
        value: one.value.as_ref().ok().copied(),
        from: one.from.as_ref().map(ToString::to_string),
        reason: one.value.as_ref().err().cloned(),
        by_rank: study.ranks.iter().map(|rank| finite(rank.table[at])).collect(),
        by_cluster: study.clusters.iter().map(|one| finite(one.table[at])).collect(),
    });
    let of_nodes = study.numbers.nodes.iter().map(|one| &one.name);
    let counters = study.numbers.counters.iter().chain(of_nodes);
    MetricsData {
        input: study.path.display().to_string(),
        span_ns: MetricsSpan {
            begin: study.numbers.span.begin,
            end: study.numbers.span.end,
            chosen: match study.numbers.span.chosen {
                Chosen::BetweenInitAndFinalize => SpanChoice::BetweenInitAndFinalize,
                Chosen::Whole => SpanChoice::Whole,
                Chosen::Asked => SpanChoice::Asked,
            },
        },
        locations: study.numbers.locations.len(),
        ranks: study
            .ranks
            .iter()
            .map(|rank| MetricsRank {
                application: rank.application,
                rank: rank.number,
                threads: rank.threads,
            })
            .collect(),
        clusters: study
            .clusters
            .iter()
            .map(|one| MetricsCluster {
                id: one.id,
                bursts: one.bursts,
                time_share: finite(one.time_share),
            })
            .collect(),
        efficiency: efficiency(study),
        metrics: metrics.collect(),
        models: study.models.iter().map(model).collect(),
        counters: counters.map(|name| (name.clone(), study.values.get(name).copied())).collect(),
        gaps: study.gaps.clone(),
    }
}

fn efficiency(study: &Study) -> Efficiency {
    let value = |key: &str| {
        let factor = study.factors.iter().find(|factor| factor.key == key)?;
        factor.value.as_ref().ok().copied()
    };
    let reason = |factor: &talea_metric::efficiency::Factor| {
        Some((factor.key.to_owned(), factor.value.as_ref().err()?.clone()))
    };
    Efficiency {
        global: value("global"),
        parallel: value("parallel"),
        load_balance: value("load_balance"),
        communication: value("communication"),
        serialisation: value("serialisation"),
        transfer: value("transfer"),
        mpi_parallel: value("mpi_parallel"),
        mpi_load_balance: value("mpi_load_balance"),
        mpi_communication: value("mpi_communication"),
        thread_parallel: value("thread_parallel"),
        computation_scaling: value("computation_scaling"),
        ipc_scaling: value("ipc_scaling"),
        instruction_scaling: value("instruction_scaling"),
        frequency_scaling: value("frequency_scaling"),
        reasons: study.factors.iter().filter_map(reason).collect(),
    }
}

fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

fn model(outcome: &Outcome) -> ModelTree {
    ModelTree {
        model: outcome.name.clone(),
        metrics: outcome.lines.iter().map(line).collect(),
        problems: outcome
            .problems
            .iter()
            .map(|problem| ModelProblem { line: problem.line, what: problem.what.clone() })
            .collect(),
    }
}

fn line(line: &ModelLine) -> ModelRow {
    ModelRow {
        name: line.name.clone(),
        description: line.description.clone(),
        unit: line.unit.clone(),
        value: line.value.as_ref().ok().copied().and_then(finite),
        reason: line.value.as_ref().err().map(ToString::to_string),
        level: line.level,
        parent: line.parent.clone(),
        depth: line.depth,
        exceeded: line.exceeded,
        children_sum: line.children_sum.and_then(finite),
    }
}
