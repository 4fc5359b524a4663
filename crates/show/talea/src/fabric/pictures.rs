//! Files of pictures and pages.
//!
//! Owns writing them. Pictures are `talea-network`'s and `talea-report`'s.

use std::path::{Path, PathBuf};

use talea_report::network::{Network as Drawn, Picture, page, svg};

use super::FabricError;

/// Files of pictures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    pub(crate) svg: Option<PathBuf>,
    pub(crate) html: Option<PathBuf>,
}

impl Files {
    /// True if anything is to be drawn.
    pub(crate) fn wanted(&self) -> bool {
        self.svg.is_some() || self.html.is_some()
    }

    /// Draws a network: the view `shown` as a picture, and a page of all views that opens with the
    /// same.
    pub(crate) fn write(&self, drawn: &Drawn<'_>, shown: &Picture) -> Result<(), FabricError> {
        let write = |path: &Path, text: String| {
            std::fs::write(path, text)
                .map_err(|source| FabricError::Write { source, path: path.to_owned() })
        };
        if let Some(path) = &self.svg {
            write(path, svg(drawn, shown))?;
        }
        if let Some(path) = &self.html {
            write(path, page(drawn, shown))?;
        }
        Ok(())
    }
}
