//! The programs on a terminal: the live map of a node (`talea topo`), the use of its cores (`talea
//! top`), and a running program (`talea watch`).
//!
//! Owns their loops, keys and layouts, and the terminal while one of them uses it. Frames of values
//! come in through [`map::Feed`], shares of time through [`top::Source`], looks at a run through a
//! function; cells of a terminal go out. Common parts exist once: keys, footer and page of keys
//! (`keys`), cells (`pen`), colours, [`glyphs`]. It refuses the command line, exit codes, and
//! standard output but for cells; callers open samplers, stores and recordings.

mod colour;
pub mod glyphs;
mod keys;
pub mod map;
mod pen;
mod terminal;
#[cfg(feature = "top")]
pub mod top;
pub mod watch;

pub use colour::colours_allowed;
pub use terminal::ScreenError;
