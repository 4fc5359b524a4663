//! From a program's notes to its canonical tree. These rules are the definition of truth:
//!
//! 1. A turn without calls cannot be seen and does not count; a loop without turns is not there.
//! 2. A loop in none of whose executions anything runs in two turns repeats nothing: it dissolves
//!    into what is around it. Loops that always turn once are the usual case.
//! 3. A loop whose body is nothing but one loop, on every turn, is one loop with all their turns,
//!    unless the arguments of calls tell the executions of the inner one apart, which the program
//!    says.
//! 4. Executions of one loop in one context are one node, and so are calls at one place.
//! 5. The order is that of the program: what runs before something else in any turn stands before
//!    it.
//!
//! Guards are those of [`super::guards`], on the iterations that count.

use std::collections::HashMap;

use super::Item;
use super::guards::guard;
use super::log::{Event, Log, Place, Turn};

/// A place, and the loops around it that dissolved.
type Key = Vec<usize>;

/// The calls and loops of a turn.
#[derive(Clone, Debug)]
struct Part {
    key: Key,
    /// The turns of a loop; none of a call.
    turns: Option<Vec<Vec<Part>>>,
}

/// The canonical tree of a log.
pub(crate) fn tree(log: &Log) -> Result<Vec<Item>, String> {
    let mut executions = vec![vec![visible(&log.events)]];
    body(log, &mut executions)
}

/// A turn without what cannot be seen.
fn visible(turn: &Turn) -> Vec<Part> {
    let part = |event: &Event| match event {
        Event::Call(place) => Some(Part { key: vec![*place], turns: None }),
        Event::Loop(place, turns) => {
            let turns: Vec<_> = turns.iter().map(visible).filter(|turn| !turn.is_empty()).collect();
            (!turns.is_empty()).then(|| Part { key: vec![*place], turns: Some(turns) })
        }
    };
    turn.iter().filter_map(part).collect()
}

/// The items of a loop's body, which ran in the turns of `executions`.
fn body(log: &Log, executions: &mut [Vec<Vec<Part>>]) -> Result<Vec<Item>, String> {
    while let Some(key) = repeats_nothing(executions) {
        dissolve(executions, &key);
    }
    let lengths: Vec<u64> = executions.iter().map(|turns| turns.len() as u64).collect();
    order(log, executions)?
        .into_iter()
        .map(|key| {
            let mut on = vec![Vec::new(); executions.len()];
            let mut inner = Vec::new();
            for (turns, on) in executions.iter_mut().zip(&mut on) {
                for (at, turn) in turns.iter_mut().enumerate() {
                    let mut same = turn.iter_mut().filter(|part| part.key == key);
                    if let Some(part) = same.next() {
                        on.push(at as u64);
                        inner.extend(part.turns.take());
                    }
                    if same.next().is_some() {
                        return Err(format!("{} runs twice in a turn", name(log, &key)));
                    }
                }
            }
            item(log, &key, guard(&lengths, &on), inner)
        })
        .collect()
}

fn item(
    log: &Log,
    key: &Key,
    guard: String,
    mut executions: Vec<Vec<Vec<Part>>>,
) -> Result<Item, String> {
    let mut main = match place(log, key) {
        Place::Call(procedure) => return Ok(Item::Call { procedure: procedure.clone(), guard }),
        Place::Loop { main, .. } => *main,
    };
    // Loops that repeat nothing dissolve first; only then is it clear whether one loop is left.
    while let Some(key) = repeats_nothing(&executions) {
        dissolve(&mut executions, &key);
    }
    while let Some(only) = only_loop(log, &executions) {
        main |= matches!(place(log, &only), Place::Loop { main: true, .. });
        for turns in &mut executions {
            *turns =
                turns.drain(..).flatten().flat_map(|part| part.turns.unwrap_or_default()).collect();
        }
        while let Some(key) = repeats_nothing(&executions) {
            dissolve(&mut executions, &key);
        }
    }
    let lengths = || executions.iter().map(|turns| turns.len() as u64);
    let trips = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
    let iterations = Some(lengths().sum());
    Ok(Item::Loop { trips, iterations, main, guard, body: body(log, &mut executions)? })
}

