//! Every call that Rust cannot check: NVRTC's functions, the launch on a CUDA GPU, and cuBLAS's.
//!
//! The only unsafe code of this crate.
#![allow(unsafe_code)]

mod nvrtc;

use std::ffi::{CStr, c_int, c_longlong, c_void};
use std::path::Path;
use std::ptr;

use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg, sys};
use emulator::{TensorElement, TensorL2Promotion, TensorMapDescription, TensorSwizzle};
use gemm::epilogue::Batch;
use gemm::form::{Form, Layout};
use gemm::{Dtype, Element, Shape};
use libloading::Library;

pub(crate) use nvrtc::{Compiled, Input, Nvrtc};

/// Whether the loader finds the CUDA driver's library. Without it, any call of cudarc's driver panics. cudarc's own answer is not there
/// where it is linked to the library, as another crate in the program may ask of it.
pub(crate) fn cuda_driver_is_present() -> bool {
    let names = ["libcuda.so", "libcuda.so.1", "nvcuda.dll", "cuda.dll"];
    // SAFETY: loads libcuda and nothing else.
    names.into_iter().any(|name| unsafe { Library::new(name) }.is_ok())
}

/// Memory of a GPU that somebody else has allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    address: u64,
    bytes: u64,
}

impl Memory {
    /// So many bytes from an address on.
    ///
    /// # Safety
    /// They are memory of the GPU in whose context they are used, and stay it until all that was submitted with them is done. What is
    /// written there is in nobody else's use until then, and what is read is not written.
    pub const unsafe fn at(address: u64, bytes: u64) -> Memory {
        Memory { address, bytes }
    }

    /// Where it begins.
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// How many bytes it has.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The CUDA version that the driver implements: 13000 is 13.0.
pub(crate) fn cuda_version() -> Option<i32> {
    let mut version = 0;
    // SAFETY: cuDriverGetVersion(int*) writes one integer; a GPU has been found, so the library is loaded.
    let status = unsafe { cudarc::driver::sys::cuDriverGetVersion(&mut version) };
    status.result().is_ok().then_some(version)
}

/// Machine code of PTX for the context's GPU, made by the driver's ptxas at an optimisation level from 0 to 4.
pub(crate) fn assemble(context: &CudaContext, ptx: &str, optimization: u32) -> Result<Vec<u8>, DriverError> {
    context.bind_to_thread()?;
    // NUL is no part of PTX, and ends it.
    let ptx: Vec<u8> = ptx.bytes().filter(|&byte| byte != 0).chain([0]).collect();
    let mut option = sys::CUjit_option::CU_JIT_OPTIMIZATION_LEVEL;
    let mut value = optimization as usize as *mut c_void;
    let mut linker = ptr::null_mut();
    // SAFETY: the signatures are cuda.h's; a context is current on this thread. An option's value stands in the pointer
    // itself; the text outlives the call; the machine code is the linker's, and is copied before the linker is destroyed, once.
    unsafe {
        sys::cuLinkCreate_v2(1, &mut option, &mut value, &mut linker).result()?;
        let assembled = || {
            let (kind, (mut code, mut size)) = (sys::CUjitInputType::CU_JIT_INPUT_PTX, (ptr::null_mut(), 0));
            let (text, none, values) = (ptx.as_ptr().cast_mut().cast(), ptr::null_mut(), ptr::null_mut());
            sys::cuLinkAddData_v2(linker, kind, text, ptx.len(), c"kernel.ptx".as_ptr(), 0, none, values).result()?;
            sys::cuLinkComplete(linker, &mut code, &mut size).result()?;
            Ok(std::slice::from_raw_parts(code.cast::<u8>(), size).to_vec())
        };
        let code = assembled();
        sys::cuLinkDestroy(linker).result()?;
        code
    }
}

/// A tensor map, made by the driver.
pub(crate) fn tensor_map(description: &TensorMapDescription) -> Result<sys::CUtensorMap, DriverError> {
    use sys::{CUtensorMapDataType_enum as Type, CUtensorMapL2promotion_enum as Promotion};
    let element = match description.element {
        TensorElement::U8 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT8,
        TensorElement::U16 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        TensorElement::U32 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT32,
        TensorElement::S32 => Type::CU_TENSOR_MAP_DATA_TYPE_INT32,
        TensorElement::U64 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT64,
        TensorElement::S64 => Type::CU_TENSOR_MAP_DATA_TYPE_INT64,
        TensorElement::F16 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        TensorElement::F32 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        TensorElement::F64 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        TensorElement::Bf16 => Type::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        TensorElement::F32Ftz => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
        TensorElement::Tf32 => Type::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
        TensorElement::Tf32Ftz => Type::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
        _ => return Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_SUPPORTED)),
    };
    let swizzle = match description.swizzle {
        TensorSwizzle::B32 => sys::CUtensorMapSwizzle_enum::CU_TENSOR_MAP_SWIZZLE_32B,
        TensorSwizzle::B64 => sys::CUtensorMapSwizzle_enum::CU_TENSOR_MAP_SWIZZLE_64B,
        TensorSwizzle::B128 => sys::CUtensorMapSwizzle_enum::CU_TENSOR_MAP_SWIZZLE_128B,
        _ => sys::CUtensorMapSwizzle_enum::CU_TENSOR_MAP_SWIZZLE_NONE,
    };
    let promotion = match description.l2_promotion {
        TensorL2Promotion::B64 => Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
        TensorL2Promotion::B128 => Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        TensorL2Promotion::B256 => Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        _ => Promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
    };
    let TensorMapDescription { sizes, strides, box_sizes, element_strides, .. } = description;
    let mut map = sys::CUtensorMap { opaque: [0; 16] };
    // SAFETY: the signature is cuda.h's; there are as many sizes, box sizes and steps as dimensions, and one stride less; the address is
    // only written down.
    unsafe {
        sys::cuTensorMapEncodeTiled(
            &mut map,
            element,
            sizes.len() as u32,
            description.address as *mut c_void,
            sizes.as_ptr(),
            strides.as_ptr(),
            box_sizes.as_ptr(),
            element_strides.as_ptr(),
            sys::CUtensorMapInterleave_enum::CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle,
            promotion,
            sys::CUtensorMapFloatOOBfill_enum::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
        .result()?;
    }
    Ok(map)
}

