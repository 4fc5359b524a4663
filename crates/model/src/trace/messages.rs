//! The columns of messages between threads, and their rows.
//!
//! Owns pushing, reading and checking of rows, as [`super::States`] does for states.

use super::Shape;
use super::columns::same_length;

/// Messages from thread to thread, one a row. Logical is when the program called, physical when
/// data moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// Location that sends.
    pub sender: Vec<u32>,
    /// Its CPU, from 1; 0: not known.
    pub sender_cpu: Vec<u32>,
    /// Nanoseconds.
    pub logical_send: Vec<u64>,
    /// Nanoseconds.
    pub physical_send: Vec<u64>,
    /// Location that receives.
    pub receiver: Vec<u32>,
    /// Its CPU, from 1; 0: not known.
    pub receiver_cpu: Vec<u32>,
    /// Nanoseconds; [`super::UNKNOWN_TIME`] where the source does not say it.
    pub logical_receive: Vec<u64>,
    /// Nanoseconds; [`super::UNKNOWN_TIME`] where the source does not say it.
    pub physical_receive: Vec<u64>,
    /// Bytes as the source writes them; negative where it wrote more than it has bits for.
    pub size: Vec<i64>,
    /// Tag as the source writes it.
    pub tag: Vec<i64>,
}

/// One row of [`Messages`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as the columns of the same names")]
pub struct MessageRecord {
    pub sender: u32,
    pub sender_cpu: u32,
    pub logical_send: u64,
    pub physical_send: u64,
    pub receiver: u32,
    pub receiver_cpu: u32,
    pub logical_receive: u64,
    pub physical_receive: u64,
    pub size: i64,
    pub tag: i64,
}

impl Messages {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.sender.len()
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.sender.is_empty()
    }

    /// Adds a row. Use [`super::Trace::push_message`] where the order is kept too.
    #[inline]
    pub fn push(&mut self, row: MessageRecord) {
        self.sender.push(row.sender);
        self.sender_cpu.push(row.sender_cpu);
        self.logical_send.push(row.logical_send);
        self.physical_send.push(row.physical_send);
        self.receiver.push(row.receiver);
        self.receiver_cpu.push(row.receiver_cpu);
        self.logical_receive.push(row.logical_receive);
        self.physical_receive.push(row.physical_receive);
        self.size.push(row.size);
        self.tag.push(row.tag);
    }

    /// A row; absent behind the last.
    pub fn get(&self, row: usize) -> Option<MessageRecord> {
        Some(MessageRecord {
            sender: *self.sender.get(row)?,
            sender_cpu: *self.sender_cpu.get(row)?,
            logical_send: *self.logical_send.get(row)?,
            physical_send: *self.physical_send.get(row)?,
            receiver: *self.receiver.get(row)?,
            receiver_cpu: *self.receiver_cpu.get(row)?,
            logical_receive: *self.logical_receive.get(row)?,
            physical_receive: *self.physical_receive.get(row)?,
            size: *self.size.get(row)?,
            tag: *self.tag.get(row)?,
        })
    }

    /// All rows in the order of the source.
    pub fn iter(&self) -> impl Iterator<Item = MessageRecord> + '_ {
        (0..self.len()).map_while(|row| self.get(row))
    }

    /// Reorders the rows: row `i` becomes row `order[i]`; other rows are dropped. Columns are
    /// replaced one by one, so that at most one is copied at a time.
    ///
    /// # Panics
    /// If `order` names a row that does not exist.
    pub fn reorder(&mut self, order: &[u32]) {
        fn column<T: Copy>(column: &mut Vec<T>, order: &[u32]) {
            *column = order.iter().map(|&row| column[row as usize]).collect();
        }
        column(&mut self.sender, order);
        column(&mut self.sender_cpu, order);
        column(&mut self.logical_send, order);
        column(&mut self.physical_send, order);
        column(&mut self.receiver, order);
        column(&mut self.receiver_cpu, order);
        column(&mut self.logical_receive, order);
        column(&mut self.physical_receive, order);
        column(&mut self.size, order);
        column(&mut self.tag, order);
    }

    pub(super) fn check(&self) -> Result<(), Shape> {
        let lengths = [
            self.sender_cpu.len(),
            self.logical_send.len(),
            self.physical_send.len(),
            self.receiver.len(),
            self.receiver_cpu.len(),
            self.logical_receive.len(),
            self.physical_receive.len(),
            self.size.len(),
            self.tag.len(),
        ];
        same_length("messages", self.len(), &lengths)
    }
}
