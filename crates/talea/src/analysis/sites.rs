//! Call paths in the source.
//!
//! Owns the way from a recording's paths to the resolved addresses of its `sites.json`, whose modules may stand in another
//! order: a record that could be read then may be missing now.

use std::collections::BTreeMap;

use talea_model::{Frame, PathId, ResolvedFrame, Site};

use crate::load::Run;

/// Resolved call paths of a run.
#[derive(Debug)]
pub(crate) struct Places<'a> {
    sites: Vec<Site>,
    /// Of paths that begin at the same line: the first caller that tells them apart.
    callers: Vec<Option<String>>,
    run: &'a Run,
}

impl<'a> Places<'a> {
    /// Looks up all paths of a run.
    pub(crate) fn new(run: &'a Run) -> Self {
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
        let path = |path: &Vec<Frame>| table.site(&path.iter().map(frame).collect::<Vec<_>>());
        let sites: Vec<Site> = run.recording.paths.iter().map(path).collect();
        Self { callers: callers(&sites), sites, run }
    }

    /// The frames of a path, innermost first.
    pub(crate) fn frames(&self, path: PathId) -> &[ResolvedFrame] {
        self.sites.get(path.0 as usize).map_or(&[], |site| &site.frames)
    }

    /// `file:line` of the call, or what is known instead.
    pub(crate) fn short(&self, path: PathId) -> String {
        let text = self.sites.get(path.0 as usize).map_or_else(|| "?".to_owned(), Site::short);
        without_parameters(&text).to_owned()
    }

    /// As [`Self::short`], with the caller where several paths begin at the same line: `halo.c:84 < halo.c:98`.
    pub(crate) fn distinct(&self, path: PathId) -> String {
        match self.callers.get(path.0 as usize) {
            Some(Some(caller)) => format!("{} < {caller}", self.short(path)),
            _ => self.short(path),
        }
    }

    /// The function that calls; empty where unknown.
    pub(crate) fn function(&self, path: PathId) -> &str {
        self.frames(path).first().and_then(|frame| frame.function.as_deref()).unwrap_or("")
    }

    /// Where the calls of a loop or sequence come together: the innermost function that all their paths lead through, with the
    /// lines in it. The call itself, where all come from one line; nothing, where the kept frames do not meet.
    pub(crate) fn meeting(&self, paths: &[PathId]) -> Option<String> {
        let first = self.frames(*paths.first()?);
        for candidate in first {
            let function = candidate.function.as_deref()?;
            let in_it = |path: &PathId| {
                self.frames(*path).iter().find(|frame| frame.function.as_deref() == Some(function))
            };
            let frames: Option<Vec<&ResolvedFrame>> = paths.iter().map(in_it).collect();
            let Some(frames) = frames else { continue };
            let lines = || frames.iter().filter_map(|frame| frame.line);
            let (Some(least), Some(most)) = (lines().min(), lines().max()) else {
                return Some(function.to_owned());
            };
            let file = candidate.file.as_deref().unwrap_or_default();
            let file = file.rsplit('/').next().unwrap_or(file);
            return Some(if least == most {
                format!("{file}:{least}")
            } else {
                format!("{file}:{least}-{most}")
            });
        }
        None
    }

    /// `MPI_Waitall halo.c:120`, with the caller where that does not tell calls apart.
    pub(crate) fn label(&self, signature: talea_model::Signature) -> String {
        let procedure = self.run.recording.procedures.get(usize::from(signature.procedure.0));
        let name = procedure.map_or("?", |procedure| procedure.name.as_str());
        format!("{name} {}", self.distinct(signature.path))
    }
}

/// For each path whose innermost frame others share too: the first of its callers in which it differs from one of them.
fn callers(sites: &[Site]) -> Vec<Option<String>> {
    let mut by_line: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, site) in sites.iter().enumerate() {
        by_line.entry(site.short()).or_default().push(at);
    }
    let mut callers = vec![None; sites.len()];
    let frame = |at: usize, depth: usize| sites[at].frames.get(depth).map(ResolvedFrame::short);
    for same in by_line.values().filter(|same| same.len() > 1) {
        let deepest = same.iter().map(|&at| sites[at].frames.len()).max().unwrap_or(0);
        let differ =
            |&depth: &usize| same.iter().any(|&at| frame(at, depth) != frame(same[0], depth));
        let Some(depth) = (1..deepest).find(differ) else { continue };
        for &at in same {
            callers[at] = frame(at, depth).map(|caller| without_parameters(&caller).to_owned());
        }
    }
    callers
}

/// A function of C++ without its parameters and its return type, which tell overloads apart but nobody can read.
pub(crate) fn without_parameters(function: &str) -> &str {
    const UNNAMED: &str = "(anonymous namespace)";
    let (mut depth, mut begin) = (0_i32, 0);
    for (at, c) in function.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            ' ' if depth == 0 && !function[..at].ends_with("operator") => begin = at + 1,
            '(' if depth == 0 && at > begin && !function[at..].starts_with(UNNAMED) => {
                return &function[begin..at];
            }
            // The blank inside is none between words.
            '(' if depth == 0 => depth += 1,
            ')' if depth > 0 => depth -= 1,
            _ => {}
        }
    }
    function
}

#[cfg(test)]
mod tests {
    use talea_model::{ResolvedFrame, Site};

    use super::{callers, without_parameters};

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

    #[test]
    fn functions_without_what_nobody_reads() {
        let check = |name, expected| assert_eq!(without_parameters(name), expected);
        check("main", "main");
        check("halo.c:12", "halo.c:12");
        check("lmp+0x11cd", "lmp+0x11cd");
        check("LAMMPS_NS::Group::count(int)", "LAMMPS_NS::Group::count");
        check(
            "void ddSendrecv<gmx::BasicVector<float> >(gmx_domdec_t const*, int)",
            "ddSendrecv<gmx::BasicVector<float> >",
        );
        check("(anonymous namespace)::work(std::vector<int>)", "(anonymous namespace)::work");
        check(
            "std::unique_ptr<A> a::(anonymous namespace)::make(int)",
            "a::(anonymous namespace)::make",
        );
        check("A::operator()(int) const", "A::operator");
        check("", "");
    }
}
