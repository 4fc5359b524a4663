//! The two programs on a terminal: the live map of a node (`talea topo`) and the use of its cores
//! (`talea top`).
//!
//! Owns their loops, keys and layouts, and the terminal while one of them uses it. Frames of values
//! come in through [`map::Feed`], shares of time through [`top::Source`]; cells of a terminal go
//! out. What both need exists once: keys, footer and page of keys (`keys`), cells (`pen`), colours,
//! [`glyphs`]. It refuses the command line, exit codes, and standard output but for cells; callers
//! open samplers, stores and recordings.

mod colour;
pub mod glyphs;
mod keys;
pub mod map;
mod pen;
mod terminal;
#[cfg(feature = "top")]
pub mod top;

pub use colour::colours_allowed;
pub use terminal::ScreenError;
