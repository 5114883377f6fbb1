//! Kernels, their instances, launches and arguments.

use cuda_source::roles::{Role, Unclear, counted_in_vectors, roles};
use cuda_source::types::Scalar;
use cuda_source::{Extents, Kernel, Program, Sizes, entry_words};

const SIZES: Sizes = Sizes { m: 100, n: 70, k: 50 };

fn read(text: &str) -> Program {
    Program::read("k.cu", text, &[], &mut |_| None)
}

fn kernel(text: &str) -> Kernel {
    let program = read(text);
    assert_eq!(program.kernels().len(), 1, "{text}");
    program.kernels()[0].clone()
}

#[test]
fn what_a_kernel_guards_by_is_known() {
    let text = "__global__ void k(float* C, int M, int N, int K, int Q, int R, int S) {\n\
                for (int i = 0; i < K; ++i) while (i < Q) { C[i << R] = f<S>(1); }\n\
                if (threadIdx.x <= M || N > threadIdx.y) C[0] = 1;\n}\n";
    let program = read(text);
    let guarded: Vec<&str> = program.kernels()[0]
        .parameters
        .iter()
        .filter(|parameter| parameter.guarded)
        .map(|parameter| parameter.name.as_str())
        .collect();
    assert_eq!(guarded, ["M", "N"]);
}

#[test]
fn a_kernel_says_what_it_takes() {
    let text = "namespace a::b {\ntemplate <int BM, const int BN = 8, typename T = float>\n__global__ void __launch_bounds__(256, 2)\n\
                gemm(const T* __restrict__ A, half *B, float (C)[], unsigned int M, size_t n = 4) {}\n}";
    let kernel = kernel(text);
    assert_eq!((kernel.name.as_str(), kernel.plain_name(), kernel.line), ("a::b::gemm", "gemm", 4));
    assert_eq!(kernel.signature(), "a::b::gemm<int BM, const int BN, typename T>");
    assert_eq!(kernel.template[1].default.as_deref(), Some("8"));
    assert_eq!(kernel.launch_bounds.as_deref(), Some("256, 2"));
    let names: Vec<&str> = kernel.parameters.iter().map(|p| p.name.as_str()).collect();
    assert_eq!((names[0], names[1], names[3], names[4]), ("A", "B", "M", "n"));
    let [a, b, ..] = kernel.parameters.as_slice() else { panic!() };
    assert!(a.pointer && a.constant && a.element == "T" && a.scalar.is_none());
    assert!(b.pointer && !b.constant && b.scalar == Some(Scalar::F16));
    assert_eq!(kernel.parameters[3].scalar, Some(Scalar::Whole));
}

#[test]
fn types_have_many_names() {
    for (written, scalar) in [
        ("const float4*", Scalar::F32),
        ("__nv_bfloat16 const *", Scalar::Bf16),
        ("real*", Scalar::F64),
        ("ELEMENT*", Scalar::F16),
        ("std::uint32_t", Scalar::Whole),
        ("unsigned long long", Scalar::Whole),
        ("old *", Scalar::F32),
        ("const int", Scalar::Whole),
    ] {
        let text = format!(
            "using real = double;\ntypedef float old;\n#define ELEMENT half\n__global__ void k({written} x) {{}}"
        );
        assert_eq!(kernel(&text).parameters[0].scalar, Some(scalar), "{written}");
    }
}

#[test]
fn declarations_and_definitions_are_one_kernel() {
    let program = read("__global__ void k(int*);\n__global__ void k(int* x) { }\nextern \"C\" __global__ void l() {}");
    let found: Vec<_> = program.kernels().iter().map(|k| (k.name.as_str(), k.line, k.extern_c)).collect();
    assert_eq!(found, [("k", 2, false), ("l", 3, true)]);
}

/// The instances of the kernel `k`.
fn instances(text: &str) -> Vec<String> {
    let program = read(text);
    let kernel = program.kernels().iter().find(|kernel| kernel.plain_name() == "k").unwrap();
    program.instances(kernel).iter().map(|instance| instance.expression(kernel)).collect()
}

