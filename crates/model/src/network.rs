//! Libraries of MPI and of networks, by the names of their files.
//!
//! Owns the one list (docs/agent.md, "Time in MPI"). A sample of a program whose address lies in
//! one of these files is in MPI; so it is decided wherever samples are read, and a longer list is
//! true of old samples too. Names are those of the files of Open MPI, MPICH and rdma-core in
//! Debian, of Intel MPI, Cray MPICH, Spectrum MPI, UCX and libfabric. It refuses to look into
//! files: MPI that is linked into the executable is not found. NCCL and RCCL are not in the list:
//! they run on GPUs, and programs call them beside MPI.

/// Names of files before `.so`; a `*` at the begin or the end stands for any characters.
const LIBRARIES: &[&str] = &[
    // MPI itself: Open MPI and its languages, MPICH, Intel MPI, Cray MPICH with its transports to
    // GPUs, Spectrum MPI, HPE MPT.
    "libmpi",
    "libmpi_*",
    "libmpicxx",
    "libmpifort",
    "libmpifort_*",
    "libmpich",
    "libmpich_*",
    "libmpichcxx",
    "libmpichcxx_*",
    "libmpichf90",
    "libmpichf90_*",
    "libmpichfort",
    "libpmpi",
    "libpmpich",
    "libmpl",
    "libopa",
    // The layers below Open MPI, and its components.
    "libopen-pal",
    "libopen-rte",
    "libprrte",
    "libmca_common_*",
    "mca_*",
    "prte_mca_*",
    "ompi_monitoring_prof",
    "libompitrace",
    "liboshmem",
    // How processes find each other: waited for in MPI_Init.
    "libpmix",
    "pmix_mca_*",
    "libpmi",
    "libpmi2",
    // UCX, and collectives above it.
    "libucp",
    "libuct",
    "libuct_*",
    "libucs",
    "libucs_*",
    "libucm",
    "libucm_*",
    "libucc",
    "libucc_*",
    "libhcoll",
    "hmca_*",
    "libmxm",
    "libsharp",
    "libsharp_coll",
    // libfabric and its providers.
    "libfabric",
    "*-fi",
    // Networks: Omni-Path and its predecessor, verbs and its providers, Slingshot, Aries and
    // Gemini, shared memory, PAMI.
    "libpsm2",
    "libpsm_infinipath",
    "libinfinipath",
    "libibverbs",
    "librdmacm",
    "*-rdmav*",
    "libmlx4",
    "libmlx5",
    "libefa",
    "libmana",
    "libhns",
    "libcxi",
    "libugni",
    "libudreg",
    "libdmapp",
    "libxpmem",
    "libpami",
];

/// True for the file of a library of MPI or of a network, whatever folder it lies in.
pub fn is_network_library(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some(stem) = before_version(name) else { return false };
    let stem = without_digest(stem);
    LIBRARIES.iter().any(|known| is_like(stem, known))
}

/// The name before `.so` and a version; `None` for files that are not shared libraries.
fn before_version(name: &str) -> Option<&str> {
    let (stem, rest) = name.split_once(".so")?;
    (rest.is_empty() || rest.starts_with('.')).then_some(stem)
}

/// Without the digest that wheels of Python put behind a library's name, as in
/// `libmpi-1a2b3c4d.so.12`.
fn without_digest(stem: &str) -> &str {
    match stem.rsplit_once('-') {
        Some((before, digest))
            if digest.len() >= 8 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            before
        }
        _ => stem,
    }
}

fn is_like(stem: &str, pattern: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(inside), Some(_)) => stem.contains(inside.trim_end_matches('*')),
        (Some(end), None) => stem.ends_with(end),
        (None, Some(begin)) => stem.starts_with(begin),
        (None, None) => stem == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of the packages that are named, as they are mapped.
    const IN: &str = "
        libmpi.so.40.30.4 libmpi_mpifh-gfortran.so.40.30.0 libmpi_usempi_ignore_tkr.so.40.30.0 libmpi_usempif08.so.40
        libmpi_cxx.so.40.30.1 libmpi_java.so.40.30.0 libopen-pal.so.40.30.2 libopen-pal.so.80.0.5 libopen-rte.so.40.30.2
        libprrte.so.3 liboshmem.so.40.30.2 libompitrace.so.40.30.1 ompi_monitoring_prof.so mca_btl_vader.so
        mca_pml_ob1.so mca_coll_tuned.so mca_op_avx.so mca_osc_pt2pt.so libmca_common_sm.so.40.30.0
        libmca_common_dstore.so.1 libpmix.so.2.6.2 pmix_mca_pcompress_zlib.so prte_mca_plm_slurm.so
        libmpich.so.12.2.2 libmpichcxx.so.12.2.2 libmpichfort.so.12.2.2 libpmpi.so.12 libmpi_abi.so.1
        libmpi.so.12.0.0 libmpifort.so.12.0.0 libmpicxx.so.12
        libmpi_cray.so.12 libmpi_gnu_123.so.12 libmpifort_gnu_91.so.12 libmpich_intel.so.3 libmpi_gtl_cuda.so.0
        libmpi_gtl_hsa.so.0 libmpi_ibm.so.3 libpami.so
        libucp.so.0.0.0 libuct.so.0 libuct_ib.so.0.0.0 libuct_rdmacm.so.0 libuct_cma.so.0 libucs.so.0.0.0
        libucs_signal.so.0 libucm.so.0 libucc.so.1 libucc_tl_ucp.so hmca_bcol_ucx_p2p.so libhcoll.so.1
        libfabric.so.1.20.0 libpsmx2-fi.so libverbs-fi.so libmlx-fi.so libpsm2.so.2.2 libpsm_infinipath.so.1
        libibverbs.so.1.14.44.0 librdmacm.so.1 libmlx5.so.1.24.44.0 libmlx5-rdmav34.so libhfi1verbs-rdmav34.so
        libefa-rdmav59.so libefa.so.1 libcxi.so.1 libugni.so.0 libudreg.so.0 libdmapp.so.1 libxpmem.so.0
        libmpi-1a2b3c4d.so.12.1.8 libucp-0123abcd.so.0.0.0";
    /// Files that begin alike, call MPI, or are neither.
    const OUT: &str = "
        libc.so.6 libm.so.6 ld-linux-x86-64.so.2 libmpir.so.23 libmpfr.so.6 libmpc.so.3 libmpiP.so libmpg123.so.0
        libboost_mpi.so.1.74.0 libboost_mpi_python.so MPI.cpython-311-x86_64-linux-gnu.so libhdf5_openmpi.so.103
        libscalapack-openmpi.so.2.2 libpetsc_real.so.3.18 libtalea_mpi.so libnccl.so.2 librccl.so.1
        libnccl-net.so libevent_core-2.1.so.7 libhwloc.so.15 libnl-3.so.200 libfftw3_mpi.so.3 libucsi.so
        libpmixed.so libfabrics.so mca_notes.txt libmpi.a libmpi lmp halo libmpi.sofa [kernel] [vdso] libopenblas.so.0
        libefax.so libmlx5_stats.so libwifi.so libopa1.so";

    #[test]
    fn files_of_mpi_and_networks() {
        for name in IN.split_whitespace() {
            assert!(is_network_library(name), "{name}");
            assert!(is_network_library(&format!("/opt/some where/lib/{name}")), "{name}");
        }
        for name in OUT.split_whitespace() {
            assert!(!is_network_library(name), "{name}");
            assert!(
                !is_network_library(&format!("/usr/lib/openmpi/lib/libmpi.so.40/{name}")),
                "{name}"
            );
        }
        assert!(!is_network_library(""));
    }
}
