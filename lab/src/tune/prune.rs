//! From the search space to what is worth a run: what compiles, fits on the card, and is right on the emulator.

use std::collections::BTreeMap;
use std::time::Instant;

use common::device::{Extras, Task};
use common::kernel::{FindCompiler, Kernel, Resources};
use common::problem::Element;
use common::{Error, Level, Shape};
use emulator::gpu::Gpu;
use emulator::occupancy::{Occupancy, occupancy};
use indicatif::ProgressBar;
use rayon::prelude::*;

use super::work::Work;
use crate::bench::failed;
use crate::ladder::Entrant;

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
    pub entrant: Entrant,
    pub kernel: Kernel,
    /// What ptxas needs on the GPU, where it is known.
    pub resources: Option<Resources>,
    /// What fits on an SM, where it is known.
    pub occupancy: Option<Occupancy>,
    pub work: Work,
}

/// Why a candidate is out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// The compiler refuses it: the message.
    Refused(String),
    /// It does not fit on an SM: what there is too much of.
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
pub fn prune<T: Element>(
    level: &'static Level,
    candidates: Vec<Entrant>,
    search: &Search,
    bar: &ProgressBar,
) -> Pruned {
    let examined: Vec<Result<Survivor, Out>> = candidates
        .into_par_iter()
        .map(|entrant| {
            let late = search.until.is_some_and(|until| Instant::now() > until);
            let examined = if late { Err(Out::Late) } else { examine::<T>(entrant, search) };
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

fn examine<T: Element>(entrant: Entrant, search: &Search) -> Result<Survivor, Out> {
    let Entrant { level, configuration } = &entrant;
    let first_line = |error: Error| error.to_string().lines().next().unwrap_or_default().to_string();
    let kernel = Kernel::obtain(level, configuration, search.gpu.sm(), search.find)
        .map_err(|error| Out::Refused(first_line(error)))?;
    let task = Task::of_level(level, configuration, &kernel, &Shape { m: 1, n: 1, k: 1 });
    let (threads, dynamic) = (task.launch.block.count() as u32, task.dynamic_shared);
    let resources = kernel.resources.get(&search.gpu.sm()).copied();
    let occupancy =
        resources.map(|needs| occupancy(search.gpu, threads, needs.registers, needs.shared_bytes + dynamic));
    if let Some(none) = occupancy.as_ref().filter(|occupancy| occupancy.blocks_per_sm == 0) {
        let what: Vec<String> = none.limited_by.iter().map(|resource| resource.to_string()).collect();
        return Err(Out::Unfit(format!("too much for an SM: {}", what.join(" and "))));
    }
    let work = Work::of::<T>(&entrant, &kernel, search.extras).map_err(|error| Out::Wrong(failed(&error)))?;
    Ok(Survivor { entrant, kernel, resources, occupancy, work })
}

impl Pruned {
    /// How many are out and left, and why, the most frequent reason first.
    pub fn summary(&self, gpu: &Gpu) -> String {
        let count = |is: fn(&Out) -> bool| self.out.iter().filter(|out| is(out)).count();
        let mut parts = vec![format!("{} candidates", self.out.len() + self.left.len())];
        for (number, what) in [
            (count(|out| matches!(out, Out::Refused(_))), "refused by the compiler".to_string()),
            (count(|out| matches!(out, Out::Unfit(_))), format!("do not fit on the {}", gpu.name)),
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
