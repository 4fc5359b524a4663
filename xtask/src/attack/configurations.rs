//! Configurations in which others could read passwords or change users: the server does not start.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::Duration;

use super::{Attack, Extent, Outcome};
use crate::bench::output;
use crate::site::{Role, Running, Site, until};

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "`--listen 0.0.0.0` without TLS",
        before: "listens",
        limit: "exit code 2, names --tls-cert",
        extent: Extent::Fast,
        make: without_tls,
    },
    Attack {
        name: "`--config` of a missing folder",
        before: "starts without users",
        limit: "exit code 2, names the folder's remedy",
        extent: Extent::Fast,
        make: without_folder,
    },
    Attack {
        name: "users, tokens, folder, TLS key and agent's token that others may read or write",
        before: "folder, key and agent's token accepted",
        limit: "each refused with exit code 2 and its mode",
        extent: Extent::Fast,
        make: open_files,
    },
];

/// The exit code of a command that must end soon, and its lines; none where it runs.
fn ends(mut command: Command) -> Result<(Option<i32>, String), String> {
    let mut process = Running::start(&mut command)?;
    let starts = |process: &Running| !process.lines_with("talea: listening on").is_empty();
    until(Duration::from_secs(20), || starts(&process) || !process.runs());
    if process.runs() {
        return Ok((None, process.lines().join(" ")));
    }
    let code = process.ended(Duration::from_secs(20))?.code();
    Ok((code, process.lines().join(" ")))
}

fn serve<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["serve", "--store", "sqlite:t.db"], more].concat()
}

/// Figures of a refusal.
fn said(code: Option<i32>) -> String {
    code.map_or_else(|| "starts".to_owned(), |code| format!("exit code {code}"))
}

fn without_tls(site: &Site, _: Extent) -> Result<Outcome, String> {
    site.user("root", 0, Role::Operator)?;
    // In a network namespace of its own: a server that does start cannot be reached.
    let usable = |flag: &&str| output(Command::new("unshare").args([flag, "true"])).is_ok();
    let Some(flag) = ["-n", "-rn"].into_iter().find(usable) else {
        return Ok(Outcome::Skipped("no network namespace can be made".to_owned()));
    };
    let mut command = Command::new("unshare");
    command.arg(flag).arg(&site.talea).current_dir(site.path(""));
    command.args(serve(&["--config", "config", "--listen", "0.0.0.0:0"]));
    let (code, text) = ends(command)?;
    Ok(Outcome::of(code == Some(2) && text.contains("--tls-cert"), said(code)))
}

fn without_folder(site: &Site, _: Extent) -> Result<Outcome, String> {
    let words = serve(&["--config", "absent", "--listen", "127.0.0.1:0"]);
    let (code, text) = ends(site.talea(words))?;
    let is_named = text.contains("talea serve user add") && !site.path("absent").exists();
    Ok(Outcome::of(code == Some(2) && is_named, said(code)))
}

fn open_files(site: &Site, _: Extent) -> Result<Outcome, String> {
    site.user("root", 0, Role::Operator)?;
    site.token("node", "n1")?;
    for name in ["token", "key.pem", "cert.pem"] {
        site.secret(name, "a secret")?;
    }
    let loopback = ["--config", "config", "--listen", "127.0.0.1:0"];
    let tls = [&loopback[..], &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]].concat();
    let (plain, tls) = (serve(&loopback), serve(&tls));
    let agent =
        ["agent", "--store", "http://127.0.0.1:1", "--token-file", "token", "--for", "10ms"];
    let (plain, tls, agent) = (&plain[..], &tls[..], &agent[..]);
    let (mut refused, mut wrong) = (0, Vec::new());
    for (name, mode, safe, words) in [
        ("config/users", 0o644, 0o600, plain),
        ("config/users", 0o620, 0o600, plain),
        ("config/tokens", 0o640, 0o600, plain),
        ("config", 0o755, 0o700, plain),
        ("config", 0o770, 0o700, plain),
        ("key.pem", 0o644, 0o600, tls),
        ("token", 0o644, 0o600, agent),
        ("token", 0o620, 0o600, agent),
    ] {
        let set = |mode| {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(site.path(name), mode).map_err(|error| error.to_string())
        };
        set(mode)?;
        let (code, text) = ends(site.talea(words))?;
        set(safe)?;
        if code == Some(2) && text.contains(&format!("{mode:o}")) {
            refused += 1;
        } else {
            wrong.push(format!("`{name}` {mode:o}: {}", said(code)));
        }
    }
    let figures = [vec![format!("{refused} of 8 refused")], wrong].concat().join("; ");
    Ok(Outcome::of(refused == 8, figures))
}
