//! Whatever MPI procedure a library exports, the recorder has an entry of that name.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use object::{Object, ObjectSymbol};

use super::bench::{Bench, Mpi, stderr};

/// Functions of a library that begin like MPI procedures, in C or in any spelling of Fortran.
fn functions(library: &Path) -> BTreeSet<String> {
    let bytes = std::fs::read(library).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    file.dynamic_symbols()
        .filter(|symbol| symbol.is_definition() && symbol.kind() == object::SymbolKind::Text)
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .filter(|name| name.to_ascii_lowercase().starts_with("mpi_"))
        .collect()
}

/// Functions that are no procedures which a program calls.
fn is_exception(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let base = lower.trim_end_matches('_');
    // The tools interface, which is not recorded.
    base.starts_with("mpi_t_")
        // Predefined callbacks, which are passed on and called by MPI itself.
        || base.ends_with("_fn")
        || matches!(base, "mpi_conversion_fn_null" | "mpi_conversion_fn_null_f")
        // MPI_Sizeof of the Fortran modules, one for each type and rank of array, and a call that
        // does nothing.
        || base.starts_with("mpi_sizeof_")
        || matches!(base, "mpi_f_sync_reg" | "mpi_f_sync_reg_f08" | "mpi_f_sync_reg_f08ts")
        // Open MPI has aliases like `MPI_Send_f08`, which no compiler makes out of a call; those
        // with a trailing underscore are what programs call.
        || (name.starts_with("MPI_") && (name.ends_with("_f") || name.ends_with("_f08")))
        // Its older aliases of four local calls.
        || matches!(base, "mpi_wtime_f90" | "mpi_wtick_f90" | "mpi_aint_add_f90" | "mpi_aint_diff_f90")
        // Extensions of MPICH 4.0 that MPI 4.1 took up under other names.
        || matches!(
            base,
            "mpi_delete_error_class_f08" | "mpi_delete_error_code_f08" | "mpi_delete_error_string_f08"
        )
}

/// The MPI libraries that a program is linked with.
fn libraries(program: &Path) -> Vec<String> {
    let output = Command::new("ldd").arg(program).output().unwrap();
    assert!(output.status.success(), "{}: {}", program.display(), stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let paths = text.lines().filter_map(|line| line.split_once("=> ")?.1.split(' ').next());
    paths
        .filter(|path| {
            Path::new(path).file_name().is_some_and(|n| n.to_string_lossy().starts_with("libmpi"))
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_exported_procedure_is_intercepted() {
    let Some(bench) = Bench::new() else { return };
    let own = functions(bench.library());
    let mut checked = 0;
    for mpi in Mpi::all().into_iter().chain(Mpi::newer()) {
        let programs = ["halo", "halo_mpif", "halo_use_mpi", "halo_f08"].map(|p| mpi.program(p));
        let all: BTreeSet<String> =
            programs.iter().filter(|p| p.is_file()).flat_map(|p| libraries(p)).collect();
        assert!(!all.is_empty(), "{}: no library found", mpi.name);
        for library in all {
            let names = functions(Path::new(&library));
            let missing: Vec<&String> =
                names.iter().filter(|n| !is_exception(n) && !own.contains(*n)).collect();
            assert!(missing.is_empty(), "{library}: not intercepted: {missing:?}");
            checked += names.len();
        }
    }
    // In C alone each has more than 400.
    assert!(checked == 0 || checked > 2_000, "{checked}");
}
