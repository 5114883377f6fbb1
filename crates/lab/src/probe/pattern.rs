//! What elements have in common that come where others should.

/// An element of a factor, and the one that comes in its place: the row of A or the column of B, and the step along K.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exchange {
    pub wanted: [usize; 2],
    pub got: [usize; 2],
}

/// A factor, or C: its name, what its lines are, whether these lie along memory's rows, and how far apart rows lie.
#[derive(Debug, Clone, Copy)]
pub struct Factor<'a> {
    pub name: &'a str,
    pub line: &'static str,
    pub by_rows: bool,
    pub leading: usize,
    /// What happens to it: it is taken, or stored.
    pub verb: &'static str,
    /// A bit for each number of bits, as in [`NARROW`], in which the kernel keeps whole numbers, and not the factors.
    pub few_bits: u32,
}

impl Factor<'_> {
    /// What lies along its lines.
    fn step(self) -> &'static str {
        if self.verb == "stored" { "column" } else { "step" }
    }

    /// Several of these.
    fn across(self) -> &'static str {
        if self.verb == "stored" { "columns" } else { "steps along K" }
    }
}

/// Sides of squares that instructions or tiles may transpose.
const SQUARES: [usize; 6] = [2, 4, 8, 16, 32, usize::MAX];
/// Lines that a block's tile may have.
const TILES: [usize; 6] = [4, 8, 16, 32, 64, 128];
/// Bits in which an index may be kept that needs more, as a number's type or as a part of a word.
pub const NARROW: std::ops::RangeInclusive<u32> = 8..=16;
/// Elements of 16 bytes, by their size.
const CHUNKS: [usize; 4] = [4, 8, 16, 2];

