//! From bursts to points: dimensions and filters.
//!
//! Owns the effect of options on dimensions, filters and scales, and the words for bursts that were
//! left out. The order of preparation is crate `cluster`'s.

use std::borrow::Cow;

use talea_cluster::Points;
use talea_cluster::bursts::Bursts;
use talea_cluster::dimension::{Dimension, DimensionError};
use talea_cluster::points::MAX_GROUPED;
use talea_cluster::prepare::{
    self, LeftOut, Preparation, Prepared, Range, Scale, Spacing, prepare, prepare_on,
};

use super::{Edges, Options, StudyError};

/// Bursts out of a range, by the expression of the range.
pub(super) type Outside = Vec<(String, Vec<u32>)>;

/// The column of a dimension without arithmetic.
pub(super) fn borrowed<'a>(dimension: &Dimension, bursts: &'a Bursts) -> Option<&'a [f64]> {
    let name = dimension.expression.as_counter()?;
    match talea_cluster::dimension::find(bursts, name) {
        Some(place) => Some(&bursts.counters[place].values),
        None if name == talea_cluster::dimension::DURATION => Some(&bursts.duration),
        None => None,
    }
}

/// The values of each dimension for each burst; `None` for dimensions that are a column of bursts.
pub(super) fn computed(
    dimensions: &[Dimension],
    bursts: &Bursts,
) -> Result<Vec<Option<Vec<f64>>>, DimensionError> {
    let values = |one: &Dimension| match borrowed(one, bursts) {
        Some(_) => Ok(None),
        None => one.values(bursts).map(Some),
    };
    dimensions.iter().map(values).collect()
}

/// The values of each dimension, computed or those of a column.
pub(super) fn columns<'a>(
    dimensions: &[Dimension],
    computed: &'a [Option<Vec<f64>>],
    bursts: &'a Bursts,
) -> Vec<&'a [f64]> {
    let values = |(one, values): (&Dimension, &'a Option<Vec<f64>>)| {
        values.as_deref().or_else(|| borrowed(one, bursts)).unwrap_or(&[])
    };
    dimensions.iter().zip(computed).map(values).collect()
}

/// Dimensions in which bursts are compared: the user's, or the defaults for them.
pub fn dimensions(bursts: &Bursts, how: &Options) -> Result<Vec<Dimension>, DimensionError> {
    let mut found = match (&how.columns, &how.dimensions) {
        (Some(columns), _) => Dimension::columns(columns),
        (None, Some(text)) => Dimension::list(text)?,
        (None, None) => Dimension::usual(bursts)?,
    };
    if how.no_log || how.no_prepare {
        for one in &mut found {
            one.spacing = Spacing::Linear;
        }
    }
    Ok(found)
}

/// True if the calls at the ends of bursts may separate them: without an explicit option, where
/// durations alone are compared.
pub fn may_use_edges(how: &Options, dimensions: &[Dimension]) -> bool {
    let is_duration =
        |one: &Dimension| one.expression.as_counter() == Some(talea_cluster::dimension::DURATION);
    match how.edges {
        Edges::Yes => true,
        Edges::No => false,
        Edges::Auto => {
            dimensions.len() <= MAX_GROUPED && dimensions.iter().all(is_duration) && !how.no_prepare
        }
    }
}

/// Preparation of each dimension, without ranges.
pub fn described(
    dimensions: &[Dimension],
    how: &Options,
) -> Result<Vec<prepare::Dimension>, StudyError> {
    if !how.factors.is_empty() && how.factors.len() != dimensions.len() {
        let (expected, found) = (dimensions.len(), how.factors.len());
        return Err(StudyError::Factors { expected, found });
    }
    if how.edges == Edges::Yes && dimensions.len() > MAX_GROUPED {
        return Err(StudyError::Grouped(dimensions.len()));
    }
    let one = |(at, one): (usize, &Dimension)| prepare::Dimension {
        range: Range::ALL,
        spacing: one.spacing,
        factor: how.factors.get(at).copied().unwrap_or(1.0),
    };
    Ok(dimensions.iter().enumerate().map(one).collect())
}

