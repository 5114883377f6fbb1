//! From words to operations: copies of boxes of tensors, by tensor maps.

use super::decode::Decoder;
use super::places::Place;
use super::select::operand;
use super::*;
use crate::ptx::{Instruction as Words, Operand, error};
use crate::{Class, PtxError};

impl Decoder<'_> {
    /// Whether an operand is a tensor map's address with as many coordinates as the form has: `2d`.
    pub fn tensor_fits(&self, operand: &Operand, rank: &str) -> Result<(), String> {
        let Operand::Tensor(map, coordinates) = operand else {
            return Err("must be a tensor map and coordinates, `[map, {0, 0}]`".into());
        };
        if rank.strip_suffix('d').and_then(|digits| digits.parse().ok()) != Some(coordinates.len()) {
            return Err(format!("has {} coordinates, and must have those of {rank}", coordinates.len()));
        }
        if let Some(kind) = self.register_kind(map)
            && (kind == "pred" || !matches!(self.register_bits(map), Some(32 | 64)))
        {
            return Err(format!("cannot take its address from `{map}`, which is declared as .{kind}"));
        }
        coordinates.iter().try_for_each(|coordinate| match coordinate {
            Operand::Integer(_) => Ok(()),
            Operand::Name(name) if self.register_kind(name) == Some("f32") => Ok(()),
            other => self.register_fits(other, "b32", super::grammar::Width::Exact, false),
        })
    }

    /// `cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor`.
    pub fn tensor_copy(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let load = parts.contains(&"mbarrier::complete_tx::bytes");
        let multicast = parts.contains(&"multicast::cluster");
        let (map, shared) = if load { (1, 0) } else { (0, 1) };
        let Operand::Tensor(name, coordinates) = operand(words, map)? else { return self.unknown(words) };
        let rank = coordinates.len() as u8;
        let what = match load {
            true => Tensor::Load { multicast },
            false => Tensor::Store(reduction(parts)),
        };
        let mut extended = Extended::new(Extension::Bulk(Bulk::Tensor(what, rank)));
        let combines = matches!(what, Tensor::Store(Some(_)));
        extended = extended.accessing(self.map_access(words, name, combines)?);
        extended = extended.accessing(self.bare_access(words, shared, Space::Shared, 8, 2)?);
        if load {
            extended = extended.accessing(self.bare_access(words, 2, Space::Shared, 8, 1)?);
        }
        for coordinate in coordinates {
            extended = extended.reading(File::R, self.source(coordinate, File::R, words.line)?);
        }
        if multicast {
            extended = extended.reading(File::R, self.source(operand(words, 3)?, File::R, words.line)?);
        }
        self.extended(words, guard, extended, if load { Class::GlobalLoad } else { Class::GlobalStore });
        Ok(())
    }

    /// The access by a tensor map. (Where elements are narrower than 4 bytes, races are looked for by whole words.)
    fn map_access(&mut self, words: &Words, name: &str, combines: bool) -> Result<u32, PtxError> {
        if self.register(name).is_none() && !matches!(self.find_place(name), Some(Place::Global(_))) {
            return error(
                words.line,
                format!("`{}` names `{name}`, which is neither a register nor a variable in .global", words.opcode),
            );
        }
        let map = Operand::Name(name.to_string());
        let file = self.file_of(&map).unwrap_or(File::D);
        let base = self.source(&map, file, words.line)?;
        self.accesses.push(Access {
            space: Space::Global,
            element_bytes: 4,
            elements: 1,
            base,
            base_wide: file == File::D,
            order: if combines { Order::Relaxed } else { Order::Weak },
            scope: Scope::Gpu,
            ..Access::default()
        });
        Ok(self.accesses.len() as u32 - 1)
    }
}

/// What a copy does with the elements that stand where it goes.
fn reduction(parts: &[&str]) -> Option<AtomicOp> {
    parts.iter().find_map(|part| {
        Some(match *part {
            "add" => AtomicOp::Add,
            "min" => AtomicOp::Min,
            "max" => AtomicOp::Max,
            "inc" => AtomicOp::Increment,
            "dec" => AtomicOp::Decrement,
            "and" => AtomicOp::And,
            "or" => AtomicOp::Or,
            "xor" => AtomicOp::Xor,
            _ => return None,
        })
    })
}
