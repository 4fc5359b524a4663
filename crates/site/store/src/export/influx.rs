//! A batch in Influx' line protocol: one line for what hit the same, cores and addresses summed up.
//!
//! Owns the names of measurements, tags and fields, and that no name can break a line: the protocol
//! has no way to write line ends and no sure one for backslashes, which become `_`.
//! <https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/>

use std::collections::BTreeMap;
use std::fmt::Write as _;

use talea_model::shares::{Activities, Batch};

use crate::arrival::{activity, cut, nanos, owner, rate_owner};

/// Lines of a batch, each with its end, in a fixed order.
pub fn lines(batch: &Batch) -> String {
    let name = |index: Option<u32>| {
        let module = index.and_then(|index| batch.modules.get(index as usize));
        module.map_or("", |module| module.path.as_str())
    };
    let job = |index: Option<u32>| index.and_then(|index| batch.jobs.get(index as usize));
    let phase = |index: Option<u32>| {
        let phase = index.and_then(|index| batch.phases.get(index as usize));
        phase.map_or("", String::as_str)
    };
    let mut samples: BTreeMap<String, (u64, u128)> = BTreeMap::new();
    let activities = Activities::from_modules(&batch.modules);
    for share in &batch.shares {
        let user = owner(batch, share).map(|user| user.to_string()).unwrap_or_default();
        let tags = tags(&[
            ("activity", activity(activities.at(share))),
            ("executable", name(share.executable)),
            ("job", job(share.job).map_or("", |job| job.id.as_str())),
            ("library", name(share.library)),
            ("node", &batch.id.node),
            ("phase", phase(share.phase)),
            ("user", &user),
        ]);
        let sum = samples.entry(tags).or_default();
        sum.0 = sum.0.saturating_add(share.samples);
        sum.1 += nanos(batch, share).max(0) as u128;
    }
    let mut rates: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for rate in &batch.rates {
        let Some(counter) = batch.counters.get(rate.counter as usize) else { continue };
        let user = rate_owner(batch, rate).map(|user| user.to_string()).unwrap_or_default();
        let tags = tags(&[
            ("counter", &counter.name),
            ("executable", name(rate.executable)),
            ("job", job(rate.job).map_or("", |job| job.id.as_str())),
            ("library", name(rate.library)),
            ("node", &batch.id.node),
            ("phase", phase(rate.phase)),
            ("unit", &counter.unit),
            ("user", &user),
        ]);
        let sum = rates.entry(tags).or_default();
        *sum = (sum.0.saturating_add(rate.count), sum.1.saturating_add(rate.nanos));
    }
    let (mut out, end) = (String::new(), batch.end.0);
    // Integers of the protocol are signed; a text can always be written to.
    let most = i64::MAX as u64;
    for (tags, (samples, nanos)) in samples {
        let (samples, seconds) = (samples.min(most), nanos as f64 / 1e9);
        let _ =
            writeln!(out, "talea_samples{tags} samples={samples}i,core_seconds={seconds} {end}");
    }
    for (tags, (count, nanos)) in rates {
        let (count, seconds) = (count.min(most), nanos as f64 / 1e9);
        let _ = writeln!(out, "talea_counter{tags} count={count}i,seconds={seconds} {end}");
    }
    out
}

/// Tags that are not empty, as the protocol has none that are.
fn tags(tags: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (tag, value) in tags.iter().filter(|(_, value)| !value.is_empty()) {
        out.extend([",", tag, "="]);
        for c in cut(value).chars() {
            match c {
                ',' | '=' | ' ' => out.extend(['\\', c]),
                '\\' => out.push('_'),
                c if c.is_control() => out.push('_'),
                c => out.push(c),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use talea_model::shares::{Counter, Rate};

    use super::*;
    use crate::tests::made::{batch, batches};

    /// Parts of a line between bytes that no backslash is before.
    fn split(line: &str, at: char) -> Vec<String> {
        let (mut parts, mut escaped) = (vec![String::new()], false);
        for c in line.chars() {
            if c == at && !escaped {
                parts.push(String::new());
            } else if let Some(part) = parts.last_mut() {
                part.push(c);
            }
            escaped = c == '\\' && !escaped;
        }
        parts
    }

    proptest! {
        #[test]
        fn no_name_breaks_a_line(batches in batches()) {
            for batch in batches {
                let (mut samples, lines) = (0, lines(&batch));
                for line in lines.lines() {
                    let parts = split(line, ' ');
                    prop_assert_eq!(parts.len(), 3, "{}", line);
                    for tag in &split(&parts[0], ',')[1..] {
                        prop_assert_eq!(split(tag, '=').len(), 2, "{}", line);
                    }
                    let field = |name| parts[1].strip_prefix(name).and_then(|f| f.split_once("i,"));
                    if parts[0].starts_with("talea_samples,") {
                        samples += field("samples=").unwrap().0.parse::<u64>().unwrap();
                    } else {
                        prop_assert!(field("count=").is_some(), "{}", line);
                    }
                    prop_assert_eq!(parts[2].parse::<u64>().unwrap(), batch.end.0);
                }
                prop_assert_eq!(samples, batch.samples());
            }
        }
    }

    #[test]
    fn as_written() {
        let mut batch = batch("n 1", 0, 0);
        batch.jobs[0].id = "a=b,c\\\n".to_owned();
        batch.counters = vec![Counter { name: "instructions".to_owned(), unit: "1".to_owned() }];
        batch.rates = vec![Rate {
            counter: 0,
            job: Some(0),
            user: None,
            executable: Some(0),
            library: None,
            phase: None,
            samples: 3,
            nanos: 6_000_000_000,
            count: 12,
        }];
        insta::assert_snapshot!(lines(&batch));
    }
}
