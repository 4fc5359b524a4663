//! Readings at the begin and end of instances, for sources that read counters elsewhere.
//!
//! Owns one estimate: the count between the readings before and after a border is divided by time.
//! Only neighbours that both have a counter are used, so that nothing is invented across a change
//! of the counter set. The number of estimated borders is a gap.

use talea_model::{Gap, GapKind, Nanos};

use super::{ProbeColumns, Spans};

/// Adds readings at borders of instances that have none. Readings must be in order of location and
/// time, as [`super::probes`] gives them.
pub fn borders(probes: &mut ProbeColumns, spans: &Spans) {
    let mut wanted: Vec<(u32, Nanos)> =
        spans.location.iter().copied().zip(spans.begin.iter().copied()).collect();
    wanted.extend(spans.location.iter().copied().zip(spans.end.iter().copied()));
    wanted.sort_unstable();
    wanted.dedup();
    let old = std::mem::take(probes);
    let mut made = ProbeColumns {
        types: old.types,
        names: old.names,
        gaps: old.gaps,
        values: vec![Vec::with_capacity(old.time.len()); old.values.len()],
        ..ProbeColumns::default()
    };
    let mut next = wanted.into_iter().peekable();
    let mut estimated = 0_u64;
    for at in 0..old.time.len() {
        let (location, time) = (old.location[at], old.time[at]);
        // The rest of each count after the shares of the borders before this reading.
        let mut left: Vec<f64> = old.values.iter().map(|column| column[at]).collect();
        let before = at.checked_sub(1).filter(|&before| old.location[before] == location);
        let mut from = before.map(|before| old.time[before]);
        while let Some((_, border)) = next.next_if(|&border| border < (location, time)) {
            let Some((start, before)) = from.zip(before).filter(|&(start, _)| start < border)
            else {
                continue;
            };
            let part = (border - start).0 as f64 / (time - start).0 as f64;
            let mut any = false;
            for (column, (left, old)) in
                made.values.iter_mut().zip(left.iter_mut().zip(&old.values))
            {
                let known = !old[before].is_nan() && !left.is_nan();
                any |= known;
                column.push(if known { *left * part } else { f64::NAN });
                *left -= if known { *left * part } else { 0.0 };
            }
            made.location.push(location);
            made.time.push(border);
            estimated += u64::from(any);
            from = Some(border);
        }
        // A border at exactly this time has its reading.
        while next.next_if(|&border| border == (location, time)).is_some() {}
        made.location.push(location);
        made.time.push(time);
        for (column, left) in made.values.iter_mut().zip(left) {
            column.push(left);
        }
    }
    *probes = made;
    if estimated > 0 {
        let detail = format!(
            "{estimated} begins and ends of instances lie between readings: what was counted there is shared out by time"
        );
        probes.gaps.note(Gap { kind: GapKind::Estimated, rank: None, detail, count: estimated });
    }
}
