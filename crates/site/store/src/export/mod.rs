//! Further outputs of batches beside the store, in Influx' line protocol: by HTTP, to a file or to
//! standard output.
//!
//! Owns the forms of addresses. Callers report what an output refuses. Each request has a bound of
//! seconds; resolving a name has none, so that callers that must not wait send on another thread.

pub mod influx;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use talea_model::shares::Batch;

use crate::address::{has_user, redacted};
use crate::private;

/// Maximum duration of a request.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a batch did not go somewhere.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The address is not one.
    #[error(
        "output `{0}`: expected `influx:http://HOST:PORT/write?db=NAME`, `influx:FILE` or `influx:-`"
    )]
    Address(String),
    /// The address has a user or a password in front of the host.
    #[error(
        "output `{0}`: expected no user and password before the host, where logs would show them; InfluxDB takes them behind `?` (u=NAME&p=PASSWORD), which is never printed"
    )]
    Secret(String),
    /// A file cannot be written.
    #[error("cannot write: `{path}`: {source}")]
    File {
        /// The system's error.
        source: std::io::Error,
        /// The file.
        path: PathBuf,
    },
    /// A server cannot be reached or refuses.
    #[error("output at {address}: {why}")]
    Server {
        /// Without anything after `?`, where tokens could be.
        address: String,
        /// Its message, or the error of the network.
        why: String,
    },
}

/// An additional output.
pub struct Output {
    to: To,
}

enum To {
    Standard,
    File(PathBuf, File),
    Http(ureq::Agent, String),
}

impl Output {
    /// The output at an address; files are opened and appended to, servers are not asked yet.
    ///
    /// # Errors
    /// An address of no form, and a file that cannot be opened.
    pub fn at(address: &str) -> Result<Self, OutputError> {
        let refused = || OutputError::Address(redacted(address));
        let scheme = address.split("://").next().unwrap_or_default();
        if has_user(address) {
            return Err(OutputError::Secret(format!("{scheme}://...")));
        }
        let to = match address.split_once(':') {
            Some(("influx", "-")) => To::Standard,
            Some(("influx", url)) if url.starts_with("http://") || url.starts_with("https://") => {
                // Here, where it can be said without what stands behind `?`.
                url.parse::<ureq::http::Uri>().map_err(|_| refused())?;
                let agent = ureq::Agent::config_builder()
                    .timeout_global(Some(PATIENCE))
                    .max_redirects(0)
                    .http_status_as_error(false)
                    .build();
                To::Http(agent.into(), url.to_owned())
            }
            Some(("influx", path)) if !path.is_empty() => {
                let opened = private::append(Path::new(path));
                let path = PathBuf::from(path);
                match opened {
                    Ok(file) => To::File(path, file),
                    Err(source) => return Err(OutputError::File { source, path }),
                }
            }
            _ => return Err(refused()),
        };
        Ok(Self { to })
    }

    /// Sends a batch, at least once if it says so.
    ///
    /// # Errors
    /// What the file or server refuses; some of the batch may have been taken.
    pub fn send(&mut self, batch: &Batch) -> Result<(), OutputError> {
        let lines = influx::lines(batch);
        match &mut self.to {
            To::Standard => {
                let mut out = std::io::stdout().lock();
                out.write_all(lines.as_bytes())
                    .and_then(|()| out.flush())
                    .map_err(|source| OutputError::File { source, path: PathBuf::from("-") })
            }
            To::File(path, file) => file
                .write_all(lines.as_bytes())
                .map_err(|source| OutputError::File { source, path: path.clone() }),
            To::Http(agent, url) => post(agent, url, &lines),
        }
    }
}

fn post(agent: &ureq::Agent, url: &str, lines: &str) -> Result<(), OutputError> {
    let failed = |why: String| OutputError::Server { address: redacted(url), why };
    let sent = agent.post(url).header("Content-Type", "text/plain; charset=utf-8").send(lines);
    let status = sent.map_err(|error| failed(error.to_string()))?.status();
    if status.is_success() { Ok(()) } else { Err(failed(format!("status {}", status.as_u16()))) }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::tests::made::batch;

    #[test]
    fn addresses() {
        let said = |address| Output::at(address).err().map(|error| error.to_string());
        assert_eq!(said("influx:-"), None);
        assert_eq!(said("influx:http://127.0.0.1:1/write?db=x"), None);
        let wrong = ["", "influx:", "mqtt://h/t", "x:y"];
        insta::assert_snapshot!(wrong.map(|address| said(address).unwrap()).join("\n"));
    }

    #[test]
    fn secrets_are_never_said() {
        for address in [
            "influx:http://joe:pass@h:1/write?db=x",
            "influx:http://joe:pa/ss@h/write",
            "influx:http://joe:pa?ss@h/write",
            "influx:https://pass@h/write?db=x",
        ] {
            let error = Output::at(address).err().unwrap();
            let said = error.to_string();
            assert!(matches!(error, OutputError::Secret(_)), "{said}");
            assert!(!said.contains("joe") && !said.contains("ss@"), "{said}");
            assert!(
                !redacted(address).contains("joe") && !redacted(address).contains("ss"),
                "{address}"
            );
        }
        // An `@` behind the host names nobody.
        let known = "influx:http://h:1/write?u=a@b&token=secret";
        assert!(Output::at(known).is_ok());
        assert_eq!(redacted(known), "influx:http://h:1/write");
        assert_eq!(redacted("influx:http://[::1]:1/a@b"), "influx:http://[::1]:1/a@b");
        let wrong = Output::at("influx:http://h h/write?token=secret").err().unwrap().to_string();
        assert!(wrong.contains("h h/write") && !wrong.contains("secret"), "{wrong}");
    }

    #[test]
    fn a_file_is_appended_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let address = format!("influx:{}", path.display());
        for number in 0..2 {
            Output::at(&address).unwrap().send(&batch("n", 0, number)).unwrap();
        }
        let one = influx::lines(&batch("n", 0, 0)).lines().count();
        assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 2 * one);
    }

    #[test]
    fn by_http() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("influx:http://{}/write?db=t", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let mut seen = Vec::new();
            for status in ["204 No Content", "401 Unauthorized"] {
                let (mut stream, _) = listener.accept().unwrap();
                let mut bytes = [0; 4096];
                let mut all = Vec::new();
                while !all.ends_with(b"00\n") {
                    let n = stream.read(&mut bytes).unwrap();
                    all.extend_from_slice(&bytes[..n]);
                }
                seen.push(String::from_utf8(all).unwrap());
                write!(
                    stream,
                    "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )
                .unwrap();
            }
            seen
        });
        let mut output = Output::at(&address).unwrap();
        output.send(&batch("n", 0, 0)).unwrap();
        let error = output.send(&batch("n", 0, 1)).unwrap_err().to_string();
        assert!(error.contains("401") && !error.contains("db="), "{error}");
        assert!(output.send(&batch("n", 0, 1)).is_err(), "the server is gone");
        let seen = server.join().unwrap();
        assert!(seen[0].starts_with("POST /write?db=t ") && seen[0].contains("talea_samples,"));
    }
}
