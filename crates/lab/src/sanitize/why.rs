//! Why something else comes out than is expected: what was noted, by which other launch it would come, and of what a product is made.

use emulator::{Module, Schedule};
use gemm::Dim3;
use gemm::sums::sums;

use super::contents::Contents;
use super::element::Element;
use super::execute::Ran;
use super::expect::{self, Expected};
use super::outcome::Found;
use super::plan::{Plan, Planned, PlannedLaunch};
use super::{Sanitize, execute, product};
use crate::candidate::Kernels;
use crate::probe::launches::{self, Budget, Known, Launch};
use crate::probe::mend;

/// Blocks of a grid that is launched again and again, at most.
const BLOCKS: u64 = 1024;
/// Warp instructions of all launches together by which a change is looked for, and those of one that a fault ended.
const OF_CHANGES: u64 = 20_000_000;
const UNKNOWN: u64 = 200_000;
/// Faults that another launch may be without.
const OF_A_LAUNCH: [&str; 3] = ["past the end", "uninitialised", "never written"];

/// One of so many elements may be otherwise where another launch is held to be right.
const FEW: usize = 1000;

/// Distances by which a value of a whole warp is made.
const DISTANCES: [&str; 5] = ["16", "8", "4", "2", "1"];
/// What to look at where all of these are there.
const STAGES: &str = "of a block's sum in two stages, the second takes `lane < warps ? part[lane] : 0`, and no lane adds what it keeps of the first; `__shfl_down_sync` \
                      leaves the value in lane 0 alone, and `__shfl_xor_sync` in all";

/// What to look at of a wrong result that shuffles may have part in.
const SHUFFLES: [(&str, &str); 3] = [
    (
        "shfl.sync.up",
        "of `__shfl_up_sync`, lanes below the distance keep a value of their own: in a scan they add nothing, `if (lane >= d)`; sums of those before a warp or a block are of all with a lower number, `<` and not `<=`",
    ),
    (
        "shfl.sync.down",
        "a value of a whole warp takes offsets 16, 8, 4, 2 and 1, and by `__shfl_down_sync` it is in lane 0 alone",
    ),
    (
        "shfl.sync.bfly",
        "a value of a whole warp takes offsets 16, 8, 4, 2 and 1, and by `__shfl_xor_sync` all lanes have it",
    ),
];

/// In words, one line each. `whole` is what a run without a fault left; `place` is where the file has the launch.
pub fn hints(
    (kernels, plan): (&Kernels, &Plan),
    flags: &Sanitize,
    (whole, place): (Option<&Ran>, Option<&str>),
    (expected, faults): (&[Expected], &[Found]),
) -> Vec<String> {
    let grids = plan.launches.iter().map(|launch| launch.grid);
    let grid = grids.max_by_key(|grid| grid.count()).unwrap_or(Dim3::ONE);
    let limit = launches::instructions(flags.instruction_limit, grid);
    let is_small = plan.launches.iter().all(|launch| launch.grid.count() <= BLOCKS);
    let has = |is_it: &dyn Fn(&str) -> bool| {
        faults.iter().any(|found| is_it(found.fault.message.lines().next().unwrap_or_default()))
    };
    let unexpected = expected.iter().any(|expected| !expected.holds);
    let names = || flags.expect.iter().filter_map(|word| word.split(['=', '[']).next());
    let races = has(&|message| names().any(|name| message.starts_with(&format!("race on {name} at"))));
    if (unexpected || !faults.is_empty())
        && is_small
        && let Some(text) = left_over(plan, flags, limit)
    {
        return vec![text];
    }
    let of_a_launch = races || has(&|message| OF_A_LAUNCH.iter().any(|words| message.contains(words)));
    if !unexpected && (flags.expect.is_empty() || !of_a_launch) {
        return Vec::new();
    }
    let ptx = kernels.kernel.ptx.as_str();
    let launched = if is_small { launch(plan, flags, (Known::of(ptx, races), place)) } else { None };
    if let Some(text) = launched {
        return vec![text];
    }
    let mended = || mended((kernels, plan), flags, whole).filter(|_| is_small);
    let Some(ran) = whole.filter(|_| unexpected) else { return mended().into_iter().collect() };
    let noted = ran.reports.iter().flat_map(|report| &report.circumstances);
    let mut hints: Vec<String> = noted.map(|circumstance| circumstance.to_string()).collect();
    hints.extend(mended());
    let summed = plan.launches.first().map(|launch| sums(ptx, launch.kernel.name())).unwrap_or_default();
    for word in expected.iter().filter(|expected| !expected.holds && is_small).map(|expected| &expected.expected) {
        let wanted = expect::wanted(plan, word, flags.seed);
        hints.extend(wanted.and_then(|(index, wanted)| {
            let element = plan.buffers[index].element;
            let bytes = ran.buffers[index].all().unwrap_or_default();
            let got: Vec<f64> =
                bytes.chunks_exact(element.bytes()).map(|bytes| element.number(bytes).to_f64()).collect();
            product::explain(plan, (index, &wanted, &got), (ptx, &summed), limit)
        }));
    }
    if hints.is_empty() && expected.iter().any(|expected| !expected.holds && !tells(expected)) {
        hints.extend(SHUFFLES.into_iter().filter_map(|(opcode, text)| of_shuffles(ptx, opcode, text)));
        hints.dedup();
    }
    if hints.is_empty()
        && is_small
        && let Some(text) = one_alone(plan, flags)
    {
        hints.push(text);
    }
    hints
}

