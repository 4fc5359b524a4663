//! Dense numbers for the ids of contexts, in the order of first use.
//!
//! Owns a small open-addressed table, as every coded time needs a lookup and the ids are already
//! well distributed.

/// Numbers by id.
#[derive(Clone, Debug)]
pub(super) struct Ids {
    /// Id plus 1, and its number.
    slots: Vec<(u64, u32)>,
    used: usize,
}

impl Ids {
    pub(super) fn new() -> Self {
        Self { slots: vec![(0, 0); 64], used: 0 }
    }

    /// The number of an id below `u64::MAX`; a new id gets the number of ids before it.
    #[inline]
    pub(super) fn get(&mut self, id: u64) -> usize {
        match self.find(id) {
            Ok(slot) => self.slots[slot].1 as usize,
            Err(slot) => self.insert(slot, id),
        }
    }

    #[inline]
    fn find(&self, id: u64) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.slots[slot].0 != 0 {
            if self.slots[slot].0 == id + 1 {
                return Ok(slot);
            }
            slot = (slot + 1) & mask;
        }
        Err(slot)
    }

    #[cold]
    fn insert(&mut self, slot: usize, id: u64) -> usize {
        let number = self.used;
        self.slots[slot] = (id + 1, number as u32);
        self.used += 1;
        if self.used * 2 > self.slots.len() {
            let larger = vec![(0, 0); self.slots.len() * 2];
            for entry in std::mem::replace(&mut self.slots, larger) {
                if entry.0 != 0 {
                    let (Ok(slot) | Err(slot)) = self.find(entry.0 - 1);
                    self.slots[slot] = entry;
                }
            }
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_keep_their_numbers() {
        let mut ids = Ids::new();
        let id = |i: u64| (i * i) << 7;
        for i in 0..1000 {
            assert_eq!(ids.get(id(i)), i as usize);
        }
        assert!((0..1000).all(|i| ids.get(id(i)) == i as usize));
    }
}
