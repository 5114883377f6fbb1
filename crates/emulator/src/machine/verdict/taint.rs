//! Uninitialised values on their way through registers. Nothing here runs until one is loaded.
//!
//! A value that nobody wrote may be copied freely (padding is). Computing with it makes a value that is
//! no copy any more; using it as an address, for a branch, or storing it to global memory after a
//! computation is a fault.

use std::sync::atomic::Ordering::Relaxed;

use crate::Fault;
use crate::global::{BufferMemory, locate};
use crate::machine::lanes::{LANES, each};
use crate::machine::state::shadow::Taint;
use crate::machine::state::warp::{Party, Warp};
use crate::machine::state::worker::Worker;
use crate::origin::{Absence, Origin, Place};
use crate::program::{Access, Extension, File, Op, Role, Slot, registers};
use crate::stamp::Stamp;

impl Worker<'_> {
    /// Before an instruction runs: passes the taint of its sources to its results, and stops it where an
    /// uninitialised value is an address.
    #[inline(never)]
    pub(crate) fn propagate_taint(&mut self, warp: &mut Warp, at: u32, mask: u32) -> Result<(), Box<Fault>> {
        let program = self.context.program;
        let Some(mut taint) = warp.taint.take() else { return Ok(()) };
        let mut bases = Vec::new();
        match program.code[at as usize].op {
            // What a load brings, and what becomes of a store, is decided where memory is accessed.
            Op::Load(index) | Op::Store(index) => {
                let access = &program.accesses[index as usize];
                bases.push((if access.base_wide { File::D } else { File::R }, access.base));
            }
            Op::Alu { code, d, a, b, c } => taint.alu(warp, code, d, [a, b, c], mask),
            Op::Shuffle { mode, d, a, b, c, .. } => {
                let from = std::array::from_fn(|lane| warp.shuffle_source(mode, b, c, lane).0);
                taint.shuffle(d, a, &from, mask);
            }
            op => {
                let (mut sources, mut results) = (Vec::new(), Vec::new());
                for (file, role, slot) in registers(program, at) {
                    match role {
                        Role::Write => results.push((file, slot)),
                        Role::Read => sources.push((file, slot)),
                        Role::Address => bases.push((file, slot)),
                    }
                }
                let extended = match op {
                    Op::Extended(index) => Some(&program.extended[index as usize]),
                    _ => None,
                };
                match (op, extended.map(|extended| (extended, extended.what))) {
                    (_, Some((extended, Extension::Multiply(multiply)))) => taint.multiply(extended, multiply),
                    (Op::General { code, .. }, _) if code.copies() => taint.copy(&sources, &results, mask),
                    (Op::Vote { .. }, _) | (_, Some(_)) => taint.compute(&sources, &results, mask, true),
                    _ => taint.compute(&sources, &results, mask, false),
                }
            }
        }
        warp.taint = Some(taint);
        bases.into_iter().try_for_each(|register| self.forbid(warp, register, mask, at, "an address"))
    }

    /// Convicts the first lane of which the register is uninitialised in any way.
    pub(crate) fn forbid(
        &self,
        warp: &Warp,
        (file, slot): (File, Slot),
        mask: u32,
        at: u32,
        reaches: &str,
    ) -> Result<(), Box<Fault>> {
        let Some(taint) = &warp.taint else { return Ok(()) };
        match taint.lanes(file, slot) & mask {
            0 => Ok(()),
            lanes => {
                let lane = lanes.trailing_zeros();
                let origin = taint.origin(file, slot, lane as usize);
                Err(self.convict_uninitialised(warp, lane, at, reaches, origin))
            }
        }
    }

    #[inline(never)]
    pub(crate) fn check_branch(
        &self,
        warp: &Warp,
        predicate: Slot,
        mask: u32,
        at: Option<u32>,
    ) -> Result<(), Box<Fault>> {
        self.check_guard(warp, predicate, mask, at.unwrap_or_default())
    }

    #[inline(never)]
    pub(crate) fn check_guard(&self, warp: &Warp, predicate: Slot, mask: u32, at: u32) -> Result<(), Box<Fault>> {
        self.forbid(warp, (File::P, predicate), mask, at, "a branch")
    }

    /// The bytes that a lane stores of which nobody wrote what they come from; all of an element that was
    /// computed from such.
    pub(crate) fn stored_taint(&self, warp: &Warp, access: &Access, lane: usize) -> u32 {
        let Some(taint) = &warp.taint else { return 0 };
        let whole = ((1u64 << access.element_bytes) - 1) as u32;
        let of_element = |element: u32| {
            let (bytes, computed) = taint.of_lane(data_file(access), access.registers[element as usize], lane);
            (if computed { whole } else { u32::from(bytes) & whole }) << (element * access.element_bytes)
        };
        (0..access.elements).fold(0, |bytes, element| bytes | of_element(element))
    }

    /// Marks loaded registers: of each lane of `mask`, the bytes that `unwritten` says are what nobody wrote.
    pub(crate) fn taint_loaded(
        &self,
        warp: &mut Warp,
        access: &Access,
        mask: u32,
        unwritten: &dyn Fn(usize) -> u32,
        place: &dyn Fn(usize, u32) -> Place,
    ) {
        let mut taint = warp.taint.take().unwrap_or_else(|| Box::new(Taint::new(self.context.program)));
        let width = access.element_bytes;
        let whole = ((1u64 << width) - 1) as u32;
        for lane in each(mask) {
            let missing = unwritten(lane);
            let origin = match missing {
                0 => 0,
                _ => {
                    let place = place(lane, missing.trailing_zeros());
                    taint.note(self.origin(warp, lane, access.at, place))
                }
            };
            for element in 0..access.elements {
                let mut bytes = missing >> (element * width) & whole;
                if access.signed && bytes >> (width - 1) == 1 {
                    // The sign is extended from an unwritten byte.
                    bytes |= !whole;
                }
                let slot = access.registers[element as usize];
                taint.set(data_file(access), slot, lane, (bytes as u8, false), origin);
            }
        }
        warp.taint = Some(taint);
    }

    pub(crate) fn untaint_loaded(&self, warp: &mut Warp, access: &Access, mask: u32) {
        self.taint_loaded(warp, access, mask, &|_| 0, &|_, _| Place::Local(0));
    }

    /// A load from shared memory met a cell that nobody wrote in this thread block.
    #[inline(never)]
    pub(crate) fn taint_shared(&self, warp: &mut Warp, access: &Access, mask: u32) {
        let addresses = warp.scratch.offsets.0;
        let grain = self.context.program.shared_grain;
        let missing = |at: u32| self.state.cells.write(at / grain).epoch() < self.state.first_epoch;
        let unwritten = |lane: usize| bits(access, |byte| missing(addresses[lane] + byte));
        if warp.taint.is_some() || each(mask).any(|lane| unwritten(lane) != 0) {
            self.taint_loaded(warp, access, mask, &unwritten, &|lane, byte| Place::Shared(addresses[lane] + byte));
        }
    }

    /// A store to shared memory: a copy of what nobody wrote leaves it unwritten.
    #[inline(never)]
    pub(crate) fn mark_unwritten(&mut self, warp: &Warp, access: &Access, mask: u32) {
        let grain = self.context.program.shared_grain;
        for lane in each(mask) {
            let taint = self.stored_taint(warp, access, lane);
            for byte in (0..access.bytes()).filter(|byte| taint >> byte & 1 == 1) {
                let offset = warp.scratch.offsets.0[lane] + byte;
                self.state.cells.mark((offset / grain) as usize, 1, Stamp::default());
                self.note_shared_copy(offset, self.stored_origin(warp, access, lane, byte));
            }
        }
    }

    /// A load from a global buffer of which not all bytes are known to be written.
    #[inline(never)]
    pub(crate) fn load_taint(&self, warp: &mut Warp, access: &Access, memory: &BufferMemory, mask: u32) {
        let written = memory.written.get();
        let addresses = warp.scratch.addresses.0;
        let offset = |lane: usize| locate(addresses[lane]).1 as u64;
        let is_unwritten = |at: usize| written.is_some_and(|written| written[at].load(Relaxed) == 0);
        let unwritten = |lane: usize| bits(access, |byte| is_unwritten(offset(lane) as usize + byte as usize));
        if warp.taint.is_some() || each(mask).any(|lane| unwritten(lane) != 0) {
            let place =
                |lane: usize, byte: u32| Place::Global(locate(addresses[lane]).0, offset(lane) + u64::from(byte));
            self.taint_loaded(warp, access, mask, &unwritten, &place);
        }
    }

    /// A load from local memory, of which `unwritten` says what each lane has not written.
    pub(crate) fn taint_local(&self, warp: &mut Warp, access: &Access, mask: u32, unwritten: &[u32; LANES]) {
        let addresses = warp.scratch.addresses.0;
        let place = |lane: usize, byte: u32| Place::Local(addresses[lane] + u64::from(byte));
        self.taint_loaded(warp, access, mask, &|lane| unwritten[lane], &place);
    }

    /// A store to global memory: computed from something uninitialised is a fault, a copy stays uninitialised.
    #[inline(never)]
    pub(crate) fn store_taint(
        &self,
        warp: &Warp,
        access: &Access,
        memory: &BufferMemory,
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        if let Some(taint) = &warp.taint {
            for lane in each(mask) {
                for &slot in &access.registers[..access.elements as usize] {
                    if taint.of_lane(data_file(access), slot, lane).1 {
                        let origin = taint.origin(data_file(access), slot, lane);
                        let reaches = format!("a result, {}", memory.name);
                        return Err(self.convict_uninitialised(warp, lane as u32, access.at, &reaches, origin));
                    }
                }
            }
        }
        let copied = each(mask).any(|lane| self.stored_taint(warp, access, lane) != 0);
        if !copied && memory.written.get().is_none() || memory.is_sparse() {
            return Ok(());
        }
        let (written, addresses) = (memory.all_written(), &warp.scratch.addresses.0);
        for lane in each(mask) {
            let (offset, taint) = (locate(addresses[lane]).1 as usize, self.stored_taint(warp, access, lane));
            for byte in 0..access.bytes() {
                written[offset + byte as usize].store(u8::from(taint >> byte & 1 == 0), Relaxed);
            }
            for element in 0..access.elements {
                let first = element * access.element_bytes;
                let bytes = taint >> first & ((1u64 << access.element_bytes) - 1) as u32;
                if bytes != 0 {
                    let byte = first + bytes.trailing_zeros();
                    let origin = self.stored_origin(warp, access, lane, byte);
                    self.note_global_copy((warp, lane, access.at), memory, offset + byte as usize, origin);
                }
            }
        }
        Ok(())
    }
}

