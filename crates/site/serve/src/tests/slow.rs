//! Clients that are slow, that do not read, and that are too many.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use super::Served;
use crate::Patience;
use crate::access::{Kind, Role};

/// What stands still so long is given up.
const SOON: Duration = Duration::from_millis(300);

/// A server that soon gives up one thing, and waits long for all others: an ordinary request may
/// take its time on a slow machine.
fn impatient(change: impl FnOnce(&mut Patience)) -> Served {
    let long = Duration::from_mins(5);
    let mut patience = Patience { headers: long, body: long, form: long, answer: long };
    change(&mut patience);
    Served::with(|options| options.patience = patience)
}

/// What comes back, until the server ends the connection.
fn rest(connection: &mut TcpStream) -> String {
    connection.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let mut bytes = Vec::new();
    match connection.read_to_end(&mut bytes) {
        Ok(_) => (),
        // It was ended while something was still on the way to it.
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}"),
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A figure of `/metrics`; none where the server gave up the answer.
fn metric(served: &Served, name: &str) -> Option<u64> {
    let mut connection = TcpStream::connect(served.address).ok()?;
    let asked = b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    connection.write_all(asked).ok()?;
    let text = rest(&mut connection);
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.parse().ok()
}

/// Asks until it is so.
fn becomes(is: impl Fn() -> bool) -> bool {
    (0..1200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        is()
    })
}

#[test]
fn heads_and_bodies_that_do_not_come_are_given_up() {
    let served = impatient(|patience| (patience.body, patience.form) = (SOON, SOON));
    let node = served.token(Kind::Node, "n1");
    let root = served.user("root", 0, Role::Operator);
    let bodies = [
        ("/api/v1/batches", node.as_str(), " 408 "),
        ("/api/v1/login", "", " 408 "),
        ("/prometheus/api/v1/query", root.as_str(), " 408 "),
    ];
    for (path, bearer, status) in bodies {
        let mut connection = TcpStream::connect(served.address).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nAuthorization: {bearer}\r\nContent-Length: 100\r\n\r\nabc"
        );
        connection.write_all(head.as_bytes()).unwrap();
        let text = rest(&mut connection);
        assert!(text.lines().next().is_some_and(|line| line.contains(status)), "{path}: {text}");
    }
    let served = impatient(|patience| patience.headers = SOON);
    let mut connection = TcpStream::connect(served.address).unwrap();
    connection.write_all(b"GET / HTTP/1.1\r\nHos").unwrap();
    assert!(!rest(&mut connection).contains(" 200 "));
    let mut silent = TcpStream::connect(served.address).unwrap();
    assert_eq!(rest(&mut silent), "");
}

#[test]
fn who_does_not_read_is_cut_off() {
    let served = impatient(|patience| patience.answer = SOON);
    let mut connection = TcpStream::connect(served.address).unwrap();
    // More than the buffers of both sides take.
    let asked = b"GET /assets/app.js HTTP/1.1\r\nHost: a\r\n\r\n".repeat(400);
    connection.write_all(&asked).unwrap();
    assert!(
        becomes(|| metric(&served, "talea_serve_connections").is_some_and(|count| count <= 1)),
        "it is still there"
    );
    // Reading now finds the end, not all answers.
    let whole = Served::new().get("/assets/app.js", &[]).text.len();
    assert!(rest(&mut connection).len() < 400 * whole);
}

/// A connection from an address of this machine, if the server keeps it.
fn kept(served: &Served, from: u8) -> Option<TcpStream> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, from], 0).into()).unwrap();
        socket.connect(served.address).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    let mut stream = stream;
    // Half a request: the server waits for the rest.
    let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\n");
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    match stream.read(&mut [0; 1]) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Some(stream),
        _ => None,
    }
}

#[test]
fn one_address_shuts_nobody_else_out() {
    let served = Served::with(|options| {
        (options.connections, options.connections_of_address) = (16, 4);
        let long = Duration::from_mins(5);
        options.patience = Patience { headers: long, body: long, form: long, answer: long };
    });
    let root = served.user("root", 0, Role::Operator);
    let held: Vec<TcpStream> = (0..8).map_while(|_| kept(&served, 2)).collect();
    assert_eq!(held.len(), 4);
    // What is not kept for those who are known is there for everybody else.
    let others: Vec<TcpStream> = (3..16).map_while(|from| kept(&served, from)).collect();
    assert!((5..9).contains(&others.len()), "{}", others.len());
    assert!(kept(&served, 20).is_none());
    // Here the operator was before.
    assert!(kept(&served, 1).is_some());
    let metrics = served.get("/metrics", &[("Authorization", &root)]).text;
    let count = |name: &str| -> u64 {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap().parse().unwrap()
    };
    assert_eq!(count("talea_serve_connections_turned_away_total"), 3, "{metrics}");
    assert_eq!(count("talea_serve_connections_turned_away_of_address_total"), 1, "{metrics}");
    drop((held, others));
    assert!(becomes(|| kept(&served, 20).is_some()));
}

#[test]
fn too_many_connections_are_closed_until_others_go() {
    let served = Served::with(|options| options.connections = 4);
    // Twice as many as there are places: for a moment one may be taken by a client of a server that
    // had this port before.
    let held: Vec<TcpStream> =
        (0..8).map(|_| TcpStream::connect(served.address).unwrap()).collect();
    // Those that the server took wait for a request; one more is closed without a word.
    let closed = (0..100).any(|_| {
        let mut more = TcpStream::connect(served.address).unwrap();
        more.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let reset = std::io::ErrorKind::ConnectionReset;
        more.read(&mut [0; 1]).map_or_else(|error| error.kind() == reset, |read| read == 0)
    });
    assert!(closed);
    drop(held);
    assert!(becomes(|| {
        let mut connection = TcpStream::connect(served.address).unwrap();
        let _ =
            connection.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let text = rest(&mut connection);
        let turned = "talea_serve_connections_turned_away_total ";
        text.lines().any(|line| line.strip_prefix(turned).is_some_and(|count| count != "0"))
    }));
}
