//! Call paths that are hard to tell apart or to find: many, deep, of changing size, through code
//! without unwind tables.
//!
//! Owns what must hold of each: no call is lost, the number of call sites is bounded, and where
//! paths are not distinguished that is a gap.

use super::bench::{Bench, Mpi};

/// Records `program` with `what`; calls of `MPI_Test`, call sites of it, and whether paths were
/// shortened.
fn tests(bench: &Bench, mpi: Mpi, program: &str, what: &str) -> (u64, usize, bool) {
    let name = format!("{}-{program}-{what}", mpi.name);
    let mut command = mpi.launch(1);
    command.extend([mpi.program(program).display().to_string(), what.to_owned()]);
    bench.record(&name, &["--no-report"], &command);
    let sites = bench.json(&["show", &name, "calls", "--by", "path", "--json"]);
    let own: Vec<u64> = sites
        .as_array()
        .unwrap()
        .iter()
        .filter(|site| site["procedure"] == "MPI_Test")
        .map(|site| site["count"].as_u64().unwrap())
        .collect();
    let stats = bench.json(&["show", &name, "stats", "--json"]);
    let shortened = stats["gaps"]
        .to_string()
        .contains("too many call paths, further ones are not distinguished");
    (own.iter().sum(), own.len(), shortened)
}

#[test]
fn too_many_paths_are_bounded_and_said() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let (calls, sites, shortened) = tests(&bench, mpi, "paths", "many");
    assert_eq!(calls, 1 << 17);
    assert!((1000..=1025).contains(&sites), "{sites}");
    assert!(shortened);
}

#[test]
fn recursion_is_one_path_however_deep() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let (calls, sites, shortened) = tests(&bench, mpi, "paths", "deep");
        assert_eq!((calls, shortened), (220, false));
        // Where the walk ends inside the recursion, `main` is not seen.
        assert!((1..=4).contains(&sites), "{sites}");
    }
}

#[test]
fn frames_of_changing_size_are_one_path() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        assert_eq!(tests(&bench, mpi, "paths", "frames"), (2000, 1, false));
    }
}

#[test]
fn code_without_unwind_tables_ends_a_path() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        assert_eq!(tests(&bench, mpi, "paths", "jit"), (1000, 1, false));
        let (calls, sites, shortened) = tests(&bench, mpi, "paths_stripped", "deep");
        assert_eq!((calls, sites, shortened), (220, 1, false));
    }
}
