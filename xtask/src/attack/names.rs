//! Names of processes, jobs, nodes and users with characters that deceive readers.

use std::fs;
use std::process::Command;

use talea_model::{Module, Nanos, text};
use talea_store::Store as _;
use talea_store::sqlite::{Options, Sqlite};

use super::{Attack, Extent, Outcome, SECOND, batch};
use crate::site::{Role, Running, SOON, Site, until};

pub(super) const ATTACKS: &[Attack] = &[Attack {
    name: "U+202E, zero-width characters and escape sequences in names of jobs, files, phases, nodes and users",
    before: "U+202E and zero-width characters reach the terminal",
    limit: "none of them in the output of `usage`, `jobs`, `top` and in logs",
    extent: Extent::Fast,
    make,
}];

/// Turns the direction of writing, is not drawn, commands the terminal.
const DECEIVING: &str =
    "\u{202e}a\u{200b}b\u{2066}c\u{61c}d\u{ad}e\u{e0041}f\x1b[2Jg\u{feff}h\u{85}";

fn make(site: &Site, _: Extent) -> Result<Outcome, String> {
    let name = |before: &str| format!("{before}{DECEIVING}");
    let mut made = batch(&name("n"), 0, Nanos::now() - Nanos(100 * SECOND));
    made.jobs[0].id = name("4");
    let module = |path: String| Module { path, build_id: "ab".to_owned() };
    made.modules = vec![module(name("/bin/")), module(name("/lib/"))];
    made.phases = vec![name("")];
    made.shares.iter_mut().for_each(|share| share.phase = Some(0));
    let kept = Options { slice: Nanos(0), ..Options::default() };
    let mut store = Sqlite::open(&site.path("t.db"), &kept);
    let put = store.as_mut().map_err(|error| error.to_string());
    put?.put_all(&[made]).map_err(|error| error.to_string())?;

    // A process with such a name, as an agent finds it.
    let program = site.path(&name("sh"));
    fs::copy("/bin/sh", &program).map_err(|error| error.to_string())?;
    let _process = Running::start(Command::new(&program).args(["-c", "while :; do :; done"]))?;
    let address = format!("sqlite:{}", site.path("t.db").display());
    let words = ["agent", "--store", &address, "--rate", "100Hz", "--interval", "300ms"];
    let mut agent = Running::start(&mut site.talea(words))?;
    let shown = |words: &[&str]| -> Result<String, String> {
        let mut command = site.talea(words.iter().copied().chain(["--store", &address]));
        let output = command.output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("{words:?}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        let both = [output.stdout, output.stderr].concat();
        String::from_utf8(both).map_err(|error| error.to_string())
    };
    let by_executable = ["usage", "--by", "executable"];
    until(SOON, || {
        shown(&by_executable).is_ok_and(|text| text.contains("/sh\u{fffd}a")) || !agent.runs()
    });
    let samples_it = shown(&by_executable)?.contains("/sh\u{fffd}a");
    let by = "node,job,executable,library,function,phase";
    let mut all = Vec::new();
    for words in [
        &by_executable[..],
        &["usage", "--by", by],
        &["jobs"],
        &["jobs", &name("4")],
        &["top", "--once", "--last", "1h", "--by", by],
    ] {
        all.push(shown(words)?);
    }
    let outputs = all.len();
    // Lines of the log with such names: a login and a refused batch.
    let (named, user) = ("n\u{202e}a\u{200b}b", name("user"));
    let node = site.token("node", named)?;
    site.user("root", 0, Role::Operator)?;
    let server = site.server("s.db", &[])?;
    server.log_in(&user, "a guess")?;
    let mut wrong = batch(named, 1, Nanos::now() - Nanos(100 * SECOND));
    wrong.shares[0].core = u32::MAX;
    let refused = server.put(&node, &[wrong])?.status;
    until(SOON, || server.process.lines().len() >= 4);
    let lines = server.process.lines();
    // Logs escape them, so that a name can be searched for.
    let are_logged =
        refused == 400 && lines.iter().filter(|line| line.contains(r"a\u{200b}b")).count() >= 2;
    all.extend(lines);
    let hidden = |c: &char| *c != '\n' && text::is_hidden(*c);
    let count = all.iter().map(|text| text.chars().filter(hidden).count()).sum::<usize>();
    let is_shown = all[1].contains("a\u{fffd}b") && are_logged;
    let figures = format!(
        "{count} of them in {outputs} outputs and {} lines of log{}",
        all.len() - outputs,
        if samples_it { "; a process with such a name was sampled" } else { "" },
    );
    Ok(Outcome::of(count == 0 && is_shown, figures))
}
