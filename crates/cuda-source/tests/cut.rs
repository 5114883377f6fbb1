//! What stays of a file, and that lines never shift.

use cuda_source::{Found, Program, device_code};
use proptest::prelude::*;

/// What is left of a text, by lines that have something.
fn left(text: &str) -> Vec<String> {
    let cut = device_code(text);
    assert_eq!(cut.text.len(), text.len(), "columns shift in {text}");
    assert_eq!(cut.text.matches('\n').count(), text.matches('\n').count());
    cut.text.lines().map(|line| line.trim_end().to_string()).filter(|line| !line.trim().is_empty()).collect()
}

/// All of a text stays.
fn stays(text: &str) {
    assert_eq!(device_code(text).text, text);
}

/// Nothing stays.
fn goes(text: &str) {
    assert_eq!(left(text), Vec::<String>::new(), "{text}");
}

#[test]
fn device_code_stays() {
    for text in [
        "__global__ void k(int* x) { *x = 1; }",
        "extern \"C\" __global__ void __launch_bounds__(256, 2) k(int* x) { *x = 1; }",
        "template <int N, typename T = float>\n__global__ void k(T* x) { x[N] = T(N > 2 ? 1 : 2); }",
        "__device__ __forceinline__ float f(float x) { return x; }",
        "__host__ __device__ inline int cdiv(int a, int b) { return (a + b - 1) / b; }",
        "__constant__ float filter[4] = {1, 2, 3, 4};",
        "__device__ int counter;",
        "extern __shared__ float shared[];",
        "namespace a { namespace b { __device__ int f(); } }",
        "extern \"C\" { __global__ void k() {} }",
        "static_assert(sizeof(int) == 4, \"a { brace\");",
        "#define KERNEL __global__ void\nKERNEL k(int* x) { *x = 1; }",
        "#define MAKE(name) __global__ void name(int* x) { *x = 1; }\nMAKE(one)\nMAKE(two);",
        "struct Pair { int a, b; __device__ Pair() : a{1}, b(2) {} __device__ int sum() const { return a + b; } };",
        "template <typename T> __device__ T twice(T x) { return 2 * x; }\ntemplate __device__ float twice<float>(float);",
        "template <typename T>\n__inline__ __device__ T f(T x);\ntemplate <>\n__inline__ __device__ float f<float>(float x) { return x; }",
        "__global__ void k(int* x);\n__global__ void k(int* x) { char c = '{'; const char* s = \"}\\\"{\"; /* } */ } // }",
        "__global__ void k(int* x) { const char* s = R\"x(} )\" })x\"; int n = 1'000'000; }",
        "#if 0\n{{{ \" unbalanced '\n#endif\n__global__ void k() {}",
        "__global__ void k() {\n#pragma unroll\n  for (;;) {}\n}",
    ] {
        stays(text);
    }
}

#[test]
fn host_code_goes() {
    for text in [
        "int main() { std::vector<float> v{1, 2}; k<<<1, 2>>>(v.data()); return 0; }",
        "#include <iostream>",
        "  #  include <cublas_v2.h>  // BLAS",
        "#include \"helper_cuda.h\"",
        "void launch(float* a);",
        "static inline void check(cudaError_t e, const char* f) { if (e) { exit(1); } }",
        "template <typename T>\nvoid run(T* a, int n) { k<T><<<n, 1>>>(a); }",
        "std::vector<float> host;",
        "float *a, *b;",
        "static int calls = 0;",
        "struct Timer { std::chrono::time_point<int> start; void stop() { x(); } };",
        "class Net : public Base { public: Net() {} virtual ~Net() {} private: std::string name; };",
        "using Clock = std::chrono::steady_clock;",
        "typedef std::vector<float> Row;",
        "PYBIND11_MODULE(name, m) { m.def(\"f\", &f); }",
        "const int unused = 5;",
        "auto f = [](int x) { return x; };",
        "__host__ void only() {}",
        "using namespace thrust;",
        "constexpr int nobody() { return 1; }",
    ] {
        goes(text);
    }
}

#[test]
fn what_device_code_names_stays() {
    let file = "const int TILE = 32;\nconst int OTHER = 5;\nusing real = float;\ntypedef real alias;\n\
                enum Mode { LEFT, RIGHT };\nstruct P { int n; };\nconstexpr int twice(int x) { return 2 * x; }\n\
                int host() { return OTHER; }\n\
                #define SIDE (twice(TILE))\n__global__ void k(alias* a, P p) { a[SIDE] = LEFT; }\n";
    let left = left(file);
    assert_eq!(left.len(), 8, "{left:?}");
    assert!(!left.iter().any(|line| line.contains("OTHER") || line.contains("host")));
}

#[test]
fn methods_of_the_host_go_and_their_class_stays() {
    let file = "struct S {\n  int n;\n  S(int m) : n(m) { std::cout << m; }\n  __device__ int get() const { return n; }\n  \
                friend std::ostream& operator<<(std::ostream& o, const S& s) { return o; }\n  std::string name() const;\n};\n\
                __global__ void k(S s) { s.get(); }\n";
    assert_eq!(
        left(file),
        [
            "struct S {",
            "  int n;",
            "  __device__ int get() const { return n; }",
            "};",
            "__global__ void k(S s) { s.get(); }"
        ]
    );
}