#[test]
fn instances_are_read_from_the_file() {
    let template = "template <int A, int B, typename T = float> __global__ void k(T* x, int n) {}\n";
    for (host, expected) in [
        ("int main() { k<64, 8><<<1, 1>>>(x, n); }", vec!["k<64, 8, float>"]),
        ("#define BM 64\nconst int BN = BM / 8;\nint main() { k<BM, BN><<<1, 1>>>(x, n); }", vec!["k<64, 8, float>"]),
        (
            "int main() { const int b = 4; constexpr int c = b * 2; k<b, c, half><<<1, 1>>>(x, n); }",
            vec!["k<4, 8, half>"],
        ),
        ("int main() { double *y, *x; k<1, 2><<<1, 1>>>(x, n); k<1, 2><<<9, 9>>>(x, n); }", vec!["k<1, 2, double>"]),
        (
            "template <int X, typename U> void run(U* x) { k<X, 2 * 4, U><<<1, 1>>>(x, 3); }\nint main() { run<16, half>(x); }",
            vec!["k<16, 8, half>"],
        ),
        (
            "void f(int b) { if (b == 4) { k<4, 1, half><<<1, 1>>>(x, n); } else k<8, 1, half><<<1, 1>>>(x, n); }\nint main() { f(8); }",
            vec!["k<8, 1, half>", "k<4, 1, half>"],
        ),
        ("template __global__ void k<3, 4, float>(float*, int);", vec!["k<3, 4, float>"]),
        ("int main() { auto f = k<5, 6, float>; f<<<1, 1>>>(x, n); }", vec!["k<5, 6, float>"]),
        ("int f(int count) { k<count, 8><<<1, 1>>>(x, n); }", vec![]),
        ("", vec![]),
    ] {
        assert_eq!(instances(&format!("{template}{host}")), expected, "{host}");
    }
    assert_eq!(instances("__global__ void k(int* x) {}"), Vec::<String>::new());
    assert_eq!(instances("namespace n { __global__ void k(int* x) {} }\nint main() { n::k<<<1, 1>>>(x); }"), ["n::k"]);
}

/// What the only launch comes to.
fn extents(text: &str) -> Result<([u64; 3], [u64; 3], u64), String> {
    let program = read(text);
    let (kernel, launch) = (&program.kernels()[0], &program.launches()[0]);
    let roles = roles(kernel).unwrap();
    let values: Vec<_> = roles.iter().map(|role| SIZES.of(*role)).collect();
    let Extents { grid, block, shared } = program.extents(kernel, launch, &values, Some(&SIZES));
    Ok((grid?, block?, shared?))
}

const GEMM: &str = "__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {}\n";

