//! `talea topo`: the node, with performance values on its objects.
//!
//! Owns the views that need a terminal; what they show comes from `talea-topology`.

#[cfg_attr(not(test), expect(dead_code, reason = "no command opens the screen yet"))]
pub(crate) mod screen;
