//! Times of an event, in the form of the thread's stream.
//!
//! Owns their bytes in each of the modes, and dropping them first where memory becomes scarce.

use talea_flow::times::ONE_BYTE;
use talea_model::Nanos;
use talea_run::live::layout::{RingHead, TimesMode};

use super::Recorder;
use super::tokens::Out;

impl Recorder {
    /// Appends the cells of a gap and a duration: one byte below 224, else two, and bytes for extra
    /// bits.
    #[inline(always)]
    pub(super) unsafe fn cells(&mut self, gap: u64, duration: u64) {
        // SAFETY: the stream belongs to this thread; ten bytes are the maximum of two cells.
        unsafe {
            let stream = &raw mut (*self.thread).times;
            if (*stream).tail_cap - (*stream).tail_len < 12
                && !self.room_for_times(12, self.end.saturating_sub(duration + gap))
            {
                self.times_off = true;
                return;
            }
            let start = self.memory.end(stream);
            let mut place = start;
            for value in [gap, duration] {
                if let Some(index) = self.quantiser.quantise_small(Nanos(value), &mut self.drift) {
                    place.write(index);
                    place = place.add(1);
                    continue;
                }
                let cell = self.quantiser.quantise(Nanos(value), &mut self.drift);
                if cell.index < u16::from(ONE_BYTE) {
                    place.write(cell.index as u8);
                    place = place.add(1);
                } else {
                    place.write(0xe0 | (cell.index >> 8) as u8);
                    place.add(1).write(cell.index as u8);
                    place = place.add(2);
                    let bits = self.quantiser.extra_bits(cell.index);
                    if bits > 0 {
                        place.cast::<u32>().write_unaligned(cell.extra);
                        place = place.add(usize::from(bits).div_ceil(8));
                    }
                }
            }
            (*stream).tail_len += place.offset_from(start) as u32;
        }
    }

    #[cold]
    pub(super) unsafe fn other_times(&mut self, gap: u64, duration: u64) {
        if self.mode == TimesMode::Exact && !self.times_off {
            let mut out = Out::new();
            out.number(gap);
            out.number(duration);
            // SAFETY: the stream belongs to this thread, and has room when bytes are appended.
            unsafe {
                let stream = &raw mut (*self.thread).times;
                let is_full = (*stream).tail_cap - (*stream).tail_len < out.bytes().len() as u32;
                self.times_off = is_full
                    && !self.room_for_times(
                        out.bytes().len() as u32,
                        self.end.saturating_sub(duration + gap),
                    )
                    || self.memory.append(stream, out.bytes()).is_err();
            }
        }
    }

    /// Makes room for the times of the next event; `end` is the end of the event before. False
    /// where memory is scarce: times are the largest part and are dropped first, since the sequence
    /// and its arguments matter more.
    #[cold]
    #[inline(never)]
    unsafe fn room_for_times(&mut self, size: u32, end: u64) -> bool {
        // SAFETY: the stream belongs to this thread. The reader's word may hold anything.
        unsafe {
            let stream = &raw mut (*self.thread).times;
            if !self.is_ring {
                return !self.memory.is_scarce() && self.memory.room(stream, size).is_ok();
            }
            if self.read == 0 || (*stream).head == self.read {
                let read = (&raw const (*self.thread).times_read).read_volatile();
                self.read = if self.memory.has_chunk(stream, read) { read } else { 0 };
            }
            let head = RingHead {
                first: (*self.thread).events,
                end: self.drift.restored_time(Nanos(end)).0,
            };
            self.memory.begin_ring_chunk(stream, self.read, head).is_ok()
        }
    }

    /// Keeps times again where a reader of the ring has released chunks.
    pub(crate) fn resume_times(&mut self) {
        if self.is_ring && self.times_off {
            // SAFETY: the thread's part in the file is its own.
            self.times_off = unsafe { !self.room_for_times(0, self.end) };
        }
    }
}
