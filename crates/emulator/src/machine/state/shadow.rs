//! What of a register's value nobody wrote: byte by byte, lane by lane, with where it came from.

use std::collections::HashMap;

use super::warp::Warp;
use crate::machine::lanes::{LANES, each};
use crate::origin::Origin;
use crate::program::{Alu, File, Program, Slot};

/// The shadow of one register.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shadow {
    /// Per lane, a bit for each byte that is a copy of something unwritten.
    bytes: [u8; LANES],
    /// The lanes whose value was computed from something unwritten.
    computed: u32,
    /// Per lane, an index into the origins.
    origin: [u32; LANES],
}

/// The shadows of a warp's registers.
#[derive(Debug)]
pub(crate) struct Taint {
    files: [Vec<Shadow>; 3],
    origins: Vec<Origin>,
    /// The number of the origin by instruction, thread and thread block.
    known: HashMap<(u32, u32, u64), u32>,
}

/// One lane of a source: its shadow, and its value.
#[derive(Debug, Clone, Copy, Default)]
struct Source {
    bytes: u8,
    computed: bool,
    origin: u32,
    value: u64,
}

impl Source {
    fn tainted(self) -> bool {
        self.bytes != 0 || self.computed
    }

    /// The bytes that are known to be zero.
    fn zeros(self) -> u8 {
        let zero = |byte: &usize| !self.computed && self.bytes >> byte & 1 == 0 && self.value >> (8 * byte) & 0xff == 0;
        (0..8).filter(zero).fold(0, |bytes, byte| bytes | 1 << byte)
    }
}

