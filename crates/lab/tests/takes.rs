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
    // Nor is what lies beside a triangle to be read: zeros there, or the other half, would hide it.
    let reads = kernel("the lower triangle of A", PLAIN, STORE);
    for product in ["C=lower(A)*B", "C=symmetric_lower(A)*B"] {
        let said = "the kernel reads elements of a factor that its part leaves out";
        says(&tried("reads", &reads, &format!("{square} --product {product}")), 1, &[said]);
    }
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
    let lists =
        "__global__ void k(const float* const* A, const float* const* B, float* const* C, int M, int N, int K) {}\n";
    says(
        &tried("lists", lists, SIZES),
        2,
        &["it takes matrices by a list of their addresses, and `lab try` checks one product"],
    );
    let triangle = "// Y = L * X, L lower triangular\n__global__ void trmm(const float* L, const float* X, float* Y, int n, int m) {\n\
        int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;\nif (r >= n || c >= m) return;\n\
        float s = 0;\nfor (int k = 0; k <= r; ++k) s += L[r * n + k] * X[k * m + c];\nY[r * m + c] = s;\n}\n";
    says(&tried("triangle", triangle, "--m 40 --n 24 --k 40"), 2, &["--args A,B,C,M,N", "C = lower(A) * B"]);
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

/// A kernel of blocks of 16 x 16 with these parameters; row r and column c are those of a thread, `guard` says which have an element.
fn tiles(head: &str, takes: &str, guard: &str, body: &str, host: &str) -> String {
    format!(
        "// {head}\n__global__ void k({takes}) {{\nint c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;\n\
         if (!({guard})) return;\n{body}\n}}\n{host}\n"
    )
}

/// The launch of such a kernel.
fn run(columns: &str, rows: &str, depth: &str, arguments: &str) -> String {
    format!(
        "void run(const float* A, const float* B, float* C, int M, int N, int K) {{\n\
         cudaMemset(C, 0, M * N * sizeof(float));\nconst int slice = (K + 3) / 4;\n\
         k<<<dim3(({columns} + 15) / 16, ({rows} + 15) / 16, {depth}), dim3(16, 16)>>>({arguments});\n}}\n"
    )
}

const INPUTS: &str = "const float* A, const float* B, float* C";
const ROWS: &str = "float s = 0;\nfor (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * N + c];\nC[r * N + c] = s;";

#[test]
fn a_size_is_counted_in_what_the_launch_or_its_name_says() {
    if lacks("") {
        return;
    }
    let body = |n: &str, k: &str| {
        format!(
            "float4 s = {{}};\nfor (int q = 0; q < {k}; ++q) {{\nfloat4 a = A[r * {k} + q];\nconst float f[4] = {{a.x, a.y, a.z, a.w}};\n\
             for (int i = 0; i < 4; ++i) {{\nfloat4 b = B[(q * 4 + i) * {n} + c];\ns.x += f[i] * b.x; s.y += f[i] * b.y; s.z += f[i] * b.z; s.w += f[i] * b.w;\n}}\n}}\n\
             C[r * {n} + c] = s;"
        )
    };
    let vectors = "const float4* A, const float4* B, float4* C, int M";
    let sizes = "--m 40 --n 64 --k 32";
    let of = |head: &str, n: &str, k: &str, host: &str| {
        let guard = format!("r < M && c < {n}");
        tiles(head, &format!("{vectors}, int {n}, int {k}"), &guard, &body(n, k), host)
    };
    let named = of("128-bit loads", "N4", "k_vec", "");
    let told = "M=M N4=N/4 k_vec=K/4";
    says(
        &tried("named", &named, &format!("{sizes} --block 16,16 --grid cdiv(N,64),cdiv(M,16)")),
        0,
        &[told, "check       right"],
    );
    let wrong = named.replace("s.w += f[i] * b.w", "s.w += f[i] * b.z");
    says(&tried("named", &wrong, sizes), 1, &["error: the product is wrong in"]);
    let handed = of("128-bit loads", "width", "inner", &run("N / 4", "M", "1", "A, B, C, M, N / 4, K >> 2"));
    says(&tried("handed", &handed, sizes), 0, &["width=N/4 inner=K/4", "check       right"]);
    let silent = of("128-bit loads", "N", "K", "");
    let asked = "every element is right if N and K are counted in vectors of 4: --args A,B,C,M,N/4,K/4";
    says(&tried("silent", &silent, sizes), 2, &[asked]);

    let body = "float s = 0;\nfor (int k = blockIdx.z * ks; k < min(K, (blockIdx.z + 1) * ks); ++k) s += A[r * K + k] * B[k * N + c];\n\
                atomicAdd(C + r * N + c, s);";
    let split = |k: &str, host: &str| {
        let (takes, inside) = match k {
            "" => ("int ks", "const int K = ks * gridDim.z;\n"),
            _ => ("int K, int ks", ""),
        };
        let takes = format!("{INPUTS}, int M, int N, {takes}");
        tiles("split-K", &takes, "r < M && c < N", &format!("{inside}{body}"), host)
    };
    let sizes = "--m 40 --n 24 --k 36";
    let handed = split("K", &run("N", "M", "4", "A, B, C, M, N, K, slice"));
    says(&tried("slice", &handed, sizes), 0, &["K=K ks=cdiv(K,4)", "check       right"]);
    let alone = split("", &run("N", "M", "4", "A, B, C, M, N, K / 4"));
    says(&tried("slice", &alone, sizes), 0, &["ks=K/4", "check       right"]);
    let rounded = split("K", &run("N", "M", "4", "A, B, C, M, N, K, (slice + 15) / 16 * 16"));
    says(&tried("slice", &rounded, sizes), 0, &["ks=cdiv(cdiv(K,4),16)*16", "check       right"]);
    // Taken for K by its place alone, which is no ground to call it wrong.
    let unclear = "it is not clear what `int ks` stands for, and it is not right as A,B,C,M,N,K\nhint: --args says what each parameter is";
    let words = format!("{sizes} --block 16,16 --grid cdiv(N,16),cdiv(M,16),4");
    says(&tried("slice", &split("", ""), &words), 2, &[unclear]);
}

