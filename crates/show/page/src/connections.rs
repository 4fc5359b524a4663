//! Limit of open connections.

use std::future::{Ready, ready};
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum_server::accept::Accept;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower_service::Service;

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
