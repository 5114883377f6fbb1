//! Files as people write them: with host code, headers and templates, without flags.

mod lab;

use std::fs;

use lab::{Output, lab, lacks, refused};

/// `lab try` of a file among the tests' data.
fn tried(words: &str) -> Output {
    lab(&format!("try crates/lab/tests/data/{words} --backend emulator --alone"))
}

#[test]
fn headers_of_cuda_are_found_without_a_flag() {
    if lacks("cuda_fp16.h") {
        return;
    }
    let output = tried("half-product.cu --size 40");
    assert!(output.code == 0 && output.stdout.contains("kernel      half_product, f16\n"), "{output:?}");
    let launch = "the file has no launch of it, so --grid cdiv(N,32),cdiv(M,32) --block 32,32";
    assert_eq!(output.stderr, format!("note: half_product: a=A b=B c=C m=M n=N k=K; f16; {launch}\n"));
}

#[test]
fn a_missing_header_names_its_package() {
    if lacks("") {
        return;
    }
    let file = lab::scratch("headers-missing").join("k.cu");
    let kernel = "__global__ void k(float* A, float* B, float* C, int n) {}\n";
    fs::write(&file, format!("#include <iostream>\n#include <cuda/nonesuch>\n{kernel}")).unwrap();
    let words = format!("try {} --backend emulator", file.display());
    refused(&words, "k.cu:2: the header cuda/nonesuch is not found");
    refused(&words, "nvidia-cuda-cccl");
}

#[test]
fn a_whole_program_is_tried_as_its_host_code_launches_it() {
    if lacks("") {
        return;
    }
    let output = tried("whole-program.cu");
    assert!(output.code == 0 && output.stdout.contains("launch      grid (10,13) of blocks (16,16)"), "{output:?}");
    let note = "note: product: d_left=A d_right=B d_result=C rows=M cols=N inner=K; M, N, K = 200, 150, 200, after the launch; \
                launch of line 39, block (16,16), grid (10,13); host code left out: run, main, show\n";
    assert_eq!(output.stderr, note);
    // Flags come first.
    let output = tried("whole-program.cu --size 64 --block 32,8 --grid 2,8");
    assert!(output.stdout.contains("grid (2,8) of blocks (32,8)"), "{output:?}");
}

