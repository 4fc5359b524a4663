//! Options of clustering.
//!
//! Owns the option structs of the analysis and the reading of `--subset`.

use talea_cluster::prepare::Range;
use talea_metric::measure::Part;

/// The radius.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Eps {
    /// The radius that the ranks' sequences support.
    #[default]
    Auto,
    /// A radius for each cluster.
    Refine,
    /// The given radius.
    Given(f64),
}

/// Use of the calls at the ends of a burst to separate bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edges {
    /// Where durations alone are compared, and the ranks' sequences gain by it.
    #[default]
    Auto,
    /// Always.
    Yes,
    /// Never.
    No,
}

/// Choice of the clustered points; the others are classified.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SubsetRule {
    /// All points of some ranks, and a share of the others'.
    Some {
        /// Number of ranks; 0 for none.
        ranks: usize,
        /// Share of the points of the others, 0 to 1.
        share: f64,
    },
    /// This many points of each crowded cell; where absent, the minimum points of a core.
    Thin(Option<usize>),
}

/// Labels of bursts that are not in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Labels {
    /// They are counted.
    #[default]
    Counted,
    /// Each is kept, 4 bytes a burst, for [`super::save_labelled`].
    Kept,
}

/// All options that determine clusters.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The list of dimensions; the defaults where absent.
    pub dimensions: Option<String>,
    /// Columns of a table, instead.
    pub columns: Option<Vec<String>>,
    /// The column of a table with durations in nanoseconds.
    pub weight: Option<String>,
    /// Minimum duration of bursts, in nanoseconds; where absent, by their share of the time.
    pub min_duration: Option<f64>,
    /// Expressions with the range of values that passes.
    pub ranges: Vec<(String, Range)>,
    /// Weights of dimensions; 1 where absent.
    pub factors: Vec<f64>,
    /// `log(...)` is replaced by its argument.
    pub no_log: bool,
    /// Values are used as points unchanged.
    pub no_prepare: bool,
    /// The analysed part of a trace.
    pub part: Part,
    /// Labels of bursts that are not in memory.
    pub labels: Labels,
    /// Calls of a run up to which all of its bursts are held in memory;
    /// [`crate::input::Extent::MOST`] where absent. Of more calls some bursts are held and
    /// clustered, and all are classified.
    pub most: Option<u64>,
    /// Use of the calls at the ends of bursts.
    pub edges: Edges,
    /// The radius.
    pub eps: Eps,
    /// Minimum points of a core.
    pub min_points: Option<usize>,
    /// The clustered subset, if not all.
    pub subset: Option<(SubsetRule, String)>,
    /// Seed of random choices.
    pub seed: u64,
    /// Cluster all as well, and compare.
    pub check: bool,
}

/// Reads `ranks=8`, `random=15%`, `ranks=8,random=15%`, `thin` or `thin=20`.
pub fn subset(text: &str) -> Result<SubsetRule, String> {
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
