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
        // Every formula is a metric or a problem, and a register that is not counted is one.
        let scanned = scan(&String::from_utf8_lossy(&bytes));
        let lost = model.problems.iter().filter(|one| scanned.formulas.contains(&one.line));
        assert_eq!(model.metrics.len() + lost.count(), scanned.formulas.len(), "{short}");
        let said = |(line, register): &(u64, String)| {
            let what = format!("uses `{register}`, which the event set has not");
            model.problems.iter().any(|one| one.line == *line && one.what.ends_with(&what))
        };
        assert!(scanned.absent.iter().all(said), "{short}: {:?}", scanned.absent);
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
    assert!(metrics > all.len(), "{} groups, {metrics} metrics", all.len());
    assert!(problems.len() < all.len() / 10, "{problems:#?}");
}

/// Lines of a group's formulas, and the first register of each that its event set lacks.
#[derive(Debug, Default)]
struct Scanned {
    formulas: Vec<u64>,
    absent: Vec<(u64, String)>,
}

fn scan(text: &str) -> Scanned {
    let mut found = Scanned::default();
    let (mut section, mut counted) = ("", Vec::new());
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        let word = line.split_whitespace().next().unwrap_or_default();
        if ["SHORT", "EVENTSET", "METRICS", "LONG"].contains(&word) {
            section = word;
        } else if section == "EVENTSET" && !word.is_empty() {
            counted.push(word.split(':').next().unwrap_or_default());
        } else if section == "METRICS" && !word.is_empty() {
            found.formulas.push(number);
            let formula = line.split_whitespace().last().unwrap_or_default();
            let words = formula.split(|c: char| !c.is_ascii_alphanumeric());
            let absent =
                words.filter(|word| is_register(word)).find(|word| !counted.contains(word));
            found.absent.extend(absent.map(|register| (number, register.to_owned())));
        }
    }
    found
}

/// True for names such as `PMC0` and `CBOX1C0`.
fn is_register(word: &str) -> bool {
    let digits = word.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let unit = rest.strip_prefix('C').unwrap_or(rest);
    digits.len() < word.len()
        && rest.len() < digits.len()
        && unit.bytes().all(|c| c.is_ascii_digit())
}

#[test]
fn a_register_that_is_not_counted_is_a_problem_of_its_line() {
    let group = "SHORT By hand\n\nEVENTSET\nPMC0 LOADS\nPMC1:EDGEDETECT STORES\n\nMETRICS\n\
                 Both PMC0+PMC1\nWrong [1/s] PMC0/PM5\n\nLONG\nPMC9\n";
    let scanned = scan(group);
    assert_eq!((scanned.formulas, scanned.absent), (vec![8, 9], vec![(9, "PM5".to_owned())]));
    let model = likwid::read(group.as_bytes(), "hand");
    let problems: Vec<String> = model.problems.iter().map(ToString::to_string).collect();
    let known = "line 9: `Wrong [1/s]`: the formula uses `PM5`, which the event set has not";
    assert_eq!((model.metrics.len(), problems), (1, vec![known.to_owned()]));
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
    // Every version has thousands of definitions, so that fewer mean a failure of the search.
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
