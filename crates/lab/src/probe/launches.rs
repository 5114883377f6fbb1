//! By which other launch a kernel is right. Each is run before it is said.

use std::cell::Cell;

use emulator::Counters;
use gemm::Dim3;

/// Threads of a block at most.
const THREADS: u64 = 1024;
/// Blocks along x at most, along y and along z; and of a grid that is tried, in all.
const MOST: [u32; 3] = [i32::MAX as u32, 65535, 65535];
const TRIED: u32 = 1024;
/// Warp instructions of a block at most in what is tried, and of all blocks.
const INSTRUCTIONS: [u64; 2] = [10_000_000, 100_000_000];
/// What all trials together may cost: warp instructions, and sectors of global memory, which bulk copies move without instructions.
const COST: u64 = 60_000_000;
/// What a trial counts for that ends by a fault: as a rule it ends early, at this part of the dearest one.
const FAULT: (u64, u64) = (100_000, 8);

/// Why no GPU takes a grid, if none does, and what to do.
pub fn too_long(grid: Dim3) -> Option<(String, String)> {
    let along = [("x", grid.x, MOST[0]), ("y", grid.y, MOST[1]), ("z", grid.z, MOST[2])];
    let (axis, blocks, limit) = along.into_iter().find(|(_, blocks, limit)| blocks > limit)?;
    let why = format!("the grid has {blocks} blocks along {axis}, and a GPU takes {limit}");
    let hint = match axis {
        "x" => "make the problem smaller, or let each block go on by `gridDim.x` to its next tile".to_string(),
        _ => format!(
            "what there may be so many of lies along x, which takes {}: exchange `blockIdx.x` and `blockIdx.{axis}`, and x and {axis} of the grid; or let \
             each block go on by `gridDim.{axis}` to its next tile, in a grid of {limit} at most",
            MOST[0]
        ),
    };
    Some((why, hint))
}

/// Numbers of blocks that are tried to see which of them share the work evenly: up to this one, and so many more than there are.
const SHARES: u32 = 8;
const MORE: u32 = 3;

/// Warp instructions that a block may execute in a launch that is tried: it may never end, in any of its blocks.
pub fn instructions(own: u64, grid: Dim3) -> u64 {
    let [block, all] = INSTRUCTIONS;
    own.min(block).min(all / grid.count().max(1))
}

/// What is left to try: warp instructions and memory's sectors of all trials together, whatever they are for.
#[derive(Debug)]
pub struct Budget {
    left: Cell<u64>,
    dearest: Cell<u64>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { left: Cell::new(COST), dearest: Cell::new(0) }
    }
}

impl Budget {
    /// Warp instructions that each block of the next trial may execute; none where nothing is left.
    pub fn next(&self, own: u64, grid: Dim3) -> Option<u64> {
        let left = self.left.get();
        (left > 0).then(|| instructions(own, grid).min(left).max(1))
    }

    /// Takes off what a trial has cost.
    pub fn took(&self, counted: &Counters) {
        let cost = counted.warp_instructions().saturating_add(counted.global_sectors());
        self.dearest.set(self.dearest.get().max(cost));
        self.take(cost);
    }

    /// Takes off what a trial may have cost that ended with `why`; whether it was cut off, and nothing is known of it.
    pub fn failed(&self, why: &str, limit: u64) -> bool {
        let is_cut = why.contains(&format!("more than {limit} warp instructions"));
        let (least, part) = FAULT;
        self.take(if is_cut { limit.max(self.dearest.get()) } else { least.max(self.dearest.get() / part) });
        is_cut
    }

    fn take(&self, cost: u64) {
        self.left.set(self.left.get().saturating_sub(cost));
    }
}

/// Whether a launch is right; nothing where it is cut off.
pub type IsRight<'a> = &'a dyn Fn(Launch) -> Option<bool>;

/// What a launch names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Launch {
    /// Thread blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
}

/// What is known of a kernel that is launched.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Its blocks race for the result: then one alone may be right, which elsewhere says nothing, for it has all of the work.
    pub races: bool,
    /// It asks how many blocks there are: then it may bear any number.
    pub counts_blocks: bool,
}

impl Known {
    /// Of a kernel's PTX.
    pub fn of(ptx: &str, races: bool) -> Known {
        Known { races, counts_blocks: ptx.contains("%nctaid") }
    }
}

