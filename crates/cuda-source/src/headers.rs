//! Headers by their names: the host's are nothing to device code, CUDA's own stay, and all others are somebody's.

/// What a header is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// Device code may include it.
    Device,
    /// It is for the host, or the compiler knows what it says.
    Host,
    /// It is the user's, or of a library that nobody here knows.
    Unknown,
}

/// CUDA's headers that device code includes.
const DEVICE: [&str; 19] = [
    "cuda_fp16.h",
    "cuda_fp16.hpp",
    "cuda_bf16.h",
    "cuda_bf16.hpp",
    "cuda_fp8.h",
    "cuda_fp6.h",
    "cuda_fp4.h",
    "mma.h",
    "cooperative_groups.h",
    "cuda_pipeline.h",
    "cuda_pipeline_primitives.h",
    "cuda_pipeline_helpers.h",
    "cuda_awbarrier.h",
    "cuda_awbarrier_primitives.h",
    "math_constants.h",
    "cuComplex.h",
    "curand_kernel.h",
    "library_types.h",
    "crt/mma.h",
];

/// Folders whose headers are for devices.
const DEVICE_FOLDERS: [&str; 8] =
    ["cuda/", "cub/", "nv/", "cooperative_groups/", "cute/", "cutlass/", "crt/", "cooperative_groups_"];

/// Headers of the host, and those of CUDA that NVRTC has built in. C++'s own are written without an ending, see [`of`].
const HOST: [&str; 38] = [
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "device_launch_parameters.h",
    "device_functions.h",
    "device_types.h",
    "driver_types.h",
    "vector_types.h",
    "vector_functions.h",
    "builtin_types.h",
    "host_defines.h",
    "math_functions.h",
    "sm_20_intrinsics.h",
    "sm_30_intrinsics.h",
    "sm_61_intrinsics.h",
    "device_atomic_functions.h",
    "channel_descriptor.h",
    "texture_types.h",
    "surface_types.h",
    "cudaTypedefs.h",
    "cuda_profiler_api.h",
    "cudaProfiler.h",
    "cuda_occupancy.h",
    "nvrtc.h",
    "nvToolsExt.h",
    "assert.h",
    "stdint.h",
    "inttypes.h",
    "stdbool.h",
    "stddef.h",
    "limits.h",
    "float.h",
    "math.h",
    "malloc.h",
    "unistd.h",
    "getopt.h",
    "omp.h",
    "mpi.h",
    "windows.h",
];

/// How the names of host headers begin: C's, NVIDIA's host libraries, CUDA's samples, frameworks.
const HOST_STARTS: [&str; 44] = [
    "std",
    "string.h",
    "strings.h",
    "time.h",
    "errno.h",
    "signal.h",
    "ctype.h",
    "memory.h",
    "sys/",
    "pthread",
    "cublas",
    "cusparse",
    "cusolver",
    "cufft",
    "cudnn",
    "cutensor",
    "nccl",
    "nvml",
    "curand.h",
    "nvtx3/",
    "thrust/",
    "helper_",
    "exception.h",
    "torch/",
    "ATen/",
    "c10/",
    "pybind11/",
    "Python.h",
    "boost/",
    "gtest/",
    "gmock/",
    "benchmark/",
    "nvbench/",
    "fmt/",
    "spdlog/",
    "Eigen/",
    "mkl",
    "openblas",
    "cblas",
    "nlohmann/",
    "opencv",
    "absl/",
    "glog/",
    "catch2/",
];

/// What a header of this name is.
pub fn of(name: &str) -> Header {
    let starts = |all: &[&str]| all.iter().any(|start| name.starts_with(start));
    if name == "cuda.h" {
        // It declares tensor maps, and much of the host; whoever cuts decides.
        return Header::Unknown;
    }
    if DEVICE.contains(&name) || starts(&DEVICE_FOLDERS) {
        return Header::Device;
    }
    // C++'s own headers, `vector` or `cmath`, have no ending and no folder.
    let of_cpp = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if of_cpp || HOST.contains(&name) || starts(&HOST_STARTS) { Header::Host } else { Header::Unknown }
}

/// Headers of CUDA's that come with a header of this name, which is not read here: libraries for matrices have types of
/// 16 bits in their declarations.
pub fn brought_by(name: &str) -> &'static [&'static str] {
    let starts = |all: &[&str]| all.iter().any(|start| name.starts_with(start));
    match starts(&["cublas", "cudnn", "cusparse", "cutensor", "torch/", "ATen/", "c10/"]) || of(name) == Header::Unknown
    {
        true => &["cuda_fp16.h", "cuda_bf16.h"],
        false => &[],
    }
}

/// The Python package of CUDA 13 that has a header of CUDA's own.
pub fn package(name: &str) -> Option<&'static str> {
    let starts = |all: &[&str]| all.iter().any(|start| name.starts_with(start));
    if starts(&["cuda/", "cub/", "thrust/", "nv/"]) {
        return Some("nvidia-cuda-cccl");
    }
    if starts(&["crt/"]) || name == "mma.h" {
        return Some("nvidia-cuda-crt");
    }
    if name.starts_with("curand") {
        return Some("nvidia-curand");
    }
    let of_runtime = DEVICE.contains(&name) || HOST[..22].contains(&name) || starts(&["cooperative_groups", "cuda.h"]);
    of_runtime.then_some("nvidia-cuda-runtime")
}

/// The name in an `#include` line, and whether it stands in quotes.
pub fn included(line: &str) -> Option<(&str, bool)> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    match rest.strip_prefix('"') {
        Some(rest) => Some((rest.split_once('"')?.0.trim(), true)),
        None => Some((rest.strip_prefix('<')?.split_once('>')?.0.trim(), false)),
    }
}
