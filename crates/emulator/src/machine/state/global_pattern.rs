//! The patterns of an instruction's addresses in global memory, and what they cost: kept, because most instructions show few.

use crate::access::{self, GlobalCost};
use crate::machine::lanes::{LANES, PatternShape, each};

/// The patterns that an instruction showed last, by where in a sector their first lane stood.
#[derive(Debug, Clone, Default)]
pub(crate) struct GlobalCache([Option<Box<Pattern>>; 8]);

/// The lanes' addresses relative to the first active one's, and what they cost.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    mask: u32,
    phase: u64,
    relative: [u64; LANES],
    pub cost: GlobalCost,
    /// Sectors, relative to the first active lane's.
    pub sectors: Vec<i64>,
    pub shape: PatternShape,
}

impl Pattern {
    #[inline(always)]
    fn fits(&self, mask: u32, first: u64, addresses: &[u64; LANES], road: Road) -> bool {
        let mut differ = u64::from(self.mask ^ mask) | (self.phase ^ (first & (road.period() - 1)));
        for lane in 0..LANES {
            differ |= addresses[lane].wrapping_sub(first) ^ self.relative[lane];
        }
        differ == 0
    }
}

impl GlobalCache {
    /// The pattern of these addresses. Lanes that do not run must have the first active lane's.
    #[inline(always)]
    pub fn pattern(&mut self, mask: u32, first: u64, addresses: &[u64; LANES], bytes: u32, road: Road) -> &Pattern {
        let entry = &mut self.0[(first / (road.period() / 8) % 8) as usize];
        let fits = match entry {
            Some(pattern) => pattern.fits(mask, first, addresses, road),
            None => false,
        };
        if !fits {
            *entry = Some(Box::new(new_pattern(mask, first, addresses, bytes, road)));
        }
        entry.as_ref().expect("it was filled just now")
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
    Pattern { mask, phase: first & (road.period() - 1), relative, cost, sectors, shape }
}
