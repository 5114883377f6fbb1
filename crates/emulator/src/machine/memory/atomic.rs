//! Atomics, lane by lane in ascending order. Thread blocks of a kernel with atomics in global memory run
//! one after the other, so that results do not depend on chance.

use super::shared_access::{read_shared, write_shared};
use crate::Fault;
use crate::global::locate;
use crate::machine::arithmetic::float64::is_nan_f64;
use crate::machine::arithmetic::general::evaluate;
use crate::machine::lanes::{LANES, each, mask_where};
use crate::machine::order::Kind;
use crate::machine::state::deed::{Deed, Target};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::origin::{Origin, Place};
use crate::program::{
    Access, Atomic, AtomicOp, BLOCK_WINDOW, Extended, File, FloatOp, Format, General, IntegerOp, Mode, SHARED_WINDOW,
    Slot, Space, in_window, single,
};
use crate::stamp::Stamp;

impl Worker<'_> {
    pub(crate) fn atomic(
        &mut self,
        warp: &mut Warp,
        extended: &Extended,
        atomic: Atomic,
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        let access = &self.context.program.accesses[extended.accesses[0] as usize];
        warp.set_addresses(access, mask);
        let addresses = warp.scratch.addresses.0;
        let window = if access.space == Space::Generic { SHARED_WINDOW } else { 0 };
        let shared = match access.space {
            Space::Shared => mask,
            Space::Global => 0,
            _ => mask_where(|lane| in_window(addresses[lane], SHARED_WINDOW)) & mask,
        };
        let mut old = <[u128; LANES]>::default();
        let mut unwritten = 0;
        if shared != 0 {
            warp.narrow_addresses(&addresses, shared, window);
            let mut missing = 0;
            let deed = |worker: &mut Self, warp: &mut Warp, lanes: u32| {
                missing |= worker.atomic_shared(warp, extended, access, atomic, lanes, &mut old)?;
                if worker.state.owner != worker.state.block {
                    worker.tally.peers[extended.accesses[0] as usize].add_lanes(lanes);
                }
                Ok(())
            };
            let elsewhere = self.at_each_rank(warp, access, shared, deed)?.is_some();
            unwritten |= missing;
            if !elsewhere {
                unwritten |= self.atomic_shared(warp, extended, access, atomic, shared, &mut old)?;
            }
        }
        if mask & !shared != 0 {
            let global = mask & !shared;
            warp.narrow_addresses(&addresses, global, 0);
            unwritten |= self.atomic_global(warp, extended, access, atomic, global, &mut old)?;
        }
        if let Some(&(file, d)) = extended.writes.first() {
            let low = old.map(|value| value as u64);
            self.polled(warp, access.at, each(mask).map(|lane| low[lane]));
            warp.set_wide(file, d, &low, mask);
            let mut registers = single(d);
            if let Some(&(file, upper)) = extended.writes.get(1) {
                warp.set_wide(file, upper, &old.map(|value| (value >> 64) as u64), mask);
                registers[1] = upper;
            }
            if self.context.sanitize && (unwritten != 0 || warp.taint.is_some()) {
                let elements = extended.writes.len() as u32;
                let view = Access { registers, elements, wide: atomic.bits >= 64, ..access.clone() };
                let missing = |lane: usize| if unwritten >> lane & 1 == 1 { u32::MAX } else { 0 };
                let place = |lane: usize, _| match shared >> lane & 1 {
                    1 => Place::Shared((addresses[lane].wrapping_sub(window) % BLOCK_WINDOW) as u32),
                    _ => {
                        let (buffer, offset) = locate(addresses[lane]);
                        Place::Global(buffer, offset as u64)
                    }
                };
                self.taint_loaded(warp, &view, mask, &missing, &place);
            }
        }
        Ok(())
    }

    /// Gives the lanes that met memory that nobody wrote. Such memory stays so, unless the atomic
    /// replaces it whatever it was.
    fn atomic_shared(
        &mut self,
        warp: &mut Warp,
        extended: &Extended,
        access: &Access,
        atomic: Atomic,
        mask: u32,
        old: &mut [u128; LANES],
    ) -> Result<u32, Box<Fault>> {
        let offsets = self.offsets(warp, access, mask)?;
        let bytes = u32::from(atomic.bits) / 8;
        let grain = self.context.program.shared_grain;
        let stamp = self.stamp(warp, access.at);
        let mut unwritten = 0;
        self.check_under_way(warp, access, mask)?;
        for lane in each(mask) {
            let (at, now) = (offsets[lane], stamp.of_thread(stamp.thread() + lane as u32));
            if self.shared_by_clocks() {
                let deed = Deed::new(Kind::Atomic, bytes);
                self.order_access(warp, access, 1 << lane, Target::Shared, deed)?;
            }
            old[lane] = read_shared(&self.state.shared, at, bytes.min(8)).into();
            if bytes > 8 {
                old[lane] |= u128::from(read_shared(&self.state.shared, at + 8, 8)) << 64;
            }
            let new = changed(atomic, old[lane], (warp, extended, lane), false);
            self.state.writes += u64::from(new != old[lane]);
            write_shared(&mut self.state.shared, at, bytes.min(8), new as u64);
            if bytes > 8 {
                write_shared(&mut self.state.shared, at + 8, 8, (new >> 64) as u64);
            }
            if self.state.cells.is_empty() {
                continue;
            }
            // What comes of an unwritten operand is as good as unwritten.
            let now =
                if self.unwritten_operand(warp, extended, atomic.op, lane).is_some() { Stamp::default() } else { now };
            for cell in at / grain..(at + bytes) / grain {
                let written = self.state.cells.write(cell).epoch() >= self.state.first_epoch;
                unwritten |= u32::from(!written) << lane;
                if atomic.op == AtomicOp::Exchange || written {
                    self.state.cells.mark(cell as usize, 1, now);
                }
            }
        }
        Ok(unwritten)
    }

    fn atomic_global(
        &mut self,
        warp: &mut Warp,
        extended: &Extended,
        access: &Access,
        atomic: Atomic,
        mask: u32,
        old: &mut [u128; LANES],
    ) -> Result<u32, Box<Fault>> {
        use std::sync::atomic::Ordering::Relaxed;
        self.home(warp, access, mask)?;
        self.check_sources(warp, access, mask)?;
        let addresses = warp.scratch.addresses.0;
        let bytes = u32::from(atomic.bits) / 8;
        let mut unwritten = 0;
        for lane in each(mask) {
            let (buffer, offset) = locate(addresses[lane]);
            let context = self.context;
            let (memory, at) = (&context.memory.buffers[buffer], offset as usize);
            memory.touch_sector(at / 32);
            if memory.watch.is_some() && self.global_by_clocks() {
                let deed = Deed::new(Kind::Atomic, bytes);
                self.order_access(warp, access, 1 << lane, Target::Global(buffer, memory), deed)?;
            }
            if let Some(operand) = self.unwritten_operand(warp, extended, atomic.op, lane) {
                let reaches = format!("a result, {}", memory.name);
                return Err(self.convict_uninitialised(warp, lane as u32, access.at, &reaches, Some(operand)));
            }
            old[lane] = memory.load(at, bytes.min(8)).into();
            if bytes > 8 {
                old[lane] |= u128::from(memory.load(at + 8, 8)) << 64;
            }
            let new = changed(atomic, old[lane], (warp, extended, lane), true);
            self.state.writes += u64::from(new != old[lane]);
            memory.store(at, bytes.min(8), new as u64);
            if bytes > 8 {
                memory.store(at + 8, 8, (new >> 64) as u64);
            }
            if let Some(written) = memory.written.get() {
                let flags = &written[at..at + bytes as usize];
                unwritten |= u32::from(flags.iter().any(|flag| flag.load(Relaxed) == 0)) << lane;
                if atomic.op == AtomicOp::Exchange {
                    flags.iter().for_each(|flag| flag.store(1, Relaxed));
                }
            }
        }
        Ok(unwritten)
    }
}

