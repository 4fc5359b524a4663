//! The run directory: write, map, recover after a crash, versions.
