//! Accesses under the order model: each is held against the earlier ones of its cells, and then kept there.

use std::ops::Range;

use super::shared_access::read_shared;
use crate::Fault;
use crate::machine::lanes::{LANES, each, mask_where};
use crate::machine::order::{Access as Touch, Clash, Kind, LINE, Side, View, force};
use crate::machine::state::deed::{Deed, Target};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::machine::verdict::warn::Reuse;
use crate::program::{Access, Op, Order};

impl Worker<'_> {
    /// Lanes access the addresses, or offsets in shared memory, at hand.
    #[inline(never)]
    pub(crate) fn order_access(
        &mut self,
        warp: &Warp,
        access: &Access,
        mask: u32,
        target: Target,
        deed: Deed,
    ) -> Result<(), Box<Fault>> {
        if matches!(target, Target::Shared) && deed.check && !self.state.mbarriers.is_empty() {
            self.check_objects(warp, access, mask, deed)?;
        }
        let Some(clocks) = &mut self.clocks else { return Ok(()) };
        clocks.enter(self.state.block as u32);
        let (offsets, buffer) = (target.offsets(warp), target.buffer());
        let touches = Touches::new(self, warp, access, target, deed);
        let mut mask = mask;
        if access.order == Order::Weak
            && deed.is_plain()
            && !access.read_only
            && let Some(lines) = Lines::of(&offsets, mask, &touches)
            && let Some(clocks) = &mut self.clocks
        {
            mask &= !clocks.keep_lines(buffer, lines.all(), &touches.now);
        }
        if mask == 0 {
            return Ok(());
        }
        let together = deed.kind == Kind::Read;
        let parts = || parts(&offsets, mask, together);
        if let Some(clocks) = &mut self.clocks {
            parts().for_each(|part| clocks.open(buffer, touches.cells(part)));
        }
        if deed.check
            && let Some(clocks) = &self.clocks
        {
            if deed.kind == Kind::Write && !access.ordered() && deed.keep {
                self.colliding_lanes(warp, access, mask, target)?;
            }
            let view = clocks.view(buffer);
            let mut reuses = Vec::new();
            for part in parts() {
                self.check_part((warp, access), &view, &touches, (part, &mut reuses), (target, deed))?;
            }
            for reuse in reuses {
                self.warn_of_reuse(warp, access, target, &reuse);
            }
        }
        if deed.keep
            && let Some(clocks) = &mut self.clocks
        {
            for part in parts() {
                clocks.keep(buffer, touches.cells(part), access.order, touches.of(part.0));
            }
        }
        Ok(())
    }

    /// Plain accesses to shared memory must not meet a barrier there.
    fn check_objects(&self, warp: &Warp, access: &Access, mask: u32, deed: Deed) -> Result<(), Box<Fault>> {
        let offsets = &warp.scratch.offsets.0;
        let met = |lane: usize| Some((lane, self.state.mbarriers.at(offsets[lane], deed.length)?));
        match each(mask).find_map(met) {
            None => Ok(()),
            Some((lane, place)) => Err(self.convict_plain_use(warp, access, lane as u32, place, deed.kind.verb())),
        }
    }

    fn check_part(
        &self,
        (warp, access): (&Warp, &Access),
        view: &View,
        touches: &Touches,
        ((lanes, offset), reuses): ((u32, u32), &mut Vec<Reuse>),
        (target, deed): (Target, Deed),
    ) -> Result<(), Box<Fault>> {
        let grain = touches.grain;
        for cell in touches.cells((lanes, offset)) {
            let now = touches.of(lanes);
            let same = || {
                if (deed.kind, deed.keep) != (Kind::Write, true) {
                    return false;
                }
                let bytes = warp.stored_bytes(access, lanes.trailing_zeros() as usize);
                let unchanged = |at: u32| {
                    let old = match target {
                        Target::Shared => read_shared(&self.state.shared, at, 1) as u8,
                        Target::Global(_, memory) => memory.load(at as usize, 1) as u8,
                    };
                    bytes.get((at - offset) as usize) == Some(&old)
                };
                (cell * grain..(cell + 1) * grain).all(unchanged)
            };
            let mut harmless = |clash: &Clash| {
                let then = clash.before.access();
                if self.is_reuse(access, (now.block, now.warp), then.at, (then.block, then.warp)) {
                    let Clash { lane, other, .. } = *clash;
                    reuses.push(Reuse { offset: cell * grain, lane, other, at: then.at });
                    return true;
                }
                // Two stores of one value leave it whatever their order.
                then.kind == Kind::Write && same()
            };
            if let Some(clash) = view.clash(cell, &now, &mut harmless) {
                return Err(self.convict_clash(warp, access, target, cell * grain, (&clash, &now)));
            }
            if deed.kind == Kind::Write
                && access.ordered()
                && self.is_sum(access)
                && let Some(clash) = view.lost_update(cell, &now)
            {
                return Err(self.convict_lost_update(warp, access, target, cell * grain, &clash));
            }
            if deed.kind != Kind::Read {
                continue;
            }
            if access.read_only
                && let Some(write) = view.written(cell)
            {
                let lane = lanes.trailing_zeros();
                let (then, other) = (write.access(), write.access().lanes.trailing_zeros());
                let clash = Clash { before: write, other, lane };
                return Err(self.convict_read_only(warp, access, target, cell * grain, (&clash, then.kind.verb())));
            }
            if matches!(access.order, Order::Relaxed | Order::Volatile)
                && self.is_blind(access)
                && let Some(clash) = view.unordered_store(cell, &now)
            {
                return Err(self.convict_stale(warp, access, target, cell * grain, &clash));
            }
        }
        Ok(())
    }

    /// Whether an access is of floats, which are no flags: who loads one of them does not wait for it.
    fn is_sum(&self, access: &Access) -> bool {
        let opcode = &self.context.program.info[access.at as usize].opcode;
        [".f32", ".f64", ".f16", ".bf16"].iter().any(|of| opcode.ends_with(of))
    }

    fn is_blind(&self, access: &Access) -> bool {
        let program = self.context.program;
        matches!(program.code[access.at as usize].op, Op::Load(index) if program.blind_loads[index as usize])
    }

    /// Lanes of one store that write different values to one place.
    fn colliding_lanes(&self, warp: &Warp, access: &Access, mask: u32, target: Target) -> Result<(), Box<Fault>> {
        let offsets = target.offsets(warp);
        for lane in each(mask) {
            let same = mask_where(|other| offsets[other] == offsets[lane]) & mask & ((1 << lane) - 1);
            let differs = |other: &usize| warp.stored_bytes(access, *other) != warp.stored_bytes(access, lane);
            if let Some(other) = each(same).find(differs) {
                return Err(self.convict_one_store(warp, access, target, offsets[lane], (lane as u32, other as u32)));
            }
        }
        Ok(())
    }
}

