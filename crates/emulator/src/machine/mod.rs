//! Execution: warps in lockstep, thread blocks, and the counts and checks that go along.
//!
//! # The folders
//!
//! Each imports only those below it; `lanes` and `cpu` are below all.
//!
//! | folder | what it does |
//! |---|---|
//! | `step` | the interpreter: which block, warp and instruction is next, and whom each calls |
//! | `notes` | what is noted while instructions run: accesses, executions, changes |
//! | `beside` | copies, barriers and products that go on beside the threads |
//! | `memory` | loads, stores, atomics: what they cost, and who raced with whom |
//! | `cluster` | the shared memory of other blocks of a cluster, and the cluster's barrier |
//! | `control` | which way lanes go, and where they wait for each other |
//! | `verdict` | what is wrong or doubtful, in words, and what is followed for that |
//! | `arithmetic` | what instructions compute of registers |
//! | `state` | what a worker, a block and a warp hold |
//! | `order` | the order model: which access lies before which |
//!
//! # Who watches
//!
//! | what | who | asked |
//! |---|---|---|
//! | races in shared memory, of kernels with whole barriers alone | `state::cells`: stamps | a row of lanes at a time, by `memory::shared_access` |
//! | the same in global memory | `memory::global_race`: stamps | lane by lane, where the launch writes the buffer |
//! | both, of all other kernels | `memory::by_clocks`, over the order model `order` | by one function, `order_access` |
//! | copies and barriers that go on beside the threads | `beside`, as agents of `order` | where one is asked for, lands, or is waited for |
//! | registers that a product of a warpgroup uses | `verdict::product_registers` | before each instruction, where a kernel has such products |
//! | who comes to another block's shared memory, and whether that has started or may leave | `cluster::peers`, over `order` | where an address lies elsewhere |
//! | values that nobody wrote | `verdict::taint`, over `state::shadow` | before each instruction, once there is any |
//! | what is doubtful of copies, products and `wmma`, where the books do not agree | `verdict::warn`, of what `order` or stamps say | where one is asked for |
//! | counts | `state::tally` | a basic block at a time; of memory, an access's pattern at a time |
//! | what a block accesses; what changes in a loop | `notes` | by copies of the interpreter, `TRACED` and `PROBED` |
//!
//! They are no implementations of one interface, and that is on purpose. Each is asked at another grain: counting looks at
//! patterns of whole accesses that repeat themselves, stamps are compared for 32 lanes by a few vector instructions in the
//! loop that moves the values, shadows are followed by registers and not by memory, and the order model wants to know of
//! barriers and fences, where nothing is accessed. What they would have in common is "lanes access these addresses": a
//! call for every access and every watcher, with the addresses written out lane by lane, where most of them need no more
//! than the first address and the pattern. So what a watcher knows is its own type in a file of its own, the worker or the
//! warp holds it as one field, and who does not watch pays one test (`clocks`, `taint`, `watch` and `cells` are absent
//! then) or nothing (the copies). A new one is a field, and one call where `step::run` steps an instruction.

#![expect(clippy::needless_range_loop, reason = "a lane is an index into several arrays at once")]

mod arithmetic;
mod beside;
mod cluster;
mod control;
mod cpu;
mod lanes;
mod memory;
mod notes;
mod order;
mod state;
mod step;
mod verdict;

pub(crate) use state::context::Context;
pub(crate) use state::recorder::Recorder;
pub(crate) use state::shape::Shape;
pub(crate) use state::tally::Tally;
pub(crate) use state::worker::{Pause, Worker};
pub(crate) use step::dispatch::{run_block, trace_block};
pub(crate) use step::turns::{run_alone, run_together};
