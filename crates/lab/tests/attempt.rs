//! Any kernel is judged: the sources' kernels, in their own parameter orders, right and wrong.

mod lab;

use std::fs;

use common::ship::ptx_file;
use device::nvrtc;
use gemm::Source;
use gemm::kernel::{Header, base_options};
use lab::{lab, lacks, on, refused, root, scratch};

/// Every exhibit with the flags that it carries, from its shipped PTX: what is said, and the exit code.
#[test]
fn exhibits_are_judged() {
    let mut all = String::new();
    for (kernel, code) in [
        ("notes-shared", 0),
        ("report-global", 1),
        ("report-row-and-column", 1),
        ("library-shared", 0),
        ("analysis-split-k", 1),
        ("analysis-split-k-loop", 1),
        ("analysis-split-k-step", 1),
        ("analysis-blocks", 1),
        ("ladder-baseline", 0),
        ("blas", 0),
        ("count-sectors", 0),
        ("count-wavefronts", 0),
        ("constant-error", 1),
        ("missing-barrier", 1),
        ("half-barrier", 1),
        ("hanging-barrier", 1),
        ("unwritten-column", 1),
    ] {
        let output = lab(&format!("try kernels/{kernel}.cu --backend emulator --alone"));
        assert_eq!(output.code, code, "{kernel}: {output:?}");
        all += &format!("# {kernel}\n{}{}\n", output.stdout, output.stderr);
    }
    insta::assert_snapshot!("exhibits", all);
}

#[test]
fn a_kernel_stands_beside_the_levels() {
    let output = lab("try kernels/notes-shared.cu --backend emulator");
    assert_eq!(output.code, 0, "{output:?}");
    let table = output.stdout.split_once("beside the levels").unwrap().1;
    insta::assert_snapshot!("beside", table);
}

#[test]
fn flags_on_the_command_line_come_after_those_of_the_file() {
    let blocks = |words: &str| lab(&format!("try kernels/analysis-blocks.cu --backend emulator --alone {words}"));
    let whole = blocks("--k 128");
    assert_eq!(whole.code, 0, "{whole:?}");
    let beyond = blocks("--k 128 --m 250 --grid cdiv(N,16),cdiv(M,16)");
    assert_eq!(beyond.code, 1);
    assert!(beyond.stderr.contains("past the end of A"), "{beyond:?}");
    let unwritten = blocks("--k 128 --m 250");
    assert!(unwritten.stdout.contains("all wrong rows ≥ 240"), "{unwritten:?}");
}

#[test]
fn a_kernel_that_does_not_end_in_time_names_the_option_that_gives_it_more() {
    let output = lab("try kernels/notes-shared.cu --backend emulator --alone --instruction-limit 100");
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("more than 100 warp instructions"), "{output:?}");
    assert!(output.stderr.ends_with("the limit can be raised: `--instruction-limit`\n"), "{output:?}");
}

#[test]
fn ptx_runs_as_it_is() {
    let output = lab("try kernels/ptx/blas.ptx --backend emulator --alone --args M,N,K,1,A,B,beta=0,C --block 32,8 \
                      --grid cdiv(N,32),cdiv(M,8)");
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains("as given, made by CUDA 13.0.88"), "{output:?}");
    let annotated = lab("try kernels/blas.cu --backend emulator --alone --annotate --m 40 --n 40 --k 8");
    assert!(annotated.stdout.contains("| __global__ void gemm("), "{annotated:?}");
}

/// What the book says of these kernels under other arguments.
#[test]
fn exhibits_answer_to_their_arguments() {
    let said = |words: &str| {
        let output = lab(&format!("try kernels/{words} --backend emulator"));
        assert_eq!(output.code, 0, "{output:?}");
        output.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let stretches = said("count-sectors.cu --args A,B,C,N,8,1");
    assert!(stretches.contains("global stores 8 256 32.00 4.00"), "{stretches}");
    for (width, wavefronts) in [(33, "32 32 1.00"), (34, "32 64 2.00"), (36, "32 128 4.00")] {
        let padded = said(&format!("count-wavefronts.cu --args A,B,C,{width}"));
        assert!(padded.contains(&format!("shared loads {wavefronts}")), "{width}: {padded}");
    }
    said("analysis-split-k-step.cu --n 3");
    said("constant-error.cu --k 1024");
}

/// C is NaN before the launch unless beta has a name: a kernel that reads it shows.
#[test]
fn reading_c_without_beta_is_found() {
    let output = lab("try kernels/blas.cu --backend emulator --alone --args M,N,K,1,A,B,0.5,C");
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("C read although beta is 0"), "{output:?}");
}

