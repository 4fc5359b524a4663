//! Reads the notes of a program: `apps/truth/truth.h` says what stands in them.
//!
//! Owns the way from tokens to executions of loops. Notes that contradict themselves are errors, as
//! they are mistakes of the program that made them.

/// The kind of a place of the program.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// A loop.
    Loop {
        /// Its iterations are the program's steps.
        main: bool,
        /// Arguments of its calls tell its executions apart.
        by_arguments: bool,
        /// Its name.
        name: String,
    },
    /// A call of this procedure.
    Call(String),
}

/// An event at a place.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A call.
    Call(usize),
    /// An execution of a loop: its turns.
    Loop(usize, Vec<Turn>),
}

/// Events of one turn of a loop, in order.
pub(crate) type Turn = Vec<Event>;

/// The notes of a thread.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    /// By number.
    pub(crate) places: Vec<Place>,
    /// Events outside of all loops.
    pub(crate) events: Turn,
}

/// Reads a log.
pub(crate) fn read(text: &str) -> Result<Log, String> {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    if lines.next() != Some("truth 1") {
        return Err("no log of a program's structure: its first line is not `truth 1`".to_owned());
    }
    let mut places = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let (number, place) = match words[..] {
            ["loop", number, flags, name, _] => {
                let (main, by_arguments) = (flags.contains('m'), flags.contains('a'));
                (number, Place::Loop { main, by_arguments, name: name.to_owned() })
            }
            ["call", number, procedure, _] => (number, Place::Call(procedure.to_owned())),
            _ => return Err(format!("expected `loop` or `call` with its words: `{line}`")),
        };
        if number.parse() != Ok(places.len()) {
            return Err(format!("expected place {}: `{line}`", places.len()));
        }
        places.push(place);
    }
    let events = events(&places, body)?;
    Ok(Log { places, events })
}

fn events(places: &[Place], body: &str) -> Result<Turn, String> {
    // Loops that are open, with their turns so far; the first one stands for the program.
    let mut open: Vec<(usize, Vec<Turn>)> = vec![(usize::MAX, vec![Vec::new()])];
    for token in body.split_whitespace() {
        let place = |number: &str| {
            let number = number.parse::<usize>().ok().filter(|&number| number < places.len());
            number.ok_or_else(|| format!("no such place: `{token}`"))
        };
        let within = open.len() > 1;
        let Some((_, turns)) = open.last_mut() else {
            return Err("a loop is left too often".to_owned());
        };
        let add = |turns: &mut Vec<Turn>, event: Event| match turns.last_mut() {
            Some(turn) => {
                turn.push(event);
                Ok(())
            }
            None => Err(format!("something runs before the first turn: `{token}`")),
        };
        match token.as_bytes() {
            [b'/'] if within => turns.push(Vec::new()),
            [b')'] if within => {
                let (number, turns) = open.pop().unwrap_or_default();
                let Some((_, outer)) = open.last_mut() else {
                    return Err("a loop is left too often".to_owned());
                };
                add(outer, Event::Loop(number, turns))?;
            }
            [b'(', ..] => open.push((place(&token[1..])?, Vec::new())),
            _ => add(turns, Event::Call(place(token)?))?,
        }
    }
    let depth = open.len();
    match open.pop() {
        Some((_, mut turns)) if depth == 1 => Ok(turns.pop().unwrap_or_default()),
        _ => Err(format!("{} loops are not left", depth - 1)),
    }
}
