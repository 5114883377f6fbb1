//! The patterns of an instruction's addresses in global memory, and what they cost: kept, because most instructions show few.

use crate::access::{self, GlobalCost};
use crate::machine::lanes::{LANES, PatternShape, Spread, each};

/// The patterns that an instruction showed last, by where in a sector their first lane stood.
#[derive(Debug, Clone, Default)]
pub(crate) struct GlobalCache([Option<Box<Pattern>>; 8]);

/// The lanes' addresses relative to the first active one's, and what they cost.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    phase: u64,
    pub spread: Spread,
    pub cost: GlobalCost,
    /// Sectors, relative to the first active lane's.
    pub sectors: Vec<i64>,
    pub shape: PatternShape,
}

impl GlobalCache {
    /// The last pattern whose first lane stood in its sector where this one does.
    #[inline(always)]
    pub fn last(&self, first: u64, road: Road) -> Option<&Pattern> {
        let pattern = self.0[road.entry(first)].as_deref();
        pattern.filter(|pattern| pattern.phase == first & (road.period() - 1))
    }

    /// The pattern of these addresses. Lanes that do not run must have the first active lane's.
    pub fn pattern(&mut self, mask: u32, first: u64, addresses: &[u64; LANES], bytes: u32, road: Road) -> &Pattern {
        if !self.last(first, road).is_some_and(|pattern| pattern.spread.fits(mask, addresses)) {
            self.0[road.entry(first)] = Some(Box::new(new_pattern(mask, first, addresses, bytes, road)));
        }
        self.last(first, road).expect("it was filled just now")
    }
}

/// How an access reaches global memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Road {
    /// By L1, as loads, stores and `cp.async.ca`.
    Cached,
    /// Around L1, as `cp.async.cg`.
    Bypassing,
}

impl Road {
    /// Addresses that differ by a multiple of it cost the same.
    #[inline(always)]
    fn period(self) -> u64 {
        match self {
            Road::Cached => 32,
            Road::Bypassing => 128,
        }
    }

    #[inline(always)]
    fn entry(self, first: u64) -> usize {
        (first / (self.period() / 8) % 8) as usize
    }
}

#[inline(never)]
fn new_pattern(mask: u32, first: u64, addresses: &[u64; LANES], bytes: u32, road: Road) -> Pattern {
    let mut sectors: Vec<i64> = each(mask).map(|lane| (addresses[lane] >> 5) as i64 - (first >> 5) as i64).collect();
    sectors.sort_unstable();
    sectors.dedup();
    let cost = match road {
        Road::Cached => access::global(addresses, mask, bytes),
        Road::Bypassing => access::bypassing_copy(addresses, mask),
    };
    let relative = addresses.map(|a| a.wrapping_sub(first));
    let shape = PatternShape::of(mask, &relative, bytes);
    Pattern { phase: first & (road.period() - 1), spread: Spread::new(mask, relative), cost, sectors, shape }
}
