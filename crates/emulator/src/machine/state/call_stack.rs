//! The calls in which lanes are, and what they put aside for them.

use super::warp::Warp;
use crate::program::{File, Slot};

/// The calls in which a lane is.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Stack {
    pub calls: Vec<Call>,
    pub saved: Vec<Saved>,
}

/// Where it was called, and which function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Call {
    pub site: u32,
    pub function: u32,
}

/// The value of a register, and what of it nobody wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Saved {
    pub value: u64,
    pub taint: (u8, bool),
    pub origin: u32,
}

impl Stack {
    pub fn clear(&mut self) {
        self.calls.clear();
        self.saved.clear();
    }
}

impl Warp {
    /// The calls in which the first of some lanes is.
    pub(crate) fn calls_of(&self, lanes: u32) -> &[Call] {
        self.stacks.get(lanes.trailing_zeros() as usize).map_or(&[], |stack| &stack.calls)
    }

    /// Gives each lane so much local memory, at least.
    pub(crate) fn grow_local(&mut self, bytes: usize) {
        let before = self.local_bytes;
        if bytes <= before {
            return;
        }
        self.local_bytes = bytes.next_power_of_two();
        for (memory, byte) in [(&mut self.local, 0xff), (&mut self.local_written, 0)] {
            let mut grown = vec![byte; self.local_bytes * self.stacks.len()];
            for lane in 0..self.stacks.len() {
                grown[lane * self.local_bytes..][..before].copy_from_slice(&memory[lane * before..][..before]);
            }
            *memory = grown;
        }
    }

    /// Copies bytes of a lane's local memory, written or not.
    pub(crate) fn move_local(&mut self, lane: usize, from: u64, to: u64, bytes: u64) {
        let (start, bytes) = (lane * self.local_bytes, bytes as usize);
        let (from, to) = (start + from as usize, start + to as usize);
        self.local.copy_within(from..from + bytes, to);
        self.local_written.copy_within(from..from + bytes, to);
    }

    pub(crate) fn saved(&self, (file, slot): (File, Slot), lane: usize) -> Saved {
        let value = match file {
            File::R => self.r[slot as usize].0[lane].into(),
            File::D => self.d[slot as usize].0[lane],
            File::P => (self.p[slot as usize] >> lane & 1).into(),
        };
        match &self.taint {
            Some(taint) => {
                let (taint, origin) = (taint.of_lane(file, slot, lane), taint.origin_index(file, slot, lane));
                Saved { value, taint, origin }
            }
            None => Saved { value, ..Saved::default() },
        }
    }

    pub(crate) fn restore(&mut self, (file, slot): (File, Slot), lane: usize, saved: Saved) {
        match file {
            File::R => self.r[slot as usize].0[lane] = saved.value as u32,
            File::D => self.d[slot as usize].0[lane] = saved.value,
            File::P => {
                let bits = &mut self.p[slot as usize];
                *bits = *bits & !(1 << lane) | (saved.value as u32) << lane;
            }
        }
        if let Some(taint) = &mut self.taint {
            taint.set(file, slot, lane, saved.taint, saved.origin);
        }
    }
}
