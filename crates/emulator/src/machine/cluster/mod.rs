//! Thread blocks of a cluster: each other's shared memory, and the barrier that they have in common.
//! It imports `control` and what is below that.

pub(crate) mod barrier;
pub(crate) mod peers;
