//! The cost model of memory instructions against what an H200 was measured to do.

use emulator::access::{self, GlobalCost, SharedCost};

const PATTERNS: &str = include_str!("data/h200-access-patterns.csv");
const MEASURED: usize = 524;

/// What a row says of one instruction. `None` was not measured.
struct Row<'a> {
    access: &'a str,
    bytes: u32,
    mask: u32,
    offsets: [u32; 32],
    wavefronts: Option<u32>,
    unique_bytes: Option<u32>,
    requests: Option<u32>,
    sectors: Option<u32>,
}

fn parse(line: &str) -> Row<'_> {
    let fields: Vec<&str> = line.split(',').collect();
    let [access, bytes, _pattern, mask, offsets, wavefronts, unique_bytes, requests, sectors] = fields[..] else {
        panic!("not nine columns: {line}");
    };
    let offsets: Vec<u32> = offsets.split(' ').map(|n| n.parse().unwrap()).collect();
    let measured = |field: &str| (!field.is_empty()).then(|| field.parse().unwrap());
    Row {
        access,
        bytes: bytes.parse().unwrap(),
        mask: u32::from_str_radix(mask, 16).unwrap(),
        offsets: offsets.try_into().unwrap(),
        wavefronts: measured(wavefronts),
        unique_bytes: measured(unique_bytes),
        requests: measured(requests),
        sectors: measured(sectors),
    }
}

/// Compares each measured figure of the row with the model's. A row of which nothing is compared fails.
fn check(row: &Row) -> bool {
    let shared = |cost: SharedCost| {
        row.wavefronts == Some(cost.wavefronts)
            && row.unique_bytes.is_none_or(|unique| unique == cost.unique_bytes)
            && (1..=cost.wavefronts).contains(&cost.ideal_wavefronts)
    };
    let global = |cost: GlobalCost| {
        row.sectors == Some(cost.sectors) && row.requests == Some(1) && cost.ideal_sectors <= cost.sectors
    };
    match row.access {
        "ld.global" | "st.global" => global(access::global(&row.offsets.map(u64::from), row.mask, row.bytes)),
        "ld.shared" => row.unique_bytes.is_some() && shared(access::shared_load(&row.offsets, row.mask, row.bytes)),
        "st.shared" => row.unique_bytes.is_some() && shared(access::shared_store(&row.offsets, row.mask, row.bytes)),
        "ldmatrix.x1" => shared(access::ldmatrix(&row.offsets, 1)),
        "ldmatrix.x2" => shared(access::ldmatrix(&row.offsets, 2)),
        "ldmatrix.x4" => shared(access::ldmatrix(&row.offsets, 4)),
        _ => false,
    }
}

#[test]
fn every_measured_pattern_costs_what_the_hardware_counted() {
    let rows: Vec<&str> = PATTERNS.lines().filter(|line| !line.starts_with('#')).skip(1).collect();
    let wrong: Vec<&&str> = rows.iter().filter(|line| !check(&parse(line))).collect();
    assert!(wrong.is_empty(), "{} of {} rows differ, first: {}", wrong.len(), rows.len(), wrong[0]);
    assert_eq!(rows.len(), MEASURED);
}
