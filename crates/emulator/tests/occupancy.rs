//! Occupancy against NVIDIA's calculator. `data/occupancy.cpp` says how the table was made.

use emulator::gpu::{GPUS, Gpu};
use emulator::occupancy::{Resource, occupancy};

const TABLE: &str = include_str!("data/occupancy.csv");

fn numbers<'a>(fields: impl Iterator<Item = &'a str>) -> Vec<u32> {
    fields.map(|field| field.parse().unwrap()).collect()
}

/// Blocks per SM and the limiting resources, as the table writes them: `6wr`.
fn cell(gpu: &Gpu, threads: u32, registers: u32, shared: u32) -> String {
    let o = occupancy(gpu, threads, registers, shared);
    let letter = |resource: &Resource| match resource {
        Resource::Warps => 'w',
        Resource::Registers => 'r',
        Resource::SharedMemory => 's',
        Resource::Blocks => 'b',
    };
    o.blocks_per_sm.to_string() + &o.limited_by.iter().map(letter).collect::<String>()
}

#[test]
fn every_case_equals_nvidias_calculator() {
    let mut lines = TABLE.lines();
    let shared = numbers(lines.next().unwrap().split(',').skip(3));
    let (mut cases, mut seen) = (0, Vec::new());
    for line in lines {
        let mut fields = line.split(',');
        let [sm, threads, registers] = numbers(fields.by_ref().take(3))[..] else { panic!("short row: {line}") };
        let expected: Vec<&str> = fields.collect();
        assert_eq!(expected.len(), shared.len(), "{line}");
        seen.push(sm);
        for gpu in GPUS.iter().filter(|gpu| gpu.sm() == sm) {
            for (&shared, &expected) in shared.iter().zip(&expected) {
                let ours = cell(gpu, threads, registers, shared);
                assert_eq!(ours, expected, "{}: {threads} threads, {registers} registers, {shared} bytes", gpu.name);
                cases += 1;
            }
        }
    }
    // Thirteen GPUs of eleven compute capabilities, 13 block sizes, 12 register counts, 26 amounts of shared memory.
    assert_eq!(cases, 13 * 13 * 12 * 26);
    seen.dedup();
    assert_eq!(seen, [37, 60, 61, 70, 75, 80, 86, 89, 90, 100, 120]);
}
