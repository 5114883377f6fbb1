//! What a right kernel is taken for by its own word: another layout, another product, another architecture; and what is not taken for one.

mod lab;

use lab::{Output, lacks, on};

/// A product, one thread for each element: `head` is the file's comment, `sum` and `store` its statements.
fn kernel(head: &str, sum: &str, store: &str) -> String {
    format!(
        "// {head}\n__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {{\n\
         int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;\nif (r >= M || c >= N) return;\n\
         float s = 0;\nfor (int k = 0; k < K; ++k) {sum};\n{store};\n}}\n"
    )
}

const PLAIN: &str = "s += A[r * K + k] * B[k * N + c]";
const STORE: &str = "C[r * N + c] = s";

fn tried(name: &str, text: &str, words: &str) -> Output {
    on(name, "try", text, &format!("--backend emulator --alone {words}"))
}

#[track_caller]
fn says(output: &Output, code: i32, words: &[&str]) {
    let all = format!("{}{}", output.stdout, output.stderr);
    assert_eq!(output.code, code, "{all}");
    words.iter().for_each(|words| assert!(all.contains(words), "{words:?} is not in\n{all}"));
}

const SIZES: &str = "--m 24 --n 40 --k 33";

#[test]
fn every_layout_is_taken_by_the_files_word() {
    if lacks("") {
        return;
    }
    let a = [("r * K + k", "A by rows"), ("r + k * M", "A column-major")];
    let b = [("k * N + c", "B by rows"), ("k + c * K", "B column-major")];
    let c = [("r * N + c", "C by rows"), ("r + c * M", "C column-major")];
    let names = ["row", "rrc", "nt", "rcc", "tn", "crc", "tt", "column"];
    let mut names = names.iter();
    for (of_a, said_a) in a {
        for (of_b, said_b) in b {
            for (of_c, said_c) in c {
                let name = names.next().unwrap();
                let head = format!("C = A * B, {said_a}, {said_b}, {said_c}");
                let text = kernel(&head, &format!("s += A[{of_a}] * B[{of_b}]"), &format!("C[{of_c}] = s"));
                let output = tried(name, &text, SIZES);
                says(&output, 0, &["check       right"]);
                let told = output.stderr.contains(&format!("--layout {name}; the file says so"));
                assert!(told || *name == "row", "{output:?}");
                says(
                    &tried(name, &text, &format!("{SIZES} --layout {name}")),
                    0,
                    &["C (24 x 40) = A (24 x 33) * B (33 x 40)"],
                );
            }
        }
    }
}

#[test]
fn a_layout_is_asked_for_where_the_file_says_nothing_and_wrong_where_it_says_another() {
    if lacks("") {
        return;
    }
    let transposed = "s += A[r * K + k] * B[c * K + k]";
    let silent = kernel("Some kernel", transposed, STORE);
    let hint = "every element is right if B is read as N x K, transposed: --layout nt";
    says(
        &tried("silent", &silent, SIZES),
        2,
        &["it is not C = A * B, and the file does not say what else is meant", hint],
    );
    let other = kernel("C = A * B, all row-major", transposed, STORE);
    says(&tried("other", &other, SIZES), 1, &["the product is wrong in", hint]);
    let almost = kernel("C = A * B^T", "s += A[r * K + k] * B[c * K + k] * (k < 32)", STORE);
    says(&tried("almost", &almost, SIZES), 1, &["the product is wrong in"]);
}

