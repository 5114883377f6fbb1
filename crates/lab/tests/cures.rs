//! Kernels that differ from a right one in a word or two, and the cure that must be named. Each was seen to lack it before.

mod lab;

use std::fs;

use lab::{lacks, on};

const TILED: &str = "#define T 16
__global__ void k(const float* A, const float* B, float* C, int M, int N, int K, float alpha, float beta) {
    __shared__ float As[T][T + 1], Bs[T][T + 1];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float acc = 0;
    for (int t = 0; t < (K + T - 1) / T; ++t) {
        int ka = t * T + tx, kb = t * T + ty;
        As[ty][tx] = row < M && ka < K ? A[row * K + ka] : 0.f;
        Bs[ty][tx] = kb < K && col < N ? B[kb * N + col] : 0.f;
        __syncthreads();
        for (int i = 0; i < T; ++i) acc += As[ty][i] * Bs[i][tx];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = alpha * acc + beta * C[row * N + col];
}
";
const DOT: &str = "__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {
    int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (w >= M * N) return;
    int row = w / N, col = w % N;
    float s = 0;
    for (int i = lane; i < K; i += 32) s += A[row * K + i] * B[i * N + col];
    for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);
    if (lane == 0) C[row * N + col] = s;
}
";
const WORDS: &str = "--m 50 --n 70 --k 45 --args A,B,C,M,N,K,alpha=1.5,beta=0.5";
const LAUNCH: &str = "--grid cdiv(N,16),cdiv(M,16) --block 16,16";

/// What is said of a file with this text.
fn said(name: &str, command: &str, text: &str, words: &str) -> (i32, String) {
    let output = on(name, command, text, words);
    (output.code, output.stdout + &output.stderr)
}

/// What `lab try` says of a kernel with one text in place of another.
#[track_caller]
fn changed(kernel: &str, from: &str, to: &str, words: &str) -> String {
    assert!(kernel.contains(from), "{from}");
    let name =
        format!("cure-{}", from.chars().chain(to.chars()).filter(char::is_ascii_alphanumeric).collect::<String>());
    let (code, said) = said(&name, "try", &kernel.replace(from, to), &format!("--backend emulator --alone {words}"));
    assert_eq!(code, 1, "{from} → {to}: {said}");
    said
}

#[track_caller]
fn all(kernel: &str, words: &str, cases: &[(&str, &str, &str)]) {
    for (from, to, cure) in cases {
        let said = changed(kernel, from, to, words);
        assert!(said.contains(cure), "{from} → {to}: {cure:?} is not in\n{said}");
    }
}

#[test]
fn a_size_that_a_kernel_does_not_bear_is_named() {
    if lacks("") {
        return;
    }
    let cases = [
        ("A[row * K", "A[row * M", "with M = K every element is right"),
        ("A[row * K", "A[row * N", "with N = K every element is right"),
        (
            "C[row * N + col] = alpha * acc + beta * C[row * N",
            "C[row * M + col] = alpha * acc + beta * C[row * M",
            "with M = N",
        ),
        ("if (row < M && col < N)", "if (row < N && col < M)", "with M = N every element is right"),
        (" && ka < K", "", "where K is a multiple of 16 every element is right"),
        ("kb < K && ", "", "need a guard (`k < K`)"),
        ("row < M && ka", "ka", "where M is a multiple of 16 every element is right"),
        ("kb < K && col < N", "kb < K", "columns from N on need a guard"),
        ("if (row < M && col < N)", "if (row <= M && col <= N)", "`row < M && column < N`"),
    ];
    all(TILED, &format!("{WORDS} {LAUNCH}"), &cases);
}

#[test]
fn a_launch_that_does_not_fit_is_told_by_one_that_does() {
    if lacks("") {
        return;
    }
    let same = ("float acc = 0;", "float acc = 0.f;");
    let launches = [
        ("--grid cdiv(M,16),cdiv(N,16) --block 16,16", "with grid (5,4) instead of (4,5)"),
        ("--grid N/16,M/16 --block 16,16", "with grid (5,4) instead of (4,3)"),
        ("--grid cdiv(N,16),cdiv(M,16) --block 8,16", "with block (16,16) instead of (8,16)"),
    ];
    for (launch, cure) in launches {
        all(TILED, &format!("{WORDS} {launch}"), &[(same.0, same.1, cure)]);
    }
}

