//! The server itself: opening files and store, listening, and the end.
//!
//! Owns the order: certificates, users and the store before the port, so that a wrong one is
//! reported at once; at a signal first no new connections, then running requests, then batches that
//! wait for the store. Where the writing thread ends by a bug, so does the server: its supervisor
//! starts it again.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum_server::Handle;
use hyper_util::rt::TokioTimer;
use talea_model::{Bytes, Nanos};
use talea_store::address::{self, Access as Mode, Address};
use talea_store::{Store, Visible, sqlite};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::access::Access;
use crate::connections::{self, Bounded, Patience};
use crate::counts::{Counts, Logs};
use crate::error::ServeError;
use crate::heard::Heard;
use crate::ingest::Ingest;
use crate::rejected_nodes::Refused;
use crate::replies::Answers;
use crate::state::{Findings, Functions, Readers, Shared, State};
use crate::tls::{self, Tls};
use crate::turns::Turns;
use crate::{log, routes};

/// Maximum time of running requests when the server ends.
const GRACE: Duration = Duration::from_secs(10);
/// Threads of requests; the store has its own.
const THREADS: usize = 2;

/// Options of a server.
pub struct Options {
    /// Address of the store.
    pub store: String,
    /// Length of the finest slices of a new store.
    pub slice: Nanos,
    /// Maximum bytes of the store, if it is a file.
    pub most: Option<Bytes>,
    /// Maximum age of a batch, by its end.
    pub oldest: Nanos,
    /// Time that a query may take, with writing its answer.
    pub longest: Duration,
    /// Memory that a query may take.
    pub memory: Bytes,
    /// Its address; port 0 for any free one.
    pub listen: SocketAddr,
    /// Folder of `users` and `tokens`.
    pub config: PathBuf,
    /// Certificates and key in PEM; without them there is no TLS.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// True to listen on other addresses than loopback without TLS.
    pub insecure: bool,
    /// Findings of rules.
    pub findings: Arc<dyn Findings>,
    /// Names of functions.
    pub functions: Arc<dyn Functions>,
    /// Maximum number of connections; fewer where the system allows fewer files.
    pub connections: usize,
    /// Maximum number of connections of one address.
    pub connections_of_address: usize,
    /// Limits of time for the other side of a connection.
    pub patience: Patience,
    /// Called with the address once it listens.
    pub ready: Box<dyn FnOnce(SocketAddr) + Send>,
}

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// Errors at the start. Later ones are lines on standard error.
///
/// # Panics
/// Panic of the writing thread, after running requests have ended.
pub fn serve(options: Options) -> Result<(), ServeError> {
    // Nobody sends: a signal ends it.
    let (_end, told) = oneshot::channel();
    serve_until(options, told)
}

/// Serves until `told` or a signal ends it.
pub(crate) fn serve_until(options: Options, told: oneshot::Receiver<()>) -> Result<(), ServeError> {
    serve_on(options, told, |writer| writer)
}

