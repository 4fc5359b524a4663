//! `talea usage --rates`: what counters did around samples, from a store, and how that was spread
//! over the cores of jobs.
//!
//! Owns the tables and the public keys of the JSON. A rate is count over time; where instructions
//! were counted too, it is also given for each of them. A counter that has no figure has no row.

use std::collections::BTreeMap;

use talea_model::shares::{BUSY, COMPUTING};
use talea_report::data::site::{Name, RateRow as RateData, RatesData};
use talea_store::{Question, RateRow, Rates, SpreadSeen, Store, Value as Key, public};

use super::AlwaysError;
use super::query::{Options, cell};
use crate::table::{Column, Table};
use crate::terminal::{Palette, fitted, gaps, grouped};

const INSTRUCTIONS: &str = "instructions";

/// The answer as text or JSON. Spreads are of whole jobs: they are left out where the question is
/// of a part of them.
pub(super) fn answer(
    store: &dyn Store,
    options: &Options,
    question: &Question,
) -> Result<String, AlwaysError> {
    let rates = store.rates(question)?;
    let spreads = match question.check_spreads() {
        Ok(()) => store.spreads(question)?,
        Err(_) => Vec::new(),
    };
    let store = &options.place.store;
    Ok(if options.json {
        object(store, &rates, &spreads)
    } else {
        table(store, options.filters.words(), &rates, &spreads)
    })
}

/// Per instruction at the same key.
fn per_instruction(rates: &Rates) -> Vec<Option<f64>> {
    let instructions: BTreeMap<&[Key], f64> = rates
        .rows
        .iter()
        .filter(|row| row.counter.name == INSTRUCTIONS)
        .filter_map(|row| Some((row.key.as_slice(), row.rate().filter(|&rate| rate > 0.0)?)))
        .collect();
    let of = |row: &RateRow| Some(row.rate()? / instructions.get(row.key.as_slice())?);
    let rows = rates.rows.iter();
    rows.map(|row| of(row).filter(|_| row.counter.name != INSTRUCTIONS)).collect()
}

fn name(key: &Key) -> Option<Name> {
    match key {
        Key::Text(text) => Some(Name::Text(text.clone())),
        Key::Number(number) => Some(Name::Number(*number)),
        _ => None,
    }
}

/// The rows of [`rows`] as results.
pub(super) fn results(rates: &Rates) -> Vec<RateData> {
    let by: Vec<String> = rates.by.iter().map(|&by| public::word(by)).collect();
    let rows = rates.rows.iter().zip(per_instruction(rates));
    let row = |(row, per_instruction): (&RateRow, Option<f64>)| RateData {
        names: by.iter().cloned().zip(row.key.iter().map(name)).collect(),
        counter: row.counter.name.clone(),
        unit: row.counter.unit.clone(),
        samples: row.samples,
        nanos: row.nanos,
        count: row.count,
        per_second: row.rate(),
        per_instruction,
    };
    rows.map(row).collect()
}

fn object(address: &str, rates: &Rates, spreads: &[SpreadSeen]) -> String {
    let value = RatesData {
        store: address.to_owned(),
        begin_ns: rates.time.map(|(begin, _)| begin),
        end_ns: rates.time.map(|(_, end)| end),
        by: rates.by.iter().map(|&by| public::word(by)).collect(),
        groups: rates.groups,
        rows: results(rates),
        spreads: spreads.iter().map(public::spread).collect(),
        gaps: rates.gaps.clone(),
    };
    format!("{}\n", serde_json::to_string_pretty(&value).unwrap_or_default())
}

/// A number with three digits and the prefix of its thousands.
fn short(number: f64) -> String {
    const PREFIXES: [&str; 7] = ["", " k", " M", " G", " T", " P", " E"];
    let mut number = number;
    let mut prefix = 0;
    while number.abs() >= 999.5 && prefix + 1 < PREFIXES.len() {
        number /= 1000.0;
        prefix += 1;
    }
    let digits = match number.abs() {
        n if n >= 99.95 || n == 0.0 => 0,
        n if n >= 9.995 => 1,
        n if n >= 0.0995 => 2,
        _ => return format!("{number:.1e}{}", PREFIXES[prefix]),
    };
    format!("{number:.digits$}{}", PREFIXES[prefix])
}

/// A rate with its unit: counts have none of their own.
fn per_second(rate: f64, unit: &str) -> String {
    let text = short(rate);
    match (unit, text.contains(' ')) {
        ("1", _) => format!("{text}/s"),
        (unit, true) => format!("{text}{unit}/s"),
        (unit, false) => format!("{text} {unit}/s"),
    }
}

fn table(address: &str, filters: Option<String>, rates: &Rates, spreads: &[SpreadSeen]) -> String {
    let Some((begin, end)) = rates.time else {
        return format!("Nothing was observed in this time: {}\n", fitted(address));
    };
    let mut lines = Vec::new();
    if rates.rows.is_empty() {
        let of = filters.map_or_else(String::new, |words| format!(" of {words}"));
        lines.push(fitted(&format!("No counters were read at samples{of} in {}", end - begin)));
    } else {
        lines.push(format!(
            "Counters around samples in {}: rates of a core in the row's part",
            end - begin
        ));
        lines.extend(rows(rates).lines());
    }
    if !spreads.is_empty() {
        lines.push(String::new());
        lines.push(
            "How the cores of jobs differ: the rate that so many of them do not exceed".to_owned(),
        );
        lines.extend(quantiles(spreads).lines());
    }
    lines.extend(gaps(&rates.gaps, Palette::stdout()));
    lines.join("\n") + "\n"
}

