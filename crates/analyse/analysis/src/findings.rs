//! Findings about a run, in plain sentences with figures.
//!
//! Owns the wording and the order: the loop, the duration of an iteration, the share of waiting,
//! the uneven rank, the ranks that ended early. Each sentence has the place of its evidence. A
//! finding without a figure is left out.

mod end;
mod iterations;

use std::cmp::Reverse;
use std::fmt::Write as _;

use talea_model::notation::grouped;
use talea_model::units::percent;
use talea_model::{Nanos, Signature};
use talea_report::data::{Category, Finding, Target, TreeKind, TreeNode};
use talea_run::recording::{Ended, Open};

use super::Analysis;
use super::calls::CallSite;
use super::classes::Class;
use super::groups::{By, Group};
use super::messages::Waits;
use super::rank::part;
use super::tree::tree;
pub use end::{end, signal_name};
use iterations::iterations;

/// Minimum part of the time for a sentence.
const LITTLE: f64 = 0.005;
/// Ratio to the mean from which on a rank's computation stands out.
const UNEVEN: f64 = 1.1;
/// Minimum of the time that a rank computes longer than the others: a few slices of the scheduler
/// and the page faults of a start take milliseconds, whatever the program does.
const NOTICEABLE: Nanos = Nanos(10_000_000);
/// Part of a loop's time from which on a loop inside it is named in its place.
const NEARLY_ALL: f64 = 0.9;

/// All findings, most important first.
pub fn findings(analysis: &Analysis<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(running(analysis));
    found.extend(ended_early(analysis));
    let placed = badly_placed(analysis);
    let (first, later) =
        if analysis.is_crowded() { (placed, Vec::new()) } else { (Vec::new(), placed) };
    found.extend(first);
    found.extend(dominant(analysis));
    found.extend(iterations(analysis));
    found.extend((!analysis.ranks.is_empty()).then(|| waiting(analysis)));
    found.extend(uneven(analysis));
    found.extend(later);
    found.extend(largest(analysis));
    found.extend(classes(analysis));
    found
}

/// `2.4`, `31`, `1,292`.
fn times(factor: f64) -> String {
    if factor < 9.95 { format!("{factor:.1}") } else { grouped(factor.round() as u64) }
}

/// Part of the time from which on a loop inside the main loop is named as well.
const WORTH_SAYING: f64 = 0.1;

/// Number of hosts whose oddities are named; the table of hosts has all.
const HOSTS: usize = 2;

/// Ranks that share PUs that they need, or that are not bound.
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

/// The text with a capital first letter.
fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// The sentence on the loop that takes most time, by the structure of the largest class.
pub fn dominant(analysis: &Analysis<'_>) -> Option<Finding> {
    let class = analysis.classes.first()?;
    let tree = tree(analysis, analysis.recorded(class.representative), &class.shown, 0);
    let steps = class.shown.steps?;
    let outer = numbered(&tree, steps.dominant)?;
    if outer.time == Nanos(0) {
        return None;
    }
    let mut text = format!(
        "{} of the time{} is one loop of {}",
        percent(outer.share),
        of_threads(analysis, class),
        what(outer)
    );
    // The program's steps may stand inside a loop that repeats all of them.
    let main = numbered(&tree, steps.steps)?;
    if main.id != outer.id {
        let _ = write!(text, "; nearly all of that is a loop inside it of {}", what(main));
    }
    if let Some(inner) = largest_loop(main).filter(|inner| inner.share >= WORTH_SAYING) {
        let (count, share) = (iterations_of(inner), percent(inner.share));
        let _ = write!(text, "; in each, a loop of {count} takes {share} of the time");
    }
    text.push('.');
    Some(Finding { text, target: Target::Loop { id: main.loop_id? } })
}

/// The threads to whose time a class's share refers, where ranks have several.
fn of_threads(analysis: &Analysis<'_>, class: &Class) -> String {
    match (analysis.has_threads(), class.members.as_slice()) {
        (false, _) => String::new(),
        (true, [one]) => format!(" of {}", analysis.location(*one)),
        (true, members) => format!(" of threads `{}`", analysis.locations(members)),
    }
}

