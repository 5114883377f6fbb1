//! From words to operations: atomics, asynchronous copies, matrices, and instructions across a warp.

use super::decode::Decoder;
use super::select::operand;
use super::*;
use crate::ptx::{Instruction as Words, Operand, error};
use crate::{Class, PtxError};

impl Decoder<'_> {
    /// Appends an instruction that does not fit an `Op`.
    pub fn extended(&mut self, words: &Words, guard: Option<Guard>, extended: Extended, class: Class) {
        self.extended_if(words, guard, extended, Some(class));
    }

    /// Appends a part of an instruction that another part counts for.
    pub fn uncounted(&mut self, words: &Words, extended: Extended) {
        self.extended_if(words, None, extended, None);
    }

    /// Appends one that counts only if it has a class.
    pub fn extended_if(&mut self, words: &Words, guard: Option<Guard>, extended: Extended, class: Option<Class>) {
        for access in &extended.accesses {
            self.accesses[*access as usize].at = self.code.len() as u32;
        }
        let index = self.extended.len() as u32;
        self.extended.push(extended);
        self.push(Op::Extended(index), guard, words, class);
    }

    /// An access whose registers are its instruction's: the address of operand `n`.
    pub fn bare_access(
        &mut self,
        words: &Words,
        n: usize,
        space: Space,
        element: u32,
        count: u32,
    ) -> Result<u32, PtxError> {
        let mut space = space;
        let (base, base_wide, offset) = self.address(operand(words, n)?, &mut space, words)?;
        self.accesses.push(Access {
            space,
            element_bytes: element,
            elements: count,
            base,
            base_wide,
            offset,
            ..Access::default()
        });
        Ok(self.accesses.len() as u32 - 1)
    }

    /// `atom` and `red`.
    pub fn atomic(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let returns = parts[0] == "atom";
        let (mut space, mut of_cluster) = (Space::Generic, false);
        let (mut rest, mut ordering, mut vector) = (Vec::new(), Ordering::default(), false);
        for part in &parts[1..] {
            match *part {
                "global" => space = Space::Global,
                "shared" | "shared::cta" => space = Space::Shared,
                "shared::cluster" => (space, of_cluster) = (Space::Shared, true),
                "noftz" | "L2::cache_hint" => {}
                "v2" | "v4" | "v8" => vector = true,
                part if ordering.takes(part) => {}
                _ => rest.push(*part),
            }
        }
        let [op, kind] = rest[..] else { return self.unknown(words) };
        let Some(atomic) = atomic_form(op, kind) else { return self.unknown(words) };
        if vector {
            return self.atomic_vector(words, guard, atomic, (space, ordering));
        }
        let first = usize::from(returns);
        let bytes = u32::from(atomic.bits) / 8;
        let access = self.bare_access(words, first, space, bytes.min(8), bytes.div_ceil(8))?;
        (self.accesses[access as usize].order, self.accesses[access as usize].scope) = ordering.of_atomic();
        self.accesses[access as usize].of_cluster = of_cluster;
        let mut extended = Extended::new(Extension::Atomic(atomic)).accessing(access);
        let operands = if atomic.op == AtomicOp::CompareAndSwap { 2 } else { 1 };
        for n in 0..operands {
            let read = self.atomic_registers(operand(words, first + 1 + n)?, atomic.bits, words.line)?;
            extended.reads.extend(read);
        }
        match (returns, atomic.bits) {
            (false, _) => {}
            (true, 128) => extended.writes = self.atomic_registers(operand(words, 0)?, 128, words.line)?,
            (true, bits) => {
                let file = if bits == 64 { File::D } else { File::R };
                extended = extended.writing(file, self.destination(operand(words, 0)?, file, words.line)?);
            }
        }
        self.extended(words, guard, extended, Class::Atomic);
        Ok(())
    }

    /// An atomic of several elements, each of which is atomic by itself. The first one's access is that of all: what holds for
    /// the place of the vector is looked at there.
    fn atomic_vector(
        &mut self,
        words: &Words,
        guard: Option<Guard>,
        atomic: Atomic,
        (space, ordering): (Space, Ordering),
    ) -> Result<(), PtxError> {
        let returns = words.opcode.starts_with("atom");
        let (first, bytes) = (usize::from(returns), u32::from(atomic.bits) / 8);
        let list = |n: usize| match operand(words, n)? {
            Operand::List(list) => Ok(list.as_slice()),
            _ => self.unknown(words),
        };
        let values = list(first + 1)?;
        let results = if returns { list(0)? } else { &[] };
        let many = values.len() as u32;
        let fits = words.opcode.split('.').any(|part| part == format!("v{many}")) && many * bytes <= 16;
        if !fits || returns && results.len() != values.len() {
            return error(words.line, format!("`{}` with {many} elements", words.opcode));
        }
        let mut kept = Vec::new();
        for (n, value) in values.iter().enumerate() {
            let elements = if n == 0 { many } else { 1 };
            let access = self.bare_access(words, first, space, bytes, elements)?;
            let place = &mut self.accesses[access as usize];
            place.offset += i64::from(bytes) * n as i64;
            (place.order, place.scope) = ordering.of_atomic();
            let value = self.source(value, File::R, words.line)?;
            let mut extended = Extended::new(Extension::Atomic(atomic)).accessing(access).reading(File::R, value);
            if let Some(result) = results.get(n) {
                // The results may be what the next elements add.
                let old = self.temporary(File::R);
                extended = extended.writing(File::R, old);
                kept.push((self.destination(result, File::R, words.line)?, old));
            }
            self.extended_if(words, guard, extended, (n == 0).then_some(Class::Atomic));
        }
        for (d, old) in kept {
            self.push(Op::Alu { code: Alu::Mov32, d, a: old, b: old, c: old }, guard, words, None);
        }
        Ok(())
    }

    /// `cp.async` and what waits for it.
    pub fn copy_async(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let simple = |what| Extended::new(what);
        let extended = match parts {
            ["cp", "async", "bulk", ..] | ["cp", "reduce", ..] => return self.bulk_copy(words, guard, parts),
            ["cp", "async", "mbarrier", ..] => return self.arrive_after_copies(words, guard, parts),
            ["cp", "async", "commit_group"] => simple(Extension::CommitCopies),
            ["cp", "async", "wait_all"] => simple(Extension::WaitCopies(None)),
            ["cp", "async", "wait_group"] => {
                let Operand::Integer(pending @ 0..=0xffff) = operand(words, 0)? else { return self.unknown(words) };
                simple(Extension::WaitCopies(Some(*pending as u32)))
            }
            ["cp", "async", "ca" | "cg", "shared" | "shared::cta", "global", hints @ ..]
                if hints.iter().all(|hint| hint.starts_with("L2::")) =>
            {
                return self.copy(words, guard, parts[2], hints.contains(&"L2::cache_hint"));
            }
            _ => return self.unknown(words),
        };
        self.extended(words, guard, extended, Class::Barrier);
        Ok(())
    }

    fn copy(&mut self, words: &Words, guard: Option<Guard>, cache: &str, hinted: bool) -> Result<(), PtxError> {
        let bytes = match (operand(words, 2)?, cache) {
            (Operand::Integer(bytes @ 16), _) | (Operand::Integer(bytes @ (4 | 8)), "ca") => *bytes as u32,
            _ => return error(words.line, format!("`{}` copies 16 bytes, with .ca also 4 or 8", words.opcode)),
        };
        let (element, count) = if bytes == 4 { (4, 1) } else { (8, bytes / 8) };
        let from = self.bare_access(words, 1, Space::Global, element, count)?;
        let to = self.bare_access(words, 0, Space::Shared, element, count)?;
        let given = words.operands.get(3).filter(|_| words.operands.len() - usize::from(hinted) > 3);
        match given {
            None => {}
            Some(Operand::Integer(size)) if (0..=i128::from(bytes)).contains(size) => {}
            Some(Operand::Name(name) | Operand::Not(name)) => {
                let kind = self.register_kind(name).unwrap_or_default();
                if !matches!(kind, "pred" | "b32" | "u32" | "s32") {
                    return error(words.line, format!("`{}` takes a size of 32 bits or a predicate", words.opcode));
                }
            }
            Some(_) => return error(words.line, format!("`{}` takes a size of at most {bytes}", words.opcode)),
        }
        let file = given.map(|operand| self.file_of(operand).unwrap_or(File::R));
        let copy = |size| Extension::CopyAsync { size, bypassing: cache == "cg" };
        let extended = match (given, file) {
            (None, _) | (_, None) => Extended::new(copy(CopySize::Whole)),
            (_, Some(File::D)) => return error(words.line, format!("`{}` with a size of 64 bits", words.opcode)),
            (Some(ignored), Some(File::P)) => {
                let slot = self.predicate(ignored, words)?;
                Extended::new(copy(CopySize::UnlessIgnored)).reading(File::P, slot)
            }
            (Some(size), Some(File::R)) => {
                let slot = self.source(size, File::R, words.line)?;
                Extended::new(copy(CopySize::Given)).reading(File::R, slot)
            }
        };
        self.extended(words, guard, extended.accessing(from).accessing(to), Class::GlobalLoad);
        Ok(())
    }

    /// `ldmatrix` and `stmatrix`.
    pub fn matrix(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let load = parts[0] == "ldmatrix";
        let mut rest: Vec<&str> = parts[1..].to_vec();
        let transpose = rest.contains(&"trans");
        let generic = !rest.iter().any(|part| part.starts_with("shared"));
        rest.retain(|part| !matches!(*part, "trans" | "shared" | "shared::cta"));
        let count = match rest[..] {
            ["sync", "aligned", "m8n8", "x1", "b16"] => 1,
            ["sync", "aligned", "m8n8", "x2", "b16"] => 2,
            ["sync", "aligned", "m8n8", "x4", "b16"] => 4,
            _ => return self.unknown(words),
        };
        let space = if generic { Space::Generic } else { Space::Shared };
        let (registers, address) = if load { (0, 1) } else { (1, 0) };
        let access = self.bare_access(words, address, space, 8, 2)?;
        let what = if load { Extension::LoadMatrix { transpose } } else { Extension::StoreMatrix { transpose } };
        let mut extended = Extended::new(what).accessing(access);
        for register in listed(operand(words, registers)?, count, words)? {
            extended = match load {
                true => extended.writing(File::R, self.destination(register, File::R, words.line)?),
                false => extended.reading(File::R, self.source(register, File::R, words.line)?),
            };
        }
        let class = if load { Class::SharedLoad } else { Class::SharedStore };
        self.extended(words, guard, extended, class);
        Ok(())
    }

    /// `movmatrix`.
    pub fn move_matrix(&mut self, words: &Words, guard: Option<Guard>) -> Result<(), PtxError> {
        let from = self.source(operand(words, 1)?, File::R, words.line)?;
        let to = self.destination(operand(words, 0)?, File::R, words.line)?;
        let extended = Extended::new(Extension::MoveMatrix).reading(File::R, from).writing(File::R, to);
        self.extended(words, guard, extended, Class::Move);
        Ok(())
    }

    /// `mma.sync.aligned`: four lists of registers, for D, A, B and C.
    pub fn multiply(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        if let Some(multiply) = quad_form(parts) {
            return self.multiply_quads(words, guard, multiply);
        }
        let Some(multiply) = multiply_form(parts) else { return self.unknown(words) };
        let [a, b, c] = multiply.registers();
        let [inputs, results] = multiply.files();
        let mut extended = Extended::new(Extension::Multiply(multiply));
        for (n, count, file) in [(1, a, inputs), (2, b, inputs), (3, c, results)] {
            for register in listed(operand(words, n)?, count, words)? {
                extended = extended.reading(file, self.source(register, file, words.line)?);
            }
        }
        for register in listed(operand(words, 0)?, c, words)? {
            extended = extended.writing(results, self.destination(register, results, words.line)?);
        }
        self.tile(words, guard, extended, multiply, Some(Class::Tensor));
        Ok(())
    }

    /// `mma.sync.aligned.m8n8k4` of f16.
    fn multiply_quads(&mut self, words: &Words, guard: Option<Guard>, multiply: QuadMultiply) -> Result<(), PtxError> {
        let [d, c] = multiply.registers();
        let mut extended = Extended::new(Extension::MultiplyQuads(multiply));
        for (n, count) in [(1, 2), (2, 2), (3, c)] {
            for register in listed(operand(words, n)?, count, words)? {
                extended = extended.reading(File::R, self.source(register, File::R, words.line)?);
            }
        }
        for register in listed(operand(words, 0)?, d, words)? {
            extended = extended.writing(File::R, self.destination(register, File::R, words.line)?);
        }
        self.extended(words, guard, extended, Class::Tensor);
        if let Some(info) = self.info.last_mut() {
            info.flops_f32 = QuadMultiply::FLOPS;
        }
        Ok(())
    }

    /// Appends a product of matrices, with its floating-point operations.
    pub fn tile(
        &mut self,
        words: &Words,
        guard: Option<Guard>,
        extended: Extended,
        multiply: Multiply,
        class: Option<Class>,
    ) {
        self.extended_if(words, guard, extended, class);
        if let Some(info) = self.info.last_mut() {
            let (kind, multiply_adds) = (multiply.a.counted(), 32 * multiply.flops() / 2);
            info.tensor = Some(Product { kind, multiply_adds, group_operands: None });
            match multiply.accumulator {
                Accumulator::F64 => info.flops_f64 = multiply.flops(),
                Accumulator::S32 => {}
                _ => info.flops_f32 = multiply.flops(),
            }
        }
    }

    /// `match`, `redux` and `elect`.
    pub fn across(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        use IntegerOp::*;
        let line = words.line;
        let what = match *parts {
            ["match", "any", "sync", "b32" | "b64"] => Extension::Match { all: false },
            ["match", "all", "sync", "b32" | "b64"] => Extension::Match { all: true },
            ["elect", "sync"] => Extension::Elect,
            ["redux", "sync", op, kind @ ("u32" | "s32" | "b32")] => {
                let op = match op {
                    "add" => Add,
                    "min" => Min,
                    "max" => Max,
                    "and" => And,
                    "or" => Or,
                    "xor" => Xor,
                    _ => return self.unknown(words),
                };
                Extension::Reduce(op, kind == "s32")
            }
            _ => return self.unknown(words),
        };
        let (d, flag) = match operand(words, 0)? {
            Operand::Pair(d, p) => (&**d, Some(&**p)),
            d => (d, None),
        };
        let mut extended = Extended::new(what);
        let values = usize::from(what != Extension::Elect);
        if values == 1 {
            let file = if parts.last() == Some(&"b64") { File::D } else { File::R };
            extended = extended.reading(file, self.source(operand(words, 1)?, file, line)?);
        }
        extended = extended.reading(File::R, self.source(operand(words, 1 + values)?, File::R, line)?);
        extended = extended.writing(File::R, self.destination(d, File::R, line)?);
        if let Some(flag) = flag {
            extended = extended.writing(File::P, self.destination(flag, File::P, line)?);
        }
        self.extended(words, guard, extended, Class::Move);
        Ok(())
    }

    /// Reading of a clock, if `from` names one.
    pub fn clock(&self, from: &Operand) -> Option<Extended> {
        let Operand::Name(name) = from else { return None };
        let high = match name.as_str() {
            "%clock" | "%clock64" | "%globaltimer" | "%globaltimer_lo" => false,
            "%clock_hi" | "%globaltimer_hi" => true,
            _ => return None,
        };
        Some(Extended::new(Extension::Clock { high }))
    }
}

