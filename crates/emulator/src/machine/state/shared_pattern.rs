//! The pattern of an instruction's addresses in shared memory, and what it costs: kept, because most show one again and again.

use crate::access::{self, SharedCost};
use crate::machine::lanes::{LANES, PatternShape, Spread, each};
use crate::program::Access;

/// The pattern that an instruction showed last.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedCache(Option<Box<Pattern>>);

/// The lanes' addresses relative to the first active one's, and what follows from them. Moving all lanes
/// by a multiple of a word turns the banks and changes no cost.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    phase: u32,
    /// Bytes per lane.
    pub bytes: u32,
    pub spread: Spread,
    pub cost: SharedCost,
    pub places: Vec<Place>,
    /// For a full warp, the place of each lane.
    pub place_of: [u32; LANES],
    /// All lanes run, and have few places.
    pub few: bool,
    pub shape: PatternShape,
}

/// One of the distinct addresses of a pattern, and the first two lanes that have it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub relative: u32,
    pub lane: u32,
    pub second: u32,
}

/// Up to so many distinct addresses, it is quicker to hand out each to its lanes than to serve lane by lane.
pub(crate) const FEW_PLACES: usize = 16;

/// No second lane has a place.
pub(crate) const NOBODY: u32 = u32::MAX;

impl SharedCache {
    /// The last pattern, if its first lane stood in a word where this one does.
    #[inline(always)]
    pub fn last(&self, first: u32) -> Option<&Pattern> {
        self.0.as_deref().filter(|pattern| pattern.phase == first & 3)
    }

    /// The pattern of these addresses. Lanes that do not run must have the first active lane's.
    pub fn pattern(&mut self, access: &Access, mask: u32, addresses: &[u32; LANES], load: bool) -> &Pattern {
        let first = addresses[mask.trailing_zeros() as usize & 31];
        if !self.last(first).is_some_and(|pattern| pattern.spread.fits(mask, addresses)) {
            self.0 = Some(Box::new(new_pattern(access, mask, addresses, load)));
        }
        self.last(first).expect("it was filled just now")
    }
}

#[inline(never)]
fn new_pattern(access: &Access, mask: u32, addresses: &[u32; LANES], load: bool) -> Pattern {
    let first = addresses[mask.trailing_zeros() as usize];
    let bytes = access.bytes();
    let cost =
        if load { access::shared_load(addresses, mask, bytes) } else { access::shared_store(addresses, mask, bytes) };
    let relative = addresses.map(|a| u64::from(a).wrapping_sub(first.into()));
    let mut places: Vec<Place> = Vec::new();
    for lane in each(mask) {
        match places.iter_mut().find(|place| place.relative == relative[lane] as u32) {
            Some(place) => {
                place.second = place.second.min(lane as u32);
            }
            None => {
                places.push(Place { relative: relative[lane] as u32, lane: lane as u32, second: NOBODY });
            }
        }
    }
    let shape = PatternShape::of(mask, &relative, bytes);
    let few = mask == u32::MAX && places.len() <= FEW_PLACES;
    let place_of =
        relative.map(|r| places.iter().position(|place| place.relative == r as u32).unwrap_or_default() as u32);
    Pattern { phase: first & 3, bytes, spread: Spread::new(mask, relative), cost, places, place_of, few, shape }
}