/// The node of a tree with this number in the order of [`talea_flow::structure::Tree::visit`].
fn numbered(tree: &TreeNode, number: usize) -> Option<&TreeNode> {
    fn at<'a>(node: &'a TreeNode, left: &mut usize) -> Option<&'a TreeNode> {
        if *left == 0 {
            return Some(node);
        }
        *left -= 1;
        node.children.iter().find_map(|child| at(child, left))
    }
    at(tree, &mut { number })
}

/// The outermost loop below a node that takes most time. One of at most two iterations around
/// another loop is passed over: the inner loop is what repeats.
fn largest_loop(node: &TreeNode) -> Option<&TreeNode> {
    let below = node.children.iter().filter_map(|child| match child.kind {
        TreeKind::Loop => Some(child),
        TreeKind::Sequence => largest_loop(child),
        TreeKind::Root | TreeKind::Call => None,
    });
    let found = below.max_by_key(|found| (found.time, Reverse(found.id)))?;
    let is_short = found.count.map_or_else(|| found.range.ends_with("-2"), |count| count <= 2);
    let inner = if is_short { largest_loop(found) } else { None };
    Some(
        inner
            .filter(|inner| inner.time.0 as f64 >= NEARLY_ALL * found.time.0 as f64)
            .unwrap_or(found),
    )
}

/// The number of iterations of a loop, and its beginning.
fn what(node: &TreeNode) -> String {
    let mut first = node;
    while let Some(child) = first.children.first() {
        first = child;
    }
    format!("{}, from `{}`", iterations_of(node), first.label)
}

/// The number of iterations of a loop.
fn iterations_of(node: &TreeNode) -> String {
    match (node.count, node.iterations) {
        (Some(1), _) => "1 iteration".to_owned(),
        (Some(count), _) => format!("{count} iterations"),
        (None, Some(all)) => {
            let range = node.range.replace('-', " to ");
            format!("{range} iterations ({} in all)", grouped(all))
        }
        (None, None) => format!("{} iterations", node.range),
    }
}

/// The share of time in MPI, the part of it that waits for later ranks, and the place.
fn waiting(analysis: &Analysis<'_>) -> Finding {
    let mpi: Nanos = analysis.ranks.iter().map(|rank| rank.mpi).sum();
    let mpi = part(mpi, analysis.time_of_all());
    let of = if analysis.has_threads() { "the time of all threads" } else { "the time" };
    let finding = |text: String, target| Finding { text, target };
    if mpi < LITTLE {
        return finding(format!("Only {} of {of} is spent in MPI.", percent(mpi)), Target::Run);
    }
    let begin = format!("{} of {of} is spent in MPI", percent(mpi));
    if analysis.is_crowded() {
        let text = format!(
            "{begin}; the share spent waiting for other ranks is unknown, because threads wait for PUs."
        );
        return finding(text, Target::Hosts);
    }
    let (Some(waits), Some(share)) = (analysis.waits(), analysis.waiting_share()) else {
        return finding(format!("{begin}."), Target::Run);
    };
    let judged = analysis.judged_part();
    let until = if judged < 1.0 {
        format!(" (judged by the first {} of the run)", percent(judged))
    } else {
        String::new()
    };
    let unknown = unjudged(analysis, waits);
    let unknown = if unknown >= LITTLE {
        format!("; for {} the awaited rank is unknown", percent(unknown))
    } else {
        String::new()
    };
    let sites = analysis.calls.sites();
    let waiting = |line: &Group| -> Nanos {
        let each = line.sites.iter().filter_map(|&site| sites.get(site as usize));
        each.filter_map(|site| waits.of_calls.get(&site.signature)).map(|call| call.waiting).sum()
    };
    let lines = analysis.groups(By::Line);
    let most = lines.iter().max_by_key(|line| waiting(line));
    let (Some(most), true) = (most, share >= LITTLE) else {
        let text = format!("{begin}, almost none of it waiting for other ranks{unknown}{until}.");
        return finding(text, Target::Run);
    };
    let here = part(waiting(most), waits.total());
    let how = if here > 0.9 { "nearly all of it".to_owned() } else { percent(here) + " of that" };
    finding(
        format!(
            "{begin}; {} is waiting for ranks that come later, {how} in `{}`{}{unknown}{until}.",
            percent(share),
            most.label,
            paths(most)
        ),
        Target::Site { id: most.sites[0] },
    )
}