/// Launches a kernel with its arguments.
pub(crate) fn launch(
    stream: &CudaStream,
    function: &CudaFunction,
    config: LaunchConfig,
    arguments: &[sys::CUtensorMap],
) -> Result<(), DriverError> {
    stream.context().bind_to_thread()?;
    let mut pointers: Vec<*mut c_void> =
        arguments.iter().map(|argument| ptr::from_ref(argument).cast_mut().cast()).collect();
    let LaunchConfig { grid_dim: (x, y, z), block_dim: (bx, by, bz), shared_mem_bytes: shared } = config;
    let (function, stream, none) = (function.cu_function(), stream.cu_stream(), ptr::null_mut());
    // SAFETY: the signature is cuda.h's; a task's operands are as many as its kernel's parameters, each with room for the largest, and
    // are read and copied before the call returns; that the kernel stays within its matrices is what the emulator and
    // compute-sanitizer check.
    unsafe { sys::cuLaunchKernel(function, x, y, z, bx, by, bz, shared, stream, pointers.as_mut_ptr(), none).result() }
}

/// Launches `form(const void* in, void* out)`.
pub(crate) fn launch_form(
    stream: &CudaStream,
    function: &CudaFunction,
    config: LaunchConfig,
    input: &CudaSlice<u8>,
    output: &mut CudaSlice<u8>,
) -> Result<(), DriverError> {
    let mut arguments = stream.launch_builder(function);
    arguments.arg(input).arg(output);
    // SAFETY: two pointers are what a form takes; the emulator runs it first, within the same sizes.
    unsafe { arguments.launch(config).map(|_| ()) }
}

