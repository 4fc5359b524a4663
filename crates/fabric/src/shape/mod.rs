//! Machines of known shapes: which routers and links they have, of any size.
//!
//! Owns the arithmetic between coordinates and routers.

pub mod torus;

pub use torus::Torus;
