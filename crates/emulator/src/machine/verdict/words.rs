//! Faults put into words: who, where, what, and what to look at.

use std::sync::atomic::Ordering::Relaxed;

use crate::global::{BufferMemory, locate};
use crate::machine::lanes::LANES;
use crate::machine::order::Missing;
use crate::machine::state::call_stack::Call;
use crate::machine::state::context::Context;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::marks::Moment;
use crate::program::{Access, DEEP, Space, Spot};
use crate::stamp::{Stamp, WARP_EPOCH_LIMIT};
use crate::{Fault, FaultKind, Site};

/// How the hint on an access past the end closes.
const OWN_LENGTH: &str = "is the row's length that of this matrix?";

impl Context<'_> {
    /// One instruction as thread `thread` of thread block `block` executed it.
    pub(crate) fn site(&self, block: u64, thread: u32, at: u32) -> Site {
        self.site_within(block, thread, at, &[])
    }

    /// The same, within these calls.
    fn site_within(&self, block: u64, thread: u32, at: u32, within: &[Call]) -> Site {
        // (A kernel may have no instruction at all.)
        let (program, info) = (self.program, self.program.info.get(at as usize));
        let (files, spots) = (&program.files, &program.spots);
        let inner = spots.from(info.and_then(|info| info.spot));
        let outer = within.iter().rev().flat_map(|call| spots.from(program.calls[call.site as usize].spot));
        let way: Vec<&Spot> = inner.chain(outer).take(DEEP).collect();
        let told = way.get(spots.told(way.iter().copied())).and_then(|spot| spot.step(files));
        let calls = if way.len() > 1 { way.iter().filter_map(|spot| spot.step(files)).collect() } else { Vec::new() };
        Site {
            source: told.map(|step| (step.file, step.line)),
            calls,
            ptx_line: info.map(|info| info.ptx_line).unwrap_or_default(),
            opcode: info.map(|info| info.opcode.to_string()).unwrap_or_default(),
            block: self.shape.block_at(block),
            thread: self.shape.thread(thread),
            warp: thread / LANES as u32,
            lane: thread % LANES as u32,
        }
    }
}

/// `kernel.cu:33`, or the line of the PTX.
pub(crate) fn place(site: &Site) -> String {
    match &site.source {
        Some((file, line)) => format!("{}:{line}", file.rsplit('/').next().unwrap_or(file)),
        None => format!("PTX line {}", site.ptx_line),
    }
}

pub(crate) fn fault(kind: FaultKind, message: String, site: Site, hint: impl Into<String>) -> Box<Fault> {
    let hint = Some(hint.into()).filter(|hint| !hint.is_empty());
    Box::new(Fault { kind, cause: None, message, site, other: None, also: Vec::new(), hint })
}

