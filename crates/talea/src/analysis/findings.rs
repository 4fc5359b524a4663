//! What matters about a run, in plain sentences with figures.
//!
//! Owns the wording and the order: the loop, what an iteration takes, what waits, who is uneven, what ended early.
//! Each sentence has the place of its evidence. A finding is left out rather than said without a figure behind it.

mod iterations;

use std::fmt::Write as _;

use talea_model::Nanos;
use talea_report::data::{Category, Finding, Target, TreeKind, TreeNode};
use talea_run::recording::{Ended, Process};

use super::Analysis;
use super::classes::ranges;
use super::rank::part;
use super::tree::tree;
use iterations::iterations;

/// A rank that computes longer than the mean by this factor stands out.
const UNEVEN: f64 = 1.1;

/// All findings, most important first.
pub(crate) fn findings(analysis: &Analysis<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(ended_early(analysis));
    found.extend(dominant(analysis));
    found.extend(iterations(analysis));
    found.extend((!analysis.ranks.is_empty()).then(|| waiting(analysis)));
    found.extend(uneven(analysis));
    found.extend(badly_placed(analysis));
    found.extend(largest(analysis));
    found.extend(classes(analysis));
    found
}

/// `98.8 %`, with as many digits as mean something.
pub(crate) fn percent(part: f64) -> String {
    let percent = part * 100.0;
    match percent {
        99.5..100.0 => format!("{:.1} %", percent.min(99.9)),
        9.95.. => format!("{percent:.0} %"),
        0.0 => "0 %".to_owned(),
        _ => format!("{percent:.1} %"),
    }
}

/// How a process ended, in words.
pub(crate) fn end(process: &Process, last: Nanos) -> String {
    match process.ended {
        Ended::Finalized => "finished".to_owned(),
        Ended::Aborted(code) => format!("MPI_Abort({code}) after {last}"),
        Ended::Exited => format!("exit without MPI_Finalize after {last}"),
        Ended::Killed => format!("killed or crashed after {last}"),
    }
}

/// Part of a loop's time from which on a loop inside it is told as well.
const NEARLY_ALL: f64 = 0.9;

/// Hosts whose oddities are told; the table of hosts has all.
const HOSTS: usize = 2;

/// Where ranks share PUs that they need, or run anywhere.
fn badly_placed(analysis: &Analysis<'_>) -> Vec<Finding> {
    let many = analysis.hosts().len() > 1;
    let odd = analysis.hosts().iter().filter(|host| !host.notes().is_empty()).take(HOSTS);
    odd.flat_map(|host| {
        host.notes().into_iter().map(|note| {
            let at = if many { format!("On `{}`, ", host.name) } else { String::new() };
            let text = if many { note } else { sentence(&note) };
            Finding { text: format!("{at}{text}."), target: Target::Hosts }
        })
    })
    .collect()
}

/// With a capital at its begin.
fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// The sentence on the loop that takes most time, by the structure of the largest class.
pub(crate) fn dominant(analysis: &Analysis<'_>) -> Option<Finding> {
    let class = analysis.classes.first()?;
    let thread = analysis.process(class.representative).threads.first()?;
    let tree = tree(analysis, thread, &class.shown, 0);
    let outer = largest_loop(&tree)?;
    if outer.time == Nanos(0) {
        return None;
    }
    let mut text = format!("{} of the time is one loop of {}", percent(outer.share), what(outer));
    // The loop that the program's steps are may stand inside one that reads its input.
    let mut inner = outer;
    while let Some(next) = largest_loop(inner)
        && next.time.0 as f64 >= NEARLY_ALL * inner.time.0 as f64
        && most_turns(next) >= most_turns(inner)
    {
        inner = next;
    }
    if inner.id != outer.id {
        let _ = write!(text, "; nearly all of that is a loop inside it of {}", what(inner));
    }
    text.push('.');
    Some(Finding { text, target: Target::Loop { id: inner.loop_id? } })
}

/// The outermost loop below a node that takes most time.
fn largest_loop(node: &TreeNode) -> Option<&TreeNode> {
    let below = node.children.iter().filter_map(|child| match child.kind {
        TreeKind::Loop => Some(child),
        TreeKind::Sequence => largest_loop(child),
        TreeKind::Root | TreeKind::Call => None,
    });
    below.max_by_key(|found| (found.time, std::cmp::Reverse(found.id)))
}

/// Iterations of a loop's longest execution.
fn most_turns(node: &TreeNode) -> u64 {
    node.count.or_else(|| node.range.rsplit('-').next()?.parse().ok()).unwrap_or(0)
}

/// How often a loop turns and where it begins.
fn what(node: &TreeNode) -> String {
    let count = node.count.map_or_else(|| node.range.clone(), |count| count.to_string());
    let plural = if count == "1" { "" } else { "s" };
    let mut first = node;
    while let Some(child) = first.children.first() {
        first = child;
    }
    format!("{count} iteration{plural}, from `{}`", first.label)
}

