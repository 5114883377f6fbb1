//! An access as those see it who watch: to which memory, and what it does there.

use super::warp::Warp;
use crate::global::{BufferMemory, locate};
use crate::machine::lanes::LANES;
use crate::machine::order::Kind;

/// Memory that an access goes to.
#[derive(Clone, Copy)]
pub(crate) enum Target<'a> {
    Shared,
    /// A buffer, by number.
    Global(usize, &'a BufferMemory),
}

/// What an access does, and how far it goes.
#[derive(Clone, Copy)]
pub(crate) struct Deed {
    pub kind: Kind,
    /// Bytes of each lane.
    pub length: u32,
    /// Whether it is held against earlier ones, and whether later ones are held against it.
    pub check: bool,
    pub keep: bool,
}

impl Deed {
    pub fn new(kind: Kind, length: u32) -> Deed {
        Deed { kind, length, check: true, keep: true }
    }

    /// Nothing in particular.
    pub fn is_plain(self) -> bool {
        self.check && self.keep
    }
}

impl Target<'_> {
    /// Where the lanes access it.
    pub fn offsets(self, warp: &Warp) -> [u32; LANES] {
        match self {
            Target::Shared => warp.scratch.offsets.0,
            Target::Global(..) => warp.scratch.addresses.0.map(|address| locate(address).1 as u32),
        }
    }

    pub fn buffer(self) -> Option<u32> {
        match self {
            Target::Shared => None,
            Target::Global(buffer, _) => Some(buffer as u32),
        }
    }
}
