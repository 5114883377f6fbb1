//! What bad command lines are told, word by word: a message that changes is seen here.

mod lab;

use std::fmt::Write;

use common::cli::Arguments;
use common::execute;
use device::Device;
use device::nvrtc::nowhere;
use lab::lab;
use levels::LEVELS;

/// Of `lab`, each wrong in one place.
const COMMANDS: &[&str] = &[
    "compare --levels 99",
    "compare --levels 0 --columns nothing",
    "compare --levels 0 --gpu voodoo",
    "compare --levels 0 --dtype f99",
    "compare --levels 0 --size 16 --no-cpu --svg no/such/folder.svg",
    "compare --levels 0 --m 0",
    "compare --levels 0 --size 70000 --k 1000",
    "compare --levels 12 --dtype bf16 --gpu a100 --size 64 --no-cpu --backend emulator --svg none.svg",
    "compare --levels summit --dtype e4m3 --gpu a100 --size 64 --no-cpu --backend emulator",
    "sweep --levels 0 --shapes 3x4",
    "sweep --levels 0 --sizes 0",
    "summit nothing",
    "summit thin --size 32 --transposed",
    "summit mma_sync --size 32 --lda 3",
    "summit mma_sync --size 32 --beta nan",
    "summit mma_sync --size 32 --variant nothing",
    "summit mma_sync --size 32 --dtype e4m3",
    "accuracy --data even",
    "accuracy --schemes --dtypes bf16",
    "accuracy --size 99999",
    "accuracy --schemes --size 8192 --k 4096",
    "predict --gpu t4",
    "predict --record README.md",
    "predict --levels 22 --dtype f32",
    "cards --sm 61",
    "occupancy --threads 2000",
    "occupancy --threads 256 --registers 999",
    "occupancy --threads 256 --gpu h200 --shared-per-sm 999999",
    "waits --level 99",
    "waits --record no/such/file.csv",
    "waits --record README.md",
    "waits --level 2 --size 77",
    "waits --level 23",
    "waits --level 2 --gpu p100 --timeline p100.svg",
    "waits --level 2 --timeline no/such/folder.svg",
    "waits --timeline 2.svg --clocks 5..3",
    "check 99.9",
    "check 0.write --answer 1",
    "check 1.1 --answer",
    "check 0.predict --answer 1,2,3,4,5,6,7,8,9",
    "check 1.1 --answer 1 2 3 x",
    "check 1.2 no-such-file.cu",
    "check 1.write",
    "start 99",
    "report --out README.md",
    "ranks --dtype e4m3",
    "ranks --grid 3",
    "ranks --grid 999x999",
    "try no-such-file.cu",
    "try README.md",
    "try kernels/count-sectors.cu --args A,B",
    "try kernels/count-sectors.cu --args A,B,C,M,N,K,1,2,3",
    "try kernels/count-sectors.cu --args A,B,M,M,N,K",
    "try kernels/count-sectors.cu --args A,B,C,A,N,K",
    "try kernels/count-sectors.cu --args A,B,C,M,N,x=1",
    "try kernels/count-sectors.cu --args A,B,C,5000000000,N,K",
    "try kernels/blas.cu --args M,N,K,alpha=x,A,B,beta=1,C",
    "try kernels/transpose.cu --args A,C,M",
    "try kernels/block-sum.cu",
    "try crates/lab/tests/data/no-kernel.ptx",
    "try crates/lab/tests/data/unknown-instruction.ptx",
    "try kernels/count-sectors.cu --annotate=no/such/file.txt",
    "try kernels/count-sectors.cu --block 1,2,3,4",
    "try kernels/count-sectors.cu --block 2000",
    "try kernels/count-sectors.cu --shared 300000",
    "try kernels/count-sectors.cu --grid 99999999999",
    "try kernels/count-sectors.cu --grid M/0",
    "try kernels/count-sectors.cu --block 0",
    "try kernels/count-sectors.cu --entry nothing",
    "try kernels/count-sectors.cu --grid M/Q",
    "diff kernels/count-sectors.cu no-such-file.cu",
    "diff kernels/half-barrier.cu kernels/half-barrier.cu",
    "diff kernels/block-sum.cu kernels/block-sum.cu",
    "diff kernels/count-sectors.cu kernels/count-wavefronts.cu --first=--m=32",
    "sanitize kernels/block-sum.cu --arg in:f99[4]",
    "sanitize kernels/block-sum.cu --arg in:f32[4]=",
    "sanitize kernels/block-sum.cu --grid 1 --block 1,1,65",
    "sanitize kernels/block-sum.cu --expect nothing=1",
    "sanitize kernels/block-sum.cu --expect in=1,2",
    "sanitize kernels/block-sum.cu --print out[3..2]",
    "sanitize kernels/block-sum.cu --print in[x]",
    "sanitize kernels/block-sum.cu --print in[3..2]",
    "sanitize kernels/block-sum.cu --print in[0..9999999]",
    "sanitize kernels/block-sum.cu --entry nothing",
    "sanitize kernels/block-sum.cu --variable nothing:f32=1",
    "sanitize kernels/block-sum.cu --arg in:i32[3000000000]=random --arg out:i32[4] --arg n=4",
    "sanitize kernels/block-sum.cu --arg in:f32[4]=1 --arg out:i32[4] --arg n=4",
    "sanitize kernels/block-sum.cu --arg in:i32[4]=1 --arg out:i32[4] --arg n=4",
    "sanitize kernels/block-sum.cu --arg in:i32[4]=1 --arg out:i32[4] --arg n=4 --grid 1",
    "sanitize kernels/block-sum.cu --arg in:i32[4]=1 --arg out:i32[4] --arg n=4 --grid 1 --block 2000",
    "sanitize kernels/block-sum.cu --arg in:i32[4]=1 --arg out:i32[4] --arg n=4 --grid 1 --block 32 --shared 300000",
    "sanitize kernels/tile-by-tma.cu --set rows=0",
    "sanitize crates/lab/tests/data/unknown-instruction.ptx",
    "sanitize crates/lab/tests/data/no-kernel.ptx --define TILE=16",
    "sanitize kernels/block-sum.cu --set TILE",
];

