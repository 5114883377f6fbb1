//! Registers that a product of a warpgroup (`wgmma`) uses beside the threads: from the product until a wait for its group, no
//! instruction touches its accumulators, and none writes its A. Before it, what instructions did to them lies behind a
//! `wgmma.fence`. Only products of one shape follow each other in the same accumulators with nothing between.
//!
//! Plain moves are none of these: ptxas gives both registers one place, or waits. What moves takes along what is known.

use crate::program::{Extended, Extension, Group, GroupMultiply, Op, Program, Role, Slot};

/// A warp's, and its groups of products.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProductRegisters {
    /// Groups that are committed, and up to which one they are done, from 1.
    pub committed: u32,
    pub retired: u32,
    /// Fences so far.
    fences: u32,
    /// By slot.
    used: Vec<Use>,
    touched: Vec<Touch>,
    /// Where A and B of the last product begin, and the groups that were committed before it.
    last: Option<(u32, Starts)>,
    /// What of the last product begins where no step along K leads, and how many bytes behind that of the one before.
    pub stray: Option<(&'static str, u32)>,
}

/// Where A and B begin in shared memory, of those that lie along K in lines of 128 bytes.
pub(crate) type Starts = [Option<u32>; 2];

/// Bytes of a product's step along K; those of a line; and the unit of a descriptor's address.
const STEP: u32 = 32;
const LINE: u32 = 128;
const UNIT: u32 = 16;

/// The last product that uses a register: its group, 0 for none, and its instruction.
#[derive(Debug, Clone, Copy, Default)]
struct Use {
    group: u32,
    at: u32,
    /// As an accumulator; else as A.
    sums: bool,
}

/// The last instruction that touched a register, and how many fences there were then, from 1.
#[derive(Debug, Clone, Copy, Default)]
struct Touch {
    fences: u32,
    at: u32,
}

/// Why a product may not use its registers, or an instruction not touch them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Hazard {
    NoFence,
    /// Since this instruction.
    Unfenced(u32),
    /// Of this product.
    Sums(u32),
    Factor(u32),
    /// Accumulators of a product of another shape.
    Shape(u32),
}

impl ProductRegisters {
    pub fn new(slots: usize) -> ProductRegisters {
        ProductRegisters {
            used: vec![Use::default(); slots],
            touched: vec![Touch::default(); slots],
            ..ProductRegisters::default()
        }
    }

    /// A product of operands that begin here: whether they lie a step along K behind those of the one before it in its group.
    pub fn begin(&mut self, starts: Starts) {
        let before = self.last.filter(|(group, _)| *group == self.committed).map(|(_, starts)| starts);
        let stray = |which: usize| {
            let step = starts[which]?.checked_sub(before?[which]?)?;
            let is_stray = step == STEP * UNIT || (1..LINE).contains(&step) && step != STEP;
            is_stray.then_some((["A", "B"][which], step))
        };
        self.stray = stray(0).or_else(|| stray(1));
        self.last = Some((self.committed, starts));
    }

    pub fn fence(&mut self) {
        self.fences += 1;
    }

    fn flies(&self, slot: Slot) -> Option<Use> {
        self.used.get(slot as usize).copied().filter(|used| used.group > self.retired)
    }

    fn unfenced(&self, slot: Slot) -> Option<u32> {
        let touch = self.touched.get(slot as usize)?;
        (touch.fences > self.fences).then_some(touch.at)
    }

    /// A product starts.
    pub fn launch(
        &mut self,
        program: &Program,
        extended: &Extended,
        form: GroupMultiply,
        at: u32,
    ) -> Result<(), Hazard> {
        if self.fences == 0 {
            return Err(Hazard::NoFence);
        }
        let factors = if form.in_registers { 4 } else { 0 };
        for &(_, slot) in &extended.reads[..factors] {
            match self.flies(slot) {
                Some(used) if used.sums => return Err(Hazard::Sums(used.at)),
                _ => {}
            }
            if let Some(at) = self.unfenced(slot) {
                return Err(Hazard::Unfenced(at));
            }
        }
        for &(_, slot) in &extended.writes {
            match self.flies(slot) {
                Some(used) if !used.sums => return Err(Hazard::Factor(used.at)),
                Some(used) if !is_alike(program, used.at, form) => return Err(Hazard::Shape(used.at)),
                _ => {}
            }
            if let Some(at) = self.unfenced(slot) {
                return Err(Hazard::Unfenced(at));
            }
        }
        let group = self.committed + 1;
        for (slots, sums) in [(&extended.reads[..factors], false), (&extended.writes[..], true)] {
            for &(_, slot) in slots {
                self.used[slot as usize] = Use { group, at, sums };
            }
        }
        Ok(())
    }

    /// A plain move: what is known of `a` as an accumulator is known of `d`.
    pub fn moves(&mut self, d: Slot, a: Slot, at: u32) -> Result<(), Hazard> {
        let flies = self.flies(a).filter(|used| used.sums);
        match self.flies(d) {
            Some(used) if flies.is_none() => {
                return Err(if used.sums { Hazard::Sums(used.at) } else { Hazard::Factor(used.at) });
            }
            _ => {}
        }
        let known = (a as usize) < self.used.len();
        let touch = self.unfenced(a).filter(|_| known).map(|_| Touch { fences: self.fences + 1, at });
        let Some(used) = self.used.get_mut(d as usize) else { return Ok(()) };
        *used = flies.unwrap_or_default();
        self.touched[d as usize] = touch.unwrap_or_default();
        Ok(())
    }

    /// An instruction reads or writes a register.
    pub fn touches(&mut self, role: Role, slot: Slot, at: u32) -> Result<(), Hazard> {
        if let Some(used) = self.flies(slot) {
            match role {
                _ if used.sums => return Err(Hazard::Sums(used.at)),
                Role::Write => return Err(Hazard::Factor(used.at)),
                _ => {}
            }
        }
        if let Some(touch) = self.touched.get_mut(slot as usize) {
            *touch = Touch { fences: self.fences + 1, at };
        }
        Ok(())
    }
}

/// Whether the product at an instruction has accumulators like these.
fn is_alike(program: &Program, at: u32, form: GroupMultiply) -> bool {
    let Op::Extended(index) = program.code[at as usize].op else { return false };
    match program.extended[index as usize].what {
        Extension::Group(Group::Multiply(other)) => {
            (other.n, other.k, other.accumulator) == (form.n, form.k, form.accumulator)
        }
        _ => false,
    }
}

impl ProductRegisters {
    /// For a program with products of warpgroups.
    pub fn of(program: &crate::program::Program) -> Option<Box<ProductRegisters>> {
        let slots = program.grouped.slots.len();
        (slots > 0).then(|| Box::new(ProductRegisters::new(slots)))
    }
}
