//! What differs between MPI implementations, and calls into them.
//!
//! Owns finding out which MPI a process uses, the values of its constants, the layout of its status, and typed access
//! to the few `PMPI_` functions that recording needs. Handles travel as machine words: pointers in Open MPI and the
//! standard ABI (MPI 5.0, chapter 20), integers in MPICH and everywhere in Fortran.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use talea_model::args::special;

use crate::entry::Entry;

/// Constants of an implementation.
#[derive(Debug)]
pub struct Abi {
    /// Number in recorded files.
    pub number: u32,
    /// Bytes of a handle in C.
    pub handle_bytes: usize,
    /// `MPI_PROC_NULL`.
    pub proc_null: i32,
    /// `MPI_ANY_SOURCE`.
    pub any_source: i32,
    /// `MPI_ROOT`.
    pub root: i32,
    /// `MPI_ANY_TAG`.
    pub any_tag: i32,
    /// `MPI_UNDEFINED`.
    pub undefined: i32,
    /// Offset of the source in a status.
    pub status_source: usize,
    /// Offset of the tag in a status.
    pub status_tag: usize,
    /// Size of a status.
    pub status_bytes: usize,
    /// `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE` in C.
    pub status_ignore: usize,
    /// `MPI_COMM_WORLD`.
    pub comm_world: usize,
    /// `MPI_COMM_SELF`.
    pub comm_self: usize,
    /// `MPI_COMM_NULL`.
    pub comm_null: usize,
    /// `MPI_REQUEST_NULL`.
    pub request_null: usize,
    /// `MPI_DATATYPE_NULL`.
    pub datatype_null: usize,
    /// `MPI_BYTE`.
    pub byte: usize,
    /// Predefined reduction operations.
    pub ops: Vec<(usize, &'static str)>,
    /// Addresses that stand for `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE` in Fortran.
    pub fortran_ignore: Vec<usize>,
}

const OPS: [&str; 14] = [
    "MPI_MAX",
    "MPI_MIN",
    "MPI_SUM",
    "MPI_PROD",
    "MPI_LAND",
    "MPI_BAND",
    "MPI_LOR",
    "MPI_BOR",
    "MPI_LXOR",
    "MPI_BXOR",
    "MPI_MINLOC",
    "MPI_MAXLOC",
    "MPI_REPLACE",
    "MPI_NO_OP",
];

static ABI: OnceLock<Abi> = OnceLock::new();

/// The implementation in use.
pub fn abi() -> &'static Abi {
    ABI.get_or_init(Abi::detect)
}

/// The bits of a C handle that count.
pub fn handle_mask() -> u64 {
    if abi().handle_bytes == 8 { u64::MAX } else { 0xffff_ffff }
}