/// What one rule says of all exchanges, if one does. `right` are elements that come in their own place.
pub fn rule(all: &[Exchange], right: &[[usize; 2]], factor: Factor) -> Option<String> {
    let Factor { name, line, leading, verb, .. } = factor;
    let across = factor.across();
    let every = |holds: &dyn Fn([usize; 2], [usize; 2]) -> bool| all.iter().all(|one| holds(one.wanted, one.got));
    if all.len() < 2 {
        return None;
    }
    let transposed = |side: usize| every(&|[l, k], got| got == [l - l % side + k % side, k - k % side + l % side]);
    // Where all lie in one square, its side says nothing.
    let several =
        |side: usize| all.iter().any(|one| one.wanted.map(|at| at / side) != all[0].wanted.map(|at| at / side));
    if let Some(side) = SQUARES.into_iter().find(|side| transposed(*side) && (several(*side) || *side == usize::MAX)) {
        let part = if side == usize::MAX { String::new() } else { format!(" within squares of {side} x {side}") };
        return Some(format!(
            "{name} is {verb} transposed{part}: do its store and its load name row and column in one order? of `ldmatrix` that is `.trans`, of `wmma` row_major or col_major"
        ));
    }
    if let Some(apart) = rows_apart(all, factor, factor).filter(|apart| *apart != leading) {
        return Some(format!(
            "rows of {name} are {verb} {apart} elements apart, and they lie {leading} apart: is the row's length in its index its own?"
        ));
    }
    let other_way = Factor { by_rows: !factor.by_rows, ..factor };
    if let Some(apart) = rows_apart(all, factor, other_way) {
        return Some(format!(
            "{name} is {verb} as if it lay the other way round, by columns where it lies by rows, in lines of {apart}: is the index of row and column that of its layout?"
        ));
    }
    if every(&|[l, k], [l2, k2]| l.abs_diff(l2) == 8 && k != k2 && (l2 > l) == (k > k2)) {
        let order = match verb {
            "stored" => {
                "of the accumulators of `mma` m16n8 (and of `wgmma`), the second is of the next column, the third and fourth are of the row 8 further, and each \
                 four more of the next 8 columns: `c[1]` is for [row][column + 1], `c[2]` for [row + 8][column]"
                    .to_string()
            }
            _ => format!("of `mma` of 16 rows, the second is of the {line}s from 8 on, the third of the later steps along K"),
        };
        return Some(format!("two registers of a fragment of {name} are exchanged: {order}"));
    }
    if let Some(back) = rounded_down(all, factor) {
        return Some(format!(
            "addresses of {name} are up to {back} elements too low, as whole vectors begin: rows are {leading} elements long, no multiple of a vector's, \
             and an index that is divided by its width is rounded down"
        ));
    }
    let mut by_axis = [0, 1].into_iter();
    if let Some(text) =
        by_axis.find_map(|axis| narrow(all, right, factor, axis).or_else(|| of_tiles(all, right, factor, axis)))
    {
        return Some(text);
    }
    let turned = |tile: usize| every(&|[l, k], got| got == [l % tile + k / tile * tile, k % tile + l / tile * tile]);
    if let Some(tile) = TILES.into_iter().find(|tile| turned(*tile)) {
        return Some(format!(
            "tiles of {tile} x {tile} of {name} are exchanged, and not what is in them: a tile's row and column, or the coordinates of a box (columns first), are in the wrong order"
        ));
    }
    let same_line = every(&|[l, _], [l2, _]| l == l2);
    let difference = |[l, k]: [usize; 2], [l2, k2]: [usize; 2]| [l2 as i64 - l as i64, k2 as i64 - k as i64];
    let first = difference(all[0].wanted, all[0].got);
    if every(&|wanted, got| difference(wanted, got) == first) {
        let [lines, steps] = first;
        return Some(match (lines, steps) {
            (0, steps) => format!("the index of {name} is {steps} {across} off"),
            (lines, 0) => format!("the index of {name}, or of C, is {lines} {line}s off"),
            _ => format!("the index of {name} is {lines} {line}s and {steps} {across} off"),
        });
    }
    let chunk = CHUNKS.into_iter().filter(|chunk| same_line && every(&|[_, k], [_, k2]| (k ^ k2) % chunk == 0)).max();
    if let Some(chunk) = chunk {
        return Some(format!(
            "within a {line}, groups of {chunk} {across} are exchanged: is the swizzle, or the order, of what stores them that of what loads them (and of a map or descriptor)?"
        ));
    }
    if same_line && every(&|[_, k], [_, k2]| k / 4 == k2 / 4) {
        return Some(
            "steps along K are exchanged in groups of 4: are x, y, z and w of a vector, the registers of a fragment, or the two halves of one (the lower step is in the lower half) in their order?"
                .to_string(),
        );
    }
    if every(&|[l, k], [l2, k2]| k == k2 && l ^ 1 == l2) {
        return Some(format!(
            "{line}s are exchanged in pairs: are the two elements of a vector, or two registers of a fragment, stored in their order?"
        ));
    }
    let same_step = every(&|[_, k], [_, k2]| k == k2);
    // A line that comes in its own place in other steps is not whole.
    let of_line = |line: usize| all.iter().filter(move |one| one.wanted[0] == line);
    let by_step = all.iter().any(|a| of_line(a.wanted[0]).any(|b| a.got[0] != b.got[0]))
        || right.iter().any(|[line, _]| of_line(*line).next().is_some());
    if same_step && by_step {
        return Some(format!(
            "{line}s are exchanged with each other, and otherwise in each step along K: is the swizzle by which the tile of {name} is stored that by which it is \
             loaded, one formula of its row and column with one mask (`column ^ (row & mask)`)?"
        ));
    }
    same_step.then(|| {
        format!("whole {line}s are exchanged: is the {line} by which {name} is loaded that by which C is stored?")
    })
}

/// An index along an axis that begins again where so few bits end, if all is right up to there.
fn narrow(all: &[Exchange], right: &[[usize; 2]], factor: Factor, axis: usize) -> Option<String> {
    let what = if axis == 0 { factor.line } else { factor.step() };
    let ends = |end: usize| {
        let is_again = |Exchange { wanted, got }: &Exchange| {
            wanted[1 - axis] == got[1 - axis] && wanted[axis] >= end && got[axis] == wanted[axis] % end
        };
        // Of half as many bits, the upper half would be wrong.
        all.iter().all(is_again) && right.iter().all(|at| at[axis] < end) && right.iter().any(|at| at[axis] >= end / 2)
    };
    let bits = NARROW.into_iter().find(|bits| ends(1 << bits))?;
    let (end, name) = (1usize << bits, factor.name);
    let mask = format!("`& {:#x}`", end - 1);
    let kept = match bits {
        8 | 16 => format!("kept in {bits} bits (as `uint{bits}_t` is, or {mask})"),
        _ => format!("kept in {bits} bits ({mask})"),
    };
    let cure = match factor.few_bits >> bits & 1 == 1 {
        true => format!("a number of {what}s is {kept}, and needs more: `int`"),
        false => format!(
            "is a number of {what}s {kept}, or is a tile's first {what} (its number times {end}) missing in the index?"
        ),
    };
    Some(format!("{what}s of {name} from {end} on are those from 0 on, by their number mod {end}: {cure}"))
}

