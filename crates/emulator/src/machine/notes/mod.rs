//! What is noted while instructions run, for those who ask: accesses of a traced block, what a recorded one executes, and
//! what a probe sees change. It imports `memory` and what is below that, and changes nothing that a kernel sees.

pub(crate) mod accesses;
pub(crate) mod changes;
pub(crate) mod executed;
pub(crate) mod touched;
