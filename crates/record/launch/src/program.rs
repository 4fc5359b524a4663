//! The program of a command line: where it lies, and its name behind launchers and wrappers.
//!
//! Owns the search in PATH and the words that only set something up. It starts nothing.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::{ALONE, LaunchError, launcher};

/// File of a command's first word, as a shell finds it.
///
/// # Errors
///
/// No such program, no permission to execute it, or an option in its place.
pub fn find(word: &OsString) -> Result<PathBuf, LaunchError> {
    let path = Path::new(word);
    // Also `.` and the empty word, which are in no folder of PATH.
    if path.components().count() > 1 || path.is_absolute() || path.file_name().is_none() {
        return executable(path).map(|()| path.to_owned());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut candidates = std::env::split_paths(&folders).map(|folder| folder.join(path));
    candidates.find(|candidate| executable(candidate).is_ok()).ok_or_else(|| {
        let word = word.to_string_lossy().into_owned();
        if word.starts_with('-') { LaunchError::Option(word) } else { LaunchError::NotInPath(word) }
    })
}

fn executable(path: &Path) -> Result<(), LaunchError> {
    let not = |why| LaunchError::NotExecutable { why, path: path.to_owned() };
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(not("no permission to look at the program"))
        }
        Err(_) => Err(LaunchError::NoProgram(path.to_owned())),
        Ok(found) if found.is_dir() => Err(not("this is a folder, not a program")),
        Ok(_) => rustix::fs::access(path, rustix::fs::Access::EXEC_OK)
            .map_err(|_| not("the program may not be executed, try `chmod +x`")),
    }
}

/// `talea-PROGRAM`, by the program that a launcher starts.
pub(crate) fn default_name(command: &[OsString]) -> String {
    let name = Path::new(launched(command)).file_name().unwrap_or_default().to_string_lossy();
    let harmless = |c: char| if c.is_ascii_alphanumeric() || "._-+".contains(c) { c } else { '_' };
    format!("talea-{}", name.chars().map(harmless).take(60).collect::<String>())
}

/// Word that names the program, behind launchers and what else starts it; the first where none
/// is found.
pub fn launched(command: &[OsString]) -> &OsString {
    let program = |word: &&OsString| {
        let text = word.to_string_lossy();
        !text.starts_with('-') && !text.contains('=') && find(word).is_ok()
    };
    let first = &command[0];
    let wraps = launcher::is_launcher(Path::new(first)) || is_wrapper(Path::new(first));
    let wrapper = |word: &&OsString| is_wrapper(Path::new(word));
    let named =
        if wraps { command[1..].iter().filter(program).find(|word| !wrapper(word)) } else { None };
    named.unwrap_or(first)
}

/// Programs that only set something up for the one behind them.
fn is_wrapper(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    matches!(&*name, "env" | "time" | "nice" | "taskset" | "numactl" | "timeout" | "stdbuf")
}

/// Whether a command may start a launcher itself, or is to be recorded alone all the same.
pub(crate) fn may_launch(program: &Path, command: &[OsString]) -> bool {
    let is_script = || {
        let mut begin = [0; 2];
        let read = std::fs::File::open(program).and_then(|mut file| file.read_exact(&mut begin));
        read.is_ok() && &begin == b"#!"
    };
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    command.iter().any(|word| launcher::is_launcher(Path::new(word)))
        || matches!(&*name, "sh" | "bash" | "dash" | "zsh" | "ksh" | "fish" | "make" | "perl")
        || std::env::var_os(ALONE).is_some()
        || is_script()
}

/// A word as one would type it into a shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-+=./,:@%^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_after_what_the_launcher_starts() {
        let check = |words: &[&str], expected: &str| {
            let words: Vec<OsString> = words.iter().map(Into::into).collect();
            assert_eq!(default_name(&words), expected);
        };
        check(&["/bin/sh", "-c", "true"], "talea-sh");
        check(&["mpirun", "-n", "4", "--oversubscribe", "/bin/ls", "-l"], "talea-ls");
        check(&["mpirun", "-n", "4", "env", "A=1", "ls"], "talea-ls");
        check(&["mpirun", "nothing-that-exists"], "talea-mpirun");
    }

    #[test]
    fn programs_are_found_or_refused_with_a_reason() {
        let find = |word: &str| super::find(&word.into());
        assert!(find("sh").is_ok());
        assert!(find("/bin/sh").is_ok());
        assert!(matches!(find("no-such-program-here"), Err(LaunchError::NotInPath(_))));
        assert!(matches!(find("./no-such-program-here"), Err(LaunchError::NoProgram(_))));
        assert!(matches!(find("/usr"), Err(LaunchError::NotExecutable { .. })));
        assert!(matches!(find("."), Err(LaunchError::NotExecutable { .. })));
        assert!(matches!(find(""), Err(LaunchError::NoProgram(_))));
        assert!(matches!(find("--no-such-option"), Err(LaunchError::Option(_))));
        assert!(matches!(find("/etc/passwd"), Err(LaunchError::NotExecutable { .. })));
    }

    #[test]
    fn commands_can_be_typed_again() {
        assert_eq!(quoted("--mca=a/b,c"), "--mca=a/b,c");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
