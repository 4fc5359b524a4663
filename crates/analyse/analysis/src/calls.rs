//! Call sites over all ranks.
//!
//! Owns their numbering (in the order in which ranks, and in them threads, first reach them) and
//! the sums.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use talea_flow::stats::CallStats;
use talea_model::{Rank, Signature};
use talea_report::data::Category;
use talea_run::Recording;
use talea_run::recording::Thread;

use super::walk::Walked;
use crate::procedures::{category, is_bracket};

/// One call site.
#[derive(Debug, Serialize, Deserialize)]
pub struct CallSite {
    /// Procedure and path.
    pub signature: Signature,
    /// The procedure's name.
    pub procedure: String,
    /// Category of its time.
    pub category: Category,
    /// True if it begins or ends MPI.
    pub bracket: bool,
    /// Its figures.
    pub stats: CallStats,
}

/// All call sites; a site's number is its place.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct CallTable {
    sites: Vec<CallSite>,
    #[serde(skip)]
    places: HashMap<Signature, u32>,
    /// Number of calls that were only counted.
    local: u64,
}

impl CallTable {
    /// Adds the calls of one thread of `rank`.
    pub(super) fn add(
        &mut self,
        recording: &Recording,
        rank: Rank,
        thread: &Thread,
        walked: &Walked,
    ) {
        for (node, figures) in thread.log.nodes.iter().zip(&walked.nodes) {
            let signature = node.signature;
            let place = *self.places.entry(signature).or_insert_with(|| {
                let procedure = recording.procedures.get(usize::from(signature.procedure.0));
                let procedure = procedure.map_or_else(|| "?".to_owned(), |spec| spec.name.clone());
                self.sites.push(CallSite {
                    signature,
                    category: category(&procedure),
                    bracket: is_bracket(&procedure),
                    procedure,
                    stats: CallStats::default(),
                });
                self.sites.len() as u32 - 1
            });
            let stats = &mut self.sites[place as usize].stats;
            stats.add(rank, figures.calls, figures.bytes, &figures.durations);
        }
        for (_, count) in &thread.counts {
            self.local = self.local.saturating_add(*count);
        }
    }

    /// Numbers the sites of a table that was read from a file; whether it can be that of a
    /// recording with these numbers of procedures and paths.
    pub(super) fn complete(&mut self, procedures: usize, paths: usize) -> bool {
        let known = |signature: Signature| {
            usize::from(signature.procedure.0) < procedures && (signature.path.0 as usize) < paths
        };
        self.places = self.sites.iter().zip(0..).map(|(site, at)| (site.signature, at)).collect();
        self.places.len() == self.sites.len()
            && self.sites.iter().all(|site| {
                known(site.signature)
                    && site.stats.durations.is_valid()
                    && site.stats.ranks.is_sorted_by(|a, b| a.0 < b.0)
            })
    }

    /// All sites by number.
    pub fn sites(&self) -> &[CallSite] {
        &self.sites
    }

    /// The number of a signature's site.
    pub fn number(&self, signature: Signature) -> Option<u32> {
        self.places.get(&signature).copied()
    }

    /// The site of a signature.
    pub fn get(&self, signature: Signature) -> Option<&CallSite> {
        self.sites.get(self.number(signature)? as usize)
    }

    /// Numbers of the sites with most time first.
    pub fn by_time(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.sites.len() as u32).collect();
        order.sort_by_key(|&at| (std::cmp::Reverse(self.sites[at as usize].stats.time), at));
        order
    }

    /// All calls, those that were only counted included.
    pub fn calls(&self) -> u64 {
        self.sites.iter().fold(self.local, |sum, site| sum.saturating_add(site.stats.calls))
    }
}
