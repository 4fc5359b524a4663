//! The folded call stack: the routine and the line at each place of the region.
//!
//! Owns cutting of stacks at routines of interest, runs of one routine in the order of x, and lines
//! inside. A run needs 15 consecutive samples and 5 % of the region; stretches between runs are
//! marked as mixed. Isolated samples of other routines (short callees) do not cut a run, but reduce
//! its purity.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Call stacks of samples, as slices of one column of frames.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stacks<'a> {
    /// Place of each sample in 0..=1; others are left out.
    pub x: &'a [f64],
    /// Frames of sample `i` are `starts[i]..starts[i + 1]`; one longer than `x`.
    pub starts: &'a [usize],
    /// Routines, innermost first.
    pub routines: &'a [u32],
    /// Lines beside the routines; may be empty.
    pub lines: &'a [u32],
}

/// Options of runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StackOptions {
    /// Routines at which stacks are cut: the innermost of these counts. Empty: the innermost of
    /// all.
    pub interest: Vec<u32>,
    /// Minimum number of consecutive samples of a run.
    pub samples: usize,
    /// Minimum share of the region.
    pub share: f64,
}

impl Default for StackOptions {
    fn default() -> Self {
        Self { interest: Vec::new(), samples: 15, share: 0.05 }
    }
}

/// One stretch of the region in which one routine runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its begin, in 0..1.
    pub begin: f64,
    /// Its end.
    pub end: f64,
    /// The routine; absent where none lasts long enough.
    pub routine: Option<u32>,
    /// Number of samples inside.
    pub samples: usize,
    /// The routine's share of them (that of the most frequent one where `routine` is absent).
    pub purity: f64,
}

/// The most frequent line of one part of the region.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineShare {
    /// Begin of the part; parts are equally wide.
    pub begin: f64,
    /// Its routine and line; absent without samples.
    pub line: Option<(u32, u32)>,
    /// Share of the samples of the part.
    pub share: f64,
    /// Number of samples of the part.
    pub samples: usize,
}

/// One sample, cut.
struct Cut {
    x: f64,
    routine: u32,
    line: Option<u32>,
}

/// Cuts all stacks; samples without a routine of interest, and those outside the columns, are left
/// out.
fn cut(stacks: &Stacks<'_>, interest: &[u32]) -> Vec<Cut> {
    let mut wanted = interest.to_vec();
    wanted.sort_unstable();
    let mut found: Vec<Cut> = Vec::new();
    for (&x, range) in stacks.x.iter().zip(stacks.starts.windows(2)) {
        let Some(frames) = stacks.routines.get(range[0]..range[1]) else { continue };
        if !(0.0..=1.0).contains(&x) {
            continue;
        }
        let of_interest =
            |routine: &u32| wanted.is_empty() || wanted.binary_search(routine).is_ok();
        if let Some(depth) = frames.iter().position(of_interest) {
            let line = stacks.lines.get(range[0] + depth).copied();
            found.push(Cut { x, routine: frames[depth], line });
        }
    }
    found.sort_by(|a, b| a.x.total_cmp(&b.x));
    found
}

/// The runs of the region from 0 to 1, in order and without holes; empty without samples.
pub fn runs(stacks: &Stacks<'_>, options: &StackOptions) -> Vec<Run> {
    let cuts = cut(stacks, &options.interest);
    if cuts.is_empty() {
        return Vec::new();
    }
    let names = majority(&cuts, options.samples.max(1));
    // Stretches of one name, as (first sample, name); then short ones lose their name.
    let mut stretches: Vec<(usize, Option<u32>)> = Vec::new();
    for (at, &name) in names.iter().enumerate() {
        if stretches.last().is_none_or(|last| last.1 != Some(name)) {
            stretches.push((at, Some(name)));
        }
    }
    let border = |at: usize| match at {
        0 => 0.0,
        at if at == cuts.len() => 1.0,
        at => f64::midpoint(cuts[at - 1].x, cuts[at].x),
    };
    let mut kept: Vec<(usize, Option<u32>)> = Vec::new();
    for (at, &(from, name)) in stretches.iter().enumerate() {
        let to = stretches.get(at + 1).map_or(cuts.len(), |next| next.0);
        let long = to - from >= options.samples && border(to) - border(from) >= options.share;
        let name = name.filter(|_| long);
        if kept.last().is_none_or(|last| last.1 != name) {
            kept.push((from, name));
        }
    }
    (0..kept.len())
        .map(|at| {
            let (from, routine) = kept[at];
            let to = kept.get(at + 1).map_or(cuts.len(), |next| next.0);
            let mut counts = BTreeMap::<u32, usize>::new();
            for cut in &cuts[from..to] {
                *counts.entry(cut.routine).or_default() += 1;
            }
            let most = match routine {
                Some(routine) => counts.get(&routine).copied().unwrap_or(0),
                None => counts.values().copied().max().unwrap_or(0),
            };
            let samples = to - from;
            let purity = most as f64 / samples as f64;
            Run { begin: border(from), end: border(to), routine, samples, purity }
        })
        .collect()
}

