//! Endless loops and waits without end: found by a state that comes again, never by the time that passed.
//!
//! Where a warp has run for long, it is run on block by block of code, and its registers are compared with earlier ones
//! (Brent's way to find a cycle). If all are as they were, and it changed no memory since, it will do the same for ever,
//! unless somebody else changes what it reads.

use crate::Fault;
use crate::global::locate;
use crate::machine::control::functions::Stack;
use crate::machine::cpu::step_probed;
use crate::machine::lanes::{Lanes, each};
use crate::machine::memory::shared_access::read_shared;
use crate::machine::state::warp::{Path, State, Warp};
use crate::machine::state::worker::Worker;
use crate::program::{Access, ClusterBarrier, Extension, Mbarrier, Op, SHARED_WINDOW, Space, in_window};

/// How many blocks of code a warp is run on in search of a state that comes again.
const STEPS: u32 = 1 << 12;
/// Turns after which a warp counts as waiting though it looks at the clock.
const LONG: u64 = 1 << 6;
/// And how many warp instructions.
const INSTRUCTIONS: u64 = 1 << 18;

/// What happened to memory since the state with which later ones are compared.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) changed: bool,
    loads: Loads,
    before: Vec<(Piece, Option<u64>)>,
}

/// An element of a lane's access.
#[derive(Debug, Clone, Copy)]
struct Piece {
    lane: u32,
    shared: bool,
    address: u64,
    bytes: u32,
}

/// What a warp reads that repeats itself.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Loads {
    /// Memory that other thread blocks may change.
    pub global: bool,
    /// A barrier in shared memory, or the clock.
    pub barrier: bool,
    pub clock: bool,
    /// The barrier of the cluster, or shared memory.
    pub cluster: bool,
    pub shared: bool,
    /// An instruction of these, a lane, and where it reads.
    pub example: Option<(u32, u32, u64)>,
}

/// A warp that repeats itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stuck {
    pub(crate) block: u64,
    pub(crate) warp: u32,
    pub(crate) lane: u32,
    /// The instruction at which it is.
    pub(crate) at: u32,
    pub(crate) loads: Loads,
}

impl Loads {
    /// All that two paths read. What waits for a barrier is the better example.
    fn and(self, other: Loads) -> Loads {
        let example = if other.barrier && !self.barrier { other.example } else { self.example.or(other.example) };
        Loads {
            global: self.global | other.global,
            barrier: self.barrier | other.barrier,
            clock: self.clock | other.clock,
            cluster: self.cluster | other.cluster,
            shared: self.shared | other.shared,
            example,
        }
    }
}

impl Stuck {
    /// Whether it waits at the barrier of its cluster.
    pub(crate) fn waits_for_cluster(&self) -> bool {
        self.loads.cluster && !self.loads.barrier
    }
}

/// A warp's state, as far as it decides what the warp does next.
struct Snapshot {
    r: Vec<Lanes<u32>>,
    d: Vec<Lanes<u64>>,
    p: Vec<u32>,
    live: u32,
    paths: Vec<Path>,
    stacks: Vec<Stack>,
}

impl Snapshot {
    fn of(warp: &Warp) -> Snapshot {
        let (r, d, p) = (warp.r.clone(), warp.d.clone(), warp.p.clone());
        Snapshot { r, d, p, live: warp.live, paths: warp.paths.clone(), stacks: warp.stacks.clone() }
    }

    fn is(&self, warp: &Warp) -> bool {
        self.live == warp.live
            && self.paths == warp.paths
            && self.stacks == warp.stacks
            && self.p == warp.p
            && self.r.iter().zip(&warp.r).all(|(a, b)| a.0 == b.0)
            && self.d.iter().zip(&warp.d).all(|(a, b)| a.0 == b.0)
    }
}

