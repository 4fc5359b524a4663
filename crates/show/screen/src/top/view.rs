//! The views of `talea top`: the column that separates rows, its key, and the view that a choice
//! leads to.
//!
//! Owns the words of views. It refuses to know rows.

use talea_store::Dimension;

/// Column that separates rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    Job,
    Executable,
    Library,
    Function,
    Phase,
    Core,
    User,
}

impl View {
    pub(super) const ALL: [Self; 7] = [
        Self::Job,
        Self::Executable,
        Self::Library,
        Self::Function,
        Self::Phase,
        Self::Core,
        Self::User,
    ];

    pub(super) fn dimension(self) -> Dimension {
        match self {
            Self::Job => Dimension::Job,
            Self::Executable => Dimension::Executable,
            Self::Library => Dimension::Library,
            Self::Function => Dimension::Function,
            Self::Phase => Dimension::Phase,
            Self::Core => Dimension::Core,
            Self::User => Dimension::User,
        }
    }

    /// The view of a dimension; `None` for those without one.
    pub(super) fn for_dimension(dimension: Dimension) -> Option<Self> {
        Self::ALL.into_iter().find(|view| view.dimension() == dimension)
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Executable => "executable",
            Self::Library => "library",
            Self::Function => "function",
            Self::Phase => "phase",
            Self::Core => "core",
            Self::User => "user",
        }
    }

    /// The key that shows it.
    pub(super) fn letter(self) -> char {
        self.word().chars().next().unwrap_or(' ')
    }

    /// The view after a choice of a row of this one.
    pub(super) fn inside(self) -> Option<Self> {
        Some(match self {
            Self::Job | Self::User | Self::Core => Self::Executable,
            Self::Executable | Self::Phase => Self::Library,
            Self::Library => Self::Function,
            Self::Function => return None,
        })
    }
}
