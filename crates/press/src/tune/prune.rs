//! From the search space to what is worth a run: what compiles, fits on the card, and is right on the emulator.

use std::collections::BTreeMap;
use std::time::Instant;

use emulator::gpu::Gpu;
use emulator::occupancy::{Occupancy, Resource, occupancy};
use gemm::facts::Extras;
use gemm::kernel::{FindCompiler, Kernel, Resources};
use gemm::{Build, Error, Level};
use indicatif::ProgressBar;
use rayon::prelude::*;

use super::work::Work;

/// Bytes of shared memory that a kernel may declare; more must be asked for at the launch.
const STATIC_SHARED: u32 = 48 * 1024;

/// How candidates are looked at.
pub struct Search {
    /// The GPU that they must fit on.
    pub gpu: &'static Gpu,
    /// Where to look for NVRTC.
    pub find: FindCompiler,
    /// The emulator's checks.
    pub extras: Extras,
    /// When to stop, if ever.
    pub until: Option<Instant>,
}

/// A candidate that may be measured.
pub struct Survivor {
    pub build: Build,
    pub kernel: Kernel,
    /// What ptxas needs on the GPU, where it is known.
    pub resources: Option<Resources>,
    /// What fits on an SM: an upper limit, where the resources are not known.
    pub occupancy: Occupancy,
    pub work: Work,
}

/// Why a candidate is out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// The compiler refuses it: the message.
    Refused(String),
    /// The GPU cannot run it: what there is too much of.
    Unfit(String),
    /// The emulator found it wrong: the fault.
    Wrong(String),
    /// The time was up.
    Late,
}

/// What is left of a level's space.
pub struct Pruned {
    pub level: &'static Level,
    pub left: Vec<Survivor>,
    pub out: Vec<Out>,
}

/// Looks at every candidate, on all cores; `bar` counts them.
pub fn prune(level: &'static Level, candidates: Vec<Build>, search: &Search, bar: &ProgressBar) -> Pruned {
    let examined: Vec<Result<Survivor, Out>> = candidates
        .into_par_iter()
        .map(|build| {
            let late = search.until.is_some_and(|until| Instant::now() > until);
            let examined = if late { Err(Out::Late) } else { examine(build, search) };
            bar.inc(1);
            examined
        })
        .collect();
    let mut pruned = Pruned { level, left: Vec::new(), out: Vec::new() };
    for examined in examined {
        match examined {
            Ok(survivor) => pruned.left.push(survivor),
            Err(out) => pruned.out.push(out),
        }
    }
    pruned
}

fn examine(build: Build, search: &Search) -> Result<Survivor, Out> {
    let kernel =
        Kernel::obtain(&build, search.gpu.sm(), search.find).map_err(|error| Out::Refused(first_line(&error)))?;
    let (threads, dynamic) = (build.threads(), build.dynamic_shared());
    let resources = kernel.resources.get(&search.gpu.sm()).copied();
    let known = resources.map(|needs| fits(search.gpu, threads, needs.registers, needs.shared_bytes + dynamic));
    let known = known.transpose()?;
    let work = Work::of(&build, &kernel, search.extras).map_err(|error| match error {
        Error::Fault(_) => Out::Wrong(first_line(&error)),
        Error::Usage { .. } => Out::Unfit(first_line(&error)),
    })?;
    // Not every ptxas refuses it.
    let declared = work.shared_bytes().saturating_sub(dynamic);
    if declared > STATIC_SHARED {
        return Err(Out::Unfit(format!("{declared} bytes of static shared memory: at most {STATIC_SHARED}")));
    }
    let occupancy = match known {
        Some(occupancy) => occupancy,
        // ptxas does not know the GPU, or refuses the kernel.
        None => fits(search.gpu, threads, 0, work.shared_bytes())?,
    };
    Ok(Survivor { build, kernel, resources, occupancy, work })
}

