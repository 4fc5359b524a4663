//! Lines of a source that are kept as they are, and where they stood.
//!
//! Owns their bytes in one piece: a file may have as many of them as records.

/// Kept lines in the order of the source. Bytes need not be UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    text: Vec<u8>,
    /// One past the last byte of each line.
    ends: Vec<u64>,
    /// How many records stand before each line.
    after: Vec<u64>,
}

impl Lines {
    /// Adds a line that stands after `after` records; no less than that of the line before.
    pub fn push(&mut self, after: u64, text: &[u8]) {
        self.text.extend_from_slice(text);
        self.ends.push(self.text.len() as u64);
        self.after.push(after.max(self.after.last().copied().unwrap_or_default()));
    }

    /// Number of lines.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without lines.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Each line with the number of records before it.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> + '_ {
        let begins = std::iter::once(&0).chain(&self.ends);
        let texts = begins
            .zip(&self.ends)
            .map(|(&begin, &end)| self.text.get(begin as usize..end as usize).unwrap_or_default());
        self.after.iter().copied().zip(texts)
    }
}
