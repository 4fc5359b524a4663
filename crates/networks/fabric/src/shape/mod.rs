//! Machines of known shapes: their routers and links, of any size.
//!
//! Owns the arithmetic between coordinates and routers.

pub mod dragonfly;
pub mod fat_tree;
pub mod torus;

pub use dragonfly::Dragonfly;
pub use fat_tree::FatTree;
pub use torus::Torus;
