//! A store behind Prometheus' HTTP API: `VictoriaMetrics`, Prometheus, Mimir and what else takes remote writes, for many nodes.
//!
//! Owns that batches count once and none is lost there, and that answers are those of `SQLite` (docs/store.md). One request has one batch. The
//! server keeps and sums; retention is its own matter. Nothing is sent before the first batch or question, so that
//! agents start while the server is away.

mod ask;
mod http;
mod lists;
mod message;
mod names;
mod put;
mod rates;
mod select;
mod series;
mod window;

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use prost::Message as _;
use talea_model::shares::{Batch, BatchId};
use talea_model::{Gap, GapKind, Nanos};

use crate::answer::{Answer, JobSeen, NodeSeen, Series};
use crate::error::StoreError;
use crate::question::{Question, Visible};
use crate::rates::{Rates, SpreadSeen};
use crate::{Put, Retained, Store};
use http::{Server, Written};
use names::literal;
use window::Window;

#[cfg(test)]
pub(crate) use message::{TimeSeries, WriteRequest};
#[cfg(test)]
pub(crate) use select::has_filters_of_rows as filters_rows;

/// What may take a while to be on the server's disk: `VictoriaMetrics` keeps some seconds in memory.
const SETTLES: Duration = Duration::from_secs(20);
/// Most bytes of requests that are kept so long.
const MOST_UNSETTLED: usize = 16 << 20;
/// Ids of batches that are remembered, so that those sent again at once are known.
const MOST_KNOWN: usize = 4096;

/// How batches become series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Most series of a batch that have a core.
    pub cores: usize,
    /// Most series of a batch that have an address.
    pub addresses: usize,
    /// How long to wait for an answer.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { cores: 1024, addresses: 64, patience: Duration::from_mins(1) }
    }
}

/// A server that keeps batches as series.
pub struct Prometheus {
    server: Server,
    options: Options,
    /// True once the server was found to be set up so that batches count once.
    is_checked: bool,
    known: VecDeque<BatchId>,
    unsettled: VecDeque<Unsettled>,
    /// Whether requests may have been lost with the server's memory.
    was_away: bool,
    /// Batches that came too late, by node: the next one of the node tells.
    late: BTreeMap<String, u64>,
}

/// A request that the server took.
struct Unsettled {
    id: BatchId,
    begin: u64,
    packed: Vec<u8>,
    since: Instant,
}

impl Prometheus {
    /// The server whose API is at an address, such as `http://host:8428/select/0/prometheus`. Nothing is sent yet.
    ///
    /// # Errors
    /// Says what was expected of the address.
    pub fn at(address: &str, options: &Options) -> Result<Self, StoreError> {
        Ok(Self {
            server: Server::at(address, options.patience)?,
            options: *options,
            is_checked: false,
            known: VecDeque::new(),
            unsettled: VecDeque::new(),
            was_away: false,
            late: BTreeMap::new(),
        })
    }

    /// Refuses a `VictoriaMetrics` that would count a batch twice that is sent twice.
    fn check_server(&mut self) -> Result<(), StoreError> {
        if self.is_checked {
            return Ok(());
        }
        let flags = self.server.flags()?.unwrap_or_default();
        let is_victoria = flags.lines().any(|line| line.starts_with("-storageDataPath="));
        let off =
            ["", "=\"0s\"", "=\"0\"", "=\"\""].map(|off| format!("-dedup.minScrapeInterval{off}"));
        let mut set = flags.lines().filter(|line| line.starts_with("-dedup.minScrapeInterval"));
        if is_victoria && set.next().is_none_or(|line| off.iter().any(|off| line.trim() == off)) {
            return Err(self.server.failed(
                "expected `-dedup.minScrapeInterval=1ms` of VictoriaMetrics: without it, a batch that is sent again counts twice",
            ));
        }
        self.is_checked = true;
        Ok(())
    }

    /// True when the server has this batch.
    fn is_there(&self, id: &BatchId, begin: u64) -> Result<bool, StoreError> {
        let (node, started) = (literal(&names::value(&id.node)), id.started);
        let only = format!("node={node},started=\"{started}\"");
        let window = Window { first: begin, last: begin, only };
        let functions = ("max", "max_over_time");
        let found = ask::each(&self.server, &[window], functions, put::NUMBER, &Vec::new())?;
        let number = found.first().and_then(http::Found::number);
        Ok(number.is_some_and(|number| number as u64 == id.number))
    }