/// For each sample the most frequent routine among `width` around it; of equally frequent ones the
/// one before, else the smallest.
fn majority(cuts: &[Cut], width: usize) -> Vec<u32> {
    let half = (width / 2).min(cuts.len());
    let mut counts = BTreeMap::<u32, usize>::new();
    let mut names: Vec<u32> = Vec::with_capacity(cuts.len());
    for cut in &cuts[..half] {
        *counts.entry(cut.routine).or_default() += 1;
    }
    for at in 0..cuts.len() {
        if let Some(cut) = cuts.get(at + half) {
            *counts.entry(cut.routine).or_default() += 1;
        }
        if let Some(cut) = at.checked_sub(half + 1).and_then(|gone| cuts.get(gone))
            && let Some(count) = counts.get_mut(&cut.routine)
        {
            *count -= 1;
            if *count == 0 {
                counts.remove(&cut.routine);
            }
        }
        let most = counts.values().copied().max().unwrap_or(0);
        let before = names.last().copied().filter(|name| counts.get(name) == Some(&most));
        let first = counts.iter().find(|(_, count)| **count == most).map(|(&name, _)| name);
        names.push(before.or(first).unwrap_or(cuts[at].routine));
    }
    names
}

/// The most frequent line in each of `parts` equal parts of the region.
pub fn lines(stacks: &Stacks<'_>, options: &StackOptions, parts: usize) -> Vec<LineShare> {
    let cuts = cut(stacks, &options.interest);
    let parts = parts.clamp(1, 1 << 20);
    let mut next = 0;
    (0..parts)
        .map(|part| {
            let (begin, end) = (part as f64 / parts as f64, (part + 1) as f64 / parts as f64);
            let mut counts = BTreeMap::<(u32, u32), usize>::new();
            let mut samples = 0;
            while next < cuts.len() && (cuts[next].x < end || part + 1 == parts) {
                samples += 1;
                if let Some(line) = cuts[next].line {
                    *counts.entry((cuts[next].routine, line)).or_default() += 1;
                }
                next += 1;
            }
            let most = counts.values().copied().max().unwrap_or(0);
            let line = counts.iter().find(|(_, count)| **count == most).map(|(&line, _)| line);
            let share = if samples > 0 { most as f64 / samples as f64 } else { f64::NAN };
            LineShare { begin, line, share, samples }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn runs_with_a_callee_inside_and_a_short_stretch_between() {
        let x: Vec<f64> = (0..400).map(|i| (f64::from(i) + 0.5) / 400.0).collect();
        // Routine 1 with an occasional 9, eight samples of 5, then routine 2, which calls 7.
        let (mut starts, mut frames) = (vec![0], Vec::new());
        for i in 0..400 {
            match i {
                0..200 if i % 20 == 3 => frames.extend([9, 100]),
                0..200 => frames.extend([1, 100]),
                200..208 => frames.extend([5, 100]),
                _ => frames.extend([7, 2, 100]),
            }
            starts.push(frames.len());
        }
        let lines: Vec<u32> = frames.iter().map(|frame| frame * 10).collect();
        let stacks = Stacks { x: &x, starts: &starts, routines: &frames, lines: &lines };
        let options = StackOptions { interest: vec![1, 2, 5, 9], ..StackOptions::default() };
        let found = runs(&stacks, &options);
        let names: Vec<_> = found.iter().map(|run| run.routine).collect();
        assert_eq!(names, [Some(1), None, Some(2)]);
        assert!((found[0].purity - 0.95).abs() < 0.01 && found[2].purity > 0.98);
        assert!((found[0].end - 0.5).abs() < 0.01 && (found[2].begin - 0.52).abs() < 0.01);
        assert_eq!((found[0].begin, found[2].end), (0.0, 1.0));
        // Without routines of interest the innermost counts.
        assert_eq!(runs(&stacks, &StackOptions::default()).last().unwrap().routine, Some(7));
        let by_line = super::lines(&stacks, &options, 4);
        assert_eq!(by_line[3].line, Some((2, 20)));
        assert!((by_line[0].share - 0.95).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn runs_cover_the_region_whatever_comes(
            samples in prop::collection::vec((prop::num::f64::ANY, 0..4_u32), 0..100),
            starts in prop::collection::vec(0..200_usize, 0..110),
            interest in prop::collection::vec(0..4_u32, 0..3),
            least in 0..20_usize,
        ) {
            let x: Vec<f64> = samples.iter().map(|s| s.0.abs() % 1.0).collect();
            let routines: Vec<u32> = samples.iter().map(|s| s.1).collect();
            let stacks = Stacks { x: &x, starts: &starts, routines: &routines, lines: &[] };
            let found = runs(&stacks, &StackOptions { interest, samples: least, share: 0.05 });
            if let (Some(first), Some(last)) = (found.first(), found.last()) {
                prop_assert_eq!((first.begin, last.end), (0.0, 1.0));
                prop_assert!(
                    found.windows(2).all(|pair| pair[0].end.total_cmp(&pair[1].begin).is_eq())
                );
                prop_assert!(found.windows(2).all(|pair| pair[0].routine != pair[1].routine));
            }
        }
    }
}
