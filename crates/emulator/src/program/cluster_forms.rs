//! From words to operations: what thread blocks of a cluster do together.

use super::bulk_forms::combination;
use super::decode::Decoder;
use super::select::operand;
use super::*;
use crate::ptx::{Instruction as Words, Operand, error};
use crate::{Class, PtxError};

impl Decoder<'_> {
    /// `barrier.cluster.arrive` and `barrier.cluster.wait`: the latter a loop that asks, of which the first step counts.
    pub fn cluster_barrier(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let arrives = parts.contains(&"arrive");
        self.where_it_holds(words, guard, |decoder| {
            if parts.contains(&"aligned") {
                // The lanes of a warp that have not ended come together first.
                let all = decoder.constant(File::R, u64::MAX);
                decoder.uncounted(words, Extended::new(Extension::Converge).reading(File::R, all));
            }
            if arrives {
                let arrive = ClusterBarrier::Arrive { relaxed: parts.contains(&"relaxed") };
                decoder.extended(words, None, Extended::new(Extension::ClusterBarrier(arrive)), Class::Barrier);
                return;
            }
            let wait = Extended::new(Extension::ClusterBarrier(ClusterBarrier::Wait));
            decoder.extended(words, None, wait, Class::Barrier);
            let (again, predicate) = (decoder.new_label(), decoder.temporary(File::P));
            decoder.items.push(flow::Item::Label(again));
            let test = Extended::new(Extension::ClusterBarrier(ClusterBarrier::Test)).writing(File::P, predicate);
            decoder.uncounted(words, test);
            let waits = flow::Proto::Branch(Guard { predicate, negated: true }, again);
            decoder.push_end(waits, words, None);
        });
        Ok(())
    }

    /// Where the guard holds, goes through what `inside` appends, which counts as the instruction.
    fn where_it_holds(&mut self, words: &Words, guard: Option<Guard>, inside: impl FnOnce(&mut Self)) {
        let after = guard.map(|guard| {
            let after = self.new_label();
            let skip = Guard { negated: !guard.negated, ..guard };
            self.push_end(flow::Proto::Branch(skip, after), words, None);
            after
        });
        inside(self);
        self.items.extend(after.map(flow::Item::Label));
    }

    /// `mapa`.
    pub fn map_to_rank(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let (generic, file) = (!parts.contains(&"shared::cluster"), file_of(parts));
        let from = self.shared_address(words, file)?;
        let rank = self.source(operand(words, 2)?, File::R, words.line)?;
        let d = self.destination(operand(words, 0)?, file, words.line)?;
        let extended = Extended::new(Extension::MapToRank { generic }).reading(file, from).reading(File::R, rank);
        self.extended(words, guard, extended.writing(file, d), Class::Move);
        Ok(())
    }

    /// `getctarank`.
    pub fn rank_of(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let (generic, file) = (!parts.contains(&"shared::cluster"), file_of(parts));
        let from = self.shared_address(words, file)?;
        let d = self.destination(operand(words, 0)?, File::R, words.line)?;
        let extended = Extended::new(Extension::RankOf { generic }).reading(file, from).writing(File::R, d);
        self.extended(words, guard, extended, Class::Move);
        Ok(())
    }

    /// The address that such an instruction reads: a register, or a variable in shared memory.
    fn shared_address(&mut self, words: &Words, file: File) -> Result<Slot, PtxError> {
        let from = operand(words, 1)?;
        let no = |what: &str| error(words.line, format!("operand 2 of `{}` {what}", words.opcode));
        match from {
            Operand::Name(name) | Operand::Offset(name, _) if self.register_kind(name).is_none() => {
                if !matches!(self.find_place(name), Some(places::Place::Shared(_))) {
                    return no(&format!("is `{name}`, and must be an address in shared memory"));
                }
            }
            Operand::Name(_) => {
                let wanted = if file == File::D { "u64" } else { "u32" };
                if let Err(why) = self.register_fits(from, wanted, grammar::Width::Exact, false) {
                    return no(&why);
                }
            }
            Operand::Integer(_) => {}
            _ => return no("must be a register or a variable in shared memory"),
        }
        self.source(from, file, words.line)
    }

    /// `isspacep` of shared memory: of the thread block's own, or of that of the whole cluster.
    pub fn is_shared(&mut self, words: &Words, guard: Option<Guard>, space: &str) -> Result<(), PtxError> {
        let a = self.source(operand(words, 1)?, File::D, words.line)?;
        let d = self.destination(operand(words, 0)?, File::P, words.line)?;
        let (start, bytes) = match space {
            "shared::cluster" => (self.constant(File::D, SHARED_WINDOW), self.preset(File::D, Preset::ClusterWindow)),
            _ => (self.preset(File::D, Preset::SharedWindow), self.constant(File::D, BLOCK_WINDOW)),
        };
        let within = self.temporary(File::D);
        self.push(Op::Alu { code: Alu::Sub64, d: within, a, b: start, c: start }, guard, words, None);
        let test = Op::Alu { code: Alu::LtU64, d, a: within, b: bytes, c: bytes };
        self.push(test, guard, words, Some(Class::Compare));
        Ok(())
    }

    /// `st.async` and `red.async`.
    pub fn send(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let kind = parts[parts.len() - 1];
        let bytes = kind[1..].parse::<u32>().unwrap_or_default() / 8;
        let file = if bytes == 8 { File::D } else { File::R };
        let list = match operand(words, 1)? {
            Operand::List(list) => list.as_slice(),
            single => std::slice::from_ref(single),
        };
        let named = ["v2", "v4"].iter().position(|part| parts.contains(part)).map_or(1, |n| 2 * (n + 1));
        if list.len() != named {
            return error(words.line, format!("`{}` with {} registers", words.opcode, list.len()));
        }
        let reduce = match parts[0] {
            "red" => match combination(parts, kind) {
                Some(reduce) => Some(reduce),
                None => return self.unknown(words),
            },
            _ => None,
        };
        let space = if parts.iter().any(|part| part.starts_with("shared")) { Space::Shared } else { Space::Generic };
        let to = self.bare_access(words, 0, space, bytes, list.len() as u32)?;
        let barrier = self.bare_access(words, 2, space, 8, 1)?;
        for index in [to, barrier] {
            self.accesses[index as usize].of_cluster = space == Space::Generic || parts.contains(&"shared::cluster");
        }
        let what = Extension::Bulk(Bulk::Send { bytes, reduce });
        let mut extended = Extended::new(what).accessing(to).accessing(barrier);
        for value in list {
            extended = extended.reading(file, self.source(value, file, words.line)?);
        }
        self.extended(words, guard, extended, Class::SharedStore);
        Ok(())
    }
}

/// The file of the addresses of a type.
fn file_of(parts: &[&str]) -> File {
    if parts.contains(&"u64") || parts.contains(&"s64") { File::D } else { File::R }
}
