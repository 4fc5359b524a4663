//! Times of an event, in the form of the thread's stream.
//!
//! Owns their bytes in each of the modes, and dropping them first where memory becomes scarce.

use talea_flow::times::ONE_BYTE;
use talea_model::Nanos;
use talea_run::live::layout::TimesMode;

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
            if (*stream).tail_cap - (*stream).tail_len < 12 && self.memory.is_scarce() {
                // Times are the largest part and are dropped first: the sequence and its arguments
                // matter more.
                self.times_off = true;
                return;
            }
            let Ok(start) = self.memory.room(stream, 12) else {
                self.times_off = true;
                return;
            };
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
            // SAFETY: the stream belongs to this thread.
            self.times_off = self.memory.is_scarce()
                || unsafe { self.memory.append(&raw mut (*self.thread).times, out.bytes()) }
                    .is_err();
        }
    }
}