fn place<'a>(log: &'a Log, key: &Key) -> &'a Place {
    &log.places[key[key.len() - 1]]
}

fn name(log: &Log, key: &Key) -> String {
    match place(log, key) {
        Place::Loop { name, .. } => format!("loop `{name}`"),
        Place::Call(procedure) => procedure.clone(),
    }
}

/// A loop that can dissolve (rule 2).
fn repeats_nothing(executions: &[Vec<Vec<Part>>]) -> Option<Key> {
    let mut repeats: Vec<(&Key, bool)> = Vec::new();
    for part in executions.iter().flatten().flatten() {
        let Some(turns) = &part.turns else { continue };
        let known = repeats.iter().position(|(key, _)| **key == part.key);
        let known = known.unwrap_or_else(|| {
            repeats.push((&part.key, false));
            repeats.len() - 1
        });
        if repeats[known].1 {
            continue;
        }
        let mut turn_of: HashMap<&Key, usize> = HashMap::new();
        repeats[known].1 = turns.iter().enumerate().any(|(at, turn)| {
            turn.iter().any(|part| *turn_of.entry(&part.key).or_insert(at) != at)
        });
    }
    repeats.into_iter().find(|(_, repeats)| !repeats).map(|(key, _)| key.clone())
}

fn dissolve(executions: &mut [Vec<Vec<Part>>], key: &Key) {
    for turn in executions.iter_mut().flatten() {
        let parts = std::mem::take(turn);
        for part in parts {
            match part.turns {
                Some(turns) if part.key == *key => {
                    for mut inner in turns.into_iter().flatten() {
                        inner.key.splice(0..0, key.iter().copied());
                        turn.push(inner);
                    }
                }
                turns => turn.push(Part { turns, ..part }),
            }
        }
    }
}

/// The loop that every turn consists of (rule 3).
fn only_loop(log: &Log, executions: &[Vec<Vec<Part>>]) -> Option<Key> {
    let first = executions.first()?.first()?.first()?.key.clone();
    let Place::Loop { by_arguments: false, .. } = place(log, &first) else { return None };
    let only = executions.iter().flatten().all(|turn| turn.len() == 1 && turn[0].key == first);
    only.then_some(first)
}

/// All keys in the order of the program (rule 5); of what is free, what ran first.
fn order(log: &Log, executions: &[Vec<Vec<Part>>]) -> Result<Vec<Key>, String> {
    let mut keys: Vec<&Key> = Vec::new();
    let mut number: HashMap<&Key, usize> = HashMap::new();
    let mut after: Vec<Vec<usize>> = Vec::new();
    for turn in executions.iter().flatten() {
        let mut before: Option<usize> = None;
        for part in turn {
            let next = *number.entry(&part.key).or_insert_with(|| {
                keys.push(&part.key);
                after.push(Vec::new());
                keys.len() - 1
            });
            if let Some(before) = before
                && !after[before].contains(&next)
            {
                after[before].push(next);
            }
            before = Some(next);
        }
    }
    let mut waits = vec![0_usize; keys.len()];
    after.iter().flatten().for_each(|&next| waits[next] += 1);
    let mut ordered = Vec::new();
    let mut placed = vec![false; keys.len()];
    while ordered.len() < keys.len() {
        let Some(next) = (0..keys.len()).find(|&at| !placed[at] && waits[at] == 0) else {
            let some = (0..keys.len()).find(|&at| !placed[at]).unwrap_or(0);
            return Err(format!("{} has no place in the order", name(log, keys[some])));
        };
        placed[next] = true;
        after[next].iter().for_each(|&other| waits[other] -= 1);
        ordered.push(keys[next].clone());
    }
    Ok(ordered)
}
