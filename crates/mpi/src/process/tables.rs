//! Tables of the mapped file that only grow when something is seen for the first time.
//!
//! Owns modules and procedures: which of them are in the file, and as what number.

use talea_model::Module;
use talea_run::live::layout::PathFrame;
use talea_run::live::record::{put_module, put_procedure};
use talea_run::modules::{self, LoadedModule};

use super::Process;
use crate::paths::Path;
use crate::plan::Plan;

/// Tables that only grow when something is seen for the first time.
#[derive(Debug, Default)]
pub(super) struct Slow {
    loaded: Vec<LoadedModule>,
    /// Modules in the file, in its order.
    modules: Vec<Module>,
    /// Procedures that are in the file.
    procedures: Vec<u16>,
}

impl Process {
    /// The frames of a path as places in modules, which are put into the file when they are new.
    pub fn frames(&self, path: &Path) -> Vec<PathFrame> {
        let Ok(mut slow) = self.slow.lock() else { return Vec::new() };
        path.addresses[..path.len]
            .iter()
            .map(|&address| self.frame(&mut slow, address as u64))
            .collect()
    }

    fn frame(&self, slow: &mut Slow, address: u64) -> PathFrame {
        let mut found = modules::find(&slow.loaded, address);
        if found.is_none() {
            slow.loaded = modules::loaded();
            found = modules::find(&slow.loaded, address);
        }
        let Some(frame) = found else {
            return PathFrame { module: u32::MAX, zero: 0, offset: address };
        };
        let module = &slow.loaded[frame.module as usize].module;
        let place = slow.modules.iter().position(|m| m == module).unwrap_or_else(|| {
            let mut bytes = Vec::new();
            put_module(&mut bytes, module);
            // SAFETY: this stream is only written under `slow`. Without room the module is missing, which the reader says.
            let _ = unsafe { self.memory.append(&raw mut (*self.memory.header()).modules, &bytes) };
            slow.modules.push(module.clone());
            slow.modules.len() - 1
        });
        PathFrame { module: place as u32, zero: 0, offset: frame.offset }
    }

    /// Puts a procedure into the file's table if it is not there.
    pub fn procedure(&self, plan: &Plan) {
        let Ok(mut slow) = self.slow.lock() else { return };
        if !slow.procedures.contains(&plan.procedure) {
            let mut bytes = Vec::new();
            put_procedure(&mut bytes, plan.procedure, &plan.spec);
            // SAFETY: this stream is only written under `slow`.
            let _ =
                unsafe { self.memory.append(&raw mut (*self.memory.header()).procedures, &bytes) };
            slow.procedures.push(plan.procedure);
        }
    }
}
