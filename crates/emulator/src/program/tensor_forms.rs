//! From words to operations: copies of boxes of tensors, by tensor maps.

use super::decode::Decoder;
use super::grammar::Width;
use super::places::Place;
use super::select::operand;
use super::*;
use crate::ptx::{Instruction as Words, Operand, error};
use crate::tensor_map::MapField;
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
        if self.register_kind(map).is_some() {
            let map = Operand::Name(map.clone());
            self.register_fits(&map, "b64", Width::Exact, false)
                .or_else(|_| self.register_fits(&map, "u32", Width::Exact, false))?;
        }
        // (ptxas lets floats pass, and predicates, where a number stands beside them.)
        coordinates.iter().try_for_each(|coordinate| match coordinate {
            Operand::Integer(_) => Ok(()),
            Operand::Name(name) if name == "WARP_SZ" => Ok(()),
            other => self
                .register_fits(other, "s32", Width::Exact, false)
                .or_else(|_| self.register_fits(other, "u32", Width::Exact, false)),
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

    /// `fence.proxy.tensormap::generic.acquire`.
    pub fn acquire_map(&mut self, words: &Words, guard: Option<Guard>, scope: Scope) -> Result<(), PtxError> {
        let map = self.bare_access(words, 0, Space::Global, 8, 2)?;
        let extended = Extended::new(Extension::TensorMap(MapDeed::Acquire(scope))).accessing(map);
        self.extended(words, guard, extended, Class::Barrier);
        Ok(())
    }

    /// `tensormap.replace` and `tensormap.cp_fenceproxy`.
    pub fn change_map(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let has = |word: &str| parts.contains(&word);
        let space = match () {
            _ if has("global") => Space::Global,
            _ if has("shared::cta") => Space::Shared,
            _ => Space::Generic,
        };
        let map = self.bare_access(words, 0, space, 8, 2)?;
        if parts[1] == "cp_fenceproxy" {
            let scope = parts.iter().find_map(|part| Scope::named(part)).unwrap_or_default();
            let from = self.bare_access(words, 1, Space::Shared, 8, 2)?;
            let what = Extension::TensorMap(MapDeed::CopyOut(scope));
            let extended = Extended::new(what).accessing(map).accessing(from);
            self.extended(words, guard, extended, Class::GlobalStore);
            return Ok(());
        }
        let ordinal = match (words.operands.len(), operand(words, 1)?) {
            (3, Operand::Integer(n)) => *n as u8,
            _ => 0,
        };
        let field = match parts[3] {
            "global_address" => MapField::Address,
            "rank" => MapField::Rank,
            "box_dim" => MapField::Box(ordinal),
            "global_dim" => MapField::Size(ordinal),
            "global_stride" => MapField::Stride(ordinal),
            "element_stride" => MapField::Step(ordinal),
            "elemtype" => MapField::Element,
            "interleave_layout" => MapField::Interleave,
            "swizzle_mode" => MapField::Swizzle,
            _ => MapField::Fill,
        };
        let file = if has("b64") { File::D } else { File::R };
        let value = self.source(operand(words, words.operands.len() - 1)?, file, words.line)?;
        let what = Extension::TensorMap(MapDeed::Replace(field));
        self.extended(words, guard, Extended::new(what).accessing(map).reading(file, value), Class::OtherMemory);
        Ok(())
    }

    /// `prefetch.tensormap`, which changes nothing.
    pub fn prefetch_map(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let space = match parts[1] {
            "param" => Space::Parameter,
            "const" => Space::Constant,
            _ => Space::Generic,
        };
        if let Operand::Address(base, _) = operand(words, 0)? {
            self.check_address(base.as_deref(), space, words)?;
        }
        self.push(Op::Nothing, guard, words, Some(Class::Move));
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
