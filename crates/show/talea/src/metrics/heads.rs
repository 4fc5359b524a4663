//! Heads of the columns of inputs, and tables with them.
//!
//! Owns short names that keep inputs apart. It refuses figures.

use std::path::Path;

use talea_analysis::metrics::Study;

use crate::table::{Column, Table};
use crate::terminal::{clean, limit, width};

/// Columns of an input's head.
const HEAD: usize = 13;

/// Maximum columns of a head; in a pipe it is complete.
pub(super) fn most_of_head() -> usize {
    if limit() > width() { limit() } else { HEAD }
}

/// The head of an input's column.
pub(super) fn head(study: &Study) -> String {
    study.head.clone()
}

/// Distinct short names of inputs: the file's without its extension, with its folder where files
/// have the same name, and without the common beginning where they are longer than `most`.
pub(super) fn heads(paths: &[&Path], most: usize) -> Vec<String> {
    let whole = |path: &Path| {
        let text = path.display().to_string();
        let text = text.trim_end_matches('/');
        let kind = [".prv.gz", ".prv"].iter().find_map(|kind| text.strip_suffix(kind));
        kind.unwrap_or(text).to_owned()
    };
    let whole: Vec<String> = paths.iter().map(|path| whole(path)).collect();
    let ends = |parts: usize| -> Vec<String> {
        let end = |text: &String| {
            let all: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
            all[all.len().saturating_sub(parts)..].join("/")
        };
        whole.iter().map(end).collect()
    };
    let distinct = |names: &[String]| {
        names.iter().collect::<std::collections::BTreeSet<_>>().len() == names.len()
    };
    let deepest = whole.iter().map(|text| text.matches('/').count() + 1).max().unwrap_or(1);
    let names = (1..=deepest).map(ends).find(|names| distinct(names)).unwrap_or_else(|| ends(1));
    let cut: Vec<String> = names.iter().map(|name| clean(name, most)).collect();
    if distinct(&cut) || !distinct(&names) {
        return cut;
    }
    let shared = names.iter().skip(1).fold(names[0].chars().count(), |shared, name| {
        names[0].chars().zip(name.chars()).take(shared).take_while(|(a, b)| a == b).count()
    });
    let rest = |name: &String| -> String { name.chars().skip(shared.saturating_sub(2)).collect() };
    names.iter().map(|name| clean(&format!("…{}", rest(name)), most)).collect()
}

/// Columns for a name and some inputs.
pub(super) fn columns(title: &str, heads: &[String]) -> Vec<(String, Column)> {
    let mut columns = vec![(title.to_owned(), Column::Yields)];
    columns.extend(heads.iter().map(|head| (head.clone(), Column::Right)));
    columns
}

pub(super) fn aligned(
    title: &str,
    heads: &[String],
    rows: Vec<(String, Vec<String>)>,
) -> Vec<String> {
    let columns = columns(title, heads);
    let names: Vec<(&str, Column)> =
        columns.iter().map(|(name, column)| (name.as_str(), *column)).collect();
    let mut table = Table::new(&names);
    for (name, cells) in rows {
        let mut row = vec![name];
        row.extend(cells);
        table.row_of(row);
    }
    table.lines()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_keep_what_tells_inputs_apart() {
        let check = |paths: &[&str], expected: &[&str]| {
            let paths: Vec<&Path> = paths.iter().map(Path::new).collect();
            assert_eq!(heads(&paths, HEAD), expected);
        };
        check(&["runs/n2.bad", "runs/n2.fix"], &["n2.bad", "n2.fix"]);
        check(&["a/app.prv", "b/app.prv.gz"], &["a/app", "b/app"]);
        check(&["epoch_1proc.prv.gz", "epoch_16proc.prv.gz"], &["epoch_1proc", "epoch_16proc"]);
        check(
            &["a_very_long_name_of_1_rank.prv", "a_very_long_name_of_16_ranks.prv"],
            &["…_1_rank", "…_16_ranks"],
        );
        check(&["one.prv", "one.prv"], &["one", "one"]);
        check(&["/data/run/"], &["run"]);
    }
}
