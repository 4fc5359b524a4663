//! The canonical tree of what `talea show RUN structure --rank R --thread T --json` prints.
//!
//! Owns the conversion: sequences dissolve and give their guard to what is in them that has none of
//! its own, as guards inside guards count the same iterations; of a call only the procedure is
//! left.

use serde_json::Value;

use super::Item;

/// The words behind `talea` that print the structure of a thread.
pub(crate) fn command(run: &str, rank: u32, thread: u32) -> Vec<String> {
    let (rank, thread) = (rank.to_string(), thread.to_string());
    ["show", run, "structure", "--rank", &rank, "--thread", &thread, "--json"]
        .map(str::to_owned)
        .into()
}

/// Iterations of the main loop of a thread in all its executions, by the trace that `talea convert
/// RUN OUT.prv` writes of the run: events of the type "Iteration of the main loop", whose values
/// count on. None without a main loop.
pub(crate) fn main_iterations(prv: &str, rank: u32, thread: u32) -> Option<u64> {
    const TYPE: u64 = 600_000_003;
    let (task, thread) = (u64::from(rank) + 1, u64::from(thread) + 1);
    prv.lines()
        .filter_map(|line| {
            let fields: Vec<u64> =
                line.split(':').map(str::parse).collect::<Result<_, _>>().ok()?;
            let [2, _, 1, of, on, _, events @ ..] = fields.as_slice() else { return None };
            let value = events.chunks_exact(2).find(|event| event[0] == TYPE)?[1];
            ((*of, *on) == (task, thread)).then_some(value)
        })
        .max()
}

/// The tree of a document of the view: of its first entry, as a rank was asked for.
pub(crate) fn tree(document: &Value) -> Result<Vec<Item>, String> {
    let root = &document[0]["tree"];
    if root["kind"] != "root" {
        return Err(format!("expected a tree with a root, found `{}`", root["kind"]));
    }
    let mut items = Vec::new();
    children(root, "", Some(1), &mut items)?;
    Ok(items)
}

/// `runs` says how often the loop around turns in all; none where that is not known.
fn children(
    node: &Value,
    around: &str,
    runs: Option<u64>,
    items: &mut Vec<Item>,
) -> Result<(), String> {
    for child in node["children"].as_array().into_iter().flatten() {
        let text = |key: &str| child[key].as_str().unwrap_or_default();
        let guard = if text("guard").is_empty() { around } else { text("guard") }.to_owned();
        match text("kind") {
            "sequence" => children(child, &guard, runs, items)?,
            "call" => {
                let procedure = text("label").split(' ').next().unwrap_or_default().to_owned();
                items.push(Item::Call { procedure, guard });
            }
            "mixed" => items.push(Item::Unknown { text: text("label").to_owned() }),
            "loop" => {
                let trips = trips(child)?;
                let iterations = unguarded_call(child).or_else(|| {
                    let runs = runs.filter(|_| guard.is_empty() && trips.0 == trips.1)?;
                    Some(runs * trips.0)
                });
                let mut body = Vec::new();
                children(child, "", iterations, &mut body)?;
                items.push(Item::Loop { trips, iterations, main: false, guard, body });
            }
            other => return Err(format!("unknown kind of a node: `{other}`")),
        }
    }
    Ok(())
}

fn trips(node: &Value) -> Result<(u64, u64), String> {
    if let Some(count) = node["count"].as_u64() {
        return Ok((count, count));
    }
    let range = node["range"].as_str().unwrap_or_default();
    let both = range.split_once('-').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    both.ok_or_else(|| format!("a loop without a number of iterations: `{range}`"))
}

/// How often a call ran that runs on every iteration of the loop.
fn unguarded_call(node: &Value) -> Option<u64> {
    node["children"].as_array()?.iter().find_map(|child| {
        if child["guard"] != "" {
            return None;
        }
        match child["kind"].as_str()? {
            "call" => child["events"].as_u64(),
            "sequence" => unguarded_call(child),
            _ => None,
        }
    })
}
