//! Messages by sender and receiver: from a stencil, a table, or a run.
//!
//! Owns the sources of messages, with the number of ranks and, for a run, their hosts. It refuses
//! to place ranks.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use talea_fabric::traffic::stencil::{Stencil, Weights};
use talea_fabric::traffic::{Message, Messages};
use talea_formats::table;
use talea_model::Gaps;

use crate::NetworkError;
use talea_analysis::matrix::matrix;
use talea_analysis::{Analysis, Progress};
use talea_run::load;

/// Source of messages.
#[derive(Clone, Debug)]
pub enum Sent {
    /// Messages to the neighbours of a grid.
    Stencil {
        /// Ranks on each axis, the axis of successive ranks first.
        grid: [u32; 3],
        /// Points of the stencil, 7 or 27.
        points: u8,
        /// True on axes whose first and last rank are neighbours.
        periodic: bool,
        /// Bytes across a face; where absent, faces are counted, one byte each.
        bytes: Option<u64>,
    },
    /// A run, or a table of `from`, `to` and `bytes`.
    Matrix(PathBuf),
}

/// Messages and their properties.
#[derive(Debug, Default)]
pub struct Known {
    /// Bytes and numbers of messages, by sender and receiver.
    pub messages: Messages,
    /// True if their bytes are known; else each face of a stencil counts one.
    pub sized: bool,
    /// Number of ranks.
    pub ranks: usize,
    /// The host of each rank of a run, absent for one without a record; empty where none is known.
    pub hosts: Vec<Option<String>>,
    /// Gaps.
    pub gaps: Gaps,
}

impl Sent {
    /// The messages, and the number of ranks.
    pub fn messages(&self, progress: Progress<'_>) -> Result<Known, NetworkError> {
        match self {
            Self::Stencil { grid, points, periodic, bytes } => {
                let (bytes, sized) = (bytes.unwrap_or(1), bytes.is_some());
                // Edges and corners of a cube with this many bytes a face, with eight bytes a
                // value.
                let edge = ((bytes as f64 / 8.0).sqrt() * 8.0) as u64;
                let weights = match points {
                    7 => Weights::faces(bytes),
                    // Below eight bytes an edge would have more than a face.
                    _ => Weights { face: bytes, edge: edge.min(bytes), corner: bytes.min(8) },
                };
                let stencil = Stencil { grid: *grid, periodic: [*periodic; 3], weights };
                let messages = stencil.messages()?;
                let ranks = stencil.ranks().unwrap_or(0) as usize;
                Ok(Known { messages, sized, ranks, ..Known::default() })
            }
            Self::Matrix(path) => read(path, progress),
        }
    }
}

/// The messages of a run's folder, or of a table.
pub fn read(path: &Path, progress: Progress<'_>) -> Result<Known, NetworkError> {
    if !path.is_dir() {
        return read_table(path);
    }
    let run = load::load(path)?;
    of_analysis(&Analysis::new(&run, progress))
}

/// The messages of an analysed run, with the hosts of its ranks.
pub fn of_analysis(analysis: &Analysis<'_>) -> Result<Known, NetworkError> {
    let recording = &analysis.run.recording;
    let mut messages = Messages::default();
    for (from, to, cell) in analysis.matrix.cells() {
        let (bytes, count) = (cell.bytes.0, cell.messages);
        messages.add(Message { from: from.0, to: to.0, bytes, count })?;
    }
    let ranks = messages.ranks().max(matrix(analysis).ranks as usize);
    // Ranks in the numbering of the matrix: those of a spawned world follow those of the worlds
    // before it.
    let mut hosts = vec![None; ranks];
    for (process, study) in recording.processes.iter().zip(&analysis.ranks) {
        if let Some(host) = hosts.get_mut(study.rank.0 as usize) {
            *host = Some(process.host.clone());
        }
    }
    let gaps = recording.gaps.clone();
    Ok(Known { messages, sized: true, ranks, hosts, gaps })
}

fn read_table(path: &Path) -> Result<Known, NetworkError> {
    let file =
        File::open(path).map_err(|source| NetworkError::Read { source, path: path.to_owned() })?;
    let damaged = |source| NetworkError::Table { source, path: path.to_owned() };
    let wanted = ["from", "to", "bytes"].map(str::to_owned);
    let table = table::read(BufReader::new(file), Some(&wanted)).map_err(damaged)?;
    let mut messages = Messages::default();
    for (at, row) in table.values.chunks_exact(wanted.len()).enumerate() {
        let whole = |value: f64, most: f64| value >= 0.0 && value <= most && value.fract() == 0.0;
        let ranks = f64::from(u32::MAX - 1);
        // From 2^53 on not every whole number is an `f64`.
        let bytes = 2_f64.powi(53) - 1.0;
        if !whole(row[0], ranks) || !whole(row[1], ranks) || !whole(row[2], bytes) {
            let found = format!("{}, {} and {}", row[0], row[1], row[2]);
            let found = found.chars().take(80).collect();
            return Err(NetworkError::Row { row: at as u64 + 1, found, path: path.to_owned() });
        }
        let [from, to] = [row[0] as u32, row[1] as u32];
        let message = Message { from, to, bytes: row[2] as u64, count: 1 };
        messages
            .add(message)
            .map_err(|source| NetworkError::Matrix { source, path: path.to_owned() })?;
    }
    let ranks = messages.ranks();
    Ok(Known { messages, sized: true, ranks, ..Known::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_and_corners_have_no_more_than_faces() {
        let (face, edge, corner) = (6, 12, 8);
        let expected = [
            (1, face + edge + corner),
            (7, 7 * (face + edge + corner)),
            (8, 8 * (face + edge + corner)),
            (8192, 8192 * face + 256 * edge + 8 * corner),
        ];
        for (bytes, expected) in expected {
            let sent =
                Sent::Stencil { grid: [3; 3], points: 27, periodic: false, bytes: Some(bytes) };
            let messages = sent.messages(&mut |_| ()).unwrap().messages;
            let of_the_middle = messages.iter().filter(|message| message.from == 13);
            let sum: u64 = of_the_middle.map(|message| message.bytes).sum();
            assert_eq!(sum, expected, "{bytes} bytes a face");
        }
    }
}
