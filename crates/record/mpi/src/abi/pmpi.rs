//! Calls into MPI: typed access to the few `PMPI_` functions that recording needs.
//!
//! Owns their signatures. Handles travel as machine words, as in [`crate::abi`]. A function that
//! the library lacks fails like one that returned an error.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::abi::symbols::find;

macro_rules! pmpi {
    ($($(#[$doc:meta])* $name:ident = $symbol:literal ( $($arg:ident),* );)*) => {
        $($(#[$doc])*
        ///
        /// # Safety
        /// Arguments conform to the MPI standard, handles as machine words; MPI is initialised.
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name($($arg: usize),*) -> i32 {
            static ADDRESS: AtomicUsize = AtomicUsize::new(0);
            let mut address = ADDRESS.load(Ordering::Relaxed);
            if address == 0 {
                let Some(found) = find($symbol) else { return 1 };
                address = found;
                ADDRESS.store(found, Ordering::Relaxed);
            }
            // SAFETY: the symbol is the MPI function of that name, which takes these arguments.
            unsafe {
                let function: unsafe extern "C-unwind" fn($(pmpi!(@word $arg)),*) -> i32 =
                    std::mem::transmute(address);
                function($($arg),*)
            }
        })*
    };
    (@word $arg:ident) => { usize };
}

pmpi! {
    /// `PMPI_Comm_rank`.
    comm_rank = c"PMPI_Comm_rank"(comm, rank);
    /// `PMPI_Comm_size`.
    comm_size = c"PMPI_Comm_size"(comm, size);
    /// `PMPI_Comm_remote_size`.
    comm_remote_size = c"PMPI_Comm_remote_size"(comm, size);
    /// `PMPI_Comm_test_inter`.
    comm_test_inter = c"PMPI_Comm_test_inter"(comm, flag);
    /// `PMPI_Comm_group`.
    comm_group = c"PMPI_Comm_group"(comm, group);
    /// `PMPI_Comm_remote_group`.
    comm_remote_group = c"PMPI_Comm_remote_group"(comm, group);
    /// `PMPI_Group_size`.
    group_size = c"PMPI_Group_size"(group, size);
    /// `PMPI_Group_translate_ranks`.
    group_translate_ranks = c"PMPI_Group_translate_ranks"(from, count, ranks, to, out);
    /// `PMPI_Group_free`.
    group_free = c"PMPI_Group_free"(group);
    /// `PMPI_Type_size`.
    type_size = c"PMPI_Type_size"(datatype, size);
    /// `PMPI_Type_size_x`.
    type_size_x = c"PMPI_Type_size_x"(datatype, size);
    /// `PMPI_Type_get_name`.
    type_get_name = c"PMPI_Type_get_name"(datatype, name, length);
    /// `PMPI_Get_library_version`.
    get_library_version = c"PMPI_Get_library_version"(version, length);
    /// `PMPI_Query_thread`.
    query_thread = c"PMPI_Query_thread"(provided);
    /// `PMPI_Bcast`.
    bcast = c"PMPI_Bcast"(buffer, count, datatype, root, comm);
    /// `PMPI_Allgather`.
    allgather = c"PMPI_Allgather"(own, own_count, own_type, all, count, datatype, comm);
    /// `PMPI_Send`.
    send = c"PMPI_Send"(buffer, count, datatype, to, tag, comm);
    /// `PMPI_Recv`.
    recv = c"PMPI_Recv"(buffer, count, datatype, from, tag, comm, status);
    /// `PMPI_Iprobe`.
    iprobe = c"PMPI_Iprobe"(from, tag, comm, flag, status);
    /// `PMPI_Grequest_start`.
    grequest_start = c"PMPI_Grequest_start"(query, free, cancel, state, request);
    /// `PMPI_Grequest_complete`.
    grequest_complete = c"PMPI_Grequest_complete"(request);
    /// `PMPI_Group_from_session_pset`.
    group_from_session_pset = c"PMPI_Group_from_session_pset"(session, name, group);
    /// `PMPI_Group_rank`.
    group_rank = c"PMPI_Group_rank"(group, rank);
    /// `PMPI_Comm_dup`.
    comm_dup = c"PMPI_Comm_dup"(comm, new);
    /// `PMPI_Comm_free`.
    comm_free = c"PMPI_Comm_free"(comm);
}
