//! Execution: warps in lockstep, thread blocks, and the counts and checks that go along.
//!
//! # Who watches
//!
//! | what | who | asked |
//! |---|---|---|
//! | races in shared memory, of kernels with whole barriers alone | `cells`: stamps | a row of lanes at a time, by `shared_access` |
//! | the same in global memory | `watch`: stamps | lane by lane, where the launch writes the buffer |
//! | both, of all other kernels | `ordered`, over the order model `order` | by one function, `order_access` |
//! | copies and barriers that go on beside the threads | `mbarrier`, `bulk`, `tensor_copy` and `landing`, as agents of `order` | where one is asked for, lands, or is waited for |
//! | registers that a product of a warpgroup uses | `in_flight` | before each instruction, where a kernel has such products |
//! | who comes to another block's shared memory, and whether that has started or may leave | `peers`, over `order` | where an address lies elsewhere |
//! | values that nobody wrote | `taint`, over `shadow` | before each instruction, once there is any |
//! | what is doubtful of copies and products, where the books do not agree | `warn`, of what `order` says | where one is asked for |
//! | counts | `tally` | a basic block at a time; of memory, an access's pattern at a time |
//! | what a block accesses; what changes in a loop | `tracing` and `touching`, `recording`; `probe` | by copies of the interpreter, `TRACED` and `PROBED` |
//!
//! They are no implementations of one interface, and that is on purpose. Each is asked at another grain: counting looks at
//! patterns of whole accesses that repeat themselves, stamps are compared for 32 lanes by a few vector instructions in the
//! loop that moves the values, shadows are followed by registers and not by memory, and the order model wants to know of
//! barriers and fences, where nothing is accessed. What they would have in common is "lanes access these addresses": a
//! call for every access and every watcher, with the addresses written out lane by lane, where most of them need no more
//! than the first address and the pattern. So the walls stand elsewhere: what a watcher knows is its own type in a file of
//! its own, the worker holds it as one field, and who does not watch pays one test (`clocks`, `taint`, `watch` and `cells`
//! are absent then) or nothing (the copies). A new one is a field, and one call where `run` steps an instruction.

#![expect(clippy::needless_range_loop, reason = "a lane is an index into several arrays at once")]

mod agents;
mod agents_global;
mod alu;
mod async_copy;
mod atomic;
mod barrier;
mod block;
mod bulk;
mod bulk_load;
mod calls;
mod cells;
mod cluster;
mod convict;
mod convict_bulk;
mod convict_cluster;
mod convict_group;
mod convict_mbarrier;
mod convict_race;
mod convict_tensor;
mod convict_wait;
mod dispatch;
mod exact;
mod extended;
mod float64;
mod float_meaning;
mod general;
mod global_access;
mod group;
mod group_product;
mod in_flight;
mod integer_meaning;
mod landing;
mod lanes;
mod local_access;
mod matrix;
mod mbarrier;
mod meaning;
mod meeting;
mod multiply;
mod number_meaning;
mod order;
mod ordered;
mod ordering;
mod paths;
mod peers;
mod polls;
mod print;
mod probe;
mod quads;
mod recording;
mod registers;
mod run;
mod send;
mod shadow;
mod shared_access;
mod state;
mod taint;
mod tally;
mod tensor_box;
mod tensor_copy;
mod tensor_map;
mod touching;
mod tracing;
mod turns;
#[cfg(test)]
mod twins;
mod under_way;
mod unset;
mod warn;
mod warp;
mod warp_wide;
mod watch;

pub(crate) use block::{Context, Pause, Worker};
pub(crate) use dispatch::{run_block, trace_block};
pub(crate) use recording::Recorder;
pub(crate) use tally::Tally;
pub(crate) use turns::{run_alone, run_together};
pub(crate) use warp::Shape;
