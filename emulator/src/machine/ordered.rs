//! Accesses under the order model: each is held against the earlier ones of its cells, and then kept there.

use super::block::Worker;
use super::lanes::each;
use super::order::{Access as Touch, Clash, Kind, Place, force};
use super::shared_access::read_shared;
use super::warp::Warp;
use crate::Fault;
use crate::global::{BufferMemory, locate};
use crate::program::{Access, Op, Order};

/// Memory that an access goes to.
#[derive(Clone, Copy)]
pub(super) enum Target<'a> {
    Shared,
    /// A buffer, by number.
    Global(usize, &'a BufferMemory),
}

/// What an access does, and how far it goes.
#[derive(Clone, Copy)]
pub(super) struct Deed {
    pub kind: Kind,
    /// Bytes of each lane.
    pub length: u32,
    /// Whether it is held against earlier ones, and whether later ones are held against it.
    pub check: bool,
    pub keep: bool,
}

impl Deed {
    pub fn new(kind: Kind, length: u32) -> Deed {
        Deed { kind, length, check: true, keep: true }
    }
}

impl Kind {
    pub(super) fn verb(self) -> &'static str {
        match self {
            Kind::Read => "load",
            Kind::Write => "store",
            Kind::Atomic => "atomic",
        }
    }
}

impl Worker<'_> {
    /// Whether the order model watches shared memory, or stamps do.
    #[inline(always)]
    pub(super) fn shared_by_clocks(&self) -> bool {
        self.clocks.as_ref().is_some_and(|clocks| clocks.shared)
    }

    #[inline(always)]
    pub(super) fn global_by_clocks(&self) -> bool {
        self.clocks.as_ref().is_some_and(|clocks| clocks.global)
    }

    /// Lanes access the addresses, or offsets in shared memory, at hand.
    #[inline(never)]
    pub(super) fn order_access(
        &mut self,
        warp: &Warp,
        access: &Access,
        mask: u32,
        target: Target,
        deed: Deed,
    ) -> Result<(), Box<Fault>> {
        if let Some(clocks) = &mut self.clocks {
            clocks.enter(self.state.block as u32);
        }
        let parts = self.parts(warp, access, mask, target, deed);
        if deed.check {
            if deed.kind == Kind::Write && !access.ordered() && deed.keep {
                self.colliding_lanes(warp, access, mask, target)?;
            }
            for (lanes, offset) in &parts {
                self.check_part(warp, access, (*lanes, *offset), target, deed)?;
            }
        }
        if deed.keep
            && let Some(clocks) = &mut self.clocks
        {
            let grain = grain_of(self.context.program, target);
            for (lanes, offset) in parts {
                for cell in offset / grain..(offset + deed.length).div_ceil(grain) {
                    let touch = touch(self.state.block, warp, access, lanes, deed.kind, (cell, offset, grain));
                    clocks.keep(place(target, cell), touch, access.order);
                }
            }
        }
        Ok(())
    }

    /// The lanes and offsets of an access; lanes that read one place together.
    fn parts(&self, warp: &Warp, access: &Access, mask: u32, target: Target, deed: Deed) -> Vec<(u32, u32)> {
        let mut parts: Vec<(u32, u32)> = Vec::with_capacity(32);
        for lane in each(mask) {
            let offset = offset_of(warp, lane, target);
            let same = |part: &&mut (u32, u32)| part.1 == offset;
            match parts.iter_mut().find(same).filter(|_| deed.kind == Kind::Read) {
                Some(part) => part.0 |= 1 << lane,
                None => parts.push((1 << lane, offset)),
            }
        }
        debug_assert!(access.bytes() > 0);
        parts
    }

    fn check_part(
        &self,
        warp: &Warp,
        access: &Access,
        (lanes, offset): (u32, u32),
        target: Target,
        deed: Deed,
    ) -> Result<(), Box<Fault>> {
        let Some(clocks) = &self.clocks else { return Ok(()) };
        let grain = grain_of(self.context.program, target);
        let stored = matches!((deed.kind, deed.keep), (Kind::Write, true))
            .then(|| warp.stored_bytes(access, lanes.trailing_zeros() as usize));
        for cell in offset / grain..(offset + deed.length).div_ceil(grain) {
            let now = touch(self.state.block, warp, access, lanes, deed.kind, (cell, offset, grain));
            let place = place(target, cell);
            let mut same = || match stored {
                Some(bytes) => (0..grain).all(|n| {
                    let at = cell * grain + n;
                    let old = match target {
                        Target::Shared => read_shared(&self.state.shared, at, 1) as u8,
                        Target::Global(_, memory) => memory.load(at as usize, 1) as u8,
                    };
                    bytes.get((at - offset) as usize) == Some(&old)
                }),
                None => false,
            };
            if let Some(clash) = clocks.clash(place, &now, &mut same) {
                return Err(self.convict_clash(warp, access, target, cell * grain, (&clash, &now)));
            }
            if deed.kind != Kind::Read {
                continue;
            }
            if access.read_only
                && let Some(write) = clocks.written(place, now.block)
            {
                let lane = lanes.trailing_zeros();
                let (then, other) = (write.access(), write.access().lanes.trailing_zeros());
                let clash = Clash { before: write, other, lane };
                return Err(self.convict_read_only(warp, access, target, cell * grain, (&clash, then.kind.verb())));
            }
            if matches!(access.order, Order::Relaxed | Order::Volatile)
                && self.is_blind(access)
                && let Some(clash) = clocks.unordered_store(place, &now)
            {
                return Err(self.convict_stale(warp, access, target, cell * grain, &clash));
            }
        }
        Ok(())
    }

    fn is_blind(&self, access: &Access) -> bool {
        match self.context.program.code[access.at as usize].op {
            Op::Load(index) => self.context.program.blind_loads[index as usize],
            _ => false,
        }
    }

    /// Lanes of one store that write different values to one place.
    fn colliding_lanes(&self, warp: &Warp, access: &Access, mask: u32, target: Target) -> Result<(), Box<Fault>> {
        for lane in each(mask) {
            let offset = offset_of(warp, lane, target);
            for other in each(mask & ((1 << lane) - 1)) {
                if offset_of(warp, other, target) == offset
                    && warp.stored_bytes(access, other) != warp.stored_bytes(access, lane)
                {
                    return Err(self.convict_one_store(warp, access, target, offset, (lane as u32, other as u32)));
                }
            }
        }
        Ok(())
    }
}

fn offset_of(warp: &Warp, lane: usize, target: Target) -> u32 {
    match target {
        Target::Shared => warp.scratch.offsets.0[lane],
        Target::Global(..) => locate(warp.scratch.addresses.0[lane]).1 as u32,
    }
}

fn grain_of(program: &crate::program::Program, target: Target) -> u32 {
    match target {
        Target::Shared => program.shared_grain,
        Target::Global(..) => program.global_grain,
    }
}

fn place(target: Target, cell: u32) -> Place {
    match target {
        Target::Shared => Place { buffer: None, cell },
        Target::Global(buffer, _) => Place { buffer: Some(buffer as u32), cell },
    }
}

fn touch(
    block: u64,
    warp: &Warp,
    access: &Access,
    lanes: u32,
    kind: Kind,
    (cell, offset, grain): (u32, u32, u32),
) -> Touch {
    // Which part of an element the cell is: strong accesses of one element are of one extent.
    let within = (cell * grain).saturating_sub(offset) % access.element_bytes.max(1) / grain;
    let extent = (within << 4 | access.element_bytes.trailing_zeros()) as u8;
    Touch { block: block as u32, warp: warp.number, lanes, at: access.at, kind, force: force(access), extent }
}