#[test]
fn launches_are_evaluated() {
    for (host, grid, block, shared) in [
        ("int main() { gemm<<<dim3(2, 3), dim3(32, 8)>>>(a, b, c, 64, 64, 64); }", [2, 3, 1], [32, 8, 1], 0),
        (
            "#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))\nvoid run(int M, int N, int K) { dim3 block(16, 16); dim3 grid(CEIL_DIV(N, block.x), CEIL_DIV(M, block.y));\n gemm<<<grid, block, 2 * 16 * sizeof(float), stream>>>(a, b, c, M, N, K); }",
            [5, 7, 1],
            [16, 16, 1],
            128,
        ),
        (
            "int main() { int rows = 4096, cols = 4096, inner = 4096; int t = 256; gemm<<<(rows * cols + t - 1) / t, t>>>(a, b, c, rows, cols, inner); }",
            [28, 1, 1],
            [256, 1, 1],
            0,
        ),
        (
            "inline int cdiv(int a, int b) { return (a + b - 1) / b; }\nconstexpr int T = 32;\nvoid f(int m, int n, int k) { gemm<<<dim3(cdiv(m, T), cdiv(n, T), 1), T * T>>>(a, b, c, m, n, k); }",
            [4, 3, 1],
            [1024, 1, 1],
            0,
        ),
        (
            "int main() { const int N = 1 << 10; dim3 threads{8, 8}; dim3 blocks((unsigned)ceil((float)N / threads.x), ceil(N / 8.0)); gemm<<<blocks, threads>>>(a, b, c, N, N, N); }",
            [13, 13, 1],
            [8, 8, 1],
            0,
        ),
        (
            "int main() { auto up = [](int a, int b) { return (a + b - 1) / b; }; dim3 g; g.x = up(N, 32); g.y = M > 50 ? 2 : 1 / 0; gemm<<<g, 32>>>(a, b, c, M, N, K); }",
            [3, 2, 1],
            [32, 1, 1],
            0,
        ),
        (
            "int main(int argc, char** argv) { int sizes[] = {16, 32}; for (int s : sizes) { int n = argc > 1 ? atoi(argv[1]) : 4; gemm<<<n, s>>>(a, b, c, M, N, K); } }",
            [4, 1, 1],
            [16, 1, 1],
            0,
        ),
        (
            "void go(int s) { gemm<<<1, s>>>(a, b, c, M, N, K); }\nint main() { int sizes[3] = {16, 32, 64}; for (int i = 0; i < 3; i++) { int s = sizes[i]; go(s); } }",
            [1, 1, 1],
            [16, 1, 1],
            0,
        ),
        (
            "size_t bytes() { size_t a = 2 * 16 * sizeof(half); check(a); return a + 8; }\nvoid run() { static size_t s = bytes(); gemm<<<1, 1, s>>>(a, b, c, M, N, K); }",
            [1, 1, 1],
            [1, 1, 1],
            72,
        ),
        ("int main() { dim3 g(1, 2), t = dim3(4); gemm<<<g, t, 0>>>(a, b, c, M, N, K); }", [1, 2, 1], [4, 1, 1], 0),
        (
            "template <int T> void run() { gemm<<<std::max(M, N) / T, dim3(T)>>>(a, b, c, M, N, K); }\n#define T 10\n",
            [10, 1, 1],
            [10, 1, 1],
            0,
        ),
    ] {
        assert_eq!(extents(&format!("{GEMM}{host}")), Ok((grid, block, shared)), "{host}");
    }
}

#[test]
fn macros_that_make_kernels_and_launches_are_written_out() {
    let text = "#define STRING(x) #x\n\
                #define MAKE(name, op) __global__ void name##_kernel(float* a, int n) { a[0] op n; }\n\
                #define RUN(T) case T: \\\n tiled<(T)><<<g, block>>>(a, n); break;\n\
                #define DISPATCH(h, ...) dim3 block((h)); switch ((h)) { RUN(32) RUN(64) default: log(STRING(h), __VA_ARGS__); }\n\
                MAKE(add, +=)\n\
                MAKE(sub, -=)\n\
                template <int T> __global__ void tiled(float* a, int n) {}\n\
                void run(float* a, int n) { int g = (n + 31) / 32; DISPATCH(n, a,\n b) add_kernel < < <1, 2>>>(a, n); }\n";
    let program = read(text);
    let kernels: Vec<_> = program.kernels().iter().map(|kernel| (kernel.name.as_str(), kernel.line)).collect();
    assert_eq!(kernels, [("add_kernel", 6), ("sub_kernel", 7), ("tiled", 8)]);
    let tiled = &program.kernels()[2];
    let launches: Vec<_> = program.launches().iter().map(|launch| (launch.kernel.as_str(), launch.line)).collect();
    assert_eq!(launches, [("tiled", 9), ("tiled", 9), ("add_kernel", 10)]);
    let instances: Vec<_> = program.instances(tiled).iter().map(|instance| instance.expression(tiled)).collect();
    assert_eq!(instances, ["tiled<32>", "tiled<64>"]);
    // In `case 64`, h is 64.
    let Extents { grid, block, .. } = program.extents_with(tiled, &program.launches()[1], &[], &[]);
    assert_eq!((grid, block), (Ok([2, 1, 1]), Ok([64, 1, 1])));
    // What is compiled is the file as it is.
    let cut = program.cut(&[]);
    assert!(cut.text.contains("MAKE(add, +=)") && !cut.text.contains("<<<1"), "{}", cut.text);
    assert_eq!(cut.text.lines().count(), text.lines().count());
}

