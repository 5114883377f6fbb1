//! What the places of wrong elements point to.

use std::collections::BTreeSet;

use crate::level::Tile;
use crate::matrix::Matrix;

/// The wrong elements of a product, and what there is to explain them by.
pub(super) struct Wrong<'a> {
    /// Their rows and columns.
    pub places: &'a [(usize, usize)],
    /// How many elements were compared.
    pub compared: usize,
    /// C before the launch.
    pub before: &'a Matrix,
    /// And after it.
    pub after: &'a Matrix,
    /// What a thread block works on.
    pub tile: Tile,
}

/// Rows, or columns.
struct Axis<'a> {
    one: &'a str,
    many: &'a str,
    size_name: &'a str,
    size: usize,
    tile: u32,
    /// Those with wrong elements.
    wrong: BTreeSet<usize>,
}

impl Wrong<'_> {
    /// What the pattern points to, from the most telling to the least; nothing where no element is wrong.
    pub fn suggestion(&self) -> Option<String> {
        if self.places.is_empty() {
            return None;
        }
        let (m, n) = (self.after.rows(), self.after.columns());
        let [rows, columns] = [|place: &(usize, usize)| place.0, |place: &(usize, usize)| place.1]
            .map(|of| self.places.iter().map(of).collect::<BTreeSet<usize>>());
        let axes = [
            Axis { one: "row", many: "rows", size_name: "M", size: m, tile: self.tile.m, wrong: rows },
            Axis { one: "column", many: "columns", size_name: "N", size: n, tile: self.tile.n, wrong: columns },
        ];
        let all_compared = self.compared == self.after.elements();
        let period = || all_compared.then(|| period(&axes)).flatten();
        let place = match self.places.len() == self.compared {
            true => "every element is wrong: the store to C, or the sum along K".to_string(),
            false => period()
                .or_else(|| axes.iter().find_map(Axis::part))
                .unwrap_or_else(|| "wrong elements lie scattered: a race, or a guard".to_string()),
        };
        Some(self.state().map_or(place.clone(), |state| format!("{place}; {state}")))
    }

    /// What all of them hold, if they have that in common.
    fn state(&self) -> Option<&'static str> {
        let kept =
            |&(row, col): &(usize, usize)| self.before.element_bytes(row, col) == self.after.element_bytes(row, col);
        let is_nan = |&(row, col): &(usize, usize)| self.after.at(row, col).is_nan();
        match (self.places.iter().all(kept), self.places.iter().all(is_nan)) {
            (true, true) => Some("all of them are NaN, as before the launch"),
            (true, false) => Some("all of them are as before the launch"),
            (false, true) => Some("all of them are NaN"),
            (false, false) => None,
        }
    }
}

/// What the places have in common, where rows or columns of a period are wrong and the others right.
fn period(axes: &[Axis; 2]) -> Option<String> {
    let found: Vec<String> = axes.iter().filter_map(Axis::period).collect();
    let common = found.join(" and ");
    (!found.is_empty()).then(|| format!("all wrong elements have {common}: which thread computes what of a tile"))
}