/// In words, the first launch of those that people mix up with this one by which nothing is wrong. `place` says where the file has it.
pub fn other(given: Launch, known: Known, place: Option<&str>, tried: IsRight) -> Option<String> {
    let is_right = |launch: Launch| tried(launch) == Some(true);
    let placed = |text: String| place.map_or(text.clone(), |place| format!("{text}. The launch is {place}"));
    let Launch { grid, block, shared } = given;
    let Dim3 { x, y, z } = grid;
    let more = |columns: u32, rows: u32| Dim3 { x: x + columns, y: y + rows, z };
    if x != y && y > 1 && !known.counts_blocks && is_right(Launch { grid: Dim3 { x: y, y: x, z }, ..given }) {
        return Some(placed(format!(
            "with grid ({y},{x}) instead of ({x},{y}) every element is right: x and y of the grid, or of `blockIdx`, are exchanged"
        )));
    }
    let mut grids = [more(1, 0), more(0, 1), more(1, 1)].into_iter().filter(|_| !known.counts_blocks);
    if let Some(Dim3 { x: wide, y: high, .. }) = grids.find(|grid| is_right(Launch { grid: *grid, ..given })) {
        return Some(placed(format!(
            "with grid ({wide},{high}) instead of ({x},{y}) every element is right: the number of blocks is rounded up, as `(N + TILE - 1) / TILE`"
        )));
    }
    if known.races && z > 1 && is_right(Launch { grid: Dim3 { x, y, z: 1 }, ..given }) {
        return Some(format!(
            "with one block along z instead of {z} every element is right: those along z add to the same elements, by `atomicAdd` to what a launch before \
             has set, or each to a place of its own"
        ));
    }
    if known.races && x.max(y) > 1 && is_right(Launch { grid: Dim3 { x: 1, y: 1, z }, ..given }) {
        return Some(
            "with one block every element is right: the others do the same work again. A loop over elements goes on by `gridDim.x * blockDim.x`"
                .to_string(),
        );
    }
    if known.counts_blocks
        && let Some(text) = along(grid).into_iter().find_map(|axis| shared_unevenly(given, axis, tried))
    {
        return Some(text);
    }
    let Dim3 { x: across, y: down, z: deep } = block;
    let changed = |x: u32, y: u32| Dim3 { x, y, z: deep };
    let blocks = [
        changed(down, across),
        changed(2 * across, down),
        changed(across, 2 * down),
        changed(across / 2, down),
        changed(across, down / 2),
    ];
    let mut blocks = blocks.into_iter().filter(|other| *other != block && (1..=THREADS).contains(&other.count()));
    if let Some(other) = blocks.find(|block| is_right(Launch { block: *block, ..given })) {
        return Some(placed(format!(
            "with block ({},{}) instead of ({across},{down}) every element is right: the kernel's tile is for that many threads",
            other.x, other.y
        )));
    }
    let most = TRIED / y.saturating_mul(z).max(1);
    if known.counts_blocks && most > x && is_right(Launch { grid: Dim3 { x: most, y, z }, ..given }) {
        return Some(format!(
            "with a grid of ({most},{y}) instead of ({x},{y}) every element is right, since no block takes a second tile or element then: what its turn before \
             has left is wrong in the next. A sum begins with 0 in each turn, inside the loop over tiles, and so does all that a turn counts"
        ));
    }
    let mut bytes = (2..=4).map(|times| times * shared).filter(|bytes| *bytes > 0);
    let enough = bytes.find(|bytes| is_right(Launch { shared: *bytes, ..given }))?;
    Some(placed(format!(
        "with {enough} bytes of dynamic shared memory instead of {shared} every element is right: the launch names the bytes of all arrays that lie there"
    )))
}

/// The axes along which there are several blocks, each with how many; first the one along which parts of a sum lie.
fn along(Dim3 { x, y, z }: Dim3) -> Vec<(char, u32)> {
    [('z', z), ('x', x), ('y', y)].into_iter().filter(|(_, blocks)| *blocks > 1).collect()
}

/// A launch with another number of blocks along an axis.
fn with_blocks(given: Launch, axis: char, blocks: u32) -> Launch {
    let Dim3 { x, y, z } = given.grid;
    let grid = match axis {
        'x' => Dim3 { x: blocks, y, z },
        'y' => Dim3 { x, y: blocks, z },
        _ => Dim3 { x, y, z: blocks },
    };
    Launch { grid, ..given }
}

