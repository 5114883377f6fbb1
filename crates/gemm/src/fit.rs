//! Whether a GPU can run a kernel: its instructions, and what a block needs. Where a level's default does not fit, the shipped
//! tile sizes that do.

use std::cmp::Reverse;

use emulator::Module;
use emulator::gpu::{GPUS, Gpu};
use emulator::occupancy::occupancy;

use crate::Target;
use crate::build::Build;
use crate::error::Error;
use crate::kernel::lower::declared;
use crate::kernel::{Header, Kernel, described, shipped};
use crate::task::Task;

/// A GPU, as far as it decides what can run there: the one at hand, or the one that the emulator models.
#[derive(Debug, Clone)]
pub struct Card {
    name: String,
    architecture: u32,
    /// A modelled GPU of the same architecture: what a block may use is the architecture's.
    gpu: Option<&'static Gpu>,
}

impl Card {
    /// A GPU that the emulator models.
    pub fn modelled(gpu: &'static Gpu) -> Card {
        Card { name: gpu.name.to_string(), architecture: gpu.sm(), gpu: Some(gpu) }
    }

    /// A GPU of this name and architecture.
    pub fn named(name: &str, architecture: u32) -> Card {
        Card { name: name.to_string(), ..Card::of_architecture(architecture) }
    }

    /// Any GPU of an architecture: 75 is `sm_75`.
    pub fn of_architecture(architecture: u32) -> Card {
        let gpu = GPUS.iter().find(|gpu| gpu.sm() == architecture);
        Card { name: "this GPU".to_string(), architecture, gpu }
    }
}

/// What a launch asks of a GPU.
#[derive(Debug, Clone)]
struct Demand {
    /// What the PTX is for, where that is one architecture alone.
    only: Option<Target>,
    /// The oldest architecture that has all instructions, and the opcode that asks for it.
    oldest: Option<(u32, String)>,
    threads: u32,
    /// Registers per thread, if they are known for the architecture.
    registers: Option<u32>,
    /// Bytes per block, static and dynamic.
    shared: u32,
}

impl Demand {
    /// Nothing, where the emulator cannot read the PTX: then the device has to say.
    fn of(ptx: &str, entry: &str, threads: u32, dynamic: u32, registers: Option<u32>) -> Option<Demand> {
        let kernel = Module::parse(ptx).and_then(|module| module.kernel(entry)).ok()?;
        let oldest = kernel.oldest_architecture().map(|(architecture, opcode)| (architecture, opcode.to_string()));
        let only = declared(ptx).map(|(_, target)| target).filter(|target| !target.suffix.is_empty());
        Some(Demand { only, oldest, threads, registers, shared: kernel.static_shared().saturating_add(dynamic) })
    }

    /// Of a kernel that was obtained.
    fn of_kernel(kernel: &Kernel, card: &Card, threads: u32, dynamic: u32) -> Option<Demand> {
        let registers = kernel.resources.get(&card.architecture).map(|needs| needs.registers);
        Demand::of(&kernel.ptx, &kernel.entry, threads, dynamic, registers)
    }

    /// The same by what a shipped file says of itself: no instruction is read. Nothing, where it does not say enough.
    fn declared(build: &Build, header: &Header, ptx: &str, registers: Option<u32>) -> Option<Demand> {
        let (_, target) = declared(ptx)?;
        let of_kernel = header.resources.values().map(|needs| needs.shared_bytes).max()?;
        Some(Demand {
            only: Some(target).filter(|target| !target.suffix.is_empty()),
            oldest: Some((target.sm, String::new())),
            threads: build.threads(),
            registers,
            shared: of_kernel.saturating_add(build.dynamic_shared()),
        })
    }

    /// Why the card cannot run it, as the second half of a sentence; nothing, if it can.
    fn misfit(&self, card: &Card) -> Option<String> {
        let (name, architecture) = (&card.name, card.architecture);
        if let Some((oldest, opcode)) = self.oldest.as_ref().filter(|(oldest, _)| *oldest > architecture) {
            return Some(format!("needs `{opcode}`, which came with sm_{oldest}, and {name} is sm_{architecture}"));
        }
        if let Some(only) = self.only.filter(|only| !only.runs_on(architecture)) {
            return Some(format!("is for {only} alone, and {name} is sm_{architecture}"));
        }
        let limits = card.gpu?.limits;
        if self.shared > limits.shared_per_block {
            let (needs, has) = (self.shared, limits.shared_per_block);
            return Some(format!("needs {needs} bytes of shared memory per block, and {name} has {has}"));
        }
        if self.threads > limits.threads_per_block {
            let (needs, has) = (self.threads, limits.threads_per_block);
            return Some(format!("needs {needs} threads per block, and {name} has {has}"));
        }
        let registers = self.registers?;
        let blocks = occupancy(card.gpu?, self.threads, registers, self.shared).blocks_per_sm;
        let needs = format!("needs {registers} registers for each of {} threads", self.threads);
        (blocks == 0).then(|| format!("{needs}, and {name} has {} for a block", limits.registers_per_block))
    }
}

