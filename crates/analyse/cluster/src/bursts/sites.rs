//! Ends of bursts: the calls that end them, and their places in the program.
//!
//! Owns the numbers of sites: a program has few, and a burst keeps a number only.

use std::collections::HashMap;

use super::Bursts;

/// The end of a burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site {
    /// Value of the innermost function whose call ended the burst, or whose instance it is; 0 where
    /// it is unknown.
    pub caller: i64,
    /// Value of that function's line; 0 where it is unknown.
    pub line: i64,
    /// Event type and value of the MPI call that ended the burst; zeros where none did.
    pub call: (u32, i64),
}

/// Sites, numbered as they are met.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    all: Vec<Site>,
    numbers: HashMap<Site, u32>,
}

impl Sites {
    /// The number of a site.
    pub fn number(&mut self, site: Site) -> u32 {
        *self.numbers.entry(site).or_insert_with(|| {
            self.all.push(site);
            self.all.len() as u32 - 1
        })
    }

    /// A site by its number.
    ///
    /// # Panics
    /// If no site has this number.
    pub fn get(&self, number: u32) -> Site {
        self.all[number as usize]
    }

    /// All sites, by their numbers.
    pub fn into_all(self) -> Vec<Site> {
        self.all
    }
}

impl Bursts {
    /// The end of a burst; that of a table is unknown.
    pub fn site(&self, burst: usize) -> Site {
        let number = self.site.get(burst);
        number.and_then(|&number| self.sites.get(number as usize)).copied().unwrap_or_default()
    }
}
