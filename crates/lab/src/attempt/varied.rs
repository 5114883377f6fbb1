//! How the same kernel would be right: on other sizes, or by another launch. Each is run before it is said.

use gemm::check::Check;

use gemm::facts::{Extras, Facts, Ran};
use gemm::kernel::Kernel;
use gemm::problem::{Fill, Problem};
use gemm::task::Task;
use gemm::{Dim3, Error, Shape, emulated, judge};

use super::layout::Layout;
use super::{Try, operands, problem, task};
use crate::candidate::Candidate;
use crate::probe::MOST;
use crate::probe::launches::{self, Known, Launch};
use crate::probe::mend;

/// Multiply-adds of all launches together by which a change is looked for.
const OF_CHANGES: u64 = 1 << 26;
/// Warp instructions that a block may execute then, beside one for so many multiply-adds: a change may make a loop endless.
const SHORT: u64 = 20_000;
const BLOCKS: u64 = 8;
/// Every usual tile divides it.
const WHOLE: u32 = 128;
/// Multiples that are tried for the least that will do.
const MULTIPLES: [u32; 6] = [2, 4, 8, 16, 32, 64];
/// Rows and columns that a block may have.
const TILES: [u32; 6] = [4, 8, 16, 32, 64, 128];

/// A size of the product.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Side {
    M,
    N,
    K,
}

use Side::{K, M, N};

const PAIRS: [[Side; 2]; 3] = [[M, N], [N, K], [M, K]];
const SOME: [&[Side]; 7] = [&[K], &[M], &[N], &[M, N], &[M, K], &[N, K], &[M, N, K]];

fn of(shape: &Shape, side: Side) -> u32 {
    match side {
        M => shape.m,
        N => shape.n,
        K => shape.k,
    }
}

fn with(shape: Shape, side: Side, size: u32) -> Shape {
    match side {
        M => Shape { m: size, ..shape },
        N => Shape { n: size, ..shape },
        K => Shape { k: size, ..shape },
    }
}

/// Whether nothing is wrong on these sizes, with the launch changed; nothing where that is cut off.
fn is_right<'a>(attempt: &Try, candidate: &'a Candidate, shape: Shape, change: impl Fn(&mut Task<'a>)) -> Option<bool> {
    let ran = || -> Result<Option<bool>, Error> {
        let operands = operands(attempt, candidate, &shape)?;
        let problem = problem(attempt, shape, &operands)?;
        let mut task = task(attempt, candidate, shape, &operands)?;
        let given = super::shape(&attempt.sizes);
        if given != shape && super::launch::grid(attempt, &given)? == task.launch.grid {
            task.launch.grid = stretched(task.launch.grid, given, shape);
        }
        change(&mut task);
        let extras = attempt.how.options()?.extras;
        let Some(ran) = trial(attempt, &task, &problem, extras)? else { return Ok(None) };
        let check = Check::of(&problem, Fill::Reals, &ran.c, task.method());
        Ok(Some(check.right && ran.overwritten.is_empty()))
    };
    let work = u64::from(shape.m) * u64::from(shape.n) * u64::from(shape.k);
    if work <= MOST { ran().unwrap_or(Some(false)) } else { None }
}

