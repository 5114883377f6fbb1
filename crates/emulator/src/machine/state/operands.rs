//! What instructions of a warp read and write: values of registers, and the addresses that lanes access.

use super::warp::Warp;
use crate::machine::lanes::{FULL, LANES, Spread, mask_where};
use crate::program::{Access, CopySize, Extended, File, ShuffleMode, Slot};

impl Warp {
    /// Works out the address of each lane. Lanes that do not run get the first active lane's.
    #[inline(always)]
    pub(crate) fn set_addresses(&mut self, access: &Access, mask: u32) {
        let Warp { r, d, scratch, .. } = self;
        let addresses = &mut scratch.addresses;
        let offset = access.offset as u64;
        if access.base_wide {
            let base = &d[access.base as usize].0;
            for lane in 0..LANES {
                addresses.0[lane] = base[lane].wrapping_add(offset);
            }
        } else {
            let base = &r[access.base as usize].0;
            for lane in 0..LANES {
                addresses.0[lane] = u64::from(base[lane]).wrapping_add(offset);
            }
        }
        if mask != FULL {
            let first = addresses.0[mask.trailing_zeros() as usize & 31];
            for lane in 0..LANES {
                addresses.0[lane] = if mask >> lane & 1 == 1 { addresses.0[lane] } else { first };
            }
        }
    }

    /// The address of the first lane that runs.
    #[inline(always)]
    pub(crate) fn first_address(&self, access: &Access, mask: u32) -> u64 {
        let (base, lane) = (access.base as usize, mask.trailing_zeros() as usize & 31);
        let first = if access.base_wide { self.d[base].0[lane] } else { self.r[base].0[lane].into() };
        first.wrapping_add(access.offset as u64)
    }

    /// Whether the addresses of the lanes lie so to the first one's.
    #[inline(always)]
    pub(crate) fn is_spread(&self, access: &Access, mask: u32, spread: &Spread) -> bool {
        match access.base_wide {
            true => spread.fits(mask, &self.d[access.base as usize].0),
            false => spread.fits(mask, &self.r[access.base as usize].0),
        }
    }

    /// Notes the addresses of lanes that lie so, and where these are from `base` on.
    pub(crate) fn set_spread(&mut self, spread: &Spread, first: u64, base: u64) {
        for lane in 0..LANES {
            let address = spread.at(first, lane);
            self.scratch.addresses.0[lane] = address;
            self.scratch.offsets.0[lane] = address.wrapping_sub(base) as u32;
        }
    }

    /// Keeps the addresses of some lanes, relative to `window`; the others get the first one's.
    pub(crate) fn narrow_addresses(&mut self, all: &[u64; LANES], mask: u32, window: u64) {
        let first = all[mask.trailing_zeros() as usize & 31];
        for lane in 0..LANES {
            let address = if mask >> lane & 1 == 1 { all[lane] } else { first };
            self.scratch.addresses.0[lane] = address.wrapping_sub(window);
        }
    }

    /// Puts an element that was loaded into its register, extended to the register's width.
    #[inline(always)]
    pub(crate) fn set_loaded(&mut self, access: &Access, element: u32, values: &[u64; LANES], mask: u32) {
        let slot = access.registers[element as usize] as usize;
        let shift = 64 - 8 * access.element_bytes;
        let extend = |value: u64| if access.signed { ((value << shift) as i64 >> shift) as u64 } else { value };
        if access.wide {
            self.d[slot].set(&values.map(extend), mask);
        } else {
            self.r[slot].set(&values.map(|value| extend(value) as u32), mask);
        }
    }

    /// The value that a lane stores as an element.
    #[inline(always)]
    pub(crate) fn stored(&self, access: &Access, element: u32, lane: usize) -> u64 {
        let slot = access.registers[element as usize] as usize;
        if access.wide { self.d[slot].0[lane] } else { self.r[slot].0[lane].into() }
    }

    /// All bytes that a lane stores.
    pub(crate) fn stored_bytes(&self, access: &Access, lane: usize) -> [u8; 32] {
        let mut bytes = <[u8; 32]>::default();
        let size = access.element_bytes as usize;
        for element in 0..access.elements {
            let value = self.stored(access, element, lane).to_le_bytes();
            bytes[element as usize * size..][..size].copy_from_slice(&value[..size]);
        }
        bytes
    }

    /// A lane's value of a register of 32 or 64 bits.
    pub(crate) fn wide(&self, file: File, slot: Slot, lane: usize) -> u64 {
        match file {
            File::R => self.r[slot as usize].0[lane].into(),
            File::D => self.d[slot as usize].0[lane],
            File::P => u64::from(self.p[slot as usize] >> lane & 1),
        }
    }

    pub(crate) fn set_wide(&mut self, file: File, slot: Slot, values: &[u64; LANES], mask: u32) {
        match file {
            File::R => self.r[slot as usize].set(&values.map(|value| value as u32), mask),
            File::D => self.d[slot as usize].set(values, mask),
            File::P => set_predicate(self, slot, mask_where(|lane| values[lane] & 1 == 1), mask),
        }
    }

    /// How many of the `length` bytes of a copy each lane asks for; the others are filled with zeros.
    pub(crate) fn asked_bytes(&self, extended: &Extended, size: CopySize, length: u32) -> [u32; LANES] {
        match (size, extended.reads.first()) {
            (CopySize::Given, Some(&(file, slot))) => std::array::from_fn(|lane| self.wide(file, slot, lane) as u32),
            (CopySize::UnlessIgnored, Some(&(file, slot))) => {
                std::array::from_fn(|lane| if self.wide(file, slot, lane) == 1 { 0 } else { length })
            }
            _ => [length; LANES],
        }
    }

    /// The lane that a lane takes its value from, and whether that lies in its segment; itself if not.
    pub(crate) fn shuffle_source(&self, mode: ShuffleMode, b: Slot, c: Slot, lane: usize) -> (usize, bool) {
        let (by, c) = (self.r[b as usize].0[lane] & 0x1f, self.r[c as usize].0[lane]);
        let (clamp, segment) = (c & 0x1f, c >> 8 & 0x1f);
        let own = lane as u32;
        let max = own & segment | clamp & !segment;
        let min = own & segment;
        let (from, valid) = match mode {
            ShuffleMode::Up => (own.wrapping_sub(by), own as i32 - by as i32 >= max as i32),
            ShuffleMode::Down => (own + by, own + by <= max),
            ShuffleMode::Butterfly => (own ^ by, own ^ by <= max),
            ShuffleMode::Index => (min | by & !segment, min | by & !segment <= max),
        };
        if valid { (from as usize & 31, true) } else { (lane, false) }
    }
}

/// Replaces the bits of a predicate that are of the lanes of a mask.
#[inline(always)]
pub(crate) fn set_predicate(warp: &mut Warp, d: Slot, bits: u32, mask: u32) {
    let slot = &mut warp.p[d as usize];
    *slot = *slot & !mask | bits & mask;
}
