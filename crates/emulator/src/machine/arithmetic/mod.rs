//! What instructions compute: of a lane's values, of a warp's registers, and of the matrices of a warp or a warpgroup.
//! It imports `state` alone: nothing here knows of memory, of other warps or of faults.

pub(crate) mod across_lanes;
pub(crate) mod alu;
pub(crate) mod exact;
pub(crate) mod float64;
pub(crate) mod float_meaning;
pub(crate) mod general;
pub(crate) mod integer_meaning;
pub(crate) mod meaning;
pub(crate) mod number_meaning;
pub(crate) mod quad_mma;
#[cfg(test)]
pub(crate) mod twins;
pub(crate) mod warp_mma;
pub(crate) mod warpgroup_mma;