#[test]
fn a_parameter_that_is_handed_on_has_a_size() {
    let text = "template <typename T, int B> __global__ void sum(T* a) {}\n\
                template <typename U> void run(U* a, int t) { sum<U, 64><<<1, t, t * sizeof(U)>>>(a); }\n\
                int main() { run<double>(x, 32); }\n";
    let program = read(text);
    let Extents { shared, .. } = program.extents_with(&program.kernels()[0], &program.launches()[0], &[], &[]);
    assert_eq!(shared, Ok(256));
}

#[test]
fn a_macro_without_end_ends() {
    let text = "#define A(x) B(x) <<< B(x)\n#define B(x) A(x) A(x)\nvoid f() { A(1); A(; }\n";
    assert_eq!(read(text).kernels().len(), 0);
}

#[test]
fn what_a_launch_does_not_say_is_told() {
    for (host, why) in [
        ("int main() { gemm<<<grid, 32>>>(a, b, c, M, N, K); }", "the grid is `grid`, and `grid` is unknown"),
        ("int main() { gemm<<<1>>>(a, b, c, M, N, K); }", "the block is missing"),
        ("int main() { gemm<<<N / 0, 1>>>(a, b, c, M, N, K); }", "the grid is `N / 0`, and it divides by 0"),
        (
            "int main() { int x = x + 1; gemm<<<x, 1>>>(a, b, c, M, N, K); }",
            "the grid is `x`, and it is nested too deeply",
        ),
        ("#define A B\n#define B A + A\nint main() { gemm<<<A, 1>>>(a, b, c, M, N, K); }", "the grid is `A`, and it"),
        ("int main() { gemm<<<-1, 1>>>(a, b, c, M, N, K); }", "the grid has an extent of -1"),
    ] {
        let said = extents(&format!("{GEMM}{host}")).unwrap_err();
        assert!(said.starts_with(why), "{host}: {said}");
    }
}

fn told(parameters: &str) -> Result<Vec<Role>, Unclear> {
    roles(&kernel(&format!("__global__ void k({parameters}) {{}}")))
}

#[test]
fn arguments_are_known_by_name_and_type() {
    use Role::*;
    for (parameters, expected) in [
        ("const float* A, const float* B, float* C, int M, int N, int K", vec![A, B, C, M, N, K]),
        ("float *d_A, float *d_B, float *d_C, int m, int n, int k", vec![A, B, C, M, N, K]),
        (
            "int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C",
            vec![M, N, K, Alpha, A, B, Beta, C],
        ),
        ("float *a, float *b, float *c, int n", vec![A, B, C, Square]),
        ("float* dC, const float* dB, const float* dA, int width", vec![C, B, A, Square]),
        ("const half* lhs, const half* rhs, half* out, int rows, int cols, int inner", vec![A, B, C, M, N, K]),
        ("float *C, float *A, float *B, int wA, int wB", vec![C, A, B, K, N]),
        ("const float* input, const float* weight, float* output, int M, int N, int K", vec![A, B, C, M, N, K]),
        ("const float* foo, const float* bar, float* baz, int m, int n, int k", vec![A, B, C, M, N, K]),
        (
            "const float* mat_a, int lda, const float* mat_b, int ldb, float* mat_c, int ldc, int m, int n, int k",
            vec![A, Lda, B, Ldb, C, Ldc, M, N, K],
        ),
        (
            "float *matA, float *matB, float *result, int numARows, int numAColumns, int numBRows, int numBColumns",
            vec![A, B, C, M, K, K, N],
        ),
        ("const float* x, const float* w, float* y, size_t rows, size_t columns, size_t depth", vec![A, B, C, M, N, K]),
    ] {
        assert_eq!(told(parameters), Ok(expected), "{parameters}");
    }
}

