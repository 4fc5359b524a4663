//! Squared distances between points and boxes, with bounds that never contradict the distances.
//!
//! Owns the one definition of a distance: squares summed in the order of dimensions, in `f64`.
//! Subtraction, squaring and addition round monotonically, so that a bound computed in the same
//! order bounds the *computed* distances, with no margin: pruning by boxes decides exactly what
//! comparing all pairs would. A box is `lo` of each dimension, then `hi`.
#![expect(
    clippy::inline_always,
    reason = "one distance is a few instructions, in the innermost loops of every file"
)]

/// The number of dimensions: `D`, or `dims` where `D` is 0. Loops over a constant unroll.
#[inline(always)]
pub(crate) const fn width<const D: usize>(dims: usize) -> usize {
    if D == 0 { dims } else { D }
}

/// Runs `$run::<D>(..)` with the constant for `$dims`, or 0 from 5 on.
macro_rules! by_dims {
    ($dims:expr, $run:ident ( $($argument:expr),* $(,)? )) => {
        match $dims {
            1 => $run::<1>($($argument),*),
            2 => $run::<2>($($argument),*),
            3 => $run::<3>($($argument),*),
            4 => $run::<4>($($argument),*),
            _ => $run::<0>($($argument),*),
        }
    };
}
pub(crate) use by_dims;

/// Squared distance between two points.
#[inline(always)]
pub(crate) fn distance2<const D: usize>(a: &[f64], b: &[f64]) -> f64 {
    let dims = width::<D>(a.len());
    let (a, b) = (&a[..dims], &b[..dims]);
    let mut sum = 0.0;
    for i in 0..dims {
        let difference = a[i] - b[i];
        sum += difference * difference;
    }
    sum
}

/// Minimum squared distance from `point` to a point of `bounds`.
#[inline(always)]
pub(crate) fn least_to_point<const D: usize>(bounds: &[f64], point: &[f64]) -> f64 {
    let dims = width::<D>(point.len());
    let (bounds, point) = (&bounds[..2 * dims], &point[..dims]);
    let mut sum = 0.0;
    for i in 0..dims {
        let gap = (bounds[i] - point[i]).max(point[i] - bounds[dims + i]).max(0.0);
        sum += gap * gap;
    }
    sum
}

/// Maximum squared distance from `point` to a point of `bounds`.
#[inline(always)]
pub(crate) fn most_to_point<const D: usize>(bounds: &[f64], point: &[f64]) -> f64 {
    let dims = width::<D>(point.len());
    let (bounds, point) = (&bounds[..2 * dims], &point[..dims]);
    let mut sum = 0.0;
    for i in 0..dims {
        let reach = (point[i] - bounds[i]).max(bounds[dims + i] - point[i]);
        sum += reach * reach;
    }
    sum
}

/// Minimum squared distance between points of two boxes.
#[inline(always)]
pub(crate) fn least<const D: usize>(a: &[f64], b: &[f64]) -> f64 {
    let dims = width::<D>(a.len() / 2);
    let (a, b) = (&a[..2 * dims], &b[..2 * dims]);
    let mut sum = 0.0;
    for i in 0..dims {
        let gap = (a[i] - b[dims + i]).max(b[i] - a[dims + i]).max(0.0);
        sum += gap * gap;
    }
    sum
}

/// Maximum squared distance between points of two boxes.
#[inline(always)]
pub(crate) fn most<const D: usize>(a: &[f64], b: &[f64]) -> f64 {
    let dims = width::<D>(a.len() / 2);
    let (a, b) = (&a[..2 * dims], &b[..2 * dims]);
    let mut sum = 0.0;
    for i in 0..dims {
        let reach = (a[dims + i] - b[i]).max(b[dims + i] - a[i]);
        sum += reach * reach;
    }
    sum
}

/// Writes the tight box of `rows` into `bounds`.
#[inline(always)]
pub(crate) fn surround<const D: usize>(dims: usize, rows: &[f64], bounds: &mut [f64]) {
    let dims = width::<D>(dims);
    let (low, high) = bounds[..2 * dims].split_at_mut(dims);
    low.fill(f64::INFINITY);
    high.fill(f64::NEG_INFINITY);
    for row in rows.chunks_exact(dims) {
        for i in 0..dims {
            low[i] = if row[i] < low[i] { row[i] } else { low[i] };
            high[i] = if row[i] > high[i] { row[i] } else { high[i] };
        }
    }
}

/// The widest dimension of a box, and its width.
pub(crate) fn widest(bounds: &[f64]) -> (usize, f64) {
    let (low, high) = bounds.split_at(bounds.len() / 2);
    let widths = low.iter().zip(high).map(|(low, high)| high - low).enumerate();
    widths.fold((0, -1.0), |best, one| if one.1 > best.1 { one } else { best })
}

/// The coordinate at which to cut dimension `i` of a box with an extent there: above its low, at
/// most its high, at `wanted` if possible.
pub(crate) fn cut(bounds: &[f64], i: usize, wanted: f64) -> f64 {
    let (low, high) = (bounds[i], bounds[bounds.len() / 2 + i]);
    let middle = low / 2.0 + high / 2.0;
    let inside = |at: f64| at > low && at <= high;
    [wanted, middle].into_iter().find(|&at| inside(at)).unwrap_or(high)
}

/// Moves the rows below `at` in dimension `i` to the front, together with their places; returns
/// their number.
pub(crate) fn partition<const D: usize>(
    dims: usize,
    rows: &mut [f64],
    of: &mut [u32],
    i: usize,
    at: f64,
) -> usize {
    let dims = width::<D>(dims);
    let (mut front, mut back) = (0, of.len());
    loop {
        while front < back && rows[front * dims + i] < at {
            front += 1;
        }
        while front < back && rows[(back - 1) * dims + i] >= at {
            back -= 1;
        }
        if front >= back {
            return front;
        }
        back -= 1;
        of.swap(front, back);
        let (left, right) = rows.split_at_mut(back * dims);
        left[front * dims..front * dims + dims].swap_with_slice(&mut right[..dims]);
        front += 1;
    }
}
