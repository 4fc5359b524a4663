//! What `talea serve` does on this machine: batches of a thousand agents, and the questions of a job's page over thirty days.
//!
//! The server is the program that users run, with its defaults: slices of a minute, rules, names of functions. Agents and questions are threads of this
//! process and share the cores with it, so that times are upper bounds.

mod batches;
mod page;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{built, output, scratch};

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// A server that ends with this.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
pub(crate) fn run() -> Result<(), String> {
    let talea = built("talea")?;
    let folder = scratch("serve")?;
    let done = batches::ingest(&talea, &folder).and_then(|()| page::page(&talea, &folder));
    let _ = fs::remove_dir_all(&folder);
    done
}

/// Starts the server and waits until it listens.
fn started(talea: &Path, folder: &Path, store: &Path) -> Result<Server, String> {
    let mut command = Command::new(talea);
    command.args(["serve", "--listen", "127.0.0.1:0", "--store"]);
    command.arg(format!("sqlite:{}", store.display())).arg("--config").arg(folder.join("config"));
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
    let said = child.stderr.take().ok_or("no standard error")?;
    let mut server = Server { child, address: String::new() };
    let mut lines = BufReader::new(said).lines().map_while(Result::ok);
    let mut before = Vec::new();
    for line in lines.by_ref() {
        if let Some(address) = line.strip_prefix("talea: listening on ") {
            address.clone_into(&mut server.address);
            break;
        }
        before.push(line);
    }
    if server.address.is_empty() {
        return Err(format!("no server: {}", before.join("\n")));
    }
    std::thread::spawn(move || lines.for_each(drop));
    Ok(server)
}

fn token(talea: &Path, folder: &Path, kind: &str, name: &str) -> Result<String, String> {
    let mut command = Command::new(talea);
    command.args(["serve", "token", "add", kind, name, "--config"]).arg(folder.join("config"));
    Ok(output(&mut command)?.trim().to_owned())
}

/// The operator's token.
fn operator(talea: &Path, folder: &Path) -> Result<String, String> {
    use std::io::Write as _;
    let mut command = Command::new(talea);
    command.args(["serve", "user", "add", "root", "--uid", "0", "--operator", "--config"]);
    command.arg(folder.join("config")).stdin(Stdio::piped());
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    let mut to = child.stdin.take().ok_or("no standard input")?;
    to.write_all(b"bench bench\n").map_err(|e| e.to_string())?;
    drop(to);
    if !child.wait().map_err(|e| e.to_string())?.success() {
        return Err("no operator".to_owned());
    }
    token(talea, folder, "user", "root")
}