#[test]
fn a_sum_in_another_place_or_of_other_steps_is_told() {
    if lacks("cuda_fp16.h") {
        return;
    }
    let to = "C[row * N + col] = alpha * acc + beta * C[row * N + col]";
    let cases = [
        (to, "C[col * M + row] = alpha * acc + beta * C[col * M + row]", "C is stored transposed, by columns of 50"),
        ("As[ty][i]", "As[i][ty]", "A is taken transposed within squares of 16 x 16"),
        ("ka = t * T + tx,", "ka = t * T + tx + 1,", "the index of A is 1 steps along K off"),
        ("acc += As", "acc = As", "with K = 64: in row 0 of C, the products of steps 0 to 62"),
        ("for (int i = 0; i < T", "acc = 0; for (int i = 0; i < T", "only the last 13 steps are in it"),
        ("i < T; ++i", "i < T - 1; ++i", "of each 16 steps along K, 15 are summed"),
        ("acc += As", "acc -= As", "they are subtracted"),
        ("alpha * acc + beta *", "beta * acc + alpha *", "they are multiplied by beta, and not by alpha"),
        ("float acc = 0", "int acc = 0", "kept in an `int`"),
        ("A[row * K + ka]", "A[ty * K + ka]", "rows of A come again after 16"),
        (
            "acc += As[ty][i]",
            "acc += __half2float(__float2half(As[ty][i]))",
            "a factor, or each product, is cut to 11 bits, as f16 has",
        ),
    ];
    all(&format!("#include <cuda_fp16.h>\n{TILED}"), &format!("{WORDS} {LAUNCH}"), &cases);
    let cases = [
        ("int o = 16", "int o = 8", "of each 32 steps 16 are missing, as the parts of lanes"),
        ("i += 32", "i += 64", "of each 64 steps along K, 32 are summed"),
        ("__shfl_down_sync", "__shfl_up_sync", "a sum by `__shfl_down_sync` is in lane 0"),
    ];
    all(DOT, "--m 20 --n 30 --k 200 --grid cdiv(M*N,4) --block 128", &cases);
}

#[test]
fn bytes_and_the_bits_of_their_sums_are_told() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(const signed char* A, const signed char* B, int* C, int M, int N, int K) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    int s = 0;
    for (int i = 0; i < K; ++i) s += A[row * K + i] * B[i * N + col];
    C[row * N + col] = s;
}
";
    let words = format!("--m 40 --n 50 --k 64 {LAUNCH}");
    let right = said("bytes-right", "try", kernel, &format!("--backend emulator --alone {words}"));
    assert_eq!(right.0, 0, "{}", right.1);
    let cases = [
        ("int s = 0", "short s = 0", "they are kept in 16 bits, and need 32"),
        ("s += A[", "s += (unsigned char)A[", "is a signed byte taken as an unsigned one?"),
    ];
    all(kernel, &words, &cases);
}

#[test]
fn what_is_not_written_of_shared_memory_is_told_by_its_shape() {
    if lacks("") {
        return;
    }
    let cases = [
        (
            "As[ty][tx] = ",
            "(&As[0][0])[ty * T + tx] = ",
            "the first 1024 of the 1088 bytes of As are written, and none behind",
        ),
        ("As[ty][tx] = ", "if (tx < 4) As[ty][tx] = ", "of each 68 bytes of As only 16 are written"),
        (
            "acc += As[ty][i]",
            "acc += As[ty][i + 1]",
            "of each 68 bytes of As the last 4 are not written, as padding is",
        ),
        ("As[ty][tx] = ", "if (M < 0) As[ty][tx] = ", "nothing of As is written"),
    ];
    all(TILED, &format!("{WORDS} {LAUNCH}"), &cases);
}

