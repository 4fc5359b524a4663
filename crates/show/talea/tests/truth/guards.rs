//! On which iterations of a loop something runs, from the list of all of them.
//!
//! Owns the notation, which is that of structure trees (`docs/structure.md`): iterations count from
//! 0; what holds in each execution alike comes first, then the end of executions, then all
//! iterations of the run. Computed from plain lists of iterations, to be independent of the labels
//! that the detection makes from runs.

/// The guard of something that runs on the iterations `on[e]` of execution `e`, which has
/// `lengths[e]`; empty for all.
pub(crate) fn guard(lengths: &[u64], on: &[Vec<u64>]) -> String {
    let fits = |wanted: &dyn Fn(u64) -> Vec<u64>| {
        lengths.iter().zip(on).all(|(&length, on)| *on == wanted(length))
    };
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let model = lengths.iter().position(|&length| length == longest).map(|at| on[at].clone());
    let model = model.unwrap_or_default();
    if fits(&|length| (0..length).collect()) {
        String::new()
    } else if fits(&|length| model.iter().copied().filter(|&at| at < length).collect()) {
        shortened(&model)
    } else if fits(&|length| (0..length.saturating_sub(1)).collect()) {
        "all but the last".to_owned()
    } else if fits(&|length| length.checked_sub(1).into_iter().collect()) {
        "the last".to_owned()
    } else {
        let mut before = 0;
        let mut all = Vec::new();
        for (length, on) in lengths.iter().zip(on) {
            all.extend(on.iter().map(|at| before + at));
            before += length;
        }
        format!("{} of {before} in all", shortened(&all))
    }
}

/// Equal blocks of iterations at equal distances: `first,last,stride,blocksize`, taken greedily
/// from the left.
fn parts(on: &[u64]) -> Vec<String> {
    let mut blocks: Vec<(u64, u64)> = Vec::new();
    for &at in on {
        match blocks.last_mut() {
            Some((first, length)) if *first + *length == at => *length += 1,
            _ => blocks.push((at, 1)),
        }
    }
    let mut parts = Vec::new();
    let mut at = 0;
    while at < blocks.len() {
        let (first, length) = blocks[at];
        let stride = |from: usize| -> Option<u64> {
            let (next, same) = *blocks.get(from + 1)?;
            (same == length).then(|| next - blocks[from].0)
        };
        let mut last = at;
        let distance = stride(at);
        while distance.is_some() && stride(last) == distance {
            last += 1;
        }
        let end = blocks[last].0 + length - 1;
        parts.push(format!("{first},{end},{},{length}", distance.unwrap_or(0)));
        at = last + 1;
    }
    parts
}

/// Of more than four parts the view shows three, and the number of iterations.
fn shortened(on: &[u64]) -> String {
    let parts = parts(on);
    if parts.len() <= 4 {
        return parts.join("|");
    }
    format!("{}|... {} iterations", parts[..3].join("|"), on.len())
}

#[cfg(test)]
mod tests {
    use super::guard;

    #[test]
    fn notation() {
        let once = |length: u64, on: &[u64]| guard(&[length], &[on.to_vec()]);
        assert_eq!(once(6, &[0, 1, 2, 3, 4, 5]), "");
        assert_eq!(once(6, &[0, 2, 4, 5]), "0,2,2,1|4,5,0,2");
        assert_eq!(once(6, &[3]), "3,3,0,1");
        assert_eq!(once(21, &[0, 1, 5, 6, 10, 11, 20]), "0,11,5,2|20,20,0,1");
        assert_eq!(
            once(40, &[0, 2, 3, 7, 8, 9, 20, 25, 26]),
            "0,0,0,1|2,3,0,2|7,9,0,3|... 9 iterations"
        );
        assert_eq!(guard(&[3, 4], &[vec![0], vec![0]]), "0,0,0,1");
        assert_eq!(guard(&[3, 4], &[vec![0, 1], vec![0, 1, 2]]), "all but the last");
        assert_eq!(guard(&[3, 4], &[vec![2], vec![3]]), "the last");
        assert_eq!(guard(&[2, 2], &[vec![], vec![0, 1]]), "2,3,0,2 of 4 in all");
    }
}