/// Preparation of bursts, and those that a range of another expression leaves out.
pub(super) fn preparation(
    bursts: &Bursts,
    dimensions: &[Dimension],
    how: &Options,
    shortest: f64,
) -> Result<(Preparation, Outside), StudyError> {
    let mut described = described(dimensions, how)?;
    let mut passes = vec![true; bursts.len()];
    let mut outside = Vec::new();
    for (text, range) in &how.ranges {
        if let Some(at) = dimensions.iter().position(|one| one.name == *text) {
            // If there are several ranges all must hold.
            let one = &mut described[at].range;
            *one = Range { low: one.low.max(range.low), high: one.high.min(range.high) };
            continue;
        }
        for one in Dimension::list(text)? {
            let values = one.values(bursts)?;
            let mut out = Vec::new();
            for ((at, value), passes) in (0..).zip(&values).zip(&mut passes) {
                // Each burst is left out once.
                if *passes && !range.holds(*value) {
                    *passes = false;
                    out.push(at);
                }
            }
            outside.push((text.clone(), out));
        }
    }
    let duration = Range { low: shortest, high: f64::INFINITY };
    Ok((Preparation { duration, dimensions: described }, outside))
}

/// The points, on given scales or on their own, and the bursts without a point.
pub(super) fn points(
    bursts: &Bursts,
    columns: &[&[f64]],
    preparation: &Preparation,
    outside: &[(String, Vec<u32>)],
    how: &Options,
    timed: bool,
    scales: Option<&[Scale]>,
) -> Result<Prepared, StudyError> {
    let mut passes = vec![true; bursts.len()];
    for &burst in outside.iter().flat_map(|(_, out)| out) {
        passes[burst as usize] = false;
    }
    if how.no_prepare {
        return as_they_are(columns, &passes, timed.then_some(&bursts.duration));
    }
    // Without durations nothing is too short.
    let duration = || -> Cow<'_, [f64]> {
        if timed { (&bursts.duration).into() } else { vec![0.0; bursts.len()].into() }
    };
    let prepared = |columns: &[&[f64]], durations: &[f64]| match scales {
        Some(scales) => prepare_on(columns, durations, preparation, scales),
        None => prepare(columns, durations, preparation),
    };
    if outside.is_empty() {
        return Ok(prepared(columns, &duration())?);
    }
    let kept: Vec<u32> =
        (0..).zip(&passes).filter(|(_, passes)| **passes).map(|(at, _)| at).collect();
    let of = |column: &[f64]| -> Vec<f64> { kept.iter().map(|&at| column[at as usize]).collect() };
    let some: Vec<Vec<f64>> = columns.iter().map(|column| of(column)).collect();
    let some: Vec<&[f64]> = some.iter().map(Vec::as_slice).collect();
    let mut prepared = prepared(&some, &of(&duration()))?;
    prepared.bursts.iter_mut().for_each(|at| *at = kept[*at as usize]);
    prepared.left_out.iter_mut().for_each(|(at, _)| *at = kept[*at as usize]);
    Ok(prepared)
}

/// Points without filters and scales; missing values still leave bursts out.
fn as_they_are(
    columns: &[&[f64]],
    passes: &[bool],
    duration: Option<&Vec<f64>>,
) -> Result<Prepared, StudyError> {
    let (mut bursts, mut left_out) = (Vec::new(), Vec::new());
    let mut rows = Vec::with_capacity(passes.len() * columns.len());
    for (burst, &passes) in (0_u32..).zip(passes) {
        if !passes {
            continue;
        }
        let missing = columns.iter().position(|column| !column[burst as usize].is_finite());
        if duration.is_some_and(|duration| !duration[burst as usize].is_finite()) {
            left_out.push((burst, LeftOut::NoDuration));
        } else if let Some(missing) = missing {
            left_out.push((burst, LeftOut::Missing(missing as u32)));
        } else {
            bursts.push(burst);
            rows.extend(columns.iter().map(|column| column[burst as usize]));
        }
    }
    let scale = |column: &&[f64]| {
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let values = bursts.iter().map(|&burst| column[burst as usize]);
        let (low, high) = values.fold(ends, |(low, high), v| (low.min(v), high.max(v)));
        Scale { spacing: Spacing::Linear, low, high, factor: 1.0 }
    };
    let scales = columns.iter().map(scale).collect();
    Ok(Prepared { points: Points::new(columns.len(), rows)?, bursts, left_out, scales })
}

/// A reason in words.
pub(super) fn words(reason: LeftOut, dimensions: &[Dimension], shortest: f64) -> String {
    let name = |at: u32| dimensions.get(at as usize).map_or("?", |one| one.name.as_str());
    match reason {
        LeftOut::NoDuration => "they have no duration".to_owned(),
        LeftOut::Duration => {
            format!("they are shorter than {}", talea_model::units::si(shortest, "ns"))
        }
        LeftOut::Missing(at) => format!("they lack {}", name(at)),
        LeftOut::Range(at) => format!("their {} is out of range", name(at)),
        LeftOut::NotPositive(at) => {
            format!("their {} is zero or less and has no logarithm", name(at))
        }
    }
}
