//! The file format of speedscope: frames once, and a sampled profile for each thread.

use std::fmt::Write;

use super::json::quoted;
use super::{Samples, Unit};

/// One JSON object, following <https://www.speedscope.app/file-format-schema.json>.
pub fn speedscope(samples: &Samples) -> String {
    let mut out = String::from(
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"talea\",\"name\":",
    );
    quoted(&samples.name, &mut out);
    out.push_str(",\"shared\":{\"frames\":[");
    for (number, frame) in samples.frames.iter().enumerate() {
        separate(number, &mut out);
        out.push_str("{\"name\":");
        quoted(&frame.name, &mut out);
        if let Some(file) = &frame.file {
            out.push_str(",\"file\":");
            quoted(file, &mut out);
        }
        if let Some(line) = frame.line {
            let _ = write!(out, ",\"line\":{line}");
        }
        out.push('}');
    }
    out.push_str("]},\"profiles\":[");
    let unit = match samples.unit {
        Unit::Nanoseconds => "nanoseconds",
        Unit::Count => "none",
        Unit::Bytes => "bytes",
    };
    for (number, thread) in samples.threads.iter().enumerate() {
        separate(number, &mut out);
        out.push_str("{\"type\":\"sampled\",\"name\":");
        quoted(&thread.name, &mut out);
        let sum = thread.samples.iter().fold(0_u64, |sum, one| sum.saturating_add(one.weight));
        let _ =
            write!(out, ",\"unit\":\"{unit}\",\"startValue\":0,\"endValue\":{sum},\"samples\":[");
        for (number, sample) in thread.samples.iter().enumerate() {
            separate(number, &mut out);
            let known = sample.stack.iter().filter(|&&one| (one as usize) < samples.frames.len());
            let numbers: Vec<String> = known.map(u32::to_string).collect();
            let _ = write!(out, "[{}]", numbers.join(","));
        }
        let weights: Vec<String> =
            thread.samples.iter().map(|sample| sample.weight.to_string()).collect();
        let _ = write!(out, "],\"weights\":[{}]}}", weights.join(","));
    }
    out.push_str("]}\n");
    out
}

fn separate(number: usize, out: &mut String) {
    if number > 0 {
        out.push(',');
    }
}