impl Abi {
    #[expect(clippy::too_many_lines, reason = "a table of constants for each implementation")]
    fn detect() -> Self {
        let fortran_ignore = [
            c"MPI_F_STATUS_IGNORE",
            c"MPI_F_STATUSES_IGNORE",
            c"MPI_F08_STATUS_IGNORE",
            c"MPI_F08_STATUSES_IGNORE",
        ]
        .iter()
        .filter_map(|name| {
            let variable = find_data(name)?;
            // SAFETY: each is a variable of pointer type (MPI 4.0, 19.3.5).
            Some(unsafe { *(variable as *const usize) })
        })
        .chain(
            [c"mpi_fortran_status_ignore_", c"mpi_fortran_statuses_ignore_"]
                .iter()
                .filter_map(|n| find_data(n)),
        )
        .filter(|&address| address > 1)
        .collect();
        let data = |name: &CStr| find_data(name).unwrap_or(0);
        if find_data(c"ompi_mpi_comm_world").is_some() {
            let ops = [
                c"ompi_mpi_op_max",
                c"ompi_mpi_op_min",
                c"ompi_mpi_op_sum",
                c"ompi_mpi_op_prod",
                c"ompi_mpi_op_land",
                c"ompi_mpi_op_band",
                c"ompi_mpi_op_lor",
                c"ompi_mpi_op_bor",
                c"ompi_mpi_op_lxor",
                c"ompi_mpi_op_bxor",
                c"ompi_mpi_op_minloc",
                c"ompi_mpi_op_maxloc",
                c"ompi_mpi_op_replace",
                c"ompi_mpi_op_no_op",
            ];
            return Self {
                number: 1,
                handle_bytes: 8,
                proc_null: -2,
                any_source: -1,
                root: -4,
                any_tag: -1,
                undefined: -32766,
                status_source: 0,
                status_tag: 4,
                status_bytes: 24,
                status_ignore: 0,
                comm_world: data(c"ompi_mpi_comm_world"),
                comm_self: data(c"ompi_mpi_comm_self"),
                comm_null: data(c"ompi_mpi_comm_null"),
                request_null: data(c"ompi_request_null"),
                datatype_null: data(c"ompi_mpi_datatype_null"),
                byte: data(c"ompi_mpi_byte"),
                ops: ops.iter().zip(OPS).map(|(n, op)| (data(n), op)).collect(),
                fortran_ignore,
            };
        }
        let standard = find(c"MPI_Abi_get_version").is_some() && library_file().contains("mpi_abi");
        if standard {
            // MPI 5.0, annex A.1.2 "Handle constants"; operations in the order of their values.
            let ops = [
                0x23, 0x22, 0x21, 0x24, 0x30, 0x28, 0x31, 0x29, 0x32, 0x2a, 0x38, 0x39, 0x3c, 0x3d,
            ];
            return Self {
                number: 3,
                handle_bytes: 8,
                proc_null: -3,
                any_source: -1,
                root: -4,
                any_tag: -2,
                undefined: -32766,
                status_source: 0,
                status_tag: 4,
                status_bytes: 32,
                status_ignore: 0,
                comm_world: 0x101,
                comm_self: 0x102,
                comm_null: 0x100,
                request_null: 0x180,
                datatype_null: 0x200,
                byte: 0x247,
                ops: ops.into_iter().zip(OPS).collect(),
                fortran_ignore,
            };
        }
        Self {
            number: 2,
            handle_bytes: 4,
            proc_null: -1,
            any_source: -2,
            root: -3,
            any_tag: -1,
            undefined: -32766,
            status_source: 8,
            status_tag: 12,
            status_bytes: 20,
            status_ignore: 1,
            comm_world: 0x4400_0000,
            comm_self: 0x4400_0001,
            comm_null: 0x0400_0000,
            request_null: 0x2c00_0000,
            datatype_null: 0x0c00_0000,
            byte: 0x4c00_010d,
            ops: (0x5800_0001_usize..).zip(OPS).collect(),
            fortran_ignore,
        }
    }

    /// A rank as recordings have it.
    pub fn peer(&self, rank: i32) -> i64 {
        match rank {
            r if r >= 0 => i64::from(r),
            r if r == self.proc_null => special::PROC_NULL,
            r if r == self.any_source => special::ANY_SOURCE,
            r if r == self.root => special::ROOT,
            _ => special::UNDEFINED,
        }
    }

    /// A tag as recordings have it.
    pub fn tag(&self, tag: i32) -> i64 {
        if tag == self.any_tag { special::ANY_TAG } else { i64::from(tag) }
    }
}

/// MPICH 4.0 gives positions in lists as C has them to programs that use `mpi_f08`, against MPI 4.0, 3.7.5.
pub fn f08_counts_from_zero() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let mut version = vec![0_u8; 1 << 14];
        let mut length = 0_i32;
        // SAFETY: allowed at any time; the buffer is longer than any implementation's text.
        unsafe { get_library_version(version.as_mut_ptr() as usize, (&raw mut length) as usize) };
        let text = String::from_utf8_lossy(&version);
        let words: Vec<&str> = text.split_whitespace().take(3).collect();
        matches!(words[..], ["MPICH", "Version:", number] if number.starts_with("4.0"))
    })
}