#[test]
fn wrong_factors_are_found() {
    // The kernel gets 1.5 and the check expects 2.
    let source = fs::read_to_string(root().join("kernels/ptx/blas.ptx")).unwrap();
    let file = lab::scratch("factor").join("factor.ptx");
    fs::write(&file, source.replacen("mul.f32", "sub.f32", 1)).unwrap();
    let words =
        "--alone --backend emulator --args M,N,K,alpha=1.5,A,B,beta=0.5,C --grid cdiv(N,32),cdiv(M,8) --block 32,8";
    let output = lab(&format!("try {} {words}", file.display()));
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stdout.contains("WRONG"), "{output:?}");
}

/// A product with a sum and a store that may be wrong, and what is said of it.
#[test]
fn a_wrong_product_names_the_elements_that_it_is_made_of() {
    if lacks("cuda_fp16.h") {
        return;
    }
    const RIGHT: (&str, &str) = ("A[r * K + k] * B[k * N + c]", "alpha * s + beta * C[r * N + c]");
    let folder = lab::scratch("made-of");
    for (sum, store, said) in [
        (
            "k % 8 < 6 ? A[r * K + k] * B[k * N + c] : 0.0f",
            RIGHT.1,
            "row 0 of C, the products of steps 6 to 7, 14 to 15, 22 to 23 and more along K are left out",
        ),
        (
            "(k < 4 ? 2 : 1) * A[r * K + k] * B[k * N + c]",
            RIGHT.1,
            "row 0 of C, the products of steps 0 to 3 along K count 2.000 times",
        ),
        (
            "A[(r ^ 1) * K + k] * B[k * N + c]",
            RIGHT.1,
            "in row 0 of C, B[0][…] is multiplied by A[1][0] and not by A[0][0]",
        ),
        (
            "A[r * K + k] * B[k * N + (c ^ 1)]",
            RIGHT.1,
            "in column 0 of C, A[…][0] is multiplied by B[0][1] and not by B[0][0]",
        ),
        (RIGHT.0, "alpha * alpha * s + beta * C[r * N + c]", "every product comes 1.500 times"),
        (RIGHT.0, "alpha * s", "beta * C is not added"),
        (
            RIGHT.0,
            "alpha * __half2float(__float2half(s)) + beta * C[r * N + c]",
            "the sum, before it is stored, is cut to 11 bits, as f16 has",
        ),
    ] {
        let text = format!(
            "#include <cuda_fp16.h>\n__global__ void product(const float* A, const float* B, float* C, int M, int N, int K, float alpha, float beta) {{\n\
             int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;\n if (r >= M || c >= N) return;\n\
             float s = 0;\n for (int k = 0; k < K; ++k) s += {sum};\n C[r * N + c] = {store};\n}}\n"
        );
        let file = folder.join("product.cu");
        fs::write(&file, text).unwrap();
        let output = lab(&format!("try {} --backend emulator --alone --m 40 --n 24 --k 36", file.display()));
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr.contains(said), "{said}: {output:?}");
    }
}

/// What warps wait for is a model's word, and it says so.
#[test]
fn waits_are_called_a_model() {
    let output = lab("try kernels/blas.cu --backend emulator --alone --size 64 --waits");
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains("waits       by a MODEL of an SM of H200: 1 x 8 warps"), "{output:?}");
    assert!(output.stdout.contains("of other kernels nobody knows"), "{output:?}");
    let unknown = lab("sanitize kernels/tile-by-tma.cu --waits");
    assert!(unknown.stdout.contains("waits       the model says nothing: "), "{unknown:?}");
}

