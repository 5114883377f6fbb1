//! The steps of a kernel that is made by chance: accesses, by their PTX and their places, and barriers, by whom they join; and what
//! accesses count.

use std::collections::BTreeMap;

use emulator::access;

use crate::run::Kernel;

/// Threads of a thread block.
pub const THREADS: u32 = 80;

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    Load,
    Store,
    /// `atom.add` on a word.
    Atomic,
}

/// An access: by the threads whose number has `bit` set as `wanted` (all without), thread `t` of block `b` at element
/// `(t / div * stride + b * by_block + shift) % count` of `size` bytes.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub kind: Kind,
    pub shared: bool,
    /// Elements and bytes of each.
    pub elements: u32,
    pub bytes: u32,
    pub only: Option<(u32, bool)>,
    pub div: u32,
    pub stride: u32,
    pub by_block: u32,
    pub shift: u32,
    pub count: u32,
    /// In every round through the steps it lies so many elements further.
    pub by_round: u32,
    /// Its place among the steps, and the round.
    pub line: u32,
    pub round: u32,
}

#[derive(Clone, Copy, Debug)]
pub enum Step {
    Access(Access),
    /// `bar.sync`, and `bar.warp.sync` of the whole warp, and of each eight lanes.
    Barrier,
    WarpBarrier,
    Eights,
    /// A barrier for two of the three warps: all but this one.
    Pair(u32),
    /// The last warp ends.
    End,
}

/// The threads that meet there, in groups.
pub fn meets(step: &Step) -> Vec<Vec<u32>> {
    let all: Vec<u32> = (0..THREADS).collect();
    match step {
        Step::Access(_) | Step::End => Vec::new(),
        Step::Barrier => vec![all],
        Step::WarpBarrier => all.chunks(32).map(<[u32]>::to_vec).collect(),
        Step::Eights => all.chunks(8).map(<[u32]>::to_vec).collect(),
        Step::Pair(without) => vec![all.into_iter().filter(|thread| thread / 32 != *without).collect()],
    }
}

/// How many threads are left before a step.
pub fn alive(steps: &[Step], number: usize) -> u32 {
    if steps[..number].iter().any(|step| matches!(step, Step::End)) { 64 } else { THREADS }
}

/// For each step, up to which step a thread knows what another did: `known[step][thread][other]`.
pub fn knowledge(steps: &[Step]) -> Vec<Vec<Vec<usize>>> {
    let count = THREADS as usize;
    let mut known = vec![vec![0; count]; count];
    let mut all = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        all.push(known.clone());
        for group in meets(step) {
            let mut joined = vec![0; count];
            for thread in &group {
                for other in 0..count {
                    joined[other] = joined[other].max(known[*thread as usize][other]);
                }
                joined[*thread as usize] = number;
            }
            // Who has ended came to every barrier of the whole block.
            group.iter().for_each(|thread| known[*thread as usize] = joined.clone());
        }
    }
    all
}

impl Access {
    pub fn size(&self) -> u32 {
        self.elements * self.bytes
    }

    pub fn runs(&self, thread: u32) -> bool {
        self.only.is_none_or(|(bit, wanted)| (thread >> bit & 1 == 1) == wanted)
    }

    /// The first byte that a thread accesses.
    pub fn at(&self, block: u32, thread: u32) -> u32 {
        (thread / self.div * self.stride + block * self.by_block + self.shift + self.round * self.by_round) % self.count
            * self.size()
    }

    pub fn name(&self) -> String {
        let kind = match self.kind {
            Kind::Load => "ld",
            Kind::Store => "st",
            Kind::Atomic => "atom",
        };
        let space = if self.shared { "shared" } else { "global" };
        let vector = if self.elements > 1 { format!(".v{}", self.elements) } else { String::new() };
        match self.kind {
            Kind::Atomic => format!("atom.{space}.add.u32"),
            _ => format!("{kind}.{space}{vector}.u{}", 8 * self.bytes),
        }
    }