#[test]
fn what_is_no_fault_is_told_where_a_result_is_wrong() {
    if lacks("") {
        return;
    }
    let sum = "__global__ void k(const float* in, float* out, unsigned* count) {\n__shared__ float s[2];\nint t = threadIdx.x, w = t / 32;\n\
               float sum = 0;\nfor (int i = 0; i < 1 + w; ++i) {\nif (t % 32 == 0) s[w] = in[32 * i];\n__syncthreads();\nsum += s[0] + s[1];\n\
               __syncthreads();\n}\nout[t] = sum;\nif (t == 0 && atomicAdd(count, 1u) > 0) out[0] = 0;\n}\n";
    let words = "--grid 1 --block 64 --arg in:f32[64]=ones --arg out:f32[64] --arg count:u32[1]=zeros";
    let (code, text) = said("ended", "sanitize", sum, &format!("{words} --expect out=ones"));
    assert!(code == 1 && text.contains("threads of the block had ended when others came to the barrier"), "{text}");
    let again = sum.replace("1 + w", "1");
    let (code, text) = said("again", "sanitize", &again, &format!("{words} --expect out=2"));
    assert!(
        code == 0
            && text.contains("launched once more on count as the first launch leaves it, out comes out otherwise"),
        "{text}"
    );
    let (code, text) = said("times", "sanitize", &again, &format!("{words} --expect out=4"));
    assert!(code == 1 && text.contains("hint: each is 0.5000 times what is expected"), "{text}");
    let square = "__global__ void k(const float* A, const float* B, float* C) {\nint t = threadIdx.x;\nfloat s = 0;\n\
                  for (int i = 0; i < 64; ++i) s += A[i] * B[i];\nC[t] = s;\n}\n";
    let words = "--grid 1 --block 64 --arg R:f32[64]=ones --arg R --arg R";
    let (code, text) = said("twice-passed", "sanitize", square, words);
    assert!(code == 1 && text.contains("R is passed for two arguments"), "{text}");
}

#[test]
fn a_race_of_two_buffers_or_of_a_branch_is_told_so() {
    if lacks("") {
        return;
    }
    let two = "__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float b[2][16][16];
    int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * 16 + y, c = blockIdx.x * 16 + x, cur = 0;
    b[0][y][x] = B[y * N + c];
    __syncthreads();
    float s = 0;
    for (int k0 = 0; k0 < K; k0 += 16) {
        if (k0 + 16 < K) b[cur ^ 1][y][x] = B[(k0 + 16 + y) * N + c];
        for (int k = 0; k < 16; ++k) s += A[r * K + k0 + k] * b[cur][k][x];
        __syncthreads();
        cur ^= 1;
    }
    C[r * N + c] = s;
}
";
    let words = "--m 64 --n 64 --k 96 --grid N/16,M/16 --block 16,16";
    all(two, words, &[("b[cur ^ 1]", "b[cur]", "is it another one (`cur ^ 1`) that the store at k.cu:8 names?")]);
    let branch = "        __syncthreads();\n        for (int i";
    let words = format!("{WORDS} {LAUNCH}");
    let cases = [
        (
            branch,
            "        if (ty < 8) __syncthreads();\n        for (int i",
            "and not all threads come to it: it belongs outside of the branch",
        ),
        (branch, "        for (int i", "missing between the two?"),
        (
            "Bs[i][tx];\n        __syncthreads();",
            "Bs[i][tx];",
            "one belongs behind k.cu:11, before k.cu:8 comes round again",
        ),
    ];
    all(TILED, &words, &cases);
}

