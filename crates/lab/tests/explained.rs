//! What is said of wrong, wasteful and unusual kernels: the words that tell the cause.

mod lab;

use std::fs;

use lab::{Output, lacks, on};

/// Places of a thread's element, and the guard.
const PLACE: &str = "int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;\n\
                     if (r >= M || c >= N) return;\nfloat s = 0;\n";
const TAKES: &str = "const float* A, const float* B, float* C, int M, int N, int K";
const SUM: &str = "for (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * N + c];\n";

/// `lab try` of a kernel with these parameters and this body.
fn tried(name: &str, takes: &str, body: &str, words: &str) -> Output {
    let text = format!("extern \"C\" __global__ void k({takes}) {{\n{body}}}\n");
    on(name, "try", &text, &format!("--backend emulator --alone {words}"))
}

#[track_caller]
fn says(output: &Output, code: i32, words: &[&str]) {
    let all = format!("{}{}", output.stdout, output.stderr);
    assert_eq!(output.code, code, "{all}");
    words.iter().for_each(|words| assert!(all.contains(words), "{words:?} is not in\n{all}"));
}

#[test]
fn wrong_rows_with_a_period_are_told_as_such() {
    if lacks("") {
        return;
    }
    let body = "float sums[4] = {};\nint c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y * 8;\n\
                for (int k = 0; k < K; ++k)\n#pragma unroll\nfor (int i = 0; i < 8; ++i) sums[i] += A[(r + i) * K + k] * B[k * N + c];\n\
                #pragma unroll\nfor (int i = 0; i < 8; ++i) C[(r + i) * N + c] = sums[i];\n";
    let output = tried("period", TAKES, body, "--block 32,4 --grid 2,2 --size 64");
    says(&output, 1, &["row % 8 ≥ 4", "0.50 times what the product needs", "as beyond the end of a local array"]);
}

#[test]
fn nan_is_told_by_where_it_comes_from() {
    if lacks("") {
        return;
    }
    let stored =
        tried("stored", TAKES, &format!("{PLACE}{SUM}C[r * N + c] = r % 4 == 3 ? 0.0f / 0.0f : s;\n"), "--size 64");
    says(&stored, 1, &["row % 4 = 3", "; all of them are NaN\n", "the NaN is not from C"]);
    let read = tried("read", TAKES, &format!("{PLACE}{SUM}C[r * N + c] = s + 0 * C[r * N + c];\n"), "--size 64");
    says(&read, 1, &["is C read although beta is 0?"]);
    let with_beta = format!("{TAKES}, float alpha, float beta");
    let guard = "if (c % 2 == 0) C[r * N + c] = alpha * s + beta * C[r * N + c];\n";
    let kept = tried("kept", &with_beta, &format!("{PLACE}{SUM}{guard}"), "--size 64");
    says(&kept, 1, &["column % 2 = 1", "; all of them are as before the launch\n"]);
}

#[test]
fn an_input_that_is_written_is_named() {
    if lacks("") {
        return;
    }
    let takes = "float* result, const float* left, const float* right, int M, int N, int K";
    let body = format!(
        "{PLACE}for (int k = 0; k < K; ++k) s += left[r * K + k] * right[k * N + c];\nresult[r * N + c] = s;\n"
    );
    let never = "the kernel wrote to A, which is an input, and never to C: are the arguments in the kernel's order?";
    let square = tried("order", takes, &body, "--args A,B,C,M,N,K --size 64");
    says(&square, 1, &[never, "--args C,A,B,M,N,K"]);
    // C is larger than A: a fault comes first.
    let beyond = tried("order-beyond", takes, &body, "--args A,B,C,M,N,K --m 64 --n 96 --k 32");
    says(&beyond, 1, &["past the end of A", "--args C,A,B,M,N,K"]);
    let takes = TAKES.replace("const ", "");
    let both = tried("both", &takes, &format!("{PLACE}{SUM}C[r * N + c] = s;\nB[c] = 1;\n"), "--m 1 --n 32 --k 8");
    says(&both, 0, &["the kernel wrote to B, which is an input\n"]);
}