impl Worker<'_> {
    pub(crate) fn site_of(&self, warp: &Warp, lane: u32, at: u32) -> Site {
        let calls = warp.calls_of(1 << lane);
        self.context.site_within(self.acting(), warp.number * LANES as u32 + lane, at, calls)
    }

    /// A load or store outside memory, misaligned, or of freed memory.
    #[inline(never)]
    pub(crate) fn convict_access(
        &self,
        warp: &Warp,
        access: &Access,
        lane: usize,
        kind: FaultKind,
        what: &str,
    ) -> Box<Fault> {
        let site = self.site_of(warp, lane as u32, access.at);
        let verb = verb_of(&site.opcode);
        let bytes = access.bytes();
        let hint = match kind {
            FaultKind::OutOfBounds if what.contains("no buffer") => {
                "is the pointer one that the device allocated, and is it passed in its place among the arguments?"
            }
            FaultKind::OutOfBounds if what.contains("its thread's own") => {
                "a variable of a thread is for its loads and stores alone: what atomics are for lies in shared or global memory"
            }
            FaultKind::OutOfBounds if access.space != Space::Global => {
                "is the array as large as its index may become, and the dynamic shared memory of the launch as the kernel uses? does the launch have as many threads as it was made for?"
            }
            FaultKind::OutOfBounds if self.has_overflown(warp, lane, bytes) => {
                "2^32 elements away it would be within: the index overflows 32 bits; compute it in 64, as `(size_t)row * lda + col`"
            }
            FaultKind::OutOfBounds if what.contains("before the start") => {
                "an index is below 0: does a guard keep the first row, column or element out (`i > 0`), or is something subtracted from the index that is larger than it?"
            }
            FaultKind::OutOfBounds if bytes > 4 && access.elements > 1 => {
                "do the guards of row, column and step along K keep all elements of the vector within, the last one, too?"
            }
            FaultKind::OutOfBounds => {
                "does a guard with `<`, and not `<=`, keep each of row, column and step along K within? is the row's length that of this matrix?"
            }
            FaultKind::Misaligned => {
                "a vector access needs an address that is a multiple of its size: are the row's length and the first column whole vectors? where not, elements are loaded one by one"
            }
            FaultKind::UseAfterFree => "free a buffer after the last launch that uses it",
            _ => "",
        };
        fault(kind, format!("{verb} of {bytes} bytes {what}"), site, hint)
    }

    /// Says of an access past the end how far apart neighbours along y are: that shows the row's length in the index.
    pub(crate) fn tell_apart(&self, fault: &mut Fault, warp: &Warp, access: &Access, mask: u32) {
        let Some(hint) = fault.hint.as_mut().filter(|hint| hint.ends_with(OWN_LENGTH)) else { return };
        let lanes = || (0..LANES).filter(|lane| mask >> lane & 1 == 1);
        let thread = |lane: usize| self.context.shape.thread((warp.number as usize * LANES + lane) as u32);
        let (wide, addresses) = (self.context.shape.block.x as usize, &warp.scratch.addresses.0);
        let pairs = lanes().filter(|lane| lane + wide < LANES && mask >> (lane + wide) & 1 == 1);
        let pairs = pairs.filter(|lane| thread(*lane).z == thread(lane + wide).z);
        let mut apart = pairs.map(|lane| addresses[lane + wide].wrapping_sub(addresses[lane]) as i64);
        let Some(first) = apart.next().filter(|first| *first != 0 && apart.all(|other| other == *first)) else {
            return;
        };
        let elements = first / i64::from(access.element_bytes);
        *hint += &format!(" threads next to each other along y are {elements} elements apart in it");
    }

    /// Whether a lane's address would lie in its buffer if its index had not lost its upper bits in 32.
    fn has_overflown(&self, warp: &Warp, lane: usize, bytes: u32) -> bool {
        let (buffer, offset) = locate(warp.scratch.addresses.0[lane]);
        let Some(memory) = self.context.memory.buffers.get(buffer) else { return false };
        let sizes = [1, 2, 4, 8, 16].into_iter().filter(|size| *size <= i64::from(bytes));
        let within = |offset: i64| (0..=memory.bytes as i64 - i64::from(bytes)).contains(&offset);
        sizes.flat_map(|size| [offset + (size << 32), offset - (size << 32)]).any(within)
    }

    /// Name of the shared variable at an offset, and the offset in it.
    pub(crate) fn shared_name(&self, at: u32) -> (&str, u32) {
        let before = self.context.program.shared.iter().filter(|variable| variable.offset <= at);
        match before.max_by_key(|variable| variable.offset) {
            Some(variable) => (&variable.name, at - variable.offset),
            None => ("shared memory", at),
        }
    }

    /// `As (shared memory, 36 bytes)`, or `shared memory (72 bytes: As, Bs)` where it may be any variable.
    pub(crate) fn shared_in_words(&self, access: &Access) -> String {
        let (start, end) = access.within;
        if end <= self.shared_bytes {
            return format!("{} (shared memory{}, {} bytes)", self.shared_name(start).0, self.of_whom(), end - start);
        }
        let names: Vec<&str> = self.context.program.shared.iter().map(|variable| variable.name.as_str()).collect();
        format!("shared memory{} ({} bytes: {})", self.of_whom(), self.shared_bytes, names.join(", "))
    }

    #[inline(never)]
    pub(crate) fn convict_shared_race(
        &self,
        warp: &Warp,
        access: &Access,
        lane: u32,
        at: u32,
        (stamp, before): (Stamp, &str),
        now: &str,
    ) -> Box<Fault> {
        let (name, offset) = self.shared_name(at);
        let what = format!("{name} (shared memory) at offset {offset}");
        let other = self.context.site(self.state.block, stamp.thread(), stamp.at());
        self.doubt(warp);
        let mut fault = self.race(&what, self.site_of(warp, lane, access.at), now, other, before, Missing::Everything);
        self.refine(&mut fault, warp, access, (lane, at));
        fault
    }

    /// Stamps know whole barriers only, and no more than so many of a warp: where threads may be ordered otherwise, what
    /// they find is not the last word.
    fn doubt(&self, warp: &Warp) {
        let doubtful = self.context.program.needs.any || warp.epoch >= WARP_EPOCH_LIMIT;
        self.context.doubtful.store(doubtful, Relaxed);
    }

    /// A write to bytes to which a copy is still under way.
    #[inline(never)]
    pub(crate) fn convict_write_under_way(
        &self,
        warp: &Warp,
        access: &Access,
        lane: u32,
        at: u32,
        copy: Stamp,
    ) -> Box<Fault> {
        let (name, offset) = self.shared_name(at);
        let site = self.site_of(warp, lane, access.at);
        let other = self.context.site(self.state.block, copy.thread(), copy.at());
        let now = match verb_of(&site.opcode) {
            verb @ ("copy" | "atomic") => verb,
            _ => "store",
        };
        let message = format!(
            "race on {name} (shared memory) at offset {offset}: copy by thread {} at {}, {now} by thread {} at {}, \
             the copy is still under way",
            other.thread,
            place(&other),
            site.thread,
            place(&site)
        );
        let lack = self.lack_in_words(self.lack_of(warp, copy.thread(), at), &other);
        let hint = match site.thread == other.thread {
            true => format!("{lack}, before it writes there"),
            false => format!("{lack}, then a barrier, before others write there"),
        };
        let mut fault = fault(FaultKind::Race, message, site, &hint);
        fault.other = Some(("the other party, a copy:".to_string(), other));
        fault
    }

    pub(crate) fn convict_global_race(
        &self,
        (warp, access, lane): (&Warp, &Access, usize),
        (memory, offset): (&BufferMemory, usize),
        (Moment { block, stamp, .. }, before): (Moment, &str),
        now: &str,
    ) -> Box<Fault> {
        let other = self.context.site(block.into(), stamp.thread(), stamp.at());
        let what = format!("{} at offset {offset}", memory.name);
        self.doubt(warp);
        self.race(&what, self.site_of(warp, lane as u32, access.at), now, other, before, Missing::Everything)
    }

    #[inline(never)]
    pub(crate) fn convict_trap(&self, warp: &Warp, at: Option<u32>, mask: u32) -> Box<Fault> {
        let site = self.site_of(warp, mask.trailing_zeros(), at.unwrap_or_default());
        let (message, hint) = match self.context.program.cooperative && !self.context.shape.cooperative {
            true => (
                "the blocks of the grid are to meet, and the launch is no cooperative one: the kernel executed `trap`",
                "`grid.sync()` needs `cudaLaunchCooperativeKernel` in the place of `<<<…>>>`, with no more blocks than the GPU holds together \
                 (`cudaOccupancyMaxActiveBlocksPerMultiprocessor` times its SMs); or two launches, one for each side of it",
            ),
            false => (
                "the kernel executed `trap`",
                "an assertion of the kernel failed, or code that must not be reached was",
            ),
        };
        fault(FaultKind::Trap, message.into(), site, hint)
    }

    /// A call of the system's functions that went wrong.
    #[inline(never)]
    pub(crate) fn convict_call(&self, warp: &Warp, lane: usize, at: u32, what: &str) -> Box<Fault> {
        let site = self.site_of(warp, lane as u32, at);
        fault(FaultKind::OutOfBounds, what.into(), site, "is what is passed a text, and are its arguments there?")
    }
}

/// What an instruction does to memory.
pub(crate) fn verb_of(opcode: &str) -> &'static str {
    match opcode.split('.').next() {
        Some("st") => "write",
        Some("atom" | "red") => "atomic",
        Some("cp") => "copy",
        _ => "read",
    }
}