    /// What a thread stores as element `n`: a value that no other thread stores.
    pub fn value(&self, block: u32, thread: u32, n: u32) -> u64 {
        let seed = u64::from(self.line) * 1009
            + u64::from(self.round) * 5003
            + u64::from(block) * 257
            + u64::from(thread) * 3
            + u64::from(n)
            + 1;
        seed.wrapping_mul(0x0101_0101_0101_0101)
    }

    /// PTX of the access, on line `step + 1` of the source.
    pub fn text(&self) -> String {
        let Access { div, stride, by_block, shift, count, by_round, line: step, .. } = *self;
        let size = self.size();
        let mut text = format!(
            ".loc 1 1000 0\ndiv.u32 %r1, %t, {div};\nmul.lo.u32 %r1, %r1, {stride};\nmad.lo.u32 %r1, %block, {by_block}, %r1;\n\
             add.u32 %r1, %r1, {shift};\nmad.lo.u32 %r1, %r120, {by_round}, %r1;\nrem.u32 %r1, %r1, {count};\nmul.lo.u32 %r1, %r1, {size};\n"
        );
        let guard = match self.only {
            None => "",
            Some((bit, wanted)) => {
                text += &format!(
                    "shr.u32 %r2, %t, {bit};\nand.b32 %r2, %r2, 1;\nsetp.eq.u32 %p1, %r2, {};\n",
                    u32::from(wanted)
                );
                "@%p1 "
            }
        };
        match self.shared {
            true => text += "mov.u32 %r3, tile;\nadd.u32 %r3, %r3, %r1;\n",
            false => text += "cvt.u64.u32 %d3, %r1;\nadd.u64 %d3, %out, %d3;\n",
        }
        let address = if self.shared { "%r3" } else { "%d3" };
        let list: Vec<String> = (0..self.elements).map(|n| format!("%d{}", 10 + n)).collect();
        let list = if self.elements > 1 { format!("{{{}}}", list.join(", ")) } else { list[0].clone() };
        if self.kind != Kind::Load {
            text += &format!(
                "mad.lo.u32 %r4, %t, 3, {};\nmad.lo.u32 %r4, %block, 257, %r4;\nmad.lo.u32 %r4, %r120, 5003, %r4;\n",
                step * 1009 + 1
            );
            for n in 0..self.elements {
                text += &format!(
                    "add.u32 %r5, %r4, {n};\ncvt.u64.u32 %d{0}, %r5;\nmul.lo.u64 %d{0}, %d{0}, 0x0101010101010101;\n",
                    10 + n
                );
            }
        }
        text += &format!(".loc 1 {} 0\n", step + 1);
        let name = self.name();
        match self.kind {
            Kind::Load => {
                for n in 0..self.elements {
                    text += &format!("mov.u64 %d{}, 0;\n", 10 + n);
                }
                text += &format!("{guard}{name} {list}, [{address}];\n.loc 1 1000 0\n");
                for n in 0..self.elements {
                    text += &format!("mad.lo.u64 %d1, %d1, 31, %d{};\n", 10 + n);
                }
            }
            Kind::Store => text += &format!("{guard}{name} [{address}], {list};\n"),
            Kind::Atomic => text += &format!("cvt.u32.u64 %r6, %d10;\n{guard}{name} %r7, [{address}], %r6;\n"),
        }
        text
    }
}