/// Says that each block's share of the work is rounded down, if all is right by as many blocks as divide a number, and by no others.
fn shared_unevenly(given: Launch, (axis, blocks): (char, u32), is_right: IsRight) -> Option<String> {
    let right = |number: u32| is_right(with_blocks(given, axis, number));
    if right(1) != Some(true) {
        return None;
    }
    let more = SHARES.max(blocks);
    let tried =
        (2..=SHARES).chain(more.saturating_add(1)..=more.saturating_add(MORE)).filter(|number| *number != blocks);
    // Those by which it is wrong count as well: so each has to be known.
    let known: Option<Vec<(u32, bool)>> = tried.map(|number| right(number).map(|right| (number, right))).collect();
    let known = known?;
    let of =
        |wanted: bool| known.iter().filter(move |(_, right)| *right == wanted).map(|(number, _)| *number).collect();
    let (even, uneven): (Vec<u32>, Vec<u32>) = (of(true), of(false));
    let total = even.iter().fold(1, |all, number| least_multiple(all, u64::from(*number)));
    let is_so = uneven.iter().chain([&blocks]).all(|number| !total.is_multiple_of(u64::from(*number)));
    // It is not that they are too many.
    let other = even
        .iter()
        .find(|number| **number > blocks)
        .or_else(|| even.first().filter(|_| uneven.iter().any(|few| *few < blocks)))?;
    is_so.then(|| {
        format!(
            "with {other} blocks along {axis} instead of {blocks} every element is right, and with any number that divides what they share. So each one's share is \
             rounded down, and what is left of it is nobody's: round it up, `(total + gridDim.{axis} - 1) / gridDim.{axis}`, and end the last share at `total`"
        )
    })
}

fn least_multiple(a: u64, b: u64) -> u64 {
    let (mut divisor, mut rest) = (a, b);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    a / divisor * b
}

/// What may be wrong of several blocks along an axis, if one alone is right, and nothing else is known.
pub fn one_alone(given: Launch, is_right: IsRight) -> Option<String> {
    let (axis, blocks) =
        along(given.grid).into_iter().find(|(axis, _)| is_right(with_blocks(given, *axis, 1)) == Some(true))?;
    Some(format!(
        "with one block along {axis} instead of {blocks} every element is right. Of those along {axis}, each has its own share of the work, rounded up, and its own \
         place for a part of a sum; and what is no part of the sum (a bias, beta * C, an activation) is done once, by one of them or behind the sum"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIVEN: Launch = Launch { grid: Dim3 { x: 5, y: 1, z: 1 }, block: Dim3::ONE, shared: 0 };

    #[test]
    fn a_share_that_is_rounded_down_is_known_by_who_divides_the_whole() {
        let said = |right: &dyn Fn(u32) -> bool| shared_unevenly(GIVEN, ('x', 5), &|launch| Some(right(launch.grid.x)));
        assert!(said(&|blocks| 42 % blocks == 0).unwrap().starts_with("with 6 blocks along x instead of 5"));
        // One alone; a number that is fixed; so many at most; a prime that is shared.
        let others: [&dyn Fn(u32) -> bool; 4] =
            [&|blocks| blocks == 1, &|blocks| blocks == 4, &|blocks| blocks < 5, &|blocks| 41 % blocks == 0];
        others.iter().for_each(|right| assert_eq!(said(right), None));
        assert!(one_alone(GIVEN, &|launch| Some(launch.grid.x == 1)).unwrap().contains("rounded up"));
    }

    /// A number of blocks that was cut off may be right or wrong.
    #[test]
    fn a_search_that_is_cut_off_says_nothing() {
        let cut = |launch: Launch| (launch.grid.x != 4).then_some(42 % launch.grid.x == 0);
        assert_eq!(shared_unevenly(GIVEN, ('x', 5), &cut), None);
        let budget = Budget::default();
        let tried = Cell::new(0);
        let known = Known { races: true, counts_blocks: true };
        let dear = |_: Launch| {
            let limit = budget.next(u64::MAX, Dim3::ONE)?;
            tried.set(tried.get() + 1);
            (!budget.failed(&format!("more than {limit} warp instructions"), limit)).then_some(false)
        };
        let given = Launch { grid: Dim3 { x: 5, y: 4, z: 3 }, ..GIVEN };
        (0..9).for_each(|_| assert_eq!(other(given, known, None, &dear), None));
        assert_eq!((tried.get(), budget.next(u64::MAX, Dim3::ONE)), (6, None));
    }

    #[test]
    fn what_is_tried_ends_soon_however_many_blocks_it_has() {
        let grid = |x| Dim3 { x, y: 2, z: 1 };
        assert_eq!([1, 5, 512].map(|x| instructions(u64::MAX, grid(x))), [10_000_000, 10_000_000, 97_656]);
        assert_eq!(instructions(1000, grid(1)), 1000);
    }
}
