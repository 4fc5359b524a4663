//! Batch of an interval: its header, its gaps, and the counts behind them.

use talea_model::shares::{Batch, BatchId};
use talea_model::{Gap, GapKind, Gaps, Nanos};

use super::Agent;
use crate::tally::About;

impl Agent {
    pub(super) fn batch(&mut self, begin: Nanos, end: Nanos) -> Batch {
        self.processes.end_interval();
        self.modules.end_interval();
        let gaps = self.gaps_so_far();
        self.gaps = Gaps::default();
        for (count, _) in self.counts() {
            *count = 0;
        }
        let about = self.about(begin, end);
        self.made += 1;
        self.tally.finish(about, gaps)
    }

    /// Notes idle samples that no batch has, after the last one.
    pub(super) fn note_late(&self, gaps: &mut Gaps) {
        let count = self.tally.samples();
        if count > 0 {
            let detail = "idle samples came too late for the last interval and are in no batch";
            gaps.note(Gap { kind: GapKind::Missing, rank: None, detail: detail.to_owned(), count });
        }
    }

    /// Header of the interval's batch, for any end of the interval.
    pub(super) fn about(&self, begin: Nanos, end: Nanos) -> About {
        About {
            id: BatchId {
                node: self.options.node.clone(),
                started: self.started,
                number: self.made,
            },
            interval: (begin, end),
            period: self.options.period,
            cores: self.sampler.cores().len() as u32,
            sampler: self.sampler.name(),
        }
    }

    /// Gaps of the interval.
    pub(super) fn gaps_so_far(&mut self) -> Gaps {
        let mut gaps = self.gaps.clone();
        gaps.merge(self.always.clone());
        self.hung += self.files.hung();
        for (count, what) in self.counts().into_iter().filter(|(count, _)| **count > 0) {
            // The number is no part of the text, so that stores can add up those of many intervals.
            gaps.note(Gap {
                kind: GapKind::Missing,
                rank: None,
                detail: what.to_owned(),
                count: *count,
            });
        }
        gaps
    }

    /// Counts of an interval that are reported at its end.
    pub(super) fn counts(&mut self) -> [(&mut u64, &'static str); 7] {
        [
            (
                &mut self.hung,
                "looks at files and processes had no answer: a file system hangs, and what lies on it has no build id",
            ),
            (
                &mut self.modules.unread,
                "sampled files have neither build id nor addresses: removed, replaced or no ELF files",
            ),
            (
                &mut self.processes.gone,
                "sampled processes had ended before their job was looked for",
            ),
            (
                &mut self.known.ambiguous,
                "samples are of no job: their user has several here, and neither control groups nor environments tell them apart",
            ),
            (
                &mut self.known.untold,
                "samples are of no job: environments of their processes name jobs without a notice",
            ),
            (&mut self.allotted.shared, "idle samples are of cores that several jobs have"),
            (&mut self.queue.refused, "batches were refused by the store and are lost"),
        ]
    }
}
