//! A server that refuses in all the ways that servers do, made for the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prost::Message as _;
use talea_model::Nanos;

use crate::prometheus::{Options, Prometheus, WriteRequest};
use crate::tests::made::batch;
use crate::{Put, Question, Store, StoreError, Visible};

const EMPTY: &str = r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#;

/// What is said to writes and to queries, and the writes that came.
#[derive(Default)]
struct Script {
    write: String,
    query: String,
    written: Vec<Vec<u8>>,
}

fn answer(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn serve(mut stream: TcpStream, script: &Mutex<Script>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(n) = line.strip_prefix("content-length:") {
            length = n.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut script = script.lock().ok()?;
    let said = if first.contains("/write") {
        script.written.push(body);
        script.write.clone()
    } else if first.contains("/query") {
        script.query.clone()
    } else {
        answer("404 Not Found", "")
    };
    drop(script);
    if said.is_empty() {
        // Never answers: until the other side goes.
        let _ = stream.read(&mut [0]);
        return None;
    }
    stream.write_all(said.as_bytes()).ok()
}

fn fake() -> (Arc<Mutex<Script>>, Prometheus) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/prefix", listener.local_addr().unwrap());
    let script = Arc::new(Mutex::new(Script {
        write: answer("204 No Content", ""),
        query: answer("200 OK", EMPTY),
        written: Vec::new(),
    }));
    let shared = Arc::clone(&script);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let script = Arc::clone(&shared);
            std::thread::spawn(move || serve(stream, &script));
        }
    });
    let options = Options { patience: Duration::from_secs(2), ..Options::default() };
    (script, Prometheus::at(&address, &options).unwrap())
}

#[test]
fn writes_that_may_be_taken_later() {
    let (script, mut store) = fake();
    let says = |text: String| script.lock().unwrap().write = text;
    let cut = answer("204 No Content", "").replace("204 No Content", "2");
    for said in [
        answer("429 Too Many Requests", "slow down"),
        answer("500 Internal Server Error", "disk"),
        answer("503 Service Unavailable", ""),
        answer("404 Not Found", "no such route"),
        answer("302 Found", "elsewhere"),
        cut,
        "garbage\r\n\r\n".to_owned(),
        String::new(),
    ] {
        says(said.clone());
        let error = store.put(&batch("n", 0, 0)).unwrap_err();
        assert!(matches!(error, StoreError::Server { .. }), "{said:?}: {error}");
    }
    says(answer("200 OK", ""));
    assert_eq!(store.put(&batch("n", 0, 0)).unwrap(), Put::New);
    assert_eq!(store.put(&batch("n", 0, 0)).unwrap(), Put::Already);
}

#[test]
fn writes_that_will_never_be_taken() {
    let (script, mut store) = fake();
    let late = [("400 Bad Request", "out of order sample"), ("500 Error", "too old sample")];
    for (number, (status, why)) in late.into_iter().enumerate() {
        script.lock().unwrap().write = answer(status, why);
        let batch = batch("n", 0, number as u64);
        let error = store.put(&batch).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert_eq!(store.put(&batch).unwrap(), Put::Already);
    }
    script.lock().unwrap().write = answer("204 No Content", "");
    store.put(&batch("n", 0, 2)).unwrap();
    let written = script.lock().unwrap().written.pop().unwrap();
    let request = snap::raw::Decoder::new().decompress_vec(&written).unwrap();
    let request = WriteRequest::decode(request.as_slice()).unwrap();
    let is_gap = |series: &&crate::prometheus::TimeSeries| series.labels[0].value == "talea_gap";
    let gap = request.timeseries.iter().find(is_gap).unwrap();
    assert!(gap.labels.iter().any(|label| label.value.contains("refused for ever")));
    assert!((gap.samples[0].value - 2.0).abs() < 1e-9);
    for series in &request.timeseries {
        assert!(series.labels.is_sorted_by(|a, b| a.name < b.name), "{series:?}");
        assert!(series.labels.iter().all(|label| !label.value.is_empty()));
    }
}

#[test]
fn answers_that_are_none() {
    let (script, store) = fake();
    let asked = Question::of(Visible::All, Nanos(0), Nanos(i64::MAX as u64));
    let deep = "[".repeat(100_000);
    for said in [
        answer("200 OK", "garbage"),
        answer("200 OK", &deep),
        answer("200 OK", r#"{"status":"success","data":{"result":[{"metric":7}]}}"#),
        answer("200 OK", r#"{"status":"error","error":"bad_data"}"#),
        answer("422 Unprocessable Entity", "too many samples"),
        answer("200 OK", EMPTY).replace("result", "resul"),
        answer("200 OK", EMPTY).replace("Content-Length: ", "Content-Length: 9"),
        String::new(),
    ] {
        script.lock().unwrap().query.clone_from(&said);
        let error = store.usage(&asked).unwrap_err();
        assert!(matches!(error, StoreError::Server { .. }), "{said:?}: {error}");
        assert!(store.nodes(Visible::All).is_err());
    }
    // Numbers that are none are nothing.
    let odd = r#"{"status":"success","isPartial":true,"data":{"result":[{"metric":{},"value":[1,"NaN"]}]}}"#;
    script.lock().unwrap().query = answer("200 OK", odd);
    let answer = store.usage(&asked).unwrap();
    assert_eq!(answer.totals.samples, 0);
    assert!(answer.gaps.iter().any(|gap| gap.detail.contains("in part")), "{:?}", answer.gaps);
}