#[test]
fn layouts_are_found_and_reported_in_their_own_terms() {
    if lacks("") {
        return;
    }
    let columns = format!("{PLACE}for (int k = 0; k < K; ++k) s += A[r + k * M] * B[k + c * K];\nC[r + c * M] = s;\n");
    let sizes = "--m 64 --n 96 --k 128";
    says(&tried("columns", TAKES, &columns, sizes), 2, &["--layout column"]);
    let right = tried("columns", TAKES, &columns, &format!("{sizes} --layout column"));
    says(&right, 0, &["C (64 x 96) = A (64 x 128) * B (128 x 96)"]);
    // A row that is wrong by columns is a row of C.
    let wrong = columns.replace("= s;\n}", "").replace("C[r + c * M] = s;", "C[r + c * M] = r == 5 ? 0 : s;");
    let wrong = tried("columns-wrong", TAKES, &wrong, &format!("{sizes} --layout column"));
    says(&wrong, 1, &["C[5][0] is 0.0", "all wrong elements are in row 5"]);
    let transposed =
        format!("{PLACE}for (int k = 0; k < K; ++k) s += A[r * K + k] * B[c * K + k];\nC[r * N + c] = s;\n");
    says(&tried("transposed", TAKES, &transposed, sizes), 2, &["if B is read as N x K, transposed: --layout nt"]);
    says(&tried("transposed", TAKES, &transposed, &format!("{sizes} --layout nt")), 0, &["B stored N×K"]);
}

#[test]
fn work_beyond_the_product_is_named() {
    if lacks("") {
        return;
    }
    let body = format!("{PLACE}{SUM}C[r * N + c] = s;\n");
    let four = tried("four", TAKES, &body, "--size 64 --grid 2,2,4");
    says(&four, 0, &["2,097,152 FLOPs", "4.0 times what the product needs"]);
    let once = tried("once", TAKES, &body, "--size 65");
    assert!(once.code == 0 && !once.stdout.contains("the product needs"), "{once:?}");
}

#[test]
fn shared_memory_beyond_the_usual_needs_a_word_of_the_host() {
    if lacks("") {
        return;
    }
    let kernel = format!(
        "__global__ void k({TAKES}) {{\nextern __shared__ float room[];\n{PLACE}{SUM}room[threadIdx.y * 32 + threadIdx.x] = s;\n\
         C[r * N + c] = room[threadIdx.y * 32 + threadIdx.x];\n}}\n"
    );
    let words = "--backend emulator --alone --size 64 --block 32,32 --grid 2,2";
    let set = "cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536)";
    let alone = on("dynamic", "try", &kernel, &format!("{words} --shared 65536"));
    says(&alone, 0, &["note: 65536 bytes of dynamic shared memory are more than 49152", set]);
    let host = |before: &str| {
        format!("{kernel}int main() {{\n{before}k<<<dim3(2, 2), dim3(32, 32), 65536>>>(0, 0, 0, 64, 64, 64);\n}}\n")
    };
    let without = on("dynamic", "try", &host(""), "--backend emulator --alone");
    says(&without, 0, &["k.cu:11: this launch fails on a GPU", set]);
    let with = on("dynamic", "try", &host(&format!("{set};\n")), "--backend emulator --alone");
    assert!(with.code == 0 && !with.stderr.contains("dynamic shared memory are more"), "{with:?}");
    let few = on("dynamic", "try", &kernel, &format!("{words} --shared 8192"));
    assert!(few.code == 0 && !few.stderr.contains("more than"), "{few:?}");
}