/// The occupancy, if there is room for a block at all.
fn fits(gpu: &Gpu, threads: u32, registers: u32, shared: u32) -> Result<Occupancy, Out> {
    let found = occupancy(gpu, threads, registers, shared);
    if found.blocks_per_sm > 0 {
        return Ok(found);
    }
    let needs = |resource: &Resource| match resource {
        Resource::Warps => format!("{threads} threads per block"),
        Resource::Registers => format!("{registers} registers for each of {threads} threads"),
        Resource::SharedMemory => format!("{shared} bytes of shared memory"),
        Resource::Blocks => resource.to_string(),
    };
    let what: Vec<String> = found.limited_by.iter().map(needs).collect();
    Err(Out::Unfit(format!("no block fits on an SM: {}", what.join(", "))))
}

fn first_line(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_string()
}

impl Pruned {
    /// How many are out and left, and why, the most frequent reason first.
    pub fn summary(&self, gpu: &Gpu) -> String {
        let count = |is: fn(&Out) -> bool| self.out.iter().filter(|out| is(out)).count();
        let mut parts = vec![format!("{} candidates", self.out.len() + self.left.len())];
        for (number, what) in [
            (count(|out| matches!(out, Out::Refused(_))), "refused by the compiler".to_string()),
            (count(|out| matches!(out, Out::Unfit(_))), format!("cannot run on the {}", gpu.name)),
            (count(|out| matches!(out, Out::Wrong(_))), "wrong on the emulator".to_string()),
            (count(|out| matches!(out, Out::Late)), "not looked at: the time was up".to_string()),
        ] {
            if number > 0 {
                parts.push(format!("{number} {what}"));
            }
        }
        let mut text = format!("{}: {}; {} left\n", self.level.name, parts.join(", "), self.left.len());
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for out in &self.out {
            if let Out::Refused(why) | Out::Unfit(why) | Out::Wrong(why) = out {
                *reasons.entry(why).or_default() += 1;
            }
        }
        let mut reasons: Vec<(&str, usize)> = reasons.into_iter().collect();
        reasons.sort_by_key(|&(_, times)| std::cmp::Reverse(times));
        reasons.iter().for_each(|(why, times)| text += &format!("{times:>8}  {why}\n"));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::nvrtc;
    use emulator::gpu::{H200, K80};
    use gemm::{Dtype, Text};
    use level_tests::skipped;

    fn search(gpu: &'static Gpu, find: FindCompiler) -> Search {
        Search { gpu, find, extras: Extras::new(false, true), until: None }
    }

    fn outcome(level: &'static Level, tiles: &[&str], search: &Search) -> Pruned {
        of(level, Text::new(level.path, level.source), tiles, search)
    }

    fn of(level: &'static Level, text: Text, tiles: &[&str], search: &Search) -> Pruned {
        let candidate = |tiles: &&str| level.build_named(Dtype::F32, "", tiles).unwrap().with_text(text.clone());
        prune(level, tiles.iter().map(candidate).collect(), search, &ProgressBar::hidden())
    }

    #[test]
    fn refusals_are_counted_by_their_reason() {
        if nvrtc::find().is_err() {
            return skipped("no NVRTC");
        }
        let tiles = [
            "BM=32 BN=32 BK=32 TM=8 TN=4",
            "BM=32 BN=32 BK=32 TM=3 TN=4",
            "BM=64 BN=32 BK=32 TM=5 TN=4",
            "BM=128 BN=128 BK=32 TM=2 TN=2",
            "BM=32 BN=32 BK=16 TM=4 TN=4",
        ];
        let pruned = outcome(&levels::level2_register::LEVEL, &tiles, &search(&H200, nvrtc::find));
        let summary = pruned.summary(&H200);
        let lines: Vec<&str> = summary.lines().collect();
        assert_eq!(lines[0], "level2-register: 5 candidates, 3 refused by the compiler; 2 left");
        assert!(
            lines[1].starts_with("       2  level2-register/kernel.cu:") && lines[1].contains("TM must divide BM"),
            "{summary}"
        );
        assert!(lines[2].starts_with("       1  ") && lines[2].contains("at most 1024"), "{summary}");
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn without_a_compiler_only_what_is_shipped_is_left() {
        let pruned = outcome(&levels::level1_tiling::LEVEL, &["TILE=8", "TILE=12"], &search(&H200, nvrtc::nowhere));
        assert_eq!(pruned.left.len(), 1);
        assert!(
            matches!(&pruned.out[..], [Out::Refused(why)] if why.contains("there is no compiler")),
            "{:?}",
            pruned.out
        );
    }

    #[test]
    fn what_is_too_much_for_the_card_is_out() {
        if nvrtc::find().is_err() {
            return skipped("no NVRTC");
        }
        // Level 3 without its limit, in f32: 65536 bytes, 262144 bytes, and registers for 1024 threads of more than 64.
        let level = &levels::level3_double_buffer::LEVEL;
        let text = Text::new(level.path, level.source.replace("<= 48 * 1024", "<= 4096 * 1024"));
        let tiles = ["BM=128 BN=128 BK=32 TM=8 TN=8", "BM=256 BN=256 BK=64 TM=8 TN=8", "BM=256 BN=256 BK=8 TM=8 TN=8"];
        let pruned = of(level, text, &tiles, &search(&H200, nvrtc::find));
        let whys: Vec<String> = pruned.out.iter().map(|out| format!("{out:?}")).collect();
        assert!(whys[0].contains("Unfit(\"65536 bytes of static shared memory: at most 49152"), "{whys:?}");
        assert!(whys[1].starts_with("Unfit(") && whys[1].contains("shared memory"), "{whys:?}");
        assert!(whys[2].contains("registers for each of 1024 threads"), "{whys:?}");
    }

    #[test]
    fn occupancy_names_what_there_is_too_much_of() {
        let why = |threads, registers, shared| format!("{:?}", fits(&K80, threads, registers, shared).unwrap_err());
        assert!(why(1024, 128, 0).contains("128 registers for each of 1024 threads"));
        assert!(why(32, 32, 50_000).contains("50000 bytes of shared memory"));
        assert!(why(2048, 0, 0).contains("2048 threads per block"));
        assert!(fits(&K80, 256, 32, 16_384).is_ok());
    }

    #[test]
    fn what_is_wrong_on_the_emulator_is_out() {
        // The kernel of one tile size under the launch of another: threads are missing.
        static HALF: Level = Level {
            launch: |shape, tiles| {
                let launch = (levels::level1_tiling::LEVEL.launch)(shape, tiles);
                gemm::LaunchShape { block: gemm::Dim3::xy(launch.block.x, launch.block.y / 2), ..launch }
            },
            ..levels::level1_tiling::LEVEL
        };
        let pruned = outcome(&HALF, &["TILE=16"], &search(&H200, nvrtc::nowhere));
        assert!(matches!(&pruned.out[..], [Out::Wrong(why)] if why.contains("shared memory")), "{:?}", pruned.out);
    }

    #[test]
    fn a_wrong_product_is_out() {
        if nvrtc::find().is_err() {
            return skipped("no NVRTC");
        }
        let level = &levels::level1_tiling::LEVEL;
        let text = Text::new(level.path, level.source.replace("As[ty][k] * Bs", "As[ty][k] + Bs"));
        let pruned = of(level, text, &["TILE=8"], &search(&H200, nvrtc::find));
        assert!(matches!(&pruned.out[..], [Out::Wrong(why)] if why.contains("wrong in 64 of 64")), "{:?}", pruned.out);
        assert!(pruned.summary(&H200).contains("1 wrong on the emulator"));
    }

    #[test]
    fn nothing_is_begun_after_the_end() {
        let search =
            Search { until: Some(Instant::now() - std::time::Duration::from_secs(1)), ..search(&H200, nvrtc::nowhere) };
        let pruned = outcome(&levels::level1_tiling::LEVEL, &["TILE=8", "TILE=16"], &search);
        assert_eq!(pruned.out, [Out::Late, Out::Late]);
        assert_eq!(pruned.summary(&H200), "level1-tiling: 2 candidates, 2 not looked at: the time was up; 0 left\n");
    }
}
