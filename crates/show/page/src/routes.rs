//! Routes: the page, its program and style, and the stream of looks.
//!
//! Owns the refusals: requests without the token, and requests whose Host is no loopback name.
//! The latter prevents DNS rebinding: a page of another site whose name resolves to 127.0.0.1. A
//! connection that was refused is closed, so that other users of the machine cannot hold many.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use futures_util::stream::{self, Stream, StreamExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::token::Token;
use crate::{About, STREAMS};

/// Content security policy: resources of this origin only, no inline scripts, no frames.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";
/// Interval of comments on a stream without looks.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Time after which a browser asks again.
const RETRY: Duration = Duration::from_secs(1);

const INDEX: &str = include_str!("../../../../web/dist/watch/index.html");
const PROGRAM: &str = include_str!("../../../../web/dist/watch/app.js");
const STYLE: &str = include_str!("../../../../web/dist/watch/app.css");

type Looks = watch::Receiver<Option<Arc<str>>>;

/// Shared by all requests.
#[derive(Debug)]
struct Shared {
    token: Token,
    /// The facts of the run as JSON.
    about: String,
    looks: Looks,
    /// Permits of further streams.
    streams: Arc<Semaphore>,
}

pub(crate) fn router(token: Token, about: &About, looks: Looks) -> Router {
    // Texts and a number: nothing that could fail.
    let about = serde_json::to_string(about).unwrap_or_default();
    let streams = Arc::new(Semaphore::new(STREAMS));
    let shared = Arc::new(Shared { token, about, looks, streams });
    Router::new()
        .route("/{token}/", get(|| async { of_kind("text/html; charset=utf-8", INDEX) }))
        .route("/{token}/{name}", get(part))
        .fallback(|| async { StatusCode::NOT_FOUND })
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), guarded))
        .with_state(shared)
}

async fn part(
    State(shared): State<Arc<Shared>>,
    Path((_, name)): Path<(String, String)>,
) -> Response {
    match name.as_str() {
        "app.js" => of_kind("text/javascript; charset=utf-8", PROGRAM),
        "app.css" => of_kind("text/css; charset=utf-8", STYLE),
        "looks" => match Arc::clone(&shared.streams).try_acquire_owned() {
            Ok(permit) => Sse::new(events(&shared, permit))
                .keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
                .into_response(),
            Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        },
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn of_kind(kind: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// The run's facts, the newest look, then each new one. Browsers ask again after a second where the
/// connection is lost.
fn events(
    shared: &Shared,
    permit: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Event, Infallible>> + use<> {
    let about = Event::default().event("run").retry(RETRY).data(&shared.about);
    let mut looks = shared.looks.clone();
    looks.mark_changed();
    let looks = stream::unfold((looks, permit), |(mut looks, permit)| async move {
        loop {
            // Without a sender the stream ends, after the last look.
            looks.changed().await.ok()?;
            let look = looks.borrow_and_update().clone();
            if let Some(look) = look {
                return Some((Ok(Event::default().data(&*look)), (looks, permit)));
            }
        }
    });
    stream::once(async { Ok(about) }).chain(looks)
}

async fn guarded(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let token = request.uri().path().split('/').nth(1).unwrap_or_default();
    let mut response = if !is_for_this_machine(request.headers()) || !shared.token.is(token) {
        let text = "no valid token, or Host is no loopback name: open the whole address that talea printed\n";
        (StatusCode::FORBIDDEN, [(header::CONNECTION, "close")], text).into_response()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    let set = |name, value| (name, HeaderValue::from_static(value));
    for (name, value) in [
        set(header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        set(header::REFERRER_POLICY, "no-referrer"),
        set(header::CONTENT_SECURITY_POLICY, POLICY),
        set(header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, value);
    }
    response
}

/// True if the request names this machine, by any port: it may come through a tunnel.
fn is_for_this_machine(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine() {
        let is = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            is_for_this_machine(&headers)
        };
        for host in ["127.0.0.1:8080", "localhost", "LOCALHOST:80", "[::1]:8080", "127.0.0.1"] {
            assert!(is(host), "{host}");
        }
        for host in ["example.org", "127.0.0.1.example.org:80", "10.0.0.1:80", "", "localhost.x"] {
            assert!(!is(host), "{host}");
        }
        assert!(!is_for_this_machine(&HeaderMap::new()));
    }
}
