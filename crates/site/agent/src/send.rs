//! Sends batches to a server over HTTP.
//!
//! Owns the request (docs/server.md: a length and the wire form) and what its answer means for the
//! batch: taken, refused for ever, or to come again. It refuses to wait: a server that does not
//! answer soon is asked again with the next batch, and the spool keeps what it did not take.

use std::time::Duration;

use talea_model::shares::Batch;
use talea_model::text::is_hidden;
use talea_store::access::{Server, Way, WayError, unreached};
use talea_store::wire;

use crate::delivery::Delivery;

/// How long one request may take. Sampling goes on in the kernel meanwhile; hits are collected
/// afterwards.
const PATIENCE: Duration = Duration::from_secs(15);
/// Most of an answer that is read.
const ANSWER: u64 = 4 << 10;

/// A way to a server. Connections are kept between batches.
#[derive(Debug)]
pub struct Sender {
    way: Way,
    /// The name that the node has now.
    node: String,
}

impl Sender {
    /// Reads token and certificates; does not yet ask the server for anything.
    ///
    /// # Errors
    /// Files that cannot be read or have something else in them, and an address that is none.
    pub fn new(server: &Server, node: &str) -> Result<Self, WayError> {
        Ok(Self { way: Way::new(server, PATIENCE)?, node: node.to_owned() })
    }

    /// Offers one batch.
    pub fn send(&self, batch: &Batch) -> Delivery {
        let wire = match wire::encode(batch) {
            Ok(wire) => wire,
            Err(error) => return Delivery::Refused(error.to_string()),
        };
        let Ok(length) = u32::try_from(wire.len()) else {
            return Delivery::Refused(format!("batch of {} bytes", wire.len()));
        };
        let body = [&length.to_le_bytes()[..], &wire].concat();
        let request = self.way.post("batches");
        let mut answer = match request.content_type("application/octet-stream").send(&body[..]) {
            Ok(answer) => answer,
            Err(error) => return Delivery::Later(format!("the server {}", unreached(&error))),
        };
        let status = answer.status().as_u16();
        let text = answer.body_mut().with_config().limit(ANSWER).lossy_utf8(true).read_to_string();
        let is_own = batch.id.node == self.node;
        meaning(status, text.as_deref().unwrap_or_default(), is_own)
    }
}

