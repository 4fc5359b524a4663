//! Tables of the mapped file that only grow with new items.
//!
//! Owns modules and procedures: their presence in the file, and their numbers.

use talea_model::Module;
use talea_run::live::layout::PathFrame;
use talea_run::live::record::{put_module, put_procedure};
use talea_run::modules::{self, LoadedModule};

use super::Process;
use crate::plan::Plan;
use crate::sys::stack::{DEEPEST, Frame};

/// Properties of a module for call paths.
#[derive(Clone, Copy, Debug, Default)]
struct ModuleKind {
    /// True if its frames are not the program's.
    silent: bool,
    /// A hash of its name, the same in all processes of a run.
    name: u64,
}

impl ModuleKind {
    fn of(module: &Module) -> Self {
        let file = module.path.rsplit('/').next().unwrap_or_default();
        let silent = ["libc.so", "libc-2", "ld-linux", "libpthread", "libpython", "python"];
        let bytes = module.build_id.bytes().chain(file.bytes());
        let name = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self { silent: silent.iter().any(|name| file.starts_with(name)), name }
    }
}

/// Tables that only grow with new items.
#[derive(Debug, Default)]
pub(super) struct Slow {
    loaded: Vec<LoadedModule>,
    /// Modules in the file, in its order.
    modules: Vec<Module>,
    /// Properties of each of these for paths.
    kinds: Vec<ModuleKind>,
    /// Procedures that are in the file.
    procedures: Vec<u16>,
}

impl Process {
    /// The call path of a stack: its frames as places in modules, which are written to the file
    /// when they are new.
    ///
    /// Left out are frames of the C library and of an interpreter, which are not the program's, and
    /// those of a function that is in the path already: recursion would make a path of each depth.
    /// Beyond the maximum number of kept callers a hash distinguishes paths.
    pub fn path(&self, stack: &[Frame]) -> Vec<PathFrame> {
        let Ok(mut slow) = self.slow.lock() else { return Vec::new() };
        let mut path: Vec<PathFrame> = Vec::new();
        let mut hash = None;
        // Beyond the C library's start of the program lies `_start` only.
        let mut stack = stack;
        if let [inner @ .., before, _] = stack
            && stack.len() < DEEPEST
            && slow.frame(self, before.call.address as u64).1.silent
        {
            stack = &stack[..=inner.len()];
        }
        for (depth, found) in stack.iter().enumerate() {
            let (frame, module) = slow.frame(self, found.call.address as u64);
            let same = |inner: &Frame| {
                inner.call.address == found.call.address
                    || found.function != 0 && inner.function == found.function
            };
            if depth > 0 && (module.silent || stack[..depth].iter().any(same)) {
                continue;
            }
            if path.len() < self.callers {
                path.push(frame);
            } else {
                let mixed = hash.unwrap_or(0_u64).rotate_left(7) ^ module.name ^ frame.offset;
                hash = Some(mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            }
        }
        path.extend(hash.map(|offset| PathFrame { module: u32::MAX, zero: 0, offset }));
        path
    }

    /// Notes a call site that is identified by its direct caller only, as there are too many paths
    /// to it.
    pub fn shortened_path(&self) {
        self.header().shortened_paths += 1;
    }

    /// Writes a procedure to the file's table if it is not there.
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

impl Slow {
    fn frame(&mut self, process: &Process, address: u64) -> (PathFrame, ModuleKind) {
        let mut found = modules::find(&self.loaded, address);
        if found.is_none() {
            self.loaded = modules::loaded();
            found = modules::find(&self.loaded, address);
        }
        let Some(frame) = found else {
            let frame = PathFrame { module: u32::MAX, zero: 0, offset: address };
            return (frame, ModuleKind::default());
        };
        let module = &self.loaded[frame.module as usize].module;
        let place = self.modules.iter().position(|m| m == module).unwrap_or_else(|| {
            let mut bytes = Vec::new();
            put_module(&mut bytes, module);
            let header = process.memory.header();
            // SAFETY: this stream is only written under `slow`. Without room the module is missing,
            // which the reader reports.
            let _ = unsafe { process.memory.append(&raw mut (*header).modules, &bytes) };
            self.modules.push(module.clone());
            self.kinds.push(ModuleKind::of(module));
            self.modules.len() - 1
        });
        (PathFrame { module: place as u32, zero: 0, offset: frame.offset }, self.kinds[place])
    }
}