#[test]
fn halves_are_factors_and_sums_in_them_are_told() {
    if lacks("cuda_fp16.h") {
        return;
    }
    let halves = TAKES.replace("float", "__half") + ", __half alpha, __half beta";
    let store =
        "C[r * N + c] = __float2half(__half2float(alpha) * s + __half2float(beta) * __half2float(C[r * N + c]));\n";
    let sum = "for (int k = 0; k < K; ++k) s += __half2float(A[r * K + k]) * __half2float(B[k * N + c]);\n";
    let text = |sums: &str, sum: &str, store: &str| {
        let place = PLACE.replace("float s", sums);
        format!("#include <cuda_fp16.h>\n__global__ void k({halves}) {{\n{place}{sum}{store}}}\n")
    };
    let words = "--backend emulator --alone --size 64";
    let wide = on("halves", "try", &text("float s", sum, store), words);
    says(&wide, 0, &["alpha=1.5 beta=0.5", "check       right"]);
    let narrow = "for (int k = 0; k < K; ++k) s = __hfma(A[r * K + k], B[k * N + c], s);\n";
    let store = "C[r * N + c] = alpha * s + beta * C[r * N + c];\n";
    let text = text("__half s", narrow, store);
    says(&on("halves", "try", &text, words), 0, &["kernel      k, f16-sum", "sums        in f16: fma of f16"]);
    let narrow = on("halves", "try", &text, &format!("{words} --dtype f16"));
    says(&narrow, 1, &["sums        in f16: fma of f16", "wrong elements are close to right: the kernel sums in f16"]);
}

/// A transpose whose loads of shared memory meet in one bank.
const TURN: &str = "extern \"C\" __global__ void turn(const float* in, float* out) {\n__shared__ float s[32][32];\n\
                    int x = threadIdx.x, y = threadIdx.y;\ns[y][x] = in[32 * y + x];\n__syncthreads();\nout[32 * y + x] = s[x][y];\n}\n";

#[test]
fn sanitize_counts_any_kernel() {
    if lacks("") {
        return;
    }
    let words = "--grid 1 --block 32,32 --arg in:f32[1024]=range --arg out:f32[1024]";
    let output = on("turn", "sanitize", TURN, &format!("{words} --counters --annotate"));
    says(
        &output,
        0,
        &[
            "shared loads              32           1,024        32.00    1.00             4,096",
            "no launch there takes less than 0.53 µs: shared memory",
            "32.00 (1.00)    6 | out[32 * y + x] = s[x][y];",
        ],
    );
    let json = on("turn", "sanitize", TURN, &format!("{words} --counters --json"));
    let said: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(said["launches"][0]["counted"]["total"]["shared_load"]["wavefronts"], 1024);
    let plain = on("turn", "sanitize", TURN, words);
    assert!(plain.code == 0 && !plain.stdout.contains("wavefronts"), "{plain:?}");
    let folder = lab::scratch("turn-file");
    let file = folder.join("heat.txt");
    let apart = on("turn", "sanitize", TURN, &format!("{words} --annotate={}", file.display()));
    assert_eq!(apart.stdout, plain.stdout);
    assert!(fs::read_to_string(file).unwrap().contains("32.00 (1.00)"));
}

/// A product by tiles of 16 with this guard of the element, and the launch that host code has, on whole tiles.
fn tiled(guard: &str) -> String {
    format!(
        "__global__ void product(float* C, const float* A, const float* B, int m, int n, int k) {{\n\
         __shared__ float a[16][16], b[16][16];\nint x = threadIdx.x, y = threadIdx.y;\n\
         int r = blockIdx.y * 16 + y, c = blockIdx.x * 16 + x;\nfloat s = 0;\n\
         for (int i = 0; i < (n + 15) / 16; ++i) {{\n\
         a[y][x] = r < m && i * 16 + x < n ? A[r * n + i * 16 + x] : 0;\n\
         b[y][x] = c < k && i * 16 + y < n ? B[(i * 16 + y) * k + c] : 0;\n__syncthreads();\n\
         for (int j = 0; j < 16; ++j) s += a[y][j] * b[j][x];\n__syncthreads();\n}}\n\
         if ({guard}) C[r * k + c] = s;\n}}\n\
         int main() {{\nfloat *a, *b, *c;\nint m = 64, n = 64, k = 64;\n\
         product<<<dim3((k + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(c, a, b, m, n, k);\n}}\n"
    )
}

