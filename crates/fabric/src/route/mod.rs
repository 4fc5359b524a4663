//! Ways: which links a message takes from a router to another one.
//!
//! Owns the static rules of each shape; the same ends give the same way each time. Where hosts of one router are reached by different ways (fat trees, spreading on a dragonfly)
//! a small number, the choice, tells them apart, so that callers may sum traffic by pairs of routers first. It refuses to look at load: adaptive routing is not modelled.

mod dimensions;
mod dragonfly;
mod mix;
mod roots;
mod tree;
mod up_down;

pub use dimensions::Dimensions;
pub use dragonfly::{Detour, Dragonflies};
pub use tree::DModK;
pub use up_down::{MOST_ROUTERS, UpDown};

pub(crate) use mix::{Random, mix};
pub(crate) use roots::parts;

use crate::machine::{LinkId, PortId, RouterId};

/// There is no way that the rule allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no way from router {} to router {}, expected links that the routing can follow", from.0, to.0)]
pub struct NoWay {
    /// Where it would begin.
    pub from: RouterId,
    /// Where it would end.
    pub to: RouterId,
}

/// A rule that gives the way of each message.
pub trait Routing: Sync {
    /// As people call it.
    fn name(&self) -> &'static str;

    /// Adds the links of the way to `links`, the first one first; none where both ends are the same router. `choice` is that of the host it leads to.
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

    /// How many ways may lead from a router to another one; at least one.
    fn choices(&self) -> u32 {
        1
    }

    /// Which of them leads to this port of a host; below [`Routing::choices`].
    fn choice(&self, _to: PortId) -> u32 {
        0
    }

    /// Names of the dimensions that loads are summed by, such as `X`, or `up` and `down`.
    fn dimensions(&self) -> Vec<String>;

    /// The place of a link's dimension among them.
    fn dimension(&self, link: LinkId) -> usize;
}

/// Undoes what was added and says that there is no way.
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
    //! What is slow and plainly right.

    use super::*;
    use crate::machine::Fabric;

    /// Hops from a router to all others, by breadth.
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

    /// The way, checked: it begins and ends right, each link begins where the one before it ends, and no router is passed twice.
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
