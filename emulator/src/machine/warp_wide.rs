//! Instructions across the lanes of a warp.

use super::alu::set_predicate;
use super::lanes::{FULL, LANES};
use super::warp::Warp;
use crate::program::{ShuffleMode, Slot, VoteMode};

impl Warp {
    /// `shfl.sync`: each lane takes `a` of another lane, within segments that `c` describes. A lane whose
    /// source lies outside its segment, or does not run, keeps its own; `valid` says which got one.
    pub(super) fn shuffle(&mut self, mode: ShuffleMode, [d, valid, a, b, c]: [Slot; 5], mask: u32) {
        let a = self.r[a as usize].0;
        let mut out = a;
        let mut in_range = 0;
        for (lane, value) in out.iter_mut().enumerate() {
            let (from, valid) = self.shuffle_source(mode, b, c, lane);
            in_range |= u32::from(valid) << lane;
            *value = a[from];
        }
        self.r[d as usize].set(&out, mask);
        set_predicate(self, valid, in_range, mask);
    }

    /// The lane that a lane takes its value from, and whether that lies in its segment; itself if not.
    pub(super) fn shuffle_source(&self, mode: ShuffleMode, b: Slot, c: Slot, lane: usize) -> (usize, bool) {
        let (by, c) = (self.r[b as usize].0[lane] & 0x1f, self.r[c as usize].0[lane]);
        let (clamp, segment) = (c & 0x1f, c >> 8 & 0x1f);
        let own = lane as u32;
        let max = own & segment | clamp & !segment;
        let min = own & segment;
        let (from, valid) = match mode {
            ShuffleMode::Up => (own.wrapping_sub(by), own as i32 - by as i32 >= max as i32),
            ShuffleMode::Down => (own + by, own + by <= max),
            ShuffleMode::Butterfly => (own ^ by, own ^ by <= max),
            ShuffleMode::Index => (min | by & !segment, min | by & !segment <= max),
        };
        if valid { (from as usize & 31, true) } else { (lane, false) }
    }

    /// `vote.sync` over the lanes that run.
    pub(super) fn vote(&mut self, mode: VoteMode, d: Slot, predicate: Slot, negated: bool, mask: u32) {
        let yes = self.predicate(predicate, negated) & mask;
        let set = |holds: bool| if holds { FULL } else { 0 };
        match mode {
            VoteMode::All => set_predicate(self, d, set(yes == mask), mask),
            VoteMode::Any => set_predicate(self, d, set(yes != 0), mask),
            VoteMode::Uniform => set_predicate(self, d, set(yes == mask || yes == 0), mask),
            VoteMode::Ballot => self.r[d as usize].set(&[yes; LANES], mask),
        }
    }
}
