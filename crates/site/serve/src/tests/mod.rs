//! A real server on a free port, and what comes back over HTTP.

mod bug;
mod engines;
mod findings;
mod gone;
mod guarantees;
mod heavy;
mod hostile;
mod implausible;
mod ingest;
mod killed;
mod limits;
mod login;
mod prometheus;
mod remote;
mod slow;
mod visible;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use talea_model::shares::Batch;
use talea_model::{Bytes, Gaps, Module, Nanos};
use talea_results::site;
use talea_store::{Bounds, Visible};
use tokio::sync::oneshot;

use crate::access::{Kind, Role, add_token, add_user};
use crate::server::serve_until;
use crate::testing::framed;
use crate::{Findings, Functions, Options};

pub(crate) const PASSWORD: &str = "long enough";

/// Names that say what they are of.
struct Named;

impl Functions for Named {
    fn name(&self, module: Option<&Module>, address: Option<u64>, _: Option<Instant>) -> String {
        format!("{:?} {address:?}", module.map(|module| &module.path))
    }
}

/// One finding of each of two users, and one of a node.
struct Found;

impl Findings for Found {
    fn findings(
        &self,
        visible: Visible,
        _: Option<(Nanos, Nanos)>,
        _: Option<(&str, Option<u32>)>,
        _: &Arc<Bounds>,
    ) -> site::Findings {
        let all = [(1, "alpha-1"), (2, "bravo-1")];
        let of = |user| visible == Visible::All || visible == Visible::User(user);
        let own = all.into_iter().filter(|(user, _)| of(*user));
        let jobs = own.map(|(user, job)| finding(Some((user, job)), None));
        let nodes = (visible == Visible::All).then(|| finding(None, Some("n-bravo")));
        site::Findings { findings: jobs.chain(nodes).collect(), gaps: Gaps::default() }
    }
}

/// A finding of a job with its owner, or of a node.
fn finding(job: Option<(u32, &str)>, node: Option<&str>) -> site::Finding {
    site::Finding {
        rule: "rule".to_owned(),
        job: job.map(|(_, name)| name.to_owned()),
        user: job.map(|(user, _)| user),
        node: node.map(str::to_owned),
        begin: Nanos(0),
        end: Nanos(1),
        severity: site::Severity::Info,
        title: String::new(),
        hint: String::new(),
        values: BTreeMap::new(),
        names: BTreeMap::new(),
    }
}

/// A server that runs.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) folder: tempfile::TempDir,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    agent: ureq::Agent,
}

/// What came back.
#[derive(Debug, PartialEq)]
pub(crate) struct Came {
    pub(crate) status: u16,
    pub(crate) text: String,
    pub(crate) cookie: Option<String>,
    pub(crate) retry: Option<String>,
}

impl Came {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text);
        serde_json::from_str(&self.text).unwrap()
    }
}

/// Writes what nobody else may read.
pub(crate) fn secret(path: &Path, text: &str) {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    file.unwrap().write_all(text.as_bytes()).unwrap();
}

/// What is sent with a request.
pub(crate) type Head<'a> = &'a [(&'a str, &'a str)];

pub(crate) fn options(folder: &Path, ready: Box<dyn FnOnce(SocketAddr) + Send>) -> Options {
    Options {
        store: format!("sqlite:{}", folder.join("t.db").display()),
        slice: Nanos(0),
        most: None,
        // Batches of tests are of a day in 2026.
        oldest: Nanos(u64::MAX),
        longest: crate::LONGEST_QUERY,
        memory: crate::MEMORY_OF_QUERY,
        listen: "127.0.0.1:0".parse().unwrap(),
        config: folder.join("config"),
        tls: None,
        insecure: false,
        findings: Arc::new(Found),
        functions: Arc::new(Named),
        connections: crate::MOST_CONNECTIONS,
        connections_of_address: crate::MOST_CONNECTIONS,
        patience: crate::Patience::default(),
        ready,
    }
}

impl Served {
    pub(crate) fn new() -> Self {
        Self::bounded(None)
    }

    /// With a store of so many bytes at most.
    pub(crate) fn bounded(most: Option<Bytes>) -> Self {
        Self::with(|options| options.most = most)
    }

    /// On another store.
    pub(crate) fn on(store: &str) -> Self {
        Self::with(|options| store.clone_into(&mut options.store))
    }

    pub(crate) fn with(change: impl FnOnce(&mut Options)) -> Self {
        Self::by(change, |options, told| serve_until(options, told).unwrap())
    }

    /// Served by something of one's own.
    pub(crate) fn by(
        change: impl FnOnce(&mut Options),
        serve: impl FnOnce(Options, oneshot::Receiver<()>) + Send + 'static,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (ready, listens) = channel();
        let (end, told) = oneshot::channel();
        let mut options =
            options(folder.path(), Box::new(move |address| ready.send(address).unwrap()));
        change(&mut options);
        std::fs::DirBuilder::new().mode(0o700).create(&options.config).unwrap();
        let thread = std::thread::spawn(move || serve(options, told));
        let address = listens.recv_timeout(Duration::from_mins(1)).unwrap();
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_mins(1)))
            .build()
            .into();
        Self { address, folder, end: Some(end), thread: Some(thread), agent }
    }

    fn config(&self) -> std::path::PathBuf {
        self.folder.path().join("config")
    }

    /// The value of `Authorization` for a new token, once the server knows it.
    pub(crate) fn token(&self, kind: Kind, name: &str) -> String {
        let token = add_token(&self.config(), kind, name).unwrap();
        let bearer = format!("Bearer {token}");
        let (path, known) = match kind {
            Kind::Node => ("/api/v1/me", 403),
            Kind::User => ("/api/v1/me", 200),
        };
        for _ in 0..600 {
            if self.get(path, &[("Authorization", &bearer)]).status == known {
                return bearer;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the server does not read its tokens again");
    }

    pub(crate) fn user(&self, name: &str, uid: u32, role: Role) -> String {
        add_user(&self.config(), name, uid, role, PASSWORD).unwrap();
        self.token(Kind::User, name)
    }

    pub(crate) fn get(&self, path: &str, head: Head<'_>) -> Came {
        let mut request = self.agent.get(format!("http://{}{path}", self.address));
        for (name, value) in head {
            request = request.header(*name, *value);
        }
        came(request.call().unwrap())
    }

    pub(crate) fn post(&self, path: &str, head: Head<'_>, body: &[u8]) -> Came {
        let mut request = self.agent.post(format!("http://{}{path}", self.address));
        for (name, value) in head {
            request = request.header(*name, *value);
        }
        came(request.send(body).unwrap())
    }

    pub(crate) fn put(&self, bearer: &str, batches: &[Batch]) -> Came {
        self.post("/api/v1/batches", &[("Authorization", bearer)], &framed(batches))
    }
}

fn came(mut answer: ureq::http::Response<ureq::Body>) -> Came {
    let head =
        |name: &str| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (cookie, retry) = (head("set-cookie"), head("retry-after"));
    let text = answer.body_mut().with_config().limit(64 << 20).read_to_string().unwrap();
    Came { status: answer.status().as_u16(), text, cookie, retry }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            let _ = end.send(());
        }
        if let Some(thread) = self.thread.take() {
            // A panic of the server is one of the test.
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the server panicked");
        }
    }
}