#[test]
fn a_kernel_that_is_right_on_whole_tiles_is_tried_off_them() {
    if lacks("") {
        return;
    }
    let words = "--backend emulator --alone";
    let swapped = "if the kernel's K is the columns of C, and its N those of A: --args C,A,B,M,K,N";
    let right = on("off-tiles", "try", &tiled("r < m && c < k"), words);
    says(&right, 0, &["check       right", "note: right on 69×45×39 as well, off its tiles", swapped]);
    let wrong = on("off-tiles", "try", &tiled("r <= m && c <= k"), words);
    says(
        &wrong,
        1,
        &["check       right", "note: wrong on 69×45×39, off its tiles", "--m 69 --n 45 --k 39", swapped, "k.cu:13"],
    );
    // Whoever names sizes means those; and who guards nothing, or counts whole blocks, is for whole tiles.
    let named = on("off-tiles", "try", &tiled("r <= m && c <= k"), &format!("{words} --size 64"));
    assert!(named.code == 0 && !named.stderr.contains("off its tiles"), "{named:?}");
    for whole in [
        tiled("true").replace("r < m && i * 16 + x < n ?", "true ?").replace("c < k && i * 16 + y < n ?", "true ?"),
        tiled("r < m && c < k").replace("(k + 15) / 16, (m + 15) / 16", "k / 16, m / 16"),
    ] {
        let output = on("off-tiles", "try", &whole, words);
        assert!(output.code == 0 && !output.stderr.contains("off its tiles"), "{output:?}");
    }
}

#[test]
fn a_buffer_of_another_type_than_the_pointers_is_refused() {
    if lacks("") {
        return;
    }
    let text = "__global__ void twice(const double* in, float* out) { out[threadIdx.x] = 2 * in[threadIdx.x]; }\n";
    let words = |of: &str| format!("--grid 1 --block 32 --arg in:{of}[32]=ones --arg out:f32[32]");
    let output = on("pointed", "sanitize", text, &words("f32"));
    says(&output, 2, &["its elements are f32, and the parameter is `const double* in`: in:f64[32]"]);
    assert_eq!(on("pointed", "sanitize", text, &words("f64")).code, 0);
}

#[test]
fn an_index_that_is_wrong_is_told_by_what_comes_instead() {
    if lacks("") {
        return;
    }
    let sizes = "--m 64 --n 32 --k 48 --block 16,16 --grid N/16,M/16";
    let place =
        "int x = threadIdx.x, y = threadIdx.y, c = blockIdx.x * 16 + x, r = blockIdx.y * 16 + y;\nfloat s = 0;\n";
    let sum = |index: &str, end: &str| {
        format!("{place}for (int k = 0; k < {end}; ++k) s += A[{index}] * B[k * N + c];\nC[r * N + c] = s;\n")
    };
    let said = |name: &str, body: &str, words: &[&str]| says(&tried(name, TAKES, body, sizes), 1, words);
    said("rows-apart", &sum("r * N + k", "K"), &["rows of A are taken 32 elements apart, and they lie 48 apart"]);
    said(
        "steps",
        &sum("r * K + k", "K / 32 * 32"),
        &["the products of steps 32 to 47 along K are left out", "rounded up"],
    );
    let tiles = |fill: &str, zero: &str| {
        format!(
            "{place}__shared__ float a[16][16], b[16][16];\nfor (int k0 = 0; k0 < K; k0 += 16) {{\n\
             a[y][x] = A[r * K + k0 + x]; {fill} = B[(k0 + y) * N + c];\n__syncthreads();\n{zero}\
             for (int k = 0; k < 16; ++k) s += a[y][k] * b[k][x];\n__syncthreads();\n}}\nC[r * N + c] = s;\n"
        )
    };
    said("turned", &tiles("b[x][y]", ""), &["B is taken transposed within squares of 16 x 16"]);
    said(
        "anew",
        &tiles("b[y][x]", "s = 0;\n"),
        &["of steps 0 to 31 along K are left out: only the last 16 steps are in it", "inside the loop"],
    );
    let persistent = "float s = 0;\nfor (int t = blockIdx.x; t < M / 16 * (N / 16); t += gridDim.x) {\n\
                      int r = t / (N / 16) * 16 + threadIdx.y, c = t % (N / 16) * 16 + threadIdx.x;\n\
                      for (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * N + c];\nC[r * N + c] = s;\n}\n";
    let kept = tried("kept-sum", TAKES, persistent, "--m 64 --n 32 --k 48 --block 16,16 --grid 3");
    says(&kept, 1, &["A sum begins with 0 in each turn, inside the loop over tiles"]);
    let scaled = tried(
        "scaled",
        &format!("{TAKES}, float alpha, float beta"),
        &sum("r * K + k", "K").replace("= s;", "= alpha * (s + beta * C[r * N + c]);"),
        &format!("{sizes} --args A,B,C,M,N,K,alpha=2,beta=0.5"),
    );
    says(&scaled, 1, &["beta * C is multiplied by alpha, too"]);
}

