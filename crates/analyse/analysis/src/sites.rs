//! Call paths in the source.
//!
//! Owns the lookup from a recording's paths to the resolved addresses of its `sites.json`, whose
//! modules may be in another order: a record that could be read then may be missing now.

use std::collections::{BTreeMap, HashMap};

use talea_flow::structure::{CodeFrame, CodeLoop};
use talea_model::{Frame, PathId, ResolvedFrame, Site};

use super::traits::KnownPath;
use talea_run::load::Run;

/// Function, file and line of a frame, or its address.
type Line<'a> = (Option<&'a str>, &'a str, u32);

/// Resolved call paths of a run.
#[derive(Debug)]
pub struct Places<'a> {
    sites: Vec<Site>,
    /// Number of displayed frames of each path: a few, or as many as distinguish it from all
    /// others.
    shown: Vec<usize>,
    /// For paths that begin at the same line: the first caller that distinguishes them.
    callers: Vec<Option<String>>,
    /// Addresses of each path, in the module numbering of the run's table of addresses.
    addresses: Vec<Vec<Frame>>,
    run: &'a Run,
}

impl<'a> Places<'a> {
    /// Looks up all paths of a run.
    pub fn new(run: &'a Run) -> Self {
        let table = &run.sites;
        let modules: Vec<u32> = run
            .recording
            .modules
            .iter()
            .map(|module| {
                table
                    .modules
                    .iter()
                    .position(|known| known == module)
                    .map_or(u32::MAX, |at| at as u32)
            })
            .collect();
        let frame = |frame: &Frame| Frame {
            module: modules.get(frame.module as usize).copied().unwrap_or(u32::MAX),
            offset: frame.offset,
        };
        let addresses: Vec<Vec<Frame>> =
            run.recording.paths.iter().map(|path| path.iter().map(frame).collect()).collect();
        let sites: Vec<Site> = addresses.iter().map(|path| table.site(path)).collect();
        let shown = distinguishing(&run.recording.paths);
        Self { callers: callers(&sites), sites, shown, addresses, run }
    }

    /// Properties of each path for structure trees.
    pub fn known_paths(&self) -> Vec<KnownPath> {
        let code = |path: &Vec<Frame>| {
            let frames: Vec<CodeFrame> = path.iter().rev().map(|&call| self.code(call)).collect();
            // Runs that were resolved by older versions have none.
            let some = frames.iter().any(|frame| frame.function.is_some());
            if some { frames } else { Vec::new() }
        };
        let paths = self.same_lines().into_iter().zip(&self.addresses);
        paths.map(|(first, path)| KnownPath { first, code: code(path) }).collect()
    }

    fn code(&self, call: Frame) -> CodeFrame {
        let place = self.run.sites.code(call);
        let loops = place.into_iter().flat_map(|place| &place.loops);
        let loops = loops.map(|one| CodeLoop { header: one.header, ambiguous: one.ambiguous });
        CodeFrame {
            call,
            function: place.map(|place| place.function),
            loops: loops.collect(),
            order: place.map_or(0, |place| place.order),
        }
    }

    /// For each path the first one that leads through the same lines of the source: compilers copy
    /// calls, such as those of a loop's first iteration.
    fn same_lines(&self) -> Vec<PathId> {
        fn line(frame: &ResolvedFrame) -> Line<'_> {
            match (&frame.file, frame.line) {
                (Some(file), Some(line)) => (frame.function.as_deref(), file.as_str(), line),
                _ => (None, frame.address.as_str(), 0),
            }
        }
        let mut first: HashMap<Vec<Line<'_>>, PathId> = HashMap::new();
        let paths = self.sites.iter().zip(0..);
        paths
            .map(|(site, number)| {
                let lines = site.frames.iter().map(line).collect();
                *first.entry(lines).or_insert(PathId(number))
            })
            .collect()
    }

    /// The frames of a path, innermost first, as deep as needed to distinguish it from others.
    pub fn frames(&self, path: PathId) -> &[ResolvedFrame] {
        let all = self.all_frames(path);
        // A frame is several where functions were inlined: then more are shown, never fewer.
        let shown = self.shown.get(path.0 as usize).copied().unwrap_or(all.len());
        let kept = self.run.recording.paths.get(path.0 as usize).map_or(0, Vec::len);
        &all[..all.len() - kept.saturating_sub(shown).min(all.len())]
    }

    /// All known frames of a path.
    fn all_frames(&self, path: PathId) -> &[ResolvedFrame] {
        self.sites.get(path.0 as usize).map_or(&[], |site| &site.frames)
    }

    /// `file:line` of the call, or the best substitute, as in [`ResolvedFrame::short`].
    pub fn short(&self, path: PathId) -> String {
        self.sites.get(path.0 as usize).map_or_else(|| "?".to_owned(), Site::short)
    }

    /// As [`Self::short`], with the caller where several paths begin at the same line: `halo.c:84 <
    /// halo.c:98`.
    pub fn distinct(&self, path: PathId) -> String {
        match self.callers.get(path.0 as usize) {
            Some(Some(caller)) => format!("{} < {caller}", self.short(path)),
            _ => self.short(path),
        }
    }

    /// The calling function; empty where unknown.
    pub fn function(&self, path: PathId) -> &str {
        self.frames(path).first().and_then(|frame| frame.function.as_deref()).unwrap_or("")
    }

    /// The common place of the calls of a loop or sequence: the innermost function that all their
    /// paths lead through, with the lines or offsets in it. The call itself, where all come from
    /// one line; `None` where the kept frames do not meet.
    pub fn meeting(&self, paths: &[PathId]) -> Option<String> {
        let first = self.all_frames(*paths.first()?);
        for candidate in first {
            let function = candidate.function.as_deref()?;
            let in_it = |path: &PathId| {
                let mut frames = self.all_frames(*path).iter();
                frames.find(|frame| frame.function.as_deref() == Some(function))
            };
            let frames: Option<Vec<&ResolvedFrame>> = paths.iter().map(in_it).collect();
            let Some(frames) = frames else { continue };
            // The first and the last place, in the form of a single place.
            let first = frames.iter().min_by_key(|frame| (frame.line, frame.offset))?.short();
            let last = frames.iter().max_by_key(|frame| (frame.line, frame.offset))?;
            return Some(match (last.line, last.offset) {
                _ if last.short() == first => first,
                (Some(line), _) => format!("{first}-{line}"),
                (None, Some(offset)) => format!("{first}-{offset:#x}"),
                (None, None) => first,
            });
        }
        None
    }

    /// `MPI_Waitall halo.c:120`, with the caller where that does not distinguish calls.
    pub fn label(&self, signature: talea_model::Signature) -> String {
        format!("{} {}", self.procedure(signature), self.distinct(signature.path))
    }

    /// `MPI_Waitall halo.c:120`, for all callers of that line.
    pub fn line(&self, signature: talea_model::Signature) -> String {
        format!("{} {}", self.procedure(signature), self.short(signature.path))
    }

    fn procedure(&self, signature: talea_model::Signature) -> &str {
        let procedure = self.run.recording.procedures.get(usize::from(signature.procedure.0));
        procedure.map_or("?", |procedure| procedure.name.as_str())
    }
}

