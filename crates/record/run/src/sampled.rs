//! Samples of a run with the places in the source that they were taken at.
//!
//! Owns resolving their addresses, once, while the executables are at hand, and the file that keeps
//! it: `RUN/samples/sites.json`, in the form of a run's `sites.json`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::samples::{self, RunSamples};
use crate::{Resolver, RunDirectory, SiteTable};
use talea_model::{Frame, Gap, GapKind, Gaps, Module, ResolvedFrame};

/// Resolved addresses of all samples of a run.
#[derive(Debug, Default)]
pub struct SampleSites {
    frames: BTreeMap<Frame, Vec<ResolvedFrame>>,
    /// For each process the numbers of its modules among those of all.
    modules: Vec<Vec<u32>>,
    /// Losses of resolution.
    pub gaps: Gaps,
}

fn file(directory: &RunDirectory) -> PathBuf {
    samples::folder(directory.path()).join("sites.json")
}

impl SampleSites {
    /// The source places of a frame of a process, innermost first; empty where nothing is known.
    pub fn frames(&self, process: usize, frame: Frame) -> &[ResolvedFrame] {
        let module = self.modules.get(process).and_then(|own| own.get(frame.module as usize));
        let frame = Frame { module: module.copied().unwrap_or(u32::MAX), ..frame };
        self.frames.get(&frame).map_or(&[], Vec::as_slice)
    }

    /// Those of a run: from its file, else looked up in the executables as they are now.
    pub fn load(directory: &RunDirectory, samples: &RunSamples) -> Self {
        let table = SiteTable::read(&file(directory)).unwrap_or_else(|_| resolve(samples));
        Self::of(table, samples)
    }

    fn of(table: SiteTable, samples: &RunSamples) -> Self {
        let number = |module: &Module| {
            let place = table.modules.iter().position(|known| known == module);
            place.map_or(u32::MAX, |at| at as u32)
        };
        let modules = samples
            .processes
            .iter()
            .map(|process| process.modules.iter().map(number).collect())
            .collect();
        let frames = table.addresses.into_iter().map(|one| (one.address, one.frames)).collect();
        Self { frames, modules, gaps: together(&table.gaps) }
    }
}

/// Samples fall into every library of a program. Lines of most of them are not needed: one sentence
/// stands for many.
fn together(gaps: &Gaps) -> Gaps {
    let (unresolved, mut rest): (Vec<&Gap>, Vec<&Gap>) =
        gaps.iter().partition(|gap| gap.kind == GapKind::Unresolved);
    let count = unresolved.iter().map(|gap| gap.count).sum();
    let detail = format!("{count} sampled addresses in libraries without symbols or without lines");
    let one = Gap { kind: GapKind::Unresolved, rank: None, detail, count };
    if !unresolved.is_empty() {
        rest.push(&one);
    }
    let mut together = Gaps::default();
    for gap in rest {
        together.note(gap.clone());
    }
    together
}

fn resolve(samples: &RunSamples) -> SiteTable {
    let mut modules: Vec<Module> = Vec::new();
    let mut paths: Vec<[Frame; 1]> = Vec::new();
    for process in &samples.processes {
        let own: Vec<u32> = process
            .modules
            .iter()
            .map(|module| {
                let known = modules.iter().position(|known| known == module);
                known.unwrap_or_else(|| {
                    modules.push(module.clone());
                    modules.len() - 1
                }) as u32
            })
            .collect();
        paths.extend(process.stacks.nodes().iter().map(|node| {
            let module = own.get(node.frame.module as usize).copied().unwrap_or(u32::MAX);
            [Frame { module, ..node.frame }]
        }));
    }
    SiteTable::resolve(&modules, paths.iter().map(|path| &path[..]), &mut Resolver::new())
}

/// Keeps the places of a run that has ended; nothing to do for one without samples.
pub fn keep(directory: &RunDirectory) -> Result<(), crate::directory::WriteError> {
    let samples = samples::load(directory);
    if samples.processes.is_empty() {
        return Ok(());
    }
    resolve(&samples).write(&file(directory))
}
