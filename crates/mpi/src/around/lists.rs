//! Lists among the arguments: counts, displacements, datatypes, neighbours.
//!
//! Owns reading them, only where the standard says that they are significant: elsewhere nothing need stand there.

use talea_model::args::special;

use super::Around;
use crate::abi::abi;
use crate::entry::Call;
use crate::fortran::FortranHandle;
use crate::plan::Plan;
use crate::process::Process;
use crate::table::{Kind, Length, PROCEDURES};
use crate::{arguments, pmpi};

impl Around {
    pub(super) unsafe fn list(
        &mut self,
        process: &Process,
        plan: &Plan,
        call: Call,
        arg: u8,
        length: Length,
        kind: Kind,
    ) -> i64 {
        let name = PROCEDURES[usize::from(plan.procedure)].name;
        // SAFETY: the table says that the procedure has this argument.
        let address = unsafe { call.arg(usize::from(arg)) };
        // SAFETY: lists are read only where the standard says that they are significant.
        unsafe {
            let count = match length {
                Length::None => return special::ABSENT,
                Length::Param(param) => arguments::int(plan, call, param),
                Length::Members => {
                    let Some(comm) = arguments::comm(plan, call) else { return special::ABSENT };
                    if !Self::significant(plan, call, comm, name, arg) {
                        return special::ABSENT;
                    }
                    let (mut inter, mut size) = (0_i32, 0_i32);
                    pmpi::comm_test_inter(comm, (&raw mut inter) as usize);
                    if inter != 0 {
                        pmpi::comm_remote_size(comm, (&raw mut size) as usize);
                    } else {
                        pmpi::comm_size(comm, (&raw mut size) as usize);
                    }
                    i64::from(size)
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

    /// Whether a list with one entry a member means anything in this process.
    unsafe fn significant(plan: &Plan, call: Call, comm: usize, name: &str, arg: u8) -> bool {
        let params = PROCEDURES[usize::from(plan.procedure)].params;
        // SAFETY: arguments are what the table says.
        unsafe {
            if let Some(root) = params.iter().position(|p| p.kind == Kind::Root) {
                let (mut rank, mut inter) = (0_i32, 0_i32);
                let root = arguments::int(plan, call, root as u8) as i32;
                pmpi::comm_test_inter(comm, (&raw mut inter) as usize);
                if inter != 0 {
                    return root == abi().root;
                }
                pmpi::comm_rank(comm, (&raw mut rank) as usize);
                return rank == root;
            }
            // With MPI_IN_PLACE what is said of the send buffer counts for nothing.
            let of_sender = params[usize::from(arg)].name.starts_with("send");
            let buffer = call.arg(0);
            !(of_sender
                && name.contains("lltoall")
                && (buffer == 1 || buffer == usize::MAX || abi().fortran_ignore.contains(&buffer)))
        }
    }
}
