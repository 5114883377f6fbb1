//! What elements have in common that come where others should.

/// An element of a factor, and the one that comes in its place: the row of A or the column of B, and the step along K.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exchange {
    pub wanted: [usize; 2],
    pub got: [usize; 2],
}

/// A factor: its name, what its lines are, whether these lie along memory's rows, and how far apart rows lie.
#[derive(Debug, Clone, Copy)]
pub struct Factor<'a> {
    pub name: &'a str,
    pub line: &'static str,
    pub by_rows: bool,
    pub leading: usize,
    /// What happens to it: it is taken, or stored.
    pub verb: &'static str,
}

/// Sides of squares that instructions or tiles may transpose.
const SQUARES: [usize; 6] = [2, 4, 8, 16, 32, usize::MAX];
/// Lines that a block's tile may have.
const TILES: [usize; 6] = [4, 8, 16, 32, 64, 128];
const LANES: usize = 32;
/// Elements of 16 bytes, by their size.
const CHUNKS: [usize; 4] = [4, 8, 16, 2];

/// What one rule says of all exchanges, if one does.
pub fn rule(all: &[Exchange], factor: Factor) -> Option<String> {
    let Factor { name, line, leading, verb, .. } = factor;
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
        return Some(format!(
            "two registers of a fragment of {name} are exchanged: of `mma` of 16 rows, the second is of the {line}s from 8 on, the third of the later steps along K"
        ));
    }
    if let Some(back) = rounded_down(all, factor) {
        return Some(format!(
            "addresses of {name} are up to {back} elements too low, as whole vectors begin: rows are {leading} elements long, no multiple of a vector's, \
             and an index that is divided by its width is rounded down"
        ));
    }
    if let Some(text) = [0, 1].into_iter().find_map(|axis| of_tiles(all, factor, axis)) {
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
            (0, steps) => format!("the index of {name} is {steps} steps along K off"),
            (lines, 0) => format!("the index of {name}, or of C, is {lines} {line}s off"),
            _ => format!("the index of {name} is {lines} {line}s and {steps} steps along K off"),
        });
    }
    let chunk = CHUNKS.into_iter().filter(|chunk| same_line && every(&|[_, k], [_, k2]| (k ^ k2) % chunk == 0)).max();
    if let Some(chunk) = chunk {
        return Some(format!(
            "within a {line}, groups of {chunk} steps along K are exchanged: is the swizzle, or the order, of what stores them that of what loads them (and of a map or descriptor)?"
        ));
    }
    if same_line && every(&|[_, k], [_, k2]| k / 4 == k2 / 4) {
        return Some(
            "steps along K are exchanged in groups of 4: are x, y, z and w of a vector, the registers of a fragment, or the two halves of one (the lower step is in the lower half) in their order?"
                .to_string(),
        );
    }
    let in_tiles = every(&|[l, k], [l2, k2]| k == k2 && l / LANES == l2 / LANES);
    let by_step = all.iter().any(|a| all.iter().any(|b| a.wanted[0] == b.wanted[0] && a.got[0] != b.got[0]));
    if in_tiles && by_step {
        return Some(format!(
            "{line}s are exchanged with each other, and otherwise in each step along K: is the swizzle of the store that of the load?"
        ));
    }
    if every(&|[l, k], [l2, k2]| k == k2 && l ^ 1 == l2) {
        return Some(format!(
            "{line}s are exchanged in pairs: are the two elements of a vector, or two registers of a fragment, stored in their order?"
        ));
    }
    every(&|[_, k], [_, k2]| k == k2).then(|| {
        format!("whole {line}s are exchanged: is the {line} by which {name} is loaded that by which C is stored?")
    })
}

/// Where tiles begin along an axis, lines or steps, if it is not where they should and all is right in the first.
fn of_tiles(all: &[Exchange], Factor { name, line, .. }: Factor, axis: usize) -> Option<String> {
    let other = 1 - axis;
    let (what, index) = if axis == 0 { (line, "block's or warp's") } else { ("step", "tile's") };
    let step = |tile: usize| {
        let of = |one: &Exchange| {
            let (number, within) = (one.wanted[axis] / tile, one.wanted[axis] % tile);
            let begin =
                one.got[axis].checked_sub(within).filter(|_| number > 0 && one.wanted[other] == one.got[other])?;
            (begin % number == 0).then_some(begin / number)
        };
        let first = of(all.first()?)?;
        all.iter().all(|one| of(one) == Some(first)).then_some(first)
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

    const A: Factor<'static> = Factor { name: "A", line: "row", by_rows: true, leading: 48, verb: "taken" };
    const B: Factor<'static> = Factor { name: "B", line: "column", by_rows: false, leading: 40, verb: "taken" };

    /// The element that comes, by line and step.
    type Got<'a> = &'a dyn Fn(usize, usize) -> [usize; 2];

    /// What is said where element `got(line, k)` comes for each of 32 x 32.
    fn said(factor: Factor, got: impl Fn(usize, usize) -> [usize; 2]) -> String {
        let all = (0..32).flat_map(|l| (0..32).map(move |k| [l, k]));
        let all: Vec<Exchange> = all.map(|wanted| Exchange { wanted, got: got(wanted[0], wanted[1]) }).collect();
        let wrong: Vec<Exchange> = all.into_iter().filter(|one| one.wanted != one.got).collect();
        rule(&wrong, factor).unwrap_or_default()
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
