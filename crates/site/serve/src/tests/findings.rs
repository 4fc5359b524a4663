//! Rules that take long: others' questions are answered meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use talea_model::Nanos;
use talea_results::site::Findings as Found;
use talea_store::{Bounds, Visible};

use super::Served;
use crate::Findings;
use crate::access::Role;

/// Rules that are done when they are let go.
#[derive(Default)]
struct Slow {
    let_go: Mutex<bool>,
    told: Condvar,
    at_once: AtomicUsize,
    most: AtomicUsize,
    ends: Mutex<Vec<Option<(Nanos, Nanos)>>>,
}

impl Findings for Slow {
    fn findings(
        &self,
        _: Visible,
        time: Option<(Nanos, Nanos)>,
        _: Option<(&str, Option<u32>)>,
        _: &Arc<Bounds>,
    ) -> Found {
        self.ends.lock().unwrap().push(time);
        let at_once = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(at_once, Ordering::SeqCst);
        let waits = self.told.wait_timeout_while(
            self.let_go.lock().unwrap(),
            Duration::from_secs(20),
            |let_go| !*let_go,
        );
        drop(waits.unwrap());
        self.at_once.fetch_sub(1, Ordering::SeqCst);
        Found::default()
    }
}

#[test]
fn slow_rules_stand_in_nobodys_way() {
    let slow = Arc::new(Slow::default());
    let rules = Arc::clone(&slow);
    let served = Served::with(move |options| options.findings = rules);
    let root = served.user("root", 0, Role::Operator);
    let head = [("Authorization", root.as_str())];
    let ask = |path: &str| served.get(path, &head).status;
    let connections = || {
        let text = served.get("/metrics", &[]).text;
        let line = text.lines().find_map(|line| line.strip_prefix("talea_serve_connections "));
        line.unwrap().parse::<usize>().unwrap()
    };
    std::thread::scope(|scope| {
        let asks: Vec<_> = (0..8)
            .map(|at| {
                let from = if at < 4 { 0 } else { at };
                scope.spawn(move || ask(&format!("/api/v1/findings?from={from}")))
            })
            .collect();
        // All of them, and the one that looks; two are with the rules.
        let all = (0..6000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            slow.at_once.load(Ordering::SeqCst) == 2 && connections() > 8
        });
        let answered = ask("/api/v1/usage");
        *slow.let_go.lock().unwrap() = true;
        slow.told.notify_all();
        assert!(all, "questions did not come");
        assert_eq!(answered, 200);
        assert!(asks.into_iter().all(|ask| ask.join().unwrap() == 200));
    });
    assert_eq!(slow.most.load(Ordering::SeqCst), 2);
    let mut ends: Vec<_> = slow.ends.lock().unwrap().iter().map(|time| time.unwrap()).collect();
    assert_eq!(ends.len(), 8);
    // What is remembered by its time can be found again.
    assert!(ends.iter().all(|(_, end)| end.0 % 60_000_000_000 == 0), "{ends:?}");
    ends.retain(|(from, _)| *from == Nanos(0));
    assert_eq!(ends.len(), 4);
}