#[test]
fn a_copy_is_told_by_what_it_lacks() {
    if lacks("") {
        return;
    }
    let copy = "asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4;\" :: \"r\"((unsigned)__cvta_generic_to_shared(&s[i & 1][t])), \"l\"(in + 64 * i + t) : \"memory\");\n";
    let kernel = |commit: &str, wait: &str| {
        format!(
            "extern \"C\" __global__ void k(const float* in, float* out) {{\n__shared__ float s[2][64]; int t = threadIdx.x, i = 0;\n\
             {copy}{commit}for (int n = 0; n < 4; ++n) {{\ni = n + 1;\nif (i < 4) {copy}{commit}{wait}__syncthreads();\n\
             out[64 * n + t] = s[n & 1][63 - t];\n__syncthreads();\n}}\n}}\n"
        )
    };
    let commit = "asm volatile(\"cp.async.commit_group;\" ::: \"memory\");\n";
    let wait = |n: u32| format!("asm volatile(\"cp.async.wait_group {n};\" ::: \"memory\");\n");
    let words = "--arch compute_80 --grid 1 --block 64 --arg in:f32[256]=range --arg out:f32[256]";
    let said = |name: &str, text: &str, words_of: &[&str]| says(&on(name, "sanitize", text, words), 1, words_of);
    assert_eq!(on("copied", "sanitize", &kernel(commit, &wait(1)), words).code, 0);
    said("uncommitted", &kernel("", &wait(0)), &["has not committed its copy", "`cp.async.commit_group`"]);
    said("unawaited", &kernel(commit, &wait(2)), &["may leave 2 groups under way", "`cp.async.wait_group 1`"]);
    said("unheeded", &kernel(commit, ""), &["has not waited for its copy"]);
}

#[test]
fn a_race_is_told_by_what_is_missing_where() {
    if lacks("") {
        return;
    }
    let kernel = |body: &str| {
        format!(
            "extern \"C\" __global__ void k(float* in, float* out, int n) {{\n__shared__ float s[64]; int t = threadIdx.x;\n{body}}}\n"
        )
    };
    let words = "--grid 2 --block 64 --arg in:f32[256]=range --arg out:f32[128]=zeros --arg 4";
    let said =
        |name: &str, body: &str, words_of: &[&str]| says(&on(name, "sanitize", &kernel(body), words), 1, words_of);
    let turns = "float a = 0;\nfor (int i = 0; i < n; ++i) {\ns[t] = in[64 * i + t];\n__syncthreads();\na += s[63 - t];\n}\nout[64 * blockIdx.x + t] = a;\n";
    said(
        "turns",
        turns,
        &[
            "the store at k.cu:5 is of the turn behind that of the load at k.cu:7: one belongs behind k.cu:7, before k.cu:5 comes round again",
        ],
    );
    said(
        "in-place",
        "s[t] = in[t];\n__syncwarp();\nif (t < 31) s[t] += s[t + 1];\n__syncwarp();\nout[64 * blockIdx.x + t] = s[t];\n",
        &["all load, then a barrier", "then all store"],
    );
    said("same-sum", "out[t] += in[t];\n", &["thread blocks add to one element: `atomicAdd`"]);
    said(
        "apart",
        "out[t + 32 * blockIdx.x] = in[t] + blockIdx.x;\n",
        &["is the row's length in the index that of this matrix"],
    );
    said(
        "ended",
        "if (t > 40) return;\ns[t] = in[t];\n__syncthreads();\nout[64 * blockIdx.x + t] = s[t + 1] + 1;\n",
        &["some threads had ended"],
    );
}

