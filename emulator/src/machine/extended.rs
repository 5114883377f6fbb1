//! Instructions that the program keeps in its list `extended`: which does what, and those across a warp.

use super::alu::set_predicate;
use super::block::Worker;
use super::general::evaluate;
use super::lanes::{LANES, each, mask_where};
use super::warp::Warp;
use crate::Fault;
use crate::program::{Extended, Extension, File, General, IntegerOp, Slot};

impl Worker<'_> {
    pub(super) fn extended(&mut self, warp: &mut Warp, index: u32, mask: u32, at: u32) -> Result<(), Box<Fault>> {
        let program = self.context.program;
        let extended = &program.extended[index as usize];
        match extended.what {
            Extension::Atomic(atomic) => return self.atomic(warp, extended, atomic, mask),
            Extension::CopyAsync(size) => return self.copy_async(warp, extended, size, mask),
            Extension::CommitCopies => warp.copies.commit(mask),
            Extension::WaitCopies(pending) => self.wait_for_copies(warp, pending, mask),
            Extension::LoadMatrix { transpose } => {
                self.check_whole_warp(warp, mask, at)?;
                return self.load_matrix(warp, extended, transpose);
            }
            Extension::StoreMatrix { transpose } => {
                self.check_whole_warp(warp, mask, at)?;
                return self.store_matrix(warp, extended, transpose);
            }
            Extension::Multiply(multiply) => {
                self.check_whole_warp(warp, mask, at)?;
                warp.multiply(extended, multiply);
            }
            Extension::Match { all } => {
                self.check_members(warp, extended.reads[1].1, mask, at)?;
                warp.match_lanes(extended, all, mask);
            }
            Extension::Reduce(op, signed) => {
                self.check_members(warp, extended.reads[1].1, mask, at)?;
                warp.reduce(extended, op, signed, mask);
            }
            Extension::Elect => {
                self.check_members(warp, extended.reads[0].1, mask, at)?;
                warp.elect(extended, mask);
            }
            Extension::Print => return self.print(warp, extended, mask, at),
            Extension::Assertion => return Err(self.assertion(warp, extended, mask, at)),
            Extension::Clock { high } => {
                let (file, d) = extended.writes[0];
                let time = if high { self.executed >> 32 } else { self.executed };
                warp.set_wide(file, d, &[time; LANES], mask);
            }
        }
        Ok(())
    }

    /// Instructions that all 32 lanes execute together.
    fn check_whole_warp(&self, warp: &Warp, mask: u32, at: u32) -> Result<(), Box<Fault>> {
        match mask {
            u32::MAX => Ok(()),
            _ => Err(self.convict_divergent_warp_barrier(warp, u32::MAX, mask, at)),
        }
    }
}

impl Warp {
    /// A lane's value of a register of 32 or 64 bits.
    pub(super) fn wide(&self, file: File, slot: Slot, lane: usize) -> u64 {
        match file {
            File::R => self.r[slot as usize].0[lane].into(),
            File::D => self.d[slot as usize].0[lane],
            File::P => u64::from(self.p[slot as usize] >> lane & 1),
        }
    }

    pub(super) fn set_wide(&mut self, file: File, slot: Slot, values: &[u64; LANES], mask: u32) {
        match file {
            File::R => self.r[slot as usize].set(&values.map(|value| value as u32), mask),
            File::D => self.d[slot as usize].set(values, mask),
            File::P => set_predicate(self, slot, mask_where(|lane| values[lane] & 1 == 1), mask),
        }
    }

    /// The lanes that act together with a lane: those that run and that its register `members` names.
    fn together(&self, members: Slot, lane: usize, mask: u32) -> u32 {
        self.r[members as usize].0[lane] & mask
    }

    fn match_lanes(&mut self, extended: &Extended, all: bool, mask: u32) {
        let [(file, value), (_, members)] = extended.reads[..] else { return };
        let mut out = [0; LANES];
        let mut agreed = 0;
        for lane in each(mask) {
            let group = self.together(members, lane, mask);
            let mine = self.wide(file, value, lane);
            let same = mask_where(|other| self.wide(file, value, other) == mine) & group;
            agreed |= u32::from(same == group) << lane;
            out[lane] = u64::from(if all && same != group { 0 } else { same });
        }
        self.set_wide(File::R, extended.writes[0].1, &out, mask);
        if let Some((_, flag)) = extended.writes.get(1) {
            set_predicate(self, *flag, agreed, mask);
        }
    }

    fn reduce(&mut self, extended: &Extended, op: IntegerOp, signed: bool, mask: u32) {
        let [(file, value), (_, members)] = extended.reads[..] else { return };
        let code = General::Integer { op, bits: 32, signed };
        let mut out = [0; LANES];
        for lane in each(mask) {
            let group = self.together(members, lane, mask);
            let values = each(group).map(|other| self.wide(file, value, other));
            out[lane] = values.reduce(|a, b| evaluate(code, [a, b, 0, 0])).unwrap_or(0);
        }
        self.set_wide(File::R, extended.writes[0].1, &out, mask);
    }

    /// Elects the lowest member.
    fn elect(&mut self, extended: &Extended, mask: u32) {
        let members = extended.reads[0].1;
        let leader: [u32; LANES] =
            std::array::from_fn(|lane| (self.together(members, lane, mask)).trailing_zeros() & 31);
        self.r[extended.writes[0].1 as usize].set(&leader, mask);
        if let Some((_, flag)) = extended.writes.get(1) {
            set_predicate(self, *flag, mask_where(|lane| leader[lane] as usize == lane), mask);
        }
    }
}
