//! When one argument's two values are the same.

use std::collections::HashMap;

use serde_json::Value;

/// The one-to-one relation between the two sides' communicators, as far as it is known.
#[derive(Default)]
pub(super) struct Labels {
    to_talea: HashMap<String, String>,
    to_logger: HashMap<String, String>,
}

impl Labels {
    /// The communicator is gone: what is made next may have its name on either side.
    pub(super) fn forget(&mut self, logger: &str) {
        if let Some(talea) = self.to_talea.remove(logger) {
            self.to_logger.remove(&talea);
        }
    }

    fn same(&mut self, logger: &str, talea: &str) -> Result<(), String> {
        let known = self.to_talea.entry(logger.to_owned()).or_insert_with(|| talea.to_owned());
        if known != talea {
            return Err(format!("{logger} was {known} until now and is {talea}"));
        }
        let known = self.to_logger.entry(talea.to_owned()).or_insert_with(|| logger.to_owned());
        if known != logger {
            return Err(format!("{talea} was {known} until now and is {logger}"));
        }
        Ok(())
    }
}

pub(super) fn is_comm(key: &str) -> bool {
    matches!(
        key,
        "comm"
            | "newcomm"
            | "comm_old"
            | "comm_cart"
            | "local_comm"
            | "peer_comm"
            | "intercomm"
            | "newintercomm"
            | "newintracomm"
    )
}

fn is_datatype(key: &str) -> bool {
    key.ends_with("type") || key.ends_with("types")
}

/// `logged` is the logger's text of the argument, `found` the event's value.
pub(super) fn same(
    key: &str,
    logged: &str,
    found: &Value,
    labels: &mut Labels,
) -> Result<(), String> {
    let differ = || Err(format!("{logged} against {found}"));
    if let Some(list) = logged.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
        let logged: Vec<&str> =
            if list.is_empty() { Vec::new() } else { list.split(',').collect() };
        let Some(found) = found.as_array() else {
            return differ();
        };
        if logged.len() != found.len() {
            return Err(format!("{} entries against {}", logged.len(), found.len()));
        }
        for (i, (logged, found)) in logged.iter().zip(found).enumerate() {
            same(key, logged, found, labels).map_err(|e| format!("entry {i}: {e}"))?;
        }
        return Ok(());
    }
    let text = match found {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => i32::from(*flag).to_string(),
        Value::Null => String::new(),
        Value::Array(_) | Value::Object(_) => return differ(),
    };
    let right = match key {
        // `?`: the logger cannot know; `-`: nothing to know.
        _ if logged.starts_with('?') || logged == "-" => true,
        "request" | "array_of_requests" => match logged {
            "MPI_REQUEST_NULL" => text.is_empty() || text == "MPI_REQUEST_NULL",
            "r?" => true,
            candidates => candidates.split('|').any(|candidate| candidate == text),
        },
        _ if is_comm(key) => match logged {
            "MPI_COMM_NULL" => text.is_empty() || text == "MPI_COMM_NULL",
            label
                if matches!(label, "world" | "self")
                    || matches!(text.as_str(), "world" | "self") =>
            {
                label == text
            }
            label => return labels.same(label, &text),
        },
        _ if is_datatype(key) => match logged.strip_prefix("derived:") {
            // The event may give a size as well: `type#3(24 B)`.
            Some(size) => {
                let given = text.split_once('(').map(|(_, rest)| rest.trim_end_matches(" B)"));
                text.starts_with("type#") && given.is_none_or(|given| given == size)
            }
            None => text == logged,
        },
        "op" if logged == "user" => text == "user" || text.starts_with("op#"),
        _ => text == logged,
    };
    if right { Ok(()) } else { differ() }
}