/// cuBLAS, loaded, with a handle on a stream.
///
/// Not through cudarc, whose bindings are made for one CUDA version and look for the file name of that one.
#[derive(Debug)]
pub(crate) struct Cublas {
    library: Library,
    handle: Handle,
    stream: Handle,
    workspace: u64,
    // cuBLAS needs it, and gets it from here if it is already there.
    _light: Option<Library>,
}

type Handle = *mut c_void;
/// `cublasComputeType_t` of cublas_api.h: CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32I and CUBLAS_COMPUTE_32F_FAST_TF32.
const IN_F32: c_int = 68;
const IN_S32: c_int = 72;
const FAST_TF32: c_int = 77;

impl Cublas {
    /// Loads the library and makes a handle. `Err` says whether the library was there at all, and what it answers.
    pub(crate) fn open(library: &Path, light: Option<&Path>, stream: &CudaStream) -> Result<Cublas, (bool, String)> {
        // SAFETY: cuBLAS's libraries run no code at load time beyond C++ static initialisers.
        let loaded = unsafe {
            let light = light.map(|path| Library::new(path)).transpose();
            light.and_then(|light| Ok((Library::new(library)?, light)))
        };
        let (library, light) = loaded.map_err(|e| (false, e.to_string()))?;
        let (handle, on) = (ptr::null_mut(), stream.cu_stream().cast());
        let mut cublas = Cublas { library, handle, stream: on, workspace: 0, _light: light };
        cublas.prepare(stream).map_err(|why| (true, why))?;
        Ok(cublas)
    }

    fn prepare(&mut self, stream: &CudaStream) -> Result<(), String> {
        stream.context().bind_to_thread().map_err(|e| format!("{:?}", e.0))?;
        // SAFETY: the signatures are cublas_v2.h's; a context is current on this thread, and the stream is of it.
        unsafe {
            let create = self.get::<unsafe extern "C" fn(*mut Handle) -> c_int>(c"cublasCreate_v2")?;
            succeed("cublasCreate", create(&mut self.handle))?;
            let set_stream = self.get::<unsafe extern "C" fn(Handle, *mut c_void) -> c_int>(c"cublasSetStream_v2")?;
            succeed("cublasSetStream", set_stream(self.handle, self.stream))?;
            sys::cuMemAlloc_v2(&mut self.workspace, WORKSPACE).result().map_err(|e| format!("{:?}", e.0))?;
            let set_math = self.get::<unsafe extern "C" fn(Handle, c_int) -> c_int>(c"cublasSetMathMode")?;
            // CUBLAS_DEFAULT_MATH, no TF32, and CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION: parts of a sum are added in its
            // type, and not in C's.
            succeed("cublasSetMathMode", set_math(self.handle, 16))
        }
    }

    /// Major × 10000 + minor × 100 + patch; 0 if it does not say.
    pub(crate) fn version(&self) -> u32 {
        let mut version: c_int = 0;
        // SAFETY: cublasGetVersion_v2(handle, int*) writes one integer.
        unsafe {
            match self.get::<unsafe extern "C" fn(Handle, *mut c_int) -> c_int>(c"cublasGetVersion_v2") {
                Ok(get) if get(self.handle, &mut version) == 0 => version as u32,
                _ => 0,
            }
        }
    }

