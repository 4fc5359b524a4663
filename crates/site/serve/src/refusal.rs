//! Answers to requests that cannot be done.
//!
//! Owns the form `{"error": "..."}` and which code stands for what. What does not exist and what
//! may not be seen are the same answer, so that no error tells of others' jobs.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use talea_store::StoreError;

/// Seconds after which it is worth to try again.
const SOON: u64 = 5;

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// Seconds until it is worth to try again.
    pub(crate) retry: Option<u64>,
    /// The store's message, for the server's own log.
    pub(crate) cause: Option<String>,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), retry: None, cause: None }
    }

    /// 400: it cannot be meant.
    pub(crate) fn question(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// 401.
    pub(crate) fn unknown() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "nobody is logged in")
    }

    /// 401 after a wrong password or token: which part of it was wrong is not said.
    pub(crate) fn wrong() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "wrong name, password or token")
    }

    /// 403.
    pub(crate) fn role(message: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    /// 404.
    pub(crate) fn missing() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is nothing here that you may see")
    }

    /// 413.
    pub(crate) fn too_long(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    /// 429, for so many seconds.
    pub(crate) fn too_many(seconds: u64) -> Self {
        let message = "too many wrong passwords, try again later";
        let retry = Some(seconds.max(1));
        Self { retry, ..Self::new(StatusCode::TOO_MANY_REQUESTS, message) }
    }

    /// 503: not now.
    pub(crate) fn busy(message: impl Into<String>) -> Self {
        Self { retry: Some(SOON), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, message) }
    }

    /// 500: nobody's fault but ours.
    pub(crate) fn bug() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "a bug in talea; its log says where")
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Question { .. } | StoreError::Batch { .. } => {
                Self::question(error.to_string())
            }
            // Paths of the server are nobody's business but its own log's.
            StoreError::Full { .. } => Self::busy("the store is full"),
            StoreError::Busy { .. } => Self::busy("the store is busy"),
            // Soon it would take as long.
            StoreError::TooLong { .. } | StoreError::TooLarge { .. } => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
            }
            other => Self {
                cause: Some(other.to_string()),
                ..Self::busy("the store does not answer; the server's log says why")
            },
        }
    }
}

/// Body of a refusal.
#[derive(Serialize)]
struct Body {
    error: String,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(Body { error: self.message })).into_response();
        if let Some(seconds) = self.retry {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_too_much_is_told_so_and_not_to_come_again_soon() {
        let longest = std::time::Duration::from_secs(30);
        let refusal = Refusal::from(StoreError::TooLong { longest });
        assert_eq!((refusal.status.as_u16(), refusal.retry), (503, None));
        assert!(refusal.message.contains("more than 30s"), "{}", refusal.message);
    }
}