#[test]
fn what_cannot_be_tried_is_refused_in_one_line() {
    let blas = "try kernels/blas.cu --backend emulator";
    for (words, answer) in [
        ("try nonesuch.cu", "cannot read nonesuch.cu"),
        ("try README.md", "neither a .cu nor a .ptx file"),
        ("try", "required arguments"),
        (&format!("{blas} --entry other"), "no kernel `other`"),
        (&format!("{blas} --args A,B,C"), "names 3 arguments, and the kernel takes 8"),
        (&format!("{blas} --args A,N,K,1,A,B,0,C"), "parameter 0 is a u32, and A is a pointer"),
        (&format!("{blas} --grid cdiv(N,0)"), "it divides by 0"),
        (&format!("{blas} --grid 0"), "`0` is 0"),
        (&format!("{blas} --grid 1,1,1,1"), "4 extents"),
        (&format!("{blas} --block 32,64"), "2048 threads"),
        (&format!("{blas} --shared 1000000"), "shared memory"),
        (&format!("{blas} --size 0"), "0 is not in 1..="),
        (&format!("{blas} --size 50000"), "2500800000 elements"),
        (&format!("{blas} --gpu voodoo"), "voodoo"),
    ] {
        refused(words, answer);
    }
}

#[test]
fn ptx_is_not_judged_as_if_other_macros_had_made_it() {
    let text = fs::read_to_string(root().join("kernels/ptx/blas.ptx")).unwrap();
    let file = scratch("with-macros").join("blas.ptx");
    fs::write(&file, text.replacen("--std=c++17", "--std=c++17 -DTILE=16", 1)).unwrap();
    let words = format!(
        "try {} --backend emulator --alone --m 8 --n 8 --k 8 --args M,N,K,1,A,B,beta=0,C --block 32,8 --grid 1",
        file.display()
    );
    refused(&format!("{words} --define TILE=32"), "was compiled with TILE=16");
    assert_eq!(lab(&format!("{words} --define TILE=16 --define OTHER=1")).code, 0);
}

/// The compiler's options, with the architecture that a file's flags name.
fn options_of(text: &str) -> Vec<String> {
    let mut words = text.lines().filter(|line| line.starts_with("// lab ")).flat_map(str::split_whitespace);
    let named = words.by_ref().find(|word| *word == "--arch").and_then(|_| words.next());
    let other = |option: String| match named {
        Some(name) if option.starts_with("--gpu-architecture=") => format!("--gpu-architecture={name}"),
        _ => option,
    };
    base_options().into_iter().map(other).collect()
}

#[test]
fn the_exhibits_ptx_is_fresh() {
    let compiler = nvrtc::find().ok();
    if compiler.is_none() {
        level_tests::skipped("no NVRTC: the exhibits' PTX is compared with its source only");
    }
    let mut count = 0;
    let exhibits = fs::read_dir(root().join("kernels")).unwrap();
    let exhibits = exhibits.map(|entry| ("kernels", entry.unwrap().file_name().into_string().unwrap()));
    for (folder, name) in exhibits.chain([("crates/device/src", "copies.cu".to_string())]) {
        let Some(stem) = name.strip_suffix(".cu") else { continue };
        let text = fs::read_to_string(root().join(folder).join(&name)).unwrap();
        let shipped = fs::read_to_string(root().join(format!("{folder}/ptx/{stem}.ptx"))).unwrap();
        let options = options_of(&text);
        let (header, _) = Header::verify(&shipped, &text, &options).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        let path = format!("{folder}/{name}");
        let made = compiler.map(|c| ptx_file(&Source { path: &path, text: &text }, &options, c, &shipped).unwrap());
        match made {
            Some(made) if made.contains(&format!("// compiler: {}\n", header.compiler)) => {
                assert_eq!(made, shipped, "{name}: run `cargo x ptx`");
            }
            Some(_) => level_tests::skipped("NVRTC is of another version than the one that made the exhibits' PTX"),
            None => (),
        }
        count += 1;
    }
    assert_eq!(count, 29);
}