/// Which whole numbers a launch leaves that the next one finds, if nothing is wrong where each finds what the first one does.
fn left_over(plan: &Plan, flags: &Sanitize, limit: u64) -> Option<String> {
    if plan.launches.len() < 2 {
        return None;
    }
    let whole = |planned: &Planned| {
        let is_expected = flags.expect.iter().any(|word| word.split(['=', '[']).next() == Some(planned.name.as_str()));
        matches!(planned.element, Element::Signed(_) | Element::Unsigned(_)) && !planned.variable && !is_expected
    };
    let uses = |launch: &PlannedLaunch, index: usize| {
        launch.arguments.iter().flat_map(|value| &value.pointers).any(|(_, buffer, _)| *buffer == index)
    };
    let shared = |index: usize| plan.launches.iter().filter(|launch| uses(launch, index)).count() > 1;
    let is_flag = |(index, planned): &(usize, &Planned)| planned.bytes.is_some() && whole(planned) && shared(*index);
    let flags_of = plan.buffers.iter().enumerate().filter(is_flag).map(|(index, _)| index);
    let those: Vec<usize> = flags_of.collect();
    let holds = |after: &[Contents]| {
        let one =
            |word: &String| expect::expect(plan, after, word, flags.tolerance, flags.seed).is_ok_and(|one| one.holds);
        flags.expect.iter().all(one)
    };
    let right = |order| execute::set_back(plan, order, limit, &those).is_ok_and(|after| holds(&after));
    if those.is_empty() || !Schedule::ALL.into_iter().all(right) {
        return None;
    }
    let names: Vec<&str> = those.iter().map(|index| plan.buffers[*index].name.as_str()).collect();
    let names = names.join(", ");
    Some(format!(
        "with {names} set back before each launch nothing is wrong: a launch finds there what the one before has left. A flag or counter is set back for each \
         launch, by a `cudaMemsetAsync` before it or by the last block that uses it (`atomicInc` wraps); or it counts on, and each launch waits for a number \
         of its own"
    ))
}

/// What to look at of a kernel's shuffles of a kind, if it has some.
fn of_shuffles(ptx: &str, opcode: &str, text: &str) -> Option<String> {
    let distances: Vec<&str> = ptx
        .lines()
        .filter(|line| line.contains(opcode))
        .filter_map(|line| line.split(',').nth(2))
        .map(str::trim)
        .collect();
    let all = DISTANCES.iter().all(|distance| distances.contains(distance));
    (!distances.is_empty()).then(|| if all && !opcode.ends_with("up") { STAGES } else { text }.to_string())
}

