//! The page over HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use talea_model::{Gaps, Nanos};
use talea_results::watch::WatchData;

use super::*;

fn look(number: u64) -> WatchData {
    WatchData {
        look: number,
        running: true,
        time_ns: Nanos(number),
        interval_ns: Nanos(1),
        took_ns: Nanos(1),
        events: 0,
        new_events: 0,
        left_events: 0,
        nodes: 0,
        edges: 0,
        change: None,
        steady_since_ns: None,
        mpi_share: 0.0,
        recent_mpi_share: 0.0,
        main_loop: None,
        clusters: None,
        sites: Vec::new(),
        ranks: Vec::new(),
        other_ranks: 0,
        gaps: Gaps::default(),
    }
}

fn page() -> Page {
    let about = About {
        name: "a<b".to_owned(),
        path: "runs/a<b".to_owned(),
        command: "mpirun -n 2 ./app\n\"x\"".to_owned(),
        every_ns: Nanos(1_000_000_000),
    };
    Port::take(0).unwrap().open(&about).unwrap()
}

/// A connection with a request to a page.
fn request(page: &Page, path: &str, host: &str) -> BufReader<TcpStream> {
    let address = page.url().split('/').nth(2).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let text = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    // A connection beyond the limit is closed before it is written to.
    let _ = stream.write_all(text.as_bytes());
    BufReader::new(stream)
}

fn answer(page: &Page, path: &str, host: &str) -> (u16, String) {
    let mut text = String::new();
    request(page, path, host).read_to_string(&mut text).unwrap();
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    (status, text)
}

/// The path of a part of the page.
fn path(page: &Page, name: &str) -> String {
    format!("/{}/{name}", page.url().split('/').nth(3).unwrap())
}

#[test]
fn only_the_whole_address_is_answered() {
    let page = page();
    let (status, text) = answer(&page, &path(&page, ""), "127.0.0.1");
    assert_eq!(status, 200);
    assert!(text.contains("content-security-policy: default-src 'self'"), "{text}");
    assert!(text.contains("cache-control: no-store"), "{text}");
    for (name, kind) in [("app.js", "text/javascript"), ("app.css", "text/css")] {
        let (status, text) = answer(&page, &path(&page, name), "localhost:8080");
        assert!(status == 200 && text.contains(kind), "{text}");
    }
    assert_eq!(answer(&page, &path(&page, "other"), "localhost").0, 404);
    let token = path(&page, "").replace('/', "");
    let mut wrong = token.clone();
    wrong.replace_range(31.., if token.ends_with('0') { "1" } else { "0" });
    let long = "x".repeat(5000);
    for path in ["/", "//", "/looks", "/app.js", &format!("/{wrong}/looks"), &format!("/{long}/")] {
        assert_eq!(answer(&page, path, "localhost").0, 403, "{path}");
    }
    for host in ["example.org", "127.0.0.1.example.org", ""] {
        assert_eq!(answer(&page, &path(&page, "looks"), host).0, 403, "{host}");
    }
    page.close();
}

#[test]
fn tokens_differ() {
    let [one, two] = [page(), page()];
    assert_ne!(path(&one, ""), path(&two, ""));
    assert_eq!(path(&one, "").len(), 34);
}

/// The next event of a stream: its name and data.
fn event(stream: &mut BufReader<TcpStream>) -> Option<(String, serde_json::Value)> {
    let mut name = String::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        if let Some(text) = line.strip_prefix("event: ") {
            text.trim().clone_into(&mut name);
        }
        if let Some(data) = line.strip_prefix("data: ") {
            return Some((name, serde_json::from_str(data).unwrap()));
        }
    }
}

#[test]
fn a_browser_gets_the_newest_look_and_those_after_it() {
    let page = page();
    (1..=3).for_each(|number| page.show(&look(number)));
    let mut stream = request(&page, &path(&page, "looks"), "localhost");
    let (name, about) = event(&mut stream).unwrap();
    assert_eq!(name, "run");
    assert_eq!(about["name"], "a<b");
    assert_eq!(about["command"], "mpirun -n 2 ./app\n\"x\"");
    assert_eq!(event(&mut stream).unwrap().1["look"], 3);
    page.show(&look(4));
    assert_eq!(event(&mut stream).unwrap().1["look"], 4);
    // The last look comes before the end.
    page.show(&look(5));
    page.close();
    assert_eq!(event(&mut stream).unwrap().1["look"], 5);
    assert_eq!(event(&mut stream), None);
}

#[test]
fn a_page_ends_in_spite_of_browsers_that_do_not_read() {
    let page = page();
    let mut streams = [0; 2].map(|_| request(&page, &path(&page, "looks"), "localhost"));
    for stream in &mut streams {
        assert_eq!(event(stream).unwrap().0, "run");
    }
    // More than the buffers of a connection hold.
    let mut large = look(1);
    large.gaps.note(talea_model::Gap {
        kind: talea_model::GapKind::Missing,
        rank: None,
        detail: "x".repeat(16 << 20),
        count: 0,
    });
    page.show(&large);
    page.close();
}

#[test]
fn streams_are_bounded() {
    let page = page();
    let looks = path(&page, "looks");
    let streams: Vec<_> = (0..STREAMS)
        .map(|_| {
            let mut stream = request(&page, &looks, "localhost");
            assert_eq!(event(&mut stream).unwrap().0, "run");
            stream
        })
        .collect();
    assert_eq!(answer(&page, &looks, "localhost").0, 503);
    assert_eq!(answer(&page, &path(&page, ""), "localhost").0, 200);
    drop(streams);
    // The server notices a closed connection when it writes.
    for number in 0..200 {
        page.show(&look(number));
        if event(&mut request(&page, &looks, "localhost")).is_some() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("no stream ended");
}

#[test]
fn connections_are_bounded() {
    let page = page();
    let address = page.url().split('/').nth(2).unwrap();
    let silent: Vec<_> = (0..CONNECTIONS).map(|_| TcpStream::connect(address).unwrap()).collect();
    let index = path(&page, "");
    let text = || {
        let mut text = String::new();
        // Closed without an answer, or reset.
        let _ = request(&page, &index, "localhost").read_to_string(&mut text);
        text
    };
    // The server accepts them one after the other.
    let is_refused = || {
        std::thread::sleep(Duration::from_millis(50));
        text().is_empty()
    };
    assert!((0..200).any(|_| is_refused()));
    drop(silent);
    // Their permits are free again.
    for _ in 0..200 {
        if !text().is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("no connection became possible");
}

#[test]
fn a_port_in_use_is_refused() {
    let taken = Port::take(0).unwrap();
    let number = taken.0.local_addr().unwrap().port();
    let error = Port::take(number).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot listen on port {number} of this machine:")));
}
