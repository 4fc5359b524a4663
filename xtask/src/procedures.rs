//! Writes the table of MPI procedures, `crates/record/mpi/procedures.tsv`, from the standard's own
//! description.
//!
//! Reads `apis.json`, the machine-readable form of the MPI standard's procedures (`PyPI` package
//! `pympistandard`), and keeps what interception needs: for each procedure its parameters in the
//! order of the C binding, each with a kind. Large-count procedures (`_c`) become lines of their
//! own. Procedures that MPI 3 removed but both implementations still export are added by hand at
//! the end.

mod lists;

use std::fmt::Write as _;

use serde_json::Value;

use lists::{LOCAL, PER_MEMBER, REMOVED};

/// The table as text, from the text of `apis.json`.
pub(crate) fn table(json: &str) -> Result<String, String> {
    let apis: Value = serde_json::from_str(json).map_err(|e| format!("apis.json: {e}"))?;
    let apis = apis.as_object().ok_or("apis.json: expected an object of procedures")?;
    let mut lines = Vec::new();
    for api in apis.values() {
        let attributes = &api["attributes"];
        let name = api["name"].as_str().unwrap_or_default();
        if attributes["callback"] == true
            || attributes["c_expressible"] == false
            || !attributes["predefined_function"].is_null()
            || name.starts_with("MPI_T_")
        {
            continue;
        }
        let parameters = api["parameters"].as_array().ok_or("apis.json: no parameters")?;
        let large = parameters.iter().any(|p| text(p, "kind").starts_with("POLY"));
        lines.push(line(name, parameters, false));
        if large {
            lines.push(line(&format!("{name}_c"), parameters, true));
        }
    }
    lines.extend(REMOVED.iter().map(|&l| l.to_owned()));
    lines.sort();
    let mut out = String::from(
        "# MPI procedures: name, class, parameters in the order of the C binding as name:kind[:length].\n\
         # Written by `cargo xtask procedures APIS.json` from the MPI standard's machine-readable description.\n",
    );
    for line in lines {
        writeln!(out, "{line}").map_err(|e| e.to_string())?;
    }
    Ok(out)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn line(name: &str, parameters: &[Value], large: bool) -> String {
    let short = name.trim_start_matches("MPI_").trim_end_matches("_c");
    let mut out = format!("{name}\t{}\t", class(short, parameters));
    let mut first = true;
    for parameter in parameters {
        if text(parameter, "suppress").contains("c_parameter")
            || text(parameter, "kind") == "VARARGS"
        {
            continue;
        }
        if parameter["large_only"] == true && !large {
            continue;
        }
        if !first {
            out.push(' ');
        }
        first = false;
        let (kind, length) = kind(short, parameter, large);
        out.push_str(text(parameter, "name"));
        out.push(':');
        out.push_str(kind);
        if let Some(length) = length {
            out.push(':');
            out.push_str(&length);
        }
    }
    out
}

/// Work of interception beside recording scalar arguments.
fn class(short: &str, parameters: &[Value]) -> &'static str {
    match short {
        "Init" | "Init_thread" => return "init",
        "Session_init" => return "session_init",
        "Session_finalize" => return "session_finalize",
        "Finalize" => return "finalize",
        "Abort" | "Session_abort" => return "abort",
        "Pcontrol" => return "pcontrol",
        "Wait" => return "wait",
        "Waitall" => return "waitall",
        "Waitany" => return "waitany",
        "Waitsome" => return "waitsome",
        "Test" => return "test",
        "Testall" => return "testall",
        "Testany" => return "testany",
        "Testsome" => return "testsome",
        "Request_get_status"
        | "Request_get_status_all"
        | "Request_get_status_any"
        | "Request_get_status_some"
        | "Parrived"
        | "Win_test" => return "poll",
        "Iprobe" => return "iprobe",
        "Improbe" => return "improbe",
        "Request_free" => return "request_free",
        "Type_free" => return "type_free",
        "Comm_free" | "Comm_disconnect" => return "comm_free",
        "Start" | "Startall" => return "start",
        _ => {}
    }
    if LOCAL.iter().any(|l| short == *l || (l.ends_with('_') && short.starts_with(l)))
        || short.ends_with("_c2f")
        || short.ends_with("_f2c")
        || short.ends_with("_toint")
        || short.ends_with("_fromint")
    {
        return "local";
    }
    let makes = |kind: &str| {
        parameters.iter().any(|p| text(p, "kind") == kind && text(p, "param_direction") == "out")
    };
    if makes("REQUEST") {
        if short.ends_with("_init") { "persistent" } else { "request" }
    } else if makes("COMMUNICATOR") {
        "comm"
    } else if makes("DATATYPE") {
        "type"
    } else {
        "plain"
    }
}