/// Whether what is alike of all that are wrong tells more than where they are.
fn tells(expected: &Expected) -> bool {
    expected.wraps.is_some() || expected.alike.as_ref().is_some_and(|alike| !alike.contains("which block, thread"))
}

/// By which small change of one of its kernels.
fn mended((kernels, plan): (&Kernels, &Plan), flags: &Sanitize, whole: Option<&Ran>) -> Option<String> {
    let executed: Option<u64> =
        whole.map(|ran| ran.reports.iter().map(|report| report.total.warp_instructions()).sum());
    let blocks = plan.launches.iter().map(|launch| launch.grid.count()).max().unwrap_or(1);
    let executed = executed.unwrap_or(UNKNOWN).max(1000);
    let limit = flags.instruction_limit.min(4 * executed / blocks.max(1) + 1000);
    let tries = (OF_CHANGES / executed) as usize;
    let ptx = kernels.kernel.ptx.as_str();
    plan.launches.iter().enumerate().find_map(|(index, launch)| {
        let numbers = |kernel: &cuda_source::Kernel| -> Vec<Option<String>> {
            kernel.parameters.iter().map(|one| (!one.pointer).then(|| one.name.clone())).collect()
        };
        let names = kernels.written(&launch.entry).map(numbers).unwrap_or_default();
        mend::first((ptx, launch.kernel.name(), &names), tries, &|ptx, _| {
            let made = Module::parse(ptx).and_then(|module| module.kernel(launch.kernel.name()));
            let Ok(other) = made else { return false };
            let with = |(at, launch): (usize, &'_ PlannedLaunch)| {
                if at == index { other.clone() } else { launch.kernel.clone() }
            };
            let all: Vec<_> = plan.launches.iter().enumerate().map(with).collect();
            let all: Vec<_> = all.iter().collect();
            execute::of(plan, &all, &[], None, limit).is_ok_and(|(after, _)| is_expected(plan, flags, &after))
        })
    })
}

/// By which other launch all would be as expected, of a plan with one.
fn launch(plan: &Plan, flags: &Sanitize, (known, place): (Known, Option<&str>)) -> Option<String> {
    let budget = Budget::default();
    launches::other(given(plan)?, known, place, &|other| is_right(plan, flags, (other, &budget)))
}

/// The same of one block, where nothing else is known.
fn one_alone(plan: &Plan, flags: &Sanitize) -> Option<String> {
    let budget = Budget::default();
    launches::one_alone(given(plan)?, &|other| is_right(plan, flags, (other, &budget)))
}

fn given(plan: &Plan) -> Option<Launch> {
    let [PlannedLaunch { grid, block, shared, .. }] = plan.launches.as_slice() else { return None };
    Some(Launch { grid: *grid, block: *block, shared: *shared })
}

fn is_right(plan: &Plan, flags: &Sanitize, (by, budget): (Launch, &Budget)) -> Option<bool> {
    let limit = budget.next(flags.instruction_limit, by.grid)?;
    let after = match execute::with(plan, &[], Some(by), limit) {
        Ok((after, counted)) => {
            budget.took(&counted);
            after
        }
        Err(why) => return (!budget.failed(&why, limit)).then_some(false),
    };
    Some(is_expected(plan, flags, &after))
}

fn is_expected(plan: &Plan, flags: &Sanitize, after: &[Contents]) -> bool {
    // A tolerance in relation to each number's size may be too small for a few sums near 0.
    let holds = |word: &String| {
        let one = expect::expect(plan, after, word, flags.tolerance, flags.seed);
        one.is_ok_and(|one| one.holds || one.wrong * FEW <= one.of)
    };
    flags.expect.iter().all(holds)
}
