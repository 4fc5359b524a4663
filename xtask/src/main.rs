//! Development tasks of the project: generated code, bundles, benchmark tables.
fn main() {}