impl Worker<'_> {
    /// Where an operand of a lane comes from that nobody wrote. One that is only put there may be a copy of such.
    fn unwritten_operand(&self, warp: &Warp, extended: &Extended, op: AtomicOp, lane: usize) -> Option<Origin> {
        let taint = warp.taint.as_ref()?;
        let copies = matches!(op, AtomicOp::Exchange | AtomicOp::CompareAndSwap);
        let unwritten = |(file, slot): &&(File, Slot)| match taint.of_lane(*file, *slot, lane) {
            (_, true) => true,
            (bytes, false) => bytes != 0 && !copies,
        };
        let (file, slot) = extended.reads.iter().find(unwritten)?;
        taint.origin(*file, *slot, lane)
    }
}

/// The value that an atomic of a lane leaves in memory, of up to 128 bits: then its operands are two registers each.
fn changed(atomic: Atomic, old: u128, (warp, extended, lane): (&Warp, &Extended, usize), global: bool) -> u128 {
    let value = |n: usize| extended.reads.get(n).map(|(file, slot)| warp.wide(*file, *slot, lane)).unwrap_or_default();
    if atomic.bits < 128 {
        return apply(atomic, old as u64, [value(0), value(1)], global).into();
    }
    let [b, c] = [0, 2].map(|n| u128::from(value(n + 1)) << 64 | u128::from(value(n)));
    match atomic.op {
        AtomicOp::CompareAndSwap if old == b => c,
        AtomicOp::CompareAndSwap => old,
        _ => b,
    }
}