/// Refuses a launch that the card cannot run, as its driver would.
pub fn check(card: &Card, name: &str, task: &Task) -> Result<(), Error> {
    let threads = u32::try_from(task.launch.block.count()).unwrap_or(u32::MAX);
    let demand = Demand::of_kernel(task.kernel, card, threads, task.dynamic_shared);
    match demand.and_then(|demand| demand.misfit(card)) {
        Some(why) => Err(refused(format!("{name} {why}"))),
        None => Ok(()),
    }
}

fn refused(message: String) -> Error {
    Error::usage(message, "`lab cards` lists which levels and tile sizes run on which GPU")
}

/// Why the card cannot run a build; nothing, if it can, or if it is not shipped and nobody can say yet.
pub fn misfit(build: &Build, card: &Card) -> Option<String> {
    let (header, ptx) = shipped(build).ok()?;
    let registers = header.resources.get(&card.architecture).map(|needs| needs.registers);
    Demand::of(ptx, build.level.entry, build.threads(), build.dynamic_shared(), registers)?.misfit(card)
}

/// Whether the card can run a build, by what its shipped file says of itself, which is what its instructions need, by tests: none of them
/// is read. Nothing, where it is not shipped.
pub fn runs(build: &Build, card: &Card) -> Option<bool> {
    let (header, ptx) = described(build)?;
    let registers = header.resources.get(&card.architecture).map(|needs| needs.registers);
    Some(Demand::declared(build, &header, ptx, registers)?.misfit(card).is_none())
}

/// Nothing, if the card can run a build's kernel; else another build, and a note that says why.
///
/// # Errors
/// [`Error::Usage`], if the card can run no other, or if the build is `fixed`: another would not be what was asked for.
pub fn instead(build: &Build, kernel: &Kernel, card: &Card, fixed: bool) -> Result<Option<(Build, String)>, Error> {
    let demand = Demand::of_kernel(kernel, card, build.threads(), build.dynamic_shared());
    match demand.and_then(|demand| demand.misfit(card)) {
        None => Ok(None),
        Some(why) if fixed => Err(refused(format!("{} {why}", build.level.name))),
        Some(why) => other(build, &why, card).map(Some),
    }
}

/// The build, if the card can run it; else, of the shipped ones of its type and variant that the card can run, the one
/// with the largest tile of C, and a note that says why.
///
/// # Errors
/// [`Error::Usage`], if the card can run none.
pub fn fitting(wanted: Build, card: &Card) -> Result<(Build, Option<String>), Error> {
    match misfit(&wanted, card) {
        None => Ok((wanted, None)),
        Some(why) => other(&wanted, &why, card).map(|(build, note)| (build, Some(note))),
    }
}

/// In the place of a build that the card cannot run, and `why`: another one, and a note.
fn other(wanted: &Build, why: &str, card: &Card) -> Result<(Build, String), Error> {
    let why = format!("{wanted} {why}");
    let kind = |build: &Build| {
        let configuration = &build.configuration;
        (configuration.dtype, configuration.variant, configuration.specialization)
    };
    let same = |other: &Build| kind(other) == kind(wanted);
    let mut others: Vec<Build> = wanted.level.all_shipped_builds().into_iter().filter(same).collect();
    others.sort_by_key(|other| {
        let tile = other.tile();
        Reverse(u64::from(tile.m) * u64::from(tile.n))
    });
    match others.into_iter().find(|other| misfit(other, card).is_none()) {
        Some(other) => {
            let note = format!("{why}: running {} instead", other.configuration.tiles);
            Ok((other, note))
        }
        None => Err(refused(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_architecture_has_alone_runs_nowhere_else() {
        let ptx = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";
        let misfit = |sm| Demand::of(ptx, "k", 32, 0, None).unwrap().misfit(&Card::named("it", sm));
        assert_eq!(misfit(90), None);
        assert_eq!(misfit(100).as_deref(), Some("is for sm_90a alone, and it is sm_100"));
        assert!(misfit(80).is_some());
    }
}
