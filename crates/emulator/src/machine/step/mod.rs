//! The interpreter: which thread block, warp and instruction is next, and whom each instruction calls.
//! It is the top: it imports all other folders, and none of them imports it.

pub(crate) mod block;
pub(crate) mod dispatch;
pub(crate) mod print;
pub(crate) mod probe;
pub(crate) mod run;
pub(crate) mod special;
pub(crate) mod turns;