/// Minimum number of displayed frames of a path.
const FEWEST: usize = 3;

/// For each path the number of frames that distinguish it from all others.
fn distinguishing(paths: &[Vec<Frame>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.sort_by_key(|&at| &paths[at]);
    let mut needed = vec![FEWEST; paths.len()];
    // In sorted order, the path that has most in common with one is its neighbour.
    for pair in order.windows(2) {
        let both = paths[pair[0]].iter().zip(&paths[pair[1]]);
        let same = both.take_while(|(a, b)| a == b).count();
        for &at in pair {
            needed[at] = needed[at].max(same + 1);
        }
    }
    needed.iter().zip(paths).map(|(&needed, path)| needed.min(path.len())).collect()
}

/// For each path whose innermost frame others share too: the first of its callers that
/// distinguishes it from as many of them as any caller does.
fn callers(sites: &[Site]) -> Vec<Option<String>> {
    let texts: Vec<Vec<String>> =
        sites.iter().map(|site| site.frames.iter().map(ResolvedFrame::short).collect()).collect();
    let mut order: Vec<usize> = (0..sites.len()).filter(|&at| !texts[at].is_empty()).collect();
    order.sort_by_key(|&at| &texts[at]);
    order.dedup_by_key(|at| &texts[*at]);
    let mut deepest: BTreeMap<&[String], usize> = BTreeMap::new();
    // In sorted order, the path that has most in common with one is its neighbour.
    for pair in order.windows(2) {
        let (a, b) = (&texts[pair[0]], &texts[pair[1]]);
        let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        if same > 0 {
            for text in [a, b] {
                let depth = deepest.entry(text).or_insert(0);
                *depth = same.max(*depth);
            }
        }
    }
    texts
        .iter()
        .map(|text| {
            let caller = text.get(*deepest.get(text.as_slice())?)?;
            Some(caller.clone())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use talea_model::{Frame, ResolvedFrame, Site};

    use super::{callers, distinguishing};

    #[test]
    fn paths_are_as_deep_as_they_distinguish() {
        let path = |offsets: &[u64]| {
            offsets.iter().map(|&offset| Frame { module: 0, offset }).collect::<Vec<_>>()
        };
        let paths = [
            path(&[1, 2, 3, 4, 5, 6]),
            path(&[9, 2, 3, 4, 5, 6]),
            path(&[1, 2, 3, 4, 7, 6]),
            path(&[8]),
        ];
        assert_eq!(distinguishing(&paths), [5, 3, 5, 1]);
    }

    #[test]
    fn paths_from_one_line_are_told_apart_by_their_callers() {
        let frame = |line| ResolvedFrame {
            file: Some("a.c".into()),
            line: Some(line),
            ..ResolvedFrame::default()
        };
        let site = |lines: &[u32]| Site { frames: lines.iter().map(|&line| frame(line)).collect() };
        let sites = [
            site(&[1, 5, 7]),
            site(&[1, 5, 8]),
            site(&[2, 5]),
            site(&[3]),
            site(&[3]),
            site(&[1, 5]),
        ];
        let found = callers(&sites);
        let found: Vec<Option<&str>> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, [Some("a.c:7"), Some("a.c:8"), None, None, None, None]);
    }
}
