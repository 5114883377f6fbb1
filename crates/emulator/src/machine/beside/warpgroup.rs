//! `wgmma`: four warps multiply together, beside the threads.
//!
//! The warps wait for each other at the product, which four of them ask for; then its values are computed at once. What it
//! reads of shared memory is an agent's access (`order::agents`) from then on, until a warp has waited for the group of the
//! product: one warp speaks for its warpgroup. Each warp asks for its own sixteen rows of A, and for all of B. Registers in
//! flight are `product_registers`' affair.

use crate::machine::arithmetic::warpgroup_mma::{self, Line, Product, ROWS};
use crate::machine::lanes::LANES;
use crate::machine::order::{Agent, Kind};
use crate::machine::state::warp::{GROUP, Path, State, Wait, Warp};
use crate::machine::state::worker::Worker;
use crate::matrix_descriptor::{Major, MatrixDescriptor, Swizzle};
use crate::origin::Place;
use crate::program::{Access, Exit, Extended, Extension, File, Group, GroupMultiply, Op};
use crate::{Fault, FaultKind};
/// Rows of A.
const M: u32 = 64;
/// Bytes of a chunk.
const CHUNK: u32 = 16;

/// An operand in shared memory: where its chunks lie, two for each line of 32 bytes of K.
struct Operand<'a> {
    access: &'a Access,
    major: Major,
    /// Rows of A or columns of B.
    count: u32,
    /// Where it begins, if it lies along K in lines of 128 bytes.
    start: Option<u32>,
    /// By line, and by chunk within. Along K a line is one of them; else it is one of K, of sixteen.
    chunks: Vec<u32>,
}

impl Operand<'_> {
    fn per_line(&self) -> usize {
        match self.major {
            Major::K => 2,
            Major::Mn => self.count as usize / 8,
        }
    }

    /// The chunks that a warp's rows of A are in.
    fn chunks_of(&self, warp: usize) -> impl Iterator<Item = u32> + '_ {
        let per = self.per_line();
        self.chunks
            .iter()
            .enumerate()
            .filter(move |(n, _)| match self.major {
                Major::K => n / per / ROWS == warp,
                Major::Mn => n % per / 2 == warp,
            })
            .map(|(_, at)| *at)
    }

    /// Which of the rows or columns have some of these chunks.
    fn indices(&self, chunk: usize) -> std::ops::Range<usize> {
        let per = self.per_line();
        match self.major {
            Major::K => chunk / per..chunk / per + 1,
            Major::Mn => chunk % per * 8..chunk % per * 8 + 8,
        }
    }

    /// What lies there, by rows of A or columns of B.
    fn fetch(&self, shared: &[u32]) -> Vec<Line> {
        let mut lines = vec![Line::default(); self.count as usize];
        for (n, &at) in self.chunks.iter().enumerate() {
            let words = &shared[at as usize / 4..at as usize / 4 + 4];
            let (line, chunk) = (n / self.per_line(), n % self.per_line());
            match self.major {
                Major::K => lines[line][4 * chunk..4 * chunk + 4].copy_from_slice(words),
                Major::Mn => {
                    for (element, line_of) in lines[8 * chunk..8 * chunk + 8].iter_mut().enumerate() {
                        let bits = words[element / 2] >> (16 * (element % 2)) & 0xffff;
                        line_of[line / 2] |= bits << (16 * (line % 2));
                    }
                }
            }
        }
        lines
    }
}

/// Chunks as ranges, in order: start and length.
fn ranges(chunks: impl Iterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut chunks: Vec<u32> = chunks.collect();
    chunks.sort_unstable();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for at in chunks {
        match ranges.last_mut() {
            Some((start, length)) if at < *start + *length => {}
            Some((start, length)) if at == *start + *length => *length += CHUNK,
            _ => ranges.push((at, CHUNK)),
        }
    }
    ranges
}

