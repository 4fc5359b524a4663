//! Ends of processes in words.
//!
//! Owns the distinction between processes that are running, those that a signal to `talea run`
//! ended, and those that may have ended before. Nothing says when a process crashed: the time of
//! its last event is compared with that of the signal.

use talea_model::Nanos;
use talea_run::Metadata;
use talea_run::recording::{Ended, Process, Started};

/// Maximum time between the last event and the signal of a process that the signal ended.
const SOON: Nanos = Nanos(1_000_000_000);

/// Text of a process's end. `begin` and `last` are the times of its first and its last event since
/// the start of the run.
pub fn end(metadata: &Metadata, process: &Process, begin: Nanos, last: Nanos) -> String {
    let lasted = last - begin;
    match process.ended {
        Ended::Finalized => "finished".to_owned(),
        Ended::Aborted(code) => format!("MPI_Abort({code}) after {lasted}"),
        Ended::Running => format!("running, {lasted} so far"),
        Ended::Exited => format!("exit without MPI_Finalize after {lasted}"),
        Ended::Killed => match metadata.interrupted {
            Some(signal) => {
                let signal = signal_name(signal);
                match before_signal(metadata, process.started, last) {
                    Some(before) if before > SOON => {
                        format!("last event after {lasted}, {before} before {signal}")
                    }
                    _ => format!("ended by {signal} after {lasted}"),
                }
            }
            None => format!("killed or crashed after {lasted}"),
        },
    }
}

/// Time from a process's last event to the signal; `None` if either is unknown.
fn before_signal(metadata: &Metadata, started: Started, last: Nanos) -> Option<Nanos> {
    let start = u64::try_from(metadata.start?.as_nanosecond()).ok()?;
    let signal = start.checked_add(metadata.interrupted_at?.0)?;
    let known = Some(started.realtime.0).filter(|&realtime| realtime > 0)?;
    let last = known.checked_add(last.0.checked_sub(started.at.0)?)?;
    Some(Nanos(signal.saturating_sub(last)))
}

/// `SIGINT`, or `signal 34` where it has no name.
pub fn signal_name(signal: i32) -> String {
    signal_hook::low_level::signal_name(signal)
        .map_or_else(|| format!("signal {signal}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_ends_processes_that_called_until_then() {
        let second = 1_000_000_000;
        let metadata = |at: Option<u64>| Metadata {
            start: Some(jiff::Timestamp::from_second(1_700_000_000).unwrap()),
            interrupted: Some(2),
            interrupted_at: at.map(|at| Nanos(at * second)),
            ..Metadata::default()
        };
        let started = Started {
            at: Nanos(second),
            monotonic: Nanos(5),
            realtime: Nanos(1_700_000_002 * second),
        };
        let before = |at, last| before_signal(&metadata(at), started, Nanos(last * second));
        // The process started 2 s after `talea run`, where the run's clock shows 1 s.
        assert_eq!(before(Some(12), 11), Some(Nanos(0)));
        assert_eq!(before(Some(12), 5), Some(Nanos(6 * second)));
        // The last event may have a time that is estimated.
        assert_eq!(before(Some(12), 12), Some(Nanos(0)));
        assert_eq!((before(None, 5), before(Some(12), 0)), (None, None));
        let lost = Started { realtime: Nanos(0), ..started };
        assert_eq!(before_signal(&metadata(Some(12)), lost, Nanos(second)), None);
    }
}