    /// C = alpha·A·B + beta·C on the device, row-major: cuBLAS, which is column-major, sees Cᵀ = Bᵀ·Aᵀ.
    pub(crate) fn gemm(&self, dtype: Dtype, shape: &Shape, form: &Form, [a, b, c]: [u64; 3]) -> Result<(), String> {
        let (m, n, k) = (shape.m as c_int, shape.n as c_int, shape.k as c_int);
        let [lda, ldb, ldc] = form.leading(shape).map(|leading| leading as c_int);
        let [transposed, across] = [form.layout, form.a].map(|layout| c_int::from(layout == Layout::Columns));
        let (alpha, beta) = (form.alpha, form.beta);
        let (alpha32, beta32) = (alpha as f32, beta as f32);
        // SAFETY: the signatures are cublas_v2.h's; the buffers hold the problem's matrices, with their leading dimensions; alpha
        // and beta have the type of the sums, and are read from the host before the call returns.
        unsafe {
            let status = match dtype {
                Dtype::F64 => {
                    let gemm = self.get::<Gemm<f64>>(c"cublasDgemm_v2")?;
                    let (a, b, c) = (a as *const f64, b as *const f64, c as *mut f64);
                    gemm(self.handle, transposed, across, n, m, k, &alpha, b, ldb, a, lda, &beta, c, ldc)
                }
                Dtype::F32 => {
                    let gemm = self.get::<Gemm<f32>>(c"cublasSgemm_v2")?;
                    let (a, b, c) = (a as *const f32, b as *const f32, c as *mut f32);
                    gemm(self.handle, transposed, across, n, m, k, &alpha32, b, ldb, a, lda, &beta32, c, ldc)
                }
                _ => {
                    let (Some(input), Some(output)) = (cuda_type(dtype.input), cuda_type(dtype.output)) else {
                        return Err(format!("cublasGemmEx multiplies no {dtype}"));
                    };
                    let compute = if dtype.input == Element::Tf32 { FAST_TF32 } else { IN_F32 };
                    let gemm = self.get::<GemmEx>(c"cublasGemmEx")?;
                    let (alpha, beta) = ((&raw const alpha32).cast(), (&raw const beta32).cast());
                    let (a, b, c) = (a as *const c_void, b as *const c_void, c as *mut c_void);
                    #[rustfmt::skip]
                    let status = gemm(
                        self.handle, transposed, across, n, m, k,
                        alpha, b, input, ldb, a, input, lda,
                        beta, c, output, ldc, compute, -1,
                    );
                    status
                }
            };
            succeed("cublasGemm", status)
        }
    }

    /// The same of a batch of 16-bit elements.
    pub(crate) fn gemm_batched(
        &self,
        dtype: Dtype,
        shape: &Shape,
        form: &Form,
        batch: &Batch,
        [a, b, c]: [u64; 3],
    ) -> Result<(), String> {
        let (m, n, k) = (shape.m as c_int, shape.n as c_int, shape.k as c_int);
        let [lda, ldb, ldc] = form.leading(shape).map(|leading| leading as c_int);
        let [transposed, across] = [form.layout, form.a].map(|layout| c_int::from(layout == Layout::Columns));
        let [of_a, of_b, of_c] = batch.strides.map(|stride| stride as c_longlong);
        let (alpha, beta) = (form.alpha as f32, form.beta as f32);
        let (alpha, beta) = ((&raw const alpha).cast(), (&raw const beta).cast());
        let (Some(input), Some(output)) = (cuda_type(dtype.input), cuda_type(dtype.output)) else {
            return Err(format!("cublasGemmStridedBatchedEx multiplies no {dtype}"));
        };
        let (a, b, c) = (a as *const c_void, b as *const c_void, c as *mut c_void);
        // SAFETY: as of `gemm`, for every product of the batch.
        let status = unsafe {
            let gemm = self.get::<GemmBatchedEx>(c"cublasGemmStridedBatchedEx")?;
            #[rustfmt::skip]
            let status = gemm(
                self.handle, transposed, across, n, m, k,
                alpha, b, input, ldb, of_b, a, input, lda, of_a,
                beta, c, output, ldc, of_c, batch.count as c_int, IN_F32, -1,
            );
            status
        };
        succeed("cublasGemmStridedBatchedEx", status)
    }

