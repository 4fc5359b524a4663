//! `talea schema`: the JSON Schema of a view's `--json`.

use std::io::{self, Write};

use talea_report::data::schema::{VIEWS, View};

use crate::exit::{Exit, Expected};
use crate::table::{Column, Table};

/// Error of writing.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output: {0}")]
pub(crate) struct SchemaError(#[from] io::Error);

impl Expected for SchemaError {
    fn exit(&self) -> Exit {
        Exit::of_output(&self.0)
    }
}

/// Prints the schema of a view, or the list of views.
pub(crate) fn schema(view: Option<&View>) -> Result<(), SchemaError> {
    let text = match view {
        // Keys are texts and numbers are finite, which is all that could fail.
        Some(view) => serde_json::to_string_pretty(&view.schema()).unwrap_or_default() + "\n",
        None => list(),
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

fn list() -> String {
    let mut table = Table::new(&[("view", Column::Left), ("printed by", Column::Left)]);
    for view in VIEWS {
        table.row([view.name, view.command].map(str::to_owned));
    }
    table.lines().join("\n") + "\n"
}