impl Taint {
    pub fn new(program: &Program) -> Taint {
        let clean = Shadow::default();
        let sizes = [program.registers32, program.registers64, program.predicates];
        Taint {
            files: sizes.map(|size| vec![clean.clone(); size as usize]),
            origins: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// The lanes of which anything is unwritten.
    pub fn lanes(&self, file: File, slot: Slot) -> u32 {
        let shadow = &self.files[file as usize][slot as usize];
        (0..LANES).fold(shadow.computed, |lanes, lane| lanes | u32::from(shadow.bytes[lane] != 0) << lane)
    }

    /// The unwritten bytes of a lane, and whether it was computed from any.
    pub fn of_lane(&self, file: File, slot: Slot, lane: usize) -> (u8, bool) {
        let shadow = &self.files[file as usize][slot as usize];
        (shadow.bytes[lane], shadow.computed >> lane & 1 == 1)
    }

    /// Where a lane's unwritten value comes from.
    pub fn origin(&self, file: File, slot: Slot, lane: usize) -> Option<Origin> {
        self.origins.get(self.files[file as usize][slot as usize].origin[lane] as usize).copied()
    }

    /// The number of the origin.
    pub fn origin_index(&self, file: File, slot: Slot, lane: usize) -> u32 {
        self.files[file as usize][slot as usize].origin[lane]
    }

    /// Notes a load of something unwritten; of one instruction and thread, the last.
    pub fn note(&mut self, origin: Origin) -> u32 {
        let next = self.origins.len() as u32;
        let index = *self.known.entry((origin.at, origin.thread, origin.block)).or_insert(next);
        match self.origins.get_mut(index as usize) {
            Some(known) => *known = origin,
            None => self.origins.push(origin),
        }
        index
    }

    pub fn set(&mut self, file: File, slot: Slot, lane: usize, (bytes, computed): (u8, bool), origin: u32) {
        let shadow = &mut self.files[file as usize][slot as usize];
        shadow.bytes[lane] = bytes;
        shadow.computed = shadow.computed & !(1 << lane) | u32::from(computed) << lane;
        shadow.origin[lane] = origin;
    }

    fn source(&self, warp: &Warp, file: File, slot: Slot, lane: usize) -> Source {
        let (bytes, computed) = self.of_lane(file, slot, lane);
        let value = match file {
            File::R => warp.r[slot as usize].0[lane].into(),
            File::D => warp.d[slot as usize].0[lane],
            File::P => (warp.p[slot as usize] >> lane & 1).into(),
        };
        Source { bytes, computed, origin: self.files[file as usize][slot as usize].origin[lane], value }
    }

    /// Passes the shadows of a lane-wise instruction's sources, which still hold their values, to its result.
    pub fn alu(&mut self, warp: &Warp, code: Alu, d: Slot, slots: [Slot; 3], mask: u32) {
        let signature = code.signature();
        let width = if signature[0] == File::D { 0xff } else { 0xf };
        for lane in each(mask) {
            let mut sources = [Source::default(); 3];
            for (source, (file, slot)) in sources.iter_mut().zip(signature[1..].iter().zip(slots)) {
                *source = self.source(warp, *file, slot, lane);
            }
            let (bytes, computed) = result(code, sources);
            let origin = sources.iter().find(|source| source.tainted()).map(|source| source.origin).unwrap_or_default();
            self.set(signature[0], d, lane, (bytes & width, computed), origin);
        }
    }

    /// Moves the shadow of `a` from lane to lane.
    pub fn shuffle(&mut self, d: Slot, a: Slot, from: &[usize; LANES], mask: u32) {
        let shadow = self.files[File::R as usize][a as usize].clone();
        for lane in each(mask) {
            let source = from[lane];
            let taint = (shadow.bytes[source], shadow.computed >> source & 1 == 1);
            self.set(File::R, d, lane, taint, shadow.origin[source]);
        }
    }

    /// Moves bits about: where any source is unwritten, any byte of a result may be a copy of it.
    pub fn copy(&mut self, sources: &[(File, Slot)], results: &[(File, Slot)], mask: u32) {
        for lane in each(mask) {
            let parts = sources.iter().map(|&(file, slot)| (self.of_lane(file, slot, lane), file, slot));
            let tainted: Vec<_> = parts.filter(|((bytes, computed), ..)| *bytes != 0 || *computed).collect();
            let computed = tainted.iter().any(|((_, computed), ..)| *computed);
            let origin = tainted
                .first()
                .map(|(_, file, slot)| self.files[*file as usize][*slot as usize].origin[lane])
                .unwrap_or_default();
            let bytes = |file| if file == File::D { 0xff } else { 0xf };
            for &(file, slot) in results {
                let bytes = if tainted.is_empty() || computed { 0 } else { bytes(file) };
                self.set(file, slot, lane, (bytes, computed), origin);
            }
        }
    }

    /// Any other instruction: a result is computed from all sources.
    pub fn compute(&mut self, sources: &[(File, Slot)], results: &[(File, Slot)], mask: u32, across: bool) {
        let lanes = sources.iter().fold(0, |lanes, &(file, slot)| lanes | self.lanes(file, slot)) & mask;
        for lane in each(mask) {
            let from = if across && lanes != 0 { lanes.trailing_zeros() as usize } else { lane };
            let source = sources.iter().find(|(file, slot)| self.lanes(*file, *slot) >> from & 1 == 1);
            let origin = source.map(|(file, slot)| self.files[*file as usize][*slot as usize].origin[from]);
            for &(file, slot) in results {
                self.set(file, slot, lane, (0, source.is_some()), origin.unwrap_or_default());
            }
        }
    }
}

/// The shadow of a result: which of its bytes are copies of unwritten ones, and whether it is computed from any.
fn result(code: Alu, [a, b, c]: [Source; 3]) -> (u8, bool) {
    use Alu::*;
    let computed = a.computed || b.computed || c.computed;
    let any = computed || a.bytes | b.bytes | c.bytes != 0;
    let bytes = match code {
        // What says where the bits go is more than copied.
        Shl32 | Shl64 | ShrU32 | ShrU64 | BfeU32 if b.tainted() => return (0, true),
        Prmt32 | BfeU32 | FunnelL32 | FunnelR32 if c.tainted() => return (0, true),
        Mov32 | Mov64 | MovP | ExtendU32 => a.bytes,
        // The sign comes from the topmost byte.
        SignExtend8 => spread(a.bytes & 1, 1, 4),
        SignExtend16 => spread(a.bytes & 3, 2, 4),
        ExtendS32 => spread(a.bytes, 4, 8),
        Pack64 => a.bytes | b.bytes << 4,
        Low64 | Truncate64 => a.bytes & 0xf,
        High64 => a.bytes >> 4,
        Pack32 => a.bytes & 3 | (b.bytes & 3) << 2,
        Low32 | Trunc16 => a.bytes & 3,
        High32 => a.bytes >> 2,
        Trunc8 => a.bytes & 1,
        Or32 | Or64 => a.bytes | b.bytes,
        // Masking with zeros is how a byte is taken out of a word.
        And32 | And64 => a.bytes & !b.zeros() | b.bytes & !a.zeros(),
        Shl32 | Shl64 if b.value % 8 == 0 => shift(a.bytes, b.value as i64 / 8),
        ShrU32 | ShrU64 if b.value % 8 == 0 => shift(a.bytes, -(b.value as i64 / 8)),
        BfeU32 if (b.value | c.value) % 8 == 0 => {
            let bytes = (c.value & 0xff) / 8;
            shift(a.bytes, -((b.value & 0xff) as i64) / 8) & if bytes < 8 { (1 << bytes) - 1 } else { 0xff }
        }
        Prmt32 => permuted(a.bytes | b.bytes << 4, c.value),
        Select32 | Select64 | SelectP if c.tainted() => return (0, true),
        Select32 | Select64 | SelectP => {
            let chosen = if c.value == 1 { a } else { b };
            return (chosen.bytes, chosen.computed);
        }
        // One operand may settle the result alone.
        AndP | OrP => {
            let settles = |source: Source| !source.tainted() && (source.value == 1) == (code == OrP);
            return (0, any && !settles(a) && !settles(b));
        }
        _ if code.copies() => return (if any { 0xff } else { 0 }, computed),
        _ => return (0, any),
    };
    (bytes, computed)
}

/// The shadow of a number of so many bytes that is extended by its sign to more of them.
fn spread(bytes: u8, from: u32, to: u32) -> u8 {
    let above = (0xff << from) & (0xff >> (8 - to)) as u8;
    bytes | if bytes >> (from - 1) & 1 == 1 { above } else { 0 }
}

/// Moves the bits of a byte mask up, or down if `by` is negative.
fn shift(bytes: u8, by: i64) -> u8 {
    let by_bits = by.unsigned_abs().min(8) as u32;
    let bytes = u32::from(bytes);
    (if by < 0 { bytes >> by_bits } else { bytes << by_bits }) as u8
}

/// `prmt`: each nibble of the selector picks a byte, or its sign.
fn permuted(bytes: u8, selector: u64) -> u8 {
    let picked = |n: u32| bytes >> (selector >> (4 * n) & 7) & 1;
    (0..4).fold(0, |out, n| out | picked(n) << n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(bytes: u8, value: u64) -> Source {
        Source { bytes, computed: false, origin: 0, value }
    }

    /// Whatever stands where nobody wrote: the result's bytes that depend on it are those that the shadow has.
    #[test]
    fn bytes_are_unwritten_that_depend_on_what_nobody_wrote() {
        use Alu::*;
        let mut chance = 3u64;
        let mut roll = move |sides: u64| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (chance >> 33) % sides
        };
        let width = |file: File| if file == File::D { 8 } else { 4 };
        for code in [
            Mov32,
            Mov64,
            ExtendU32,
            ExtendS32,
            SignExtend8,
            SignExtend16,
            Pack64,
            Low64,
            Truncate64,
            High64,
            Pack32,
            Low32,
            Trunc16,
            High32,
            Trunc8,
            Or32,
            Or64,
            And32,
            And64,
            Shl32,
            Shl64,
            ShrU32,
            ShrU64,
            BfeU32,
            Prmt32,
        ] {
            let signature = code.signature();
            for _ in 0..400 {
                let mut sources = [Source::default(); 3];
                for (source, file) in sources.iter_mut().zip(&signature[1..]) {
                    for byte in 0..width(*file) {
                        let value = if roll(3) == 0 { 0 } else { 1 + roll(254) };
                        source.value |= value << (8 * byte);
                        source.bytes |= u8::from(roll(3) == 0) << byte;
                    }
                }
                // What says where bits go was written; all bits of a byte go together.
                let fixed: &[usize] = match code {
                    Shl32 | Shl64 | ShrU32 | ShrU64 => &[1],
                    BfeU32 => &[1, 2],
                    Prmt32 => &[2],
                    _ => &[],
                };
                for &n in fixed {
                    let value =
                        if code == Prmt32 { roll(1 << 32) } else { 8 * roll(if code == BfeU32 { 6 } else { 12 }) };
                    sources[n] = Source { value, ..Source::default() };
                }
                let mut seen = Vec::new();
                for _ in 0..32 {
                    let filled = sources.map(|source| {
                        let unwritten = |byte: &u32| source.bytes >> byte & 1 == 1;
                        (0..8)
                            .filter(unwritten)
                            .fold(source.value, |value, byte| value & !(0xff << (8 * byte)) | roll(256) << (8 * byte))
                    });
                    seen.push(crate::machine::arithmetic::twins::result_of(code, filled));
                }
                let differs = |byte: &u32| seen.iter().any(|value| (value ^ seen[0]) >> (8 * byte) & 0xff != 0);
                let wanted = (0..width(signature[0])).filter(differs).fold(0, |bytes, byte| bytes | 1u8 << byte);
                let (bytes, computed) = result(code, sources);
                let bytes = bytes & if signature[0] == File::D { 0xff } else { 0xf };
                assert_eq!((bytes, computed), (wanted, false), "{code:?} of {sources:x?}");
            }
        }
    }

    const CLEAN: Source = Source { bytes: 0, computed: false, origin: 0, value: 0 };

    #[test]
    fn copies_move_single_bytes() {
        let upper = copy(0b1110, 0xffff_ff07);
        assert_eq!(result(Alu::Trunc8, [upper, CLEAN, CLEAN]), (0, false));
        assert_eq!(result(Alu::And32, [upper, copy(0, 0xff), CLEAN]), (0, false));
        assert_eq!(result(Alu::And32, [upper, copy(0, 0xffff), CLEAN]), (0b0010, false));
        assert_eq!(result(Alu::ShrU32, [upper, copy(0, 8), CLEAN]), (0b0111, false));
        assert_eq!(result(Alu::ShrU32, [upper, copy(0, 4), CLEAN]), (0xff, false), "bytes torn apart");
        assert_eq!(result(Alu::Shl64, [upper, copy(0, 32), CLEAN]), (0b1110_0000, false));
        assert_eq!(result(Alu::BfeU32, [upper, copy(0, 0), copy(0, 8)]), (0, false));
        assert_eq!(result(Alu::BfeU32, [upper, copy(0, 8), copy(0, 8)]), (1, false));
        assert_eq!(result(Alu::Pack64, [CLEAN, upper, CLEAN]), (0b1110_0000, false));
        assert_eq!(result(Alu::Prmt32, [upper, CLEAN, copy(0, 0x4440)]), (0, false));
        assert_eq!(result(Alu::Prmt32, [upper, CLEAN, copy(0, 0x4100)]), (0b0100, false));
    }

    #[test]
    fn either_side_of_an_or_brings_its_bytes() {
        let (low, high) = (copy(0b0001, 0), copy(0b1000, 0));
        for code in [Alu::Or32, Alu::Or64] {
            assert_eq!(result(code, [low, CLEAN, CLEAN]), (0b0001, false), "{code:?}");
            assert_eq!(result(code, [CLEAN, high, CLEAN]), (0b1000, false), "{code:?}");
            assert_eq!(result(code, [low, high, CLEAN]), (0b1001, false), "{code:?}");
            assert_eq!(result(code, [low, Source { computed: true, ..CLEAN }, CLEAN]), (0b0001, true), "{code:?}");
        }
        assert_eq!(result(Alu::Xor32, [low, CLEAN, CLEAN]), (0, true), "no copy");
        assert_eq!(result(Alu::And32, [low, high, CLEAN]), (0, false), "each zero where the other is unwritten");
        assert_eq!(result(Alu::And32, [low, copy(0b0001, 0), CLEAN]), (0b0001, false), "unwritten in both");
    }

    #[test]
    fn halves_are_packed_and_taken_apart() {
        let (odd, upper) = (copy(0b0101, 0), copy(0b0011, 0));
        assert_eq!(result(Alu::Pack32, [odd, upper, CLEAN]), (0b1101, false));
        assert_eq!(result(Alu::Pack64, [odd, upper, CLEAN]), (0b0011_0101, false));
        assert_eq!(result(Alu::Low32, [copy(0b0110, 0), CLEAN, CLEAN]), (0b10, false));
        assert_eq!(result(Alu::High32, [copy(0b0110, 0), CLEAN, CLEAN]), (0b01, false));
        assert_eq!(result(Alu::Low64, [copy(0b1001_0110, 0), CLEAN, CLEAN]), (0b0110, false));
        assert_eq!(result(Alu::High64, [copy(0b1001_0110, 0), CLEAN, CLEAN]), (0b1001, false));
        assert_eq!(result(Alu::Shl32, [copy(0b0001, 0), copy(0, 16), CLEAN]), (0b0100, false));
        assert_eq!(result(Alu::Shl32, [copy(0b0001, 0), copy(1, 16), CLEAN]), (0, true), "by an unwritten count");
    }

    #[test]
    fn computing_taints_and_choosing_the_other_does_not() {
        let dirty = copy(1, 0);
        assert_eq!(result(Alu::Add32, [dirty, CLEAN, CLEAN]), (0, true));
        assert_eq!(result(Alu::Select32, [dirty, CLEAN, copy(0, 0)]), (0, false));
        assert_eq!(result(Alu::Select32, [dirty, CLEAN, copy(0, 1)]), (1, false));
        let unknown = Source { computed: true, ..CLEAN };
        assert_eq!(result(Alu::Select32, [CLEAN, CLEAN, unknown]), (0, true), "the choice itself is unknown");
        assert_eq!(result(Alu::AndP, [unknown, CLEAN, CLEAN]), (0, false), "false and anything is false");
        assert_eq!(result(Alu::AndP, [unknown, copy(0, 1), CLEAN]), (0, true));
        assert_eq!(result(Alu::OrP, [copy(0, 1), unknown, CLEAN]), (0, false), "true or anything is true");
    }
}
