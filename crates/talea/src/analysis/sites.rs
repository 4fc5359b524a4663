//! Call paths in the source.
//!
//! Owns the way from a recording's paths to the resolved addresses of its `sites.json`, whose modules may stand in another
//! order: a record that could be read then may be missing now.

use talea_model::{Frame, PathId, ResolvedFrame, Site};

use crate::load::Run;

/// Resolved call paths of a run.
#[derive(Debug)]
pub(crate) struct Places<'a> {
    sites: Vec<Site>,
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
        Self { sites: run.recording.paths.iter().map(path).collect(), run }
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

    /// `MPI_Waitall halo.c:120`.
    pub(crate) fn label(&self, signature: talea_model::Signature) -> String {
        let procedure = self.run.recording.procedures.get(usize::from(signature.procedure.0));
        let name = procedure.map_or("?", |procedure| procedure.name.as_str());
        format!("{name} {}", self.short(signature.path))
    }
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
    use super::without_parameters;

    #[test]
    fn functions_without_what_nobody_reads() {
        let check = |name, expected| assert_eq!(without_parameters(name), expected);
        check("main", "main");
        check("halo.c:12", "halo.c:12");
        check("lmp+0x11cd", "lmp+0x11cd");
        check("LAMMPS_NS::Group::count(int)", "LAMMPS_NS::Group::count");
        check("void ddSendrecv<gmx::BasicVector<float> >(gmx_domdec_t const*, int)", "ddSendrecv<gmx::BasicVector<float> >");
        check("(anonymous namespace)::work(std::vector<int>)", "(anonymous namespace)::work");
        check("std::unique_ptr<A> a::(anonymous namespace)::make(int)", "a::(anonymous namespace)::make");
        check("A::operator()(int) const", "A::operator");
        check("", "");
    }
}
