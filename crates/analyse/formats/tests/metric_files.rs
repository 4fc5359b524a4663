//! Metrics as they lie on this system: every group of LIKWID, and what is compiled into perf.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use talea_testing::skip;

use proptest::prelude::*;
use talea_formats::{likwid, models, perfmon, pmu_events};
use talea_metric::Expression;

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<PathBuf> = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|end| end == "txt") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn every_group_of_likwid_is_read_and_its_mistakes_are_found() {
    let folder = Path::new("/usr/share/likwid/perfgroups");
    let all = files(folder);
    if all.is_empty() {
        return skip("Debian's package likwid");
    }
    let (mut metrics, mut problems) = (0, Vec::new());
    for path in &all {
        let bytes = std::fs::read(path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let model = models::read(&bytes, name).unwrap();
        assert_eq!(model, likwid::read(&bytes, name));
        metrics += model.metrics.len();
        let short = path.strip_prefix(folder).unwrap().display();
        problems.extend(model.problems.iter().map(|problem| format!("{short}: {problem}")));
        // All counters are there: whatever has no value divides by zero or stands on another
        // metric.
        let values = model.evaluate(&|_| Some(3.0));
        let lacks = values
            .iter()
            .filter(|value| matches!(value, Err(why) if why.to_string().starts_with("no ")));
        assert_eq!(lacks.count(), 0, "{short}");
    }
    for problem in &problems {
        eprintln!("{problem}");
    }
    assert!(all.len() >= 700 && metrics >= 5800, "{} groups, {metrics} metrics", all.len());
    let known = "power8/CPISTACK1.txt: line 17: `GCT empty cycle ratio`: the formula uses `PM5`, which the event set has not";
    assert!(problems.iter().any(|problem| problem == known), "{problems:#?}");
    assert!(problems.len() < all.len() / 10, "{problems:#?}");
}

/// Texts of perf's table that only an expression has.
fn expressions(perf: &[u8]) -> Vec<&str> {
    let texts = perf.split(|&byte| byte == 0).filter(|text| text.len() > 8);
    let texts = texts.filter_map(|text| std::str::from_utf8(text).ok());
    let operators = [" / ", " * ", " + ", " - ", "d_ratio("];
    let mut found: Vec<&str> = texts
        // Formats of messages, descriptions of events, and a test of perf's own.
        .filter(|text| {
            !["%0", "%l", "%u", "%.", ": ", "Unit:", ". (", "EVENT1", "*type"]
                .iter()
                .any(|part| text.contains(part))
        })
        .filter(|text| operators.iter().any(|sign| text.contains(sign)))
        .filter(|text| {
            text.bytes()
                .all(|c| c.is_ascii_alphanumeric() || b"_.@\\,=:#()+*/<>&|%- ?".contains(&c))
        })
        // Sentences have words beside each other, expressions have signs between them.
        .filter(|text| {
            let words: Vec<&str> = text.split(' ').collect();
            !words.windows(2).any(|pair| {
                let word = |word: &str| {
                    word.bytes().all(|c| c.is_ascii_alphabetic())
                        && !matches!(word, "if" | "else" | "")
                };
                word(pair[0]) && word(pair[1])
            })
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn expressions_compiled_into_perf_are_read() {
    let Ok(perf) = std::fs::read("/usr/bin/perf") else {
        return skip("Debian's package linux-perf");
    };
    let all = expressions(&perf);
    let wrong: Vec<String> = all
        .iter()
        .filter_map(|text| Some(format!("{text}: {}", Expression::parse(text).err()?)))
        .collect();
    eprintln!("{} expressions, {} of them not read: {wrong:#?}", all.len(), wrong.len());
    assert!(all.len() > 500, "{}", all.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    for text in all {
        if let Ok(expression) = Expression::parse(text) {
            assert_eq!(Expression::parse(&expression.to_string()), Ok(expression), "{text}");
        }
    }
}

/// Pieces of all three kinds of files.
const PIECES: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\n",
    " ",
    "EVENTSET\n",
    "METRICS\n",
    "LONG\n",
    "SHORT x\n",
    "PMC0 E\n",
    "a PMC0/PMC1\n",
    "\"Metrics\":",
    "\"MetricName\":\"m\"",
    "\"MetricExpr\":\"m if a else m_group\"",
    "\"MetricGroup\":\"m_group;\"",
    "\"Formula\":\"a / b\"",
    "\"Events\":[{\"Name\":\"\\\"\",\"Alias\":\"a\"}]",
    "\"Threshold\":\"> 5 & P\"",
    "\"Threshold\":{\"Formula\":\"((m) > 3\"}",
    "\"ScaleUnit\":\"1e9%\"",
];

proptest! {
    #[test]
    fn any_pieces_are_read_or_refused(
        pieces in prop::collection::vec(prop::sample::select(PIECES.as_slice()), 0..60)
    ) {
        let text = pieces.concat();
        let bytes = text.as_bytes();
        let found = [
            models::read(bytes, "any").ok(),
            perfmon::read(bytes, "any").ok(),
            pmu_events::read(bytes, "any").ok()
        ];
        for model in found.into_iter().flatten().chain([likwid::read(bytes, "any")]) {
            let values = model.evaluate(&|_| Some(1.0));
            prop_assert_eq!(values.len(), model.metrics.len());
            prop_assert_eq!(model.tree().len(), model.metrics.len());
            let lines = text.lines().count() as u64;
            prop_assert!(model.problems.iter().all(|problem| problem.line <= lines.max(1)));
        }
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = models::read(&bytes, "any");
        let _ = likwid::read(&bytes, "any");
    }
}
