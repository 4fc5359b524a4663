//! Outputs with `--json` beside what `talea schema VIEW` prints.
//!
//! Owns the view of each command line. Keys that a schema lacks are refused. [`check`] stands where
//! tests read JSON, so that every output that any of them looks at is validated.

use std::process::Command;

use serde_json::Value;

/// The view of an output; absent for outputs without a schema.
fn view(words: &[&str], found: &Value) -> Option<&'static str> {
    let has = |word: &str| words.contains(&word);
    let key = |name: &str| found.get(name).is_some();
    Some(match *words.first()? {
        "usage" if has("--rates") => "rates",
        "usage" => "usage",
        "jobs" if has("--findings") => "findings",
        "jobs" if key("jobs") => "jobs",
        "jobs" => "job",
        "doctor" => "doctor",
        "topo" if found.is_array() => "counters",
        "topo" if key("monitors") => "map",
        "topo" => "machine",
        "store" if found.is_array() => "forgotten",
        "cluster" => "cluster",
        "track" => "track",
        "fold" if has("--list") => "fold-list",
        "fold" => "fold",
        "metrics" => "metrics",
        "watch" => "watch",
        "fabric" => match *words.get(1)? {
            "counters" => "ports",
            "place" => "place",
            "regions" => "region-links",
            "sonar" if key("interface") => "sonar",
            "sonar" => "experiment",
            "table" if key("nodes") => "job-ports",
            "table" if key("cables") => "cables",
            "table" => "links",
            _ => return None,
        },
        "show" => match words.iter().skip(2).find(|word| !word.starts_with('-')) {
            Some(&"calls") if has("line") || has("routine") => "call-groups",
            Some(&"calls") => "calls",
            Some(&"classes") => "classes",
            Some(&"collection") => "collection",
            Some(&"graph") => "graph",
            Some(&"growth") => "growth",
            Some(&"hosts") => "hosts",
            Some(&"matrix") => "matrix",
            Some(&"samples") => "samples",
            Some(&"stats") => "stats",
            Some(&"structure") => "structure",
            _ => return None,
        },
        _ => return None,
    })
}

/// Fails if an output of this command line is not as its schema says.
#[track_caller]
pub(super) fn check(words: &[&str], found: &Value) {
    let Some(view) = view(words, found) else { return };
    let errors = errors(view, found);
    assert!(errors.is_empty(), "talea {words:?} is not as `talea schema {view}` says: {errors:?}");
}

/// The first differences between an output and the schema of a view.
pub(super) fn errors(view: &str, found: &Value) -> Vec<String> {
    let validator = validator(view);
    // Several inputs give an array of their metrics.
    let all = match found {
        Value::Array(all) if view == "metrics" => all.as_slice(),
        one => std::slice::from_ref(one),
    };
    let errors = all.iter().flat_map(|one| validator.iter_errors(one));
    errors.take(3).map(|error| format!("{error}, at {}", error.instance_path())).collect()
}

/// Checks outputs by what `talea schema VIEW` prints, and refuses keys that the schema lacks.
pub(super) fn validator(view: &str) -> jsonschema::Validator {
    let output = Command::new(env!("CARGO_BIN_EXE_talea")).args(["schema", view]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    close(&mut schema);
    jsonschema::validator_for(&schema).unwrap()
}

/// No other keys than those of the schema in any object that has some.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(close);
            let flat = ["oneOf", "anyOf", "allOf"].iter().any(|key| map.contains_key(*key));
            if map.get("properties").is_some_and(Value::is_object)
                && map.contains_key("type")
                && !flat
            {
                map.entry("unevaluatedProperties").or_insert(Value::Bool(false));
            }
        }
        Value::Array(all) => all.iter_mut().for_each(close),
        _ => {}
    }
}
