//! A server that is killed at any moment has what it acknowledged, once.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use talea_store::sqlite::{Options as Kept, Sqlite};
use talea_store::{Question, Store as _, Visible};

use super::options;
use crate::access::{Kind, add_token};
use crate::testing::{batch, framed};

/// Folder of the server that this program is to be, when it is started again by
/// [`killed_at_any_moment`].
const FOLDER: &str = "TALEA_TEST_SERVE_FOLDER";

/// No test of its own.
#[test]
fn to_be_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let ready = Box::new(|address| println!("\nlistens {address}"));
    crate::serve(options(folder.as_ref(), ready)).unwrap();
}

pub(super) struct Killed(pub(super) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server in a process of its own, with its address; what it says goes there.
pub(super) fn started(folder: &std::path::Path, said: Stdio) -> (Killed, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tests::killed::to_be_killed", "--nocapture"]);
    command.env(FOLDER, folder).stdout(Stdio::piped()).stderr(said);
    let mut child = command.spawn().unwrap();
    let out = child.stdout.take().unwrap();
    let killed = Killed(child);
    let mut lines = BufReader::new(out).lines().map(Result::unwrap);
    let address = lines.find_map(|line| line.strip_prefix("listens ").map(str::to_owned));
    let address = address.unwrap();
    // Somebody must read what it still says.
    std::thread::spawn(move || lines.for_each(drop));
    (killed, address)
}

#[test]
fn killed_at_any_moment() {
    const ROUNDS: u64 = 8;
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config");
    let bearer = format!("Bearer {}", add_token(&config, Kind::Node, "n1").unwrap());
    let agent: ureq::Agent =
        ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(20))).build().into();
    let (mut next, mut acknowledged) = (0, 0);
    for round in 0..ROUNDS {
        let (mut server, address) = started(folder.path(), Stdio::null());
        let url = format!("http://{address}/api/v1/batches");
        // As many as differ from round to round are sent before somebody kills it while more come.
        let kill_after = 1 + round * 3;
        let mut sent = 0;
        loop {
            if sent == kill_after {
                let mut child =
                    std::mem::replace(&mut server.0, Command::new("true").spawn().unwrap());
                std::thread::spawn(move || {
                    let _ = child.kill();
                    let _ = child.wait();
                });
            }
            let body = framed(&[batch("n1", next, &[("1", 1, "a")])]);
            let answer = agent.post(&url).header("Authorization", &bearer).send(&body[..]);
            match answer {
                Ok(_) => {
                    acknowledged = next + 1;
                    next += 1;
                }
                // As an agent does: the same batch again, when there is somebody.
                Err(_) => break,
            }
            sent += 1;
        }
    }
    let (_server, address) = started(folder.path(), Stdio::null());
    let body = framed(&[batch("n1", next, &[("1", 1, "a")])]);
    let url = format!("http://{address}/api/v1/batches");
    agent.post(&url).header("Authorization", &bearer).send(&body[..]).unwrap();
    assert!(acknowledged > ROUNDS);
    let store = Sqlite::open_to_read(&folder.path().join("t.db"), &Kept::default()).unwrap();
    let question = Question::everything(
        Visible::All,
        talea_model::Nanos(0),
        talea_model::Nanos(i64::MAX as u64),
    );
    let found = store.usage(&question).unwrap();
    assert_eq!(found.totals.samples, (next + 1) * 10);
}