/// The lanes and the offset of each part of an access, in the order of lanes. Lanes that do it `together` and have one
/// place are one part.
pub(crate) fn parts(offsets: &[u32; LANES], mask: u32, together: bool) -> impl Iterator<Item = (u32, u32)> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let first = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
        let offset = offsets[first];
        let lanes = if together { mask_where(|lane| offsets[lane] == offset) & rest } else { 1 << first };
        rest &= !lanes;
        Some((lanes, offset))
    })
}

/// The lines of which an access has all cells, each with lanes side by side.
struct Lines {
    lines: [(u32, Side); LANES],
    count: usize,
}

impl Lines {
    /// Nothing where the access is not all in such lines, or not each lane in another place.
    fn of(offsets: &[u32; LANES], mask: u32, touches: &Touches) -> Option<Lines> {
        let (length, bytes) = (touches.length, touches.grain * LINE as u32);
        if !length.is_power_of_two() || length < touches.grain || length > bytes {
            return None;
        }
        let (count, shift) = (bytes / length, (length / touches.grain).trailing_zeros() as u8);
        let mut lines = Lines { lines: [(0, Side::default()); LANES], count: 0 };
        let mut rest = mask;
        while rest != 0 {
            let first = rest.trailing_zeros();
            let start = offsets[first as usize];
            if !start.is_multiple_of(bytes) {
                return None;
            }
            let follows = |step: &u32| count == 1 || offsets[(first + step) as usize] == start + length;
            let step = (1..LANES as u32 - first).find(follows).unwrap_or(1);
            for n in 0..count {
                let lane = first + n * step;
                if lane >= LANES as u32 || rest >> lane & 1 == 0 || offsets[lane as usize] != start + n * length {
                    return None;
                }
                rest &= !(1 << lane);
            }
            let line = start / bytes;
            if lines.all().iter().any(|(known, _)| *known == line) {
                return None;
            }
            lines.lines[lines.count] = (line, Side { first: first as u8, step: step as u8, shift });
            lines.count += 1;
        }
        Some(lines)
    }

