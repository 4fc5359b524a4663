//! Cost of markers: nanoseconds of a marker that is absent, off and on, in C and in Rust; slowdown
//! of a vectorised loop; cost of ranges of NVTX and ITT as phases.
//!
//! The reference is the same loop without markers, in the same process; rounds of all loops take
//! turns. The C program is compiled here with `cc -O2`, without the library, which is preloaded.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::{built, heading, median, output, scratch, spread};

const ROUNDS: usize = 201;

/// The columns, absent, off and on: whether with the library, and a variable.
const STATES: [State; 3] = [
    (false, ("TALEA_MARK", "")),
    (true, ("TALEA_MARK", "off")),
    (true, ("TALEA_MARK_BUDGET", "none")),
];
type State = (bool, (&'static str, &'static str));
/// The columns of other tools' markers: absent, off, each name off by its budget, on.
const BRIDGED: [State; 4] =
    [STATES[0], STATES[1], (true, ("TALEA_MARK_BUDGET", "0.0001")), STATES[2]];

pub(crate) fn run() -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = ["build", "--release", "-p", "talea-mark", "--lib", "--example", "mark_cost"];
    output(Command::new(cargo).args(build))?;
    let library = built("libtalea_mark.so")?;
    let folder = scratch("mark")?;
    let c = folder.join("cost");
    output(Command::new("cc").args(["-O2", "-Iinclude", "apps/marked/cost.c", "-o"]).arg(&c))?;
    heading("Time of a marker");
    println!(
        "Nanoseconds a turn of a loop, less those of the empty loop; median (smallest to largest) of {ROUNDS} rounds of 200,000 turns.\n"
    );
    println!("| marker | library absent | off | on |\n|---|---|---|---|");
    let in_c = measured(&c, &STATES, &library)?;
    // It has the library inside.
    let mut in_rust = vec![Figures::new()];
    in_rust.extend(measured(&built("examples/mark_cost")?, &STATES[1..], &library)?);
    for (label, figures, name) in [
        ("C, begin and end", &in_c, "pair"),
        ("C, scope", &in_c, "scope"),
        ("Rust, `phase!`", &in_rust, "scope"),
    ] {
        let cells = figures.iter().map(|state| {
            if state.is_empty() {
                return "-".to_owned();
            }
            net(state, name)
        });
        println!("| {label} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    let empty = in_c[0].get("empty").cloned().map_or(f64::NAN, |mut f| median(&mut f));
    println!(
        "\nA turn of the empty loop takes {empty:.2} ns. In Rust the library is part of the program."
    );
    bridged(&folder, &library)?;
    heading("Slowdown of a vectorised loop");
    println!(
        "`a[i] += 0.5 * b[i]`, 4,096 floats: nanoseconds an element, and times as long as without markers.\n"
    );
    println!("| loop | library absent | off | on |\n|---|---|---|---|");
    for (label, figures, name) in [
        ("C, no marker", &in_c, "plain"),
        ("C, marker in each turn", &in_c, "inside"),
        ("C, `TALEA_LOOP`", &in_c, "guarded"),
        ("Rust, no marker", &in_rust, "plain"),
        ("Rust, marker in each turn", &in_rust, "inside"),
        ("Rust, marker around the loop", &in_rust, "around"),
    ] {
        let cells = figures.iter().map(|state| {
            if state.is_empty() {
                return "-".to_owned();
            }
            let plain = state.get("plain").cloned().map_or(f64::NAN, |mut f| median(&mut f));
            let mut own = state.get(name).cloned().unwrap_or_default();
            let times = median(&mut own) / plain;
            format!("{}, x{times:.2}", spread(&mut own, 3))
        });
        println!("| {label} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())
}

/// Ranges of other tools, which are looked up by their names.
fn bridged(folder: &Path, library: &Path) -> Result<(), String> {
    let client = folder.join("bridges");
    let mut command = Command::new("cc");
    output(command.args(["-O2", "apps/marked/bridges.c", "-ldl", "-o"]).arg(&client))?;
    heading("Time of ranges of other tools");
    println!(
        "Nanoseconds of a push with its pop, less the empty loop; median (smallest to largest) of {ROUNDS} rounds of 20,000 turns.\n"
    );
    println!(
        "| call | library absent | off | name off by its budget | on |\n|---|---|---|---|---|"
    );
    let figures = BRIDGED.iter().map(|&(with, variable)| {
        let mut command = Command::new(&client);
        command.arg(if with { library } else { Path::new("-") }).arg(ROUNDS.to_string());
        command.env_remove("TALEA_MARK").env_remove("TALEA_MARK_BUDGET").envs([variable]);
        Ok(parsed(&output(&mut command)?))
    });
    let figures: Vec<Figures> = figures.collect::<Result<_, String>>()?;
    for (label, name) in [
        ("NVTX, name as text", "nvtx-text"),
        ("NVTX, registered name", "nvtx-handle"),
        ("ITT, task", "itt-task"),
    ] {
        let cells: Vec<String> = figures.iter().map(|state| net(state, name)).collect();
        println!("| {label} | {} |", cells.join(" | "));
    }
    Ok(())
}

/// Nanoseconds of a loop less those of the empty one.
fn net(figures: &Figures, name: &str) -> String {
    let empty = figures.get("empty").cloned().map_or(f64::NAN, |mut f| median(&mut f));
    let mut own = figures.get(name).cloned().unwrap_or_default();
    for ns in &mut own {
        *ns -= empty;
    }
    spread(&mut own, 2)
}

type Figures = BTreeMap<String, Vec<f64>>;

/// Nanoseconds of each loop, in each state.
fn measured(program: &Path, states: &[State], library: &Path) -> Result<Vec<Figures>, String> {
    states
        .iter()
        .map(|&(with, variable)| {
            let mut command = Command::new(program);
            command.arg(ROUNDS.to_string());
            command.env_remove("TALEA_MARK").env_remove("TALEA_MARK_BUDGET");
            command.envs([variable]);
            if with {
                command.env("LD_PRELOAD", library);
            }
            Ok(parsed(&output(&mut command)?))
        })
        .collect()
}

fn parsed(text: &str) -> Figures {
    text.lines()
        .filter_map(|line| {
            let (name, figures) = line.split_once(' ')?;
            let figures = figures.split(' ').filter_map(|word| word.parse().ok()).collect();
            Some((name.to_owned(), figures))
        })
        .collect()
}
