//! Routes: the links of a message from a router to another one.
//!
//! Owns the static rules of each shape; the same ends always have the same route. Where hosts of
//! one router have different routes (fat trees, spreading on a dragonfly) a small number, the
//! choice, distinguishes them, so that callers may sum traffic by pairs of routers first. It
//! refuses to look at load: adaptive routing is not modelled.

mod dimensions;
mod dragonfly;
mod roots;
mod tree;
mod up_down;

pub use dimensions::Dimensions;
pub use dragonfly::{Detour, Dragonflies};
pub use tree::DModK;
pub use up_down::{MOST_ROUTERS, UpDown};

pub(crate) use roots::parts;
pub(crate) use talea_model::random::{Random, mix};

use crate::machine::{LinkId, PortId, RouterId};

/// The rule allows no route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no way from router {} to router {}, expected links that the routing can follow",
    from.0,
    to.0
)]
pub struct NoWay {
    /// Its beginning.
    pub from: RouterId,
    /// Its end.
    pub to: RouterId,
}

/// A rule for the route of each message.
pub trait Routing: Sync {
    /// Its usual name.
    fn name(&self) -> &'static str;

    /// Adds the links of the route to `links`, the first one first; none where both ends are the
    /// same router. `choice` is that of the destination host.
    ///
    /// # Errors
    /// Links that the rule needs are missing; `links` is then as before.
    fn way(
        &self,
        from: RouterId,
        to: RouterId,
        choice: u32,
        links: &mut Vec<LinkId>,
    ) -> Result<(), NoWay>;

    /// Number of routes from a router to another one; at least one.
    fn choices(&self) -> u32 {
        1
    }

    /// The route to this port of a host; below [`Routing::choices`].
    fn choice(&self, _to: PortId) -> u32 {
        0
    }

    /// Names of the dimensions by which loads are summed, such as `X`, or `up` and `down`.
    fn dimensions(&self) -> Vec<String>;

    /// The place of a link's dimension among them.
    fn dimension(&self, link: LinkId) -> usize;
}

/// Removes the added links and returns the error of a missing route.
fn no_way(
    from: RouterId,
    to: RouterId,
    begin: usize,
    links: &mut Vec<LinkId>,
) -> Result<(), NoWay> {
    links.truncate(begin);
    Err(NoWay { from, to })
}

#[cfg(test)]
pub(crate) mod oracle {
    //! Slow and plainly correct references.

    use super::*;
    use crate::machine::Fabric;

    /// Hops from a router to all others, by breadth-first search.
    pub(crate) fn hops(fabric: &Fabric, from: RouterId) -> Vec<Option<usize>> {
        let mut hops = vec![None; fabric.routers().len()];
        hops[from.at()] = Some(0);
        let mut seen = vec![from];
        let mut at = 0;
        while let Some(&router) = seen.get(at) {
            at += 1;
            for link in fabric.from(router).1 {
                if hops[link.to.at()].is_none() {
                    hops[link.to.at()] = hops[router.at()].map(|hops| hops + 1);
                    seen.push(link.to);
                }
            }
        }
        hops
    }

    /// The route, checked: it has the right ends, each link begins where the one before it ends,
    /// and no router is passed twice.
    pub(crate) fn way(
        fabric: &Fabric,
        routing: &dyn Routing,
        ends: (RouterId, RouterId),
        choice: u32,
    ) -> Vec<RouterId> {
        let mut links = vec![LinkId(7)];
        routing.way(ends.0, ends.1, choice, &mut links).unwrap();
        assert_eq!(links.remove(0), LinkId(7), "what was there before stays");
        let mut passed = vec![ends.0];
        for link in links {
            assert!(routing.dimension(link) < routing.dimensions().len());
            let link = &fabric.links()[link.at()];
            assert_eq!(Some(&link.from), passed.last());
            passed.push(link.to);
        }
        assert_eq!(passed.last(), Some(&ends.1));
        let mut once = passed.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), passed.len(), "{passed:?}");
        passed
    }
}