/// Where tiles begin along an axis, lines or steps, if it is not where they should and all is right in the first, and there alone.
fn of_tiles(all: &[Exchange], right: &[[usize; 2]], factor: Factor, axis: usize) -> Option<String> {
    let (Factor { name, line, .. }, other) = (factor, 1 - axis);
    let (what, index) = if axis == 0 { (line, "block's or warp's") } else { (factor.step(), "tile's") };
    let step = |tile: usize| {
        let of = |one: &Exchange| {
            let (number, within) = (one.wanted[axis] / tile, one.wanted[axis] % tile);
            let begin =
                one.got[axis].checked_sub(within).filter(|_| number > 0 && one.wanted[other] == one.got[other])?;
            (begin % number == 0).then_some(begin / number)
        };
        let first = of(all.first()?)?;
        let is_so = all.iter().all(|one| of(one) == Some(first)) && right.iter().all(|at| at[axis] < tile);
        is_so.then_some(first)
    };
    let (tile, step) = TILES.into_iter().find_map(|tile| Some((tile, step(tile)?)))?;
    Some(match step {
        0 => format!(
            "{what}s of {name} come again after {tile}: the {index} first {what} (its number times {tile}) is missing in the index"
        ),
        _ => format!(
            "of {what}s of {name}, tile n of {tile} is taken from {step} n on, and not from {tile} n: is its number multiplied by its size in elements, and by the row's length?"
        ),
    })
}

/// How many elements what comes lies before what should, less than a vector, where rows are not whole vectors.
fn rounded_down(all: &[Exchange], Factor { by_rows, leading, .. }: Factor) -> Option<usize> {
    let place = |[l, k]: [usize; 2]| if by_rows { [l * leading, k] } else { [k * leading, l] };
    let flat = |at: [usize; 2]| place(at).iter().sum::<usize>();
    let of = |width: usize| {
        let back = |one: &Exchange| {
            let back = flat(one.wanted).checked_sub(flat(one.got))?;
            (back == place(one.wanted)[0] % width).then_some(back)
        };
        all.iter().map(back).collect::<Option<Vec<usize>>>()?.into_iter().max()
    };
    [4, 8, 16, 2].into_iter().filter(|width| !leading.is_multiple_of(*width)).find_map(of)
}