    fn all(&self) -> &[(u32, Side)] {
        &self.lines[..self.count]
    }
}

/// An access, as the order model sees it: cell by cell.
struct Touches {
    now: Touch,
    grain: u32,
    /// Bytes of each lane.
    length: u32,
}

impl Touches {
    fn new(worker: &Worker, warp: &Warp, access: &Access, target: Target, deed: Deed) -> Touches {
        let (block, warp, kind, force) = (worker.state.block as u32, warp.number, deed.kind, force(access));
        let grain = match target {
            Target::Shared => worker.context.program.shared_grain,
            Target::Global(..) => worker.context.program.global_grain,
        };
        let extent = access.element_bytes.trailing_zeros() as u8;
        let now = Touch { block, warp, lanes: 0, at: access.at, kind, force, extent };
        Touches { now, grain, length: deed.length }
    }

    #[inline]
    fn cells(&self, (_, offset): (u32, u32)) -> Range<u32> {
        let shift = self.grain.trailing_zeros();
        offset >> shift..(offset + self.length + self.grain - 1) >> shift
    }

    #[inline]
    fn of(&self, lanes: u32) -> Touch {
        Touch { lanes, ..self.now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::order::Force;

    /// The lines of an access of so many bytes per lane, in cells of 4.
    fn lines(mask: u32, length: u32, offset: impl Fn(u32) -> u32) -> Option<Vec<(u32, [u8; 2])>> {
        let force = Force::Weak;
        let now = Touch { block: 0, warp: 0, lanes: 0, at: 0, kind: Kind::Write, force, extent: 0 };
        let offsets = std::array::from_fn(|lane| offset(lane as u32));
        let lines = Lines::of(&offsets, mask, &Touches { now, grain: 4, length })?;
        Some(lines.all().iter().map(|(line, side)| (*line, [side.first, side.step])).collect())
    }

    #[test]
    fn lines_are_found_where_lanes_lie_side_by_side() {
        assert_eq!(lines(!0, 4, |l| 64 + 4 * l), Some(vec![(1, [0, 1]), (2, [16, 1])]), "a row of words");
        assert_eq!(lines(0xffff, 4, |l| 4 * l), Some(vec![(0, [0, 1])]), "half of one");
        let vectors: Vec<_> = (0..8).map(|n| (n, [4 * n as u8, 1])).collect();
        assert_eq!(lines(!0, 16, |l| 16 * l), Some(vectors), "a row of vectors");
        assert_eq!(lines(0xff, 16, |l| 16 * (l / 2) + 640 * (l % 2)), Some(vec![(0, [0, 2]), (10, [1, 2])]), "in turn");
        assert_eq!(lines(3, 64, |l| 64 * l), Some(vec![(0, [0, 1]), (1, [1, 1])]), "a line each");
    }

    #[test]
    fn none_are_found_where_a_cell_of_one_is_left_out() {
        assert_eq!(lines(!0, 4, |l| 4 + 4 * l), None, "off by one");
        assert_eq!(lines(!2, 4, |l| 4 * l), None, "a lane does not run");
        assert_eq!(lines(!0, 4, |l| 8 * l), None, "every other word");
        assert_eq!(lines(!0, 4, |l| 4 * (l % 16)), None, "two lanes have one place");
        assert_eq!(lines(!0, 4, |_| 0), None, "all have");
        assert_eq!(lines(!0, 128, |l| 128 * l), None, "lanes that have more than a line");
        assert_eq!(lines(0x1f, 12, |l| 12 * l), None, "lanes of three words");
        assert_eq!(lines(!0, 2, |l| 2 * l), None, "lanes that have less than a cell");
        assert_eq!(lines(0x7fff, 4, |l| 4 * l), None, "a line's last cell is left out");
        assert_eq!(lines(!0, 4, |l| 4 * (l % 31)), None, "the last lane has the first one's place");
    }
}
