//! Certificates and their key: read before the server listens, and again at SIGHUP.
//!
//! Owns the refusal of key files that others may read or write. A reload that fails leaves the
//! certificates in use.

use std::io::{Error, Result};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum_server::tls_rustls::RustlsConfig;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::signal::unix::{SignalKind, signal};

use crate::error::ServeError;
use crate::log;

/// Certificates in use, and their files.
pub(crate) struct Tls {
    config: RustlsConfig,
    certificates: PathBuf,
    key: PathBuf,
}

impl Tls {
    /// Reads PEM files.
    pub(crate) fn read(
        certificates: PathBuf,
        key: PathBuf,
    ) -> std::result::Result<Self, ServeError> {
        // Only the first of a process counts, and all are the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        match read(&certificates, &key) {
            Ok(config) => Ok(Self { config: RustlsConfig::from_config(config), certificates, key }),
            Err(source) => Err(ServeError::Tls { source }),
        }
    }

    pub(crate) fn config(&self) -> RustlsConfig {
        self.config.clone()
    }

    /// Reads the files again at each SIGHUP.
    pub(crate) fn reloaded(self) -> Result<impl Future<Output = ()> + Send + 'static> {
        let mut requests = signal(SignalKind::hangup())?;
        Ok(async move {
            while requests.recv().await.is_some() {
                match read(&self.certificates, &self.key) {
                    Ok(new) => {
                        self.config.reload_from_config(new);
                        log::line("certificates were read again", &[]);
                    }
                    Err(error) => log::line(
                        "certificates cannot be read, those from before hold",
                        &[("error", &error.to_string())],
                    ),
                }
            }
        })
    }
}

/// Without TLS, SIGHUP has no effect: users and tokens are read again without it.
pub(crate) fn without() -> Result<impl Future<Output = ()> + Send + 'static> {
    let mut requests = signal(SignalKind::hangup())?;
    Ok(async move { while requests.recv().await.is_some() {} })
}

/// Reads both files. Only HTTP/1.1 is offered: a server of both versions would wait for the first
/// bytes without a bound.
fn read(certificates: &Path, key: &Path) -> Result<Arc<ServerConfig>> {
    let named = |path: &Path, expected: &str, why: &dyn std::fmt::Display| {
        Error::other(format!("{why}, expected {expected}: `{}`", path.display()))
    };
    let found = std::fs::metadata(key).map_err(|error| named(key, "a key in PEM", &error))?;
    let mode = found.mode() & 0o777;
    if mode & 0o027 != 0 {
        let why = format!("others may read or write the key (mode {mode:o})");
        return Err(named(key, "mode 600", &why));
    }
    let chain = CertificateDer::pem_file_iter(certificates).and_then(Iterator::collect);
    let chain: Vec<_> =
        chain.map_err(|error| named(certificates, "certificates in PEM", &error))?;
    if chain.is_empty() {
        return Err(named(certificates, "certificates in PEM", &"no certificate"));
    }
    let secret = PrivateKeyDer::from_pem_file(key);
    let secret = secret.map_err(|error| named(key, "a key in PEM", &error))?;
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, secret);
    let of = format!("the key of `{}`", certificates.display());
    let mut config = config.map_err(|error| named(key, &of, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
