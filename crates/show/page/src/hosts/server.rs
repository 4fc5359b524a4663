//! The server that other hosts of the job send their states to.
//!
//! Owns its routes. Every request has a random token in its path, which only the run's owner can
//! read; others are refused before their body is read, and their connection is closed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde::{Deserialize, Serialize};
use talea_analysis::watch::{MAX_BYTES, Snapshot};

use super::children::Children;
use crate::PageError;
use crate::connections::Serving;
use crate::token::Token;

/// Maximum number of connections. Those beyond it are closed at once.
const CONNECTIONS: usize = 4096;
/// Maximum time of a request.
const REQUEST: Duration = Duration::from_secs(5);

/// State of all requests.
#[derive(Debug)]
struct Shared {
    token: Token,
    children: Arc<Mutex<Children>>,
}

/// The host that asks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Asking {
    pub(super) host: String,
    /// Addresses of its server, if it has one, with commas between them.
    #[serde(default)]
    pub(super) server: String,
    /// True if it sends no further state.
    #[serde(default)]
    pub(super) last: bool,
}

/// A running server.
#[derive(Debug)]
pub(super) struct Server {
    port: u16,
    serving: Option<Serving>,
}

impl Server {
    /// Serves on all interfaces, or on loopback alone.
    pub(super) fn start(
        token: Token,
        children: Arc<Mutex<Children>>,
        on_loopback: bool,
    ) -> Result<Self, PageError> {
        let failed = |source| PageError::Listen { port: 0, source };
        let bind = |address: IpAddr| TcpListener::bind((address, 0));
        let listener = if on_loopback {
            bind(Ipv4Addr::LOCALHOST.into())
        } else {
            // One socket for both families, where the system has IPv6.
            bind(Ipv6Addr::UNSPECIFIED.into()).or_else(|_| bind(Ipv4Addr::UNSPECIFIED.into()))
        };
        let listener = listener.map_err(failed)?;
        let port = listener.local_addr()?.port();
        let app = router(Shared { token, children });
        let serving = Some(Serving::start(listener, app, CONNECTIONS, "talea-hosts")?);
        Ok(Self { port, serving })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(serving) = self.serving.take() {
            serving.close(Duration::ZERO);
        }
    }
}

fn router(shared: Shared) -> Router {
    let shared = Arc::new(shared);
    Router::new()
        .route("/{token}/state", post(state))
        .route("/{token}/position", post(position))
        .route("/{token}/leave", post(leave))
        .layer(DefaultBodyLimit::max(MAX_BYTES))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), guarded))
        .with_state(shared)
}

/// Takes the state of a host.
async fn state(
    State(shared): State<Arc<Shared>>,
    Query(asking): Query<Asking>,
    body: Bytes,
) -> Result<Vec<u8>, StatusCode> {
    let state = Snapshot::from_bytes(&body).map_err(|_| StatusCode::BAD_REQUEST)?;
    let mut children = shared.children.lock().unwrap_or_else(PoisonError::into_inner);
    let guide = children.report(&asking.host, state, asking.last);
    guide.map(talea_analysis::watch::Guide::to_bytes).ok_or(StatusCode::SERVICE_UNAVAILABLE)
}

/// Says where a host has to send its state.
async fn position(
    State(shared): State<Arc<Shared>>,
    Query(asking): Query<Asking>,
) -> Result<Vec<u8>, StatusCode> {
    let server = asking.server.split(',').filter_map(|one| one.parse().ok()).collect();
    let mut children = shared.children.lock().unwrap_or_else(PoisonError::into_inner);
    let position = children.position(&asking.host, server);
    serde_json::to_vec(&position).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}

/// Forgets a host that has ended.
async fn leave(State(shared): State<Arc<Shared>>, Query(asking): Query<Asking>) -> StatusCode {
    let mut children = shared.children.lock().unwrap_or_else(PoisonError::into_inner);
    children.leave(&asking.host);
    StatusCode::NO_CONTENT
}

/// Refuses requests without the token, and those that take too long.
async fn guarded(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let token = request.uri().path().split('/').nth(1).unwrap_or_default();
    let close = [(header::CONNECTION, "close")];
    if !shared.token.is(token) {
        return (StatusCode::FORBIDDEN, close).into_response();
    }
    match tokio::time::timeout(REQUEST, next.run(request)).await {
        Ok(response) => response,
        Err(_) => (StatusCode::REQUEST_TIMEOUT, close).into_response(),
    }
}