#[test]
fn blocks_that_do_the_work_of_others_are_told_by_one_that_is_right() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(const float* A, const float* B, float* C, int M, int N, int K, float beta) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < M * N; i += blockDim.x * gridDim.x) {
        float s = 0;
        for (int k = 0; k < K; ++k) s += A[i / N * K + k] * B[k * N + i % N];
        C[i] = s + beta * C[i];
    }
}
";
    let words = "--m 20 --n 24 --k 32 --grid 4 --block 64 --args A,B,C,M,N,K,beta=1";
    all(kernel, words, &[("blockDim.x * gridDim.x", "blockDim.x", "with one block every element is right")]);
    let split = "__global__ void k(const float* A, const float* B, float* C, int M, int N, int K, float beta) {
    int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x, part = K / gridDim.z;
    float s = 0;
    for (int k = blockIdx.z * part; k < (blockIdx.z + 1) * part; ++k) s += A[r * K + k] * B[k * N + c];
    atomicAdd(&C[r * N + c], s);
}
";
    let words = "--m 32 --n 32 --k 64 --grid N/16,M/16,4 --block 16,16 --args A,B,C,M,N,K,beta=1";
    all(split, words, &[("atomicAdd(&C[r * N + c], s);", "C[r * N + c] += s;", "with one block along z instead of 4")]);
    let tiles = "__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {
    int r = blockIdx.y * 16 + threadIdx.y;
    for (int j = 0; j < 4; ++j) {
        int c = blockIdx.x * 64 + threadIdx.x + 16 * j;
        float s = 0;
        for (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * N + c];
        C[r * N + c] = s;
    }
}
";
    let words = "--m 32 --n 128 --k 32 --grid N/64,M/16 --block 16,16";
    all(tiles, words, &[("blockIdx.x * 64", "blockIdx.x * 16", "blocks or threads store to the same elements")]);
}

#[test]
fn a_box_outside_of_its_tensor_is_told() {
    if lacks("cuda.h") {
        return;
    }
    let kernel = "#include <cuda.h>\n__global__ void k(const __grid_constant__ CUtensorMap map, float* out) {\n__shared__ alignas(128) float s[8][32];\n\
                  __shared__ alignas(8) unsigned long long bar;\nunsigned b = (unsigned)__cvta_generic_to_shared(&bar), to = (unsigned)__cvta_generic_to_shared(s);\n\
                  int t = threadIdx.x, x = 64, y = 8;\nif (t == 0) {\nasm volatile(\"mbarrier.init.shared.b64 [%0], 1;\" :: \"r\"(b) : \"memory\");\n\
                  asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n}\n__syncthreads();\nif (t == 0) {\n\
                  asm volatile(\"mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;\" :: \"r\"(b) : \"memory\");\n\
                  asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];\" \
                  :: \"r\"(to), \"l\"(&map), \"r\"(X), \"r\"(Y), \"r\"(b) : \"memory\");\n}\nunsigned ok = 0;\nwhile (!ok)\n\
                  asm volatile(\"{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}\" : \"=r\"(ok) : \"r\"(b) : \"memory\");\n\
                  for (int i = 0; i < 8; ++i) out[32 * i + t] = s[i][t];\n}\n";
    let words = "--arch compute_90a --grid 1 --block 32 --arg map:map(f32[16x128],box=8x32)=ones --arg out:f32[256] --expect out=ones";
    let order = |x: &str, y: &str| {
        kernel.replace("\"r\"(X)", &format!("\"r\"({x})")).replace("\"r\"(Y)", &format!("\"r\"({y})"))
    };
    let right = said("box-right", "sanitize", &order("x", "y"), words);
    assert_eq!(right.0, 0, "{}", right.1);
    let (code, text) = said("box-turned", "sanitize", &order("y", "x"), words);
    assert!(
        code == 1 && text.contains("lies outside of its tensor of 128 x 16") && text.contains("In the other order"),
        "{text}"
    );
}

/// A file of numbers for a word that begins with @.
fn numbers(folder: &str, name: &str, all: impl Iterator<Item = f32>) -> String {
    let file = lab::scratch(folder).join(name);
    fs::write(&file, all.flat_map(f32::to_le_bytes).collect::<Vec<u8>>()).unwrap();
    format!("@{}", file.display())
}

