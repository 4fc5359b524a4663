//! `talea topo --counters`: the names that monitors may use here.

use std::io::{BufWriter, Write};

use talea_metric::catalogue;
use talea_report::data::machine::CounterData;
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
        let about = catalogue::spec(&name).map(|spec| spec.description.to_string());
        let (scope, unit, refused) = match sources.offer(&name) {
            Ok((_, offered)) => {
                (format!("{:?}", offered.scope), offered.unit.clone(), String::new())
            }
            Err(reason) => (String::new(), String::new(), reason),
        };
        let source = source.clone();
        rows.push(CounterData {
            name,
            source,
            scope,
            unit,
            about: about.unwrap_or_default(),
            refused,
        });
    }
    if options.out.json {
        serde_json::to_writer_pretty(&mut out, &rows).map_err(std::io::Error::from)?;
        writeln!(out)?;
        return Ok(out.flush()?);
    }
    for CounterData { name, source, scope, unit, about, refused } in &rows {
        let tail = if refused.is_empty() { about.clone() } else { format!("not here: {refused}") };
        let line = format!("{name:<32} {scope:<8} {unit:<4} {source:<11} {tail}");
        writeln!(out, "{}", fitted(line.trim_end()))?;
    }
    Ok(out.flush()?)
}
