//! Lists among the arguments: counts, displacements, datatypes, neighbours.
//!
//! Owns reading them, only where the standard defines them as significant: elsewhere they may be
//! invalid.

use talea_model::args::special;

use super::Around;
use crate::abi::abi;
use crate::abi::entry::Call;
use crate::abi::fortran::FortranHandle;
use crate::abi::table::{Kind, Length};
use crate::plan::arguments;
use crate::plan::{Found, Plan, Significance};
use crate::process::Process;

impl Around {
    /// Reads a list; it is written if it is new.
    ///
    /// # Safety
    /// `call` is a call of the plan's procedure, and `found` is one of its lists.
    pub(super) unsafe fn list(
        &mut self,
        process: &Process,
        plan: &Plan,
        call: Call,
        found: Found,
    ) -> i64 {
        let Found::List { arg, length, kind, significance } = found else { return special::ABSENT };
        // SAFETY: lists are read only where the standard defines them as significant.
        unsafe {
            let address = call.arg(usize::from(arg));
            let count = match length {
                Length::None => return special::ABSENT,
                Length::Param(param) => arguments::int(plan, call, param),
                Length::Members => {
                    let Some(comm) = arguments::comm(plan, call) else { return special::ABSENT };
                    let facts = process.handles.with(|h| h.facts(comm));
                    let is_read = match significance {
                        Significance::Always => true,
                        Significance::AtRoot(arg) => {
                            let root = arguments::int(plan, call, arg) as i32;
                            root == if facts.inter { abi().root } else { facts.rank }
                        }
                        Significance::NotInPlace => {
                            let buffer = call.arg(0);
                            buffer != 1
                                && buffer != usize::MAX
                                && !abi().fortran_ignore.contains(&buffer)
                        }
                    };
                    if !is_read {
                        return special::ABSENT;
                    }
                    i64::from(facts.peers)
                }
            };
            if address <= 1 || count <= 0 {
                return special::ABSENT;
            }
            self.list.clear();
            for i in 0..count as usize {
                self.list.push(match kind {
                    Kind::Wides => *(address as *const i64).add(i),
                    Kind::Datatypes => {
                        let at = address + i * arguments::handle_size(plan);
                        let handle = arguments::handle_at(plan, at, FortranHandle::Datatype);
                        process.handles.with(|h| h.datatype(process.memory, handle))
                    }
                    Kind::Peers => abi().peer(*(address as *const i32).add(i)),
                    _ => i64::from(*(address as *const i32).add(i)),
                });
            }
            process.handles.with(|h| h.list(process.memory, &self.list))
        }
    }
}