#[test]
fn a_product_beside_other_buffers_is_asked_what_it_is_made_of() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(const float* A, const float* B, float* C, float* work) {
    int r = threadIdx.y, c = threadIdx.x;
    float s = 0;
    for (int i = 0; i < 32; ++i) s += A[r * 32 + i] * B[i * 24 + c];
    work[r * 24 + c] = s;
    C[r * 24 + c] = work[r * 24 + c];
}
";
    let number = |at: usize| (at * at * 31 % 97) as f32 / 64.0 - 0.75;
    let sum = |at: usize| (0..32).map(|i| number(at / 24 * 32 + i) * number(500 + i * 24 + at % 24)).sum();
    let a = numbers("factor-a", "a", (0..16 * 32).map(number));
    let b = numbers("factor-b", "b", (0..32 * 24).map(|at| number(500 + at)));
    let c = numbers("factor-c", "c", (0..16 * 24).map(sum));
    let words = format!(
        "--grid 1 --block 24,16 --arg A:f32[512]={a} --arg B:f32[768]={b} --arg C:f32[384] --arg work:f32[384] --expect C={c} --tolerance 1e-4"
    );
    let right = said("product-right", "sanitize", kernel, &words);
    assert_eq!(right.0, 0, "{}", right.1);
    let cases = [
        ("i < 32", "i < 28", "the products of steps 28 to 31 along K are left out"),
        ("B[i * 24 + c]", "B[i * 24 + (c ^ 1)]", "columns are exchanged in pairs"),
        ("C[r * 24 + c] =", "C[c * 16 + r] =", "C is stored transposed"),
    ];
    for (old, new, cure) in cases {
        let (code, text) = said("product-wrong", "sanitize", &kernel.replace(old, new), &words);
        assert!(code == 1 && text.contains(cure), "{new}: {text}");
    }
}

#[test]
fn what_a_file_launches_again_and_again_is_launched_twice() {
    if lacks("") {
        return;
    }
    let kernel = |between: &str| {
        format!(
            "__global__ void k(float* out, unsigned* count) {{\n__shared__ bool last;\nif (threadIdx.x == 0) last = atomicAdd(count, 1u) == gridDim.x - 1;\n\
             __syncthreads();\nif (last) out[threadIdx.x] = 1;\n}}\nint main() {{\nfloat* out;\nunsigned* count;\nfor (int i = 0; i < 3; ++i) {{\n{between}\
             k<<<2, 32>>>(out, count);\n}}\n}}\n"
        )
    };
    let words = "--grid 2 --block 32 --arg out:f32[32] --arg count:u32[1]=zeros --expect out=ones";
    let (code, text) = said("in-a-loop", "sanitize", &kernel(""), words);
    assert!(code == 1 && text.contains("out of a second launch as of the first") && text.contains("k.cu:3"), "{text}");
    let (code, text) = said("set-back", "sanitize", &kernel("cudaMemset(count, 0, 4);\n"), words);
    assert!(code == 0 && text.contains("launched once more on count"), "{text}");
}

#[test]
fn a_launch_that_leaves_elements_out_is_told_of_any_kernel() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(float* out, int n) {\nint i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n) out[i] = 1;\n}\n";
    let words = "--grid 1 --block 32 --arg out:f32[60] --arg 60 --expect out=ones";
    let (code, text) = said("short", "sanitize", kernel, words);
    assert!(code == 1 && text.contains("with grid (2,1) instead of (1,1) every element is right"), "{text}");
}

#[test]
fn an_index_in_few_bits_is_told_by_where_it_begins_again() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ unsigned short at[512];
    int row = blockIdx.x, col = threadIdx.x;
    unsigned short from = row;
    for (int i = col; i < K; i += blockDim.x) at[i] = i;
    __syncthreads();
    float s = 0;
    for (int i = 0; i < K; ++i) s += A[from * K + i] * B[at[i] * N + col];
    C[row * N + col] = s;
}
";
    let few = "is kept in 8 bits (as `uint8_t` is";
    let steps = [("unsigned short at", "unsigned char at", few)];
    all(kernel, "--m 8 --n 32 --k 320 --grid M --block N", &steps);
    let rows = [("unsigned short from", "unsigned char from", few)];
    all(kernel, "--m 300 --n 32 --k 20 --grid M --block N", &rows);
    // A tile whose first step is missing in the index is no such number.
    let tile = [("B[at[i] * N", "B[(at[i] % 64) * N", "the tile's first step (its number times 64) is missing")];
    all(kernel, "--m 8 --n 32 --k 320 --grid M --block N", &tile);
}