/// Of a level's program, each with the level's number.
const OF_LEVELS: &[(usize, &str)] = &[
    (2, "--size 0"),
    (2, "--size 70000"),
    (2, "--dtype bf16"),
    (2, "--variant nothing"),
    (2, "--define NOTHING=1"),
    (2, "--define BM=0"),
    (2, "--define BM=7"),
    (2, "--define BM"),
    (2, "--kernel no-such-file.cu"),
    (2, "--kernel README.md"),
    (2, "--gpu voodoo"),
    (0, "--k 20000000 --m 1 --n 1"),
    (12, "--gpu a100"),
    (22, "--k 131072 --m 1 --n 1"),
];

#[test]
fn messages_are_these() {
    let mut text = String::new();
    for words in COMMANDS {
        let output = lab(words);
        assert_ne!(output.code, 0, "lab {words}: {output:?}");
        // Where it runs is a note, and depends on the machine.
        let said = output.stderr.lines().filter(|line| !line.starts_with("note: ")).collect::<Vec<_>>().join("\n");
        let _ = writeln!(text, "$ lab {words}\n{said}\n");
    }
    for &(level, words) in OF_LEVELS {
        let level = LEVELS[level];
        let list = format!("{words} --backend emulator").split(' ').map(String::from).collect::<Vec<_>>();
        let error = match Arguments::from_words(level, list) {
            Ok(arguments) => execute(level, &arguments, &Device::Emulator, nowhere).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        let _ = writeln!(text, "$ {} {words}\n{}\n", level.name, error.trim_end());
    }
    insta::assert_snapshot!("refusals", text);
}
