//! A whole product of matrices as Hopper does it: bulk copies, a ring of stages, warpgroups that multiply.

mod mutants;
mod products;
#[path = "../corpus/texts.rs"]
mod texts;

use std::time::Instant;

use emulator::bound::{Assumptions, Unit, bound};
use emulator::gpu::H200;
use emulator::{
    Argument, Class, Device, Launch, Major, MatrixDescriptor, Module, Report, Schedule, Swizzle, TensorType,
};

/// The kernel that is tested.
fn kernel() -> &'static str {
    texts::ptx("gemm/warpgroups.ptx")
}

const STEP: usize = 64;
/// Rows of a block's A and columns of its B.
const TILES: [usize; 2] = [128, 256];

/// Element (i, k) of A, and of B by columns.
fn element(which: usize, i: usize, k: usize) -> i32 {
    ((i * 7 + k * (3 + which) + i * k) % 5) as i32 - 2
}

/// A or B as the kernel wants it: tile by tile of 64 elements of K, in the pattern of 128 bytes.
fn stored(which: usize, rows: usize, k: usize) -> Vec<u8> {
    let layout = MatrixDescriptor { start: 0, leading: 16, stride: 1024, base: 0, swizzle: Swizzle::Bytes128 };
    let (tile, steps) = (TILES[which], k / STEP);
    let mut bytes = vec![0; rows * k * 2];
    for row in 0..rows {
        for k in 0..k {
            let start = (row / tile * steps + k / STEP) * tile * STEP * 2;
            let at = start + layout.element(Major::K, (row % tile) as u32, (k % STEP) as u32, 16) as usize;
            let pattern = (element(which, row, k) as f32).to_bits() >> 16;
            bytes[at..at + 2].copy_from_slice(&(pattern as u16).to_le_bytes());
        }
    }
    bytes
}

/// What a kernel gives, or why it is convicted.
fn run(ptx: &str, [m, n, k]: [usize; 3], schedule: Schedule) -> Result<(Vec<f32>, Report), String> {
    let kernel = Module::parse(ptx).and_then(|module| module.kernel("kernel")).map_err(|error| error.to_string())?;
    let mut device = Device::new();
    device.set_threads(Some(2));
    let mut upload = |name: &str, bytes: Vec<u8>| {
        let buffer = device.alloc(name, bytes.len());
        device.write(buffer, &bytes).expect("the buffer has the bytes' size");
        Argument::Buffer(buffer)
    };
    let (a, b) = (upload("A", stored(0, m, k)), upload("B", stored(1, n, k)));
    let c = device.alloc("C", m * n * 4);
    let (across, blocks) = (n / TILES[1], m / TILES[0] * (n / TILES[1]));
    let launch = Launch::new(blocks as u32, 384).dynamic_shared(3 * 48 * 1024 + 1024).schedule(schedule);
    let counts = [across, k / STEP].map(|count| Argument::U32(count as u32));
    let [across, steps] = counts;
    let arguments = [a, b, Argument::Buffer(c), across, steps];
    let report =
        device.launch(&kernel, launch.instruction_limit(1_000_000), &arguments).map_err(|error| error.to_string())?;
    let mut bytes = vec![0; m * n * 4];
    device.read(c, &mut bytes).map_err(|error| error.to_string())?;
    Ok((bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect(), report))
}

/// The first of some elements of C that is wrong.
fn first_wrong([m, n, k]: [usize; 3], c: &[f32], some: usize) -> Option<usize> {
    (0..m * n).step_by(some).find(|at| {
        let sum: i32 = (0..k).map(|e| element(0, at / n, e) * element(1, at % n, e)).sum();
        c[*at] != sum as f32
    })
}

#[test]
fn a_large_product_of_warpgroups_is_right_and_soon_done() {
    let size = [1024, 1024, 1024];
    let start = Instant::now();
    let (c, report) = run(kernel(), size, Schedule::default()).unwrap_or_else(|why| panic!("{why}"));
    let seconds = start.elapsed().as_secs_f64();
    println!("1024×1024×1024 by wgmma with all checks: {seconds:.2} s");
    assert_eq!(first_wrong(size, &c, 37), None);
    assert_eq!(report.warnings, []);
    // 4096 products of 64×256×16, by four warps each.
    assert_eq!(report.total.class(Class::Tensor).warp, 4 * 16 * 4 * 64);
    let tensor = report.total.tensor(TensorType::Bf16);
    assert_eq!((tensor.instructions, tensor.multiply_adds), (4 * 16 * 4 * 64, 1 << 30));
    assert_eq!(report.total.flops_f32, 2 << 30);
    // 32 blocks, each with 128×256×1024 multiply-adds, 2048 of them a clock, and with 384×1024 elements, 32 of them a clock.
    let bound = bound(&report, &H200, Assumptions { equal_blocks: true, cold_l2: false });
    let clocks = |unit| bound.units.iter().find(|time| time.unit == unit).map(|time| time.seconds * H200.boost_hz);
    assert_eq!((bound.bottleneck, clocks(Unit::Tensor).map(f64::round)), (Unit::Tensor, Some(16384.0)));
    assert_eq!(clocks(Unit::Tma).map(f64::round), Some(12288.0));
}