/// The file of the registers that an access loads or stores.
pub(crate) fn data_file(access: &Access) -> File {
    if access.wide { File::D } else { File::R }
}

/// A bit for each byte of an access that `holds`.
pub(crate) fn bits(access: &Access, holds: impl Fn(u32) -> bool) -> u32 {
    (0..access.bytes()).fold(0, |bits, byte| bits | u32::from(holds(byte)) << byte)
}

impl Worker<'_> {
    /// A shuffle for the lanes of `mask` took the values of lanes that do not execute it: `from` says which.
    pub(crate) fn taint_absent(&self, warp: &mut Warp, party: Party, from: &[usize; LANES], mask: u32) {
        let Op::Shuffle { d, .. } = self.context.program.code[party.at as usize].op else { return };
        let mut taint = warp.taint.take().unwrap_or_else(|| Box::new(Taint::new(self.context.program)));
        let existing = Warp::existing(warp.number, self.context.shape.block);
        for lane in each(party.lanes) {
            let is_in = |lanes: u32| lanes >> from[lane] & 1 == 1;
            let (there, why) = match (is_in(existing), is_in(warp.live)) {
                (false, _) => (existing, Absence::Missing),
                (true, false) => (warp.live, Absence::Ended),
                (true, true) => (warp.live, Absence::Unnamed),
            };
            let place = Place::Lane { source: from[lane] as u32, mask, there, why };
            let thread = warp.number * LANES as u32 + lane as u32;
            let origin = taint.note(Origin { place, at: party.at, thread, block: self.state.block });
            // No copy of anything: what it is, is undefined.
            taint.set(File::R, d, lane, (0, true), origin);
        }
        warp.taint = Some(taint);
    }
}