#[test]
fn columns_and_triangles_that_nobody_names_are_asked_for() {
    if lacks("") {
        return;
    }
    let body = "float s = 0;\nfor (int k = 0; k < K; ++k) s += A[c + k * M] * B[k + r * K];\nC[c + r * M] = s;";
    let host = run("M", "N", "1", "A, B, C, M, N, K");
    let columns = |head: &str| tiles(head, &format!("{INPUTS}, int M, int N, int K"), "c < M && r < N", body, &host);
    let asked = "every element is right if A, B and C are read by columns, as BLAS does: --layout column";
    says(&tried("columns", &columns("C = A * B"), SIZES), 2, &["the file does not say what else is meant", asked]);
    says(&tried("columns", &columns("C = A * B, row-major"), SIZES), 1, &["error: "]);
    let alone = columns("C = A * B").replace(&host, "").replace("16", "32");
    says(
        &tried("columns", &alone, SIZES),
        2,
        &["--grid 'cdiv(M,32),cdiv(N,32)', and if A, B and C are read by columns"],
    );

    let triangle = |first: &str, second: &str| {
        let body = format!(
            "float s = 0;\nfor (int k = 0; k <= r; ++k) s += A[r * {first} + k] * B[k * {second} + c];\nC[r * {second} + c] = s;"
        );
        let (takes, guard) = (format!("{INPUTS}, int n, int m"), format!("r < {first} && c < {second}"));
        tiles("B := tril(A) * B", &takes, &guard, &body, "").replace("16", "32")
    };
    let product = "if the product is C = lower(A) * B: --product 'C = lower(A) * B'";
    says(&tried("triangle", &triangle("m", "n"), "--m 40 --n 24 --k 40"), 0, &[product, "check       right"]);
    let asked = |words: &str| format!("{words}, and {product}");
    let order = "if its sizes are in this order: --args A,B,C,M,N";
    says(&tried("triangle", &triangle("n", "m"), "--m 40 --n 24 --k 40"), 2, &[&asked(order)]);
    let bound = "with --k 40, since no argument of the kernel says K";
    says(&tried("triangle", &triangle("m", "n"), "--m 40 --n 24 --k 56"), 2, &[&asked(bound)]);
    let right = "// X = B * U, U upper triangular\n__global__ void k(const float* B, const float* U, float* X, int m, int n) {\n\
        int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;\nif (r >= m || c >= n) return;\n\
        float s = 0;\nfor (int k = 0; k <= c; ++k) s += B[r * n + k] * U[k * n + c];\nX[r * n + c] = s;\n}\n";
    let told = "if its matrices are in this order: --args A,B,C,M,N, and if the product is C = A * upper(B)";
    says(&tried("right-side", right, "--m 24 --n 40 --k 40"), 0, &[told, "the file says so"]);
    // Sizes of the file's own.
    let own = "#define N 32\n__global__ void k(const float* A, const float* B, float* C) {\n\
        int c = threadIdx.x, r = threadIdx.y;\nfloat s = 0;\nfor (int k = 0; k < N; ++k) s += A[r * N + k] * B[k * N + c];\nC[r * N + c] = s;\n}\n";
    says(&tried("own", own, SIZES), 2, &["with --m 32 --n 32 --k 32, as the file has them"]);
    let divided = kernel("C = A * B / K", PLAIN, "C[r * N + c] = s / K");
    says(&tried("divided", &divided, SIZES), 2, &["by `/` the file says that it is more than a product"]);
}

