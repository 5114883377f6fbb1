//! The quantities in which two kernels may differ, in the order of what matters.

use emulator::Class;
use serde::Serialize;

use super::lines::{Count, Line, lines};
use super::side::Side;

/// A quantity that differs.
#[derive(Debug, Serialize)]
pub struct Row {
    /// What it is.
    pub what: &'static str,
    /// How much of it the two kernels have.
    pub values: [f64; 2],
    /// The same for each request, of what memory does; nothing where there is no request.
    #[serde(skip_serializing_if = "none")]
    pub per_request: [Option<f64>; 2],
    /// The lines of each file where it arises, most of it first.
    #[serde(skip_serializing_if = "nowhere")]
    pub lines: [Vec<Line>; 2],
}

fn none(values: &[Option<f64>; 2]) -> bool {
    values.iter().all(Option::is_none)
}

fn nowhere(lines: &[Vec<Line>; 2]) -> bool {
    lines.iter().all(Vec::is_empty)
}

/// What is counted by line.
const COUNTED: [(&str, Count); 10] = [
    ("FLOPs", |c| (c.flops(), 0)),
    ("sectors of global loads", |c| (c.global_load.sectors, c.global_load.requests)),
    ("sectors of global stores", |c| (c.global_store.sectors, c.global_store.requests)),
    ("bytes of bulk copies", |c| (c.bulk.bytes_read + c.bulk.bytes_written, 0)),
    ("wavefronts of shared loads", |c| (c.shared_load.wavefronts, c.shared_load.requests)),
    ("wavefronts of shared stores", |c| (c.shared_store.wavefronts, c.shared_store.requests)),
    ("wavefronts of wgmma's operands", |c| (c.operand_wavefronts(), 0)),
    ("warp instructions", |c| (c.warp_instructions(), 0)),
    ("barriers", |c| (c.class(Class::Barrier).warp, 0)),
    ("branches that split a warp", |c| (c.divergent_branches, 0)),
];

/// What differs between two kernels.
pub fn rows(sides: [Side; 2]) -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(whole("bound, in µs", sides.map(|side| Some(1e6 * side.modelled.bound.seconds))));
    for (what, count) in COUNTED {
        let [(a, a_requests), (b, b_requests)] = sides.map(|side| count(side.total));
        // As many sectors in fewer requests are a difference, too.
        if (a, a_requests) == (b, b_requests) {
            continue;
        }
        let per = |count: u64, requests: u64| (requests > 0).then(|| count as f64 / requests as f64);
        let per_request = [per(a, a_requests), per(b, b_requests)];
        let lines = lines(sides, count);
        rows.push(Row { what, values: [a as f64, b as f64], per_request, lines });
    }
    let footprint = sides.map(|side| Some(side.footprint_bytes as f64));
    rows.extend(whole("bytes of global memory touched", footprint));
    let resources = sides.map(|side| side.modelled.resources);
    let need = |of: fn(&gemm::kernel::Resources) -> u32| resources.map(|r| r.as_ref().map(|r| f64::from(of(r))));
    rows.extend(whole("registers per thread", need(|r| r.registers)));
    rows.extend(whole("bytes spilled per thread", need(|r| r.spilled_bytes)));
    rows.extend(whole("bytes of shared memory per block", sides.map(|side| Some(f64::from(side.shared_bytes)))));
    let warps = sides.map(|side| Some(f64::from(side.modelled.occupancy.as_ref()?.warps_per_sm)));
    rows.extend(whole("warps per SM", warps));
    rows
}

/// A quantity of the whole launch, where it is known of both and differs.
fn whole(what: &'static str, values: [Option<f64>; 2]) -> Option<Row> {
    let [Some(a), Some(b)] = values else { return None };
    (a != b).then(|| Row { what, values: [a, b], per_request: [None; 2], lines: Default::default() })
}