#[test]
fn an_mbarrier_is_told_by_its_phases_and_bytes() {
    if lacks("") {
        return;
    }
    let kernel = |parity: &str, bytes: &str| {
        format!(
            "#define AT(p) ((unsigned)__cvta_generic_to_shared(p))\nextern \"C\" __global__ void k(const float* in, float* out) {{\n\
             __shared__ __align__(128) float s[64]; __shared__ unsigned long long full; int t = threadIdx.x;\n\
             if (t == 0) asm volatile(\"mbarrier.init.shared.b64 [%0], 1; fence.proxy.async;\" :: \"r\"(AT(&full)) : \"memory\");\n__syncthreads();\n\
             for (int i = 0; i < 2; ++i) {{\nif (t == 0) {{\nasm volatile(\"mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;\" :: \"r\"(AT(&full)), \"r\"({bytes}) : \"memory\");\n\
             for (int h = 0; h < 2; ++h) asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];\" \
             :: \"r\"(AT(s + 32 * h)), \"l\"(in + 64 * i + 32 * h), \"r\"(AT(&full)) : \"memory\");\n}}\n\
             asm volatile(\"{{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra AGAIN; }}\" :: \"r\"(AT(&full)), \"r\"({parity}) : \"memory\");\n\
             out[64 * i + t] = s[t];\n__syncthreads();\n}}\n}}\n"
        )
    };
    let words = "--arch compute_90a --grid 1 --block 64 --arg in:f32[128]=range --arg out:f32[128]";
    let said = |name: &str, text: &str, words_of: &[&str]| says(&on(name, "sanitize", text, words), 1, words_of);
    assert_eq!(on("phases", "sanitize", &kernel("i & 1", "256"), words).code, 0);
    said("parity", &kernel("0", "256"), &["was for phase 0 (parity 0) of full", "comes in phase 1 (parity 1)"]);
    said("too-few", &kernel("i & 1", "128"), &["128 have come and 128 more are under way: 256 in all"]);
    said("too-many", &kernel("i & 1", "384"), &["they have brought 256 bytes, and 384 were expected"]);
}

#[test]
fn a_product_is_told_by_which_of_its_parts_are_wrong() {
    if lacks("") {
        return;
    }
    let place = "int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;\nfloat s = 0;\n";
    let sizes = "--m 64 --n 32 --k 48 --block 16,16 --grid N/16,M/16";
    let said = |name: &str, body: &str, words: &str, says_of: &str| {
        says(
            &tried(name, TAKES, &format!("{place}{body}C[r * N + c] = s;\n"), &format!("{sizes} {words}")),
            1,
            &[says_of],
        );
    };
    let twice = "for (int k = 0; k < K; ++k) { int j = k < 32 ? k : k - 16; s += A[r * K + j] * B[j * N + c]; }\n";
    said("twice", twice, "", "of steps 32 to 47 along K are left out, and those of steps 16 to 31 come twice");
    said("nothing", "for (int k = 0; k < K; ++k) s += 0 * A[r * K + k] * B[k * N + c];\n", "", "no product comes to C");
    let odd = "for (int k = 0; k < K; k += 2) s += A[r * K + k] * B[c * K + k];\n";
    said("nt-odd", odd, "--layout nt", "the products of steps 1, 3, 5 and more along K are left out");
    let scaled = format!(
        "{place}for (int k = 0; k < K; ++k) {{ s += A[r * K + k] * B[k * N + c]; if (k % 16 == 15) s *= alpha; }}\nC[r * N + c] = s;\n"
    );
    let scaled =
        tried("powers", &format!("{TAKES}, float alpha"), &scaled, &format!("{sizes} --args A,B,C,M,N,K,alpha=1.5"));
    says(&scaled, 1, &["comes with alpha to the power of 3: alpha is multiplied once, behind the loop"]);
    let body = "int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;\nif (r >= M || c >= N) return;\nfloat s = 0;\n";
    let body = format!("{body}for (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * N + c];\nC[r * N + c] = s;\n");
    let axes = tried("axes", TAKES, &body, "--m 128 --n 32 --k 8 --block 16,16 --grid M/16,N/16");
    says(&axes, 1, &["rows from 32 on are not written", "are x and y of the grid exchanged?"]);
}