#[test]
fn a_product_is_what_the_file_says_it_is() {
    if lacks("") {
        return;
    }
    let square = "--m 40 --n 40 --k 40";
    for (name, head, sum, store, product) in [
        ("added", "C += A * B", PLAIN, "C[r * N + c] += s", "C += A * B"),
        ("taken-off", "C -= A * B", PLAIN, "C[r * N + c] -= s", "C -= A * B"),
        ("scaled", "C = 0.5 * A * B", PLAIN, "C[r * N + c] = 0.5f * s", "C = 0.5 * A * B"),
        (
            "lower",
            "C = L * B, L lower triangular",
            "if (k <= r) s += A[r * K + k] * B[k * N + c]",
            STORE,
            "C = lower(A) * B",
        ),
        (
            "unit",
            "C = U * B, U upper triangular with a unit diagonal",
            "s += (k > r ? A[r * K + k] : k == r) * B[k * N + c]",
            STORE,
            "C = unit_upper(A) * B",
        ),
        (
            "right-side",
            "C = A * L with L the strictly lower triangle",
            "if (k > c) s += A[r * K + k] * B[k * N + c]",
            STORE,
            "C = A * strictly_lower(B)",
        ),
        (
            "symmetric",
            "symm: only the upper triangle of a is read",
            "s += A[k >= r ? r * K + k : k * K + r] * B[k * N + c]",
            STORE,
            "C = symmetric_upper(A) * B",
        ),
        ("cut", "C = relu(A * B)", PLAIN, "C[r * N + c] = s > 0 ? s : 0", "C = relu(A * B)"),
        (
            "part",
            "syr2k-like, only the lower triangle of C is written",
            PLAIN,
            "if (c <= r) C[r * N + c] = s",
            "lower(C) = A * B",
        ),
    ] {
        let text = kernel(head, sum, store);
        let told = format!("if the product is {product}: --product '{product}'; the file says so");
        let taken = tried(name, &text, square);
        says(&taken, 0, &["check       right", &told]);
        // The same of a file that says another product.
        says(&tried(name, &kernel("C = A * B", sum, store), square), 1, &["error: "]);
        let wrong = kernel(head, sum, &format!("if (r == 5 && c < 3) s += 1; {store}"));
        says(&tried(name, &wrong, square), 1, &["error: the product is wrong in"]);
    }
    let more = kernel("C = gelu(A * B)", PLAIN, "C[r * N + c] = s / (1 + expf(-s))");
    let told = "by `gelu` the file says that it is more than a product\nhint: `lab sanitize` runs any kernel";
    says(&tried("more", &more, square), 2, &[told]);
    says(&tried("more", &more, &format!("{square} --product C=A*B")), 1, &["error: the product is wrong in"]);
    let one = "// syrk\n__global__ void k(const float* A, float* C, int N, int K) {}\n";
    says(&tried("one", one, square), 2, &["it is not clear which parameter is B", "`lab sanitize` runs any kernel"]);
    // What lies beside a triangle is not to be written.
    let beside = kernel("only the lower triangle of C is written", PLAIN, "C[r * N + c] = c <= r ? s : 0");
    says(&tried("beside", &beside, square), 1, &["error: the product is wrong in"]);
    let other = kernel("C = L * B with L lower triangular", "if (k < r) s += A[r * K + k] * B[k * N + c]", STORE);
    says(&tried("strict", &other, square), 1, &["error: the product is wrong in"]);
    says(&tried("none", &other, &format!("{square} --product C=B")), 2, &["`C=B` is no product as `C = A * B`"]);
}

#[test]
fn factors_that_are_cut_to_tf32_are_checked_as_such() {
    if lacks("") {
        return;
    }
    let text = "// C = A * B\n__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {\n\
        int g = threadIdx.x / 4, t = threadIdx.x % 4;\nfloat d[4] = {};\nfor (int k = 0; k < K; k += 8) {\n\
        unsigned a[4], b[2];\n#define CUT(x, y) asm(\"cvt.rna.tf32.f32 %0, %1;\" : \"=r\"(x) : \"f\"(y))\n\
        CUT(a[0], A[g * K + k + t]); CUT(a[1], A[(g + 8) * K + k + t]); CUT(a[2], A[g * K + k + t + 4]); CUT(a[3], A[(g + 8) * K + k + t + 4]);\n\
        CUT(b[0], B[(k + t) * N + g]); CUT(b[1], B[(k + t + 4) * N + g]);\n\
        asm volatile(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\"\n\
        : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]));\n}\n\
        C[g * N + 2 * t] = d[0]; C[g * N + 2 * t + 1] = d[1]; C[(g + 8) * N + 2 * t] = d[2]; C[(g + 8) * N + 2 * t + 1] = d[3];\n}\n";
    let words = "--m 16 --n 8 --k 40 --grid 1 --block 32";
    let told = "factors are cut to tf32 (mma m16n8k8), and it is checked as that: --dtype tf32";
    says(&tried("tf32", text, words), 0, &["check       right", told]);
    says(&tried("tf32", text, &format!("{words} --dtype f32")), 1, &["error: the product is wrong in"]);
    let wrong = text.replace("d[2]; C[", "d[3]; C[");
    says(&tried("tf32-wrong", &wrong, words), 1, &["error: the product is wrong in"]);
}

