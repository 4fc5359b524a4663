//! Every route, as data.
//!
//! Owns the table that the router is made of, so that a test can walk over all of them as somebody
//! who must not see others' jobs. What holds for all routes is here too: no request of another site
//! changes anything, no answer is kept by caches or guessed at by browsers.

mod answers;
mod batches;
mod findings;
mod jobs;
mod login;
mod metrics;
mod nodes;
mod rates;
mod search;
mod series;
mod upkeep;
mod usage;

pub(crate) use answers::RefusedNode;
pub(crate) use login::small;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, Method, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get, post};

use crate::access::is_of_another_site;
use crate::pages;
use crate::prometheus;
use crate::refusal::Refusal;
use crate::state::Shared;

/// Permission that a route needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Everybody; nothing of a job or a user is in it.
    Anyone,
    /// A node's token.
    Node,
    /// Users that are logged in; they see only their own data.
    Person,
}

/// A line of the table.
pub(crate) struct Route {
    pub(crate) path: &'static str,
    /// For the test that walks over all of them, and for who reads.
    #[cfg_attr(not(test), expect(dead_code))]
    pub(crate) audience: Audience,
    handler: MethodRouter<Shared>,
}

/// All of them.
pub(crate) fn all() -> Vec<Route> {
    use Audience::{Anyone, Node, Person};
    let route = |path, audience, handler| Route { path, audience, handler };
    vec![
        route("/api/v1/batches", Node, post(batches::put)),
        route("/api/v1/login", Anyone, post(login::log_in)),
        route("/api/v1/logout", Anyone, post(login::log_out)),
        route("/api/v1/me", Person, get(login::me)),
        route("/api/v1/usage", Person, get(usage::usage)),
        route("/api/v1/series", Person, get(series::series)),
        route("/api/v1/rates", Person, get(rates::rates)),
        route("/api/v1/spreads", Person, get(rates::spreads)),
        route("/api/v1/nodes", Person, get(nodes::nodes)),
        route("/api/v1/jobs", Person, get(jobs::jobs)),
        route("/api/v1/jobs/{id}", Person, get(jobs::job)),
        route("/api/v1/findings", Person, get(findings::findings)),
        route("/api/v1/search", Person, get(search::search)),
        route("/prometheus/api/v1/query", Person, get(prometheus::query).post(prometheus::query)),
        route(
            "/prometheus/api/v1/query_range",
            Person,
            get(prometheus::query_range).post(prometheus::query_range),
        ),
        route(
            "/prometheus/api/v1/labels",
            Person,
            get(prometheus::labels).post(prometheus::labels),
        ),
        route("/prometheus/api/v1/label/{name}/values", Person, get(prometheus::values)),
        route(
            "/prometheus/api/v1/series",
            Person,
            get(prometheus::series).post(prometheus::series),
        ),
        route("/metrics", Anyone, get(metrics::metrics)),
        route("/", Anyone, get(pages::index)),
        route("/assets/{name}", Anyone, get(pages::asset)),
    ]
}

/// The router of all routes.
pub(crate) fn router(state: Shared) -> Router {
    let mut router = Router::new();
    for route in all() {
        router = router.route(route.path, route.handler);
    }
    router
        .fallback(|| async { Refusal::missing() })
        .method_not_allowed_fallback(|| async {
            Refusal::new(axum::http::StatusCode::METHOD_NOT_ALLOWED, "not by this method")
        })
        .layer(middleware::from_fn(guarded))
        .with_state(state)
}

async fn guarded(request: Request, next: Next) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let mut response = if !reads && is_of_another_site(request.headers()) {
        Refusal::role("a page of another site may not do this").into_response()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    let set = |name, value| (name, HeaderValue::from_static(value));
    for (name, value) in [
        set(header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        set(header::REFERRER_POLICY, "no-referrer"),
        set(header::CONTENT_SECURITY_POLICY, pages::POLICY),
        set(header::CACHE_CONTROL, "no-store"),
    ] {
        headers.entry(name).or_insert(value);
    }
    response
}
