//! `talea-agent`: `talea agent` alone, small enough for every node.
//!
//! Owns nothing but its name, where messages go and exit codes, which are those of `talea`: 0 done,
//! 2 wrong use, 3 the machine lacks something, 70 a bug.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use talea_node::Task;
use talea_node::args::Cli;

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
    let message = talea_model::text::without_hidden_in_lines(message);
    // Nothing can be printed when standard error is closed.
    let _ = writeln!(std::io::stderr(), "talea-agent: {message}");
}