#[test]
fn the_architecture_is_the_first_that_does() {
    if lacks("") {
        return;
    }
    let with = |code: &str| kernel("C = A * B", &format!("{{ {code} {PLAIN}; }}"), STORE);
    let needs = "asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");";
    let told = "note: compiled for compute_90a, since";
    says(&tried("fence", &with(needs), SIZES), 0, &[told, "needs .target sm_90"]);
    says(&tried("fence", &with(needs), &format!("{SIZES} --arch compute_80")), 2, &["needs .target sm_90"]);
    let sums = "if (__reduce_add_sync(__activemask(), 0)) return;";
    says(&tried("sums", &with(sums), SIZES), 0, &["note: compiled for compute_80, since"]);
    // What no architecture has is the file's fault.
    let wrong = tried("wrong", &with("nothing();"), SIZES);
    says(&wrong, 2, &["identifier \"nothing\" is undefined"]);
    assert!(!wrong.stderr.contains("compiled for"), "{wrong:?}");
    // What stands under a condition is compiled where it holds.
    let under = format!("#if __CUDA_ARCH__ >= 900\n{PLAIN};\n#endif\n");
    let under = kernel("C = A * B", &format!("{{\n{under}}}"), STORE);
    says(&tried("under", &under, SIZES), 0, &["check       right"]);
    let sanitized = on(
        "fence-sanitized",
        "sanitize",
        &with(needs),
        "--grid 1 --block 32,32 --arg A:f32[64]=ones --arg B:f32[64]=ones --arg C:f32[64] --arg 8 --arg 8 --arg 8 --expect C=8",
    );
    says(&sanitized, 0, &[told, "verdict   clean"]);
}

#[test]
fn a_matrix_by_a_vector_is_sent_to_sanitize() {
    if lacks("") {
        return;
    }
    for takes in [
        "const float* A, const float* x, float* y, int M, int K, int lda, float alpha, float beta",
        "const float* x, const float* A, float* y, int M, int N",
        "int m, int n, const float* A, int lda, const float* x, int incx, float* y, int incy",
    ] {
        let text = format!("__global__ void k({takes}) {{}}\n");
        says(
            &tried("vector", &text, SIZES),
            2,
            &["it multiplies a matrix by a vector", "hint: `lab sanitize` runs any kernel"],
        );
    }
    let linear = "// y = x * w\n__global__ void k(const float* x, const float* w, float* y, int M, int N, int K) {\n\
        int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;\nif (r >= M || c >= N) return;\n\
        float s = 0;\nfor (int k = 0; k < K; ++k) s += x[r * K + k] * w[k * N + c];\ny[r * N + c] = s;\n}\n";
    says(&tried("linear", linear, SIZES), 0, &["check       right"]);
}

#[test]
fn instances_have_the_types_of_their_launch() {
    if lacks("") {
        return;
    }
    let head = "struct Scale { float by; const float* bias; __device__ float operator()(float s, int c) const { return by * s + (bias ? bias[c] : 0); } };\n\
        template <class Last> __global__ void k(const float* A, const float* B, float* C, int M, int N, int K, Last last) {\n\
        int c = threadIdx.x, r = threadIdx.y;\nif (r >= M || c >= N) return;\nfloat s = 0;\n\
        for (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * N + c];\nC[r * N + c] = last(s, c);\n}\n";
    let explicit = "template __global__ void k<Scale>(const float*, const float*, float*, int, int, int, Scale);\n";
    let launches = |argument: &str| {
        format!("int main() {{ float *A, *B, *C; {argument}; k<<<1, dim3(8, 8)>>>(A, B, C, 8, 8, 8, last); }}\n")
    };
    let by_value =
        "int main() { float *A, *B, *C; k<<<1, dim3(8, 8)>>>(A, B, C, 8, 8, 8, Scale{2.f, nullptr}); }\n".to_string();
    let words =
        "--grid 1 --block 8,8 --arg A:f32[64]=ones --arg B:f32[64]=ones --arg C:f32[64] --arg 8 --arg 8 --arg 8";
    let given = format!("{words} --arg {{f32=2,bias:f32[8]=ones}} --expect C=17");
    for (name, tail) in [
        ("explicit", explicit.to_string()),
        ("value", by_value.clone()),
        ("both", format!("{explicit}{by_value}")),
        ("variable", launches("Scale last{2.f, nullptr}")),
        ("returned", format!("{explicit}{}", launches("auto last = made()"))),
    ] {
        let text = format!("{head}{tail}");
        says(&on(name, "sanitize", &text, &given), 0, &["k<Scale>", "so it is", "verdict   clean"]);
        let refused = tried(name, &text, "--size 8");
        says(&refused, 2, &["`Scale last` is a structure", "`lab sanitize` hands one over"]);
    }
}
