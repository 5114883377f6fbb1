//! `wmma`: a warp's loads, products and stores of whole matrices, of which the lanes hold fragments. What a lane holds is
//! its own affair, says the manual; here it is what `mma` takes, so that `wmma` is made of loads, `mma`s and stores.
//!
//! With `g` the lane's group of four and `t` its place in it, an element lies at `g` plus something in one dimension (rows of
//! A, C and D, columns of B) and at a multiple of `t` plus something in the other.

use super::decode::Decoder;
use super::select::operand;
use super::warp_forms::rounding_in;
use super::*;
use crate::ptx::{Instruction as Words, Operand, error};
use crate::{Class, PtxError};

/// The matrices of a `wmma`: of their shape, and how they are cut into those of `mma`.
#[derive(Clone, Copy)]
struct Cut {
    /// Columns and rows change places, as for 8 rows and 32 columns; so A and B do, too.
    flipped: bool,
    /// Tiles along the rows and along the columns.
    tiles: [usize; 2],
    k: usize,
    element: Element,
    accumulator: Accumulator,
}

/// A register of a fragment: where its first element lies, and how many it has, along `t`.
#[derive(Clone, Copy)]
struct Held {
    along_g: usize,
    along_t: usize,
    count: usize,
}

impl Cut {
    /// Tiles are of 16 rows, or of all where there are 8, and of 8 columns.
    fn of(shape: &str, element: Element, accumulator: Accumulator) -> Cut {
        let [m, n, k] = extents(shape);
        let flipped = n > m;
        let [rows, columns] = if flipped { [n, m] } else { [m, n] };
        Cut { flipped, tiles: [(rows / 16).max(1), columns / 8], k, element, accumulator }
    }

    fn multiply(&self) -> Multiply {
        let m = if self.accumulator == Accumulator::F64 || self.is_packed() { 8 } else { 16 };
        let (a, b) = (self.element, self.element);
        Multiply {
            m,
            k: self.k as u16,
            a,
            b,
            accumulator: self.accumulator,
            saturate: false,
            rounding: Rounding::Nearest,
        }
    }

    /// Elements are narrower than a byte: a lane has one register of them, which lie side by side in memory.
    fn is_packed(&self) -> bool {
        matches!(self.element, Element::Bit { .. } | Element::Integer { bits: 4, .. })
    }

    /// The registers of `a` (0), `b` (1), or `c` and `d` (2), tile by tile.
    fn held(&self, which: usize) -> Vec<Held> {
        let multiply = self.multiply();
        let (registers, per) = (multiply.registers(), self.element.per_register());
        let role = if self.flipped && which < 2 { 1 - which } else { which };
        let mut held = Vec::new();
        let [rows, columns] = self.tiles;
        for i in 0..if role == 1 { 1 } else { rows } {
            for j in 0..if role == 0 { 1 } else { columns } {
                for n in 0..registers[role] {
                    let (along_g, along_t, count) = match (role, self.accumulator) {
                        (0 | 1, _) if self.is_packed() => (0, 0, 1),
                        (0, Accumulator::F64) => (0, 4 * n, 1),
                        (0, _) => (16 * i + 8 * (n % 2), 4 * per * (n / 2), per),
                        (1, _) => (8 * j, 4 * per * n, per),
                        (_, Accumulator::F16) => (16 * i + 8 * n, 8 * j, 2),
                        (_, Accumulator::F64) => (0, n, 1),
                        _ => (16 * i + 8 * (n / 2), 8 * j + n % 2, 1),
                    };
                    held.push(Held { along_g, along_t, count });
                }
            }
        }
        held
    }
}