/// Kind and length of one parameter.
#[expect(clippy::too_many_lines, reason = "a table of the standard's kinds")]
fn kind(short: &str, parameter: &Value, large: bool) -> (&'static str, Option<String>) {
    let kind = text(parameter, "kind");
    let direction = text(parameter, "param_direction");
    let name = text(parameter, "name");
    let out = direction != "in";
    if !parameter["length"].is_null() {
        let length = match &parameter["length"] {
            Value::String(s)
                if s == "*"
                    && PER_MEMBER.iter().any(|p| {
                        short.trim_start_matches('I').eq_ignore_ascii_case(p)
                            || short.trim_end_matches("_init").eq_ignore_ascii_case(p)
                    }) =>
            {
                "members".to_owned()
            }
            Value::String(s) if !s.is_empty() && s != "*" => s.clone(),
            _ => "-".to_owned(),
        };
        let element = match kind {
            "REQUEST" => "requests",
            "STATUS" => "statuses",
            _ if length == "-" || out => "skip",
            "RANK" | "RANK_NNI" if parameter["length"].is_string() => "peers",
            "DATATYPE" => "datatypes",
            _ if kind.starts_with("POLY") && (kind.contains("NUM_ELEM")) => {
                if large {
                    "wides"
                } else {
                    "ints"
                }
            }
            "DIMENSION" | "LOGICAL" | "DEGREE" | "INDEX" | "PARTITION" => "ints",
            _ => "skip",
        };
        return if element == "skip" { ("skip", None) } else { (element, Some(length)) };
    }
    // Handles that the call changes are read before it, those that it makes are read after it.
    let by_pointer = direction == "inout" || (short == "Cancel" && kind == "REQUEST");
    let handle = |input: &'static str, output: &'static str| match (by_pointer, out) {
        (true, _) => match input {
            "comm" => "comm_io",
            "datatype" => "datatype_io",
            "op" => "op_io",
            "request" => "request_io",
            "win" => "win_io",
            "file" => "file_io",
            "message" => "message_io",
            _ => "skip",
        },
        (false, true) => output,
        (false, false) => input,
    };
    let scalar = match kind {
        "COMMUNICATOR" => handle("comm", "comm_out"),
        "DATATYPE" => handle("datatype", "datatype_out"),
        "OPERATION" => handle("op", "op_out"),
        "REQUEST" => handle("request", "request_out"),
        "WINDOW" => handle("win", "win_out"),
        "FILE" => handle("file", "file_out"),
        "GROUP" => handle("group", "skip"),
        "INFO" => handle("info", "skip"),
        "MESSAGE" => handle("message", "message_out"),
        "SESSION" => handle("session", "skip"),
        "STATUS" if out => "status",
        "LOGICAL" => {
            if out {
                "flag_out"
            } else {
                "int"
            }
        }
        "INDEX" | "ARRAY_LENGTH" if out => "int_out",
        _ if out => "skip",
        "RANK" | "RANK_NNI" => {
            if name.contains("root") {
                "root"
            } else {
                "peer"
            }
        }
        "TAG" => "tag",
        "XFER_NUM_ELEM_NNI" | "XFER_NUM_ELEM" => "wide_count",
        "OFFSET"
        | "DISPLACEMENT"
        | "WINDOW_SIZE"
        | "RMA_DISPLACEMENT_NNI"
        | "ALLOC_MEM_NUM_BYTES"
        | "WIN_ATTACH_SIZE" => "wide",
        "POLYXFER_NUM_ELEM_NNI" | "POLYXFER_NUM_ELEM" => {
            if large {
                "wide_count"
            } else {
                "count"
            }
        }
        "ARRAY_LENGTH" | "ARRAY_LENGTH_NNI" | "ARRAY_LENGTH_PI" | "COLOR" | "KEY"
        | "SPLIT_TYPE" | "ASSERT" | "LOCK_TYPE" | "NUM_DIMS" | "DIMENSION" | "PARTITION"
        | "ACCESS_MODE" | "UPDATE_MODE" | "COMM_SIZE" | "COMM_SIZE_PI" | "THREAD_LEVEL"
        | "INDEX" | "ERROR_CODE" | "DEGREE" | "PROFILE_LEVEL" | "MATH" | "TYPECLASS"
        | "TYPECLASS_SIZE" | "ORDER" => "int",
        // Displacements of vectors are strides in bytes or elements; only `_c` and byte strides are
        // wide.
        _ if kind.starts_with("POLY")
            && (kind.contains("NUM_ELEM")
                || kind.contains("STRIDE")
                || kind.contains("RMA")
                || kind.contains("NUM_BYTES")
                || kind.contains("PACK_SIZE")) =>
        {
            if large || kind.contains("STRIDE_BYTES") {
                "wide"
            } else {
                "int"
            }
        }
        _ => "skip",
    };
    (scalar, None)
}
