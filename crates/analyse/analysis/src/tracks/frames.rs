//! Frames of the comparison: runs, or windows of one run.
//!
//! Owns reading and cutting. A burst belongs to the window in which it begins.

use talea_cluster::bursts::Bursts;
use talea_model::Trace;

use super::{Options, TrackError, Windows};
use crate::Progress;
use crate::clusters::{Source, source};

/// Maximum number of windows.
pub(super) const MOST_WINDOWS: u64 = 1_000;

/// One run, or one window.
pub(super) struct Frame<'a> {
    pub(super) name: String,
    pub(super) bursts: Bursts,
    pub(super) trace: Option<&'a Trace>,
    /// Number of ranks with bursts, of the whole input.
    pub(super) ranks: usize,
    pub(super) begin: u64,
    pub(super) end: u64,
}

/// Reads all inputs.
pub(super) fn load(options: &Options, progress: Progress<'_>) -> Result<Vec<Source>, TrackError> {
    match (options.inputs.len(), options.windows) {
        (0 | 1, None) => return Err(TrackError::Few(options.inputs.len())),
        (1, Some(_)) | (_, None) => {}
        (many, Some(_)) => return Err(TrackError::Many(many)),
    }
    let mut sources = Vec::new();
    for path in &options.inputs {
        sources.push(source::load(path, &options.clusters, &mut *progress)?);
    }
    Ok(sources)
}

fn ranks(bursts: &Bursts) -> usize {
    bursts.rank.iter().collect::<std::collections::BTreeSet<_>>().len()
}

/// The frames in the order of the command line, or of time.
pub(super) fn frames<'a>(
    sources: &'a [Source],
    options: &Options,
) -> Result<Vec<Frame<'a>>, TrackError> {
    if let (Some(windows), [one]) = (options.windows, sources) {
        return cut(one, windows);
    }
    let named = options.inputs.iter().zip(sources);
    Ok(named
        .map(|(path, source)| {
            let name = path.file_name().map_or_else(
                || path.display().to_string(),
                |name| name.to_string_lossy().into_owned(),
            );
            let name = [".gz", ".prv", ".csv"].iter().fold(name, |name, end| {
                name.strip_suffix(end).map_or_else(|| name.clone(), str::to_owned)
            });
            let bursts = source.bursts.clone();
            Frame {
                name,
                ranks: ranks(&bursts),
                begin: bursts.begin.iter().copied().min().unwrap_or_default(),
                end: bursts.end.iter().copied().max().unwrap_or_default(),
                trace: source.trace.as_ref(),
                bursts,
            }
        })
        .collect())
}

fn cut(source: &Source, windows: Windows) -> Result<Vec<Frame<'_>>, TrackError> {
    let bursts = &source.bursts;
    let begin = bursts.begin.iter().copied().min().ok_or(TrackError::NoTimes)?;
    let end = bursts.end.iter().copied().max().ok_or(TrackError::NoTimes)?;
    let whole = end.saturating_sub(begin).max(1);
    let each = match windows {
        Windows::Count(count) => whole.div_ceil(count.max(1)),
        Windows::Each(each) => each.0.max(1),
    };
    let count = whole.div_ceil(each);
    if !(2..=MOST_WINDOWS).contains(&count) {
        return Err(TrackError::Windows { found: count });
    }
    let mut places = vec![Vec::new(); count as usize];
    for (place, &at) in (0_u32..).zip(&bursts.begin) {
        let window = ((at - begin) / each).min(count - 1);
        places[window as usize].push(place);
    }
    let ranks = ranks(bursts);
    let frame = |(at, places): (u64, Vec<u32>)| {
        let from = begin.saturating_add(at.saturating_mul(each));
        Frame {
            name: talea_model::Nanos(from).to_string(),
            bursts: bursts.select(&places),
            trace: source.trace.as_ref(),
            ranks,
            begin: from,
            end: from.saturating_add(each).min(end),
        }
    };
    Ok((0..).zip(places).map(frame).collect())
}
