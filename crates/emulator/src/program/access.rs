//! Loads and stores.

use super::{Order, Scope, Slot};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    #[default]
    Global,
    Shared,
    Local,
    Parameter,
    Constant,
    Generic,
}

/// A load or store: 1, 2 or 4 elements per lane at `[base + offset]`. By default a weak one, at no place yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Access {
    /// Its place in `code`.
    pub at: u32,
    pub space: Space,
    /// Bytes of one element: 1, 2, 4 or 8.
    pub element_bytes: u32,
    /// Elements narrower than their register extend by sign.
    pub signed: bool,
    /// Registers are 64 bits wide.
    pub wide: bool,
    /// 1, 2 or 4.
    pub elements: u32,
    pub registers: [Slot; 4],
    /// Register that holds the address, of 64 bits or (shared and local memory) 32.
    pub base: Slot,
    pub base_wide: bool,
    pub offset: i64,
    /// Weak ones race; all others order threads of `scope`.
    pub order: Order,
    pub scope: Scope,
    /// `ld.global.nc`, `ldu`: of memory that nobody writes while the kernel runs.
    pub read_only: bool,
    /// `.shared::cluster`: its address may be in another block's shared memory.
    pub of_cluster: bool,
    /// Start and end in shared memory of the variable that the address derives from; of all of it where that is
    /// not known.
    pub within: (u32, u32),
    /// The variable in local memory that the address derives from, by its number, where that is known.
    pub of_local: Option<u32>,
}

/// The registers of an access of one element.
pub(crate) fn single(register: Slot) -> [Slot; 4] {
    let mut registers = [Slot::default(); 4];
    registers[0] = register;
    registers
}

impl Access {
    /// Volatile, relaxed, acquire or release: orders threads, and is no party of a race among such.
    pub fn ordered(&self) -> bool {
        self.order != Order::Weak
    }

    /// Bytes that one lane moves.
    pub fn bytes(&self) -> u32 {
        self.element_bytes * self.elements
    }
}
