//! Causes that show by more than one launch as it stands: by what orders blocks, by what host code says, by another grid, by buffers that
//! are set back. Each kernel is right, and wrong with one text in place of another.

mod lab;

use std::fs;

use lab::{lacks, on};

/// What is said of a file with this text.
fn said(name: &str, command: &str, text: &str, words: &str) -> (i32, String) {
    let output = on(&format!("cause-{name}"), command, text, words);
    (output.code, output.stdout + &output.stderr)
}

/// The kernel is right, and with a text in place of another it is not, and `cure` is said of it.
#[track_caller]
fn differs(name: &str, (command, words): (&str, &str), kernel: &str, cases: &[(&str, &str, &str)]) {
    let (code, text) = said(name, command, kernel, words);
    assert_eq!(code, 0, "{name}: {text}");
    for (from, to, cure) in cases {
        assert!(kernel.contains(from), "{from}");
        let (code, text) = said(name, command, &kernel.replace(from, to), words);
        assert_eq!(code, 1, "{from} → {to}: {text}");
        assert!(text.contains(cure), "{from} → {to}: {cure:?} is not in\n{text}");
    }
}

/// A file of numbers for a word that begins with @.
fn numbers(name: &str, count: usize, number: impl Fn(usize) -> f32) -> String {
    let file = lab::scratch(&format!("cause-numbers-{name}")).join("numbers");
    fs::write(&file, (0..count).flat_map(|at| number(at).to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    format!("@{}", file.display())
}

fn some(at: usize) -> f32 {
    (at * at * 31 % 13) as f32 - 6.0
}

#[test]
fn a_lock_that_is_given_back_too_early_loses_an_update() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(const float* in, float* sums, unsigned* lock) {
    float own = in[blockIdx.x * 64 + threadIdx.x];
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0u, 1u) != 0u) {}
        __threadfence();
    }
    __syncthreads();
    volatile float* to = sums + threadIdx.x;
    *to = *to + own;
    __threadfence();
    __syncthreads(); // all are done
    if (threadIdx.x == 0) atomicExch(lock, 0u);
}
";
    let words =
        "--grid 4 --block 64 --arg in:f32[256]=ones --arg sums:f32[64]=zeros --arg lock:u32[1]=zeros --expect sums=4";
    let cure = "a lock is given back when all threads of the block are done";
    let cases = [
        ("__syncthreads(); // all are done", "", cure),
        ("__threadfence();\n    __syncthreads(); //", "__syncthreads(); //", cure),
    ];
    differs("lock", ("sanitize", words), kernel, &cases);
}

#[test]
fn blocks_that_meet_need_a_cooperative_launch() {
    if lacks("cooperative_groups.h") {
        return;
    }
    let kernel = "#include <cooperative_groups.h>
__global__ void k(float* parts, float* out) {
    parts[blockIdx.x * 32 + threadIdx.x] = 1;
    cooperative_groups::this_grid().sync();
    float sum = 0;
    for (int i = 0; i < gridDim.x; ++i) sum += parts[i * 32 + threadIdx.x];
    out[blockIdx.x * 32 + threadIdx.x] = sum;
}
void run(float* parts, float* out) {
    void* all[] = {&parts, &out};
    cudaLaunchCooperativeKernel((void*)k, 4, 32, all, 0, 0);
}
";
    let words = "--grid 4 --block 32 --arg parts:f32[128] --arg out:f32[128] --expect out=4";
    let call = "cudaLaunchCooperativeKernel((void*)k, 4, 32, all, 0, 0)";
    differs(
        "meet",
        ("sanitize", words),
        kernel,
        &[(call, "k<<<4, 32>>>(parts, out)", "`grid.sync()` needs `cudaLaunchCooperativeKernel`")],
    );
    let (_, text) = said("meet", "sanitize", &kernel.replace(call, "k<<<4, 32>>>(parts, out)"), words);
    assert!(text.contains("k.cu:4"), "{text}");
}

const M: usize = 32;
const N: usize = 48;
const K: usize = 64;

fn product(at: usize) -> f32 {
    (0..K).map(|i| some(at / N * K + i) * some(7 + i * N + at % N)).sum()
}