/// With a text in place of another the kernel is wrong, and the change that makes it right is named.
#[track_caller]
fn cured(name: &str, (command, words): (&str, &str), kernel: &str, cases: &[(&str, &str, &str)]) {
    let right = on(&format!("mend-{name}"), command, kernel, words);
    assert_eq!(right.code, 0, "{name}: {right:?}");
    for (from, to, cure) in cases {
        assert!(kernel.contains(from), "{from}");
        let output = on(&format!("mend-{name}"), command, &kernel.replace(from, to), words);
        let text = output.stdout + &output.stderr;
        assert!(output.code == 1 && text.contains(cure), "{from} → {to}: {cure:?} is not in\n{text}");
    }
}

#[test]
fn the_small_change_that_cures_a_kernel_is_named() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(const float* in, int ldi, float* out, int ldo, int rows, int columns) {
    int i = blockIdx.z * 8 + threadIdx.y, j = threadIdx.x, whole = columns / 8 * 8;
    if (i >= rows) return;
    if (j < whole) out[i * ldo + j] = in[(rows - 1 - i) * ldi + j];
    if (j >= whole && j < columns)
        out[i * ldo + j] = in[(rows - 1 - i) * ldi + j];
}
";
    let file = scratch("mend-numbers").join("in");
    let written = scratch("mend-written").join("out");
    let number = |row: usize, column: usize| (row * 31 + column * 7) as f32 % 97.0 + 1.0;
    let numbers = |rows: usize, apart: usize, of: &dyn Fn(usize, usize) -> f32| -> Vec<u8> {
        (0..rows * apart).flat_map(|at| of(at / apart, at % apart).to_le_bytes()).collect()
    };
    fs::write(&file, numbers(24, 41, &number)).unwrap();
    fs::write(&written, numbers(24, 37, &|row, column| if column < 29 { number(23 - row, column) } else { 0.0 }))
        .unwrap();
    let words = format!(
        "--grid 1,1,3 --block 32,8 --arg in:f32[984]=@{} --arg 41 --arg out:f32[888]=zeros --arg 37 --arg 24 --arg 29 --expect out=@{}",
        file.display(),
        written.display()
    );
    let cases = [
        (
            "whole) out[i * ldo + j] = in[(rows - 1 - i) * ldi",
            "whole) out[i * ldo + j] = in[(rows - 1 - i) * ldo",
            "with `ldi` in the place of `ldo` at k.cu:4 every element is right",
        ),
        ("j < columns)", "j < rows)", "with `columns` in the place of `rows` at k.cu:5 every element is right"),
    ];
    cured("leading", ("sanitize", &words), kernel, &cases);
    let kernel = "__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {
    int row = blockIdx.x, lane = threadIdx.x;
    float mine = 0;
    for (int j = 0; j < 32; ++j) {
        float p = 0;
        for (int k = lane; k < K; k += 32) p += A[row * K + k] * B[k * N + j];
        for (int o = 16; o > 0; o >>= 1) p += __shfl_xor_sync(~0u, p, o);
        if (lane == j) mine = p;
    }
    C[row * N + lane] = mine;
}
";
    let cases = [("__shfl_xor_sync", "__shfl_down_sync", "with `__shfl_xor_sync` in the place of `__shfl_down_sync`")];
    let words = "--backend emulator --alone --m 20 --n 32 --k 96 --grid M --block 32";
    cured("lanes", ("try", words), kernel, &cases);
}

#[test]
fn the_small_change_of_a_product_is_right_on_other_sizes_as_well() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(const float* A, const float* B, float* C, int M, int N, int K, float alpha) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int i = 0; i < K; ++i)
        if (i <= K - 1) sum += A[row * K + i] * B[i * N + col];
    C[row * N + col] = alpha * sum;
}
";
    let cases = [
        // With M in the place of K it is right as well, where M is larger.
        ("i <= K - 1", "i < K - 1", "hint: with the other of `<` and `<=` (`>=` and `>`) in the comparison at k.cu:6"),
        (
            "B[i * N + col]",
            "B[i * N + col] * alpha",
            "hint: without the multiplication at k.cu:7 every element is right",
        ),
        ("i <= K - 1) sum +=", "i <= K - 1) sum = fmaxf(sum, 0) +", "hint: without the `max` at k.cu:6 every element"),
    ];
    let words = "--backend emulator --alone --m 32 --n 24 --k 20 --grid cdiv(N,16),cdiv(M,16) --block 16,16 --args A,B,C,M,N,K,alpha=1.5";
    cured("sizes", ("try", words), kernel, &cases);
    let fragments = "#include <cuda_fp16.h>
