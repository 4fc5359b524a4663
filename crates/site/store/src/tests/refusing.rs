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
    /// Queries that are first refused as during a compaction.
    compacting: usize,
    written: Vec<Vec<u8>>,
    asked: Vec<String>,
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
        script.asked.push(String::from_utf8_lossy(&body).into_owned());
        if script.compacting > 0 {
            script.compacting -= 1;
            let said = "cannot populate chunk 8 from block 00000000000000000000000000: not found";
            answer("422 Unprocessable Entity", said)
        } else {
            script.query.clone()
        }
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

fn listening() -> (Arc<Mutex<Script>>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/prefix", listener.local_addr().unwrap());
    let script = Arc::new(Mutex::new(Script {
        write: answer("204 No Content", ""),
        query: answer("200 OK", EMPTY),
        ..Script::default()
    }));
    let shared = Arc::clone(&script);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let script = Arc::clone(&shared);
            std::thread::spawn(move || serve(stream, &script));
        }
    });
    (script, address)
}

fn fake() -> (Arc<Mutex<Script>>, Prometheus) {
    let (script, address) = listening();
    // What must succeed does so on a slow machine too.
    let options = Options { patience: Duration::from_mins(1), ..Options::default() };
    (script, Prometheus::at(&address, &options).unwrap())
}

/// A server that never answers, and a store that soon gives up.
fn silent() -> Prometheus {
    let (script, address) = listening();
    *script.lock().unwrap() = Script::default();
    let options = Options { patience: Duration::from_millis(300), ..Options::default() };
    Prometheus::at(&address, &options).unwrap()
}

/// Numbers of the batches in writes.
fn numbers(written: &[Vec<u8>]) -> Vec<f64> {
    let number = |packed: &Vec<u8>| {
        let request = snap::raw::Decoder::new().decompress_vec(packed).unwrap();
        let request = WriteRequest::decode(request.as_slice()).unwrap();
        let is_number = |series: &&crate::prometheus::TimeSeries| {
            series.labels[0].value == "talea_batch_number"
        };
        request.timeseries.iter().find(is_number).unwrap().samples[0].value
    };
    written.iter().map(number).collect()
}

#[test]
fn what_a_server_lost_unseen_is_sent_again() {
    let (script, address) = listening();
    let options = Options { settles: Duration::ZERO, ..Options::default() };
    let mut store = Prometheus::at(&address, &options).unwrap();
    for number in 0..3 {
        store.put(&batch("n", 0, number)).unwrap();
    }
    // It began anew after the second, and has but the third.
    let started = batch("n", 0, 0).id.started;
    script.lock().unwrap().written.clear();
    script.lock().unwrap().query = answer(
        "200 OK",
        &format!(
            r#"{{"status":"success","data":{{"result":[{{"metric":{{"node":"n","started":"{started}"}},"values":[[1,"2"]]}}]}}}}"#
        ),
    );
    store.put(&batch("n", 0, 3)).unwrap();
    let mut seen = numbers(&script.lock().unwrap().written);
    seen.sort_by(f64::total_cmp);
    assert_eq!(seen, [0.0, 1.0, 3.0]);
}

#[test]
fn questions_ask_for_no_more_than_they_need() {
    let (script, store) = fake();
    let one = answer(
        "200 OK",
        r#"{"status":"success","data":{"result":[{"metric":{},"value":[1,"1800000000"]}]}}"#,
    );
    script.lock().unwrap().query = one;
    let day = 86_400_000_000_000;
    let asked = Question::everything(Visible::All, Nanos(20_000 * day), Nanos(20_001 * day));
    store.rates(&asked).unwrap();
    let seen = std::mem::take(&mut script.lock().unwrap().asked);
    assert!(!seen.iter().any(|query| query.contains("talea_samples")), "{seen:?}");
    assert!(!seen.iter().any(|query| query.contains("talea_work_samples")), "{seen:?}");
    // Batches that reach into the time are looked for no further back than one can begin.
    let back = seen.iter().filter_map(|query| {
        let (_, range) = query.split_once("talea_batch_width_milliseconds%5B")?;
        range.split_once("ms")?.0.parse::<u64>().ok()
    });
    let back: Vec<u64> = back.collect();
    assert!(!back.is_empty() && back.iter().all(|&range| range <= 7_200_002), "{seen:?}");
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
        // Of somebody between, or of a server that is set up wrongly or full: people mend that.
        answer("400 Bad Request", "snappy: corrupt input"),
        answer("400 Bad Request", "per-user series limit of 150000 exceeded"),
        answer("413 Request Entity Too Large", "<html>nginx</html>"),
        answer("422 Unprocessable Entity", "missing accountID"),
        cut,
        "garbage\r\n\r\n".to_owned(),
    ] {
        says(said.clone());
        let error = store.put(&batch("n", 0, 0)).unwrap_err();
        assert!(matches!(error, StoreError::Server { .. }), "{said:?}: {error}");
    }
    let error = silent().put(&batch("n", 0, 0)).unwrap_err();
    assert!(matches!(error, StoreError::Server { .. }), "{error}");
    says(answer("200 OK", ""));
    assert_eq!(store.put(&batch("n", 0, 0)).unwrap(), Put::New);
    assert_eq!(store.put(&batch("n", 0, 0)).unwrap(), Put::Already);
}