/// Part of the time in calls that may wait, and whose partners are unknown.
fn unjudged(analysis: &Analysis<'_>, waits: &Waits) -> f64 {
    let whole = analysis.judged_part();
    let may_wait = |site: &&CallSite| {
        matches!(site.category, Category::Waiting | Category::Collective) && !site.bracket
    };
    let unknown = |site: &CallSite| {
        let known = waits.of_calls.get(&site.signature).map_or(0, |call| call.time.0);
        (site.stats.time.0 as f64 * whole - known as f64).max(0.0)
    };
    let unknown: f64 = analysis.calls.sites().iter().filter(may_wait).map(unknown).sum();
    let time = analysis.time_of_all().0 as f64 * whole;
    if time > 0.0 { unknown / time } else { 0.0 }
}

/// The rank that computes longest.
fn uneven(analysis: &Analysis<'_>) -> Option<Finding> {
    let compute: Vec<Nanos> = analysis.ranks.iter().map(|rank| rank.run - rank.mpi).collect();
    if analysis.is_crowded() {
        return None;
    }
    let finished =
        |&at: &usize| matches!(analysis.process(at).ended, Ended::Finalized | Ended::Running);
    let places: Vec<usize> = (0..compute.len()).filter(finished).collect();
    if places.len() < 2 {
        return None;
    }
    let most = *places.iter().max_by_key(|&&at| (compute[at], Reverse(at)))?;
    let rest: Nanos = places.iter().filter(|&&at| at != most).map(|&at| compute[at]).sum();
    let mean = rest.0 as f64 / (places.len() - 1) as f64;
    longer(compute[most], Nanos(mean as u64), analysis.ranks[most].run).map(|factor| {
        let rank = analysis.ranks[most].rank;
        let longer = if factor < 2.0 {
            format!("{} longer than", percent(factor - 1.0))
        } else {
            format!("{} times as long as", times(factor))
        };
        Finding {
            text: format!("Rank {rank} computes {longer} the mean of the others."),
            target: Target::Rank { rank },
        }
    })
}

/// Ratio of a rank's computation to the mean of the others, if it stands out; `run` is the rank's
/// time.
fn longer(computes: Nanos, mean: Nanos, run: Nanos) -> Option<f64> {
    let factor = computes.0 as f64 / (mean.0 as f64).max(1.0);
    let significant = part(computes, run) > 0.02 && computes - mean >= NOTICEABLE;
    (factor >= UNEVEN && significant).then_some(factor)
}

/// The number of call paths to a line, where there are several.
fn paths(line: &Group) -> String {
    if line.sites.len() > 1 { format!(" ({} call paths)", line.sites.len()) } else { String::new() }
}

/// The lines with most time beside the one that waits.
fn largest(analysis: &Analysis<'_>) -> Option<Finding> {
    let all = analysis.time_of_all();
    let lines = analysis.groups(By::Line);
    let large = |line: &&Group| !line.bracket && part(line.stats.time, all) >= 0.01;
    let order: Vec<&Group> = lines.iter().filter(large).take(3).collect();
    let each = order.iter().map(|line| {
        let share = percent(part(line.stats.time, all));
        format!("{share} in `{}`{}", line.label, paths(line))
    });
    Some(Finding {
        text: format!("The call sites with most time: {}.", each.collect::<Vec<_>>().join(", ")),
        target: Target::Site { id: order.first()?.sites[0] },
    })
}