    /// The algorithms that cuBLASLt would try first for a product of e4m3 or s8 with B as N × K; e4m3's sums the tensor cores make along
    /// all of K if `fast`. What is created here is small, and is kept as long as the process.
    pub(crate) fn light(&self, dtype: Dtype, shape: &Shape, form: &Form, fast: bool) -> Result<Vec<Light>, String> {
        let (m, n, k) = (u64::from(shape.m), u64::from(shape.n), u64::from(shape.k));
        let leading = form.leading(shape);
        let (Some(output), Some(factors)) = (cuda_type(dtype.output), cuda_type(dtype.sum)) else {
            return Err(format!("cublasLtMatmul multiplies no {dtype}"));
        };
        // CUDA_R_8I, or CUDA_R_8F_E4M3.
        let (input, compute) = if dtype.input == Element::S8 { (3, IN_S32) } else { (28, IN_F32) };
        // As of `gemm`: Cᵀ = Bᵀ·Aᵀ, column by column.
        let sizes = [(input, k, n, leading[1]), (input, k, m, leading[0]), (output, n, m, leading[2])];
        let (transposed, fast) = (1 as c_int, i8::from(fast));
        let (mut call, mut layouts, mut preference) = (ptr::null_mut(), [ptr::null_mut(); 3], ptr::null_mut());
        let (mut found, mut count) = ([Heuristic::default(); 8], 0);
        // SAFETY: the signatures are cublasLt.h's, and so are the attributes' numbers and sizes; a handle of cuBLAS is one of
        // cuBLASLt, too; at most as many heuristics are written as there is room for.
        unsafe {
            let create =
                self.get::<unsafe extern "C" fn(*mut Handle, c_int, c_int) -> c_int>(c"cublasLtMatmulDescCreate");
            let set = self.get::<SetAttribute>(c"cublasLtMatmulDescSetAttribute")?;
            succeed("cublasLtMatmulDescCreate", create?(&mut call, compute, factors))?;
            succeed("TRANSA", set(call, 3, (&raw const transposed).cast(), 4))?;
            succeed("FAST_ACCUM", set(call, 25, (&raw const fast).cast(), 1))?;
            let layout = self.get::<CreateLayout>(c"cublasLtMatrixLayoutCreate")?;
            for (to, (element, rows, columns, leading)) in layouts.iter_mut().zip(sizes) {
                succeed("cublasLtMatrixLayoutCreate", layout(to, element, rows, columns, leading as i64))?;
            }
            let [b, a, c] = layouts;
            let create = self.get::<unsafe extern "C" fn(*mut Handle) -> c_int>(c"cublasLtMatmulPreferenceCreate")?;
            succeed("cublasLtMatmulPreferenceCreate", create(&mut preference))?;
            let set = self.get::<SetAttribute>(c"cublasLtMatmulPreferenceSetAttribute")?;
            succeed("MAX_WORKSPACE_BYTES", set(preference, 1, (&raw const WORKSPACE).cast(), 8))?;
            let ask = self.get::<GetHeuristic>(c"cublasLtMatmulAlgoGetHeuristic")?;
            let status = ask(self.handle, call, b, a, c, c, preference, 8, found.as_mut_ptr(), &mut count);
            succeed("cublasLtMatmulAlgoGetHeuristic", status)?;
        }
        let whole = dtype.sum.whole().is_some();
        let light = |found: &Heuristic| Light { call, layouts, algorithm: found.algorithm, whole };
        Ok(found.iter().take(count as usize).map(light).collect())
    }

    /// C = alpha·A·Bᵀ + beta·C by one of them.
    pub(crate) fn light_gemm(&self, light: &Light, form: &Form, [a, b, c]: [u64; 3]) -> Result<(), String> {
        let [of_b, of_a, of_c] = light.layouts;
        // Of a type of 32 bits, as its sums: their bits, which the call reads.
        let factor = |value: f64| match light.whole {
            true if value.fract() != 0.0 => {
                Err(format!("a factor of {value} is no whole number, as sums in s32 need it"))
            }
            true => Ok((value as i32).to_ne_bytes()),
            false => Ok((value as f32).to_ne_bytes()),
        };
        let (alpha, beta) = (u32::from_ne_bytes(factor(form.alpha)?), u32::from_ne_bytes(factor(form.beta)?));
        // SAFETY: the signature is cublasLt.h's; the matrices are those that it was prepared for; the workspace is of this size.
        unsafe {
            let multiply = self.get::<LightGemm>(c"cublasLtMatmul")?;
            #[rustfmt::skip]
            let status = multiply(
                self.handle, light.call, &alpha, b, of_b, a, of_a, &beta, c, of_c, c, of_c,
                &light.algorithm, self.workspace, WORKSPACE, self.stream,
            );
            succeed("cublasLtMatmul", status)
        }
    }