impl Decoder<'_> {
    pub fn wmma(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        match *parts {
            ["wmma", "load", which, "sync", "aligned", layout, shape, .., kind] => {
                let which = match which {
                    "a" => 0,
                    "b" => 1,
                    _ => 2,
                };
                self.fragment(words, guard, parts, (which, layout, shape, kind), true)
            }
            ["wmma", "store", "d", "sync", "aligned", layout, shape, .., kind] => {
                self.fragment(words, guard, parts, (2, layout, shape, kind), false)
            }
            ["wmma", "mma", op @ ("xor" | "and"), "popc", "sync", "aligned", _, _, shape, ..] => {
                let cut = Cut::of(shape, Element::Bit { and: op == "and" }, Accumulator::S32);
                self.products(words, guard, cut, (false, Rounding::Nearest), [Accumulator::S32; 2])
            }
            ["wmma", "mma", "sync", "aligned", _, _, shape, ref kinds @ ..] => {
                let modified = (parts.contains(&"satfinite"), rounding_in(parts));
                let kinds: Vec<&str> = kinds
                    .iter()
                    .copied()
                    .filter(|kind| !matches!(*kind, "satfinite" | "rn" | "rz" | "rm" | "rp"))
                    .collect();
                let (d, a, c) = match kinds[..] {
                    [d, c] => (d, "f16", c),
                    [d, a, b, c] if a == b => (d, a, c),
                    _ => return self.unknown(words),
                };
                let sums = [d, c].map(Accumulator::named);
                let (Some(element), [Some(d), Some(c)]) = (Element::named(a, false), sums) else {
                    return self.unknown(words);
                };
                // Where C and D differ, the sums are f32.
                let wide = if d == c { d } else { Accumulator::F32 };
                self.products(words, guard, Cut::of(shape, element, wide), modified, [d, c])
            }
            _ => self.unknown(words),
        }
    }

    /// A fragment to or from memory.
    fn fragment(
        &mut self,
        words: &Words,
        guard: Option<Guard>,
        parts: &[&str],
        (which, layout, shape, kind): (usize, &str, &str, &str),
        load: bool,
    ) -> Result<(), PtxError> {
        let sums = which == 2;
        let cut = match (sums, Element::named(kind, false), Accumulator::named(kind)) {
            (true, _, Some(Accumulator::S32)) if matches!(shape, "m8n8k32" | "m8n8k128") => {
                Cut::of(shape, Element::Integer { bits: 4, signed: true }, Accumulator::S32)
            }
            (false, Some(Element::Float(Format::F64)), _) => {
                Cut::of(shape, Element::Float(Format::F64), Accumulator::F64)
            }
            (false, Some(element), _) => Cut::of(shape, element, Accumulator::F32),
            (true, _, Some(Accumulator::F64)) => Cut::of(shape, Element::Float(Format::F64), Accumulator::F64),
            (true, _, Some(accumulator)) => Cut::of(shape, Element::Float(Format::F16), accumulator),
            _ => return self.unknown(words),
        };
        let (list, address) = if load { (0, 1) } else { (1, 0) };
        let Operand::List(list) = operand(words, list)? else { return self.unknown(words) };
        let held = cut.held(which);
        // In the register format of old, `f16` fragments of A and B have 8 registers.
        let padded = load && !sums && kind == "f16" && list.len() == 8;
        if list.len() != held.len() && !padded {
            let (wanted, given) = (held.len(), list.len());
            return error(words.line, format!("`{}` takes {wanted} registers here, and gets {given}", words.opcode));
        }
        let mut space = match parts.iter().find(|part| matches!(**part, "global" | "shared" | "shared::cta")) {
            Some(&"global") => Space::Global,
            Some(_) => Space::Shared,
            None => Space::Generic,
        };
        let (base, wide, offset) = self.address(operand(words, address)?, &mut space, words)?;
        let bytes = match kind {
            "f64" => 8,
            "f32" | "s32" | "tf32" | "s4" | "u4" | "b1" => 4,
            "f16" | "bf16" => 2,
            _ => 1,
        };
        let class = match (space, load) {
            (Space::Shared, true) => Class::SharedLoad,
            (Space::Shared, false) => Class::SharedStore,
            (_, true) => Class::GlobalLoad,
            (_, false) => Class::GlobalStore,
        };
        let mut class = Some(class);
        // Whether `g` counts lines of memory, and `t` places within a line.
        let by_rows = layout == "row";
        let lines_by_g = by_rows != (which == 1 || sums && cut.flipped);
        let stride = match words.operands.get(2) {
            Some(given) => self.source(given, File::R, words.line)?,
            None => self.constant(File::R, length(which, shape, by_rows) as u64),
        };
        let file = if wide { File::D } else { File::R };
        let rule = rule((which, shape, kind), by_rows, space, offset);
        let check = Extended::new(Extension::Fragment(rule)).reading(file, base).reading(File::R, stride);
        self.extended_if(words, guard, check, None);
        let lane = self.preset(File::R, Preset::LaneId);
        let line_bytes = match kind {
            "s4" | "u4" => self.whole(words, Alu::ShrU32, stride, 1),
            "b1" => self.whole(words, Alu::ShrU32, stride, 3),
            _ => self.whole(words, Alu::MulLo32, stride, bytes),
        };
        let group = self.whole(words, Alu::ShrU32, lane, 2);
        let place = self.whole(words, Alu::And32, lane, 3);
        let times = match sums {
            true => 2,
            false if cut.is_packed() => 1,
            false => cut.element.per_register() as u64,
        };
        let place = self.whole(words, Alu::MulLo32, place, times);
        let (line, within) = if lines_by_g { (group, place) } else { (place, group) };
        let within = self.whole(words, Alu::MulLo32, within, bytes);
        let start = match wide {
            true => {
                let within = self.helper(words, Alu::ExtendU32, File::D, within);
                self.join(words, Alu::Add64, File::D, [base, within, within])
            }
            false => self.join(words, Alu::Add32, File::R, [base, within, within]),
        };
        let file = if bytes == 8 { File::D } else { File::R };
        for (register, held) in list.iter().zip(&held) {
            let slot = match load {
                true => self.destination(register, file, words.line)?,
                false => self.source(register, file, words.line)?,
            };
            let pieces = if lines_by_g { 1 } else { held.count };
            let size = bytes as u32 * (held.count / pieces) as u32;
            let mut values = Vec::new();
            for piece in 0..pieces {
                let (lines, beyond) = match lines_by_g {
                    true => (held.along_g, held.along_t),
                    false => (held.along_t + piece, held.along_g),
                };
                let line = self.whole(words, Alu::Add32, line, lines as u64);
                let at = match wide {
                    true => self.join(words, Alu::MadWideU32, File::D, [line, line_bytes, start]),
                    false => self.join(words, Alu::MadLo32, File::R, [line, line_bytes, start]),
                };
                let value = match (pieces, load) {
                    (1, _) => slot,
                    (_, true) => self.temporary(File::R),
                    (_, false) => self.whole(words, Alu::ShrU32, slot, piece as u64 * 8 * bytes),
                };
                values.push(value);
                self.accesses.push(Access {
                    space,
                    element_bytes: size,
                    wide: file == File::D,
                    elements: 1,
                    registers: single(value),
                    base: at,
                    base_wide: wide,
                    offset: offset.wrapping_add((beyond as u64 * bytes) as i64),
                    ..Access::default()
                });
                let index = self.accesses.len() as u32 - 1;
                self.push(if load { Op::Load(index) } else { Op::Store(index) }, guard, words, class.take());
            }
            if load && pieces > 1 {
                let mut joined = values[0];
                for (n, value) in values.iter().enumerate().skip(1) {
                    let high = self.whole(words, Alu::Shl32, *value, n as u64 * 8 * bytes);
                    joined = self.join(words, Alu::Or32, File::R, [joined, high, high]);
                }
                self.push_unary(words, guard, Alu::Mov32, slot, joined, None);
            }
        }
        for register in &list[held.len().min(list.len())..] {
            let (zero, d) = (self.constant(File::R, 0), self.destination(register, File::R, words.line)?);
            self.push_unary(words, guard, Alu::Mov32, d, zero, None);
        }
        Ok(())
    }

    /// `wmma.mma`: one `mma` for each tile of D; of tf32 two, each with half of K. C and D may be of f16 and the sums
    /// of f32: then they are converted before and after.
    fn products(
        &mut self,
        words: &Words,
        guard: Option<Guard>,
        cut: Cut,
        (saturate, rounding): (bool, Rounding),
        [d_type, c_type]: [Accumulator; 2],
    ) -> Result<(), PtxError> {
        let multiply = Multiply { saturate, rounding, ..cut.multiply() };
        let mut lists = Vec::new();
        for (n, sums) in [(0, Some(d_type)), (1, None), (2, None), (3, Some(c_type))] {
            let Operand::List(list) = operand(words, n)? else { return self.unknown(words) };
            let cut = Cut { accumulator: sums.unwrap_or(cut.accumulator), ..cut };
            let wanted = cut.held([2, 0, 1, 2][n]).len();
            let padded = (n == 1 || n == 2) && cut.element == Element::Float(Format::F16) && list.len() == 8;
            if list.len() != wanted && !padded {
                return error(
                    words.line,
                    format!("`{}` takes {wanted} registers here, and gets {}", words.opcode, list.len()),
                );
            }
            lists.push(list.as_slice());
        }
        let [d, mut a, mut b, c] = lists[..] else { return self.unknown(words) };
        if cut.flipped {
            (a, b) = (b, a);
        }
        let [inputs, results] = multiply.files();
        let narrow = |sums: Accumulator| sums == Accumulator::F16 && cut.accumulator == Accumulator::F32;
        let mut starts = Vec::new();
        for register in c {
            let slot = self.source(register, results, words.line)?;
            match narrow(c_type) {
                true => starts.extend(self.two_singles(words, slot)),
                false => starts.push(slot),
            }
        }
        let mut ends = Vec::new();
        for register in d {
            let slot = self.destination(register, results, words.line)?;
            match narrow(d_type) {
                true => ends.extend([self.temporary(File::R), self.temporary(File::R)]),
                false => ends.push(slot),
            }
        }
        let steps = if cut.element == Element::Float(Format::Tf32) { 2 } else { 1 };
        let multiply = Multiply { k: multiply.k / steps as u16, ..multiply };
        let [a_count, b_count, c_count] = multiply.registers();
        let mut class = Some(Class::Tensor);
        // D may be C: no tile reads what another has written.
        for i in 0..cut.tiles[0] {
            for j in 0..cut.tiles[1] {
                let at = c_count * (i * cut.tiles[1] + j);
                for step in 0..steps {
                    let mut extended = Extended::new(Extension::Multiply(multiply));
                    let sources = a[a_count * (steps * i + step)..][..a_count]
                        .iter()
                        .chain(&b[b_count * (steps * j + step)..][..b_count]);
                    for register in sources {
                        extended = extended.reading(inputs, self.source(register, inputs, words.line)?);
                    }
                    for slot in if step == 0 { &starts[at..][..c_count] } else { &ends[at..][..c_count] } {
                        extended = extended.reading(results, *slot);
                    }
                    for slot in &ends[at..][..c_count] {
                        extended = extended.writing(results, *slot);
                    }
                    self.tile(words, guard, extended, multiply, class.take());
                }
            }
        }
        if narrow(d_type) {
            for (register, &[low, high]) in d.iter().zip(ends.as_chunks().0) {
                let d = self.destination(register, results, words.line)?;
                let code = General::ConvertPair { to: Format::F16, mode: Mode::PLAIN };
                let sources = [high, low, low, low];
                self.push(Op::General { code, d, sources }, guard, words, None);
            }
        }
        Ok(())
    }

    /// Both halves of a register, each as f32.
    fn two_singles(&mut self, words: &Words, halves: Slot) -> [Slot; 2] {
        let upper = self.whole(words, Alu::ShrU32, halves, 16);
        let (to, from) = (Number::Float(Format::F32), Number::Float(Format::F16));
        let code = General::Convert { to, from, mode: Mode::PLAIN, integral: false, register_bits: 32 };
        [halves, upper].map(|a| {
            let d = self.temporary(File::R);
            self.push(Op::General { code, d, sources: [a; 4] }, None, words, None);
            d
        })
    }

    /// An uncounted operation of two, with a constant, on all lanes.
    fn whole(&mut self, words: &Words, code: Alu, a: Slot, constant: u64) -> Slot {
        let b = self.constant(File::R, constant);
        self.join(words, code, File::R, [a, b, b])
    }

    fn join(&mut self, words: &Words, code: Alu, file: File, [a, b, c]: [Slot; 3]) -> Slot {
        let d = self.temporary(file);
        self.push(Op::Alu { code, d, a, b, c }, None, words, None);
        d
    }
}

/// Elements that lie side by side in memory: of a row, or of a column.
fn length(which: usize, shape: &str, by_rows: bool) -> usize {
    let [m, n, k] = extents(shape);
    let (rows, columns) = [(m, k), (k, n), (m, n)][which];
    if by_rows { columns } else { rows }
}

/// What the manual says of a matrix's address and stride: multiples of 32 and of 16 bytes. Where a tile's rows are shorter, the next
/// tile begins behind them, and is none the worse.
fn rule((which, shape, kind): (usize, &str, &str), by_rows: bool, space: Space, offset: i64) -> Fragment {
    let bits: u32 = kind.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse().unwrap_or(32);
    let bytes = length(which, shape, by_rows) as u32 * bits / 8;
    Fragment { space, offset, bits, align: bytes.clamp(1, 32), apart: bytes.clamp(1, 16) }
}

/// Rows and columns of D, and the extent along K.
fn extents(shape: &str) -> [usize; 3] {
    let mut numbers = shape.split(['m', 'n', 'k']).filter_map(|number| number.parse().ok());
    [(); 3].map(|()| numbers.next().unwrap_or_default())
}
