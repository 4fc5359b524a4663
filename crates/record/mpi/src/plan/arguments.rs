//! Single arguments of a call, for every binding: integers, and handles as words of C.
//!
//! Owns reading them. `thread::values` and [`crate::process::handles`] define their meaning in a
//! recording.

use crate::abi::entry::Call;
use crate::abi::fortran::{FortranHandle, from_fortran};
use crate::abi::table::{Kind, PROCEDURES};
use crate::abi::{self, abi};
use crate::plan::Plan;

/// An integer.
///
/// # Safety
/// `call` is a call of the plan's procedure, whose argument `arg` is an integer.
#[inline(always)]
pub(crate) unsafe fn int(plan: &Plan, call: Call, arg: u8) -> i64 {
    // SAFETY: by the table this argument is an integer; Fortran passes its address.
    unsafe {
        let word = call.arg(usize::from(arg));
        i64::from(if plan.fortran { *(word as *const i32) } else { word as i32 })
    }
}

/// Reads a handle at an address.
///
/// # Safety
/// The address holds a handle of this kind.
#[inline(always)]
pub(crate) unsafe fn handle_at(plan: &Plan, address: usize, kind: FortranHandle) -> usize {
    // SAFETY: by the table a handle stands there.
    unsafe {
        if plan.fortran {
            from_fortran(kind, *(address as *const i32))
        } else if abi().handle_bytes == 8 {
            *(address as *const usize)
        } else {
            *(address as *const u32) as usize
        }
    }
}

/// Bytes from one handle in an array to the next.
#[inline(always)]
pub(crate) fn handle_size(plan: &Plan) -> usize {
    if plan.fortran { 4 } else { abi().handle_bytes }
}

/// The communicator argument as a C handle.
///
/// # Safety
/// `call` is a call of the plan's procedure.
pub(crate) unsafe fn comm(plan: &Plan, call: Call) -> Option<usize> {
    let arg = plan.comm?;
    // SAFETY: by the table this argument is a communicator.
    unsafe {
        let word = call.arg(usize::from(arg));
        Some(if plan.fortran {
            from_fortran(FortranHandle::Comm, *(word as *const i32))
        } else {
            (word as u64 & abi::handle_mask()) as usize
        })
    }
}

/// Kind of conversion of Fortran's handles.
pub(crate) fn fortran_kind(kind: Kind) -> FortranHandle {
    match kind {
        Kind::Datatype | Kind::DatatypeIo | Kind::DatatypeOut | Kind::Datatypes => {
            FortranHandle::Datatype
        }
        Kind::Op | Kind::OpIo | Kind::OpOut => FortranHandle::Op,
        Kind::Win | Kind::WinIo | Kind::WinOut => FortranHandle::Win,
        Kind::File | Kind::FileIo | Kind::FileOut => FortranHandle::File,
        Kind::Request | Kind::RequestIo | Kind::RequestOut | Kind::Requests => {
            FortranHandle::Request
        }
        _ => FortranHandle::Comm,
    }
}

/// The session that `MPI_Session_init` has created; `None` if it failed.
///
/// # Safety
/// The call has returned `result`.
pub(crate) unsafe fn session(plan: &Plan, call: Call, result: usize) -> Option<usize> {
    let params = PROCEDURES[usize::from(plan.procedure)].params;
    let place = params.iter().position(|p| p.name == "session")?;
    // SAFETY: the handle stands at the address in the argument; Fortran has `ierror` last, which
    // `mpi_f08` may leave out.
    unsafe {
        let error = if plan.fortran {
            (call.arg(params.len()) as *const i32).as_ref().map_or(0, |&error| error)
        } else {
            result as i32
        };
        let session = handle_at(plan, call.arg(place), FortranHandle::Session);
        (error == 0).then_some(session)
    }
}