#[test]
fn lanes_without_a_warp_are_told_in_a_sum_of_two_stages() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float part[4];
    int row = blockIdx.x / N, col = blockIdx.x % N, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float v = 0;
    for (int i = threadIdx.x; i < K; i += 128) v += A[row * K + i] * B[i * N + col];
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if (lane == 0) part[warp] = v;
    __syncthreads();
    if (warp > 0) return;
    v = lane < 4 ? part[lane] : 0;
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if (lane == 0) C[row * N + col] = v;
}
";
    let words = "--m 40 --n 40 --k 300 --grid M*N --block 128";
    let cases = [("? part[lane] : 0", "? part[lane] : v", "`value = lane < 4 ? part[lane] : 0`")];
    all(kernel, words, &cases);
    all(&kernel.replace("xor", "down"), words, &cases);
}

#[test]
fn the_length_that_rows_of_vectors_need_is_told() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) float As[32][36];
    int t = threadIdx.x, row = blockIdx.x * 32;
    float s[32] = {};
    for (int from = 0; from < K; from += 32) {
        *(float4*)&As[t / 8][t % 8 * 4] = *(const float4*)&A[(row + t / 8) * K + from + t % 8 * 4];
        __syncthreads();
        for (int i = 0; i < 32; ++i) for (int r = 0; r < 32; ++r) s[r] += As[r][i] * B[(from + i) * N + t];
        __syncthreads();
    }
    for (int r = 0; r < 32; ++r) C[(row + r) * N + t] = s[r];
}
";
    let words = "--m 32 --n 256 --k 64 --grid 1 --block 256";
    let cases = [
        ("As[32][36]", "As[32][33]", "rows of As are 132 bytes long, no multiple of 16"),
        ("As[32][36]", "As[32][38]", "Pad each to a multiple: to 160 bytes (40 elements of 4 bytes"),
        (
            "As[t / 8][t % 8 * 4] =",
            "As[t / 8][t % 8] =",
            "In As the first element's column has to be a whole number of vectors",
        ),
    ];
    all(kernel, words, &cases);
}

#[test]
fn registers_of_c_and_what_they_are_for_are_told() {
    if lacks("cuda_fp16.h") {
        return;
    }
    let kernel = "#include <cuda_fp16.h>
__global__ void k(const __half* A, const __half* B, float* C, int M, int N, int K) {
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    const __half *a = A + (blockIdx.y * 16 + g) * K + 2 * t, *b = B + (blockIdx.x * 8 + g) * K + 2 * t;
    float c[4] = {};
    for (int i = 0; i < K; i += 8)
        asm volatile(\"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};\"
            : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(c[2]), \"+f\"(c[3])
            : \"r\"(*(const unsigned*)(a + i)), \"r\"(*(const unsigned*)(a + 8 * K + i)), \"r\"(*(const unsigned*)(b + i)));
    float* to = C + (blockIdx.y * 16 + g) * N + blockIdx.x * 8 + 2 * t;
    to[0] = c[0];
    to[1] = c[1];
    to[8 * N] = c[2];
    to[8 * N + 1] = c[3];
}
";
    let cases = [(
        "to[1] = c[1];\n    to[8 * N] = c[2];",
        "to[1] = c[2];\n    to[8 * N] = c[1];",
        "`c[1]` is for [row][column + 1], `c[2]` for [row + 8]",
    )];
    all(kernel, "--arch compute_80 --layout nt --m 32 --n 32 --k 32 --grid N/8,M/16 --block 32", &cases);
}