#[test]
fn a_packed_factor_is_told_from_one_that_is_mixed_up() {
    if lacks("") {
        return;
    }
    let host = run("N", "M", "1", "A, B, C, M, N, K");
    let packed = |index: &str| {
        let body = ROWS.replace("B[k * N + c]", &format!("B[{index}]"));
        tiles("Some kernel", &format!("{INPUTS}, int M, int N, int K"), "r < M && c < N", &body, &host)
    };
    let sizes = "--m 40 --n 64 --k 48";
    let told = "B is read as if it lay in tiles, one behind the other: B[0][16] is taken from the place of B[12][0]";
    let panels = packed("(c / 16 * K + k) * 16 + c % 16");
    says(&tried("panels", &panels, sizes), 2, &[told, "hint: `lab try` fills plain matrices"]);
    says(&tried("panels", &panels.replace("s += ", "s = "), sizes), 1, &["error: the product is wrong in"]);
    says(&tried("mixed", &packed("(k ^ 1) * N + c"), sizes), 1, &["error: the product is wrong in"]);
    let all = packed("(c / 16 * K + k) * 16 + c % 16").replace("Some kernel", "Tiled layout of A, B and C");
    let all = all.replace("C[r * N + c] =", "C[(c / 16 * M + r) * 16 + c % 16] =");
    says(&tried("all", &all, sizes), 2, &["by `tiled layout` the file says that a matrix does not lie row by row"]);
}

#[test]
fn a_launch_is_that_of_the_file_or_one_that_the_kernel_bears() {
    if lacks("") {
        return;
    }
    let persistent = "constexpr int BLOCKS = 8;\n__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {\n\
        int tiles = (N + 15) / 16;\nfor (int t = blockIdx.x; t < tiles * ((M + 15) / 16); t += BLOCKS) {\n\
        int r = t / tiles * 16 + threadIdx.y, c = t % tiles * 16 + threadIdx.x;\nif (r >= M || c >= N) continue;\n\
        float s = 0;\nfor (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * N + c];\nC[r * N + c] = s;\n}\n}\n\
        int main() { float *A, *B, *C; k<<<BLOCKS, dim3(16, 16)>>>(A, B, C, 1024, 1024, 512); }\n";
    says(&tried("line", persistent, "--m 50 --n 70 --k 33"), 0, &["grid (8)", "check       right"]);
    says(&tried("line", &persistent.replace("t += BLOCKS", "t += 9"), "--m 50 --n 70 --k 33"), 2, &["--grid X,Y says"]);
    says(&tried("line", &persistent.replace("k < K", "k + 1 < K"), "--m 50 --n 70 --k 33"), 1, &["error: the product"]);
    let alone = "__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {\n\
        int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i >= M * N) return;\nint r = i / N, c = i % N;\n\
        float s = 0;\nfor (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * N + c];\nC[i] = s;\n}\n";
    let told = "--block 256 --grid 'cdiv(M*N,256)'; the file has no launch, and it is checked as that";
    says(&tried("alone", alone, SIZES), 0, &[told]);
    says(&tried("alone", &alone.replace("k < K", "k + 1 < K"), SIZES), 1, &["error: "]);
    // A structure of sizes is none of a matrix, whatever its name.
    let sizes = "struct S { int M, N, K; };\n__global__ void k(const float* A, const float* B, float* C, S p) {}\n";
    says(&tried("sizes", sizes, SIZES), 2, &["`S p` is a structure"]);
}
