//! The way to a server of ours: its address, a token, and who vouches for it.
//!
//! Owns what is read of files and what an address may be. It refuses to send anything by itself, to
//! follow redirects and to take a proxy: a token goes to this server and no other.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use ureq::RequestBuilder;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::typestate::{WithBody, WithoutBody};

use crate::address::{is_server, redacted};
use crate::error::StoreError;

/// How long a connection may take to be there.
const CONNECT: Duration = Duration::from_secs(5);
/// Longest file of a token or of certificates.
const LONGEST: u64 = 1 << 20;

/// Why there is no way to a server.
#[derive(Debug, thiserror::Error)]
pub enum WayError {
    /// A file cannot be read.
    #[error("{source}: `{path}`")]
    File {
        /// Error of the system.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// Others may read a token, or change it.
    #[error("others may read or write the token (mode {mode:o}), expected 600: chmod 600 `{path}`")]
    Open {
        /// The file's permissions.
        mode: u32,
        /// The file.
        path: PathBuf,
    },
    /// A file has something else in it.
    #[error("expected {expected}: `{path}`")]
    Content {
        /// The expected content.
        expected: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// The address is not one.
    #[error(
        "server `{address}`: expected http://HOST:PORT or https://HOST:PORT, with the token in --token-file"
    )]
    Address {
        /// As it was given, but for what may be a secret.
        address: String,
    },
}

/// Why a server did not answer, with the option that is missing where nobody known vouches for it,
/// or where the address lacks its `s`.
pub fn unreached(error: &ureq::Error) -> String {
    let why = format!("cannot be reached: {error}");
    if why.contains("UnknownIssuer") {
        return format!("{why}, expected --ca FILE with the certificates of who vouches for it");
    }
    if matches!(error, ureq::Error::Protocol(_)) {
        return format!("{why}, expected https://HOST:PORT where the server has TLS");
    }
    why
}

/// Where a server is, and who asks.
#[derive(Clone, Debug)]
pub struct Server {
    /// `http://HOST:PORT` or `https://HOST:PORT`, perhaps with a folder behind.
    pub address: String,
    /// File with the token of a node or a user.
    pub token: PathBuf,
    /// Certificates in PEM of who vouches for the server; those of the web's authorities if absent.
    pub authorities: Option<PathBuf>,
}

impl Server {
    /// The server at an address; none where a store is no server of ours.
    ///
    /// # Errors
    /// A server without a token, and a token or certificates for what is no server.
    pub fn from_address(
        address: &str,
        token: Option<PathBuf>,
        authorities: Option<PathBuf>,
    ) -> Result<Option<Self>, StoreError> {
        let refused = |why: &str| {
            Err(StoreError::Address { address: redacted(address), why: why.to_owned() })
        };
        match token {
            Some(token) if is_server(address) => {
                Ok(Some(Self { address: address.to_owned(), token, authorities }))
            }
            None if is_server(address) => refused(
                "a server wants to know who asks or sends, expected --token-file FILE with what `talea serve token add` printed",
            ),
            None if authorities.is_none() => Ok(None),
            _ => refused(
                "--token-file and --ca are for a server, expected `http://HOST:PORT` or `https://HOST:PORT` as the store",
            ),
        }
    }
}

/// A way to a server. Connections are kept between requests.
#[derive(Debug)]
pub struct Way {
    agent: ureq::Agent,
    base: String,
    authorization: String,
}

impl Way {
    /// Reads token and certificates; does not yet ask the server for anything. An answer may take
    /// `patience`.
    ///
    /// # Errors
    /// Files that cannot be read or have something else in them, and an address that is none.
    pub fn new(server: &Server, patience: Duration) -> Result<Self, WayError> {
        let refused = || WayError::Address { address: redacted(&server.address) };
        let address = server.address.trim_end_matches('/');
        let host = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"));
        let host = host.ok_or_else(refused)?;
        // A password in an address would be in every log.
        if host.is_empty() || host.contains(['?', '#', '@']) || host.starts_with('/') {
            return Err(refused());
        }
        let base = format!("{address}/api/v1");
        base.parse::<ureq::http::Uri>().map_err(|_| refused())?;
        let token = secret(&server.token)?;
        let token = token.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let expected = "a token, as `talea serve token add` prints it";
            return Err(WayError::Content { expected, path: server.token.clone() });
        }
        let mut tls = TlsConfig::builder();
        if let Some(path) = &server.authorities {
            let text = read(path)?;
            let all: Vec<Certificate<'static>> = parse_pem(text.as_bytes())
                .filter_map(|item| match item {
                    Ok(PemItem::Certificate(certificate)) => Some(certificate),
                    _ => None,
                })
                .collect();
            if all.is_empty() {
                let expected = "certificates in PEM";
                return Err(WayError::Content { expected, path: path.clone() });
            }
            tls = tls.root_certs(RootCerts::new_with_certs(&all));
        }
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(patience))
            .timeout_connect(Some(CONNECT))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(concat!("talea/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls.build())
            .build();
        Ok(Self { agent: config.into(), base, authorization: format!("Bearer {token}") })
    }

    /// A question to a route below `/api/v1`.
    pub fn get(&self, route: &str) -> RequestBuilder<WithoutBody> {
        let request = self.agent.get(format!("{}/{route}", self.base));
        request.header("Authorization", &self.authorization)
    }

    /// Something for a route below `/api/v1`.
    pub fn post(&self, route: &str) -> RequestBuilder<WithBody> {
        let request = self.agent.post(format!("{}/{route}", self.base));
        request.header("Authorization", &self.authorization)
    }
}

/// Content of a private file.
fn secret(path: &Path) -> Result<String, WayError> {
    let failed = |source| WayError::File { source, path: path.to_owned() };
    let file = fs::File::open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    let mode = found.mode() & 0o777;
    // A pipe is who is at its other end.
    if found.is_file() && mode & 0o027 != 0 {
        return Err(WayError::Open { mode, path: path.to_owned() });
    }
    text(file, path)
}

fn read(path: &Path) -> Result<String, WayError> {
    let failed = |source| WayError::File { source, path: path.to_owned() };
    text(fs::File::open(path).map_err(failed)?, path)
}

fn text(file: fs::File, path: &Path) -> Result<String, WayError> {
    let failed = |source| WayError::File { source, path: path.to_owned() };
    let mut text = String::new();
    io::Read::read_to_string(&mut io::Read::take(file, LONGEST), &mut text).map_err(failed)?;
    Ok(text)
}