/// How much waits, and where.
fn waiting(analysis: &Analysis<'_>) -> Finding {
    let all = analysis.time_of_all();
    let mpi: Nanos = analysis.ranks.iter().map(|rank| rank.mpi).sum();
    let sites = analysis.calls.sites();
    let waiting =
        |site: &&super::calls::CallSite| site.category == Category::Waiting && !site.bracket;
    let waits: Nanos = sites.iter().filter(waiting).map(|site| site.stats.time).sum();
    if part(mpi, all) < 0.005 {
        return Finding {
            text: format!("Only {} of the time is spent in MPI.", percent(part(mpi, all))),
            target: Target::Run,
        };
    }
    let order = analysis.calls.by_time();
    let most = order.iter().find(|&&at| waiting(&&sites[at as usize]));
    let (Some(&most), true) = (most, part(waits, all) >= 0.005) else {
        return Finding {
            text: format!(
                "{} of the time is spent in MPI, next to nothing of it waits for messages.",
                percent(part(mpi, all))
            ),
            target: Target::Run,
        };
    };
    let site = &sites[most as usize];
    let here = part(site.stats.time, waits);
    let how = if here > 0.9 { "nearly all of it".to_owned() } else { percent(here) + " of that" };
    Finding {
        text: format!(
            "{} of the time is spent in MPI; {} waits for messages, {how} in `{}`.",
            percent(part(mpi, all)),
            percent(part(waits, all)),
            analysis.places.label(site.signature)
        ),
        target: Target::Site { id: most },
    }
}

/// The rank that computes longest.
fn uneven(analysis: &Analysis<'_>) -> Option<Finding> {
    let compute: Vec<Nanos> = analysis.ranks.iter().map(|rank| rank.run - rank.mpi).collect();
    let finished = |&at: &usize| analysis.process(at).ended == Ended::Finalized;
    let places: Vec<usize> = (0..compute.len()).filter(finished).collect();
    if places.len() < 2 {
        return None;
    }
    let most = *places.iter().max_by_key(|&&at| (compute[at], std::cmp::Reverse(at)))?;
    let rest: Nanos = places.iter().filter(|&&at| at != most).map(|&at| compute[at]).sum();
    let mean = rest.0 as f64 / (places.len() - 1) as f64;
    let factor = compute[most].0 as f64 / mean.max(1.0);
    let significant = part(compute[most], analysis.ranks[most].run) > 0.02;
    (factor >= UNEVEN && significant).then(|| {
        let rank = analysis.ranks[most].rank;
        let more = percent(factor - 1.0);
        Finding {
            text: format!("Rank {rank} computes {more} longer than the mean of the others."),
            target: Target::Rank { rank },
        }
    })
}

/// The call sites with most time beside the one that waits.
fn largest(analysis: &Analysis<'_>) -> Option<Finding> {
    let all = analysis.time_of_all();
    let sites = analysis.calls.sites();
    let order: Vec<u32> = analysis
        .calls
        .by_time()
        .into_iter()
        .filter(|&at| {
            !sites[at as usize].bracket && part(sites[at as usize].stats.time, all) >= 0.01
        })
        .take(3)
        .collect();
    let first = *order.first()?;
    let each: Vec<String> = order
        .iter()
        .map(|&at| {
            let site = &sites[at as usize];
            let share = percent(part(site.stats.time, all));
            format!("{share} in `{}`", analysis.places.label(site.signature))
        })
        .collect();
    Some(Finding {
        text: format!("The call sites with most time: {}.", each.join(", ")),
        target: Target::Site { id: first },
    })
}

fn classes(analysis: &Analysis<'_>) -> Option<Finding> {
    let count = analysis.classes.len();
    if count < 2 || count > analysis.ranks.len() / 2 {
        return None;
    }
    let smallest = analysis.classes.last()?;
    let ranks = ranges(smallest.members.iter().map(|&at| analysis.ranks[at].rank.0));
    Some(Finding {
        text: format!(
            "The ranks fall into {count} classes by structure; rank {ranks} is the smallest."
        ),
        target: Target::Class { id: count as u32 - 1 },
    })
}

/// Ranks that did not reach the end.
fn ended_early(analysis: &Analysis<'_>) -> Vec<Finding> {
    let early: Vec<usize> = (0..analysis.ranks.len())
        .filter(|&at| analysis.process(at).ended != Ended::Finalized)
        .collect();
    let one = |&at: &usize| {
        let (process, study) = (analysis.process(at), &analysis.ranks[at]);
        let mut text = format!("Rank {}: {}", study.rank, end(process, study.end - study.begin));
        if let Some(open) = process.open {
            let signature = talea_model::Signature { procedure: open.procedure, path: open.path };
            let _ = write!(text, ", inside `{}`", analysis.places.label(signature));
        }
        Finding { text: text + ".", target: Target::Rank { rank: study.rank } }
    };
    if early.len() <= 3 {
        return early.iter().map(one).collect();
    }
    // The likeliest cause: who aborted; else who was not waiting for others inside a call; else the first to end.
    let first = early.iter().min_by_key(|&&at| {
        let process = analysis.process(at);
        let aborted = matches!(process.ended, Ended::Aborted(_));
        (!aborted, process.open.is_some(), analysis.ranks[at].end, at)
    });
    let rest = Finding {
        text: format!(
            "{} of {} ranks did not reach MPI_Finalize.",
            early.len(),
            analysis.ranks.len()
        ),
        target: Target::Run,
    };
    first.map(one).into_iter().chain([rest]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_in_sentences() {
        let texts: Vec<String> = [0.0, 0.0123, 0.31, 0.999, 1.0].into_iter().map(percent).collect();
        assert_eq!(texts, ["0 %", "1.2 %", "31 %", "99.9 %", "100 %"]);
    }
}
