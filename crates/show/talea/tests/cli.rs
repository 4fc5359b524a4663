//! Drives the real program in temporary directories: records, shows, compares with an independent
//! witness, and breaks things on purpose.
//!
//! Owns nothing but the order of its parts. A test that needs MPI or the built programs is skipped
//! with a printed reason where they are missing, and fails there if `CI` is set.

// A test says what went wrong by the line that it stopped at, and why it did nothing on standard
// error.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod compare;
mod fuse;
mod truth;

mod cli {
    mod agrees;
    mod always;
    mod bench;
    mod cgroups;
    mod cluster;
    mod cluster_generated;
    mod convert;
    #[cfg(feature = "parquet")]
    mod dataset;
    mod fabric_described;
    mod fabric_pictures;
    mod fabric_run;
    mod fabric_sonar;
    mod fabric_table;
    mod fold;
    mod fold_generated;
    mod full;
    mod generated;
    mod golden;
    mod hanging;
    mod hostile;
    mod hosts;
    mod in_mpi;
    mod late;
    mod many_bursts;
    mod marked;
    mod metrics;
    mod metrics_generated;
    mod modern;
    mod names;
    mod objects;
    mod own_calls;
    mod packages;
    mod paths;
    mod perfetto;
    mod place;
    mod real;
    mod record;
    mod report;
    mod request_lists;
    mod sample;
    mod schemas;
    mod serve;
    mod show;
    mod slurm;
    mod smart;
    mod special;
    mod stores;
    mod survive;
    mod threads;
    mod top;
    mod topo;
    mod truth;
    mod watch;
    mod widths;
}
