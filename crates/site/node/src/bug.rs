//! Report of a bug, and its exit code.
//!
//! Owns that a panic is said on one line and ends the program with exit code 70 wherever it
//! happens: the small program does not unwind, so that nobody behind a panic could give the code.

/// The exit code of a bug, as `sysexits.h` has it (`EX_SOFTWARE`).
const BUG: i32 = 70;

/// From now on a panic is given to `say` and ends the program.
pub fn end_at_bugs(say: impl Fn(&str) + Send + Sync + 'static) {
    std::panic::set_hook(Box::new(move |info| {
        let text = info.to_string().replace('\n', " ");
        say(&format!("bug: {text}; please report it"));
        std::process::exit(BUG);
    }));
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const CHILD: &str = "TALEA_NODE_TEST_BUG";

    #[test]
    fn a_bug_is_said_and_has_its_code() {
        if std::env::var_os(CHILD).is_some() {
            end_at_bugs(|text| eprintln!("{text}"));
            panic!("as it\nhappens");
        }
        let test = "bug::tests::a_bug_is_said_and_has_its_code";
        let mut child = Command::new(std::env::current_exe().unwrap());
        let child = child.args(["--exact", test, "--nocapture"]).env(CHILD, "1").output().unwrap();
        assert_eq!(child.status.code(), Some(BUG));
        let said = String::from_utf8(child.stderr).unwrap();
        let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("bug: ")).collect();
        assert_eq!(lines.len(), 1, "{said}");
        assert!(lines[0].contains("as it happens; please report it"), "{said}");
    }
}