#[test]
fn branches_that_share_a_body_do_not_break_it() {
    let file = "#ifdef WIDE\n__global__ void k(float4* a) {\n#else\n__global__ void k(float* a) {\n#endif\n  a[0] = a[1];\n}\n\
                int main() { return 0; }\n";
    let left = left(file);
    assert_eq!(left.len(), 7);
    assert!(left.iter().all(|line| !line.contains("main")));
}

#[test]
fn certain_branches_are_followed() {
    goes("void host() {\n#if 0\n }}}\n#endif\n}".replace("#if 0\n }}}\n#endif\n", "").as_str());
    let left = left("#if 1\n__global__ void k() {}\n#else\n}}} nobody reads this\n#endif\nint main() {}");
    assert_eq!(left.len(), 5, "{left:?}");
}

#[test]
fn headers_are_settled_by_their_names() {
    let file = "#include <cuda_fp16.h>\n#include <vector>\n#include \"cuda_runtime.h\"\n#include <cuda/barrier>\n#include \"own.cuh\"\n\
                #include \"gone.h\"\n__global__ void k() { own(); }";
    let mut asked = Vec::new();
    let program = Program::read("dir/k.cu", file, &[], &mut |include| {
        asked.push((include.name.to_string(), include.quoted, include.from.to_string()));
        let text = "#pragma once\n#include <cstdio>\nvoid host();\n__device__ void own() {}\n".to_string();
        (include.name == "own.cuh").then(|| Found { path: "dir/own.cuh".to_string(), text })
    });
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert_eq!(program.missing(), ["gone.h"]);
    let cut = program.cut(&[]);
    let lines: Vec<&str> = cut.text.lines().map(str::trim_end).collect();
    assert_eq!(
        lines,
        [
            "#include <cuda_fp16.h>",
            "",
            "",
            "#include <cuda/barrier>",
            "#include \"dir/own.cuh\"",
            "",
            "__global__ void k() { own(); }"
        ]
    );
    assert_eq!(cut.headers[0].path, "dir/own.cuh");
    assert_eq!(cut.headers[0].text.trim_start_matches("#pragma once\n").trim(), "__device__ void own() {}");
}

#[test]
fn a_header_that_includes_itself_ends() {
    let program = Program::read("a.cu", "#include \"a.cuh\"\n", &[], &mut |_| {
        Some(Found { path: "a.cuh".to_string(), text: "#include \"a.cuh\"\n".to_string() })
    });
    assert_eq!(program.cut(&[]).headers.len(), 1);
}

#[test]
fn names_of_std_are_told() {
    let cut = device_code("__global__ void k(int* x) { *x = std::max(1, 2); }\nint main() { std::sort(a, b); }");
    assert_eq!(cut.std_names.into_iter().collect::<Vec<_>>(), ["max"]);
    assert_eq!(cut.host, ["main"]);
}

#[test]
fn broken_text_is_cut_without_a_panic() {
    for text in [
        "{",
        "}",
        "__global__",
        "template <",
        "template <int",
        "struct {",
        "f(",
        "\"",
        "R\"(",
        "/*",
        "#if 0",
        "a = {",
        "enum",
        "\\",
        "'",
        "#define",
        "#define F(",
        "__global__ void k(",
        "__global__ void k(int",
        "x<",
        "operator",
        "using",
        "typedef",
        "namespace",
        "extern \"C\"",
        "template __global__",
        "\u{e4}\\\u{e4}\"\\\u{e4}",
    ] {
        let cut = device_code(text);
        assert_eq!(cut.text.len(), text.len());
    }
    let deep = "namespace a { ".repeat(5000) + &"(".repeat(5000) + &"struct s {".repeat(500);
    assert_eq!(device_code(&deep).text.len(), deep.len());
}

/// Pieces of files, in any order.
const PIECES: [&str; 34] = [
    "__global__ void k(int* x) { *x = 1; }",
    "int main() {",
    "}",
    "{",
    "(",
    ")",
    "<",
    ">",
    ";",
    "\n",
    "\n#if 0\n",
    "\n#else\n",
    "\n#endif\n",
    "\n#define X \\\n  1\n",
    "/* c\n */",
    "// c\n",
    "\"s\"",
    "'c'",
    "R\"(\n)\"",
    "template <int N>",
    "struct S {",
    "namespace n {",
    "__device__",
    "=",
    "operator",
    "\n#include <vector>\n",
    "\n#include \"x.h\"\n",
    "\u{fc}",
    "\\",
    "\"",
    "'",
    "x",
    "\r\n",
    "\t",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn lines_and_columns_never_shift(parts in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40)) {
        let text: String = parts.concat();
        let cut = device_code(&text);
        prop_assert_eq!(cut.text.len(), text.len());
        for (old, new) in text.bytes().zip(cut.text.bytes()) {
            prop_assert!(old == new || new == b' ' && !matches!(old, b'\n' | b'\r'));
        }
        // What was cut once is not cut again.
        let again = device_code(&cut.text);
        prop_assert_eq!(again.text.len(), text.len());
    }

    #[test]
    fn any_text_is_cut(text in any::<String>()) {
        prop_assert_eq!(device_code(&text).text.len(), text.len());
    }
}
