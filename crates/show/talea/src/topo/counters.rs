//! `talea topo --counters`: the names that monitors may use here.

use std::io::{BufWriter, Write};

use serde_json::json;
use talea_metric::catalogue;
use talea_topo::selection::select;

use super::{Options, TopoError, measure};
use crate::terminal::fitted;

/// Prints every name with the place of its readings, its unit and its description.
pub(super) fn list(options: &Options) -> Result<(), TopoError> {
    let machine = select(&options.objects)?;
    let sources = measure::sources(&machine, options)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut rows = Vec::new();
    for (source, name) in sources.known() {
        let offer = sources.offer(&name);
        let about = catalogue::spec(&name).map(|spec| spec.description.clone()).unwrap_or_default();
        let (scope, unit, works) = match &offer {
            Ok((_, offered)) => {
                (format!("{:?}", offered.scope), offered.unit.clone(), String::new())
            }
            Err(reason) => (String::new(), String::new(), reason.clone()),
        };
        rows.push((source, name, scope, unit, about.to_string(), works));
    }
    if options.out.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(source, name, scope, unit, about, reason)| {
                json!({ "name": name, "source": source, "scope": scope, "unit": unit, "about": about, "refused": reason })
            })
            .collect();
        serde_json::to_writer_pretty(&mut out, &rows).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        for (source, name, scope, unit, about, reason) in &rows {
            let tail =
                if reason.is_empty() { about.clone() } else { format!("not here: {reason}") };
            let line = format!("{name:<32} {scope:<8} {unit:<4} {source:<11} {tail}");
            writeln!(out, "{}", fitted(line.trim_end()))?;
        }
    }
    Ok(out.flush()?)
}
