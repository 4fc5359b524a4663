//! A site on this machine: a folder with users, tokens and a store, the server and the agents of
//! it, and what they log.
//!
//! Owns the processes: each ends with its value, and all of them at a signal or when the time of
//! the whole command is over, with the folder and what is mounted in it. Servers listen on loopback
//! only. Used by `bench serve` and by `attack`.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use talea_model::shares::Batch;

use crate::bench::output;

/// Maximum wait for something that a process does soon.
pub(crate) const SOON: Duration = Duration::from_mins(1);

/// Processes and mounts of this command, for its end by a signal.
static LIVE: Mutex<Live> =
    Mutex::new(Live { processes: Vec::new(), mounts: Vec::new(), folders: Vec::new() });

struct Live {
    processes: Vec<u32>,
    mounts: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends every process, unmounts and removes what this command made: at a signal or at the end of
/// its time.
pub(crate) fn clean() {
    let live = std::mem::replace(
        &mut *locked(&LIVE),
        Live { processes: Vec::new(), mounts: Vec::new(), folders: Vec::new() },
    );
    for process in live.processes {
        signal(process, Signal::KILL);
    }
    for mount in live.mounts {
        let _ = rustix::mount::unmount(mount, rustix::mount::UnmountFlags::DETACH);
    }
    for folder in live.folders {
        let _ = fs::remove_dir_all(folder);
    }
}

/// Notes a mount that must not outlast this command.
pub(crate) fn note_mount(folder: &Path) {
    locked(&LIVE).mounts.push(folder.to_owned());
}

fn signal(process: u32, signal: Signal) {
    if let Some(process) = i32::try_from(process).ok().and_then(Pid::from_raw) {
        let _ = kill_process(process, signal);
    }
}

/// Lines that a process has written so far.
type Lines = Arc<Mutex<Vec<String>>>;

/// A process that ends with this.
pub(crate) struct Running {
    child: Child,
    lines: Lines,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    /// Starts a command; its standard error becomes lines.
    pub(crate) fn start(command: &mut Command) -> Result<Self, String> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // The process is noted before a signal can come between.
        let mut live = locked(&LIVE);
        let mut child = command.spawn().map_err(|error| format!("{error}: {command:?}"))?;
        live.processes.push(child.id());
        drop(live);
        let lines = Lines::default();
        let reader = child.stderr.take().map(|from| {
            let lines = Arc::clone(&lines);
            std::thread::spawn(move || {
                let read = BufReader::new(from).lines().map_while(Result::ok);
                read.for_each(|line| locked(&lines).push(line));
            })
        });
        Ok(Self { child, lines, reader })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Lines so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        locked(&self.lines).clone()
    }

    /// Lines with a text.
    pub(crate) fn lines_with(&self, text: &str) -> Vec<String> {
        self.lines().into_iter().filter(|line| line.contains(text)).collect()
    }

    pub(crate) fn signal(&self, which: Signal) {
        signal(self.id(), which);
    }

    /// True while it runs.
    pub(crate) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for its end, which must come within this time; lines are complete then.
    pub(crate) fn ended(&mut self, within: Duration) -> Result<ExitStatus, String> {
        let mut status = None;
        let ends = until(within, || {
            status = self.child.try_wait().ok().flatten();
            status.is_some()
        });
        if !ends {
            return Err(format!("process {} has not ended after {within:?}", self.id()));
        }
        let _ = self.reader.take().map(std::thread::JoinHandle::join);
        status.ok_or_else(|| "no status".to_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut live = locked(&LIVE);
        let _ = self.child.kill();
        let _ = self.child.wait();
        live.processes.retain(|process| *process != self.child.id());
    }
}

/// Waits until something holds; false if it does not in this time.
pub(crate) fn until(within: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    loop {
        if holds() {
            return true;
        }
        if begin.elapsed() > within {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A folder with configuration and store, and the program that is tried.
pub(crate) struct Site {
    pub(crate) talea: PathBuf,
    folder: PathBuf,
}

impl Site {
    /// An empty folder that everybody may search: the server reads only such files for functions.
    pub(crate) fn new(talea: &Path, folder: PathBuf) -> Result<Self, String> {
        locked(&LIVE).folders.push(folder.clone());
        let named = |error: std::io::Error| format!("{error}: `{}`", folder.display());
        fs::create_dir_all(&folder).map_err(named)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).map_err(named)?;
        Ok(Self { talea: talea.to_owned(), folder })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The program with these words, in the folder.
    pub(crate) fn talea<W: AsRef<std::ffi::OsStr>>(
        &self,
        words: impl IntoIterator<Item = W>,
    ) -> Command {
        let mut command = Command::new(&self.talea);
        command.args(words).current_dir(&self.folder).env("NO_COLOR", "1");
        command
    }

    /// A token of the server; the configuration folder is made at the first.
    pub(crate) fn token(&self, kind: &str, name: &str) -> Result<String, String> {
        let words = ["serve", "token", "add", kind, name, "--config", "config"];
        Ok(output(&mut self.talea(words))?.trim().to_owned())
    }

    /// A user with a password, and a token of this user.
    pub(crate) fn user(&self, name: &str, uid: u32, role: Role) -> Result<String, String> {
        let uid = uid.to_string();
        let words = ["serve", "user", "add", name, "--uid", &uid, "--config", "config"];
        let operator = matches!(role, Role::Operator).then_some("--operator");
        let mut command = self.talea(words.into_iter().chain(operator));
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|e| e.to_string())?;
        let mut to = child.stdin.take().ok_or("no standard input")?;
        to.write_all(format!("{PASSWORD}\n").as_bytes()).map_err(|e| e.to_string())?;
        drop(to);
        if !child.wait().map_err(|e| e.to_string())?.success() {
            return Err(format!("user `{name}` cannot be added"));
        }
        self.token("user", name)
    }

    /// The same text in a file that its owner alone may read.
    pub(crate) fn secret(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.path(name);
        let named = |error: std::io::Error| format!("{error}: `{}`", path.display());
        fs::write(&path, text).map_err(named)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(named)?;
        Ok(path)
    }

    /// A server on a free port of loopback, with the store of this name.
    pub(crate) fn server(&self, store: &str, more: &[&str]) -> Result<Server, String> {
        let store = format!("sqlite:{}", self.path(store).display());
        let words = ["serve", "--store", &store, "--config", "config", "--listen", "127.0.0.1:0"];
        let mut process = Running::start(&mut self.talea(words.iter().chain(more)))?;
        let mut address = None;
        until(SOON, || {
            let lines = process.lines();
            let said = lines.iter().find_map(|line| line.strip_prefix("talea: listening on "));
            address = said.map(str::to_owned);
            address.is_some() || !process.runs()
        });
        let address =
            address.ok_or_else(|| format!("no server: {}", process.lines().join("\n")))?;
        let client = client();
        Ok(Server { process, address, client })
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
        locked(&LIVE).folders.retain(|folder| *folder != self.folder);
    }
}

/// The password of all users.
pub(crate) const PASSWORD: &str = "long enough";

/// The role of a user.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    User,
    Operator,
}

/// A client with a deadline; statuses are no errors.
pub(crate) fn client() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_mins(2)))
        .build()
        .into()
}