fn classes(analysis: &Analysis<'_>) -> Option<Finding> {
    let count = analysis.classes.len();
    let members: usize = analysis.classes.iter().map(|class| class.members.len()).sum();
    if count < 2 || count > members / 2 {
        return None;
    }
    let (id, smallest) = (0..)
        .zip(&analysis.classes)
        .min_by_key(|(id, class)| (class.members.len(), Reverse(*id)))?;
    let names = analysis.locations(&smallest.members);
    let text = if analysis.has_threads() {
        format!(
            "The threads of all ranks fall into {count} classes by structure; `{names}` is the smallest."
        )
    } else {
        format!("The ranks fall into {count} classes by structure; rank {names} is the smallest.")
    };
    Some(Finding { text, target: Target::Class { id } })
}

/// Ranks that are running.
fn running(analysis: &Analysis<'_>) -> Option<Finding> {
    let all = analysis.ranks.len();
    let running = (0..all).filter(|&at| analysis.process(at).ended == Ended::Running).count();
    (running > 0).then(|| Finding {
        text: format!("{running} of {all} ranks are running; the figures cover the run so far."),
        target: Target::Run,
    })
}

/// Ranks that did not reach the end.
fn ended_early(analysis: &Analysis<'_>) -> Vec<Finding> {
    let early: Vec<usize> = (0..analysis.ranks.len())
        .filter(|&at| !matches!(analysis.process(at).ended, Ended::Finalized | Ended::Running))
        .collect();
    let one = |&at: &usize| {
        let (process, study) = (analysis.process(at), &analysis.ranks[at]);
        let mut text = format!(
            "Rank {}: {}",
            study.rank,
            end(&analysis.run.metadata, process, study.begin, study.end)
        );
        if let Some(open) = &process.open {
            let signature = |open: &Open| Signature { procedure: open.procedure, path: open.path };
            let label = |open| format!("`{}`", analysis.places.label(signature(open)));
            let sites = &process.polling;
            // A waiting call may follow polls, which are over by then.
            let polls = sites.len() > 1 && sites.iter().any(|s| signature(s) == signature(open));
            let _ = if polls {
                let all: Vec<String> = sites.iter().map(label).collect();
                write!(text, ", polling at {}", all.join(", "))
            } else {
                write!(text, ", inside {}", label(open))
            };
        }
        Finding { text: text + ".", target: Target::Rank { rank: study.rank } }
    };
    if early.len() <= 3 {
        return early.iter().map(one).collect();
    }
    // The likeliest cause: the rank that aborted; else one that was not waiting for others inside a
    // call; else the first to end.
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

    #[test]
    fn ranks_stand_out_by_their_share_and_by_the_time_itself() {
        let us = |count: u64| Nanos(count * 1000);
        // A run of 754 µs says nothing of balance, whatever the ratio.
        assert_eq!(longer(us(600), us(200), us(754)), None);
        assert_eq!(longer(us(60_000), us(40_000), us(100_000)), Some(1.5));
        assert_eq!(longer(us(105_000), us(100_000), us(200_000)), None);
        assert_eq!(longer(us(60_000), us(40_000), us(10_000_000)), None);
    }

    fn node(kind: TreeKind, count: u64, time: u64, children: Vec<TreeNode>) -> TreeNode {
        TreeNode {
            id: count as u32,
            kind,
            loop_id: None,
            label: String::new(),
            count: (kind == TreeKind::Loop && count > 0).then_some(count),
            range: if kind == TreeKind::Loop && count == 0 { "1-2" } else { "" }.to_owned(),
            iterations: None,
            guard: String::new(),
            time: Nanos(time),
            share: 0.0,
            mpi_share: 0.0,
            events: 0,
            site: None,
            children,
        }
    }

    #[test]
    fn a_loop_of_two_iterations_gives_way_to_the_loop_inside() {
        let step = |time| node(TreeKind::Loop, 40, time, Vec::new());
        let found = |count, time| {
            let outer = node(TreeKind::Loop, count, 100, vec![step(time)]);
            let body = node(TreeKind::Sequence, 1, 100, vec![outer]);
            largest_loop(&node(TreeKind::Loop, 37, 100, vec![body])).unwrap().count
        };
        assert_eq!([found(2, 95), found(0, 95)], [Some(40); 2]);
        // With work of its own, or more iterations, it is a loop to be named.
        assert_eq!([found(2, 50), found(3, 95)], [Some(2), Some(3)]);
    }
}
