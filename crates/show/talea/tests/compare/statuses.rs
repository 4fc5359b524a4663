//! Senders of received messages, where one call completed several requests.
//!
//! The logger has `array_of_statuses.source` and `.tag`, one entry a status. An event has
//! `statuses`, three numbers for each wildcard receive that completed: position of the request in
//! the call's list, source, tag.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::compare::line::Line;

/// `wildcards`: receives from any source, by the logger's numbers.
pub(super) fn check(
    line: &Line,
    args: &Map<String, Value>,
    wildcards: &HashSet<String>,
) -> Result<(), String> {
    let (Some(sources), Some(tags)) =
        (line.list("array_of_statuses.source"), line.list("array_of_statuses.tag"))
    else {
        return Ok(());
    };
    let requests = line.list("array_of_requests").unwrap_or_default();
    let indices = line.list("array_of_indices");
    let found = triples(args.get("statuses"))?;
    for (i, (source, tag)) in sources.iter().zip(&tags).enumerate() {
        let position = match &indices {
            Some(indices) => {
                indices[i].parse().map_err(|_| format!("`{}` is no position", indices[i]))?
            }
            None => i,
        };
        if source.starts_with(['-', '?']) || *source == "MPI_ANY_SOURCE" {
            continue;
        }
        let request = requests.get(position).copied().unwrap_or_default();
        match found.iter().find(|(at, ..)| *at == position) {
            Some((_, found_source, found_tag)) if found_source == source && found_tag == tag => {}
            Some((_, found_source, found_tag)) => {
                return Err(format!(
                    "status of request {position} ({request}) differs: source {source}, tag {tag} against \
                     source {found_source}, tag {found_tag}"
                ));
            }
            None if request.split('|').any(|r| wildcards.contains(r)) => {
                return Err(format!(
                    "wildcard receive {request} completed with source {source}, tag {tag}; `statuses` does not say it"
                ));
            }
            None => {}
        }
    }
    Ok(())
}

/// Position, source and tag: in one flat list, or each in a list of its own.
fn triples(value: Option<&Value>) -> Result<Vec<(usize, String, String)>, String> {
    let Some(list) = value.and_then(Value::as_array) else {
        return Ok(Vec::new());
    };
    let flat: Vec<&Value> = list
        .iter()
        .flat_map(|entry| entry.as_array().map_or(vec![entry], |e| e.iter().collect()))
        .collect();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    flat.chunks(3)
        .map(|triple| match triple {
            [position, source, tag] => {
                let position =
                    position.as_u64().ok_or_else(|| format!("`{position}` is no position"))?;
                Ok((position as usize, text(source), text(tag)))
            }
            _ => Err("`statuses` has no three numbers a status".to_owned()),
        })
        .collect()
}
