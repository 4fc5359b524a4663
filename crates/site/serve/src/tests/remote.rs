//! A server as a store that is asked answers as its own file does.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use talea_model::Nanos;
use talea_model::shares::Activity;
use talea_store::access::Server;
use talea_store::remote::Remote;
use talea_store::sqlite::{Options, Sqlite};
use talea_store::{Dimension, Question, Store as _, StoreError, Text, Value, Visible};

use super::{Served, secret};
use crate::access::{Kind, Role};
use crate::testing::{SECOND, START, batch};

const ALPHA: (&str, u32, &str) = ("alpha-1", 1, "alpha");
const BRAVO: (&str, u32, &str) = ("bravo-1", 2, "bravo");

fn opened(address: &str, token: &Path) -> Remote {
    let server = Server::from_address(address, Some(token.to_owned()), None).unwrap();
    Remote::open(&server.unwrap()).unwrap()
}

fn remote(served: &Served, bearer: &str) -> Remote {
    let path = served.folder.path().join("asks");
    secret(&path, bearer.strip_prefix("Bearer ").unwrap());
    opened(&format!("http://{}/", served.address), &path)
}

fn questions(visible: Visible) -> Vec<Question> {
    use Dimension::{Activity as What, Core, Executable, Job, Library, Node, Phase, User};
    let all = Question {
        limit: 1000,
        ..Question::everything(visible, Nanos(START), Nanos(i64::MAX as u64))
    };
    let text = |text: &str| Some(Text::Is(text.to_owned()));
    let mut asked: Vec<Question> = [
        vec![],
        vec![Executable],
        vec![Job, User],
        vec![Node, Library],
        vec![Phase],
        vec![Core, What],
    ]
    .map(|by| Question { by, ..all.clone() })
    .into();
    asked.extend([
        Question { job: text("bravo-1"), by: vec![Library], ..all.clone() },
        Question { user: Some(1), by: vec![Job], ..all.clone() },
        Question {
            node: Some(Text::Like("n?".to_owned())),
            phase: text("phase of alpha"),
            ..all.clone()
        },
        Question { activity: Some(Activity::User), core: Some(1), by: vec![Node], ..all.clone() },
        // Fewer than there are, and names that look like patterns or like none.
        Question { by: vec![Job, Library], limit: 1, ..all.clone() },
        Question { phase: text(""), by: vec![Job], ..all.clone() },
        Question { job: text("*-1"), by: vec![Job], ..all.clone() },
        Question { node: Some(Text::Like("n1".to_owned())), by: vec![Job], ..all.clone() },
        Question {
            from: Nanos(START + 20 * SECOND),
            to: Nanos(START + 40 * SECOND),
            by: vec![Job],
            ..all
        },
    ]);
    asked
}

#[test]
fn a_server_answers_as_its_store() {
    let served = Served::new();
    let anna = served.user("anna", 1, Role::User);
    let root = served.user("root", 0, Role::Operator);
    for node in ["n1", "n2"] {
        let token = served.token(Kind::Node, node);
        let own: Vec<_> = (0..6).map(|number| batch(node, number, &[ALPHA, BRAVO])).collect();
        assert_eq!(served.put(&token, &own).status, 200);
    }
    let file =
        Sqlite::open_to_read(&served.folder.path().join("t.db"), &Options::default()).unwrap();
    for (bearer, visible) in [(&root, Visible::All), (&anna, Visible::User(1))] {
        let remote = remote(&served, bearer);
        for asked in questions(visible) {
            let own = file.usage(&asked).unwrap();
            assert_eq!(remote.usage(&asked).unwrap(), own, "{asked:?}");
            let step = Nanos(30 * SECOND);
            let within =
                Question { to: asked.to.min(Nanos(START + 100 * SECOND)), ..asked.clone() };
            assert_eq!(
                remote.series(&within, step).unwrap(),
                talea_store::Series { widest: Nanos(0), ..file.series(&within, step).unwrap() },
                "{asked:?}"
            );
            assert_eq!(remote.jobs(&asked).unwrap(), file.jobs(&asked).unwrap(), "{asked:?}");
            if asked.check_rates().is_ok() {
                assert_eq!(remote.rates(&asked).unwrap(), file.rates(&asked).unwrap(), "{asked:?}");
            }
            if asked.check_spreads().is_ok() {
                assert_eq!(
                    remote.spreads(&asked).unwrap(),
                    file.spreads(&asked).unwrap(),
                    "{asked:?}"
                );
            }
        }
        assert_eq!(remote.sees().unwrap(), visible);
        assert_eq!(remote.nodes(visible).unwrap(), file.nodes(visible).unwrap());
        // Functions come with the names that the server has for them.
        let asked = Question { by: vec![Dimension::Function], ..questions(visible).swap_remove(0) };
        let found = remote.usage(&asked).unwrap();
        assert_eq!(found.totals, file.usage(&asked).unwrap().totals);
        assert!(
            found
                .rows
                .iter()
                .all(|row| matches!(&row.key[0], Value::Text(name) if name.contains("lib"))),
            "{found:?}"
        );
    }
    let path = served.folder.path().join("wrong");
    secret(&path, "nobody");
    let stranger = opened(&format!("http://{}", served.address), &path);
    let refused = stranger.nodes(Visible::All).unwrap_err().to_string();
    assert!(refused.contains("talea serve token add user"), "{refused}");
    let asked = Question { limit: 0, ..Question::everything(Visible::All, Nanos(0), Nanos(1)) };
    assert!(matches!(remote(&served, &root).usage(&asked), Err(StoreError::Question { .. })));
}

/// What a client says when something else answers.
fn said(answer: &'static str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    secret(&token, "secret");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let other = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let _ = connection.read(&mut [0; 4096]);
        let length = answer.len();
        let head =
            format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
        let _ = connection.write_all(head.as_bytes());
        let _ = connection.write_all(answer.as_bytes());
    });
    let remote = opened(&address, &token);
    let asked = Question {
        by: vec![Dimension::Job],
        limit: 10,
        ..Question::everything(Visible::All, Nanos(0), Nanos(1))
    };
    let error = remote.usage(&asked).unwrap_err().to_string();
    other.join().unwrap();
    error
}

#[test]
fn what_is_no_server_of_ours_is_told_from_one() {
    assert!(said("<html>").contains("expected a server of talea"));
    for text in [
        "{}",
        "[]",
        "null",
        r#"{"begin_ns":null,"end_ns":null,"samples":-1,"core_seconds":0,"matched_samples":0,"matched_core_seconds":0,"rows":[],"gaps":[]}"#,
        r#"{"begin_ns":null,"end_ns":null,"samples":1,"core_seconds":0,"matched_samples":0,"matched_core_seconds":0,"rows":[{"samples":1,"core_seconds":1}],"gaps":[]}"#,
        r#"{"begin_ns":1,"end_ns":null,"samples":1,"core_seconds":0,"matched_samples":0,"matched_core_seconds":0,"rows":[],"gaps":[]}"#,
    ] {
        assert!(said(text).contains("another form"), "{text}");
    }
}
