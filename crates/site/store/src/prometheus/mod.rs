//! A store behind Prometheus' HTTP API: `VictoriaMetrics`, Prometheus and what else takes remote
//! writes, for many nodes.
//!
//! Owns that batches count once and none is lost there, and that answers are those of `SQLite`
//! (docs/store.md). One request has one batch. The server keeps and sums; retention is its own
//! matter. Nothing is sent before the first batch or question, so that agents start while the
//! server is away.

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

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::time::{Duration, Instant};

use prost::Message as _;
use talea_model::Nanos;
use talea_model::shares::{Batch, BatchId};

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

/// Most bytes of requests that are kept so long.
const MOST_UNSETTLED: usize = 16 << 20;
/// Nodes that are asked for at a time.
const NODES_OF_QUESTION: usize = 64;
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
    /// Delay until samples are on the server's disk: `VictoriaMetrics` keeps some seconds in
    /// memory.
    pub settles: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cores: 1024,
            addresses: 64,
            patience: Duration::from_mins(1),
            settles: Duration::from_secs(20),
        }
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
}

/// A request that the server took.
struct Unsettled {
    id: BatchId,
    begin: u64,
    packed: Vec<u8>,
    since: Instant,
}

impl Prometheus {
    /// The server whose API is at an address, such as `http://host:8428` (`VictoriaMetrics`) or
    /// `http://host:9090` (Prometheus): writes go to `/api/v1/write` behind it, questions to
    /// `/api/v1/query`. Nothing is sent yet.
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

    /// Sends again what may have been lost with the server's memory: all that may have been in it
    /// where the server was seen to be away, else each that is missing. One that began anew between
    /// two batches was away unseen, and has the batches since.
    fn settle(&mut self) -> Result<(), StoreError> {
        let settles = self.options.settles;
        let is_due = |kept: &Unsettled| kept.since.elapsed() >= 2 * settles;
        if !self.was_away && !self.unsettled.front().is_some_and(is_due) {
            return Ok(());
        }
        if !self.was_away {
            let settled = |kept: &Unsettled| kept.since.elapsed() >= settles;
            let due = self.unsettled.iter().filter(|kept| settled(kept));
            // Where that cannot be said, they are sent again: it changes nothing where they are.
            let there = self.those_there(due).unwrap_or_default();
            self.unsettled.retain(|kept| !settled(kept) || !there.contains(&kept.id));
        }
        let mut refused = HashSet::new();
        for kept in &mut self.unsettled {
            if self.was_away || kept.since.elapsed() >= settles {
                match self.server.write(&kept.packed)? {
                    Written::Taken => kept.since = Instant::now(),
                    Written::Refused(_) => drop(refused.insert(kept.id.clone())),
                }
            }
        }
        // A batch that is too late now would be too late for ever.
        self.unsettled.retain(|kept| !refused.contains(&kept.id));
        self.unsettled.make_contiguous().sort_by_key(|kept| kept.since);
        self.was_away = false;
        Ok(())
    }

    /// Which of these batches the server has, in few questions: all numbers of some nodes in the
    /// time of these batches.
    fn those_there<'a>(
        &self,
        batches: impl Iterator<Item = &'a Unsettled> + Clone,
    ) -> Result<HashSet<BatchId>, StoreError> {
        let mut there = HashSet::new();
        let times = batches.clone().map(|kept| kept.begin);
        let Some((first, last)) = times.clone().min().zip(times.max()) else { return Ok(there) };
        let nodes: BTreeSet<&String> = batches.map(|kept| &kept.id.node).collect();
        let nodes: Vec<(&String, String)> =
            nodes.into_iter().map(|node| (node, names::value(node))).collect();
        for some in nodes.chunks(NODES_OF_QUESTION) {
            let only = names::any_of("node", some.iter().map(|(_, value)| value.as_str()));
            let window = Window { first, last, only };
            let range = window.range(&self.server)?;
            let query = format!("{}{{{}}}[{range}]", put::NUMBER, window.only);
            for found in self.server.at_time(&query, Some(window.last))? {
                let started = found.label("started").and_then(|started| started.parse().ok());
                let node = found.label("node").unwrap_or_default();
                let node = some.iter().find(|(_, value)| value == node);
                let Some(((node, _), started)) = node.zip(started) else { continue };
                there.extend(found.points().map(|(_, number)| BatchId {
                    node: (*node).clone(),
                    started,
                    number: number as u64,
                }));
            }
        }
        Ok(there)
    }

    fn one(&mut self, batch: &Batch) -> Result<Put, StoreError> {
        self.settle()?;
        let begin = put::times(batch).0;
        if self.known.contains(&batch.id) || self.is_there(&batch.id, begin)? {
            return Ok(Put::Already);
        }
        let request = put::request(batch, &self.options).encode_to_vec();
        let packed = snap::raw::Encoder::new()
            .compress_vec(&request)
            .map_err(|error| self.server.failed(error))?;
        let written = self.server.write(&packed)?;
        if self.known.len() == MOST_KNOWN {
            self.known.pop_front();
        }
        self.known.push_back(batch.id.clone());
        if let Written::Refused(why) = written {
            let node = crate::arrival::cut(&batch.id.node).chars().take(80).collect();
            let why = format!("the server does not take it, and will not: {why}");
            return Err(StoreError::Batch { node, number: batch.id.number, why });
        }
        self.keep(Unsettled { id: batch.id.clone(), begin, packed, since: Instant::now() });
        Ok(Put::New)
    }

    fn keep(&mut self, unsettled: Unsettled) {
        self.unsettled.push_back(unsettled);
        let mut bytes: usize = self.unsettled.iter().map(|kept| kept.packed.len()).sum();
        while let Some(oldest) = self.unsettled.front()
            && bytes > MOST_UNSETTLED
            && self.unsettled.len() > 1
        {
            bytes -= oldest.packed.len();
            self.unsettled.pop_front();
        }
    }
}

impl Store for Prometheus {
    /// Each batch is a step of its own: those before one that cannot be sent count, and are known
    /// when they come again. One that the server will never take is an error once, after all others
    /// were sent; its agent, which has the error, tells of it.
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
        self.server.begin();
        ask::usage(&self.server, question).map(Answer::completed)
    }

    fn series(&self, question: &Question, step: Nanos) -> Result<Series, StoreError> {
        question.check_series(step)?;
        self.server.begin();
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
        self.server.begin();
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
