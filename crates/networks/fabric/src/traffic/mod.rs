//! Loads of messages between ranks on links: bytes by sender and receiver, their packets, and sums
//! for each link.
//!
//! Owns the list of messages and its sums by pairs of routers, from which everything else is made.
//! It refuses to know the source of messages: a stencil, a matrix of a run and a file fill the same
//! columns.

mod loads;
mod pairs;
pub mod protocol;
pub mod stencil;

pub use loads::{Loads, Shown};
pub use pairs::{Pair, Pairs};
pub use protocol::{Cost, Load, Protocol};
pub use stencil::Stencil;

/// Maximum number of messages; each is 24 bytes.
pub const MOST_MESSAGES: usize = 1 << 24;

/// Maximum number of ranks: tables have an entry for each up to the largest.
pub const MOST_RANKS: usize = 1 << 24;

/// Errors of messages or of the places of their ranks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrafficError {
    /// A rank without a place.
    #[error(
        "messages of rank {rank}, expected ranks below {ranks}, which are all that have a place"
    )]
    Rank {
        /// The rank.
        rank: u32,
        /// Number of ranks with a place.
        ranks: usize,
    },
    /// A rank beyond the maximum.
    #[error("rank {rank} in messages, expected ranks below {most}")]
    Number {
        /// The rank.
        rank: u32,
        /// The maximum number of ranks.
        most: usize,
    },
    /// An unknown host.
    #[error("host {host} of a placement, expected one of {hosts} of the fabric")]
    Host {
        /// Its number.
        host: u32,
        /// Number of hosts.
        hosts: usize,
    },
    /// Too many messages.
    #[error("more than {most} messages, expected fewer")]
    TooMany {
        /// The maximum.
        most: usize,
    },
    /// No route between two routers.
    #[error(transparent)]
    NoWay(#[from] crate::route::NoWay),
}

/// Bytes by sender and receiver, as columns; a pair of ranks may occur more than once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    from: Vec<u32>,
    to: Vec<u32>,
    bytes: Vec<u64>,
    count: Vec<u64>,
}

/// All messages from a rank to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The sending rank.
    pub from: u32,
    /// The receiving rank.
    pub to: u32,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Number of messages.
    pub count: u64,
}

impl Messages {
    /// Adds messages. Those of a rank to itself and entries without messages do not use a network
    /// and are left out.
    ///
    /// # Errors
    /// More than [`MOST_MESSAGES`], or a rank of [`MOST_RANKS`] or more.
    pub fn add(&mut self, message: Message) -> Result<(), TrafficError> {
        if message.from == message.to || message.count == 0 {
            return Ok(());
        }
        let rank = message.from.max(message.to);
        if rank as usize >= MOST_RANKS {
            return Err(TrafficError::Number { rank, most: MOST_RANKS });
        }
        if self.from.len() >= MOST_MESSAGES {
            return Err(TrafficError::TooMany { most: MOST_MESSAGES });
        }
        self.from.push(message.from);
        self.to.push(message.to);
        self.bytes.push(message.bytes);
        self.count.push(message.count);
        Ok(())
    }

    /// Reserves room for this many more, up to the maximum.
    pub fn reserve(&mut self, more: usize) {
        let more = more.min(MOST_MESSAGES);
        self.from.reserve_exact(more);
        self.to.reserve_exact(more);
        self.bytes.reserve_exact(more);
        self.count.reserve_exact(more);
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.from.len()
    }

    /// True without entries.
    pub fn is_empty(&self) -> bool {
        self.from.is_empty()
    }

    /// An entry by its place.
    pub fn get(&self, at: usize) -> Option<Message> {
        Some(Message {
            from: *self.from.get(at)?,
            to: *self.to.get(at)?,
            bytes: *self.bytes.get(at)?,
            count: *self.count.get(at)?,
        })
    }

    /// All of them, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Message> + '_ {
        let columns = self.from.iter().zip(&self.to).zip(&self.bytes).zip(&self.count);
        columns.map(|(((&from, &to), &bytes), &count)| Message { from, to, bytes, count })
    }

    /// One more than the largest rank.
    pub fn ranks(&self) -> usize {
        let largest = self.from.iter().chain(&self.to).max();
        largest.map_or(0, |&largest| largest as usize + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_bounded() {
        let mut messages = Messages::default();
        let mut add = |from, to| messages.add(Message { from, to, bytes: 1, count: 1 });
        assert_eq!(add(0, (1 << 24) - 1), Ok(()));
        let error = add(u32::MAX, 0).unwrap_err();
        assert_eq!(error.to_string(), "rank 4294967295 in messages, expected ranks below 16777216");
        assert_eq!(messages.ranks(), 1 << 24);
    }
}
