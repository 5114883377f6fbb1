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

/// How the addresses of some lanes lie to the first one's. One that does not run has the first one's.
#[derive(Debug, Clone)]
pub(crate) struct Spread {
    mask: u32,
    relative: [u64; LANES],
    /// How far the first lies behind the lowest, and the highest.
    low: u64,
    span: u64,
}

impl Spread {
    pub fn new(mask: u32, relative: [u64; LANES]) -> Spread {
        let signed = relative.map(|relative| relative as i64);
        let least = signed.into_iter().fold(0, i64::min);
        let most = signed.into_iter().fold(0, i64::max);
        Spread { mask, relative, low: least.unsigned_abs(), span: most.wrapping_sub(least) as u64 }
    }

    /// Whether these lanes' values lie so.
    #[inline(always)]
    pub fn fits<T: Copy + Into<u64>>(&self, mask: u32, values: &[T; LANES]) -> bool {
        let first = values[mask.trailing_zeros() as usize & 31].into();
        let mut differ = u64::from(self.mask ^ mask);
        if mask == FULL {
            for lane in 0..LANES {
                differ |= values[lane].into().wrapping_sub(first) ^ self.relative[lane];
            }
        } else {
            for lane in 0..LANES {
                let unlike = values[lane].into().wrapping_sub(first) ^ self.relative[lane];
                differ |= if mask >> lane & 1 == 1 { unlike } else { 0 };
            }
        }
        differ == 0
    }

    /// Whether all of them, moved to where the first is at `first`, are multiples of `bytes` and lie with so many bytes each in
    /// `room` bytes from `start` on; as they were, they are such multiples relative to each other.
    #[inline(always)]
    pub fn lies_within(&self, first: u64, bytes: u32, start: u64, room: u64) -> bool {
        let bytes = u64::from(bytes);
        let limit = room.checked_sub(bytes).and_then(|limit| limit.checked_sub(self.span));
        let lowest = first.wrapping_sub(self.low).wrapping_sub(start);
        first & (bytes - 1) == 0 && limit.is_some_and(|limit| lowest <= limit)
    }

    /// Where a lane is, if the first is at `first`.
    #[inline(always)]
    pub fn at(&self, first: u64, lane: usize) -> u64 {
        first.wrapping_add(self.relative[lane])
    }
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
    pub fn of(mask: u32, relative: &[u64; LANES], bytes: u32) -> PatternShape {
        let at = |lane: usize| relative[lane];
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
    fn addresses_lie_as_before_if_each_does() {
        const BYTES: u64 = 8;
        let before: [u64; LANES] = std::array::from_fn(|lane| 800 - 24 * (lane as u64 % 20));
        let within =
            |at: u64, (start, room): (u64, u64)| at >= start && at + BYTES <= start + room && at.is_multiple_of(BYTES);
        for mask in [FULL, 1, 0x8000_0000, 0xffff_fffe, 0x0f0f_0f0f] {
            let first = mask.trailing_zeros() as usize;
            let runs = |lane: usize| mask >> lane & 1 == 1;
            let relative = |lane: usize| if runs(lane) { before[lane].wrapping_sub(before[first]) } else { 0 };
            let spread = Spread::new(mask, std::array::from_fn(relative));
            for moved in [0u64, 1, 4, 8, 80, 4096, 4u64.wrapping_neg(), 800u64.wrapping_neg()] {
                let now = before.map(|at| at.wrapping_add(moved));
                assert!(spread.fits(mask, &now) && !spread.fits(mask ^ 2, &now));
                assert!(each(mask).all(|lane| spread.at(now[first], lane) == now[lane]));
                for part in [(0, 4000), (0, 7), (340, 468), (344, 464), (345, 463), (344, 463), (800, 8), (880, 8)] {
                    let inside = each(mask).all(|lane| now[lane] < 1 << 40 && within(now[lane], part));
                    assert_eq!(
                        spread.lies_within(now[first], BYTES as u32, part.0, part.1),
                        inside,
                        "{moved} {part:?}"
                    );
                }
                for other in 0..LANES {
                    for unlike in [1, 1 << 32] {
                        let mut now = now;
                        now[other] = now[other].wrapping_add(unlike);
                        assert_eq!(spread.fits(mask, &now), !runs(other) || mask.count_ones() == 1, "lane {other}");
                    }
                }
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