/// The registers of a list that must have `count`.
fn listed<'a>(operand: &'a Operand, count: usize, words: &Words) -> Result<&'a [Operand], PtxError> {
    let list = match operand {
        Operand::List(list) => list.as_slice(),
        single => std::slice::from_ref(single),
    };
    if list.len() != count {
        return error(words.line, format!("`{}` takes {count} registers here, and gets {}", words.opcode, list.len()));
    }
    Ok(list)
}

pub(super) fn atomic_form(op: &str, kind: &str) -> Option<Atomic> {
    let packed = kind.ends_with("x2");
    let number = Number::named(kind.trim_end_matches("x2"))?;
    let op = match op {
        "add" => AtomicOp::Add,
        "min" => AtomicOp::Min,
        "max" => AtomicOp::Max,
        "and" => AtomicOp::And,
        "or" => AtomicOp::Or,
        "xor" => AtomicOp::Xor,
        "exch" => AtomicOp::Exchange,
        "cas" => AtomicOp::CompareAndSwap,
        "inc" => AtomicOp::Increment,
        "dec" => AtomicOp::Decrement,
        _ => return None,
    };
    let bits = if packed { 2 * number.bits() } else { number.bits() };
    match number {
        Number::Float(format) => Some(Atomic { op, bits, signed: false, float: Some((format, packed)) }),
        Number::Integer { signed, .. } => Some(Atomic { op, bits, signed, float: None }),
    }
}