fn factors(of: &str) -> String {
    let a = numbers(&format!("{of}-a"), M * K, some);
    let b = numbers(&format!("{of}-b"), K * N, |at| some(7 + at));
    format!("--arg A:f32[{}]={a} --arg B:f32[{}]={b}", M * K, K * N)
}

#[test]
fn what_each_split_adds_is_told_where_the_product_is_right() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(const float* A, const float* B, const float* old, float* C, float scale) {
    int c = blockIdx.x * 16 + threadIdx.x, r = threadIdx.y, part = blockIdx.y;
    float s = 0;
    for (int i = part * 32; i < part * 32 + 32; ++i) s += A[r * 64 + i] * B[i * 48 + c];
    if (part == 0) s += scale * old[r * 48 + c];
    atomicAdd(&C[r * 48 + c], s);
}
";
    let old = numbers("old", M * N, |at| some(at + 3));
    let wanted = numbers("split", M * N, |at| product(at) + 2.0 * some(at + 3));
    let words = format!(
        "--grid 3,2 --block 16,32 {} --arg old:f32[1536]={old} --arg C:f32[1536]=zeros --arg scale:f32=2 --expect C={wanted}",
        factors("split")
    );
    let cases = [
        ("if (part == 0) s +=", "s +=", "beta * old is added 2 times"),
        ("scale * old", "old", "old is added to it without beta"),
        ("i < part * 32 + 32", "i < part * 32 + 28", "are left out"),
    ];
    differs("split", ("sanitize", &words), kernel, &cases);
}

#[test]
fn what_a_turn_leaves_to_the_next_is_told_by_a_grid_without_a_second_turn() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(const float* A, const float* B, const float* bias, float* C) {
    float s = 0;
    for (int tile = blockIdx.x; tile < 24; tile += gridDim.x) {
        s = 0;
        int r = tile / 3 * 4 + threadIdx.y, c = tile % 3 * 16 + threadIdx.x;
        for (int i = 0; i < 64; ++i) s += A[r * 64 + i] * B[i * 48 + c];
        C[r * 48 + c] = s + bias[c];
    }
}
";
    let bias = numbers("bias", N, |at| some(at + 5));
    let wanted = numbers("turns", M * N, |at| product(at) + some(at % N + 5));
    let words = format!(
        "--grid 5 --block 16,4 {} --arg bias:f32[48]={bias} --arg C:f32[1536] --expect C={wanted}",
        factors("turns")
    );
    let cases = [
        ("        s = 0;\n", "", "A sum begins with 0 in each turn"),
        ("i < 64", "i < 60", "the products of steps 60 to 63 along K are left out"),
    ];
    differs("turns", ("sanitize", &words), kernel, &cases);
}

#[test]
fn the_factor_that_has_a_rule_is_named() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {
    int r = threadIdx.y, c = threadIdx.x;
    float s = 0;
    for (int i = 0; i < K; ++i) s += A[r * K + i] * B[c * K + i];
    C[r * N + c] = s;
}
";
    let a = numbers("rule-a", 16 * 40, some);
    let b = numbers("rule-b", 24 * 40, |at| some(at + 7));
    let wanted =
        numbers("rule-c", 16 * 24, |at| (0..40).map(|i| some(at / 24 * 40 + i) * some(at % 24 * 40 + i + 7)).sum());
    let words = format!(
        "--grid 1 --block 24,16 --arg A:f32[640]={a} --arg B:f32[960]={b} --arg C:f32[384] --arg 16 --arg 24 --arg 40 --expect C={wanted}"
    );
    let cases = [
        ("B[c * K", "B[c * N", "rows of B are taken 24 elements apart, and they lie 40 apart"),
        ("A[r * K", "A[r * M", "rows of A are taken 16 elements apart, and they lie 40 apart"),
    ];
    differs("rule", ("sanitize", &words), kernel, &cases);
}

