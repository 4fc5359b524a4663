//! The Trace Event Format: one complete event (`X`) a slice, names of threads as metadata (`M`).

use std::fmt::Write;

use talea_model::Nanos;

use super::Track;
use super::json::quoted;

/// One JSON object, one event a line. Times there are microseconds; three decimals keep nanoseconds exact.
pub fn chrome(slices: &[Track]) -> String {
    let mut out = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    let mut separator = "";
    for track in slices {
        let (process, thread) = (track.process, track.thread);
        let _ = write!(
            out,
            "{separator}{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{process},\"tid\":{thread},\"args\":{{\"name\":"
        );
        quoted(&track.name, &mut out);
        out.push_str("}}");
        separator = ",\n";
        for slice in &track.slices {
            out.push_str(",\n{\"ph\":\"X\",\"name\":");
            quoted(&slice.name, &mut out);
            out.push_str(",\"cat\":");
            quoted(&slice.category, &mut out);
            let (begin, length) = (micros(slice.begin), micros(slice.end - slice.begin));
            let _ = write!(
                out,
                ",\"pid\":{process},\"tid\":{thread},\"ts\":{begin},\"dur\":{length}}}"
            );
        }
    }
    out.push_str("\n]}\n");
    out
}

fn micros(time: Nanos) -> String {
    format!("{}.{:03}", time.0 / 1000, time.0 % 1000)
}
