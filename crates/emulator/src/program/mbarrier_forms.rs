//! From words to operations: barriers in shared memory (`mbarrier`), and the fences between the two ways to memory.

use super::decode::Decoder;
use super::extended::{Arrive, Fenced, Mbarrier};
use super::select::operand;
use super::*;
use crate::ptx::{Instruction as Words, Operand, error};
use crate::{Class, PtxError};

impl Decoder<'_> {
    /// `mbarrier.*`.
    pub fn mbarrier(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let has = |word: &str| parts.contains(&word);
        let order = |default| parts.iter().find_map(|part| Order::named(part)).unwrap_or(default);
        let scope = parts.iter().find_map(|part| Scope::named(part)).unwrap_or(Scope::Cta);
        let space = if parts.iter().any(|part| part.starts_with("shared")) { Space::Shared } else { Space::Generic };
        let line = words.line;
        if parts[1] == "pending_count" {
            let state = self.source(operand(words, 1)?, File::D, line)?;
            let d = self.destination(operand(words, 0)?, File::R, line)?;
            let extended = Extended::new(Extension::PendingCount).reading(File::D, state).writing(File::R, d);
            self.extended(words, guard, extended, Class::Barrier);
            return Ok(());
        }
        let (what, place) = match parts[1] {
            "init" => (Mbarrier::Init, 0),
            "inval" => (Mbarrier::Invalidate, 0),
            "expect_tx" => (Mbarrier::Expect, 0),
            "complete_tx" => (Mbarrier::Complete, 0),
            "arrive" | "arrive_drop" => {
                let (expects, drops) = (has("expect_tx"), parts[1] == "arrive_drop");
                let arrive =
                    Arrive { expects, drops, completes: !has("noComplete"), order: order(Order::Release), scope };
                (Mbarrier::Arrive(arrive), 1)
            }
            "test_wait" | "try_wait" => {
                (Mbarrier::Wait { parity: has("parity"), order: order(Order::Acquire), scope }, 1)
            }
            _ => return self.unknown(words),
        };
        let access = self.bare_access(words, place, space, 8, 1)?;
        self.accesses[access as usize].of_cluster = has("shared::cluster");
        let mut extended = Extended::new(Extension::Mbarrier(what)).accessing(access);
        if let Some(given) = words.operands.get(place + 1) {
            let file = match what {
                Mbarrier::Wait { parity: false, .. } => File::D,
                _ => File::R,
            };
            extended = extended.reading(file, self.source(given, file, line)?);
        }
        if let Mbarrier::Arrive(Arrive { expects: true, .. }) = what
            && words.operands.len() != 3
        {
            return error(line, format!("`{}` takes a number of bytes", words.opcode));
        }
        match (what, operand(words, 0)?) {
            (Mbarrier::Arrive(_), Operand::Name(name)) if name == "_" => {}
            (Mbarrier::Arrive(_), _) if has("shared::cluster") => {
                return error(line, format!("operand 1 of `{}` must be `_`", words.opcode));
            }
            (Mbarrier::Arrive(_), d) => extended = extended.writing(File::D, self.destination(d, File::D, line)?),
            (Mbarrier::Wait { .. }, d) => extended = extended.writing(File::P, self.destination(d, File::P, line)?),
            _ => {}
        }
        if let (Mbarrier::Wait { .. }, Some(hint)) = (what, words.operands.get(3)) {
            extended = extended.reading(File::R, self.source(hint, File::R, line)?);
        }
        self.extended(words, guard, extended, Class::Barrier);
        Ok(())
    }

    /// `cp.async.mbarrier.arrive`.
    pub fn arrive_after_copies(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let space = if parts.iter().any(|part| part.starts_with("shared")) { Space::Shared } else { Space::Generic };
        let access = self.bare_access(words, 0, space, 8, 1)?;
        let what = Mbarrier::AfterCopies { counts: !parts.contains(&"noinc") };
        let extended = Extended::new(Extension::Mbarrier(what)).accessing(access);
        self.extended(words, guard, extended, Class::Barrier);
        Ok(())
    }

    /// `fence.proxy.async` and `fence.mbarrier_init`.
    pub fn proxy_fence(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) {
        let what = match parts[1] {
            "mbarrier_init" => Extension::InitFence,
            _ => {
                let space = parts.get(3).map_or("", |space| space);
                Extension::ProxyFence(Fenced { shared: space != "global", global: !space.starts_with("shared") })
            }
        };
        self.extended(words, guard, Extended::new(what), Class::Barrier);
    }
}
