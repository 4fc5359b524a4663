//! Arguments as people read them.
//!
//! Owns two lines of text, with every name and as briefly as can be; what the values are is
//! [`crate::values`]'.

use serde_json::{Map, Value};

/// Arguments in one line for people.
pub fn text(args: &Map<String, Value>) -> String {
    let one = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    args.iter()
        .map(|(name, value)| format!("{name}={}", any(value, one)))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A value, or the first of a list of them.
fn any(value: &Value, one: impl Fn(&Value) -> String) -> String {
    const SHOWN: usize = 8;
    match value {
        Value::Array(list) => {
            let shown: Vec<String> = list.iter().take(SHOWN).map(one).collect();
            let more = if list.len() > SHOWN { " ..." } else { "" };
            format!("[{}{more}]", shown.join(" "))
        }
        other => one(other),
    }
}

/// Arguments as briefly as people say them: `676 DOUBLE to 3 tag 12 on world.dup0 r17`.
pub fn brief(args: &Map<String, Value>) -> String {
    let one = |value: &Value| match value {
        Value::String(text) => text.strip_prefix("MPI_").unwrap_or(text).to_owned(),
        Value::Null => "?".to_owned(),
        other => other.to_string(),
    };
    let any = |value: &Value| any(value, one);
    let word = |(name, value): (&String, &Value)| match name.as_str() {
        "count" if args.contains_key("array_of_requests") => String::new(),
        "count" | "datatype" | "sendcount" | "sendtype" | "recvcount" | "recvtype" | "op"
        | "request" | "array_of_requests" => any(value),
        "dest" => format!("to {}", any(value)),
        "source" | "status.source" => format!("from {}", any(value)),
        "status.tag" => format!("tag {}", any(value)),
        "comm" => format!("on {}", any(value)),
        "newcomm" | "newtype" | "comm_cart" => format!("makes {}", any(value)),
        "flag" => if value == &Value::Bool(true) { "done" } else { "not done" }.to_owned(),
        _ => format!("{name} {}", any(value)),
    };
    args.iter().map(word).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn people_read_less_than_programs() {
        let args = json!({"count": 6, "datatype": "MPI_INT", "dest": 3, "tag": "MPI_ANY_TAG", "comm": "world", "request": "r1"});
        let Value::Object(args) = args else { panic!("an object") };
        assert_eq!(brief(&args), "6 INT to 3 tag ANY_TAG on world r1");
        assert_eq!(
            text(&args),
            "count=6 datatype=MPI_INT dest=3 tag=MPI_ANY_TAG comm=world request=r1"
        );
    }
}
