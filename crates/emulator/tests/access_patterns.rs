//! The cost model of memory instructions against what an H200 was measured to do.

use std::collections::BTreeSet;

use emulator::access::{self, GlobalCost, SharedCost};
use proptest::prelude::*;

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

/// The active lanes of a warp with their addresses.
fn active<T: Copy>(addresses: &[T; 32], mask: u32) -> Vec<(usize, T)> {
    addresses.iter().copied().enumerate().filter(|(lane, _)| mask >> lane & 1 == 1).collect()
}

/// Wavefronts of a store, word by word and bank by bank, as the rule reads.
fn wavefronts_by_the_book(addresses: &[u32; 32], mask: u32, bytes: u32) -> u32 {
    let group = (128 / bytes.max(4)).min(32) as usize;
    let lanes = active(addresses, mask);
    let cost = |first: usize| {
        let members = lanes.iter().filter(|(lane, _)| lane / group == first);
        let words: BTreeSet<u32> = members.flat_map(|&(_, a)| (a / 4)..(a + bytes).div_ceil(4)).collect();
        (0..32).map(|bank| words.iter().filter(|&word| word % 32 == bank).count() as u32).max().unwrap_or(0)
    };
    (0..32 / group).map(cost).sum()
}

/// Lane numbers to element numbers: orderly, as in kernels, and not.
fn pattern() -> impl Strategy<Value = [u32; 32]> {
    let affine = (0..64u32, 0..64u32, 1..33u32, 0..300u32).prop_map(|(x, y, width, base)| {
        std::array::from_fn(|l| base + x * (l as u32 % width) + y * (l as u32 / width))
    });
    let falling = affine.clone().prop_map(|elements| elements.map(|e| 5000 - e));
    let random = proptest::array::uniform32(0..200u32);
    prop_oneof![affine, falling, random]
}

fn mask() -> impl Strategy<Value = u32> {
    prop_oneof![Just(u32::MAX), (0..=32u32).prop_map(|n| ((1u64 << n) - 1) as u32), any::<u32>()]
}

proptest! {
    #[test]
    fn short_cuts_change_nothing(elements in pattern(), mask in mask(), log in 0..5u32, high in 0..4u64) {
        let bytes = 1 << log;
        let shared = elements.map(|e| e * bytes);
        // Around a multiple of 4 GiB, where short cuts end.
        let global = shared.map(|a| (high << 32) + u64::from(a) + if a % 3 == 0 { 0 } else { high << 31 });

        let lanes = active(&global, mask);
        let sectors: BTreeSet<u64> = lanes.iter().map(|(_, a)| a / 32).collect();
        let touched: BTreeSet<u64> = lanes.iter().flat_map(|&(_, a)| a..a + u64::from(bytes)).collect();
        let cost = access::global(&global, mask, bytes);
        prop_assert_eq!(cost.sectors as usize, sectors.len());
        prop_assert_eq!(cost.unique_bytes as usize, touched.len());
        prop_assert_eq!(cost.ideal_sectors as usize, touched.len().div_ceil(32));

        let lanes = active(&shared, mask);
        let touched: BTreeSet<u32> = lanes.iter().flat_map(|&(_, a)| a..a + bytes).collect();
        let (load, store) = (access::shared_load(&shared, mask, bytes), access::shared_store(&shared, mask, bytes));
        prop_assert_eq!(store.wavefronts, wavefronts_by_the_book(&shared, mask, bytes));
        prop_assert_eq!(store.unique_bytes as usize, touched.len());
        prop_assert_eq!(load.unique_bytes, store.unique_bytes);
        prop_assert!(store.ideal_wavefronts <= store.wavefronts && load.ideal_wavefronts <= load.wavefronts);
        prop_assert!(store.wavefronts / 2 <= load.wavefronts && load.wavefronts <= store.wavefronts);
    }
}
