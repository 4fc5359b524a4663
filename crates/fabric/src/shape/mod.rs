//! Machines of known shapes: which routers and links they have, of any size.
//!
//! Owns the arithmetic between coordinates and routers.

pub mod dragonfly;
pub mod fat_tree;
pub mod torus;

pub use dragonfly::Dragonfly;
pub use fat_tree::FatTree;
pub use torus::Torus;
