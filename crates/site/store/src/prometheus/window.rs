//! Which samples a time is made of.
//!
//! Owns the rule that batches count whole: a sample stands at the begin of its batch, so that
//! batches that began before the time and reach into it are looked for by their ends. They are few,
//! the last of each node. Times are whole milliseconds.

use std::collections::BTreeMap;

use talea_model::{Gap, GapKind, Gaps};

use crate::arrival::LONGEST_INTERVAL;
use crate::error::StoreError;
use crate::prometheus::http::{Found, Server};
use crate::prometheus::names::literal;
use crate::prometheus::put::{END, WIDTH};
use crate::question::Question;

const DAY: u64 = 86_400_000;
/// Longest interval of a batch, rounded outwards: how far a question looks back at most.
const LONGEST: u64 = LONGEST_INTERVAL.0 / 1_000_000 + 2;
/// 1971: `VictoriaMetrics` finds nothing in ranges that begin in the first day of 1970.
const EARLIEST: u64 = 365 * DAY;
/// Batches that are asked for one by one; only agents whose intervals differ much make more.
const MOST_ALONE: usize = 64;

/// Samples from `first` to `last`, both included, in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) first: u64,
    pub(super) last: u64,
    /// Further matchers: of one start of an agent.
    pub(super) only: String,
}

impl Window {
    /// The window as the range of a query that is asked at its end.
    pub(super) fn range(&self, server: &Server) -> Result<String, StoreError> {
        server.range(self.last - self.first + 1)
    }
}

/// Everything that is there.
pub(super) fn everything(server: &Server) -> Result<Window, StoreError> {
    // No clock of our own: the server's is the one that its samples are by. Engines take little of
    // the future.
    let found = server.at_time("vector(time())", None)?;
    let now = found.first().and_then(Found::number).unwrap_or(0.0);
    let last = (now * 1000.0).clamp(0.0, 4e12) as u64 + 2 * DAY;
    Ok(Window { first: EARLIEST, last: last.max(EARLIEST), only: String::new() })
}

/// The windows of a question: batches that begin in its time, and those that only reach into it.
pub(super) fn windows(
    server: &Server,
    question: &Question,
    gaps: &mut Gaps,
) -> Result<Vec<Window>, StoreError> {
    let all = everything(server)?;
    let first = (question.from.0 / 1_000_000).max(all.first);
    let last = (question.to.0.div_ceil(1_000_000) - 1).min(all.last);
    if last < first {
        return Ok(Vec::new());
    }
    let mut main = Window { first, last, only: String::new() };
    let mut windows = Vec::new();
    if first > EARLIEST {
        let mut touching = touching(server, first)?;
        // Down to the last batch that ended before, all of any node are wanted.
        let ended =
            touching.iter().filter(|batch| batch.end <= first).map(|batch| batch.begin).max();
        main.first = ended.map_or_else(
            || touching.iter().map(|batch| batch.begin).min().unwrap_or(first),
            |ended| ended + 1,
        );
        touching.retain(|batch| batch.end > first && batch.begin < main.first);
        if touching.len() > MOST_ALONE {
            gaps.note(Gap {
                kind: GapKind::Estimated,
                rank: None,
                detail: "batches that reach into the begin of the time are left out".to_owned(),
                count: (touching.len() - MOST_ALONE) as u64,
            });
        }
        let alone = touching.into_iter().take(MOST_ALONE);
        windows.extend(alone.map(|batch| Window {
            first: batch.begin,
            last: batch.begin,
            only: batch.only,
        }));
    }
    windows.insert(0, main);
    Ok(windows)
}

struct Touching {
    begin: u64,
    end: u64,
    only: String,
}

/// Batches shortly before a time, as far back as one that reaches into it could begin.
///
/// Those of all nodes and users: totals are of all nodes, whatever the filters, and begins and ends
/// leave this file only as windows.
fn touching(server: &Server, first: u64) -> Result<Vec<Touching>, StoreError> {
    let back = server.range(LONGEST)?;
    let widest = format!("max(max_over_time({WIDTH}[{back}]))");
    let widest = server.at_time(&widest, Some(first - 1))?;
    let Some(widest) = widest.first().and_then(Found::number) else { return Ok(Vec::new()) };
    let widest = widest.clamp(1.0, LONGEST as f64) as u64;
    let ends = format!("{END}[{widest}ms]");
    let mut batches = BTreeMap::new();
    for found in server.at_time(&ends, Some(first - 1))? {
        let label = |label: &str| {
            let value = found.label(label).unwrap_or_default();
            format!("{label}={}", literal(value))
        };
        let only = format!("{},{}", label("node"), label("started"));
        for (begin, end) in found.points() {
            batches.insert((begin, only.clone()), end.max(0.0) as u64);
        }
    }
    let batches = batches.into_iter().filter(|((begin, _), _)| *begin < first);
    Ok(batches.map(|((begin, only), end)| Touching { begin, end, only }).collect())
}
