//! Accesses of threads to memory: loads, stores, atomics and rows of matrices, what they cost, and who raced with whom.
//! It imports `cluster`, which lends the shared memory of other blocks, and what is below that.

pub(crate) mod atomic;
pub(crate) mod by_clocks;
pub(crate) mod copy_targets;
mod fragment;
pub(crate) mod global_access;
pub(crate) mod global_race;
pub(crate) mod ldmatrix;
pub(crate) mod local_access;
pub(crate) mod shared_access;
pub(crate) mod shared_addresses;
pub(crate) mod shared_cells;
pub(crate) mod sources;
