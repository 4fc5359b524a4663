//! The numbers that event types and states have in traces of the Barcelona tools, and in ours.
//!
//! Owns the constants that readers of meaning (bursts, regions, metrics) and makers of traces
//! share. Names of a trace's own label file win over them. Source: Extrae's manual and the traces
//! that Extrae 2 to 5 wrote.

/// The state of a thread that computes.
pub const RUNNING: u32 = 1;
/// The state of a thread that is not there yet.
pub const NOT_CREATED: u32 = 2;
/// The state of a thread that waits for a message.
pub const WAITING: u32 = 3;
/// The state of a blocking send.
pub const BLOCKING_SEND: u32 = 4;
/// The state of a thread that synchronises.
pub const SYNCHRONIZATION: u32 = 5;
/// The state of a test or a probe.
pub const TEST_PROBE: u32 = 6;
/// The state of waiting for requests.
pub const WAIT_ALL: u32 = 8;
/// The state of posting a send.
pub const IMMEDIATE_SEND: u32 = 10;
/// The state of posting a receive.
pub const IMMEDIATE_RECEIVE: u32 = 11;
/// The state of input and output.
pub const IO: u32 = 12;
/// The state of a collective operation.
pub const GROUP_COMMUNICATION: u32 = 13;
/// The state while nothing is recorded.
pub const TRACING_DISABLED: u32 = 14;
/// The state of any other call.
pub const OTHERS: u32 = 15;
/// The state of a send and receive in one.
pub const SEND_RECEIVE: u32 = 16;

/// Calls of MPI by kind: point to point, collective, other, one-sided, files. The value is the
/// call, 0 its end.
pub const MPI: std::ops::RangeInclusive<u32> = 50_000_001..=50_000_005;
/// `MPI_Init` and `MPI_Init_thread`, values of [`MPI`].
pub const MPI_INIT: [i64; 2] = [31, 140];
/// `MPI_Finalize`, a value of [`MPI`].
pub const MPI_FINALIZE: i64 = 32;
/// Bytes sent by a collective operation.
pub const SEND_SIZE: u32 = 50_100_001;
/// Bytes received by a collective operation.
pub const RECEIVE_SIZE: u32 = 50_100_002;
/// Whether this task is the root; its value is the root's.
pub const ROOT: u32 = 50_100_003;
/// The communicator of a call.
pub const COMMUNICATOR: u32 = 50_100_004;
/// Functions on the way to a call of MPI: 70,000,000 + level, the direct caller being 1.
pub const CALLER: std::ops::RangeInclusive<u32> = 70_000_001..=70_000_099;
/// Lines of [`CALLER`].
pub const CALLER_LINE: std::ops::RangeInclusive<u32> = 80_000_001..=80_000_099;
/// Functions on the stack at a sample: 30,000,000 + depth, the innermost being 0.
pub const SAMPLE_CALLER: std::ops::RangeInclusive<u32> = 30_000_000..=30_000_099;
/// Lines of [`SAMPLE_CALLER`].
pub const SAMPLE_LINE: std::ops::RangeInclusive<u32> = 30_000_100..=30_000_199;
/// User functions that the tool instrumented.
pub const USER_FUNCTION: u32 = 60_000_019;
/// Lines of [`USER_FUNCTION`].
pub const USER_LINE: u32 = 60_000_119;
/// Counters of the processor and of the system, as what they grew by since the thread's last probe.
pub const COUNTERS: [std::ops::RangeInclusive<u32>; 3] =
    [42_000_000..=42_999_999, 44_000_000..=44_999_999, 45_000_000..=46_999_999];
/// Those of them that count a whole node or socket.
pub const NODE_COUNTERS: std::ops::RangeInclusive<u32> = 46_000_000..=46_999_999;
/// Which set of counters is active from here on.
pub const COUNTER_SET: u32 = 41_999_999;
/// The cluster that a burst belongs to; see [`CLUSTER_FIRST`].
pub const CLUSTER: u32 = 90_000_001;
/// Value of [`CLUSTER`]: the burst lacks a counter.
pub const CLUSTER_MISSING: i64 = 1;
/// Value of [`CLUSTER`]: the burst is shorter than asked for.
pub const CLUSTER_DURATION: i64 = 2;
/// Value of [`CLUSTER`]: a value of the burst is out of the range asked for.
pub const CLUSTER_RANGE: i64 = 3;
/// Value of [`CLUSTER`]: noise.
pub const CLUSTER_NOISE: i64 = 5;
/// Value of [`CLUSTER`]: the cluster with the most time; the others follow.
pub const CLUSTER_FIRST: i64 = 6;
/// Iterations of the main loop of a program, as a run found it; the value is the iteration from 1,
/// 0 the end of the loop.
pub const ITERATION: u32 = 600_000_003;
/// The same for each loop that was found, a type a loop; iterations count on from one execution to
/// the next.
pub const LOOP: std::ops::RangeInclusive<u32> = 600_000_100..=600_000_199;
/// Phases that the program marked, by name: values nest, and 0 ends the innermost.
pub const MARKED: u32 = 600_000_004;

/// Whether an event type counts something.
pub fn is_counter(event_type: u32) -> bool {
    COUNTERS.iter().any(|range| range.contains(&event_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_told_from_other_types() {
        assert!(
            [42_000_050, 42_001_059, 44_000_001, 45_000_003, 46_000_000]
                .map(is_counter)
                .iter()
                .all(|&is| is)
        );
        assert!(
            ![COUNTER_SET, 40_000_033, CLUSTER, *MPI.start()].map(is_counter).iter().any(|&is| is)
        );
    }
}