/// What an access counts, warp by warp, by the costs of its addresses.
pub fn check_counts(report: &emulator::Report, steps: &[Step], blocks: u32, text: &str) {
    let mut counts: BTreeMap<u32, (Access, [u64; 4], [u64; 5])> = BTreeMap::new();
    for (number, step) in steps.iter().enumerate() {
        let Step::Access(access) = step else { continue };
        if access.kind == Kind::Atomic {
            continue;
        }
        let (_, global, shared) = counts.entry(access.line).or_insert((*access, [0; 4], [0; 5]));
        for block in 0..blocks {
            for warp in 0..THREADS.div_ceil(32) {
                let on = |lane: &u32| 32 * warp + lane < alive(steps, number) && access.runs(32 * warp + lane);
                let mask = (0..32).filter(on).fold(0u32, |mask, lane| mask | 1 << lane);
                if mask == 0 {
                    continue;
                }
                let offsets: [u32; 32] = std::array::from_fn(|lane| access.at(block, 32 * warp + lane as u32));
                let asked = u64::from(mask.count_ones() * access.size());
                if access.shared {
                    let cost = match access.kind {
                        Kind::Load => access::shared_load(&offsets, mask, access.size()),
                        _ => access::shared_store(&offsets, mask, access.size()),
                    };
                    let more = [1, cost.wavefronts, cost.ideal_wavefronts, cost.unique_bytes].map(u64::from);
                    shared.iter_mut().zip([more[0], more[1], more[2], more[3], asked]).for_each(|(sum, n)| *sum += n);
                } else {
                    let cost = access::global(&offsets.map(u64::from), mask, access.size());
                    let more = [1, cost.sectors, cost.ideal_sectors].map(u64::from);
                    global.iter_mut().zip([more[0], more[1], more[2], asked]).for_each(|(sum, n)| *sum += n);
                }
            }
        }
    }
    for (line, (access, global, shared)) in counts {
        let counters = report.lines.iter().find(|counted| counted.line == line + 1).map(|line| line.counters.clone());
        let counters = counters.unwrap_or_default();
        let load = access.kind == Kind::Load;
        let (g, s) = match load {
            true => (counters.global_load, counters.shared_load),
            false => (counters.global_store, counters.shared_store),
        };
        assert_eq!([g.requests, g.sectors, g.ideal_sectors, g.bytes], global, "{access:?}\n{text}");
        let counted = [s.requests, s.wavefronts, s.ideal_wavefronts, s.unique_bytes, s.bytes];
        assert_eq!(counted, shared, "{access:?}\n{text}");
    }
}

#[test]
fn an_access_is_counted_anew_where_it_begins_elsewhere_in_a_word_or_sector() {
    // Lane 0 reads where the others do not: 127 bytes behind them in shared memory, 31 in global memory.
    let body = "mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 8, %r100;\nst.shared.v2.u32 [%r101], {%t, %t};\nbar.sync 0;\n\
        setp.eq.u32 %p1, %t, 0;\nselp.u32 %r3, 127, 0, %p1;\nselp.u32 %r4, 31, 0, %p1;\nadd.u32 %r3, %r3, %r100;\ncvt.u64.u32 %d4, %r4;\n\
        add.u64 %d4, %d4, %in;\nmov.u32 %r5, 0;\nL:\n.loc 1 5 0\nld.shared.u8 %r6, [%r3];\n.loc 1 6 0\nld.global.u8 %r7, [%d4];\n.loc 1 7 0\n\
        add.u32 %r3, %r3, 1;\nadd.u64 %d4, %d4, 1;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p2, %r5, 8;\n@%p2 bra L;";
    let report = Kernel::new(32, body).run().unwrap_or_else(|fault| panic!("{fault}")).report;
    let line = |number: u32| &report.lines.iter().find(|line| line.line == number).expect("it ran").counters;
    // Where a word begins, 0 and 127 lie in words of two banks; elsewhere both lie in the same bank.
    assert_eq!(line(5).shared_load.wavefronts, 2 + 2 * 6);
    assert_eq!(line(6).global_load.sectors, 1 + 2 * 7);
    // The first word of all, from its first byte and then from each of the others: 129 bytes on lies another word of the same bank,
    // until it is that of the next bank.
    let body = "mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 8, %r100;\nst.shared.v2.u32 [%r101], {%t, %t};\nbar.sync 0;\n\
        setp.eq.u32 %p1, %t, 0;\nselp.u32 %r3, 0, 129, %p1;\nadd.u32 %r3, %r3, %r100;\nmov.u32 %r5, 0;\nL:\n.loc 1 5 0\nld.shared.u8 %r6, [%r3];\n.loc 1 7 0\n\
        add.u32 %r3, %r3, 3;\nadd.u32 %r5, %r5, 3;\nsetp.lt.u32 %p2, %r5, 6;\n@%p2 bra L;";
    let report = Kernel::new(32, body).run().unwrap_or_else(|fault| panic!("{fault}")).report;
    let line = |number: u32| &report.lines.iter().find(|line| line.line == number).expect("it ran").counters;
    assert_eq!(line(5).shared_load.wavefronts, 2 + 1);
}