/// The same with another writer.
pub(crate) fn serve_on(
    options: Options,
    told: oneshot::Receiver<()>,
    exchanged: impl FnOnce(Box<dyn Store>) -> Box<dyn Store>,
) -> Result<(), ServeError> {
    let is_open = options.tls.is_none() && !options.listen.ip().to_canonical().is_loopback();
    if is_open && !options.insecure {
        return Err(ServeError::Insecure { address: options.listen });
    }
    let tls = options.tls.map(|(certificates, key)| Tls::read(certificates, key)).transpose()?;
    let access = Access::open(&options.config)?;
    let (users, tokens) = access.count();
    let counts = Arc::new(Counts::default());
    let logs = Arc::new(Logs::default());
    let kept = sqlite::Options {
        slice: options.slice,
        most: options.most,
        // A node's token may have been stolen.
        strict: true,
        ..sqlite::Options::default()
    };
    let files = match address::parse(&options.store)? {
        Address::Sqlite(path) => of_sqlite(&path),
        Address::Prometheus(_) => Vec::new(),
    };
    let writer = address::open(&options.store, Mode::Write, &kept)?;
    let nodes = writer.nodes(Visible::All)?;
    let (ingest, thread, gone) =
        Ingest::start(exchanged(writer), Arc::clone(&counts), Arc::clone(&logs))?;
    let named = options.store.clone();
    let reading = sqlite::Options { longest: Some(options.longest), ..kept };
    let open = move || address::open(&named, Mode::Read, &reading);
    let state = Arc::new(State {
        access,
        readers: Readers::new(Box::new(open)),
        turns: Turns::default(),
        answers: Answers::default(),
        ingest,
        room: crate::room::Room::default(),
        asking: crate::evaluations::Asking::default(),
        connections: Bounded::new(
            connections::bound(options.connections),
            options.connections_of_address,
            options.patience,
        ),
        patience: options.patience,
        heard: Heard::before(&nodes, Nanos::now(), Instant::now()),
        refused: Refused::default(),
        ahead: Arc::default(),
        oldest: options.oldest,
        longest: options.longest,
        memory: options.memory,
        logs,
        counts,
        findings: options.findings,
        functions: options.functions,
        store: options.store.clone(),
        files,
        is_secure: tls.is_some(),
        started: Instant::now(),
    });
    let address = options.listen;
    let failed = |source| ServeError::Listen { source, address };
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    log::line(
        "listens",
        &[
            ("address", &address.to_string()),
            ("tls", if tls.is_some() { "yes" } else { "no" }),
            ("store", &options.store),
            ("users", &users.to_string()),
            ("tokens", &tokens.to_string()),
        ],
    );
    if is_open {
        log::line("passwords and tokens can be read on the way: there is no TLS", &[]);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .max_blocking_threads(32)
        // The tree of a query nests as deep as its text is long, and is taken apart as deep.
        .thread_stack_size(8 << 20)
        .enable_all()
        .build()?;
    let ready = options.ready;
    let served = runtime.block_on(async {
        let work = listen(listener, tls, Arc::clone(&state), Ends { told, gone });
        let announced = async { ready(address) };
        tokio::join!(work, announced).0
    });
    // Running queries are left: they change nothing.
    runtime.shutdown_timeout(Duration::from_secs(1));
    state.ingest.close();
    drop(state);
    if let Err(bug) = thread.join() {
        log::line("ended by a bug of the writer", &[]);
        std::panic::resume_unwind(bug);
    }
    log::line("ended", &[]);
    served
}

/// Ends beside signals.
struct Ends {
    /// The caller ends it.
    told: oneshot::Receiver<()>,
    /// The writing thread has ended.
    gone: oneshot::Receiver<()>,
}

fn of_sqlite(path: &Path) -> Vec<PathBuf> {
    let beside = |end: &str| {
        let mut name = path.to_owned().into_os_string();
        name.push(end);
        PathBuf::from(name)
    };
    vec![beside("-wal"), path.to_owned()]
}

async fn listen(
    listener: TcpListener,
    tls: Option<Tls>,
    state: Shared,
    ends: Ends,
) -> Result<(), ServeError> {
    let handle = Handle::new();
    let bounded = state.connections.clone();
    let headers = state.patience.headers;
    let app = routes::router(state).into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(until_told(handle.clone(), ends)?);
    let Some(tls) = tls else {
        tokio::spawn(tls::without()?);
        let mut server =
            axum_server::from_tcp(listener)?.handle(handle).acceptor(bounded).http1_only();
        server.http_builder().http1().timer(TokioTimer::new()).header_read_timeout(headers);
        return Ok(server.serve(app).await?);
    };
    let config = tls.config();
    tokio::spawn(tls.reloaded()?);
    let server = axum_server::from_tcp_rustls(listener, config)?.handle(handle);
    // Connections beyond the limits are closed before a handshake.
    let mut server = server.map(|tls| tls.acceptor(bounded)).http1_only();
    server.http_builder().http1().timer(TokioTimer::new()).header_read_timeout(headers);
    Ok(server.serve(app).await?)
}

fn until_told(
    handle: Handle<SocketAddr>,
    ends: Ends,
) -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => (),
            _ = interrupt.recv() => (),
            Ok(()) = ends.told => (),
            _ = ends.gone => log::line("nothing can be stored any more: a bug", &[]),
        }
        log::line("ends", &[]);
        handle.graceful_shutdown(Some(GRACE));
    })
}
