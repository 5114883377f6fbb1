//! What a worker, a thread block and a warp hold, part by part, and the small questions that all others ask of it.
//! It imports `order`, whose clocks a worker has, and nothing else of the machine.

pub(crate) mod asked;
pub(crate) mod barriers;
pub(crate) mod block;
pub(crate) mod bulk_load;
pub(crate) mod call_stack;
pub(crate) mod cells;
pub(crate) mod context;
pub(crate) mod copies;
pub(crate) mod deed;
pub(crate) mod global_pattern;
pub(crate) mod mbarriers;
pub(crate) mod operands;
pub(crate) mod polls;
pub(crate) mod probe;
pub(crate) mod product_registers;
pub(crate) mod recorder;
pub(crate) mod shadow;
pub(crate) mod shape;
pub(crate) mod shared_pattern;
pub(crate) mod tally;
pub(crate) mod tensor_box;
pub(crate) mod unset;
pub(crate) mod warned;
pub(crate) mod warp;
pub(crate) mod worker;
