//! State of an entry of an array of requests.
//!
//! Owns its form, one word, and the age that it stands for.

use talea_model::args::age;

use crate::process::requests::Request;

/// State of an entry, in one word: a kind, two flags, and numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry(u64);

impl Entry {
    pub(super) const NULL: Self = Self(0);
    pub(super) const UNKNOWN: Self = Self(1);
    const OWN: u64 = 2;
    const FOREIGN: u64 = 3;
    const WILD: u64 = 4;
    const PERSISTENT: u64 = 8;

    #[inline]
    pub(super) fn new(request: Option<Request>, thread: u32) -> Self {
        let Some(request) = request else { return Self::UNKNOWN };
        let flags = (u64::from(request.wild) * Self::WILD)
            | (u64::from(request.persistent) * Self::PERSISTENT);
        Self(
            flags
                | if request.thread == thread {
                    Self::OWN | request.number << 4
                } else {
                    Self::FOREIGN | u64::from(request.thread & 0xff) << 4 | request.number << 12
                },
        )
    }

    /// The age when the thread has created no request; true where it grows with each one created.
    #[inline]
    pub(super) fn value(self) -> (i64, bool) {
        match self.0 & 3 {
            Self::OWN => (-1 - (self.0 >> 4) as i64, true),
            Self::FOREIGN => (age::foreign(self.0 >> 12, (self.0 >> 4) as u32 & 0xff), false),
            1 => (age::UNKNOWN, false),
            _ => (age::NULL, false),
        }
    }

    #[inline]
    pub(super) fn age(self, made: u64) -> i64 {
        let (value, own) = self.value();
        if own { value + made as i64 } else { value }
    }

    #[inline]
    pub(super) const fn is_known(self) -> bool {
        self.0 & 2 != 0
    }

    #[inline]
    pub(super) const fn is_wild(self) -> bool {
        self.0 & Self::WILD != 0
    }

    #[inline]
    pub(super) const fn is_persistent(self) -> bool {
        self.0 & Self::PERSISTENT != 0
    }
}
