//! Nested loops of machine code inside a loop that seems to be one.
//!
//! Owns the conversion from `LOOP n*k { X; O [k-1,..,k,1] }` to `LOOP n { LOOP k { X }; O }`, where
//! the code has a loop around X that does not contain O ([`super::evidence`]). Other calls of X's
//! loop may run on some of its turns; O has a guard of one regular part.

use super::evidence::{Code, Evidence, depth};
use super::expand::{Iteration, holds};
use super::recount::{LOOKED_AT, has_guards_inside, new_guard, recount};
use super::{Guard, Kind, Tree};
use crate::labels::{Part, Partition};
use crate::runs::Runs;

/// Maximum number of executions with a shorter last turn that are listed one by one.
const LISTED: u64 = 1 << 20;

/// Nests the loops of `tree` by the rule of the module.
pub(super) fn nest(tree: &mut Tree, code: &Code<'_>) {
    for child in &mut tree.children {
        nest(child, code);
    }
    if let Some((parts, turns)) = inner_loop(tree, code)
        && let Some(nested) = nested(tree, &parts, turns)
    {
        *tree = nested;
    }
}

/// The role of a part of a body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It runs on the first of every so many iterations, up to this one.
    Before(u64),
    Inside,
    /// It runs on the last of every so many, up to this one.
    Behind(u64),
}

/// The role of each part of the body, and the number of turns of an execution of the inner loop.
fn inner_loop(tree: &Tree, code: &Code<'_>) -> Option<(Vec<Role>, u64)> {
    if !matches!(tree.kind, Kind::Loop { .. }) {
        return None;
    }
    let always: Vec<&Tree> = tree.children.iter().filter(|child| child.guard.is_none()).collect();
    let own: Vec<_> = always.iter().flat_map(|child| child.nodes()).collect();
    let loops = 1 + if let [only] = always[..] { depth(only) } else { 0 };
    let mut turns = None;
    let mut role = |child: &Tree| {
        let Some(guard) = &child.guard else { return Some(Role::Inside) };
        let nodes = child.nodes();
        if code.evidence(&own, &nodes, loops) == Evidence::Shared {
            return Some(Role::Inside);
        }
        let is_own = |&node| code.evidence(&own, &[node], loops) == Evidence::Own;
        if has_guards_inside(child) || !nodes.iter().all(is_own) {
            return None;
        }
        let Part { first, last, stride, .. } = regular(guard)?;
        if *turns.get_or_insert(stride) != stride {
            return None;
        }
        match first {
            0 => Some(Role::Before(last)),
            _ if first + 1 == stride => Some(Role::Behind(last)),
            _ => None,
        }
    };
    let roles: Vec<Role> = tree.children.iter().map(&mut role).collect::<Option<_>>()?;
    let order = |role: &Role| match role {
        Role::Before(_) => 0,
        Role::Inside => 1,
        Role::Behind(_) => 2,
    };
    roles.is_sorted_by_key(order).then_some((roles, turns?))
}

/// One iteration of every so many.
fn regular(guard: &Guard) -> Option<Part> {
    let Guard::Each { iterations } = guard else { return None };
    match iterations.parts() {
        &[part] if part.stride > 1 && part.block == 1 => Some(part),
        _ => None,
    }
}

/// `tree` with its inner parts in a loop of `turns`.
fn nested(tree: &Tree, roles: &[Role], turns: u64) -> Option<Tree> {
    let Kind::Loop { trips } = &tree.kind else { return None };
    let [(length, times)] = *trips.runs() else { return None };
    let (whole, rest) = (length / turns, length % turns);
    let outer = length.div_ceil(turns);
    let mut inner = Runs::new();
    if rest == 0 {
        inner.push(turns, whole.checked_mul(times)?);
    } else {
        for _ in 0..Some(times).filter(|&times| times <= LISTED)? {
            inner.push(turns, whole);
            inner.push(rest, 1);
        }
    }
    let executions = outer.checked_mul(times)?;
    let guarded = tree.children.iter().zip(roles).any(|(child, role)| {
        *role == Role::Inside && (child.guard.is_some() || has_guards_inside(child))
    });
    if guarded && length.saturating_mul(times) > LOOKED_AT as u64 {
        return None;
    }
    let lengths: Vec<u64> = if guarded { inner.values().collect() } else { Vec::new() };
    let inside_guard = |guard: &Guard| {
        let turn = |at: u64| {
            let (execution, number) = (at / length, at % length);
            let place = (execution * outer + number / turns) as usize;
            (place, number % turns, Iteration { number, of: length, in_all: at })
        };
        let all = (0..length * times).map(turn);
        let runs = all.filter(|&(_, _, at)| holds(guard, at));
        new_guard(&lengths, runs.map(|(execution, number, _)| (execution, number)))
    };
    let until = |last: u64| {
        let iterations = last / turns + 1;
        let iterations = (iterations < outer).then(|| Partition::from_intervals([(0, iterations)]));
        iterations.map(|iterations| Guard::Each { iterations })
    };
    let (mut before, mut inside, mut behind) = (Vec::new(), Vec::new(), Vec::new());
    for (child, role) in tree.children.iter().zip(roles) {
        let mut child = child.clone();
        match *role {
            Role::Inside => {
                recount(&mut child, &inside_guard);
                inside.push(child);
            }
            Role::Before(last) => {
                child.guard = until(last);
                before.push(child);
            }
            Role::Behind(last) => {
                child.guard = until(last);
                behind.push(child);
            }
        }
    }
    let mut children = before;
    children.push(Tree::new(Kind::Loop { trips: inner }, executions, inside));
    children.extend(behind);
    let mut trips = Runs::new();
    trips.push(outer, times);
    Some(Tree { kind: Kind::Loop { trips }, children, ..tree.clone() })
}
