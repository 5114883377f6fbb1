//! Uninitialised values on their way through registers. Nothing here runs until one is loaded.
//!
//! A value that nobody wrote may be copied freely (padding is). Computing with it makes a value that is
//! no copy any more; using it as an address, for a branch, or storing it to global memory after a
//! computation is a fault.

use std::sync::atomic::Ordering::Relaxed;

use super::block::Worker;
use super::lanes::each;
use super::warp::Warp;
use crate::Fault;
use crate::global::{BufferMemory, locate};
use crate::program::{Access, File, Op, Program, Role, Slot, visit};

/// Per register and lane: is it a copy of something uninitialised, or computed from it?
#[derive(Debug)]
pub(super) struct Taint {
    copied: [Vec<u32>; 3],
    computed: [Vec<u32>; 3],
    /// The first uninitialised load: from what, by which instruction and lane.
    origin: Option<(String, u32, u32)>,
}

impl Taint {
    fn new(program: &Program) -> Taint {
        let sizes = [program.registers32, program.registers64, program.predicates];
        let masks = sizes.map(|size| vec![0; size as usize]);
        Taint { copied: masks.clone(), computed: masks, origin: None }
    }

    fn of(&self, file: File, slot: Slot) -> (u32, u32) {
        (self.copied[file as usize][slot as usize], self.computed[file as usize][slot as usize])
    }

    fn set(&mut self, file: File, slot: Slot, mask: u32, (copied, computed): (u32, u32)) {
        let entry = &mut self.copied[file as usize][slot as usize];
        *entry = *entry & !mask | copied & mask;
        let entry = &mut self.computed[file as usize][slot as usize];
        *entry = *entry & !mask | computed & mask;
    }

    pub fn origin(&self) -> Option<(String, u32, u32)> {
        self.origin.clone()
    }
}

