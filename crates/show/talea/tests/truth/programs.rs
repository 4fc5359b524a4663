//! The programs of `apps/truth`, and how they are run.
//!
//! Owns their sizes: MPICH's ranks do not yield, so that programs make few steps there where ranks
//! outnumber cores.

/// A program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    /// Its name.
    pub(crate) name: &'static str,
    /// Words behind its name.
    pub(crate) words: &'static [&'static str],
    /// Those for a run of few steps.
    pub(crate) few: &'static [&'static str],
    /// Threads of each rank that call MPI.
    pub(crate) threads: u32,
}

const fn program(name: &'static str, few: &'static [&'static str]) -> Program {
    Program { name, words: &[], few, threads: 1 }
}

/// All of them.
pub(crate) const PROGRAMS: [Program; 22] = [
    program("callback", &["6"]),
    program("cg", &["4"]),
    program("f08", &["12"]),
    program("farm", &[]),
    program("leapfrog", &["6"]),
    program("library", &["12"]),
    program("modules", &["24"]),
    Program { words: &["10"], ..program("multigrid", &["4"]) },
    Program { words: &["12", "10"], ..program("neighbours", &["4", "4"]) },
    program("phases", &["8"]),
    program("pipeline", &["4"]),
    program("printrate", &["4"]),
    program("progress", &["12"]),
    program("recursion", &["8"]),
    program("redblack", &["15"]),
    program("refine", &["30"]),
    program("setup", &[]),
    program("shared", &["11"]),
    program("sizes", &["20"]),
    Program { words: &["10"], ..program("solvers", &["4"]) },
    program("templates", &["18"]),
    Program { threads: 4, ..program("threads", &["8"]) },
];