/// Meaning of an answer for the batch, which has the node's current name or another one.
fn meaning(status: u16, text: &str, is_own: bool) -> Delivery {
    let said: String = text.chars().filter(|&c| !is_hidden(c)).take(300).collect();
    let why = format!("the server answered {status}: {said}");
    match status {
        // Pages of other servers could have any of these codes: ours states how many were new, or
        // which batch it does not accept. The latter answer would be the same for ever.
        200 if text.contains("\"new\":0") => Delivery::Known,
        200 if text.contains("\"new\"") => Delivery::Taken,
        400 | 413 if text.contains("\"error\"") => Delivery::Refused(why),
        // The batch is of a time when this node had another name, which no token of this one will
        // ever send. One of today is refused because the token is another node's, which people
        // mend.
        403 if !is_own && text.contains(wire::OTHER_NODE) => Delivery::Refused(why),
        // Wrong tokens and servers that are not there are mended by people, while batches wait.
        _ => Delivery::Later(why),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use talea_model::Nanos;
    use talea_model::shares::{BatchId, Sampler};

    use super::*;

    fn batch() -> Batch {
        Batch {
            begin: Nanos(1),
            end: Nanos(2),
            period: Nanos(1),
            cores: 1,
            sampler: Sampler::Bpf,
            ..Batch::empty(BatchId { node: "n1".to_owned(), started: 1, number: 0 })
        }
    }

    fn server(address: &str, folder: &Path) -> Server {
        let token = folder.join("token");
        fs::write(&token, "secret\n").unwrap();
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
        Server { address: address.to_owned(), token, authorities: None }
    }

    /// What becomes of a batch when this comes back.
    fn answered(answer: &'static [u8]) -> Delivery {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/talea/", listener.local_addr().unwrap());
        let fake = std::thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let mut seen = Vec::new();
            let mut piece = [0; 4096];
            let head = |seen: &[u8]| seen.windows(4).position(|w| w == b"\r\n\r\n");
            while head(&seen).is_none_or(|at| seen.len() < at + 8) {
                let read = connection.read(&mut piece).unwrap();
                seen.extend_from_slice(&piece[..read]);
            }
            connection.write_all(answer).unwrap();
            String::from_utf8_lossy(&seen).into_owned()
        });
        let sender = Sender::new(&server(&address, folder.path()), "n1").unwrap();
        let delivery = sender.send(&batch());
        let seen = fake.join().unwrap();
        assert!(seen.starts_with("POST /talea/api/v1/batches HTTP/1.1\r\n"), "{seen}");
        assert!(seen.to_lowercase().contains("authorization: bearer secret\r\n"), "{seen}");
        delivery
    }

    #[test]
    fn answers_and_what_they_mean() {
        let taken =
            answered(b"HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n{\"new\":1,\"already\":0}  ");
        assert_eq!(taken, Delivery::Taken);
        let later: [&[u8]; 7] = [
            // Something between here and the server says so.
            b"HTTP/1.1 400 No\r\nContent-Length: 4\r\n\r\nn\x1bo\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 503 Later\r\nRetry-After: 5\r\nContent-Length: 3\r\n\r\n\xff\xfe\x00",
            b"garbage\r\n\r\n",
            b"",
        ];
        for answer in later {
            let delivery = answered(answer);
            assert!(matches!(delivery, Delivery::Later(_)), "{delivery:?}");
        }
        let refused =
            answered(b"HTTP/1.1 400 No\r\nContent-Length: 16\r\n\r\n{\"error\": \"n\x1bo\"}");
        let Delivery::Refused(why) = refused else { panic!("{refused:?}") };
        assert_eq!(why, "the server answered 400: {\"error\": \"no\"}");
    }

    #[test]
    fn a_token_of_another_node_loses_nothing_of_this_one() {
        let other = format!("{{\"error\": \"{}\"}}", wire::OTHER_NODE);
        assert!(matches!(meaning(403, &other, true), Delivery::Later(_)));
        assert!(matches!(meaning(403, &other, false), Delivery::Refused(_)));
        assert!(matches!(meaning(403, "{\"error\": \"no\"}", false), Delivery::Later(_)));
    }

    #[test]
    fn nobody_listens() {
        let folder = tempfile::tempdir().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let sender = Sender::new(&server(&format!("http://{free}"), folder.path()), "n1").unwrap();
        assert!(matches!(sender.send(&batch()), Delivery::Later(_)));
    }

    #[test]
    fn what_is_wrong_is_said_at_once() {
        let folder = tempfile::tempdir().unwrap();
        for address in
            ["", "ftp://x", "http://", "http://a@b", "http:///x", "https://a b", "http://a?b"]
        {
            let found = Sender::new(&server(address, folder.path()), "n1");
            assert!(matches!(found, Err(WayError::Address { .. })), "{address}");
        }
        for address in ["http://joe:secret@h:1", "https://h:1/?token=secret"] {
            let said = Sender::new(&server(address, folder.path()), "n1").unwrap_err().to_string();
            assert!(!said.contains("secret") && said.contains("--token-file"), "{said}");
        }
        let good = server("https://localhost:1", folder.path());
        assert!(Sender::new(&good, "n1").is_ok());
        let authorities = Some(good.token.clone());
        let found = Sender::new(&Server { authorities, ..good.clone() }, "n1");
        assert!(matches!(found, Err(WayError::Content { .. })));
        fs::write(&good.token, " \n").unwrap();
        assert!(matches!(Sender::new(&good, "n1"), Err(WayError::Content { .. })));
        for mode in [0o644, 0o604, 0o620, 0o602] {
            fs::set_permissions(&good.token, fs::Permissions::from_mode(mode)).unwrap();
            let found = Sender::new(&good, "n1");
            assert!(matches!(found, Err(WayError::Open { mode: seen, .. }) if seen == mode));
        }
        fs::remove_file(&good.token).unwrap();
        assert!(matches!(Sender::new(&good, "n1"), Err(WayError::File { .. })));
    }
}