    /// Sends again what may have been lost with the server's memory.
    fn settle(&mut self) -> Result<(), StoreError> {
        if let Some(last) = self.unsettled.back()
            && (self.was_away || last.since.elapsed() >= SETTLES)
        {
            if self.was_away || !self.is_there(&last.id, last.begin)? {
                for unsettled in &self.unsettled {
                    self.server.write(&unsettled.packed)?;
                }
            }
            if !self.was_away {
                self.unsettled.clear();
            }
        }
        self.was_away = false;
        Ok(())
    }

    fn one(&mut self, batch: &Batch) -> Result<Put, StoreError> {
        self.settle()?;
        let begin = put::times(batch).0;
        if self.known.contains(&batch.id) || self.is_there(&batch.id, begin)? {
            return Ok(Put::Already);
        }
        let late = self.late.get(&batch.id.node).map(|&count| Gap {
            kind: GapKind::Missing,
            rank: None,
            detail: "batches that the server refused for ever".to_owned(),
            count,
        });
        let request = put::request(batch, &self.options, late).encode_to_vec();
        let packed = snap::raw::Encoder::new()
            .compress_vec(&request)
            .map_err(|error| self.server.failed(error))?;
        let written = self.server.write(&packed)?;
        if self.known.len() == MOST_KNOWN {
            self.known.pop_front();
        }
        self.known.push_back(batch.id.clone());
        if let Written::Refused(why) = written {
            let count = self.late.entry(batch.id.node.clone()).or_default();
            *count = count.saturating_add(1);
            let node = crate::arrival::cut(&batch.id.node).chars().take(80).collect();
            let why = format!("the server does not take it, and will not: {why}");
            return Err(StoreError::Batch { node, number: batch.id.number, why });
        }
        self.late.remove(&batch.id.node);
        self.keep(Unsettled { id: batch.id.clone(), begin, packed, since: Instant::now() });
        Ok(Put::New)
    }

    fn keep(&mut self, unsettled: Unsettled) {
        self.unsettled.push_back(unsettled);
        let mut bytes: usize = self.unsettled.iter().map(|kept| kept.packed.len()).sum();
        while let Some(oldest) = self.unsettled.front()
            && (bytes > MOST_UNSETTLED || oldest.since.elapsed() > 3 * SETTLES)
            && self.unsettled.len() > 1
        {
            bytes -= oldest.packed.len();
            self.unsettled.pop_front();
        }
    }
}

impl Store for Prometheus {
    /// Each batch is a step of its own: those before one that cannot be sent count, and are known when they come again. One
    /// that the server will never take is an error once, after all others were sent, and told by the next batch of its node.
    fn put_all(&mut self, batches: &[Batch]) -> Result<Vec<Put>, StoreError> {
        batches.iter().try_for_each(crate::check)?;
        self.check_server()?;
        let (mut puts, mut refused) = (Vec::with_capacity(batches.len()), None);
        for batch in batches {
            match self.one(batch) {
                Ok(put) => puts.push(put),
                Err(error @ StoreError::Batch { .. }) => refused = refused.or(Some(error)),
                Err(error) => {
                    self.was_away = true;
                    return Err(error);
                }
            }
        }
        refused.map_or(Ok(puts), Err)
    }

    fn usage(&self, question: &Question) -> Result<Answer, StoreError> {
        question.check()?;
        ask::usage(&self.server, question)
    }

    fn series(&self, question: &Question, step: Nanos) -> Result<Series, StoreError> {
        question.check_series(step)?;
        series::series(&self.server, question, step)
    }

    fn nodes(&self, visible: Visible) -> Result<Vec<NodeSeen>, StoreError> {
        lists::nodes(&self.server, visible)
    }

    fn jobs(&self, question: &Question) -> Result<Vec<JobSeen>, StoreError> {
        question.check()?;
        lists::jobs(&self.server, question)
    }

    fn rates(&self, question: &Question) -> Result<Rates, StoreError> {
        question.check_rates()?;
        rates::rates(&self.server, question)
    }

    fn spreads(&self, question: &Question) -> Result<Vec<SpreadSeen>, StoreError> {
        question.check_spreads()?;
        rates::spreads(&self.server, question)
    }

    /// Nothing: how long series are kept is set at the server.
    fn retain(&mut self, _: Nanos, _: usize) -> Result<Retained, StoreError> {
        Ok(Retained::default())
    }
}