/// How far apart rows are in an index that is made for another factor than the one that lies there, by what all exchanges say.
fn rows_apart(all: &[Exchange], Factor { by_rows, leading, .. }: Factor, index: Factor) -> Option<usize> {
    let of = |by_rows: bool, [l, k]: [usize; 2]| if by_rows { [l, k] } else { [k, l] };
    let place = |at: [usize; 2]| of(index.by_rows, at);
    let beyond = |one: &Exchange| {
        let ([row, column], [got_row, got_column]) = (place(one.wanted), of(by_rows, one.got));
        Some((row, (got_row * leading + got_column).checked_sub(column)?))
    };
    let all: Option<Vec<(usize, usize)>> = all.iter().map(beyond).collect();
    let all = all?;
    let (row, first) = *all.iter().find(|(row, _)| *row > 0)?;
    let apart = (first % row == 0).then(|| first / row)?;
    let several = all.iter().any(|(other, _)| *other != row);
    (several && apart > 0 && all.iter().all(|(row, beyond)| *beyond == row * apart)).then_some(apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Factor<'static> =
        Factor { name: "A", line: "row", by_rows: true, leading: 48, verb: "taken", few_bits: 0 };
    const B: Factor<'static> =
        Factor { name: "B", line: "column", by_rows: false, leading: 40, verb: "taken", few_bits: 0 };

    /// The element that comes, by line and step.
    type Got<'a> = &'a dyn Fn(usize, usize) -> [usize; 2];

    /// What is said where element `got(line, k)` comes for each of 32 x 32.
    fn said(factor: Factor, got: impl Fn(usize, usize) -> [usize; 2]) -> String {
        said_of(factor, [32, 32], got)
    }

    fn said_of(factor: Factor, [lines, steps]: [usize; 2], got: impl Fn(usize, usize) -> [usize; 2]) -> String {
        let all = (0..lines).flat_map(|l| (0..steps).map(move |k| [l, k]));
        let all = all.map(|wanted| Exchange { wanted, got: got(wanted[0], wanted[1]) });
        let (right, wrong): (Vec<Exchange>, Vec<Exchange>) = all.partition(|one| one.wanted == one.got);
        let right: Vec<[usize; 2]> = right.into_iter().map(|one| one.wanted).collect();
        rule(&wrong, &right, factor).unwrap_or_default()
    }

    #[test]
    fn an_index_in_few_bits_is_no_missing_tile() {
        const NARROW_B: Factor<'static> = Factor { few_bits: 1 << 8 | 1 << 10, ..B };
        let of = |factor, sizes, end: usize| said_of(factor, sizes, |l, k| [l, k % end]);
        assert!(of(NARROW_B, [2, 320], 256).contains("a number of steps is kept in 8 bits"));
        assert!(of(NARROW_B, [2, 1100], 1024).contains("kept in 10 bits (`& 0x3ff`), and needs more"));
        assert!(of(B, [2, 320], 256).ends_with("missing in the index?"));
        assert!(of(NARROW_B, [2, 320], 128).contains("the tile's first step (its number times 128)"));
        let of_lines = said_of(Factor { few_bits: 1 << 8 | 1 << 10, ..A }, [300, 2], |l, k| [l % 256, k]);
        assert!(of_lines.contains("a number of rows is kept in 8 bits"), "{of_lines}");
        // One tile of several is another one's: its first step is missing in none.
        let one = said_of(B, [2, 96], |l, k| [l, if k / 32 == 1 { k - 32 } else { k }]);
        assert_eq!(one, "the index of B is -32 steps along K off");
    }

    #[test]
    fn registers_of_c_have_an_order_of_their_own() {
        let c = Factor { name: "C", verb: "stored", ..A };
        let exchanged = |l: usize, k: usize| if l / 8 % 2 == k % 2 { [l, k] } else { [l ^ 8, k ^ 1] };
        let text = said(c, exchanged);
        assert!(text.contains("the second is of the next column") && !text.contains("along K"), "{text}");
    }

    #[test]
    fn the_rule_is_named() {
        const LONG: Factor<'static> = Factor { leading: 46, ..A };
        let rules: [(Factor, Got, &str); 19] = [
            (
                LONG,
                &|l, k| [(l * 46 / 4 * 4 + k) / 46, (l * 46 / 4 * 4 + k) % 46],
                "addresses of A are up to 2 elements too low, as whole vectors begin",
            ),
            (A, &|l, k| [l % 16, k], "rows of A come again after 16: the block's or warp's first row"),
            (A, &|l, k| [l, k / 4 * 4 + [0, 2, 1, 3][k % 4]], "steps along K are exchanged in groups of 4"),
            (B, &|l, k| [l ^ (k % 4), k], "columns are exchanged with each other, and otherwise in each step along K"),
            (A, &|l, k| [k, l], "A is taken transposed:"),
            (B, &|l, k| [l / 8 * 8 + k % 8, k / 8 * 8 + l % 8], "B is taken transposed within squares of 8 x 8"),
            (
                A,
                &|l, k| [(l * 40 + k) / 48, (l * 40 + k) % 48],
                "rows of A are taken 40 elements apart, and they lie 48",
            ),
            (
                B,
                &|l, k| [(k * 48 + l) % 40, (k * 48 + l) / 40],
                "rows of B are taken 48 elements apart, and they lie 40",
            ),
            (A, &|l, k| [(k * 32 + l) / 48, (k * 32 + l) % 48], "A is taken as if it lay the other way round"),
            (A, &|l, k| if (l ^ k) & 8 == 0 { [l, k] } else { [l ^ 8, k ^ 8] }, "two registers of a fragment of A"),
            (A, &|l, k| [l, k + 1], "the index of A is 1 steps along K off"),
            (B, &|l, k| [l + 3, k], "the index of B, or of C, is 3 columns off"),
            (A, &|l, k| [l, k ^ (l / 2 % 4 * 8)], "within a row, groups of 8 steps along K are exchanged"),
            (B, &|l, k| [l ^ (l / 2 % 2), k], "columns are exchanged in pairs"),
            (B, &|l, k| [l * 5 % 32, k], "whole columns are exchanged"),
            (A, &|l, k| [l, k % 16], "steps of A come again after 16: the tile's first step"),
            (B, &|l, k| [l, k % 16 + k / 16], "of steps of B, tile n of 16 is taken from 1 n on, and not from 16 n"),
            (A, &|l, k| [l % 16 + k / 16 * 16, k % 16 + l / 16 * 16], "tiles of 16 x 16 of A are exchanged"),
            (A, &|l, k| [l * 5 % 32, k * 3 % 32], ""),
        ];
        for (factor, got, words) in rules {
            let text = said(factor, got);
            assert!(text.starts_with(words) && text.is_empty() == words.is_empty(), "{words}: {text}");
        }
    }
}
