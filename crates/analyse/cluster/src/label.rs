//! Result of clustering: a label for each point, the clusters by weight.
//!
//! Owns the numbering: cluster 1 is the heaviest, noise is 0. Modules `dbscan` and `classify`
//! assign the labels.

/// The cluster of a point: 1 is the heaviest, 0 is noise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Label(pub u32);

impl Label {
    /// Label of a point that belongs to no cluster.
    pub const NOISE: Self = Self(0);

    /// Label of the cluster at `place` of [`Clustering::clusters`].
    pub const fn of_place(place: usize) -> Self {
        Self(place as u32 + 1)
    }

    /// Place of the cluster in [`Clustering::clusters`]; `None` for noise.
    pub const fn place(self) -> Option<usize> {
        match self.0.checked_sub(1) {
            Some(place) => Some(place as usize),
            None => None,
        }
    }

    /// True for noise.
    pub const fn is_noise(self) -> bool {
        self.0 == 0
    }
}

/// One cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cluster {
    /// Points, border points included.
    pub points: u64,
    /// Points with enough neighbours to extend the cluster.
    pub core_points: u64,
    /// Sum of the points' weights, in the unit of the weights; the number of points without
    /// weights.
    pub weight: f64,
    /// The first core point, by its place among the points.
    pub first_core: u32,
}

/// A clustering of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clustering {
    /// One label for each point.
    pub labels: Vec<Label>,
    /// For each point, whether it is a core point.
    pub core: Vec<bool>,
    /// Clusters by weight, the heaviest first; equal ones by their first core point.
    /// [`Label::of_place`] returns their labels.
    pub clusters: Vec<Cluster>,
}

impl Clustering {
    /// Number of points in no cluster.
    pub fn noise(&self) -> usize {
        self.labels.iter().filter(|label| label.is_noise()).count()
    }
}