impl Axis<'_> {
    /// `row % 8 ≥ 4`, where just these rows are wrong, in two periods at least.
    fn period(&self) -> Option<String> {
        (2..=self.size / 2).find_map(|period| {
            let rests: BTreeSet<usize> = self.wrong.iter().map(|at| at % period).collect();
            let (first, last) = (*rests.first()?, *rests.last()?);
            let side_by_side = rests.len() < period && last - first + 1 == rests.len();
            let same =
                side_by_side && (0..self.size).all(|at| self.wrong.contains(&at) == rests.contains(&(at % period)));
            let rest = format!("{} % {period}", self.one);
            same.then(|| match (first, last) {
                (first, last) if first == last => format!("{rest} = {first}"),
                (0, last) => format!("{rest} ≤ {last}"),
                (first, last) if last + 1 == period => format!("{rest} ≥ {first}"),
                (first, last) => format!("{rest} from {first} to {last}"),
            })
        })
    }

    /// Where they lie, if they leave a part out at an end.
    fn part(&self) -> Option<String> {
        let (first, last) = (*self.wrong.first()?, *self.wrong.last()?);
        let (many, end) = (self.many, self.size - 1);
        let last_tile = end / self.tile as usize * self.tile as usize;
        let map = format!("how blocks and threads map to {many}");
        match (first, last) {
            (0, last) if last == end => None,
            (0, last) => Some(format!("all wrong {many} ≤ {last}: {map}")),
            (first, last) if first == last && last < end => {
                Some(format!("all wrong elements are in {} {first}: {map}", self.one))
            }
            (first, last) if last < end => Some(format!("all wrong {many} from {first} to {last}: {map}")),
            (first, _) if last_tile > 0 && first >= last_tile => {
                Some(format!("all wrong {many} ≥ {first}: the edge of the last tile along {}", self.size_name))
            }
            (first, _) => Some(format!("all wrong {many} ≥ {first}: {map}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Element;

    /// What is said of a C of 32 rows and 16 columns, in tiles of 10 × 8, where these elements are wrong.
    fn said(is_wrong: impl Fn(usize, usize) -> bool, value: f64) -> String {
        let before = Matrix::filled(Element::F32, [32, 16, 16], || f64::NAN).unwrap();
        let mut after = before.clone();
        let all = (0..32).flat_map(|row| (0..16).map(move |col| (row, col)));
        let places: Vec<(usize, usize)> = all.filter(|&(row, col)| is_wrong(row, col)).collect();
        places.iter().filter(|_| value != 0.0).for_each(|&(row, col)| after.set(row, col, value));
        let wrong =
            Wrong { places: &places, compared: 512, before: &before, after: &after, tile: Tile { m: 10, n: 8, k: 8 } };
        wrong.suggestion().unwrap_or_default()
    }

    #[test]
    fn places_with_a_period_are_told_from_edges() {
        let of =
            |is_wrong: fn(usize, usize) -> bool| said(is_wrong, 1.0).split(':').next().unwrap_or_default().to_string();
        assert_eq!(of(|row, _| row % 8 >= 4), "all wrong elements have row % 8 ≥ 4");
        assert_eq!(
            of(|row, col| row % 2 == 1 && col % 4 < 2),
            "all wrong elements have row % 2 = 1 and column % 4 ≤ 1"
        );
        assert_eq!(of(|row, _| row >= 16), "all wrong rows ≥ 16");
        assert_eq!(of(|row, _| (8..20).contains(&row)), "all wrong rows from 8 to 19");
        assert_eq!(of(|row, _| row == 9), "all wrong elements are in row 9");
        assert_eq!(of(|row, col| (row * 7 + col * 5) % 11 == 0), "wrong elements lie scattered");
        assert!(said(|row, _| row >= 30, 1.0).ends_with("the edge of the last tile along M"));
        assert!(said(|row, _| row >= 20, 1.0).ends_with("how blocks and threads map to rows"));
    }

    #[test]
    fn what_they_hold_is_said_by_their_bits() {
        let first_row = |row: usize, _: usize| row == 0;
        assert!(said(first_row, 0.0).ends_with("; all of them are NaN, as before the launch"));
        assert!(!said(first_row, 1.0).contains("before the launch"));
        let before = Matrix::filled(Element::F32, [1, 2, 2], || f64::NAN).unwrap();
        let stored = before.with_bytes([0x7fff_ffff_u32; 2].into_iter().flat_map(u32::to_le_bytes).collect());
        let tile = Tile { m: 1, n: 1, k: 1 };
        let wrong = Wrong { places: &[(0, 0)], compared: 2, before: &before, after: &stored, tile };
        assert!(wrong.suggestion().unwrap_or_default().ends_with("; all of them are NaN"));
    }
}
