//! Conversions: the common ones as one or two fast steps, all others as data.

use super::decode::Decoder;
use super::forms::Modifiers;
use super::select::operand;
use super::*;
use crate::ptx::{Instruction as Words, Operand};
use crate::{Class, PtxError};

impl Decoder<'_> {
    pub fn convert(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let [modifiers @ .., to, from] = parts else { return self.unknown(words) };
        if modifiers.first() == Some(&"pack") {
            return self.pack(words, guard, parts);
        }
        let Some(steps) = conversion(modifiers, to, from) else {
            return self.convert_general(words, guard, modifiers, to, from);
        };
        let Some(last) = steps.last() else {
            // The same bits in the same register.
            let wide = to.ends_with("64");
            let (file, code) = if wide { (File::D, Alu::Mov64) } else { (File::R, Alu::Mov32) };
            let a = match file {
                File::R => self.convertible(words, File::R)?,
                _ => self.source(operand(words, 1)?, file, words.line)?,
            };
            let d = self.destination(operand(words, 0)?, file, words.line)?;
            self.push_unary(words, guard, code, d, a, Some(Class::Convert));
            return Ok(());
        };
        let mut a = self.convertible(words, steps[0].signature()[1])?;
        for step in &steps[..steps.len() - 1] {
            a = self.helper(words, *step, step.signature()[0], a);
        }
        let d = self.destination(operand(words, 0)?, last.signature()[0], words.line)?;
        self.push_unary(words, guard, *last, d, a, Some(Class::Convert));
        Ok(())
    }

    fn convert_general(
        &mut self,
        words: &Words,
        guard: Option<Guard>,
        modifiers: &[&str],
        to: &str,
        from: &str,
    ) -> Result<(), PtxError> {
        let Modifiers { mode, integral, rest } = Modifiers::of(modifiers);
        if !rest.is_empty() {
            return self.unknown(words);
        }
        if let (Some(to), "f32") = (to.strip_suffix("x2"), from) {
            let Some(Number::Float(to @ (Format::E4m3 | Format::E5m2 | Format::F16 | Format::Bf16))) =
                Number::named(to)
            else {
                return self.unknown(words);
            };
            return self.general(words, guard, General::ConvertPair { to, mode }, Class::Convert);
        }
        if let (Some(to), Some(from)) = (to.strip_suffix("x2"), from.strip_suffix("x2")) {
            let (Some(Number::Float(to)), Some(Number::Float(from))) = (Number::named(to), Number::named(from)) else {
                return self.unknown(words);
            };
            return self.general(words, guard, General::ConvertHalves { to, from, mode }, Class::Convert);
        }
        let (Some(to), Some(from)) = (Number::named(to), Number::named(from)) else { return self.unknown(words) };
        let register_bits = match operand(words, 0)? {
            Operand::Name(name) => self.register_bits(name).unwrap_or(to.bits()),
            _ => to.bits(),
        };
        let code = General::Convert { to, from, mode, integral, register_bits };
        let (result, files) = code.signature();
        let a = self.convertible(words, files[0])?;
        let d = self.destination(operand(words, 0)?, result, words.line)?;
        self.push(Op::General { code, d, sources: [a; 4] }, guard, words, Some(Class::Convert));
        Ok(())
    }

    /// `cvt.pack`.
    fn pack(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let (["pack", "sat", to @ ("u16" | "s16"), "s32"] | ["pack", "sat", to, "s32", "b32"]) = parts else {
            return self.unknown(words);
        };
        let Some(bits @ (2 | 4 | 8 | 16)) = bits(to) else { return self.unknown(words) };
        let code = General::Pack { bits: bits as u8, signed: to.starts_with('s') };
        self.general(words, guard, code, Class::Convert)
    }

    /// The source of a conversion, of which a wider register holds more than is converted.
    fn convertible(&mut self, words: &Words, file: File) -> Result<Slot, PtxError> {
        let from = operand(words, 1)?;
        if file == File::R && self.file_of(from) == Some(File::D) {
            let a = self.source(from, File::D, words.line)?;
            return Ok(self.helper(words, Alu::Truncate64, File::R, a));
        }
        self.source(from, file, words.line)
    }
}

