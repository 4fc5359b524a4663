//! Names and colours that a source gives to event types, their values and states.
//!
//! Owns look-ups. Several types may share one set of values, as levels of a call stack do. Sections
//! that a reader does not understand stay as they are. Where a source says a thing twice the first
//! counts, and its reader notes a gap if the second differs.

use std::collections::BTreeMap;

/// An event type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventType {
    /// The number that events have.
    pub number: u32,
    /// Number of the gradient that it is drawn with.
    pub gradient: u32,
    /// Its name.
    pub label: String,
    /// Digits behind the point that its values are shown with, where the source says it.
    pub precision: Option<u32>,
    /// Index of its named values in [`Labels::value_sets`]; absent where values are plain numbers.
    pub values: Option<u32>,
}

/// Named values, in the order of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueSet {
    entries: Vec<(i64, String)>,
    places: BTreeMap<i64, u32>,
}

impl ValueSet {
    /// Names a value. What has a name already keeps it, and the name is given back.
    pub fn push(&mut self, value: i64, label: String) -> Option<&str> {
        use std::collections::btree_map::Entry;
        match self.places.entry(value) {
            Entry::Vacant(free) => {
                free.insert(self.entries.len() as u32);
                self.entries.push((value, label));
                None
            }
            Entry::Occupied(taken) => {
                self.entries.get(*taken.get() as usize).map(|(_, label)| label.as_str())
            }
        }
    }

    /// The name of a value.
    pub fn get(&self, value: i64) -> Option<&str> {
        let place = *self.places.get(&value)?;
        self.entries.get(place as usize).map(|(_, label)| label.as_str())
    }

    /// All values with their names, in the order of the source.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (i64, &str)> {
        self.entries.iter().map(|(value, label)| (*value, label.as_str()))
    }

    /// Number of named values.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// A state that threads can be in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateLabel {
    /// The number that records have.
    pub number: u32,
    /// Its name, where the source gives one.
    pub name: Option<String>,
    /// Red, green and blue, where the source gives them.
    pub colour: Option<[u8; 3]>,
}

/// A step of the colours that values are drawn with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gradient {
    /// Its number.
    pub number: u32,
    /// Its name, where the source gives one.
    pub name: Option<String>,
    /// Red, green and blue, where the source gives them.
    pub colour: Option<[u8; 3]>,
}

/// A section that is kept as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawSection {
    /// Its first line.
    pub title: String,
    /// Its other lines without blank ones.
    pub lines: Vec<String>,
}

/// All labels of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// Event types in the order of the source.
    pub event_types: Vec<EventType>,
    /// Target of [`EventType::values`].
    pub value_sets: Vec<ValueSet>,
    /// States in the order of the source.
    pub states: Vec<StateLabel>,
    /// Gradients in the order of the source.
    pub gradients: Vec<Gradient>,
    /// Options of the viewer, key and value.
    pub options: Vec<(String, String)>,
    /// How the viewer computes what it draws, key and value.
    pub semantic: Vec<(String, String)>,
    /// Sections that are not understood.
    pub raw: Vec<RawSection>,
}

impl Labels {
    /// An event type by its number.
    pub fn event_type(&self, number: u32) -> Option<&EventType> {
        self.event_types.iter().find(|one| one.number == number)
    }

    /// The named values of an event type.
    pub fn values(&self, event_type: u32) -> Option<&ValueSet> {
        self.value_sets.get(self.event_type(event_type)?.values? as usize)
    }

    /// The name of a value of an event type. For many values of one type, ask [`Labels::values`]
    /// once.
    pub fn value(&self, event_type: u32, value: i64) -> Option<&str> {
        self.values(event_type)?.get(value)
    }

    /// The name of a state.
    pub fn state(&self, number: u32) -> Option<&str> {
        self.states.iter().find(|one| one.number == number)?.name.as_deref()
    }
}