/// An answer with its whole body.
#[derive(Debug)]
pub(crate) struct Came {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Came {
    /// The JSON of an answer that must be 200.
    pub(crate) fn json(&self) -> Result<Value, String> {
        if self.status != 200 {
            return Err(format!("{}: {}", self.status, self.text.trim()));
        }
        serde_json::from_str(&self.text).map_err(|error| error.to_string())
    }
}

/// A server that ends with this.
pub(crate) struct Server {
    pub(crate) process: Running,
    pub(crate) address: String,
    client: ureq::Agent,
}

impl Server {
    pub(crate) fn get(&self, token: &str, path: &str) -> Result<Came, String> {
        get(&self.client, &self.address, token, path)
    }

    /// An object of `/api/v1`.
    pub(crate) fn json(&self, token: &str, path: &str) -> Result<Value, String> {
        self.get(token, &format!("/api/v1/{path}"))?.json()
    }

    /// Samples in all that the store has.
    pub(crate) fn samples(&self, token: &str) -> Result<u64, String> {
        self.json(token, "usage")?["samples"].as_u64().ok_or_else(|| "no samples".to_owned())
    }

    pub(crate) fn put(&self, token: &str, batches: &[Batch]) -> Result<Came, String> {
        put(&self.client, &self.address, token, batches)
    }

    pub(crate) fn log_in(&self, user: &str, password: &str) -> Result<u16, String> {
        let body = serde_json::json!({ "user": user, "password": password }).to_string();
        let url = format!("http://{}/api/v1/login", self.address);
        let answer = self.client.post(url).send(body).map_err(|error| error.to_string())?;
        Ok(came(answer)?.status)
    }

    /// A figure of `/metrics`.
    pub(crate) fn metric(&self, name: &str) -> Result<u64, String> {
        let text = self.get("", "/metrics")?.text;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let figure = line.and_then(|figure| figure.parse().ok());
        figure.ok_or_else(|| format!("no `{name}` in /metrics"))
    }

    /// Maximum resident memory so far, in bytes (`VmHWM`, proc(5)).
    pub(crate) fn memory(&self) -> Result<u64, String> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let text = text.map_err(|error| error.to_string())?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let figure =
            line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
        figure.map(|kilobytes| kilobytes << 10).ok_or_else(|| "no VmHWM".to_owned())
    }
}

/// A request to a server that may be another process by now.
pub(crate) fn get(
    client: &ureq::Agent,
    address: &str,
    token: &str,
    path: &str,
) -> Result<Came, String> {
    let mut request = client.get(format!("http://{address}{path}"));
    if !token.is_empty() {
        request = request.header("Authorization", format!("Bearer {token}"));
    }
    came(request.call().map_err(|error| format!("{error}: {path}"))?)
}

/// Batches as an agent sends them.
pub(crate) fn put(
    client: &ureq::Agent,
    address: &str,
    token: &str,
    batches: &[Batch],
) -> Result<Came, String> {
    let mut body = Vec::new();
    for batch in batches {
        let wire = talea_store::wire::encode(batch).map_err(|error| error.to_string())?;
        body.extend_from_slice(&(wire.len() as u32).to_le_bytes());
        body.extend_from_slice(&wire);
    }
    let request = client.post(format!("http://{address}/api/v1/batches"));
    let request = request.header("Authorization", format!("Bearer {token}"));
    came(request.send(&body[..]).map_err(|error| error.to_string())?)
}

fn came(mut answer: ureq::http::Response<ureq::Body>) -> Result<Came, String> {
    let text = answer.body_mut().with_config().limit(1 << 30).read_to_string();
    Ok(Came { status: answer.status().as_u16(), text: text.map_err(|error| error.to_string())? })
}
