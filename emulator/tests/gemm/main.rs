//! A whole product of matrices as Hopper does it: bulk copies, a ring of stages, warpgroups that multiply.

mod products;

use std::time::Instant;

use emulator::{Argument, Class, Device, Launch, Major, MatrixDescriptor, Module, Report, Swizzle, TensorType};

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

fn multiply([m, n, k]: [usize; 3]) -> (Vec<f32>, Report) {
    let ptx = include_str!("warpgroups.ptx");
    let kernel = Module::parse(ptx).and_then(|module| module.kernel("kernel")).expect("it is decoded");
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
    let launch = Launch::new(blocks as u32, 384).dynamic_shared(3 * 48 * 1024 + 1024);
    let counts = [Argument::U32(across as u32), Argument::U32((k / STEP) as u32)];
    let arguments = [a, b, Argument::Buffer(c), counts[0].clone(), counts[1].clone()];
    let report = device.launch(&kernel, launch, &arguments).unwrap_or_else(|error| panic!("{error}"));
    let mut bytes = vec![0; m * n * 4];
    device.read(c, &mut bytes).expect("all of C is written");
    (bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect(), report)
}

fn check([m, n, k]: [usize; 3], c: &[f32], some: usize) {
    for at in (0..m * n).step_by(some) {
        let sum: i32 = (0..k).map(|e| element(0, at / n, e) * element(1, at % n, e)).sum();
        assert_eq!(c[at], sum as f32, "row {}, column {}", at / n, at % n);
    }
}

#[test]
fn a_large_product_of_warpgroups_is_right_and_soon_done() {
    let size = [1024, 1024, 1024];
    let start = Instant::now();
    let (c, report) = multiply(size);
    let seconds = start.elapsed().as_secs_f64();
    println!("1024×1024×1024 by wgmma with all checks: {seconds:.2} s");
    check(size, &c, 37);
    // 4096 products of 64×256×16, by four warps each.
    assert_eq!(report.total.class(Class::Tensor).warp, 4 * 16 * 4 * 64);
    let tensor = report.total.tensor(TensorType::Bf16);
    assert_eq!((tensor.instructions, tensor.multiply_adds), (4 * 16 * 4 * 64, 1 << 30));
    assert_eq!(report.total.flops_f32, 2 << 30);
    assert!(seconds < 60.0, "{seconds} s");
}
