//! From words to operations: bulk copies between global and shared memory.

use super::decode::Decoder;
use super::extended::Bulk;
use super::select::{integer, operand};
use super::warp_forms::atomic_form;
use super::*;
use crate::ptx::Instruction as Words;
use crate::{Class, PtxError};

impl Decoder<'_> {
    /// `cp.async.bulk` and `cp.reduce.async.bulk`.
    pub fn bulk_copy(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        match parts {
            ["cp", "async", "bulk", "prefetch", ..] => {
                self.push(Op::Nothing, guard, words, Some(Class::Move));
                Ok(())
            }
            ["cp", "async", "bulk", "commit_group"] => {
                self.extended(words, guard, Extended::new(Extension::Bulk(Bulk::Commit)), Class::Barrier);
                Ok(())
            }
            ["cp", "async", "bulk", "wait_group", read @ ..] => {
                let Some(pending) = integer(operand(words, 0)?) else { return self.unknown(words) };
                let pending = u32::try_from(pending).unwrap_or(u32::MAX);
                let wait = Bulk::Wait { pending, read: !read.is_empty() };
                self.extended(words, guard, Extended::new(Extension::Bulk(wait)), Class::Barrier);
                Ok(())
            }
            ["cp", "async", "bulk", "shared::cluster" | "shared::cta", "global", ..] => {
                let from = self.bare_access(words, 1, Space::Global, 8, 2)?;
                let to = self.bare_access(words, 0, Space::Shared, 8, 2)?;
                let barrier = self.bare_access(words, 3, Space::Shared, 8, 1)?;
                let bytes = self.source(operand(words, 2)?, File::R, words.line)?;
                let load = Extended::new(Extension::Bulk(Bulk::Load)).accessing(from).accessing(to).accessing(barrier);
                self.extended(words, guard, load.reading(File::R, bytes), Class::GlobalLoad);
                Ok(())
            }
            ["cp", "async", "bulk", "global", ..] => self.bulk_store(words, guard, None),
            ["cp", "reduce", "async", "bulk", "global", .., kind] => {
                let ops = ["and", "or", "xor", "add", "inc", "dec", "min", "max"];
                let op = parts.iter().find(|part| ops.contains(part)).copied().unwrap_or_default();
                let Some(reduce) = atomic_form(op, kind) else { return self.unknown(words) };
                self.bulk_store(words, guard, Some(reduce))
            }
            _ => self.unknown(words),
        }
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