    /// A function of the library. The caller gives it its true type.
    unsafe fn get<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        // SAFETY: forwarded to the caller.
        let symbol = unsafe { self.library.get::<F>(name.to_bytes_with_nul()) };
        symbol.map(|s| *s).map_err(|e| e.to_string())
    }
}

/// Bytes of memory that cuBLASLt may use beside the matrices.
static WORKSPACE: usize = 64 << 20;

/// An algorithm of cuBLASLt for some product.
#[derive(Debug)]
pub(crate) struct Light {
    call: Handle,
    layouts: [Handle; 3],
    algorithm: [u64; 8],
    /// Whether sums and factors are whole numbers.
    whole: bool,
}

/// cublasLtMatmulHeuristicResult_t.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Heuristic {
    algorithm: [u64; 8],
    workspace: usize,
    status: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

type SetAttribute = unsafe extern "C" fn(Handle, c_int, *const c_void, usize) -> c_int;
type CreateLayout = unsafe extern "C" fn(*mut Handle, c_int, u64, u64, i64) -> c_int;
#[rustfmt::skip]
type GetHeuristic = unsafe extern "C" fn(
    Handle, Handle, Handle, Handle, Handle, Handle, Handle, c_int, *mut Heuristic, *mut c_int,
) -> c_int;
#[rustfmt::skip]
type LightGemm = unsafe extern "C" fn(
    Handle, Handle, *const u32, u64, Handle, u64, Handle, *const u32, u64, Handle, u64, Handle,
    *const [u64; 8], u64, usize, Handle,
) -> c_int;

#[rustfmt::skip]
type Gemm<T> = unsafe extern "C" fn(
    Handle, c_int, c_int, c_int, c_int, c_int,
    *const T, *const T, c_int, *const T, c_int, *const T, *mut T, c_int,
) -> c_int;
#[rustfmt::skip]
type GemmEx = unsafe extern "C" fn(
    Handle, c_int, c_int, c_int, c_int, c_int,
    *const c_void, *const c_void, c_int, c_int, *const c_void, c_int, c_int,
    *const c_void, *mut c_void, c_int, c_int, c_int, c_int,
) -> c_int;

#[rustfmt::skip]
type GemmBatchedEx = unsafe extern "C" fn(
    Handle, c_int, c_int, c_int, c_int, c_int,
    *const c_void, *const c_void, c_int, c_int, c_longlong, *const c_void, c_int, c_int, c_longlong,
    *const c_void, *mut c_void, c_int, c_int, c_longlong, c_int, c_int, c_int,
) -> c_int;

/// The number of a type in library_types.h, if cuBLAS's `gemm` takes it; of bytes cuBLASLt takes those that are named there.
fn cuda_type(element: Element) -> Option<c_int> {
    match element {
        Element::F32 | Element::Tf32 => Some(0),
        Element::F64 => Some(1),
        Element::F16 => Some(2),
        Element::Bf16 => Some(14),
        Element::S32 => Some(10),
        Element::E4m3 | Element::E5m2 | Element::S8 => None,
    }
}

fn succeed(what: &str, status: c_int) -> Result<(), String> {
    if status == 0 { Ok(()) } else { Err(format!("{what} failed with status {status}")) }
}

impl Drop for Cublas {
    fn drop(&mut self) {
        // SAFETY: cublasDestroy_v2(handle) takes a handle that is used no more, and so is the workspace, which is 0 where there is none.
        unsafe {
            let destroy = self.get::<unsafe extern "C" fn(Handle) -> c_int>(c"cublasDestroy_v2");
            if let (Ok(destroy), false) = (destroy, self.handle.is_null()) {
                destroy(self.handle);
            }
            // Nothing is to be done about a driver that refuses.
            let _ = sys::cuMemFree_v2(self.workspace);
        }
    }
}
