//! How to cluster, as the command line says it.
//!
//! Owns the option structs of the analysis and the reading of `--subset`.

use talea_cluster::prepare::Range;
use talea_metric::measure::Part;

/// The radius.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Eps {
    /// The one whose clusters the ranks' sequences speak for.
    #[default]
    Auto,
    /// Each cluster its own.
    Refine,
    /// This one.
    Given(f64),
}

/// Whether the calls at the ends of a burst tell it apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Edges {
    /// Where durations alone are compared, and the ranks' sequences gain by it
    #[default]
    Auto,
    /// Always
    Yes,
    /// Never
    No,
}

/// Which points are clustered; the others are classified.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SubsetRule {
    /// All points of some ranks, and a share of the others'.
    Some {
        /// How many ranks; 0 for none.
        ranks: usize,
        /// Share of the points of the others, 0 to 1.
        share: f64,
    },
    /// So many points of each crowded cell; as many as make a core where absent.
    Thin(Option<usize>),
}

/// Everything that decides clusters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Analysis {
    /// The list of dimensions; what is usual where absent.
    pub(crate) dimensions: Option<String>,
    /// Columns of a table, instead.
    pub(crate) columns: Option<Vec<String>>,
    /// The column of a table that says durations in nanoseconds.
    pub(crate) weight: Option<String>,
    /// Shorter bursts are left out, in nanoseconds; by their share of the time where absent.
    pub(crate) min_duration: Option<f64>,
    /// Expressions with the range of theirs that passes.
    pub(crate) ranges: Vec<(String, Range)>,
    /// How much dimensions count; 1 where absent.
    pub(crate) factors: Vec<f64>,
    /// `log(...)` is taken for what is in it.
    pub(crate) no_log: bool,
    /// Values are points as they are.
    pub(crate) no_prepare: bool,
    /// The part of a trace that is looked at.
    pub(crate) part: Part,
    /// Whether bursts between different calls are different.
    pub(crate) edges: Edges,
    /// The radius.
    pub(crate) eps: Eps,
    /// Neighbours that make a core.
    pub(crate) min_points: Option<usize>,
    /// What is clustered, if not all.
    pub(crate) subset: Option<(SubsetRule, String)>,
    /// What chance decides, this decides.
    pub(crate) seed: u64,
    /// Cluster all as well, and compare.
    pub(crate) check: bool,
}

/// Reads `ranks=8`, `random=15%`, `ranks=8,random=15%`, `thin` or `thin=20`.
pub(crate) fn subset(text: &str) -> Result<SubsetRule, String> {
    let wrong = || "expected ranks=8, random=15%, ranks=8,random=15%, thin or thin=20".to_owned();
    if text == "thin" {
        return Ok(SubsetRule::Thin(None));
    }
    if let Some(most) = text.strip_prefix("thin=") {
        return most
            .parse()
            .ok()
            .filter(|&n| n > 0)
            .map(|n| SubsetRule::Thin(Some(n)))
            .ok_or_else(wrong);
    }
    let (mut ranks, mut share) = (None, None);
    for part in text.split(',') {
        match part.trim().split_once('=') {
            Some(("ranks", count)) if ranks.is_none() => {
                ranks = Some(count.parse::<usize>().ok().filter(|&n| n > 0).ok_or_else(wrong)?);
            }
            Some(("random", part)) if share.is_none() => {
                let percent = part.strip_suffix('%').unwrap_or(part).trim().parse::<f64>();
                let percent = percent.ok().filter(|p| *p > 0.0 && *p <= 100.0).ok_or_else(wrong)?;
                share = Some(percent / 100.0);
            }
            _ => return Err(wrong()),
        }
    }
    Ok(SubsetRule::Some { ranks: ranks.unwrap_or(0), share: share.unwrap_or(0.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subsets_as_people_write_them() {
        assert_eq!(subset("ranks=8"), Ok(SubsetRule::Some { ranks: 8, share: 0.0 }));
        assert_eq!(subset("random=15%"), Ok(SubsetRule::Some { ranks: 0, share: 0.15 }));
        assert_eq!(subset("ranks=8,random=15"), Ok(SubsetRule::Some { ranks: 8, share: 0.15 }));
        assert_eq!(subset("thin=20"), Ok(SubsetRule::Thin(Some(20))));
        for wrong in
            ["", "ranks", "ranks=0", "random=0%", "random=101%", "thin=", "ranks=1,ranks=2", "x=1"]
        {
            assert!(subset(wrong).is_err(), "{wrong}");
        }
    }
}
