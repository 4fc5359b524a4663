//! Plans that fall behind are given up before they have written the whole stream.
//!
//! Owns the bytes that the best plan had written at some places of the stream, and when another one has too many more.

/// Places in a stream where plans are compared.
const STATIONS: u64 = 16;

/// Bytes that the best plan so far had written at some places of the stream, to give up plans that fall behind.
#[derive(Clone, Debug, Default)]
pub(super) struct Race {
    best: Vec<usize>,
    own: Vec<usize>,
}

impl Race {
    /// Another plan is tried.
    pub(super) fn start(&mut self) {
        self.own.clear();
    }

    /// Notes `bytes` for `done` of `all` values; true if that is too much to win.
    pub(super) fn is_lost(&mut self, done: u64, all: u64, bytes: usize) -> bool {
        if self.best.last().is_some_and(|&most| bytes > most) {
            return true;
        }
        while (self.own.len() as u64 + 1) * all.div_ceil(STATIONS) <= done {
            let best = self.best.get(self.own.len());
            // What is learned at first pays later on.
            if best.is_some_and(|&best| bytes > best + best / 8 + 4) {
                return true;
            }
            self.own.push(bytes);
        }
        false
    }

    /// The plan has won with so many bytes.
    pub(super) fn finish(&mut self, bytes: usize) {
        self.own.push(bytes);
        self.best = std::mem::take(&mut self.own);
    }
}
