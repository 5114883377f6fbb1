//! The copies of the interpreter: for the vector instructions that this CPU has, and with what is noted on the way.

use crate::Fault;
use crate::machine::cpu::{AVX512, PLAIN, PROBED, TRACED, with_avx2, with_avx512};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::{Pause, Worker};

/// Steps the worker's thread block until it ends or pauses.
pub(crate) fn run_block(worker: &mut Worker) -> Result<Pause, Box<Fault>> {
    if let Some(done) = with_avx512(
        #[inline(always)]
        || worker.run::<AVX512>(),
    ) {
        return done;
    }
    with_avx2(
        #[inline(always)]
        || worker.run::<PLAIN>(),
    )
}

/// Does the same, and notes what it accesses.
pub(crate) fn trace_block(worker: &mut Worker) -> Result<Pause, Box<Fault>> {
    worker.run::<TRACED>()
}

/// Runs a warp to where its turn ends, and notes what memory it reads and changes.
pub(super) fn step_probed(worker: &mut Worker, warp: &mut Warp) -> Result<bool, Box<Fault>> {
    with_avx2(
        #[inline(always)]
        || worker.run_warp::<PROBED>(warp),
    )
}
