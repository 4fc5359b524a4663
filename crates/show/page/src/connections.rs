//! Servers of this process: one thread each, with a limit of open connections.

use std::future::{Ready, ready};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum_server::Handle;
use axum_server::accept::Accept;
use hyper_util::rt::TokioTimer;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tower_service::Service;

/// Maximum time until the head of a request is complete, and between two requests.
const HEADERS: Duration = Duration::from_secs(10);

/// A running server.
#[derive(Debug)]
pub(crate) struct Serving {
    handle: Handle<SocketAddr>,
    server: JoinHandle<io::Result<()>>,
    runtime: Runtime,
}

impl Serving {
    /// Serves `app` over HTTP 1 in a thread of this name.
    pub(crate) fn start(
        listener: TcpListener,
        app: Router,
        connections: usize,
        name: &str,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let handle = Handle::new();
        // One thread: there is little to do at once.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name(name)
            .enable_all()
            .build()?;
        let server = {
            let _inside = runtime.enter();
            let mut server = axum_server::from_tcp(listener)?
                .handle(handle.clone())
                .acceptor(Limit::new(connections))
                .http1_only();
            server.http_builder().http1().timer(TokioTimer::new()).header_read_timeout(HEADERS);
            runtime.spawn(server.serve(app.into_make_service()))
        };
        Ok(Self { handle, server, runtime })
    }

    /// Ends when all answers are sent, or `grace` is over.
    pub(crate) fn close(self, grace: Duration) {
        let Self { handle, server, runtime } = self;
        handle.graceful_shutdown(Some(grace));
        // Its errors are those of connections, which end as well.
        let _ = runtime.block_on(server);
        runtime.shutdown_background();
    }
}

/// Accepts connections up to a limit, and closes those beyond it.
#[derive(Clone, Debug)]
pub(crate) struct Limit(Arc<Semaphore>);

impl Limit {
    pub(crate) fn new(connections: usize) -> Self {
        Self(Arc::new(Semaphore::new(connections)))
    }
}

/// The service of a connection; holds its permit until the connection is closed.
#[derive(Clone, Debug)]
pub(crate) struct Limited<S> {
    service: S,
    _permit: Arc<OwnedSemaphorePermit>,
}

impl<S> Accept<TcpStream, S> for Limit {
    type Stream = TcpStream;
    type Service = Limited<S>;
    type Future = Ready<io::Result<(TcpStream, Limited<S>)>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        let permit = Arc::clone(&self.0).try_acquire_owned().map_err(io::Error::other);
        ready(permit.map(|permit| (stream, Limited { service, _permit: Arc::new(permit) })))
    }
}

impl<S: Service<R>, R> Service<R> for Limited<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: R) -> S::Future {
        self.service.call(request)
    }
}