#[test]
fn flags_that_a_launch_leaves_to_the_next_are_told() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(const float* in, float* room, volatile int* ready, float* out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        room[t] = 2 * in[t];
        __threadfence();
        __syncthreads();
        if (t == 0) *ready = 1;
    } else {
        if (t == 0) {
            while (*ready == 0) {}
            __threadfence();
        }
        __syncthreads();
        out[t] = __ldcg(&room[t]) + 1;
        if (t == 0) *ready = 0; // for the next
    }
}
";
    let arguments = "--arg room:f32[32] --arg ready:i32[1]=zeros --arg out:f32[32]";
    let words = format!(
        "--grid 2 --block 32 --launch k --arg first:f32[32]=ones {arguments} --launch k --arg second:f32[32]=4 --arg room --arg ready --arg out --expect out=9"
    );
    differs(
        "flags",
        ("sanitize", &words),
        kernel,
        &[(" if (t == 0) *ready = 0; // for the next", "", "with ready set back before each launch nothing is wrong")],
    );
}

#[test]
fn an_mbarrier_at_which_more_arrive_than_it_counts_is_named() {
    if lacks("") {
        return;
    }
    let kernel = "__device__ unsigned at(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void arrive(unsigned long long* b) { asm volatile(\"mbarrier.arrive.shared.b64 _, [%0];\" :: \"r\"(at(b)) : \"memory\"); }
__device__ void wait(unsigned long long* b, int parity) {
    unsigned done = 0;
    while (!done)
        asm volatile(\"{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}\" : \"=r\"(done) : \"r\"(at(b)), \"r\"(parity) : \"memory\");
}
__device__ void init(unsigned long long* b, int count) { asm volatile(\"mbarrier.init.shared.b64 [%0], %1;\" :: \"r\"(at(b)), \"r\"(count) : \"memory\"); }
__global__ void k(const float* in, float* out) {
    __shared__ float tile[32];
    __shared__ unsigned long long full, empty;
    int w = threadIdx.x / 32, l = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        init(&full, 32);
        init(&empty, 2);
    }
    __syncthreads();
    for (int t = 0; t < 6; ++t) {
        if (w == 2) {
            wait(&empty, (t & 1) ^ 1);
            tile[l] = in[t * 32 + l];
            arrive(&full);
        } else {
            wait(&full, t & 1);
            out[(t * 2 + w) * 32 + l] = tile[l];
            __syncwarp();
            if (l == 0) arrive(&empty);
        }
    }
}
";
    let words = "--arch compute_90 --grid 1 --block 96 --arg in:f32[192]=ones --arg out:f32[384] --expect out=ones";
    differs(
        "count",
        ("sanitize", words),
        kernel,
        &[(
            "init(&empty, 2)",
            "init(&empty, 1)",
            "The count is that of all who arrive in a phase, 2 if each of them does",
        )],
    );
}

#[test]
fn a_descriptor_that_strays_along_k_is_told_in_its_units() {
    if lacks("cuda_fp16.h") {
        return;
    }
    let kernel = "#include <cuda_fp16.h>
__device__ unsigned long long of(const void* p) {
    return (unsigned long long)(((unsigned)__cvta_generic_to_shared(p) & 0x3ffff) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
__global__ void k(float* out) {
    __shared__ __align__(1024) __half all[64 * 64 + 32 * 64];
    __half *as = all, *bs = all + 64 * 64;
    for (int i = threadIdx.x; i < 96 * 64; i += 128) {
        int r = i / 64, c = i % 64, n = r - 64;
        int value = r < 64 ? (r + c) % 5 : n < 8 ? (n * 3 + c) % 7 : 0;
        all[r * 64 + (c / 8 ^ r % 8) * 8 + c % 8] = __int2half_rn(value);
    }
    asm volatile(\"fence.proxy.async;\" ::: \"memory\");
    __syncthreads();
    float d[4] = {};
    asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");
    for (int s = 0; s < 4; ++s)
        asm volatile(\"{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;}\"
            : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"l\"(of(as) + s * 2), \"l\"(of(bs) + 2 * s));
    asm volatile(\"wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");
    int w = threadIdx.x / 32, l = threadIdx.x % 32;
    for (int i = 0; i < 4; ++i) out[(w * 16 + l / 4 + i / 2 * 8) * 8 + l % 4 * 2 + i % 2] = d[i];
}
";
    let wanted = numbers("strays", 512, |at| (0..64).map(|k| ((at / 8 + k) % 5 * ((at % 8 * 3 + k) % 7)) as f32).sum());
    let words = format!("--arch compute_90a --grid 1 --block 128 --arg out:f32[512] --expect out={wanted}");
    differs(
        "strays",
        ("sanitize", &words),
        kernel,
        &[("of(as) + s * 2", "of(as) + s * 32", "so a step along K adds 2 to it")],
    );
}

#[test]
fn a_source_size_in_elements_is_told() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) float row[4][16];
    int c = threadIdx.x, r = blockIdx.x * 4 + threadIdx.y;
    float s = 0;
    for (int from = 0; from < K; from += 16) {
        if (c < 4) {
            int left = min(4, max(0, K - from - c * 4));
            unsigned to = (unsigned)__cvta_generic_to_shared(&row[threadIdx.y][c * 4]);
            asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16, %2;\" :: \"r\"(to), \"l\"(A + r * K + (left ? from + c * 4 : 0)), \"r\"(left * 4) : \"memory\");
        }
        asm volatile(\"cp.async.wait_all;\" ::: \"memory\");
        __syncthreads();
        for (int i = 0; i < min(16, K - from); ++i) s += row[threadIdx.y][i] * B[(from + i) * N + c];
        __syncthreads();
    }
    C[r * N + c] = s;
}
";
    let words = "--backend emulator --alone --arch compute_80 --m 8 --n 32 --k 44 --grid M/4 --block 32,4";
    differs(
        "bytes",
        ("try", words),
        kernel,
        &[("\"r\"(left * 4)", "\"r\"(left)", "the source size of `cp.async` counts bytes")],
    );
}

const SPLIT: &str = "__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {
    int r = blockIdx.y * 8 + threadIdx.y, c = blockIdx.x * 8 + threadIdx.x, part = K / gridDim.z;
    float s = 0;
    for (int i = blockIdx.z * part; i < (blockIdx.z + 1) * part; ++i) s += A[r * K + i] * B[i * N + c];
    atomicAdd(&C[r * N + c], s);
}
void run(const float* A, const float* B, float* C, int M, int N, int K, cudaStream_t stream) {
    cudaMemsetAsync(C, 0, sizeof(float) * M * N, stream);
    k<<<dim3(N / 8, M / 8, 4), dim3(8, 8), 0, stream>>>(A, B, C, M, N, K);
}
";

#[test]
fn what_host_code_fills_with_zeros_holds_them() {
    if lacks("") {
        return;
    }
    let memset = "    cudaMemsetAsync(C, 0, sizeof(float) * M * N, stream);\n";
    let words = "--backend emulator --alone --m 16 --n 24 --k 32";
    differs("zeros", ("try", words), SPLIT, &[(memset, "", "C holds NaN before the launch")]);
    let words = "--arg A:f32[512]=ones --arg B:f32[768]=ones --arg C:f32[384] --arg 16 --arg 24 --arg 32 --expect C=32";
    differs("filled", ("sanitize", words), SPLIT, &[(memset, "", "C were never written")]);
}

#[test]
fn a_grid_that_no_gpu_takes_is_told_with_the_axis_that_does() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {
    int r = blockIdx.y, c = threadIdx.x;
    float s = 0;
    for (int i = 0; i < K; ++i) s += A[r * K + i] * B[i * N + c];
    C[r * N + c] = s;
}
void run(const float* A, const float* B, float* C, int M, int N, int K) {
    k<<<dim3(1, M), N>>>(A, B, C, M, N, K);
}
";
    let words = "--backend emulator --alone --m 70000 --n 8 --k 4";
    let (code, text) = said("long", "try", kernel, words);
    assert!(
        code == 1 && text.contains("k.cu:8: this launch fails on a GPU: the grid has 70000 blocks along y"),
        "{text}"
    );
    assert!(text.contains("exchange `blockIdx.x` and `blockIdx.y`"), "{text}");
    let right = kernel.replace("blockIdx.y", "blockIdx.x").replace("dim3(1, M)", "M");
    assert_eq!(said("long", "try", &right, words).0, 0);
    let words = "--arg A:f32[280000]=ones --arg B:f32[32]=ones --arg C:f32[560000] --arg 70000 --arg 8 --arg 4";
    let (code, text) = said("long", "sanitize", kernel, words);
    assert!(code == 2 && text.contains("exchange `blockIdx.x` and `blockIdx.y`"), "{text}");
}

#[test]
fn what_is_no_product_of_two_matrices_is_refused_in_a_line() {
    if lacks("") {
        return;
    }
    let vector = "__global__ void k(const float* A, const float* x, float* y, int M, int K) {
    int r = blockIdx.x * 32 + threadIdx.x;
    if (r >= M) return;
    float s = 0;
    for (int i = 0; i < K; ++i) s += A[r * K + i] * x[i];
    y[r] = s;
}
";
    let words = "--backend emulator --alone --m 50 --n 1 --k 20 --grid cdiv(M,32) --block 32";
    let (code, text) = said("vector", "try", vector, words);
    assert!(code == 2 && text.contains("multiplies a matrix by a vector"), "{text}");
    let (code, text) = said("vector", "try", vector, &format!("{words} --args A,B,C,M,K"));
    assert_eq!(code, 0, "{text}");
    let batch = "__global__ void k(const float* A, long long strideA, const float* B, long long strideB, float* C, long long strideC, int M, int N, int K) {}\n";
    let (code, text) = said("batch", "try", batch, "--backend emulator --alone");
    assert!(code == 2 && text.contains("multiplies several matrices"), "{text}");
}

#[test]
fn a_launch_that_nobody_named_is_said() {
    if lacks("") {
        return;
    }
    let kernel = SPLIT
        .split("void run")
        .next()
        .unwrap()
        .replace("atomicAdd(&C[r * N + c], s)", "C[r * N + c] = s")
        .replace("* 8", "* 32");
    let words = "--backend emulator --alone --m 32 --n 32 --k 32";
    let (code, text) = said("nobody", "try", &kernel, words);
    assert!(
        code == 0 && text.contains("the file has no launch of it, so --grid cdiv(N,32),cdiv(M,32) --block 32,32"),
        "{text}"
    );
}

#[test]
fn a_share_that_is_rounded_down_is_told_by_the_blocks_that_share_evenly() {
    if lacks("") {
        return;
    }
    let share = "part = (K + gridDim.z - 1) / gridDim.z";
    let split = SPLIT
        .replace("part = K / gridDim.z", share)
        .replace("i < (blockIdx.z + 1) * part", "i < min(K, (int)(blockIdx.z + 1) * part)");
    let words = "--backend emulator --alone --m 16 --n 24 --k 50";
    let cure = "round it up, `(total + gridDim.z - 1) / gridDim.z`";
    differs("share", ("try", words), &split, &[(share, "part = K / gridDim.z", cure)]);
}

#[test]
fn what_is_no_product_is_added_by_one_split() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(const float* A, const float* B, const float* bias, const float* more, float* C) {
    int c = blockIdx.x * 16 + threadIdx.x, r = threadIdx.y, share = 64 / gridDim.y;
    float s = 0;
    for (int i = blockIdx.y * share; i < (blockIdx.y + 1) * share; ++i) s += A[r * 64 + i] * B[i * 48 + c];
    if (blockIdx.y == 0) s += bias[c];
    if (blockIdx.y == 0) s += more[r];
    atomicAdd(&C[r * 48 + c], s);
}
";
    let (bias, none) = (numbers("each-bias", N, |at| some(at + 3)), numbers("each-none", M, |_| 0.0));
    let words = |more: &str, wanted: &str| {
        let (bias, factors) = (&bias, factors("each"));
        format!(
            "--grid 3,2 --block 16,32 {factors} --arg bias:f32[48]={bias} --arg more:f32[32]={more} --arg C:f32[1536]=zeros --expect C={wanted}"
        )
    };
    let wanted = numbers("each-c", M * N, |at| product(at) + some(at % N + 3));
    let cases = [("if (blockIdx.y == 0) s += bias", "s += bias", "A * B is right, and bias is added 2 times")];
    differs("each", ("sanitize", &words(&none, &wanted)), kernel, &cases);
    // No product is known in it that has two such terms.
    let more = numbers("each-more", M, |at| 500.0 * some(at + 1));
    let wanted = numbers("each-two", M * N, |at| product(at) + some(at % N + 3) + 500.0 * some(at / N + 1));
    let cases =
        [("if (blockIdx.y == 0) s += more", "s += more", "with one block along y instead of 2 every element is right")];
    differs("each", ("sanitize", &words(&more, &wanted)), kernel, &cases);
}