#[test]
fn a_template_is_named_as_a_launch_names_it() {
    if lacks("") {
        return;
    }
    // In a folder of its own, where no other file includes and launches it.
    let file = lab::scratch("template").join("template.cu");
    fs::copy(lab::root().join("crates/lab/tests/data/template.cu"), &file).unwrap();
    let flags = "--backend emulator --alone --block 16,16 --grid cdiv(N,16),cdiv(M,16) --size 50";
    let words = &format!("try {} {flags}", file.display());
    let output = lab::command(words).args(["--entry", "tiled<16, float>"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && said.contains("kernel      tiled<16, float>, f32\n"), "{said}");
    let none = "`tiled` is a template, `tiled<int TILE, typename T>`, and the file launches no instance";
    refused(words, none);
    refused(words, "--entry 'tiled<16, float>'");
    refused(&format!("{words} --entry other"), "there is no kernel `other`");
    refused(
        &format!("{words} --entry tiled<float,16>"),
        "`tiled<float, 16>` is no instance of `tiled<int TILE, typename T>`",
    );
}

#[test]
fn an_instance_is_read_from_the_calls() {
    if lacks("") {
        return;
    }
    refused("try crates/lab/tests/data/launched-template.cu", "choose by --entry: clear, 'tiled<8, double>'");
    let output = tried("launched-template.cu --entry tiled --size 44");
    assert!(output.code == 0 && output.stdout.contains("kernel      tiled<8, double>, f64\n"), "{output:?}");
    assert!(output.stdout.contains("grid (6,6) of blocks (8,8)"), "{output:?}");
    assert!(!output.stdout.contains("_Z") && !output.stderr.contains("_Z"), "{output:?}");
}

#[test]
fn what_a_kernel_cannot_be_given_is_said() {
    if lacks("") {
        return;
    }
    let words = |entry: &str| format!("try crates/lab/tests/data/unusual.cu --entry {entry}");
    let one_size = "n is the only size of the kernel, so its matrices are square, and M, N and K are 3×170×130";
    refused(&words("square --m 3"), one_size);
    refused(&words("square<3>"), "`square` is no template, and <3> is given");
    refused(&words("mixed"), "A, B and C are of float, double and float, and no product of such types is known");
    refused(&words("mapped"), "`map` is a tensor map, and `lab try` hands over matrices by their addresses");
    refused(
        &words("launched --size 64"),
        "the launch of line 25: the grid is [0, 1, 1]\nhint: --grid X,Y says another",
    );
}

#[test]
fn static_shared_memory_beyond_the_limit_is_refused() {
    if lacks("") {
        return;
    }
    let words = "try crates/lab/tests/data/static-shared.cu --backend emulator --size 64";
    refused(words, "large has 65536 bytes of static shared memory, and ptxas takes 49152");
    refused(words, "cudaFuncAttributeMaxDynamicSharedMemorySize");
}

#[test]
fn a_layout_that_the_file_says_is_taken() {
    if lacks("") {
        return;
    }
    let sizes = "--m 64 --n 96 --k 40 --grid cdiv(M,32),cdiv(N,32)";
    let rows = tried(&format!("by-columns.cu {sizes}"));
    let taken =
        "every element is right if A, B and C are read by columns, as BLAS does: --layout column; the file says so";
    assert!(rows.code == 0 && rows.stderr.contains(taken), "{rows:?}");
    // The same without a fault: a product that is wrong.
    let wrong = tried(&format!("by-columns.cu {sizes} --args M,N,K,1,A,M,B,K,beta=0.5,C,M"));
    assert!(wrong.code == 0 && wrong.stderr.contains(taken), "{wrong:?}");
    let columns = tried(&format!("by-columns.cu {sizes} --layout column"));
    assert!(columns.code == 0 && columns.stdout.contains("check       right"), "{columns:?}");
    assert!(columns.stderr.contains("lda=M B=B ldb=K beta=0.5 C=C ldc=M"), "{columns:?}");
    let swapped = tried("inner-is-n.cu --m 64 --n 96 --k 40");
    assert!(swapped.code == 0 && swapped.stderr.contains("--args A,B,C,M,K,N; the file says so"), "{swapped:?}");
}

#[test]
fn sanitize_takes_a_program_and_its_launch() {
    if lacks("") {
        return;
    }
    let words = "sanitize crates/lab/tests/data/scaled-sum.cu --arg in:f32[1000]=ones --arg out:f32[1000] --arg n=1000 --variable scale:f32={3}";
    let output = lab(&format!("{words} --expect out=3"));
    assert!(
        output.code == 0 && output.stdout.contains("launches  scaled_sum  grid (8,1), block (128,1)"),
        "{output:?}"
    );
    let narrow = lab(&format!("{words} --block 1000 --grid 1 --launch scaled_sum"));
    assert!(narrow.stderr.is_empty(), "{narrow:?}");
}

#[test]
fn what_is_not_clear_is_asked_for_in_one_line() {
    let file = lab::scratch("unclear").join("k.cu");
    for (kernel, answer) in [
        ("float* p, float* q, float* r, float* s, int n", "it is not clear what `float* q` stands for"),
        ("const float* A, const float* B, float* C, const float* bias, int M, int N, int K", "--args A,B,C,?,M,N,K"),
        ("int* A, int* B, int* C, int n", "A, B and C are of int, int and int"),
    ] {
        if lacks("") {
            return;
        }
        fs::write(&file, format!("__global__ void k({kernel}) {{}}\n")).unwrap();
        refused(&format!("try {} --backend emulator", file.display()), answer);
    }
}

#[test]
fn a_header_of_kernels_is_launched_by_who_includes_it() {
    if lacks("cuda_fp16.h") {
        return;
    }
    let folder = lab::scratch("includer");
    let inner = folder.join("kernels");
    fs::create_dir_all(&inner).unwrap();
    fs::create_dir_all(folder.join("include")).unwrap();
    let parameters = "const element* A, const element* B, element* C, int M, int N, int K";
    let kernel = format!(
        "template <int T> __global__ void tiled({parameters}) {{\n  int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;\n  \
         if (x >= N || y >= M) return;\n  half sum = 0;\n  for (int k = 0; k < K; k++) sum += A[y * K + k] * B[k * N + x];\n  C[y * N + x] = sum;\n}}\n"
    );
    fs::write(inner.join("tiled.cuh"), kernel).unwrap();
    // The type comes by a library's header, and that by one which a makefile knows.
    fs::write(folder.join("include/types.h"), "#include <cublas_v2.h>\ntypedef half element;\n").unwrap();
    let main = "#include \"types.h\"\n#include \"kernels/tiled.cuh\"\n\
                void run(element* a, element* b, element* c, int M, int N, int K) {\n  \
                tiled<8><<<dim3((N + 7) / 8, (M + 7) / 8), dim3(8, 8)>>>(a, b, c, M, N, K);\n}\n";
    fs::write(folder.join("main.cu"), main).unwrap();
    let output = lab(&format!("try {} --size 20 --backend emulator", inner.join("tiled.cuh").display()));
    assert!(output.code == 0 && output.stdout.contains("kernel      tiled<8>, f16-sum\n"), "{output:?}");
    assert!(
        output.stderr.contains("launch of ") && output.stderr.contains("main.cu:4, block (8,8), grid (3,3)"),
        "{output:?}"
    );
    // A kernel of the file that launches it is not meant.
    let warm = format!("__global__ void warm_up() {{}}\n{main}");
    fs::write(folder.join("main.cu"), warm).unwrap();
    refused(&format!("sanitize {}", inner.join("tiled.cuh").display()), "tiled<8> takes 6 arguments");
}

#[test]
fn sanitize_says_what_a_kernel_takes() {
    if lacks("") {
        return;
    }
    let file = lab::scratch("takes").join("k.cu");
    fs::write(
        &file,
        "__global__ void k(const float4* in, unsigned short* out, size_t n) {}\n__global__ void l(int) {}\n",
    )
    .unwrap();
    let words = format!("sanitize {} --grid 1 --block 1", file.display());
    refused(&words, "the file has 2 kernels that may be meant");
    let takes = "const float4* in, unsigned short* out, size_t n; each needs one --arg, as in \
                 --arg in:f32[1024]=random --arg out:u16[1024] --arg n=1024";
    refused(&format!("{words} --entry k"), takes);
}

/// Programs as students hand them in, with includes, host code and `main`: what the first call says, without a flag.
#[test]
fn a_programs_bug_is_found_on_the_first_call_and_the_right_matrix_is_named() {
    if lacks("") {
        return;
    }
    for (file, says, at) in [
        ("report-program.cu", "read of 8 bytes past the end of B ", "report-program.cu:26"),
        ("row-column-program.cu", "race on shared_A (shared memory) at offset 0: store by thread (0,0) ", ""),
        ("split-program.cu", "race on As (shared memory) at offset 0: load by thread (1,0) at ", "split-program.cu:21"),
        ("blocks-program.cu", "race on C at offset 680: store by block (0,0), ", "blocks-program.cu:45"),
    ] {
        let output = tried(file);
        assert_eq!(output.code, 1, "{file}: {output:?}");
        assert!(output.stderr.contains(&format!("error: {says}")) && output.stderr.contains(at), "{file}: {output:?}");
    }
    let right = tried("basics-program.cu");
    assert!(right.code == 0 && !right.stderr.contains("error"), "{right:?}");
}

#[test]
fn behind_a_mended_bug_is_the_next_one() {
    if lacks("") {
        return;
    }
    let (step, guard) = ("Cvalue += As[row][e] * Bs[e][col];\n", "row <= m && col <= k");
    let program = |name: &str, from: &str, to: &str| {
        let text = fs::read_to_string(lab::root().join("crates/lab/tests/data").join(name)).unwrap();
        assert!(text.contains(from), "{name}");
        let file = lab::scratch("mended").join(name);
        fs::write(&file, text.replace(from, to)).unwrap();
        lab(&format!("try {} --backend emulator --alone", file.display()))
    };
    let split = program("split-program.cu", step, &format!("{step}        __syncthreads();\n"));
    assert!(split.code == 1 && split.stderr.contains("past the end of B "), "{split:?}");
    let report = program("report-program.cu", guard, "row < m && col < k");
    assert!(report.code == 0 && report.stderr.contains("right on 69×45×256 as well"), "{report:?}");
}