#[test]
fn a_launch_that_is_wrong_is_named_by_its_line() {
    if lacks("") {
        return;
    }
    let kernel = "__global__ void k(const float* in, float* out, int w) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    out[y * w + x] = 2 * in[y * w + x];
}
void run(const float* in, float* out, int w, int h) {
    dim3 grid(w / 16, h / 16);
    k<<<grid, dim3(16, 16)>>>(in, out, w);
}
";
    let words = "--arg in:f32[2048]=ones --arg out:f32[2048] --arg 64 --set h=32 --set w=64 --expect out=2";
    says(&on("line", "sanitize", kernel, words), 0, &[]);
    let turned = on("line", "sanitize", &kernel.replace("grid(w / 16, h / 16)", "grid(h / 16, w / 16)"), words);
    says(
        &turned,
        1,
        &[
            "x and y of the grid, or of `blockIdx`, are exchanged. The launch is at",
            "k.cu:7, its grid is made at line 6",
        ],
    );
}

/// A product of 64 x 16 by `wgmma`, its tiles stored with a swizzle of 128 bytes.
const WGMMA: &str = "#include <cuda_fp16.h>
__device__ unsigned long long of(const void* p) {
    return (unsigned long long)(((unsigned)__cvta_generic_to_shared(p) & 0x3ffff) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
__global__ void k(const __half* A, const __half* B, float* C) {
    __shared__ __align__(1024) __half all[80 * 64];
    for (int i = threadIdx.x; i < 80 * 64; i += 128) {
        int r = i / 64, c = i % 64;
        all[r * 64 + (c / 8 ^ r % 8) * 8 + c % 8] = r < 64 ? A[i] : B[i - 4096];
    }
    asm volatile(\"fence.proxy.async;\" ::: \"memory\");
    __syncthreads();
    float d[8] = {};
    asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");
    for (int s = 0; s < 4; ++s)
        asm volatile(\"{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p, 1, 1, 0, 0;}\"
            : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]), \"+f\"(d[4]), \"+f\"(d[5]), \"+f\"(d[6]), \"+f\"(d[7])
            : \"l\"(of(all) + s * 2), \"l\"(of(all + 4096) + 2 * s));
    asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");
    asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");
    int w = threadIdx.x / 32, l = threadIdx.x % 32;
    for (int i = 0; i < 8; ++i) C[(w * 16 + l / 4 + i / 2 % 2 * 8) * 16 + i / 4 * 8 + l % 4 * 2 + i % 2] = d[i];
}
";

#[test]
fn what_a_descriptor_and_a_wait_of_wgmma_lack_is_told() {
    if lacks("cuda_fp16.h") {
        return;
    }
    let number = |at: usize| (at * at * 31 % 97) % 3;
    let file = |name: &str, bytes: Vec<u8>| {
        let file = lab::scratch(&format!("wgmma-{name}")).join("numbers");
        fs::write(&file, bytes).unwrap();
        file.display().to_string()
    };
    let halves = |from: usize, count: usize| {
        (from..from + count).flat_map(|at| [0u16, 0x3c00, 0x4000][number(at)].to_le_bytes()).collect()
    };
    let sum =
        |at: usize| (0..64).map(|k| number(at / 16 * 64 + k) * number(7 + at % 16 * 64 + k)).sum::<usize>() as f32;
    let (a, b) = (file("a", halves(0, 4096)), file("b", halves(7, 1024)));
    let c = file("c", (0..1024).flat_map(|at| sum(at).to_le_bytes()).collect());
    let words = format!(
        "--arch compute_90a --grid 1 --block 128 --arg A:f16[4096]=@{a} --arg B:f16[1024]=@{b} --arg C:f32[1024] --expect C=@{c}"
    );
    says(&on("wgmma", "sanitize", WGMMA, &words), 0, &[]);
    let cases = [
        (
            "64ull << 32",
            "32ull << 32",
            "`wgmma` reads the tile of A and that of B otherwise than it lies: its first 8 lines are right",
        ),
        ("1ull << 62", "2ull << 62", "So it is the swizzle"),
        (
            "wait_group.sync.aligned 0",
            "wait_group.sync.aligned 1",
            "the wait of line 20 leaves the last group of products under way",
        ),
    ];
    for (from, to, cure) in cases {
        says(&on("wgmma", "sanitize", &WGMMA.replace(from, to), &words), 1, &[cure]);
    }
}
