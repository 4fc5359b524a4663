//! Differences of Fortran programs: handles are integers, and positions in lists are counted from
//! 1.
//!
//! Owns the conversion of their handles to C's, and the query of an implementation's first
//! position.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::abi::abi;
use crate::abi::pmpi;
use crate::abi::symbols::find;

/// Handles that differ between Fortran and C.
#[derive(Clone, Copy, Debug)]
pub enum FortranHandle {
    /// `MPI_Comm`.
    Comm,
    /// `MPI_Datatype`.
    Datatype,
    /// `MPI_Op`.
    Op,
    /// `MPI_Request`.
    Request,
    /// `MPI_Win`.
    Win,
    /// `MPI_File`.
    File,
    /// `MPI_Session`.
    Session,
}

static CONVERTERS: [AtomicUsize; 7] = [const { AtomicUsize::new(0) }; 7];

/// The C handle of a Fortran handle.
pub fn from_fortran(kind: FortranHandle, handle: i32) -> usize {
    if abi().number == 2 {
        // MPICH uses one integer for both languages.
        return handle as u32 as usize;
    }
    let slot = &CONVERTERS[kind as usize];
    let mut address = slot.load(Ordering::Relaxed);
    if address == 0 {
        let name = [
            c"PMPI_Comm_f2c",
            c"PMPI_Type_f2c",
            c"PMPI_Op_f2c",
            c"PMPI_Request_f2c",
            c"PMPI_Win_f2c",
            c"PMPI_File_f2c",
            c"PMPI_Session_f2c",
        ][kind as usize];
        let Some(found) = find(name) else { return handle as u32 as usize };
        address = found;
        slot.store(found, Ordering::Relaxed);
    }
    // SAFETY: the symbol is one of the `f2c` functions, which take an integer and return a handle.
    unsafe {
        let function: unsafe extern "C-unwind" fn(i32) -> usize = std::mem::transmute(address);
        function(handle)
    }
}

/// The first position in a list for programs that use `mpi_f08`: 1 by MPI 4.0, 3.7.5, but 0 in
/// MPICH 4.0.
///
/// Queries the library, with a generalised request that is complete: it needs no communicator. MPI
/// is initialised.
pub fn f08_first() -> i32 {
    static ANSWER: OnceLock<i32> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        type Waitany = unsafe extern "C-unwind" fn(*const i32, *mut i32, *mut i32, usize, *mut i32);
        type ToFortran = unsafe extern "C-unwind" fn(usize) -> i32;
        extern "C" fn nothing(_: usize, _: usize) -> i32 {
            0
        }
        // MPICH uses one integer for both languages, and has macros only.
        let to_fortran = find(c"PMPI_Request_c2f");
        let Some(waitany) = find(c"mpi_waitany_f08_") else { return 1 };
        let (mut request, mut index, mut error, mut status) = (0_usize, 1_i32, 0_i32, [0_u64; 16]);
        let callback = nothing as *const () as usize;
        // SAFETY: the functions have the signatures of their names; the three callbacks take at
        // most two words and do nothing; the status is larger than any implementation's.
        unsafe {
            let waitany: Waitany = std::mem::transmute(waitany);
            if pmpi::grequest_start(callback, callback, callback, 0, (&raw mut request) as usize)
                != 0
            {
                return 1;
            }
            let mut requests = [match to_fortran {
                Some(convert) => std::mem::transmute::<usize, ToFortran>(convert)(request),
                None => request as i32,
            }];
            pmpi::grequest_complete(request);
            let status = status.as_mut_ptr() as usize;
            waitany(&raw const ONE, requests.as_mut_ptr(), &raw mut index, status, &raw mut error);
        }
        index
    })
}

static ONE: i32 = 1;
