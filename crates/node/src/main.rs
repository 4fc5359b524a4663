//! `talea-agent`: `talea agent` alone, small enough for every node.
//!
//! Owns nothing but its name, where messages go and exit codes, which are those of `talea`: 0 done, 2 wrong use, 3 the machine lacks something, 70 a
//! bug.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use talea_node::Task;
use talea_node::args::AgentArgs;

#[derive(Debug, Parser)]
#[command(name = "talea-agent", version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    args: AgentArgs,
}

fn main() -> ExitCode {
    let task = Task::from(Cli::parse().args);
    talea_node::end_at_bugs(say);
    match talea_node::perform(&task, &say) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::from(if error.is_wrong_use() { 2 } else { 3 })
        }
    }
}

/// Messages quote names from outside, which must not command the terminal.
fn say(message: &str) {
    let harmless = |c: char| if c == '\n' || !c.is_control() { c } else { '\u{fffd}' };
    let message: String = message.chars().map(harmless).collect();
    // Nobody is left to be told that standard error is gone.
    let _ = writeln!(std::io::stderr(), "talea-agent: {message}");
}