#[test]
fn what_is_unclear_is_said() {
    for (parameters, what) in [
        (
            "const float* A, const float* B, float* C, const float* bias, int M, int N, int K",
            "what `const float* bias` stands for",
        ),
        ("float* p1, float* p2, float* p3, int n", "what `float* p1` stands for"),
        ("const float* A, const float* B, float* C, int M, int N, int K, int groups", "what `int groups` stands for"),
        ("const float* A, float* C, int n", "which parameter is B"),
        ("float* A, float* B, float* C, float* out, int n", "whether C is `C` or `out`"),
        ("const float* A, const float* B, float* C, float scale, int n", "what `float scale` stands for"),
    ] {
        assert_eq!(told(parameters).unwrap_err().what, what, "{parameters}");
    }
}

#[test]
fn entries_are_read_as_people_write_them() {
    assert_eq!(entry_words("gemm"), ("gemm".to_string(), None));
    let words = |list: &[&str]| Some(list.iter().map(|word| word.to_string()).collect::<Vec<_>>());
    assert_eq!(entry_words("a::gemm<16, float>"), ("a::gemm".to_string(), words(&["16", "float"])));
    assert_eq!(
        entry_words("gemm<std::pair<int, int>, (1, 2)>"),
        ("gemm".to_string(), words(&["std::pair<int, int>", "(1, 2)"]))
    );
    assert_eq!(entry_words("gemm<"), ("gemm".to_string(), words(&[])));
}

#[test]
fn host_code_says_its_sizes() {
    let values = |host: &str| {
        let program = read(&format!("{GEMM}{host}"));
        program.host_values(&program.launches()[0])
    };
    let told = [None, None, None, Some(64), Some(128), Some(1024)];
    assert_eq!(values("int main() { int m = 64; gemm<<<1, 1>>>(a, b, c, m, m * 2, 1 << 10); }"), told);
    let through = "void run(int x, int y) { gemm<<<1, 1>>>(a, b, c, x, y, 1024); }\nint main() { run(64, 128); }";
    assert_eq!(values(through), told);
    assert_eq!(values("void f(int n) { gemm<<<1, 1>>>(a, b, c, n, n, n); f(n); }"), [None; 6]);
}

#[test]
fn sizes_are_said_by_what_is_handed_over_or_by_their_names() {
    let handed = |host: &str| {
        let program = read(&format!("{GEMM}{host}"));
        program.handed_over(&program.launches()[0])[3..].to_vec()
    };
    let some = |words: [&str; 3]| words.map(|word| Some(word.to_string()).filter(|word| !word.is_empty())).to_vec();
    for (host, expected) in [
        ("void f(int M, int N, int K) { gemm<<<1, 1>>>(a, b, c, M, N / 4, K >> 3); }", ["M", "N/4", "K/8"]),
        (
            "int main() { const int N = 64, split = 4, K = 8; gemm<<<1, 1>>>(a, b, c, 7, N, (K + split - 1) / split); }",
            ["7", "N", "cdiv(K,4)"],
        ),
        (
            "void f(int rows, int n, int k) { int s = (k + 2) / 3; s = (s + 15) / 16 * 16; gemm<<<1, 1>>>(a, b, c, rows, s, k * k); }",
            ["M", "", ""],
        ),
        (
            "void f(int m, int n, int k) { int s = ((k + 2) / 3 + 15) / 16 * 16; gemm<<<1, 1>>>(a, b, c, s, x, n + 1); }",
            ["cdiv(cdiv(K,3),16)*16", "", ""],
        ),
    ] {
        assert_eq!(handed(host), some(expected), "{host}");
    }
    let counted = |takes: &str| {
        let kernel = kernel(&format!("__global__ void k({takes}) {{}}"));
        kernel.parameters.last().and_then(|last| counted_in_vectors(&kernel, last))
    };
    for (takes, expected) in [
        ("float4* A, int N4", Some((Role::N, 4))),
        ("const half2* A, int k_vec", Some((Role::K, 2))),
        ("const half* A, int K_div_8", Some((Role::K, 8))),
        ("float* A, int n_vec", None),
        ("float* A, int k2", None),
        ("float4* A, int N", None),
        ("float4* A, int K3", None),
        ("float4* A, float N4", None),
    ] {
        assert_eq!(counted(takes), expected, "{takes}");
    }
}
