//! A store that is removed, replaced or damaged while the server runs.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::process::Stdio;
use std::time::Duration;

use talea_store::sqlite::{Options, Sqlite};

use super::Served;
use super::killed::started;
use crate::access::{Kind, Role, add_token, add_user};
use crate::testing::{batch, framed};

fn one(number: u64) -> Vec<talea_model::shares::Batch> {
    vec![batch("n1", number, &[("1", 1, "a")])]
}

fn samples(served: &Served, root: &str) -> u64 {
    served.get("/api/v1/usage", &[("Authorization", root)]).json()["samples"].as_u64().unwrap()
}

#[test]
fn batches_wait_while_the_store_is_away() {
    let served = Served::new();
    let (root, node) = (served.user("root", 0, Role::Operator), served.token(Kind::Node, "n1"));
    let (store, away) = (served.folder.path().join("t.db"), served.folder.path().join("away"));
    assert_eq!(served.put(&node, &one(0)).status, 200);
    assert_eq!(samples(&served, &root), 10);
    fs::rename(&store, &away).unwrap();
    let refused = served.put(&node, &one(1));
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert!(refused.retry.is_some() && !refused.text.contains("t.db"), "{refused:?}");
    // Questions are not answered from what is no longer there.
    assert_eq!(served.get("/api/v1/usage", &[("Authorization", &root)]).status, 503);
    fs::rename(&away, &store).unwrap();
    assert_eq!(served.put(&node, &one(1)).status, 200);
    assert_eq!(samples(&served, &root), 20);
    // Another one in its place, which has the first batch alone.
    fs::copy(&store, &away).unwrap();
    let (copied, beside) = (away.clone(), served.folder.path().join("t.db-wal"));
    let mut log = copied.clone().into_os_string();
    log.push("-wal");
    fs::copy(beside, log).unwrap();
    drop(Sqlite::open(&copied, &Options::default()).unwrap());
    fs::remove_file(&store).unwrap();
    fs::copy(&copied, &store).unwrap();
    assert_eq!(served.put(&node, &one(2)).status, 503);
    let taken = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        served.put(&node, &one(2)).status == 200
    });
    assert!(taken, "the new file is not taken");
    assert_eq!(samples(&served, &root), 30);
}

/// What a server in a process of its own says while somebody sends and asks.
fn said(damage: impl FnOnce(&std::path::Path)) -> (Vec<u16>, String) {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config");
    let node = format!("Bearer {}", add_token(&config, Kind::Node, "n1").unwrap());
    add_user(&config, "root", 0, Role::Operator, "long enough").unwrap();
    let root = format!("Bearer {}", add_token(&config, Kind::User, "root").unwrap());
    let log = folder.path().join("log");
    let (server, address) = started(folder.path(), Stdio::from(fs::File::create(&log).unwrap()));
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(Duration::from_mins(1)))
        .http_status_as_error(false)
        .build()
        .into();
    let put = |number: u64| {
        let url = format!("http://{address}/api/v1/batches");
        let body = framed(&one(number));
        agent.post(url).header("Authorization", &node).send(&body[..]).unwrap().status().as_u16()
    };
    (0..200).for_each(|number| assert_eq!(put(number), 200));
    damage(&folder.path().join("t.db"));
    let mut answers: Vec<u16> = (200..220).map(put).collect();
    for _ in 0..20 {
        let url = format!("http://{address}/api/v1/usage?by=job,library");
        let answer = agent.get(url).header("Authorization", &root).call().unwrap();
        answers.push(answer.status().as_u16());
    }
    drop(server);
    (answers, fs::read_to_string(log).unwrap())
}

#[test]
fn a_store_that_is_gone_is_said_once() {
    let (answers, text) = said(|store| fs::remove_file(store).unwrap());
    assert_eq!(answers, [503; 40]);
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("the store fails")).collect();
    // Who writes says that it is gone, and who would open it that it is not there.
    assert!(lines.len() <= 2, "{text}");
    assert!(lines[0].contains("was removed") && lines[0].contains("t.db"), "{text}");
}

#[test]
fn a_store_that_is_damaged_is_said_once() {
    let (answers, text) = said(|store| {
        // What was in the log reaches the file; then all of it but the first page becomes nonsense,
        // also what the server remembers of it.
        let length = fs::metadata(store).unwrap().len();
        let connection = Sqlite::open(store, &Options::default()).unwrap();
        drop(connection);
        let mut wal = store.to_owned().into_os_string();
        wal.push("-wal");
        let file = fs::OpenOptions::new().write(true).open(store).unwrap();
        let nonsense = vec![0x5a; length.max(1 << 20) as usize - 100];
        file.write_all_at(&nonsense, 100).unwrap();
        let log = fs::OpenOptions::new().write(true).open(wal).unwrap();
        let length = log.metadata().unwrap().len() as usize;
        log.write_all_at(&vec![0x5a; length.max(100) - 32], 32).unwrap();
    });
    // Whoever is told that something does not work is told to come again: nothing is lost.
    assert!(answers.iter().all(|status| [200, 503].contains(status)), "{answers:?}");
    assert!(answers.iter().filter(|&&status| status == 503).count() >= 20, "{answers:?}");
    let lines = text.lines().filter(|line| line.contains("the store fails")).count();
    assert!((1..=4).contains(&lines), "{text}");
}