/// How a product in f64 is rounded, after each step.
pub(super) fn rounding_in(parts: &[&str]) -> Rounding {
    let named = |part: &&str| match *part {
        "rz" => Some(Rounding::Zero),
        "rm" => Some(Rounding::Down),
        "rp" => Some(Rounding::Up),
        _ => None,
    };
    parts.iter().find_map(named).unwrap_or(Rounding::Nearest)
}

fn quad_form(parts: &[&str]) -> Option<QuadMultiply> {
    let ["mma", "sync", "aligned", "m8n8k4", a, b, d, "f16", "f16", c] = *parts else { return None };
    let [d, c] = [d, c].map(Accumulator::named);
    let sums = [d?, c?];
    // C in f32 needs D in f32.
    let known =
        matches!(sums, [Accumulator::F32, Accumulator::F16 | Accumulator::F32] | [Accumulator::F16, Accumulator::F16]);
    known.then_some(QuadMultiply { by_rows: [a == "row", b == "row"], sums })
}

/// The form of one of the rows of `mma`.
fn multiply_form(parts: &[&str]) -> Option<Multiply> {
    let ["mma", "sync", "aligned", shape, "row", "col", types @ ..] = parts else { return None };
    let (saturate, types) = match types {
        ["satfinite", types @ ..] => (true, types),
        types => (false, types),
    };
    let rounding = rounding_in(types);
    let types = match types {
        ["rn" | "rz" | "rm" | "rp", types @ ..] => types,
        types => types,
    };
    let (and, types) = match types {
        [types @ .., op @ ("and" | "xor"), "popc"] => (*op == "and", types),
        types => (false, types),
    };
    let [d, a, b, _] = types else { return None };
    let (a, b, accumulator) = (Element::named(a, and)?, Element::named(b, and)?, Accumulator::named(d)?);
    let (m, k) = shape.strip_prefix('m')?.split_once("n8k")?;
    let (m, k) = (m.parse().ok()?, k.parse().ok()?);
    Some(Multiply { m, k, a, b, accumulator, saturate, rounding })
}
