//! Comparisons and what chooses by them: `setp`, `set`, `selp`, `slct`, `testp`.

use super::arithmetic::narrow_immediate;
use super::decode::Decoder;
use super::select::operand;
use super::*;
use crate::ptx::{Instruction as Words, Operand};
use crate::{Class, PtxError};

impl Decoder<'_> {
    /// `setp`, with one or two results, each combined with another predicate if there is one.
    pub fn compare(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let combine = self.combination(words, parts, 3)?;
        let (to, other_to) = match operand(words, 0)? {
            Operand::Pair(p, q) => (&**p, &**q),
            p => {
                let d = self.destination(p, File::P, words.line)?;
                let raw = if combine.is_none() { d } else { self.temporary(File::P) };
                self.comparison(words, guard, parts, raw, None)?;
                if let Some((code, b)) = combine {
                    self.push(Op::Alu { code, d, a: raw, b, c: b }, guard, words, None);
                }
                return Ok(());
            }
        };
        let halves = [self.temporary(File::P), self.temporary(File::P)];
        self.comparison(words, guard, parts, halves[0], Some(halves[1]))?;
        // Both are combined before either is written.
        let values = halves.map(|half| self.combined(words, combine, half));
        for (to, value) in [to, other_to].into_iter().zip(values) {
            let d = self.destination(to, File::P, words.line)?;
            self.push_unary(words, guard, Alu::MovP, d, value, None);
        }
        Ok(())
    }

    /// `set`: a comparison whose result is a number.
    pub fn set(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let Some(place) = parts.len().checked_sub(2) else { return self.unknown(words) };
        let (to, packed) = (parts[place].trim_end_matches("x2"), parts[parts.len() - 1].ends_with("x2"));
        let halves = [self.temporary(File::P), self.temporary(File::P)];
        self.comparison(words, guard, parts, halves[0], packed.then_some(halves[1]))?;
        let combine = self.combination(words, parts, 3)?;
        let Some(number) = Number::named(to) else { return self.unknown(words) };
        let code = General::Truth { to: number };
        let file = number.file();
        let d = self.destination(operand(words, 0)?, file, words.line)?;
        let mut values = halves;
        for (value, half) in values.iter_mut().zip(halves).take(1 + usize::from(packed)) {
            let holds = self.combined(words, combine, half);
            *value = self.temporary(file);
            self.push(Op::General { code, d: *value, sources: [holds; 4] }, None, words, None);
        }
        let [low, high] = values;
        match packed {
            true => self.push(Op::Alu { code: Alu::Pack32, d, a: low, b: high, c: low }, guard, words, None),
            false if file == File::D => self.push_unary(words, guard, Alu::Mov64, d, low, None),
            false => self.push_unary(words, guard, Alu::Mov32, d, low, None),
        }
        Ok(())
    }

    /// The comparison's truth to `first`; to `second` its opposite, or for packed operands the upper half's.
    fn comparison(
        &mut self,
        words: &Words,
        guard: Option<Guard>,
        parts: &[&str],
        first: Slot,
        second: Option<Slot>,
    ) -> Result<(), PtxError> {
        let kind = *parts.last().unwrap_or(&"");
        let operator = parts.first().copied().unwrap_or("");
        let flush = parts.contains(&"ftz");
        let packed = kind.ends_with("x2");
        let fast = comparison(operator, kind).filter(|_| !flush);
        let general = Number::named(kind.trim_end_matches("x2")).and_then(|number| test_of(operator, number));
        let Some((test, number)) = general else { return self.unknown(words) };
        let file = number.file();
        let a = self.source(operand(words, 1)?, file, words.line)?;
        let b = self.source(operand(words, 2)?, file, words.line)?;
        let general = |half, d| {
            let code = General::Compare { test, number, flush, half };
            Op::General { code, d, sources: [a, b, a, a] }
        };
        let op = match fast {
            Some((code, true)) => Op::Alu { code, d: first, a: b, b: a, c: a },
            Some((code, false)) => Op::Alu { code, d: first, a, b, c: b },
            None => general(0, first),
        };
        self.push(op, guard, words, Some(Class::Compare));
        match second {
            Some(second) if packed => self.push(general(1, second), None, words, None),
            Some(second) => self.push_unary(words, None, Alu::NotP, second, first, None),
            None => {}
        }
        Ok(())
    }

    /// `.and`, `.or` or `.xor` and the predicate that it takes, operand `n`.
    fn combination(&mut self, words: &Words, parts: &[&str], n: usize) -> Result<Option<(Alu, Slot)>, PtxError> {
        let code = parts.iter().find_map(|part| match *part {
            "and" => Some(Alu::AndP),
            "or" => Some(Alu::OrP),
            "xor" => Some(Alu::XorP),
            _ => None,
        });
        match code {
            None => Ok(None),
            Some(code) => Ok(Some((code, self.predicate(operand(words, n)?, words)?))),
        }
    }

    fn combined(&mut self, words: &Words, combine: Option<(Alu, Slot)>, value: Slot) -> Slot {
        let Some((code, b)) = combine else { return value };
        let d = self.temporary(File::P);
        self.push(Op::Alu { code, d, a: value, b, c: b }, None, words, None);
        d
    }

    pub fn select_value(&mut self, words: &Words, guard: Option<Guard>, kind: &str) -> Result<(), PtxError> {
        let code = match kind {
            "pred" => Alu::SelectP,
            _ if kind.ends_with("64") => Alu::Select64,
            _ => Alu::Select32,
        };
        let mut words = words.clone();
        words.operands = words.operands.iter().map(|operand| narrow_immediate(operand, kind)).collect();
        self.alu(&words, guard, code, Class::Compare, false)
    }
}

