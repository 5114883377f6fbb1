//! Values of the 32 lanes of a warp, and sets of lanes as bit masks.

pub(crate) const LANES: usize = 32;
pub(crate) const HALF: usize = LANES / 2;
pub(crate) const FULL: u32 = u32::MAX;

/// One register of a warp: a value per lane.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct Lanes<T>(pub [T; LANES]);

impl<T: Copy> Lanes<T> {
    /// Replaces the values of the lanes of `mask`.
    #[inline(always)]
    pub fn set(&mut self, values: &[T; LANES], mask: u32) {
        if mask == FULL {
            self.0 = *values;
        } else {
            for lane in 0..LANES {
                self.0[lane] = if mask >> lane & 1 == 1 { values[lane] } else { self.0[lane] };
            }
        }
    }
}

/// A value for each lane. (Not `array::from_fn`, which is not compiled into those who use wider instructions.)
#[inline(always)]
pub(crate) fn for_each_lane<T: Copy + Default>(value: impl Fn(usize) -> T) -> [T; LANES] {
    let mut values = [T::default(); LANES];
    for lane in 0..LANES {
        values[lane] = value(lane);
    }
    values
}

/// The lanes of a mask, from 0 up.
pub(crate) fn each(mask: u32) -> impl Iterator<Item = usize> {
    std::iter::successors((mask != 0).then_some(mask), |rest| Some(rest & (rest - 1)).filter(|rest| *rest != 0))
        .map(|rest| rest.trailing_zeros() as usize)
}

/// The mask of the lanes for which `test` holds.
#[inline(always)]
pub(crate) fn mask_where(mut test: impl FnMut(usize) -> bool) -> u32 {
    let mut mask = 0;
    for lane in 0..LANES {
        mask |= u32::from(test(lane)) << lane;
    }
    mask
}

/// How the addresses of a full warp lie, where they lie well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum PatternShape {
    /// All lanes have one address.
    Uniform,
    /// Neighbouring lanes have neighbouring addresses.
    Row,
    /// The lanes of each half have one address, as two rows of 16 threads do.
    Halves,
    /// The second half has the addresses of the first.
    Twice,
    Other,
}

impl PatternShape {
    /// The shape of addresses relative to the first one's.
    pub fn of<T: Copy + Into<u64>>(mask: u32, relative: &[T; LANES], bytes: u32) -> PatternShape {
        let at = |lane: usize| -> u64 { relative[lane].into() };
        if mask == FULL && (0..LANES).all(|lane| at(lane) == 0) {
            PatternShape::Uniform
        } else if mask == FULL && (0..LANES).all(|lane| at(lane) == lane as u64 * u64::from(bytes)) {
            PatternShape::Row
        } else if mask == FULL && (1..LANES).all(|lane| at(lane) == at(lane & HALF)) {
            PatternShape::Halves
        } else if mask == FULL && (HALF..LANES).all(|lane| at(lane) == at(lane - HALF)) {
            PatternShape::Twice
        } else {
            PatternShape::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_that_of_all_lanes() {
        let of = |mask: u32, bytes: u32, at: &dyn Fn(u64) -> u64| {
            PatternShape::of(mask, &std::array::from_fn(|lane| at(lane as u64)), bytes)
        };
        for bytes in [1, 2, 4, 8, 16] {
            assert_eq!(of(FULL, bytes, &|_| 0), PatternShape::Uniform);
            assert_eq!(of(FULL, bytes, &|lane| lane * u64::from(bytes)), PatternShape::Row);
            for other in 1..32 {
                let uniform_but = |lane: u64| u64::from(lane == other);
                assert_eq!(of(FULL, bytes, &uniform_but), PatternShape::Other, "lane {other}");
                let row_but = |lane: u64| lane * u64::from(bytes) + 64 * u64::from(lane == other);
                assert_eq!(of(FULL, bytes, &row_but), PatternShape::Other, "lane {other}");
                assert_eq!(of(!(1 << other), bytes, &|_| 0), PatternShape::Other);
                assert_eq!(of(!(1 << other), bytes, &|lane| lane * u64::from(bytes)), PatternShape::Other);
            }
            assert_eq!(of(FULL, bytes, &|lane| lane * u64::from(2 * bytes)), PatternShape::Other);
            let halves = |lane: u64| 4096 * (lane / 16);
            let twice = |lane: u64| 4096 * (lane % 16);
            assert_eq!(of(FULL, bytes, &halves), PatternShape::Halves);
            assert_eq!(of(FULL, bytes, &twice), PatternShape::Twice);
            for other in 1..32 {
                assert_eq!(of(FULL, bytes, &|lane| halves(lane) + u64::from(lane == other)), PatternShape::Other);
                assert_eq!(of(FULL, bytes, &|lane| twice(lane) + u64::from(lane == other)), PatternShape::Other);
                assert_eq!(of(!(1 << other), bytes, &halves), PatternShape::Other);
                assert_eq!(of(!(1 << other), bytes, &twice), PatternShape::Other);
            }
        }
    }

    #[test]
    fn lanes_of_a_mask_are_counted_up() {
        for mask in [0, 1, 0x8000_0000, 0x8000_0001, 0x00f0_0a05, FULL] {
            let wanted: Vec<usize> = (0..LANES).filter(|lane| mask >> lane & 1 == 1).collect();
            assert_eq!(each(mask).collect::<Vec<_>>(), wanted);
            assert_eq!(mask_where(|lane| wanted.contains(&lane)), mask);
        }
        assert_eq!(for_each_lane(|lane| 3 * lane), std::array::from_fn(|lane| 3 * lane));
    }
}