/// The steps that a conversion takes; none where the bits stay as they are.
fn conversion(modifiers: &[&str], to: &str, from: &str) -> Option<Vec<Alu>> {
    use Alu::*;
    let rounding = modifiers.first().copied().unwrap_or("");
    if modifiers.len() > 1 {
        return None;
    }
    let float = |kind: &str| matches!(kind, "f32" | "f64");
    if [to, from].iter().any(|kind| !float(kind) && bits(kind).is_none()) {
        return None;
    }
    let mut steps = Vec::new();
    match (float(to), float(from)) {
        (true, true) => match (to, from, rounding) {
            ("f64", "f32", "") => steps.push(F32ToF64),
            ("f32", "f64", "rn") => steps.push(F64ToF32),
            (_, _, "") if to == from => {}
            (_, _, rounding) if to == from => steps.push(round_to_integer(rounding, to)?),
            _ => return None,
        },
        (true, false) => {
            if rounding != "rn" {
                return None;
            }
            steps.extend(widen(from));
            steps.push(match (from, to) {
                ("s64", "f32") => S64ToF32,
                ("u64", "f32") => U64ToF32,
                ("s64", "f64") => S64ToF64,
                ("u64", "f64") => U64ToF64,
                (_, "f32") if from.starts_with('s') => S32ToF32,
                (_, "f32") => U32ToF32,
                _ if from.starts_with('s') => S32ToF64,
                _ => U32ToF64,
            });
        }
        (false, true) => {
            steps.push(round_to_integer(rounding, from)?);
            steps.push(match (from, to) {
                ("f32", "s32") => F32ToS32,
                ("f32", "u32") => F32ToU32,
                ("f32", "s64") => F32ToS64,
                ("f32", "u64") => F32ToU64,
                ("f64", "s32") => F64ToS32,
                ("f64", "u32") => F64ToU32,
                ("f64", "s64") => F64ToS64,
                ("f64", "u64") => F64ToU64,
                _ => return None,
            });
        }
        (false, false) => {
            if !rounding.is_empty() {
                return None;
            }
            match (bits(to)?, bits(from)?) {
                (64, 64) => {}
                (64, _) => {
                    steps.extend(widen(from));
                    steps.push(if from.starts_with('s') { ExtendS32 } else { ExtendU32 });
                }
                (32, 64) => steps.push(Truncate64),
                (32, _) => steps.extend(widen(from)),
                _ => return None,
            }
        }
    }
    Some(steps)
}

fn bits(kind: &str) -> Option<u32> {
    if !kind.starts_with(['s', 'u', 'b']) {
        return None;
    }
    kind[1..].parse().ok()
}

/// A narrow integer to 32 bits.
fn widen(from: &str) -> Option<Alu> {
    match from {
        "s8" => Some(Alu::SignExtend8),
        "s16" => Some(Alu::SignExtend16),
        "u8" => Some(Alu::Trunc8),
        "u16" => Some(Alu::Trunc16),
        _ => None,
    }
}

fn round_to_integer(rounding: &str, kind: &str) -> Option<Alu> {
    use Alu::*;
    Some(match (rounding, kind) {
        ("rni", "f32") => RoundF32,
        ("rzi", "f32") => TruncF32,
        ("rmi", "f32") => FloorF32,
        ("rpi", "f32") => CeilF32,
        ("rni", "f64") => RoundF64,
        ("rzi", "f64") => TruncF64,
        ("rmi", "f64") => FloorF64,
        ("rpi", "f64") => CeilF64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOATS: [&str; 2] = ["f32", "f64"];
    const NARROW: [&str; 4] = ["s8", "s16", "u8", "u16"];

    /// How many fast steps a conversion takes, if it is done by them; those by narrow integers have one more.
    fn steps(rounding: &str, to: &str, from: &str) -> Option<usize> {
        let (to_float, from_float) = (FLOATS.contains(&to), FLOATS.contains(&from));
        let narrow = usize::from(NARROW.contains(&from));
        let integral = ["rni", "rzi", "rmi", "rpi"].contains(&rounding);
        let bits = |kind: &str| kind[1..].parse::<u32>().ok();
        match (to_float, from_float) {
            _ if [to, from].contains(&"bf16") || [to, from].contains(&"f16") => None,
            (true, true) => match (to, from, rounding) {
                ("f64", "f32", "") | ("f32", "f64", "rn") => Some(1),
                _ if to != from => None,
                (.., "") => Some(0),
                _ => integral.then_some(1),
            },
            (true, false) => (rounding == "rn").then_some(1 + narrow),
            (false, true) => (integral && bits(to) > Some(16)).then_some(2),
            (false, false) => match (rounding, bits(to), bits(from)) {
                ("", Some(64), Some(64)) | ("", Some(32), Some(32)) => Some(0),
                ("", Some(64), _) => Some(1 + narrow),
                ("", Some(32), Some(64)) => Some(1),
                ("", Some(32), _) => Some(narrow),
                _ => None,
            },
        }
    }

    #[test]
    fn common_ones_are_done_in_fast_steps() {
        let kinds = ["s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"];
        for (to, from) in kinds.iter().flat_map(|to| kinds.map(|from| (*to, from))) {
            for rounding in ["", "rn", "rz", "rm", "rni", "rzi", "rmi", "rpi"] {
                let modifiers: &[&str] = if rounding.is_empty() { &[] } else { &[rounding] };
                let found = conversion(modifiers, to, from);
                let wanted = steps(rounding, to, from);
                assert_eq!(found.as_ref().map(Vec::len), wanted, "cvt.{rounding}.{to}.{from}: {found:?}");
            }
            assert_eq!(conversion(&["rn", "ftz"], to, from), None);
            assert_eq!(conversion(&["rni", "sat"], to, from), None);
        }
    }
}