impl Worker<'_> {
    /// Before an instruction runs: passes the taint of its sources to its results, and stops it where an
    /// uninitialised value is an address.
    #[inline(never)]
    pub(super) fn propagate_taint(&mut self, warp: &mut Warp, at: u32, mask: u32) -> Result<(), Box<Fault>> {
        let program = self.context.program;
        let mut instruction = program.code[at as usize];
        let Some(mut taint) = warp.taint.take() else { return Ok(()) };
        let (mut copied, mut computed, mut address) = (0, 0, 0);
        let mut results = Vec::new();
        let (mut accesses, mut extended) = (Vec::new(), Vec::new());
        if let Op::Load(index) | Op::Store(index) = &mut instruction.op {
            accesses.push(program.accesses[*index as usize].clone());
            *index = 0;
        }
        if let Op::Extended(index) = &mut instruction.op {
            let mut copy = program.extended[*index as usize].clone();
            for (n, access) in copy.accesses.iter_mut().enumerate() {
                accesses.push(program.accesses[*access as usize].clone());
                *access = n as u32;
            }
            extended.push(copy);
            *index = 0;
        }
        visit(&mut instruction, &mut accesses, &mut extended, &mut |file, role, slot| match role {
            Role::Write => results.push((file, *slot)),
            _ => {
                let (a, b) = taint.of(file, *slot);
                if role == Role::Address {
                    address |= a | b;
                } else {
                    copied |= a;
                    computed |= b;
                }
            }
        });
        let copies = match instruction.op {
            Op::Alu { code, .. } => code.copies(),
            Op::General { code, .. } => code.copies(),
            Op::Shuffle { .. } => true,
            // What a load brings is decided where memory is read.
            Op::Load(_) => return self.give_back(warp, taint, address & mask, at),
            _ => false,
        };
        let result = if copies { (copied, computed) } else { (0, copied | computed) };
        for (file, slot) in results {
            taint.set(file, slot, mask, result);
        }
        self.give_back(warp, taint, address & mask, at)
    }

    fn give_back(&self, warp: &mut Warp, taint: Box<Taint>, address: u32, at: u32) -> Result<(), Box<Fault>> {
        warp.taint = Some(taint);
        if address == 0 {
            return Ok(());
        }
        Err(self.convict_uninitialised(warp, address.trailing_zeros(), at, "an address"))
    }

    #[inline(never)]
    pub(super) fn check_branch(
        &self,
        warp: &Warp,
        predicate: Slot,
        mask: u32,
        at: Option<u32>,
    ) -> Result<(), Box<Fault>> {
        self.check_guard(warp, predicate, mask, at.unwrap_or(0))
    }

    #[inline(never)]
    pub(super) fn check_guard(&self, warp: &Warp, predicate: Slot, mask: u32, at: u32) -> Result<(), Box<Fault>> {
        let Some(taint) = &warp.taint else { return Ok(()) };
        let (copied, computed) = taint.of(File::P, predicate);
        match (copied | computed) & mask {
            0 => Ok(()),
            lanes => Err(self.convict_uninitialised(warp, lanes.trailing_zeros(), at, "a branch")),
        }
    }

    /// The lanes whose stored value is uninitialised in any way.
    pub(super) fn stored_taint(&self, warp: &Warp, access: &Access) -> u32 {
        let (copied, computed) = self.stored_taints(warp, access);
        copied | computed
    }

    fn stored_taints(&self, warp: &Warp, access: &Access) -> (u32, u32) {
        let Some(taint) = &warp.taint else { return (0, 0) };
        let file = if access.wide { File::D } else { File::R };
        let slots = &access.registers[..access.elements as usize];
        slots.iter().map(|slot| taint.of(file, *slot)).fold((0, 0), |(a, b), (c, d)| (a | c, b | d))
    }

    /// Marks loaded registers: `unwritten` lanes got what nobody wrote, the others of `mask` did not.
    pub(super) fn taint_loaded(&self, warp: &mut Warp, access: &Access, mask: u32, unwritten: u32, what: &str) {
        let mut taint = warp.taint.take().unwrap_or_else(|| Box::new(Taint::new(self.context.program)));
        let file = if access.wide { File::D } else { File::R };
        for slot in &access.registers[..access.elements as usize] {
            taint.set(file, *slot, mask, (unwritten, 0));
        }
        if unwritten != 0 {
            taint.origin.get_or_insert((what.to_string(), access.at, unwritten.trailing_zeros()));
        }
        warp.taint = Some(taint);
    }

    pub(super) fn untaint_loaded(&self, warp: &mut Warp, access: &Access, mask: u32) {
        self.taint_loaded(warp, access, mask, 0, "");
    }

    /// A load from shared memory met a cell that nobody wrote in this thread block.
    #[inline(never)]
    pub(super) fn taint_shared(&self, warp: &mut Warp, access: &Access, mask: u32) {
        let addresses = warp.scratch.offsets.0;
        let grain = self.context.program.shared_grain;
        let mut unwritten = 0;
        for lane in each(mask) {
            let cells = addresses[lane] / grain..(addresses[lane] + access.bytes()) / grain;
            let missing = cells.into_iter().any(|cell| self.cells[cell as usize].write.epoch() < self.first_epoch);
            unwritten |= u32::from(missing) << lane;
        }
        let lane = unwritten.trailing_zeros() as usize & 31;
        let (name, offset) = self.shared_name(addresses[lane]);
        let what = format!("{name} (shared memory) at offset {offset}");
        self.taint_loaded(warp, access, mask, unwritten, &what);
    }

    /// A load from a global buffer of which not all bytes are known to be written.
    #[inline(never)]
    pub(super) fn load_taint(&self, warp: &mut Warp, access: &Access, memory: &BufferMemory, mask: u32) {
        let Some(written) = memory.written.get() else { return };
        let addresses = warp.scratch.addresses.0;
        let mut unwritten = 0;
        for lane in each(mask) {
            let offset = locate(addresses[lane]).1 as usize;
            let missing = written[offset..offset + access.bytes() as usize].iter().any(|flag| flag.load(Relaxed) == 0);
            unwritten |= u32::from(missing) << lane;
        }
        if unwritten != 0 || warp.taint.is_some() {
            let lane = unwritten.trailing_zeros() as usize & 31;
            let what = format!("{} at offset {}", memory.name, locate(addresses[lane]).1);
            self.taint_loaded(warp, access, mask, unwritten, &what);
        }
    }

    /// A store to global memory: computed from something uninitialised is a fault, a copy stays uninitialised.
    #[inline(never)]
    pub(super) fn store_taint(
        &self,
        warp: &Warp,
        access: &Access,
        memory: &BufferMemory,
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        let (copied, computed) = self.stored_taints(warp, access);
        if computed & mask != 0 {
            let lane = (computed & mask).trailing_zeros();
            return Err(self.convict_uninitialised(warp, lane, access.at, &format!("a result, {}", memory.name)));
        }
        if copied & mask == 0 && memory.written.get().is_none() {
            return Ok(());
        }
        let (written, addresses) = (memory.all_written(), &warp.scratch.addresses.0);
        for lane in each(mask) {
            let offset = locate(addresses[lane]).1 as usize;
            let flag = u8::from(copied >> lane & 1 == 0);
            written[offset..offset + access.bytes() as usize].iter().for_each(|byte| byte.store(flag, Relaxed));
        }
        Ok(())
    }
}