/// A row for each counter and key.
pub(super) fn rows(rates: &Rates) -> Table {
    let ratios = per_instruction(rates);
    let has_ratios = ratios.iter().any(Option::is_some);
    let mut columns = vec![("rate", Column::Right), ("counter", Column::Left)];
    if has_ratios {
        columns.push(("per instr.", Column::Right));
    }
    columns.push(("samples", Column::Right));
    let words: Vec<String> = rates.by.iter().map(|&by| public::word(by)).collect();
    columns.extend(words.iter().map(|word| (word.as_str(), Column::Path)));
    let mut table = Table::new(&columns);
    for (row, ratio) in rates.rows.iter().zip(ratios) {
        let rate = row.rate().map_or_else(String::new, |rate| per_second(rate, &row.counter.unit));
        let mut cells = vec![rate, row.counter.name.clone()];
        if has_ratios {
            cells.push(ratio.map_or_else(String::new, short));
        }
        cells.push(grouped(row.samples));
        cells.extend(row.key.iter().map(|key| cell(name(key).as_ref())));
        table.row_of(cells);
    }
    table
}

/// A row for each counter, from the core that does least to the one that does most.
pub(super) fn quantiles(spreads: &[SpreadSeen]) -> Table {
    const SHOWN: [(&str, usize); 5] =
        [("least", 0), ("10 %", 1), ("half", 5), ("90 %", 9), ("most", 10)];
    let mut columns = vec![("counter", Column::Left)];
    columns.extend(SHOWN.map(|(head, _)| (head, Column::Right)));
    columns.push(("core intervals", Column::Right));
    let mut table = Table::new(&columns);
    for spread in spreads {
        // A share of time is no rate.
        let is_share = [BUSY, COMPUTING].contains(&spread.counter.name.as_str());
        let text = |rate: f64| {
            if is_share {
                format!("{:.0} %", rate.min(1.0) * 100.0)
            } else {
                per_second(rate, &spread.counter.unit)
            }
        };
        let mut cells = vec![spread.counter.name.clone()];
        cells.extend(SHOWN.map(|(_, at)| text(spread.quantiles[at])));
        cells.push(grouped(spread.cores));
        table.row_of(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use talea_model::shares::Counter;
    use talea_model::{Gaps, Nanos};
    use talea_store::Dimension;

    use super::*;

    fn row(name: &str, unit: &str, key: Key, count: u64) -> RateRow {
        let counter = Counter { name: name.to_owned(), unit: unit.to_owned() };
        RateRow { counter, key: vec![key], samples: 1234, nanos: 2_000_000_000, count }
    }

    fn rates() -> Rates {
        let library = || Key::Text("/lib/libm.so.6".to_owned());
        let none = row("page-faults", "1", Key::Absent, 9);
        Rates {
            by: vec![Dimension::Library],
            rows: vec![
                row("cycles", "1", library(), 6_000_000_000),
                row("instructions", "1", library(), 4_000_000_000),
                row("page-faults", "1", library(), 3),
                row("task-clock", "ns", library(), 1_999_000_000),
                RateRow { nanos: 0, ..none },
            ],
            groups: 2,
            time: Some((Nanos(0), Nanos(60_000_000_000))),
            gaps: Gaps::default(),
        }
    }

    #[test]
    fn tables() {
        let spread = |name: &str, quantiles| SpreadSeen {
            counter: Counter { name: name.to_owned(), unit: "1".to_owned() },
            cores: 96,
            quantiles,
        };
        let spreads = [
            spread("busy", [0.98; 11]),
            spread("computing", [0.31; 11]),
            spread("page-faults", [1.5; 11]),
        ];
        let text = table("sqlite:t.db", None, &rates(), &spreads);
        for part in
            ["3.00 G/s", "1.50/s", "7.5e-10", "1.00 Gns/s", "/lib/libm.so.6", "98 %", "31 %"]
        {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(
            text.lines().all(|line| line.chars().count() <= crate::terminal::width()),
            "{text}"
        );
        let nothing = Rates { rows: Vec::new(), ..rates() };
        assert!(table("a", None, &nothing, &[]).starts_with("No counters were read"));
        assert!(
            table("a", None, &Rates { time: None, ..nothing }, &[]).starts_with("Nothing was obs")
        );
    }

    #[test]
    fn ratios_are_of_the_same_key() {
        let ratios = per_instruction(&rates());
        assert_eq!(ratios[..3], [Some(1.5), None, Some(7.5e-10)]);
        assert_eq!(ratios[4], None);
        let value: Value = serde_json::from_str(&object("a", &rates(), &[])).unwrap();
        assert_eq!(value["rows"][0]["per_instruction"], 1.5);
        assert_eq!(value["rows"][4]["per_second"], Value::Null);
        assert_eq!(value["rows"][0]["library"], "/lib/libm.so.6");
    }

    #[test]
    fn numbers() {
        let texts = [0.0, 0.004, 0.25, 17.25, 999.6, 1.5e6, 3e16].map(short);
        assert_eq!(texts, ["0", "4.0e-3", "0.25", "17.2", "1.00 k", "1.50 M", "30.0 P"]);
        assert_eq!(per_second(2e9, "B"), "2.00 GB/s");
        assert_eq!(per_second(2.0, "ns"), "2.00 ns/s");
    }
}