impl Worker<'_> {
    /// Whether every warp that does not wait repeats itself: then one of them, if possible one that other thread blocks
    /// may set free.
    #[inline(never)]
    pub(crate) fn probe(&mut self) -> Result<Option<Stuck>, Box<Fault>> {
        let mut found: Option<Stuck> = None;
        self.stuck.clear();
        let mut spare = Box::new(Warp::default());
        for index in 0..self.state.warps.len() {
            if self.state.warps[index].state != State::Ready {
                continue;
            }
            let mut warp = std::mem::replace(&mut self.state.warps[index], spare);
            self.frozen = (self.state.turns >= LONG).then_some(self.state.executed);
            let stuck = self.probe_warp(&mut warp);
            self.frozen = None;
            spare = std::mem::replace(&mut self.state.warps[index], warp);
            let Some(stuck) = stuck? else { return Ok(None) };
            self.stuck.push(stuck);
            found = found.filter(|found| found.loads.global || !stuck.loads.global).or(Some(stuck));
        }
        Ok(found)
    }

    /// Whether another thread block may set a warp free that repeats itself.
    pub(crate) fn others_may_free(&self, stuck: &Stuck) -> bool {
        let loads = stuck.loads;
        loads.global && self.context.program.synchronises_globally
            || self.context.unit() > 1 && (loads.cluster || loads.barrier || loads.shared)
    }

    /// Whether a warp repeats itself, on all of its paths.
    fn probe_warp(&mut self, warp: &mut Warp) -> Result<Option<Stuck>, Box<Fault>> {
        let (mut lanes, mut loads) = (0, Loads::default());
        loop {
            if !self.repeats(warp)? {
                return Ok(None);
            }
            let Some(path) = warp.paths.last().copied() else { return Ok(None) };
            lanes |= path.mask;
            loads = loads.and(self.seen.loads);
            if warp.choose_without(lanes) || warp.go_ahead() {
                continue;
            }
            if loads.clock && !loads.barrier && !loads.cluster {
                return Ok(None);
            }
            let at = self.comes_to(path.block);
            let lane = (path.mask & warp.live).trailing_zeros();
            return Ok(Some(Stuck { block: self.state.block, warp: warp.number, lane, at, loads }));
        }
    }

    /// Whether the present path of a warp comes back to where it was, and changes nothing.
    fn repeats(&mut self, warp: &mut Warp) -> Result<bool, Box<Fault>> {
        let end = self.state.executed + INSTRUCTIONS;
        let (mut before, mut age, mut until) = (Snapshot::of(warp), 0, 1);
        self.seen = Seen::default();
        for _ in 0..STEPS {
            self.stop_at = (self.state.executed + 1).min(self.context.instruction_limit);
            let moved = step_probed(self, warp)?;
            if moved || self.seen.changed || self.state.executed > end {
                return Ok(false);
            }
            if before.is(warp) {
                return Ok(true);
            }
            age += 1;
            if age == until {
                (before, age, until) = (Snapshot::of(warp), 0, 2 * until);
                self.seen = Seen::default();
            }
        }
        Ok(false)
    }

    /// Before an instruction that a probe steps over: what it reads, and what stands where it writes.
    pub(crate) fn watch_change(&mut self, warp: &mut Warp, at: u32, mask: u32) {
        let program = self.context.program;
        let (access, load, store) = match program.code[at as usize].op {
            Op::Load(index) => (index, true, false),
            Op::Store(index) => (index, false, true),
            Op::Extended(index) => {
                let extended = &program.extended[index as usize];
                match (extended.what, extended.accesses.first()) {
                    (Extension::Atomic(_), Some(access)) => (*access, true, true),
                    (Extension::LoadMatrix { .. }, Some(access)) => (*access, true, false),
                    (Extension::Mbarrier(Mbarrier::Wait { .. }), Some(access)) => {
                        // Whether something lands meanwhile, it says itself.
                        let access = &program.accesses[*access as usize];
                        let piece = self.pieces(warp, access, mask).first().copied();
                        let example = piece.map(|piece| (at, piece.lane, piece.address));
                        let loads = Loads { barrier: true, example, ..Loads::default() };
                        return self.seen.loads = self.seen.loads.and(loads);
                    }
                    (Extension::ClusterBarrier(ClusterBarrier::Test), _) => {
                        let loads = Loads { cluster: true, ..Loads::default() };
                        return self.seen.loads = self.seen.loads.and(loads);
                    }
                    (Extension::MapToRank { .. } | Extension::RankOf { .. }, _) => return,
                    (Extension::Clock { .. }, _) if self.frozen.is_some() => return self.seen.loads.clock = true,
                    (
                        Extension::Multiply(_)
                        | Extension::MultiplyQuads(_)
                        | Extension::CommitCopies
                        | Extension::PendingCount
                        | Extension::SetRegisters(_),
                        _,
                    ) => return,
                    // The clock, too: it never stands still.
                    _ => return self.seen.changed = true,
                }
            }
            _ => return,
        };
        let pieces = self.pieces(warp, &program.accesses[access as usize], mask);
        if load {
            self.seen.loads.global |= pieces.iter().any(|piece| !piece.shared);
            self.seen.loads.shared |= pieces.iter().any(|piece| piece.shared);
            let example = pieces.first().map(|piece| (at, piece.lane, piece.address));
            self.seen.loads.example = self.seen.loads.example.or(example);
        }
        if store {
            self.seen.changed |= pieces.is_empty();
            self.seen.before = pieces.into_iter().map(|piece| (piece, self.value(piece))).collect();
        }
    }

    /// After an instruction that a probe steps over.
    pub(crate) fn see_change(&mut self) {
        let before = std::mem::take(&mut self.seen.before);
        self.seen.changed |= before.iter().any(|(piece, value)| value.is_none() || self.value(*piece) != *value);
    }

    /// The places in global and shared memory that lanes access.
    fn pieces(&self, warp: &mut Warp, access: &Access, mask: u32) -> Vec<Piece> {
        warp.set_addresses(access, mask);
        let addresses = &warp.scratch.addresses.0;
        let place = |lane: usize| match (access.space, addresses[lane]) {
            (Space::Shared, address) => Some((true, address)),
            (Space::Global, address) => Some((false, address)),
            (Space::Generic, address) if in_window(address, SHARED_WINDOW) => Some((true, address - SHARED_WINDOW)),
            (Space::Generic, address) if locate(address).0 < self.context.memory.buffers.len() => {
                Some((false, address))
            }
            _ => None,
        };
        let pieces = each(mask).filter_map(|lane| place(lane).map(|(shared, address)| (lane as u32, shared, address)));
        let bytes = access.element_bytes;
        let elements = move |(lane, shared, start): (u32, bool, u64)| {
            (0..access.elements).map(move |n| Piece { lane, shared, address: start + u64::from(n * bytes), bytes })
        };
        pieces.flat_map(elements).collect()
    }

    /// What stands in memory; nothing where an access would be a fault.
    fn value(&self, piece: Piece) -> Option<u64> {
        let Piece { shared, address, bytes, .. } = piece;
        if address % u64::from(bytes) != 0 {
            return None;
        }
        if shared {
            let (words, at) = self.words_at(address)?;
            let fits = at + u64::from(bytes) <= self.shared_bytes.into();
            return fits.then(|| read_shared(words, at as u32, bytes));
        }
        let (buffer, offset) = locate(address);
        let memory = self.context.memory.buffers.get(buffer)?;
        let fits = offset >= 0 && offset as u64 + u64::from(bytes) <= memory.bytes as u64 && !memory.freed;
        fits.then(|| memory.load(offset as usize, bytes))
    }
}
