//! Results for spreadsheets: a line for each value (RFC 4180).
//!
//! Owns quoting. An absent value is empty, with its reason beside it.

use talea_formats::table::quoted;

use talea_analysis::metrics::Study;

/// The head line; its names are public.
const HEAD: &str = "input,key,name,unit,rank,value,reason\n";

pub(super) fn csv(studies: &[Study]) -> String {
    let mut text = HEAD.to_owned();
    for study in studies {
        let input = study.path.display().to_string();
        let mut line =
            |key: &str, name: &str, unit: &str, rank: &str, value: Result<f64, String>| {
                let (value, reason) = match value {
                    Ok(value) if value.is_finite() => (value.to_string(), String::new()),
                    Ok(_) => (String::new(), String::new()),
                    Err(reason) => (String::new(), reason),
                };
                let cells = [&input, key, name, unit, rank, &value, &reason].map(quoted);
                text.push_str(&cells.join(","));
                text.push('\n');
            };
        for factor in &study.factors {
            line(factor.key, factor.name, "", "", factor.value.clone());
        }
        for (at, one) in study.table.iter().enumerate() {
            line(one.key, one.name, one.unit, "", one.value.clone());
            if one.value.is_ok() {
                for rank in &study.ranks {
                    let name = if rank.application > 1 {
                        format!("{}.{}", rank.application, rank.number)
                    } else {
                        rank.number.to_string()
                    };
                    line(one.key, one.name, one.unit, &name, Ok(rank.table[at]));
                }
                for cluster in study.clusters.iter().filter(|one| one.table[at].is_finite()) {
                    let name = format!("cluster {}", cluster.id);
                    line(one.key, one.name, one.unit, &name, Ok(cluster.table[at]));
                }
            }
        }
        for model in &study.models {
            for one in &model.lines {
                let key = format!("{}:{}", model.name, one.name);
                let value = one.value.clone().map_err(|reason| reason.to_string());
                line(&key, &one.name, &one.unit, "", value);
            }
        }
    }
    text
}