/// The value that an atomic leaves in memory.
pub(crate) fn apply(atomic: Atomic, old: u64, [b, c]: [u64; 2], global: bool) -> u64 {
    let Atomic { op, bits, signed, float } = atomic;
    let mask = u64::MAX >> (64 - bits);
    let integer = |op| evaluate(General::Integer { op, bits, signed }, [old, b, b, b]);
    match (op, float) {
        // The units at global memory keep a NaN as it is, those of the multiprocessor make it quiet.
        (AtomicOp::Add, Some((Format::F64, _))) if global && (is_nan_f64(old) || is_nan_f64(b)) => {
            if is_nan_f64(b) {
                b
            } else {
                old
            }
        }
        (AtomicOp::Add, Some((format, packed))) => {
            // In global memory f32 sums flush subnormals, in shared memory they do not.
            let mode = Mode { flush: global && format == Format::F32, ..Mode::PLAIN };
            evaluate(General::Float { op: FloatOp::Add, format, mode, packed }, [b, old, old, old])
        }
        (AtomicOp::Add, None) => integer(IntegerOp::Add),
        (AtomicOp::Min | AtomicOp::Max, Some((format, packed))) => {
            let op = if op == AtomicOp::Min { FloatOp::Min } else { FloatOp::Max };
            evaluate(General::Float { op, format, mode: Mode::PLAIN, packed }, [b, old, old, old])
        }
        (AtomicOp::Min, _) => integer(IntegerOp::Min),
        (AtomicOp::Max, _) => integer(IntegerOp::Max),
        (AtomicOp::And, _) => old & b,
        (AtomicOp::Or, _) => old | b & mask,
        (AtomicOp::Xor, _) => old ^ b & mask,
        (AtomicOp::Exchange, _) => b & mask,
        (AtomicOp::CompareAndSwap, _) => {
            if old == b & mask {
                c & mask
            } else {
                old
            }
        }
        (AtomicOp::Increment, _) => {
            if old >= b & mask {
                0
            } else {
                old + 1
            }
        }
        (AtomicOp::Decrement, _) => {
            if old == 0 || old > b & mask {
                b & mask
            } else {
                old - 1
            }
        }
    }
}
