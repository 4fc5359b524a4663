//! Recorded values of a tuple: the meaning of its words.
//!
//! Owns the conversion of registers to numbers that have the same meaning on all ranks; called only
//! for new tuples.

use crate::abi::abi;
use crate::abi::fortran::{FortranHandle, from_fortran};
use crate::abi::table::Kind;
use crate::plan::{Plan, Source};
use crate::process::Process;
use crate::process::handles::epoch;
use crate::record::Translate;

/// Reads the meaning of the words of a tuple.
pub(crate) struct Reader<'a> {
    pub(crate) process: &'a Process,
}

impl Translate for Reader<'_> {
    fn translate(&mut self, plan: &Plan, words: &[u64], values: &mut [i64]) {
        let abi = abi();
        let Process { memory, handles, .. } = self.process;
        for (value, source) in values.iter_mut().zip(&plan.columns) {
            *value = match *source {
                Source::Found(found) => words[usize::from(plan.lanes) + usize::from(found)] as i64,
                Source::Lane(lane, kind) => {
                    let word = words[usize::from(lane)];
                    let handle = |fortran: FortranHandle| {
                        if plan.fortran {
                            from_fortran(fortran, word as i32)
                        } else {
                            word as usize
                        }
                    };
                    match kind {
                        Kind::Wide | Kind::WideCount => word as i64,
                        Kind::Peer | Kind::Root => abi.peer(word as i32),
                        Kind::Tag => abi.tag(word as i32),
                        Kind::Comm => handles.with(|h| h.comm(memory, handle(FortranHandle::Comm))),
                        Kind::Datatype => {
                            handles.with(|h| h.datatype(memory, handle(FortranHandle::Datatype)))
                        }
                        Kind::Op => handles.with(|h| h.op(memory, handle(FortranHandle::Op))),
                        Kind::Win => handles.with(|h| h.other(kind, handle(FortranHandle::Win))),
                        Kind::File => handles.with(|h| h.other(kind, handle(FortranHandle::File))),
                        _ => i64::from(word as i32),
                    }
                }
            };
        }
    }

    #[inline(always)]
    fn epoch(&self) -> u32 {
        epoch()
    }
}