/// A comparison's operation, and whether its operands change places (`a > b` is `b < a`).
fn comparison(operator: &str, kind: &str) -> Option<(Alu, bool)> {
    use Alu::*;
    // lt, le, eq, ne; for floats also the unordered forms.
    let ([lt, le, eq, ne], unordered) = match kind {
        "b32" | "u32" => ([LtU32, LeU32, Eq32, Ne32], None),
        "s32" => ([LtS32, LeS32, Eq32, Ne32], None),
        "b64" | "u64" => ([LtU64, LeU64, Eq64, Ne64], None),
        "s64" => ([LtS64, LeS64, Eq64, Ne64], None),
        "f32" => ([LtF32, LeF32, EqF32, NeF32], Some([LtuF32, LeuF32, EquF32, NeuF32, NumF32, NanF32])),
        "f64" => ([LtF64, LeF64, EqF64, NeF64], Some([LtuF64, LeuF64, EquF64, NeuF64, NumF64, NanF64])),
        _ => return None,
    };
    let code = match (operator, unordered) {
        ("lt" | "gt", _) | ("lo" | "hi", None) => lt,
        ("le" | "ge", _) | ("ls" | "hs", None) => le,
        ("eq", _) => eq,
        ("ne", _) => ne,
        ("ltu" | "gtu", Some([ltu, ..])) => ltu,
        ("leu" | "geu", Some([_, leu, ..])) => leu,
        ("equ", Some([_, _, equ, ..])) => equ,
        ("neu", Some([_, _, _, neu, ..])) => neu,
        ("num", Some([.., num, _])) => num,
        ("nan", Some([.., nan])) => nan,
        _ => return None,
    };
    Some((code, matches!(operator, "gt" | "ge" | "hi" | "hs" | "gtu" | "geu")))
}

/// What a comparison operator asks, and the type as it asks it (`lo`, `ls`, `hi`, `hs` are unsigned).
fn test_of(operator: &str, number: Number) -> Option<(Comparison, Number)> {
    use Comparison::*;
    let unsigned = match number {
        Number::Integer { bits, .. } => Number::Integer { bits, signed: false },
        float => float,
    };
    let float = matches!(number, Number::Float(_));
    Some(match operator {
        "eq" => (Ordered(Relation::Eq), number),
        "ne" => (Ordered(Relation::Ne), number),
        "lt" => (Ordered(Relation::Lt), number),
        "le" => (Ordered(Relation::Le), number),
        "gt" => (Ordered(Relation::Gt), number),
        "ge" => (Ordered(Relation::Ge), number),
        "lo" if !float => (Ordered(Relation::Lt), unsigned),
        "ls" if !float => (Ordered(Relation::Le), unsigned),
        "hi" if !float => (Ordered(Relation::Gt), unsigned),
        "hs" if !float => (Ordered(Relation::Ge), unsigned),
        "equ" if float => (OrUnordered(Relation::Eq), number),
        "neu" if float => (OrUnordered(Relation::Ne), number),
        "ltu" if float => (OrUnordered(Relation::Lt), number),
        "leu" if float => (OrUnordered(Relation::Le), number),
        "gtu" if float => (OrUnordered(Relation::Gt), number),
        "geu" if float => (OrUnordered(Relation::Ge), number),
        "num" if float => (BothNumbers, number),
        "nan" if float => (AnyNan, number),
        _ => return None,
    })
}
