//! The pages, which are the same for everybody and hold nothing until somebody logs in.
//!
//! Owns their names, types and what a browser may do with them: nothing from elsewhere, no script
//! in the text, no frames.

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use crate::refusal::Refusal;

/// Content security policy of the pages.
pub(crate) const POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; \
    form-action 'self'; frame-ancestors 'none'";

const INDEX: &[u8] = include_bytes!("../../../../web/dist/serve/index.html");

struct Asset {
    name: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

const ASSETS: [Asset; 2] = [
    Asset {
        name: "app.js",
        kind: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../../../../web/dist/serve/app.js"),
    },
    Asset {
        name: "app.css",
        kind: "text/css; charset=utf-8",
        bytes: include_bytes!("../../../../web/dist/serve/app.css"),
    },
];

pub(crate) async fn index(headers: HeaderMap) -> Response {
    shown(&headers, "text/html; charset=utf-8", INDEX)
}

pub(crate) async fn asset(
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let asset = ASSETS.iter().find(|asset| asset.name == name).ok_or_else(Refusal::missing)?;
    Ok(shown(&headers, asset.kind, asset.bytes))
}

/// Sent once for each version: browsers ask whether theirs is still the same.
fn shown(headers: &HeaderMap, kind: &'static str, bytes: &'static [u8]) -> Response {
    let tag = format!("\"{:016x}\"", fingerprint(bytes));
    let same = headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .any(|seen| seen.to_str().is_ok_and(|seen| seen.split(',').any(|seen| seen.trim() == tag)));
    let mut response = if same {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(header::CONTENT_TYPE, kind)], bytes).into_response()
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::try_from(tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// FNV-1a: tells versions apart, no secret depends on it.
fn fingerprint(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
