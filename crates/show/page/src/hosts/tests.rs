//! Trees of hosts on loopback: all states arrive, also where hosts end.

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::{Value, json};
use talea_analysis::watch::{Guide, MAX_BYTES, Snapshot};
use talea_run::observers::ServerAddress;

use super::branch::Link;
use super::children::Children;
use super::server::Server;
use super::*;
use crate::token::Token;

/// The state of a host with so many events.
fn state(host: &str, events: u64) -> Snapshot {
    let mut plain = serde_json::to_value(Snapshot::default()).unwrap();
    plain["hosts"] = json!([host]);
    plain["events"] = json!(events);
    plain["running"] = json!(1);
    plain["new_events"] = json!(1);
    serde_json::from_value(plain).unwrap()
}

fn plain(state: &Snapshot) -> Value {
    serde_json::to_value(state).unwrap()
}

struct Root {
    children: Arc<Mutex<Children>>,
    server: Server,
    address: ServerAddress,
}

fn root() -> Root {
    let token = Token::new().unwrap();
    let children = Arc::new(Mutex::new(Children::of_root()));
    let server = Server::start(token.clone(), Arc::clone(&children), true).unwrap();
    let addresses = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, server.port()))];
    Root { children, server, address: ServerAddress { token: token.bytes(), addresses } }
}

/// Lets each host ask for its place and send its state.
fn round(links: &mut [(String, Link)], events: u64) {
    for (host, link) in links {
        link.asked = None;
        link.send(state(host, events));
    }
}

#[test]
fn a_tree_brings_all_states() {
    let root = root();
    let hosts: u64 = 32 + 2 * 32 + 6;
    let mut links: Vec<(String, Link)> = (0..hosts)
        .map(|number| format!("host {number:03}"))
        .map(|host| (host.clone(), Link::new(&host, root.address.clone(), true)))
        .collect();
    let sum = |root: &Root| {
        let mut children = root.children.lock().unwrap();
        let state = plain(&children.state(&HashSet::new(), false));
        children.mark_seen(Instant::now());
        state
    };
    // Places are known, then servers, then their addresses; states arrive at once.
    for events in 1..5 {
        round(&mut links, events);
        let all = sum(&root);
        assert_eq!(all["hosts"].as_array().unwrap().len() as u64, hosts);
        assert_eq!(all["gaps"], json!([]));
    }
    // A state of a host below another one is one look late.
    let begin = Instant::now();
    round(&mut links, 4);
    let all = sum(&root);
    assert_eq!((all["events"].as_u64(), all["running"].as_u64()), (Some(4 * hosts), Some(hosts)));
    assert!(root.children.lock().unwrap().direct(begin) == FANOUT);
    // Changes count once.
    assert_eq!(sum(&root)["new_events"], json!(0));
    let mut guide = Guide::default();
    assert!(links.iter().all(|(_, link)| link.guide() == guide));
    guide = serde_json::from_value(json!({"floor": 7, "calls": ["x"], "kinds": []})).unwrap();
    root.children.lock().unwrap().set_guide(guide.clone());
    (0..2).for_each(|_| round(&mut links, 5));
    assert!(links.iter().all(|(_, link)| link.guide() == guide), "it goes down the tree");
    // A host below another one ends: its last state goes to the root.
    let (host, mut link) = links.remove(70);
    link.send_last(state(&host, 100));
    (0..2).for_each(|_| round(&mut links, 6));
    assert_eq!(sum(&root)["events"], json!(6 * (hosts - 1) + 100));
    // One with hosts below it ends: these go to the root.
    let (host, mut link) = links.remove(1);
    link.send_last(state(&host, 200));
    (0..2).for_each(|_| round(&mut links, 7));
    assert_eq!(sum(&root)["events"], json!(7 * (hosts - 2) + 300));
    assert_eq!(sum(&root)["gaps"], json!([]));
    // So they do where it was killed.
    let (dead, link) = links.remove(0);
    drop(link);
    std::thread::sleep(super::children::QUIET);
    (0..2).for_each(|_| round(&mut links, 8));
    let all = sum(&root);
    assert_eq!(all["events"], json!(8 * (hosts - 3) + 300));
    let gap = all["gaps"][0]["detail"].as_str().unwrap().to_owned();
    assert!(gap.contains(&dead) && gap.contains("unknown"), "{gap}");
}

#[test]
fn late_hosts_are_gaps_until_they_end() {
    let mut children = Children::of_root();
    children.report("a", state("a", 3), false);
    children.report("b", state("b", 4), true);
    let (now, none) = (Instant::now(), HashSet::new());
    assert_eq!(plain(&children.state_at(now, &none, false))["gaps"], json!([]));
    let later = plain(&children.state_at(now + 2 * super::children::LATE, &none, false));
    assert_eq!(later["events"], json!(7));
    let gap = later["gaps"][0]["detail"].as_str().unwrap().to_owned();
    assert!(gap.contains("`a`") && !gap.contains("`b`"), "{gap}");
    // Two states between two looks.
    children.mark_seen(now);
    children.report("a", state("a", 5), false);
    children.report("a", state("a", 6), false);
    let all = plain(&children.state_at(now, &none, false));
    assert_eq!((all["events"].as_u64(), all["new_events"].as_u64()), (Some(10), Some(2)));
}

#[test]
fn other_requests_are_refused() {
    let root = root();
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let status = |token: &str, route: &str, body: &[u8]| {
        let address = root.address.addresses[0];
        let request = agent.post(format!("http://{address}/{token}/{route}"));
        request.query("host", "h").send(body).map(|answer| answer.status().as_u16()).ok()
    };
    let token = Token::from_bytes(root.address.token).to_string();
    let good = state("h", 1).to_bytes(MAX_BYTES, &Guide::default());
    assert_eq!(status(&token, "state", &good), Some(200));
    for bad in ["0".repeat(32), token[1..].to_owned(), "x".to_owned()] {
        assert_eq!(status(&bad, "state", &good), Some(403));
        assert_eq!(status(&bad, "position", b""), Some(403));
    }
    assert_eq!(status(&token, "state", b""), Some(400));
    assert_eq!(status(&token, "state", &good[..good.len() / 2]), Some(400));
    assert_eq!(status(&token, "other", &good), Some(404));
    // The server may close the connection before everything is sent.
    assert!(matches!(status(&token, "state", &vec![1; 2 * MAX_BYTES]), Some(413) | None));
    assert_eq!(
        plain(&root.children.lock().unwrap().state(&HashSet::new(), false))["events"],
        json!(1)
    );
    assert!(root.server.port() > 0);
}