/// Runs a launch that is tried, at the cost of what is left for all; nothing where it is cut off.
pub fn trial(attempt: &Try, task: &Task, problem: &Problem, extras: Extras) -> Result<Option<Ran>, Error> {
    let Some(instruction_limit) = attempt.budget.next(extras.instruction_limit, task.launch.grid) else {
        return Ok(None);
    };
    match emulated::launch(task, problem, Extras { instruction_limit, ..extras }, emulated::unwatched) {
        Ok(ran) => {
            if let Facts::Emulator(counted) = &ran.facts {
                attempt.budget.took(&counted.total);
            }
            Ok(Some(ran))
        }
        Err(error) if attempt.budget.failed(&error.to_string(), instruction_limit) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Sizes of which another one is the largest, and which most tiles divide.
const OTHER_SIZES: [Shape; 2] = [Shape { m: 64, n: 128, k: 192 }, Shape { m: 192, n: 64, k: 128 }];

/// The small change of the kernel by which nothing is wrong, on few elements if it is wrong there.
pub fn mended(attempt: &Try, candidate: &Candidate, shape: Shape) -> Option<String> {
    let (_, choice) = candidate.written.as_ref()?;
    let numbers = choice.kernel.parameters.iter().map(|one| (!one.pointer).then(|| one.name.clone()));
    let (kernel, names): (_, Vec<Option<String>>) = (&candidate.kernel, numbers.collect());
    // Of whole tiles a smaller problem has none.
    let smaller = judge::smaller(&shape);
    [Some(smaller), Some(shape).filter(|shape| *shape != smaller)].into_iter().flatten().find_map(|shape| {
        let work = u64::from(shape.m) * u64::from(shape.n) * u64::from(shape.k);
        let mut short = attempt.clone();
        short.how.instruction_limit = short.how.instruction_limit.min(work / BLOCKS + SHORT);
        if is_right(attempt, candidate, shape, |_| ()) != Some(false) {
            return None;
        }
        mend::first((&kernel.ptx, &kernel.entry, &names), (OF_CHANGES / work.max(1)) as usize, &|ptx, of_sizes| {
            let changed = Kernel { ptx: ptx.to_string(), ..kernel.clone() };
            let with = |attempt: &Try, shape: Shape| is_right(attempt, candidate, shape, |task| task.kernel = &changed);
            // One size may stand for another by being the larger one: then with others it does not.
            with(&short, shape) == Some(true)
                && (!of_sizes || OTHER_SIZES.into_iter().all(|shape| with(attempt, shape) == Some(true)))
        })
    })
}

/// A grid of numbers, stretched to other sizes: its blocks have the smallest tiles of which these are enough.
pub fn stretched(grid: Dim3, given: Shape, shape: Shape) -> Dim3 {
    let blocks = |blocks: u32, from: u32, to: u32| {
        let tile = TILES.into_iter().find(|tile| from.div_ceil(*tile) == blocks);
        tile.map_or(blocks, |tile| to.div_ceil(tile))
    };
    Dim3 { x: blocks(grid.x, given.n, shape.n), y: blocks(grid.y, given.m, shape.m), z: grid.z }
}

/// Says what of the sizes a kernel does not bear, if another one makes it right.
pub fn sizes(attempt: &Try, candidate: &Candidate, shape: Shape, vectors: bool) -> Option<String> {
    let shape = if u64::from(shape.m) * u64::from(shape.n) * u64::from(shape.k) > MOST {
        judge::smaller(&shape)
    } else {
        shape
    };
    let is_right = |shape: Shape| is_right(attempt, candidate, shape, |_| ());
    exchanged(attempt.layout, shape, &is_right)
        .or_else(|| whole(shape, vectors, &|shape| is_right(shape) == Some(true)))
}

/// The same of a product that is wrong, without guards in view.
pub fn exchange(attempt: &Try, candidate: &Candidate, shape: Shape) -> Option<String> {
    exchanged(attempt.layout, shape, &|shape| is_right(attempt, candidate, shape, |_| ()))
}

/// Two sizes of which one is taken for the other, as both being the same shows.
fn exchanged(layout: Layout, shape: Shape, is_right: &dyn Fn(Shape) -> Option<bool>) -> Option<String> {
    let equal = |[a, b]: &[Side; 2]| {
        let (x, y) = (of(&shape, *a), of(&shape, *b));
        let power = |size: u32| size.trailing_zeros().min(WHOLE.trailing_zeros());
        // What is off the tiles stays off them.
        let (large, least) = (x.max(y), power(x).min(power(y)));
        let size = if power(large) == least { large } else { large + (1 << least) };
        let sized = |other: u32| is_right(with(with(shape, *a, size), *b, other));
        // It is that they are the same, and not how large they are.
        x != y && sized(size) == Some(true) && sized(size + (2 << least)) == Some(false)
    };
    let [a, b] = PAIRS.into_iter().find(equal)?;
    let lengths = match layout {
        Layout::Row => "Rows of A are K long, of B and C N".to_string(),
        Layout::Nt => "Rows of A are K long, and so are those of B, which lies as N x K; of C N".to_string(),
        Layout::Column => "Columns of A are M long, or K if it lies transposed, of B K, or N, of C M".to_string(),
        other => {
            let [a, b, c] = other.leading();
            let of = other.by_columns().map(|columns| if columns { "columns" } else { "rows" });
            format!("A has {} of {a} elements, B {} of {b}, C {} of {c}", of[0], of[1], of[2])
        }
    };
    Some(format!(
        "with {a:?} = {b:?} every element is right: an index or a guard has {a:?} where {b:?} is meant, or {b:?} for {a:?}. {lengths}; rows end at M, \
         columns at N, steps at K"
    ))
}

/// Sizes that have to be multiples.
fn whole(shape: Shape, vectors: bool, is_right: &dyn Fn(Shape) -> bool) -> Option<String> {
    let multiple = |sides: &[Side], of_which: u32, apart: u32| {
        let size = |side: Side| {
            let size = of(&shape, side).next_multiple_of(of_which);
            // A multiple of this number, and of no larger one.
            if of_which < WHOLE && (size / of_which).is_multiple_of(2) { size + of_which } else { size }
        };
        // No two are the same.
        sides.iter().zip(0..).fold(shape, |made, (side, at)| with(made, *side, size(*side) + at * apart))
    };
    let is_off = |sides: &&[Side]| sides.iter().all(|side| !of(&shape, *side).is_multiple_of(WHOLE));
    let mut some = SOME.into_iter().filter(is_off);
    let sides = some.find(|sides| is_right(multiple(sides, WHOLE, WHOLE)))?;
    let off = |multiple: &u32| sides.iter().all(|side| !of(&shape, *side).is_multiple_of(*multiple));
    let fits = |of_which: &u32| is_right(multiple(sides, *of_which, 0));
    let least = MULTIPLES.into_iter().filter(off).find(fits).unwrap_or(WHOLE);
    let names: Vec<String> = sides.iter().map(|side| format!("{side:?}")).collect();
    let (verb, names) = (if sides.len() == 1 { "is a multiple" } else { "are multiples" }, names.join(" and "));
    let cure = match sides {
        _ if vectors => {
            "vectors of several elements are for rows of whole vectors; otherwise elements are loaded one by one"
        }
        [K] => {
            "the last part of a row of A and the last rows of B need a guard (`k < K`), with 0 in the tile where there is no element"
        }
        [M] => "rows from M on need a guard (`row < M`), where A is loaded and where C is stored",
        [N] => "columns from N on need a guard (`column < N`), where B is loaded and where C is stored",
        [M, N] => {
            "C needs a guard for both, `row < M && column < N`, where it is stored, and A and B where they are loaded"
        }
        _ => "tiles over the edges need guards for rows, columns and steps, or the sizes are rounded up, with zeros",
    };
    Some(format!("where {names} {verb} of {least} every element is right: {cure}"))
}

/// Says by which other launch a kernel is right, if one is; of blocks that race for C, one of them alone as well.
pub fn launch(attempt: &Try, candidate: &Candidate, shape: Shape, races: bool) -> Option<String> {
    let operands = operands(attempt, candidate, &shape).ok()?;
    let task = task(attempt, candidate, shape, &operands).ok()?;
    let given = Launch { grid: task.launch.grid, block: task.launch.block, shared: task.dynamic_shared };
    let place = attempt.planned.as_ref().map(|planned| format!("that of {}", planned.place()));
    let known = Known::of(&candidate.kernel.ptx, races);
    launches::other(given, known, place.as_deref(), &|Launch { grid, block, shared }| {
        is_right(attempt, candidate, shape, |task| {
            (task.launch.grid, task.launch.block, task.dynamic_shared) = (grid, block, shared);
        })
    })
}