/// Where the MPI library lies.
fn library_file() -> String {
    let Some(address) = find(c"PMPI_Init") else { return String::new() };
    // SAFETY: an all-zero `Dl_info` is valid, and `dladdr` only writes to it.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address as *const c_void, &raw mut info) == 0 || info.dli_fname.is_null() {
            return String::new();
        }
        CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned()
    }
}

/// Address of a symbol behind this library, also in libraries that were loaded privately.
pub fn find(name: &CStr) -> Option<usize> {
    // SAFETY: `name` ends with a zero byte.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
    if address != 0 {
        return Some(address);
    }
    // An interpreter's extension module loads MPI with RTLD_LOCAL: look at every library that calls itself MPI.
    for loaded in talea_run::modules::loaded() {
        let path = &loaded.module.path;
        let file = path.rsplit('/').next().unwrap_or_default();
        if !file.starts_with("libmpi") {
            continue;
        }
        let Ok(path) = std::ffi::CString::new(path.as_str()) else { continue };
        // SAFETY: the library is loaded already; its handle is kept for ever.
        unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if library.is_null() {
                continue;
            }
            let address = libc::dlsym(library, name.as_ptr()) as usize;
            if address != 0 {
                return Some(address);
            }
        }
    }
    None
}

/// Address of a variable of the MPI library. The executable may hold its own copy of it (a copy relocation), which then
/// is the one that everybody uses.
fn find_data(name: &CStr) -> Option<usize> {
    // SAFETY: `name` ends with a zero byte.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
    if address != 0 { Some(address) } else { find(name) }
}

/// The function that `entry` intercepted.
#[inline(always)]
pub fn real(entry: &Entry) -> usize {
    let address = entry.real.load(Ordering::Relaxed);
    if address != 0 { address } else { resolve(entry) }
}

#[cold]
fn resolve(entry: &Entry) -> usize {
    let Some(address) = find(entry.name) else {
        let name = entry.name.to_string_lossy();
        let message = format!("talea: the program calls {name}, which no MPI library in it has\n");
        // SAFETY: writes a valid buffer. There is nothing to go on with: without talea the program would not have started.
        unsafe {
            libc::write(2, message.as_ptr().cast(), message.len());
            libc::abort()
        }
    };
    entry.real.store(address, Ordering::Relaxed);
    address
}

macro_rules! pmpi {
    ($($(#[$doc:meta])* $name:ident = $symbol:literal ( $($arg:ident),* );)*) => {
        $($(#[$doc])*
        ///
        /// # Safety
        /// Arguments are as the MPI standard asks, handles as machine words; MPI is initialised.
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
                let function: unsafe extern "C-unwind" fn($(pmpi!(@word $arg)),*) -> i32 = std::mem::transmute(address);
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
    /// `PMPI_Initialized`.
    initialized = c"PMPI_Initialized"(flag);
    /// `PMPI_Bcast`.
    bcast = c"PMPI_Bcast"(buffer, count, datatype, root, comm);
    /// `PMPI_Allgather`.
    allgather = c"PMPI_Allgather"(own, own_count, own_type, all, count, datatype, comm);
    /// `PMPI_Send`.
    send = c"PMPI_Send"(buffer, count, datatype, to, tag, comm);
    /// `PMPI_Recv`.
    recv = c"PMPI_Recv"(buffer, count, datatype, from, tag, comm, status);
    /// `PMPI_Comm_dup`.
    comm_dup = c"PMPI_Comm_dup"(comm, new);
    /// `PMPI_Comm_free`.
    comm_free = c"PMPI_Comm_free"(comm);
    /// `PMPI_Barrier`.
    barrier = c"PMPI_Barrier"(comm);
}

/// A Fortran handle as the C handle that means the same.
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
        ][kind as usize];
        let Some(found) = find(name) else { return handle as u32 as usize };
        address = found;
        slot.store(found, Ordering::Relaxed);
    }
    // SAFETY: the symbol is one of the `f2c` functions, which take an integer and give a handle.
    unsafe {
        let function: unsafe extern "C-unwind" fn(i32) -> usize = std::mem::transmute(address);
        function(handle)
    }
}

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
}

static CONVERTERS: [AtomicUsize; 6] = [const { AtomicUsize::new(0) }; 6];