impl Worker<'_> {
    /// What a warp does of `wgmma` by itself.
    pub(crate) fn group(&mut self, warp: &mut Warp, group: Group, (mask, at): (u32, u32)) -> Result<(), Box<Fault>> {
        if mask != u32::MAX {
            return Err(self.convict_part_of_warp(warp, mask, at));
        }
        let Some(flight) = &mut warp.group else { return Ok(()) };
        match group {
            Group::Fence => flight.fence(),
            Group::Commit => flight.committed += 1,
            Group::Wait(pending) => {
                let time = flight.committed.saturating_sub(pending);
                flight.retired = flight.retired.max(time);
                let agent = self.state.mbarriers.group_agent(warp.number / GROUP as u32);
                if let Some(clocks) = self.clocks.as_mut().filter(|_| time > 0) {
                    let agent = Agent { number: agent, time };
                    clocks.learn_of_agent(self.state.block as u32, (warp.number, u32::MAX), warp.live, agent);
                }
            }
            Group::Multiply(_) => {}
        }
        Ok(())
    }

    /// The present path of a warp comes to a product. Says whether the warp stops here.
    #[inline(never)]
    pub(crate) fn reach_group(
        &mut self,
        warp: &mut Warp,
        path: Path,
        mask: u32,
        (at, next): (u32, u32),
    ) -> Result<bool, Box<Fault>> {
        if mask != u32::MAX {
            return Err(self.convict_part_of_warp(warp, mask, at));
        }
        let (first, own) = (warp.number as usize / GROUP * GROUP, warp.number as usize % GROUP);
        if self.state.warps.len() < first + GROUP {
            return Err(self.convict_small_group(warp, at));
        }
        for number in (first..first + GROUP).filter(|number| number % GROUP != own) {
            let other = &self.state.warps[number];
            if other.state == State::Done {
                return Err(self.convict_ended_warp(warp, at, number as u32));
            }
            let waits = other.paths.last().filter(|path| other.state == State::Waiting && path.wait == Wait::Group);
            if let Some(place) = waits.map(|path| self.context.program.blocks[path.block as usize].end - 1)
                && place != at
            {
                return Err(self.convict_other_product(warp, at, (number as u32, place)));
            }
        }
        let waits = |number: &usize| {
            let other = &self.state.warps[*number];
            number % GROUP == own
                || other.state == State::Waiting && other.paths.last().is_some_and(|path| path.wait == Wait::Group)
        };
        if !(first..first + GROUP).all(|number| waits(&number)) {
            warp.replace_path(&[Path { wait: Wait::Group, ..path }]);
            warp.state = State::Waiting;
            return Ok(true);
        }
        let mut warps: Vec<Box<Warp>> =
            (first..first + GROUP).map(|number| std::mem::take(&mut self.state.warps[number])).collect();
        std::mem::swap(&mut *warps[own], warp);
        let done = self.multiply_together(&mut warps, at);
        std::mem::swap(&mut *warps[own], warp);
        for (number, mut other) in (first..).zip(warps) {
            if number % GROUP != own {
                other.state = State::Ready;
                let index = other.paths.len() - 1;
                let block = &self.context.program.blocks[other.paths[index].block as usize];
                if let Exit::Meeting(next) = block.exit {
                    other.let_go(index, next);
                }
            }
            self.state.warps[number] = other;
        }
        done?;
        warp.advance(next);
        Ok(false)
    }

    /// All four warps are at a product.
    fn multiply_together(&mut self, warps: &mut [Box<Warp>], at: u32) -> Result<(), Box<Fault>> {
        let program = self.context.program;
        let Op::Extended(index) = program.code[at as usize].op else { return Ok(()) };
        let extended = &program.extended[index as usize];
        let Extension::Group(Group::Multiply(form)) = extended.what else { return Ok(()) };
        self.probing.seen.changed = true;
        let adds = self.whether_to_add(warps, extended, at)?;
        let mut accesses = extended.accesses.iter().map(|index| &program.accesses[*index as usize]);
        let a = match accesses.next().filter(|_| !form.in_registers) {
            Some(access) => Some(self.operand(warps, access, form, 0)?),
            None => None,
        };
        let Some(b) = extended.accesses.last().map(|index| &program.accesses[*index as usize]) else { return Ok(()) };
        let b = self.operand(warps, b, form, 1)?;
        if self.context.sanitize {
            self.check_flight(warps, (extended, form), at)?;
            self.note_step(warps, [a.as_ref().and_then(|a| a.start), b.start], at);
            self.read_operands(warps, (a.as_ref(), &b))?;
            self.taint_sums(warps, (extended, adds), (a.as_ref(), &b));
        }
        let a_lines = a.map_or_else(Vec::new, |a| a.fetch(&self.state.shared));
        let b_lines = b.fetch(&self.state.shared);
        let product = Product { multiply: form, generation: self.context.generation, a: &a_lines, b: &b_lines, adds };
        warpgroup_mma::multiply(warps, extended, &product);
        Ok(())
    }

    /// Whether the product is added to D, which all threads say alike.
    fn whether_to_add(&self, warps: &[Box<Warp>], extended: &Extended, at: u32) -> Result<bool, Box<Fault>> {
        let Some((_, slot)) = extended.reads.iter().find(|(file, _)| *file == File::P) else { return Ok(true) };
        let slot = *slot as usize;
        let first = warps[0].p[slot] & 1;
        for warp in warps {
            self.forbid(warp, (File::P, slot as u32), u32::MAX, at, "whether a product is added")?;
            let unlike = if first == 1 { !warp.p[slot] } else { warp.p[slot] };
            if unlike != 0 {
                return Err(self.convict_unlike(warp, unlike.trailing_zeros(), at, "whether to add to D"));
            }
        }
        Ok(first == 1)
    }

    /// Where an operand lies, which all threads say alike, and all of it in shared memory.
    fn operand<'a>(
        &self,
        warps: &[Box<Warp>],
        access: &'a Access,
        form: GroupMultiply,
        which: usize,
    ) -> Result<Operand<'a>, Box<Fault>> {
        let bits = warps[0].d[access.base as usize].0[0];
        for warp in warps {
            self.forbid(warp, (File::D, access.base), u32::MAX, access.at, "an address")?;
            let values = &warp.d[access.base as usize].0;
            if let Some(lane) = values.iter().position(|value| *value != bits) {
                let what = ["where A lies", "where B lies"][which];
                return Err(self.convict_unlike(warp, lane as u32, access.at, what));
            }
        }
        let name = ["A", "B"][which];
        let Some(descriptor) = MatrixDescriptor::decode(bits) else {
            let what = format!("{name}'s descriptor {bits:#018x} has bits set that belong to no field");
            return Err(self.convict_descriptor(&warps[0], access, FaultKind::Misaligned, &what));
        };
        let count = if which == 0 { M } else { form.n.into() };
        let (major, lines, per) = match form.transpose[which] {
            true => (Major::Mn, u32::from(form.k), count / 8),
            false => (Major::K, count, 2),
        };
        let chunks: Vec<u32> =
            (0..lines).flat_map(|line| (0..per).map(move |chunk| descriptor.chunk(major, line, chunk))).collect();
        let (start, end) = access.within;
        let end = end.min(self.shared_bytes);
        if let Some(n) = chunks.iter().position(|at| *at < start || at + CHUNK > end) {
            let what = format!(
                "{name} ({}): its chunk {} of line {} lies at offset {}, outside {}",
                in_words(&descriptor),
                n as u32 % per,
                n as u32 / per,
                chunks[n],
                self.shared_in_words(access)
            );
            return Err(self.convict_descriptor(&warps[0], access, FaultKind::OutOfBounds, &what));
        }
        let start = (form.transpose[which], descriptor.swizzle) == (false, Swizzle::Bytes128);
        let start = start.then_some(descriptor.start);
        Ok(Operand { access, major, count, start, chunks })
    }

    /// From here on an agent reads the operands.
    fn read_operands(&mut self, warps: &[Box<Warp>], (a, b): (Option<&Operand>, &Operand)) -> Result<(), Box<Fault>> {
        let Some(time) = warps[0].group.as_ref().map(|flight| flight.committed + 1) else { return Ok(()) };
        let number = self.state.mbarriers.group_agent(warps[0].number / GROUP as u32);
        let agent = Agent { number, time };
        let all = ranges(b.chunks.iter().copied());
        for access in a.iter().map(|a| a.access).chain([b.access]) {
            self.state.mbarriers.note_asker(number, access.at, (self.state.block, warps[0].number * LANES as u32));
        }
        for (n, warp) in warps.iter().enumerate() {
            if let Some(a) = a {
                for range in ranges(a.chunks_of(n)) {
                    self.agent_access(warp, a.access, range, ((warp.number, 0), self.state.block, agent), Kind::Read)?;
                }
            }
            for range in &all {
                self.agent_access(warp, b.access, *range, ((warp.number, 0), self.state.block, agent), Kind::Read)?;
            }
        }
        Ok(())
    }

    /// The first byte of a chunk that nobody wrote.
    fn unwritten_in(&self, chunk: u32) -> Option<u32> {
        let grain = self.context.program.shared_grain;
        let cells = chunk / grain..(chunk + CHUNK).div_ceil(grain);
        let unwritten = |cell: &u32| self.state.cells.write(*cell).epoch() < self.state.first_epoch;
        if self.state.cells.is_empty() {
            None
        } else {
            cells.clone().find(unwritten).map(|cell| (cell * grain).max(chunk))
        }
    }

    /// Sums are computed from what nobody wrote if anything of their row, of their column, or of what they are added to is.
    fn taint_sums(
        &self,
        warps: &mut [Box<Warp>],
        (extended, adds): (&Extended, bool),
        (a, b): (Option<&Operand>, &Operand),
    ) {
        let missing = |operand: &Operand| -> Vec<(usize, u32)> {
            let found = operand.chunks.iter().enumerate().filter_map(|(n, at)| Some((n, self.unwritten_in(*at)?)));
            found.flat_map(|(n, at)| operand.indices(n).map(move |index| (index, at))).collect()
        };
        let rows = a.map_or_else(Vec::new, missing);
        let columns = missing(b);
        let (first, per) = (a.is_none().then_some(4), extended.writes.len());
        let a_registers = &extended.reads[..first.unwrap_or_default()];
        for (n, warp) in warps.iter_mut().enumerate() {
            if rows.is_empty() && columns.is_empty() && warp.taint.is_none() {
                continue;
            }
            let mut taint = warp
                .taint
                .take()
                .unwrap_or_else(|| Box::new(crate::machine::state::shadow::Taint::new(self.context.program)));
            // Of each row and column, where what nobody wrote comes from.
            let mut of_row = [None; ROWS];
            let mut of_column = vec![None; b.count as usize];
            for &(row, at) in rows.iter().filter(|(row, _)| row / ROWS == n) {
                let at_access = a.map(|a| a.access.at).unwrap_or_default();
                of_row[row % ROWS] = Some(taint.note(self.origin(warp, 0, at_access, Place::Shared(at))));
            }
            for &(column, at) in &columns {
                of_column[column] = Some(taint.note(self.origin(warp, 0, b.access.at, Place::Shared(at))));
            }
            for (n, &(file, slot)) in a_registers.iter().enumerate() {
                for lane in (0..LANES).filter(|lane| taint.lanes(file, slot) >> lane & 1 == 1) {
                    of_row[lane / 4 + n % 2 * 8] = Some(taint.origin_index(file, slot, lane));
                }
            }
            let halves = per * 4 == b.count as usize;
            for (n, &(file, slot)) in extended.writes.iter().enumerate() {
                let before = if adds { taint.lanes(file, slot) } else { 0 };
                for lane in 0..LANES {
                    let (row, column, many) = match halves {
                        true => (lane / 4 + n % 2 * 8, n / 2 * 8 + lane % 4 * 2, 2),
                        false => (lane / 4 + n / 2 % 2 * 8, n / 4 * 8 + lane % 4 * 2 + n % 2, 1),
                    };
                    let new = of_row[row].or_else(|| of_column[column..column + many].iter().flatten().next().copied());
                    match new {
                        Some(origin) => taint.set(file, slot, lane, (0, true), origin),
                        None if before >> lane & 1 == 1 => {
                            let origin = taint.origin_index(file, slot, lane);
                            taint.set(file, slot, lane, (0, true), origin);
                        }
                        None => taint.set(file, slot, lane, (0, false), 0),
                    }
                }
            }
            warp.taint = Some(taint);
        }
    }

    /// The registers of a product may be used by it, and are in flight from here on.
    fn check_flight(
        &self,
        warps: &mut [Box<Warp>],
        (extended, form): (&Extended, GroupMultiply),
        at: u32,
    ) -> Result<(), Box<Fault>> {
        let of = |warp: &Warp| warp.group.as_ref().map(|flight| flight.committed).unwrap_or_default();
        let committed = of(&warps[0]);
        if let Some(other) = warps.iter().find(|warp| of(warp) != committed) {
            return Err(self.convict_groups(&warps[0], at, (committed, other.number, of(other))));
        }
        for warp in warps {
            let Some(mut flight) = warp.group.take() else { continue };
            let found = flight.launch(self.context.program, extended, form, at);
            warp.group = Some(flight);
            if let Err(hazard) = found {
                return Err(self.convict_hazard(warp, at, hazard));
            }
        }
        Ok(())
    }
}

fn in_words(descriptor: &MatrixDescriptor) -> String {
    let MatrixDescriptor { start, leading, stride, swizzle, .. } = descriptor;
    let swizzle = match swizzle.chunks() {
        1 => "no swizzle".to_string(),
        chunks => format!("swizzle of {} bytes", 16 * chunks),
    };
    format!("start {start}, leading {leading}, stride {stride} bytes, {swizzle}")
}
