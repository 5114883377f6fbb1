//! cuBLAS's functions, and cuBLASLt's.

use std::ffi::{CStr, c_int, c_longlong, c_void};
use std::path::Path;
use std::ptr;

use cudarc::driver::{CudaStream, sys};
use gemm::epilogue::Batch;
use gemm::form::{Form, Layout};
use gemm::{Dtype, Element, Shape};
use libloading::Library;

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
/// `cublasComputeType_t` of cublas_api.h: CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_32I and CUBLAS_COMPUTE_32F_FAST_TF32.
const IN_F32: c_int = 68;
const IN_F64: c_int = 70;
const IN_S32: c_int = 72;
const FAST_TF32: c_int = 77;
/// `cublasLtReductionScheme_t` of cublasLt.h, as a mask: parts of a sum are added in place or in the type of the sums, and not in C's.
static REDUCTION: u32 = 1 | 2;
/// Algorithms that cuBLASLt's heuristics are asked for.
pub(crate) const HEURISTICS: usize = 16;

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

    /// The algorithms that cuBLASLt would try first, the best by its heuristics first; e4m3's sums the tensor cores make along all of K
    /// if `fast`. What is created here is small, and is kept as long as the process.
    pub(crate) fn light(&self, dtype: Dtype, shape: &Shape, form: &Form, fast: bool) -> Result<Vec<Light>, String> {
        let (m, n, k) = (u64::from(shape.m), u64::from(shape.n), u64::from(shape.k));
        let leading = form.leading(shape);
        let types = (light_type(dtype.input), cuda_type(dtype.output), cuda_type(dtype.sum));
        let (Some(input), Some(output), Some(factors)) = types else {
            return Err(format!("cublasLtMatmul multiplies no {dtype}"));
        };
        let compute = match dtype.input {
            Element::F64 => IN_F64,
            Element::S8 => IN_S32,
            Element::Tf32 => FAST_TF32,
            _ => IN_F32,
        };
        // As of `gemm`: Cᵀ = Bᵀ·Aᵀ, column by column; what is stored as columns is transposed.
        let [transposed, across] = [form.layout, form.a].map(|layout| c_int::from(layout == Layout::Columns));
        let stored = |transposed: c_int, rows: u64, columns: u64| match transposed {
            0 => [rows, columns],
            _ => [columns, rows],
        };
        let [of_b, of_a] = [stored(transposed, n, k), stored(across, k, m)];
        let sizes = [(input, of_b, leading[1]), (input, of_a, leading[0]), (output, [n, m], leading[2])];
        let fast = i8::from(fast);
        let (mut call, mut layouts, mut preference) = (ptr::null_mut(), [ptr::null_mut(); 3], ptr::null_mut());
        let (mut found, mut count) = ([Heuristic::default(); HEURISTICS], 0);
        // SAFETY: the signatures are cublasLt.h's, and so are the attributes' numbers and sizes; a handle of cuBLAS is one of
        // cuBLASLt, too; at most as many heuristics are written as there is room for.
        unsafe {
            let create =
                self.get::<unsafe extern "C" fn(*mut Handle, c_int, c_int) -> c_int>(c"cublasLtMatmulDescCreate");
            let set = self.get::<SetAttribute>(c"cublasLtMatmulDescSetAttribute")?;
            succeed("cublasLtMatmulDescCreate", create?(&mut call, compute, factors))?;
            succeed("TRANSA", set(call, 3, (&raw const transposed).cast(), 4))?;
            succeed("TRANSB", set(call, 4, (&raw const across).cast(), 4))?;
            succeed("FAST_ACCUM", set(call, 25, (&raw const fast).cast(), 1))?;
            let layout = self.get::<CreateLayout>(c"cublasLtMatrixLayoutCreate")?;
            for (to, (element, [rows, columns], leading)) in layouts.iter_mut().zip(sizes) {
                succeed("cublasLtMatrixLayoutCreate", layout(to, element, rows, columns, leading as i64))?;
            }
            let [b, a, c] = layouts;
            let create = self.get::<unsafe extern "C" fn(*mut Handle) -> c_int>(c"cublasLtMatmulPreferenceCreate")?;
            succeed("cublasLtMatmulPreferenceCreate", create(&mut preference))?;
            let set = self.get::<SetAttribute>(c"cublasLtMatmulPreferenceSetAttribute")?;
            succeed("MAX_WORKSPACE_BYTES", set(preference, 1, (&raw const WORKSPACE).cast(), 8))?;
            succeed("REDUCTION_SCHEME_MASK", set(preference, 3, (&raw const REDUCTION).cast(), 4))?;
            let ask = self.get::<GetHeuristic>(c"cublasLtMatmulAlgoGetHeuristic")?;
            let most = HEURISTICS as c_int;
            let status = ask(self.handle, call, b, a, c, c, preference, most, found.as_mut_ptr(), &mut count);
            succeed("cublasLtMatmulAlgoGetHeuristic", status)?;
        }
        let light = |found: &Heuristic| Light { call, layouts, algorithm: found.algorithm, sum: dtype.sum };
        let usable = found.iter().take(count as usize).filter(|found| found.status == 0);
        Ok(usable.map(light).collect())
    }

    /// C = alpha·A·B + beta·C by one of them.
    pub(crate) fn light_gemm(&self, light: &Light, form: &Form, [a, b, c]: [u64; 3]) -> Result<(), String> {
        let [of_b, of_a, of_c] = light.layouts;
        let (alpha, beta) = (light.factor(form.alpha)?, light.factor(form.beta)?);
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
    /// The type of sums and factors.
    sum: Element,
}

impl Light {
    /// A factor in the type of the sums: its bits, of which the call reads as many as it needs.
    fn factor(&self, value: f64) -> Result<[u8; 8], String> {
        let small = |bytes: [u8; 4]| {
            let [a, b, c, d] = bytes;
            Ok([a, b, c, d, 0, 0, 0, 0])
        };
        match self.sum {
            Element::F64 => Ok(value.to_ne_bytes()),
            Element::S32 if value.fract() != 0.0 => {
                Err(format!("a factor of {value} is no whole number, as sums in s32 need it"))
            }
            Element::S32 => small((value as i32).to_ne_bytes()),
            _ => small((value as f32).to_ne_bytes()),
        }
    }
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
    Handle, Handle, *const [u8; 8], u64, Handle, u64, Handle, *const [u8; 8], u64, Handle, u64, Handle,
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

/// The same for A and B of cuBLASLt's, which takes bytes, too.
fn light_type(element: Element) -> Option<c_int> {
    match element {
        Element::S8 => Some(3),
        Element::E4m3 => Some(28),
        other => cuda_type(other),
    }
}

/// The number of a type in library_types.h, if cuBLAS's `gemm` takes it.
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
