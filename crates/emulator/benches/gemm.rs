//! How fast the emulator runs the levels' kernels, with and without its checks, against a plain serial
//! triple loop in the same run: `cargo bench -p ptx-emulator`.
//!
//! `cargo bench -p ptx-emulator -- --record` also writes the table to this crate's README.md, between its markers.

use std::hint::black_box;
use std::time::Instant;

use archive::Texts;
use emulator::{Argument, Buffer, Device, Dim3, Launch, Module};

const N: usize = 1024;
const REPEATS: usize = 5;

/// A kernel of the ladder and the launch of its default configuration.
struct Case {
    name: &'static str,
    /// Its shipped PTX: the archive, and which of its texts.
    archive: &'static [u8],
    file: &'static str,
    tile: u32,
    block: Dim3,
}

const CASES: [Case; 4] = [
    Case {
        name: "level0-naive",
        archive: include_bytes!("../../../level0-naive/kernel.ptx.zst"),
        file: "coalesced-16-f32.ptx",
        tile: 16,
        block: Dim3::xy(16, 16),
    },
    Case {
        name: "level1-tiling",
        archive: include_bytes!("../../../level1-tiling/kernel.ptx.zst"),
        file: "32-f32.ptx",
        tile: 32,
        block: Dim3::xy(32, 32),
    },
    Case {
        name: "level2-register",
        archive: include_bytes!("../../../level2-register/kernel.ptx.zst"),
        file: "32x32x32x8x4-f32.ptx",
        tile: 32,
        block: Dim3::xy(32, 1),
    },
    Case {
        name: "level3-double-buffer",
        archive: include_bytes!("../../../level3-double-buffer/kernel.ptx.zst"),
        file: "32x32x32x8x4-f32.ptx",
        tile: 32,
        block: Dim3::xy(32, 1),
    },
];

fn main() {
    let (a, b) = (matrix(1), matrix(2));
    let mut c = vec![0.0; N * N];
    let serial = best_of(2, || serial(&a, &b, &mut c));
    let flops = 2.0 * (N as f64).powi(3);
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut table = String::from(
        "| kernel | GFLOP/s, checks on | GFLOP/s, checks off | thread instructions/s, checks off | checks cost | serial loop = 1 |\n\
         |---|---|---|---|---|---|\n",
    );
    let only = std::env::args().nth(1).filter(|name| name.starts_with("level"));
    for case in CASES.iter().filter(|case| only.as_ref().is_none_or(|only| only == case.name)) {
        let (on, _) = emulate(case, &a, &b, &c, true);
        let (off, instructions) = emulate(case, &a, &b, &c, false);
        table += &format!(
            "| {} | {:.2} | {:.2} | {:.2} G | {:.2}x | {:.1} |\n",
            case.name,
            flops / on / 1e9,
            flops / off / 1e9,
            instructions as f64 / off / 1e9,
            on / off,
            serial / off,
        );
    }
    table += &format!("| a serial triple loop in Rust | | {:.2} | | | 1.0 |\n", flops / serial / 1e9);
    println!("f32, M = N = K = {N}, {cores} cores, best of {REPEATS}\n\n{table}");
    if std::env::args().any(|argument| argument == "--record") {
        record(&format!("f32, M = N = K = {N}, on {cores} cores, the best of {REPEATS} runs of each:\n\n{table}"));
    }
}

/// Small integers, different everywhere: every product and sum is exact.
fn matrix(seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 28) as f32 - 8.0
    };
    (0..N * N).map(|_| next()).collect()
}

fn serial(a: &[f32], b: &[f32], c: &mut [f32]) {
    for row in 0..N {
        for col in 0..N {
            let mut sum = 0.0;
            for k in 0..N {
                sum += a[row * N + k] * b[k * N + col];
            }
            c[row * N + col] = black_box(sum);
        }
    }
}

/// The least of some times, in seconds.
fn best_of(repeats: usize, mut run: impl FnMut()) -> f64 {
    let time = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..repeats).map(|_| time(&mut run)).fold(f64::INFINITY, f64::min)
}

/// Seconds of a launch, and the thread instructions that it executed.
fn emulate(case: &Case, a: &[f32], b: &[f32], expected: &[f32], sanitize: bool) -> (f64, u64) {
    let texts = Texts::unpack(case.archive).expect("it is an archive");
    let module = Module::parse(texts.get(case.file).expect("it is shipped")).expect("the shipped PTX parses");
    let entry = module.kernels().next().expect("it has a kernel").to_string();
    let kernel = module.kernel(&entry).expect("the kernel decodes");
    let mut device = Device::new();
    let upload = |device: &mut Device, name: &str, values: &[f32]| -> Buffer {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let buffer = device.alloc(name, bytes.len());
        device.write(buffer, &bytes).expect("the buffer is as long");
        buffer
    };
    let [da, db] = [upload(&mut device, "A", a), upload(&mut device, "B", b)];
    let dc = upload(&mut device, "C", &vec![f32::NAN; N * N]);
    let blocks = (N as u32).div_ceil(case.tile);
    let launch = Launch::new((blocks, blocks), case.block).sanitize(sanitize);
    let n = || Argument::U32(N as u32);
    let arguments = [Argument::Buffer(da), Argument::Buffer(db), Argument::Buffer(dc), n(), n(), n()];
    let mut instructions = 0;
    let seconds = best_of(REPEATS, || {
        let report = device.launch(&kernel, launch, &arguments).expect("the kernel runs");
        instructions = report.total.thread_instructions();
    });
    let mut bytes = vec![0; 4 * N * N];
    device.read(dc, &mut bytes).expect("all of C is written");
    let right = bytes.chunks(4).zip(expected).all(|(got, want)| got == want.to_le_bytes());
    assert!(right, "{} gives a wrong product", case.name);
    (seconds, instructions)
}

/// Replaces what stands between the markers of this crate's README.
fn record(text: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = std::fs::read_to_string(path).expect("README.md is there");
    let (start, end) = ("<!-- made by `cargo bench -p ptx-emulator -- --record` -->\n", "<!-- end -->");
    let (before, rest) = readme.split_once(start).expect("README.md has the marker");
    let (_, after) = rest.split_once(end).expect("README.md has the end marker");
    std::fs::write(path, format!("{before}{start}{text}{end}{after}")).expect("README.md can be written");
}