__global__ void k(const half* A, const half* B, float* C, int M, int N, int K) {
    __shared__ alignas(16) half Bs[16][8];
    int lane = threadIdx.x, g = lane / 4, t = lane % 4, row = blockIdx.y * 16, col = blockIdx.x * 8;
    float d[4] = {};
    for (int k = 0; k < K; k += 16) {
        for (int i = lane; i < 128; i += 32) Bs[i / 8][i % 8] = B[(k + i / 8) * N + col + i % 8];
        __syncwarp();
        unsigned a[4], b[2], from = __cvta_generic_to_shared(&Bs[lane % 16][0]);
        for (int i = 0; i < 4; ++i) a[i] = *(const unsigned*)&A[(row + g + i % 2 * 8) * K + k + i / 2 * 8 + 2 * t];
        asm volatile(\"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];\" : \"=r\"(b[0]), \"=r\"(b[1]) : \"r\"(from));
        asm(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\"
            : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3])
            : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]));
        __syncwarp();
    }
    for (int i = 0; i < 4; ++i) C[(row + g + i / 2 * 8) * N + col + 2 * t + i % 2] = d[i];
}
";
    let cases = [
        (".trans.", ".", "hint: with `.trans` of the `ldmatrix` at k.cu:11 every element is right"),
        (
            "\"r\"(a[1]), \"r\"(a[2])",
            "\"r\"(a[2]), \"r\"(a[1])",
            "hint: with the second and third register of A of each `mma`",
        ),
        ("\"r\"(b[0]), \"r\"(b[1])", "\"r\"(b[1]), \"r\"(b[0])", "hint: with the two registers of B of each `mma`"),
    ];
    let words = "--backend emulator --alone --m 32 --n 24 --k 32 --grid N/8,M/16 --block 32 --arch compute_80";
    cured("fragments", ("try", words), fragments, &cases);
}

#[test]
fn the_factor_of_a_batch_that_lies_elsewhere_is_named() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {
    int row = threadIdx.y, col = threadIdx.x, z = blockIdx.z;
    float sum = 0;
    for (int i = 0; i < K; ++i) sum += A[z * M * K + row * K + i] * B[z * K * N + i * N + col];
    C[z * M * N + row * N + col] = sum;
}
";
    let [m, n, k, deep] = [8, 6, 10, 3];
    let number = |at: usize| (at * at % 7) as f32 - 3.0;
    let [a, b]: [Vec<f32>; 2] = [deep * m * k, deep * k * n].map(|count| (0..count).map(number).collect());
    let sum = |z: usize, row: usize, col: usize| -> f32 {
        (0..k).map(|i| a[(z * m + row) * k + i] * b[(z * k + i) * n + col]).sum()
    };
    let c: Vec<f32> = (0..deep * m * n).map(|at| sum(at / (m * n), at / n % m, at % n)).collect();
    let folder = scratch("batch");
    let written = |name: &str, numbers: &[f32]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        fs::write(folder.join(name), bytes).unwrap();
        folder.join(name).display().to_string()
    };
    let [a, b, c] = [("a", &a), ("b", &b), ("c", &c)].map(|(name, numbers)| written(name, numbers));
    let words = format!(
        "--grid 1,1,3 --block 6,8 --arg A:f32[240]=@{a} --arg B:f32[180]=@{b} --arg C:f32[144]=zeros --arg 8 --arg 6 --arg 10 --expect C=@{c}"
    );
    let first = "hint: the first product along z is right, and the second is made with";
    let cases = [
        (
            "A[z * M * K",
            "A[z * M * N",
            &*format!("{first} A from its element 48 on (M * N), and its own is from 80 on"),
        ),
        ("B[z * K * N + ", "B[", &*format!("{first} B of the first one again: a batch of B is 60 elements (K * N)")),
    ];
    cured("batch", ("sanitize", &words), kernel, &cases);
}
