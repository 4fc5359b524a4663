//! SVG to PNG, by the browser that is installed.
//!
//! Owns the call of headless chromium. It gets a folder of its own, so that it neither reads nor
//! changes the user's settings.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names of the browser's program.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Errors of drawing a PNG.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PngError {
    /// No browser.
    #[error(
        "--png needs chromium in PATH (`apt-get install chromium`), found none; --svg needs nothing"
    )]
    NoBrowser,
    /// It failed.
    #[error("chromium wrote no picture{0}")]
    Failed(String),
    /// Files.
    #[error("cannot write: {source}: `{}`", path.display())]
    Write {
        /// Error of the system.
        source: std::io::Error,
        /// The file.
        path: PathBuf,
    },
}

/// Draws a picture, in its own size, into a file.
pub(super) fn write(svg: &str, path: &Path) -> Result<(), PngError> {
    let failed = |source| PngError::Write { source, path: path.to_owned() };
    let folder = tempfile::tempdir().map_err(failed)?;
    let source = folder.path().join("node.svg");
    let drawn = folder.path().join("node.png");
    std::fs::write(&source, svg).map_err(failed)?;
    let (width, height) = size(svg);
    for name in NAMES {
        let output = Command::new(name)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .arg("--hide-scrollbars")
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .arg(format!("--screenshot={}", drawn.display()))
            .arg(format!("--window-size={width},{height}"))
            .arg(&source)
            .stdin(Stdio::null())
            .output();
        match output {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(PngError::Failed(format!(": {error}"))),
            Ok(output) if !drawn.is_file() => {
                let said = String::from_utf8_lossy(&output.stderr);
                let last = said.lines().last().unwrap_or_default();
                return Err(PngError::Failed(format!(": {}", crate::terminal::clean(last, 200))));
            }
            Ok(_) => return std::fs::copy(&drawn, path).map(drop).map_err(failed),
        }
    }
    Err(PngError::NoBrowser)
}

/// Width and height in the document.
fn size(svg: &str) -> (u32, u32) {
    let side = |name: &str| {
        let text = svg.split_once(&format!(" {name}=\""))?.1.split_once('"')?.0;
        text.parse::<f64>().ok().map(|side| side.ceil() as u32)
    };
    (side("width").unwrap_or(1600), side("height").unwrap_or(1000))
}
