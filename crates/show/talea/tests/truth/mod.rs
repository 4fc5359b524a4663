//! A program's true structure, and the one that `talea show RUN structure` prints, in the same
//! form.
//!
//! Owns that form ([`Item`]) and its text, which are compared. The truth is computed from a
//! program's own notes (`apps/truth/truth.h`) without the structure detection of `talea-flow`:
//! [`log`] reads them, [`build`] makes the tree, [`guards`] says on which iterations something
//! runs. [`printed`] converts the JSON of the view, [`programs`] lists the programs.
//!
//! Used by the integration tests and by `cargo xtask bench truth`.

pub(crate) mod build;
pub(crate) mod guards;
pub(crate) mod log;
pub(crate) mod printed;
pub(crate) mod programs;

use std::fmt::Write as _;

/// One node of a canonical tree, with what is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A loop.
    Loop {
        /// Iterations of its shortest and of its longest execution.
        trips: (u64, u64),
        /// Iterations of all executions; none where the view does not say.
        iterations: Option<u64>,
        /// Whether its iterations are the program's steps, as far as is known.
        main: bool,
        /// On which iterations of the loop around it; empty for all.
        guard: String,
        /// The calls and loops in it, in the order of the program.
        body: Vec<Item>,
    },
    /// A call.
    Call {
        /// The MPI procedure.
        procedure: String,
        /// As that of a loop.
        guard: String,
    },
    /// Calls that the view does not take apart.
    Unknown {
        /// The view's text for them.
        text: String,
    },
}

/// The tree as text, a line for each node.
pub(crate) fn text(items: &[Item]) -> String {
    let mut lines = String::new();
    write(items, 0, &mut lines);
    lines
}

fn write(items: &[Item], depth: usize, lines: &mut String) {
    for item in items {
        let guarded = |guard: &str| {
            if guard.is_empty() { String::new() } else { format!(" [{guard}]") }
        };
        let line = match item {
            Item::Loop { trips: (least, most), guard, .. } if least == most => {
                format!("LOOP {least}x{}", guarded(guard))
            }
            Item::Loop { trips: (least, most), guard, .. } => {
                format!("LOOP {least}-{most}x{}", guarded(guard))
            }
            Item::Call { procedure, guard } => format!("{procedure}{}", guarded(guard)),
            Item::Unknown { text } => format!("? {text}"),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{:indent$}{line}", "", indent = 2 * depth);
        if let Item::Loop { body, .. } = item {
            write(body, depth + 1, lines);
        }
    }
}

/// Iterations of the main loop in all its executions; none without one.
pub(crate) fn main_iterations(items: &[Item]) -> Option<u64> {
    items.iter().find_map(|item| match item {
        Item::Loop { main: true, iterations, .. } => *iterations,
        Item::Loop { body, .. } => main_iterations(body),
        _ => None,
    })
}
