//! Times and messages of the made-up runs.

use talea_model::{Bytes, Nanos, Rank};
use talea_report::data::{
    Bar, Cell, IterationSeries, Matrix, Message, Outlier, RankSeries, Row, Timeline,
};

use super::MAIN_LOOP;
use super::play::{Call, Played};

pub(super) fn series(
    played: &Played,
    loop_id: u32,
    class: Option<u32>,
    members: &[u32],
) -> IterationSeries {
    let takes = "50.0 ms (median of 60)".to_owned();
    let mut out =
        IterationSeries { loop_id, class, stride: 1, takes, ..IterationSeries::default() };
    let steps =
        members.iter().map(|&rank| played.steps[rank as usize].len()).min().unwrap_or(1).max(1);
    let duration = |rank: u32, step: usize| {
        let steps = &played.steps[rank as usize];
        let jitter =
            u64::from(rank) * 977 % 90_000 + (step as u64 * 7919 + u64::from(rank) * 31) % 160_000;
        steps[step + 1] - steps[step] + jitter + if rank % 128 == 3 { 300_000 } else { 0 }
    };
    for step in 0..steps - 1 {
        let mut all: Vec<u64> = members.iter().map(|&rank| duration(rank, step)).collect();
        all.sort_unstable();
        out.begin.push(Nanos(played.steps[members[0] as usize][step]));
        out.min.push(Nanos(all[0]));
        out.median.push(Nanos(all[all.len() / 2]));
        out.max.push(Nanos(all[all.len() - 1]));
        out.mean.push(Nanos(all.iter().sum::<u64>() / all.len() as u64));
        if step == 37 {
            let slow = members.iter().copied().find(|rank| rank % 64 == 2).unwrap_or(members[0]);
            out.outliers.push(Outlier {
                iteration: 37,
                rank: Rank(slow),
                thread: None,
                duration: Nanos(duration(slow, 37)),
            });
        }
    }
    let shown = members.iter().copied().filter(|rank| members.len() <= 8 || rank % 128 == 3);
    out.ranks = shown
        .map(|rank| RankSeries {
            rank: Rank(rank),
            thread: None,
            durations: (0..steps - 1).map(|step| Nanos(duration(rank, step))).collect(),
        })
        .collect();
    out
}

/// The step that stands for all, or the one in which a rank is killed.
pub(super) fn typical(played: &Played) -> Timeline {
    match played.killed {
        Some(_) => timeline(played, 41, "the step in which rank 2 ended"),
        None => timeline(played, 20, "median duration of 60"),
    }
}

/// The step that stands out.
pub(super) fn slow(played: &Played) -> Timeline {
    timeline(played, 37, "63.1 ms on rank 2, the median is 30.1 ms")
}

fn timeline(played: &Played, step: usize, why: &str) -> Timeline {
    let begin = played.steps[0][step];
    let end = played.steps[0]
        .get(step + 1)
        .copied()
        .unwrap_or(begin + 60_000_000)
        .min(begin + 60_000_000);
    let mut out = Timeline {
        loop_id: Some(MAIN_LOOP),
        iteration: step as u64,
        why: why.to_owned(),
        begin: Nanos(begin.saturating_sub(1_000_000)),
        end: Nanos(end + 1_000_000),
        bounds: vec![Nanos(begin), Nanos(end)],
        args: vec![
            "to 1, 131 kB, tag 7".to_owned(),
            "4 requests".to_owned(),
            "MPI_SUM, 1 × MPI_DOUBLE".to_owned(),
        ],
        ..Timeline::default()
    };
    for (rank, calls) in played.calls.iter().enumerate() {
        let row = out.rows.len() as u32;
        let last = calls.last().map_or(0, |call| call.begin + call.duration);
        let killed = played.killed.is_some_and(|one| one.0 == rank as u32);
        out.rows.push(Row {
            rank: Rank(rank as u32),
            thread: 0,
            class: played.class[rank],
            begin: Nanos(0),
            end: Nanos(if killed { last + 9_000_000 } else { last }),
        });
        for call in calls
            .iter()
            .filter(|call| call.begin + call.duration > out.begin.0 && call.begin < out.end.0)
        {
            let args = match call.site {
                7 | 8 => Some(0),
                9 => Some(1),
                10 | 13 => Some(2),
                _ => None,
            };
            out.bars.push(Bar {
                row,
                begin: Nanos(call.begin),
                duration: Nanos(call.duration),
                site: call.site as u32,
                args,
            });
            if call.site == 7 && played.calls.len() < 9 {
                out.messages.extend(message(played, rank, call));
            }
        }
    }
    out
}

/// A send at one of two sites to the neighbour above or below, if there is one.
fn message(played: &Played, rank: usize, call: &Call) -> Option<Message> {
    let to = match call.site {
        7 => rank + 1,
        8 => rank.checked_sub(1)?,
        _ => return None,
    };
    let mut waits = played.calls.get(to)?.iter();
    let wait = waits.find(|other| other.site == 9 && other.step == call.step)?;
    Some(Message {
        from_row: rank as u32,
        sent: Nanos(call.begin),
        to_row: to as u32,
        received: Nanos(wait.begin + wait.duration),
        bytes: 131_072,
    })
}

/// The run as a whole, calls of 50 µs and more.
pub(super) fn whole(played: &Played) -> Timeline {
    let mut out = Timeline { why: "calls of 50 µs and more".to_owned(), ..Timeline::default() };
    for (row, calls) in (0..).zip(&played.calls) {
        let end = Nanos(calls.last().map_or(0, |call| call.begin + call.duration));
        out.end = out.end.max(end);
        out.rows.push(Row {
            rank: Rank(row),
            thread: 0,
            class: played.class[row as usize],
            begin: Nanos(0),
            end,
        });
        for call in calls.iter().filter(|call| call.duration > 50_000) {
            let (begin, duration) = (Nanos(call.begin), Nanos(call.duration));
            out.bars.push(Bar { row, begin, duration, site: call.site as u32, args: None });
        }
        out.messages.extend(calls.iter().filter_map(|call| message(played, row as usize, call)));
    }
    out.bounds = played.steps[0].iter().copied().map(Nanos).collect();
    out
}

pub(super) fn matrix(played: &Played) -> Matrix {
    let ranks = played.calls.len() as u32;
    let block = ranks.div_ceil(256).max(1);
    let mut cells: Vec<Cell> = Vec::new();
    let mut add = |from: u32, to: u32, bytes: u64, messages: u64| {
        let (from, to) = (from / block, to / block);
        match cells.iter_mut().rev().take(8).find(|cell| (cell.from, cell.to) == (from, to)) {
            Some(cell) => {
                cell.bytes += Bytes(bytes);
                cell.messages += messages;
            }
            None => cells.push(Cell { from, to, bytes: Bytes(bytes), messages }),
        }
    };
    for rank in 0..ranks {
        let steps = played.steps[rank as usize].len() as u64;
        let right = (rank + 1) % ranks;
        let left = (rank + ranks - 1) % ranks;
        add(rank, right, steps * 131_072, steps);
        add(rank, left, steps * 131_072, steps);
        if ranks > 16 {
            add(rank, (rank + 16) % ranks, steps * 16_384 * 6, steps * 6);
        } else {
            add(rank, right, steps * 16_384, steps * 6);
        }
    }
    Matrix {
        ranks,
        block,
        what: "point-to-point sends; collectives are not in it".to_owned(),
        cells,
        ..Matrix::default()
    }
}
