//! What a worker, a thread block and a warp hold, part by part, and the small questions that all others ask of it.
//! It imports `order`, whose clocks a worker has, and nothing else of the machine.

pub(crate) mod block;
pub(crate) mod bulk_load;
pub(crate) mod cells;
pub(crate) mod polls;
pub(crate) mod product_registers;
pub(crate) mod shadow;
pub(crate) mod tally;
pub(crate) mod tensor_box;
pub(crate) mod warp;
pub(crate) mod worker;
