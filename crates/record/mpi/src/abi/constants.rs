//! Differences between MPI implementations.
//!
//! Owns the detection of the MPI in use, the values of its constants, and the layout of its status.
//! Handles travel as machine words: pointers in Open MPI and the standard ABI (MPI 5.0, chapter
//! 20), integers in MPICH and everywhere in Fortran.

use std::ffi::CStr;
use std::sync::OnceLock;

use talea_model::args::special;

use crate::abi::symbols::{find, find_data, library_file};

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
    /// `MPI_THREAD_MULTIPLE`.
    pub thread_multiple: i32,
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
    /// Addresses of `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE` in Fortran.
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
#[inline(always)]
pub fn abi() -> &'static Abi {
    ABI.get_or_init(Abi::detect)
}

/// Mask of the significant bits of a C handle.
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
        // Tested first: below the library of the standard ABI lies one of an implementation, with
        // all of its symbols.
        let standard = find(c"MPI_Abi_get_version").is_some() && library_file().contains("mpi_abi");
        if !standard && find_data(c"ompi_mpi_comm_world").is_some() {
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
                thread_multiple: 3,
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
                thread_multiple: 4096,
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
            thread_multiple: 3,
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

    /// A rank in the form of recordings.
    pub fn peer(&self, rank: i32) -> i64 {
        match rank {
            r if r >= 0 => i64::from(r),
            r if r == self.proc_null => special::PROC_NULL,
            r if r == self.any_source => special::ANY_SOURCE,
            r if r == self.root => special::ROOT,
            _ => special::UNDEFINED,
        }
    }

    /// A tag in the form of recordings.
    pub fn tag(&self, tag: i32) -> i64 {
        if tag == self.any_tag { special::ANY_TAG } else { i64::from(tag) }
    }
}
