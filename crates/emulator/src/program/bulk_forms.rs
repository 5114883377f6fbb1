//! From words to operations: bulk copies between global and shared memory.

use super::decode::Decoder;
use super::extended::Bulk;
use super::select::{integer, operand};
use super::warp_forms::atomic_form;
use super::*;
use crate::ptx::{Instruction as Words, Operand, error};
use crate::{Class, PtxError};

impl Decoder<'_> {
    /// `cp.async.bulk` and `cp.reduce.async.bulk`.
    pub fn bulk_copy(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let size = words.operands.get(if parts.contains(&"prefetch") { 1 } else { 2 });
        if let Some(Operand::Integer(size)) = size
            && !parts.contains(&"tensor")
            && size % 16 != 0
        {
            return error(words.line, format!("`{}` of {size} bytes, which is no multiple of 16", words.opcode));
        }
        match *parts {
            ["cp", "async", "bulk", "tensor", ..] | ["cp", "reduce", "async", "bulk", "tensor", ..] => {
                self.tensor_copy(words, guard, parts)
            }
            ["cp", "async", "bulk", "prefetch", ..] => {
                self.push(Op::Nothing, guard, words, Some(Class::Move));
                Ok(())
            }
            ["cp", "async", "bulk", "commit_group"] => {
                self.extended(words, guard, Extended::new(Extension::Bulk(Bulk::Commit)), Class::Barrier);
                Ok(())
            }
            ["cp", "async", "bulk", "wait_group", ref read @ ..] => {
                let Some(pending) = integer(operand(words, 0)?) else { return self.unknown(words) };
                let pending = u32::try_from(pending).unwrap_or(u32::MAX);
                let wait = Bulk::Wait { pending, read: !read.is_empty() };
                self.extended(words, guard, Extended::new(Extension::Bulk(wait)), Class::Barrier);
                Ok(())
            }
            ["cp", "async", "bulk", to @ ("shared::cluster" | "shared::cta"), "global", ref rest @ ..] => {
                let multicast = rest.contains(&"multicast::cluster");
                let what = if multicast { Bulk::Multicast } else { Bulk::Load };
                let from = self.bare_access(words, 1, Space::Global, 8, 2)?;
                let mut load = self.told_copy(words, what, from, to == "shared::cluster")?;
                if multicast {
                    // A register of 16 bits is kept in one of 32.
                    load = load.reading(File::R, self.source(operand(words, 4)?, File::R, words.line)?);
                }
                self.extended(words, guard, load, Class::GlobalLoad);
                Ok(())
            }
            ["cp", "async", "bulk", "shared::cluster", "shared::cta", ..] => {
                let from = self.bare_access(words, 1, Space::Shared, 8, 2)?;
                let copy = self.told_copy(words, Bulk::Exchange(None), from, true)?;
                self.extended(words, guard, copy, Class::SharedStore);
                Ok(())
            }
            ["cp", "reduce", "async", "bulk", "shared::cluster", "shared::cta", .., kind] => {
                let Some(reduce) = combination(parts, kind) else { return self.unknown(words) };
                let from = self.bare_access(words, 1, Space::Shared, 8, 2)?;
                let copy = self.told_copy(words, Bulk::Exchange(Some(reduce)), from, true)?;
                self.extended(words, guard, copy, Class::SharedStore);
                Ok(())
            }
            ["cp", "async", "bulk", "global", ..] => self.bulk_store(words, guard, None),
            ["cp", "reduce", "async", "bulk", "global", .., kind] => {
                let Some(reduce) = combination(parts, kind) else { return self.unknown(words) };
                self.bulk_store(words, guard, Some(reduce))
            }
            _ => self.unknown(words),
        }
    }

    /// A copy from an access to shared memory, that tells a barrier there.
    fn told_copy(&mut self, words: &Words, what: Bulk, from: u32, of_cluster: bool) -> Result<Extended, PtxError> {
        let to = self.bare_access(words, 0, Space::Shared, 8, 2)?;
        let barrier = self.bare_access(words, 3, Space::Shared, 8, 1)?;
        for index in [to, barrier] {
            self.accesses[index as usize].of_cluster = of_cluster;
        }
        let bytes = self.source(operand(words, 2)?, File::R, words.line)?;
        let copy = Extended::new(Extension::Bulk(what)).accessing(from).accessing(to).accessing(barrier);
        Ok(copy.reading(File::R, bytes))
    }

    fn bulk_store(&mut self, words: &Words, guard: Option<Guard>, reduce: Option<Atomic>) -> Result<(), PtxError> {
        let from = self.bare_access(words, 1, Space::Shared, 8, 2)?;
        let to = self.bare_access(words, 0, Space::Global, 8, 2)?;
        if let Some(reduce) = reduce {
            let access = &mut self.accesses[to as usize];
            (access.element_bytes, access.elements) = (u32::from(reduce.bits) / 8, 128 / u32::from(reduce.bits));
            (access.order, access.scope) = (Order::Relaxed, Scope::Gpu);
        }
        let bytes = self.source(operand(words, 2)?, File::R, words.line)?;
        let store = Extended::new(Extension::Bulk(Bulk::Store(reduce))).accessing(from).accessing(to);
        self.extended(words, guard, store.reading(File::R, bytes), Class::GlobalStore);
        Ok(())
    }
}

/// What the words of an opcode say of how values are combined.
pub(super) fn combination(parts: &[&str], kind: &str) -> Option<Atomic> {
    let ops = ["and", "or", "xor", "add", "inc", "dec", "min", "max"];
    atomic_form(parts.iter().find(|part| ops.contains(part))?, kind)
}
