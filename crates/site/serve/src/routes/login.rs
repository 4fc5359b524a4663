//! Logging in and out, and who one is.
//!
//! Owns the cookie: `HttpOnly`, `SameSite=Strict`, `Secure` with TLS.

use std::time::Duration;

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;

use super::answers::{Identity, LoggedOut};
use crate::access::{COOKIE, LASTS, Person, address};
use crate::refusal::Refusal;
use crate::state::{Shared, State as Server};

/// Longest body: of forms, that of a question.
const LONGEST: usize = crate::question::LONGEST;

#[derive(Deserialize)]
struct Login {
    user: String,
    password: String,
}

pub(super) async fn log_in(
    State(state): State<Shared>,
    request: Request,
) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let bytes = small(body, state.patience.form).await?;
    let login: Login = serde_json::from_slice(&bytes)
        .map_err(|_| Refusal::question("expected {\"user\": NAME, \"password\": PASSWORD}"))?;
    let user = state.access.password(&login.user, &login.password, address(&parts)).await?;
    let (secret, person) = state.access.log_in(&user)?;
    let mut response = Json(Identity::new(&person)).into_response();
    set_cookie(&state, &mut response, &secret, LASTS)?;
    Ok(response)
}

pub(super) async fn log_out(
    State(state): State<Shared>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    state.access.log_out(&headers);
    let mut response = Json(LoggedOut {}).into_response();
    set_cookie(&state, &mut response, "", Duration::ZERO)?;
    Ok(response)
}

pub(super) async fn me(person: Person) -> Json<Identity> {
    Json(Identity { version: Some(env!("CARGO_PKG_VERSION")), ..Identity::new(&person) })
}

fn set_cookie(
    state: &Server,
    response: &mut Response,
    secret: &str,
    lasts: Duration,
) -> Result<(), Refusal> {
    let secure = if state.is_secure { "; Secure" } else { "" };
    let text = format!(
        "{COOKIE}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{secure}",
        lasts.as_secs()
    );
    let value = HeaderValue::try_from(text).map_err(|_| Refusal::bug())?;
    response.headers_mut().insert(header::SET_COOKIE, value);
    Ok(())
}

/// A short body, which comes soon.
pub(crate) async fn small(body: Body, patience: Duration) -> Result<axum::body::Bytes, Refusal> {
    let all = tokio::time::timeout(patience, to_bytes(body, LONGEST)).await;
    let all = all
        .map_err(|_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time"))?;
    all.map_err(|_| Refusal::too_long(format!("expected a whole body of at most {LONGEST} bytes")))
}