#[test]
fn writes_that_will_never_be_taken() {
    let (script, mut store) = fake();
    let late = [
        ("400 Bad Request", "out of order sample"),
        ("500 Error", "too old sample"),
        ("400 Bad Request", "duplicate sample for timestamp"),
        ("413 Too Large", "too many samples in request"),
        ("422 Unprocessable Entity", "err-mimir-sample-timestamp-too-old: too old"),
    ];
    for (number, (status, why)) in late.into_iter().enumerate() {
        script.lock().unwrap().write = answer(status, why);
        let batch = batch("n", 0, number as u64);
        let error = store.put(&batch).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert_eq!(store.put(&batch).unwrap(), Put::Already);
    }
    script.lock().unwrap().write = answer("204 No Content", "");
    store.put(&batch("n", 0, 20)).unwrap();
    let written = script.lock().unwrap().written.pop().unwrap();
    let request = snap::raw::Decoder::new().decompress_vec(&written).unwrap();
    let request = WriteRequest::decode(request.as_slice()).unwrap();
    // Its agent has the error and tells: told here too, it would count twice.
    assert!(request.timeseries.iter().all(|series| series.labels[0].value != "talea_gap"));
    for series in &request.timeseries {
        assert!(series.labels.is_sorted_by(|a, b| a.name < b.name), "{series:?}");
        assert!(series.labels.iter().all(|label| !label.value.is_empty()));
    }
}

#[test]
fn answers_that_are_none() {
    let (script, store) = fake();
    let asked = Question::everything(Visible::All, Nanos(0), Nanos(i64::MAX as u64));
    let deep = "[".repeat(100_000);
    for said in [
        answer("200 OK", "garbage"),
        answer("200 OK", &deep),
        answer("200 OK", r#"{"status":"success","data":{"result":[{"metric":7}]}}"#),
        answer("200 OK", r#"{"status":"error","error":"bad_data"}"#),
        answer("422 Unprocessable Entity", "too many samples"),
        answer("200 OK", EMPTY).replace("result", "resul"),
        answer("200 OK", EMPTY).replace("Content-Length: ", "Content-Length: 9"),
    ] {
        script.lock().unwrap().query.clone_from(&said);
        let error = store.usage(&asked).unwrap_err();
        assert!(matches!(error, StoreError::Server { .. }), "{said:?}: {error}");
        assert!(store.nodes(Visible::All).is_err());
    }
    let silent = silent();
    assert!(matches!(silent.usage(&asked), Err(StoreError::Server { .. })));
    assert!(silent.nodes(Visible::All).is_err());
    // Numbers that are none are nothing.
    let odd = r#"{"status":"success","isPartial":true,"data":{"result":[{"metric":{},"value":[1,"NaN"]}]}}"#;
    script.lock().unwrap().query = answer("200 OK", odd);
    let answer = store.usage(&asked).unwrap();
    assert_eq!(answer.totals.samples, 0);
    assert!(answer.gaps.iter().any(|gap| gap.detail.contains("in part")), "{:?}", answer.gaps);
    let series = store.series(&asked, Nanos(3_600_000_000_000_000)).unwrap();
    assert!(series.gaps.iter().any(|gap| gap.detail.contains("in part")), "{:?}", series.gaps);
    // A list that was in part says nothing of the answer behind it.
    store.nodes(Visible::All).unwrap();
    script.lock().unwrap().query = super::refusing::answer("200 OK", EMPTY);
    let whole = store.usage(&asked).unwrap();
    assert!(!whole.gaps.iter().any(|gap| gap.detail.contains("in part")), "{:?}", whole.gaps);
}

#[test]
fn questions_during_a_compaction_are_repeated() {
    let (script, store) = fake();
    script.lock().unwrap().compacting = 2;
    assert!(store.nodes(Visible::All).unwrap().is_empty());
    let asked = script.lock().unwrap().asked.clone();
    assert_eq!(asked[0], asked[1]);
    assert_eq!(asked[0], asked[2]);
    // One that never ends is an error.
    script.lock().unwrap().compacting = 1000;
    let error = store.nodes(Visible::All).unwrap_err().to_string();
    assert!(error.contains("cannot populate chunk"), "{error}");
}
