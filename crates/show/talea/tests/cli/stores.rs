//! Stores that are written here, batch by batch, and asked from a terminal: names from outside,
//! gaps, names that nothing has.

use talea_model::shares::{
    Activity, Batch, BatchId, Counter, Job, Rate, Sampler, Share, Spread, bucket,
};
use talea_model::{Gap, GapKind, Module, Nanos, text};
use talea_store::address::{Access, open};
use talea_store::sqlite::Options;

use super::bench::Bench;

const SECOND: u64 = 1_000_000_000;

/// A minute of one core of one node that ends now, all of it user time of one job with one phase.
fn minute(node: &str, job: &str, path: &str, phase: &str) -> Batch {
    let end = Nanos::now();
    let module = |path: &str| Module { path: path.to_owned(), build_id: String::new() };
    let share = Share {
        core: 0,
        activity: Activity::User,
        job: Some(0),
        user: Some(1000),
        executable: Some(0),
        library: Some(1),
        address: Some(0x1000),
        phase: Some(0),
        samples: 60,
    };
    Batch {
        begin: Nanos(end.0 - 60 * SECOND),
        end,
        cores: 1,
        sampler: Sampler::Bpf,
        jobs: vec![Job { id: job.to_owned(), user: Some(1000) }],
        modules: vec![module(path), module(&format!("{path}.so"))],
        phases: vec![phase.to_owned()],
        shares: vec![share],
        counters: vec![Counter { name: "instructions".to_owned(), unit: "1".to_owned() }],
        rates: vec![Rate {
            counter: 0,
            job: Some(0),
            user: Some(1000),
            executable: Some(0),
            library: Some(1),
            phase: Some(0),
            samples: 58,
            nanos: 116 * SECOND,
            count: 1_000_000,
        }],
        spreads: vec![Spread { counter: 0, job: 0, cores: vec![(bucket(9e3).unwrap(), 1)] }],
        ..Batch::empty(BatchId { node: node.to_owned(), started: 1, number: 0 })
    }
}

/// Puts batches into a new store of the folder and gives its address.
fn stored(bench: &Bench, batches: &[Batch]) -> String {
    let address = format!("sqlite:{}", bench.path("s.db").display());
    let kept = Options { slice: Nanos(0), ..Options::default() };
    let mut store = open(&address, Access::Write, &kept).unwrap();
    store.put_all(batches).unwrap();
    address
}

/// Turns the direction of writing, is not drawn, commands the terminal.
const DECEIVING: &str =
    "\u{202e}a\u{200b}b\u{2066}c\u{61c}d\u{ad}e\u{e0041}f\x1b[2Jg\u{feff}h\u{85}";

#[test]
fn names_from_outside_deceive_no_terminal_and_json_has_them_as_they_are() {
    let Some(bench) = Bench::new() else { return };
    let job = format!("4{DECEIVING}");
    let path = format!("/bin/{DECEIVING}");
    let mut batch = minute(&format!("n{DECEIVING}"), &job, &path, DECEIVING);
    batch.gaps.note(Gap {
        kind: GapKind::Missing,
        rank: None,
        detail: format!("a file of {DECEIVING}"),
        count: 1,
    });
    let store = stored(&bench, &[batch]);
    let by = "node,job,executable,library,function,phase";
    let mut said = String::new();
    for words in [
        &["usage", "--store", &store, "--by", by][..],
        &["usage", "--store", &store, "--by", "node,job,executable,library,phase", "--rates"],
        &["jobs", "--store", &store],
        &["jobs", "--store", &store, &job],
        &["jobs", "--store", &store, "--findings"],
        &["top", "--store", &store, "--once", "--by", by],
    ] {
        let output = bench.talea(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        for text in [output.stdout, output.stderr] {
            let text = String::from_utf8(text).unwrap();
            let hidden = text.chars().find(|&c| c != '\n' && text::is_hidden(c));
            assert_eq!(hidden, None, "{words:?}: {text:?}");
            said.push_str(&text);
        }
    }
    assert!(said.contains("a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e\u{fffd}f\u{fffd}[2Jg"), "{said}");

    // A name that nothing has is quoted without them.
    let (code, said) = bench.fails(&["jobs", "--store", &store, "x\u{202e}y\u{200b}"]);
    assert!(code != 0 && said.contains("x\u{fffd}y\u{fffd}"), "{said:?}");

    let answer = bench.json(&["usage", "--store", &store, "--by", by, "--json"]);
    assert_eq!(answer["rows"][0]["job"], job);
    assert_eq!(answer["rows"][0]["executable"], path);
    assert_eq!(answer["rows"][0]["phase"], DECEIVING);
    assert_eq!(bench.json(&["jobs", "--store", &store, "--json"])["jobs"][0]["job"], job);
}

#[test]
fn a_filter_that_nothing_passes_is_named() {
    let Some(bench) = Bench::new() else { return };
    let store = stored(&bench, &[minute("n", "17", "/bin/a", "p")]);
    let ask = |words: &[&str]| bench.text(&[&["usage", "--store", &store], words].concat());
    let text = ask(&["--job", "9999", "--user", "5"]);
    assert!(text.contains("60 samples: 60 core seconds, in slices that cover 60.0 s\n"), "{text}");
    assert!(text.contains("None of them is of job `9999`, user `5`.\n"), "{text}");
    let text = ask(&["--job", "9999", "--rates"]);
    assert!(text.contains("No counters were read at samples of job `9999` in "), "{text}");
    assert!(!ask(&["--job", "17"]).contains("None of them"));
}

#[test]
fn gaps_tell_times_as_dates() {
    let Some(bench) = Bench::new() else { return };
    let store = stored(&bench, &[minute("n", "17", "/bin/a", "p")]);
    let text = bench.text(&["usage", "--store", &store, "--last", "30s"]);
    assert!(text.contains("the answer is of 20") && !text.contains("1970"), "{text}");
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, times) = said.split_once("the answer is of ").unwrap();
    let times: Vec<&str> = times.split(' ').take(3).collect();
    assert!(times[0].ends_with('Z') && times[1] == "to" && times[2].ends_with('Z'), "{text}");
}
