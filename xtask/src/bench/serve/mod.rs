//! Load of `talea serve` on this machine: batches of a thousand agents, and the queries of a job's
//! page over thirty days.
//!
//! The server is the program that users run, with its defaults: slices of a minute, rules, names of
//! functions. Agents and questions are threads of this process and share the cores with it, so that
//! times are upper bounds.

mod batches;
mod page;

use super::{built, scratch};
use crate::site::Site;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

pub(crate) fn run() -> Result<(), String> {
    let site = Site::new(&built("talea")?, scratch("serve")?)?;
    batches::ingest(&site)?;
    page::page(&site)
}
