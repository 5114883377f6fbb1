//! The vendor's own product: cuBLAS, on the same matrices, timed in the same way; or cuBLASLt with the fastest of its algorithms.
//!
//! It is a yardstick and never a reference: what it computes is checked like any kernel's product.

use std::cell::RefCell;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut, DeviceRepr};
use gemm::epilogue::Batch;
use gemm::form::{Form, Layout};
use gemm::matrix::{Matrix, Scalar};
use gemm::problem::Problem;
use gemm::{Dtype, Element, Error, Shape};

use crate::cuda::{Gpu, Operands, failed};
use crate::ffi::{Cublas, HEURISTICS, Light};
use crate::libraries::{CUBLAS, CUBLAS_LT};
use gemm::timing::Timing;

/// What is said about the precision of cuBLAS's product.
pub const MATH: &str = "cublasSgemm and cublasDgemm, CUBLAS_DEFAULT_MATH: no TF32; inputs, products and sums in the \
                        type itself (f64 on tensor cores where the GPU has them, and not emulated); in other types \
                        cublasGemmEx with sums in f32, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION; e4m3 with B as \
                        N x K by cublasLtMatmul, scales of 1, the fastest of its heuristics' sixteen best with \
                        CUBLASLT_MATMUL_DESC_FAST_ACCUM and of sixteen without it; s8 as e4m3, the fastest of sixteen";
/// The same of what [`Which::Tuned`] computes.
pub const TUNED_MATH: &str = "cublasLtMatmul in every type and layout that it takes, the fastest of its heuristics' sixteen best, each \
                              timed beforehand, with 64 MiB of workspace; sums as of cublasGemmEx, and parts of a sum are not \
                              added in C's type; f32 without TF32; e4m3 as well with CUBLASLT_MATMUL_DESC_FAST_ACCUM as \
                              without it";

/// Which product of the vendor's is compared with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Which {
    /// cuBLAS, which chooses by itself; of bytes, which it does not take, the fastest of cuBLASLt's.
    #[default]
    Usual,
    /// cuBLASLt in every type, with the fastest of the algorithms that its heuristics name, each of them timed.
    Tuned,
}

impl Which {
    /// What `from_str` takes.
    pub const NAMES: [&str; 2] = ["usual", "tuned"];

    /// What is said about its precision.
    pub fn math(self) -> &'static str {
        match self {
            Which::Usual => MATH,
            Which::Tuned => TUNED_MATH,
        }
    }
}

impl FromStr for Which {
    type Err = String;

    fn from_str(word: &str) -> Result<Which, String> {
        match word {
            "usual" => Ok(Which::Usual),
            "tuned" => Ok(Which::Tuned),
            _ => Err(format!("`{word}` is none of the vendor's: there are {}", Which::NAMES.join(", "))),
        }
    }
}

/// Time that a trial of an algorithm is to take, as far as one launch is shorter.
const TRIAL: Duration = Duration::from_millis(2);

type Product = (Dtype, Shape, Form);

/// cuBLAS on a GPU.
#[derive(Debug)]
pub struct Vendor<'a> {
    gpu: &'a Gpu,
    cublas: Cublas,
    which: Which,
    /// The latest product of cuBLASLt, and the algorithm that is the fastest for it.
    light: RefCell<Option<(Product, Light)>>,
}

impl<'a> Vendor<'a> {
    /// Looks for cuBLAS. `Err` says where it was looked for, or what it answers.
    pub fn find(gpu: &'a Gpu) -> Result<Vendor<'a>, String> {
        Vendor::on(gpu, gpu.stream())
    }

    /// The same, for products on a stream of the caller's.
    pub fn on(gpu: &'a Gpu, stream: &Arc<CudaStream>) -> Result<Vendor<'a>, String> {
        let cublas = CUBLAS.find(|library| {
            // What it needs lies beside it, and the loader may not know that.
            let light = library.parent().and_then(|folder| CUBLAS_LT.files_in(folder).next());
            Cublas::open(library, light.as_deref(), stream)
        })?;
        Ok(Vendor { gpu, cublas, which: Which::Usual, light: RefCell::default() })
    }

    /// The same with this way to multiply.
    pub fn by(self, which: Which) -> Vendor<'a> {
        Vendor { which, ..self }
    }

    /// What its rows are called: `cuBLAS 13.1.0`, or `cuBLASLt 13.1.0, best of 16`.
    pub fn name(&self) -> String {
        match self.which {
            Which::Usual => format!("cuBLAS {}", self.version()),
            Which::Tuned => format!("cuBLASLt {}, best of {HEURISTICS}", self.version()),
        }
    }

    /// Its version, for instance `13.1.0`.
    pub fn version(&self) -> String {
        let version = self.cublas.version();
        format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
    }

    /// `C = alpha·A·B + beta·C` on matrices that lie on the GPU, submitted to the stream that it was found for: what
    /// the summit's handle does.
    ///
    /// # Errors
    /// [`Error::Usage`], where cuBLAS refuses.
    pub fn gemm<T: Scalar + DeviceRepr>(
        &self,
        stream: &CudaStream,
        shape: Shape,
        form: &Form,
        a: &impl DevicePtr<T>,
        b: &impl DevicePtr<T>,
        c: &mut impl DevicePtrMut<T>,
    ) -> Result<(), Error> {
        let ((a, _a), (b, _b), (c, _c)) = (a.device_ptr(stream), b.device_ptr(stream), c.device_ptr_mut(stream));
        let product = self.cublas.gemm(Dtype::of_all(T::ELEMENT), &shape, form, [a, b, c]);
        product.map_err(|why| Error::usage(why, "check sizes and leading dimensions"))
    }

    /// The same of 16-bit elements, as bytes, and of a batch: `cublasGemmEx`, or `cublasGemmStridedBatchedEx`.
    ///
    /// # Errors
    /// [`Error::Usage`], where cuBLAS refuses.
    pub fn gemm_of_bytes(
        &self,
        stream: &CudaStream,
        (dtype, shape, form, batch): (Dtype, Shape, &Form, &Batch),
        a: &impl DevicePtr<u8>,
        b: &impl DevicePtr<u8>,
        c: &mut impl DevicePtrMut<u8>,
    ) -> Result<(), Error> {
        let ((a, _a), (b, _b), (c, _c)) = (a.device_ptr(stream), b.device_ptr(stream), c.device_ptr_mut(stream));
        let product = match batch.count {
            1 => self.cublas.gemm(dtype, &shape, form, [a, b, c]),
            _ => self.cublas.gemm_batched(dtype, &shape, form, batch, [a, b, c]),
        };
        product.map_err(|why| Error::usage(why, "check sizes, leading dimensions and strides"))
    }

    /// The same, of matrices at these addresses.
    pub(crate) fn submit(&self, dtype: Dtype, shape: &Shape, form: &Form, matrices: [u64; 3]) -> Result<(), Error> {
        let product = match (self.which, dtype.input.bytes()) {
            (Which::Tuned, _) | (_, 1) => self.light(dtype, shape, form, matrices),
            _ => self.cublas.gemm(dtype, shape, form, matrices),
        };
        product.map_err(|why| Error::usage(why, "`--no-vendor` leaves cuBLAS out"))
    }

    /// The same by cuBLASLt.
    fn light(&self, dtype: Dtype, shape: &Shape, form: &Form, matrices: [u64; 3]) -> Result<(), String> {
        let is_bytes = dtype.input.bytes() == 1;
        let is_known = matches!(dtype.input, Element::E4m3 | Element::S8);
        if is_bytes && (!is_known || form.layout == Layout::Rows || form.a == Layout::Columns) {
            return Err(format!(
                "cuBLASLt multiplies no {dtype} that is stored so: of bytes only e4m3 and s8, with B as N x K"
            ));
        }
        let mut light = self.light.borrow_mut();
        if light.as_ref().is_none_or(|(of, _)| *of != (dtype, *shape, *form)) {
            *light = Some(((dtype, *shape, *form), self.fastest(dtype, shape, form, matrices)?));
        }
        light.as_ref().map_or(Ok(()), |(_, light)| self.cublas.light_gemm(light, form, matrices))
    }

    /// The algorithm that takes the least time; where launches would add to C, the one that cuBLASLt would try first. One that fails when
    /// it is tried is left out.
    fn fastest(&self, dtype: Dtype, shape: &Shape, form: &Form, matrices: [u64; 3]) -> Result<Light, String> {
        let ways: &[bool] = if dtype.input == Element::E4m3 { &[true, false] } else { &[false] };
        let named: Vec<Vec<Light>> =
            ways.iter().map(|&fast| self.cublas.light(dtype, shape, form, fast)).collect::<Result<_, _>>()?;
        let named = named.into_iter().flatten();
        let timed = |light: Light| match form.beta == 0.0 {
            true => self.time(&light, form, matrices).ok().map(|time| (time, light)),
            false => Some((Duration::ZERO, light)),
        };
        // Of equal ones the first.
        let best = named.filter_map(timed).min_by_key(|(time, _)| *time);
        best.map(|(_, light)| light).ok_or_else(|| format!("cuBLASLt multiplies no {dtype} of {shape}"))
    }

    /// The time of a launch, the mean of as many as fill a trial; of three trials the least.
    fn time(&self, light: &Light, form: &Form, matrices: [u64; 3]) -> Result<Duration, String> {
        let trial = |launches: u32| {
            let start = Instant::now();
            (0..launches).try_for_each(|_| self.cublas.light_gemm(light, form, matrices))?;
            self.gpu.context().synchronize().map_err(|e| format!("{:?}", e.0))?;
            Ok::<_, String>(start.elapsed() / launches)
        };
        // The first one loads the kernel.
        trial(1)?;
        let once = trial(1)?.max(Duration::from_micros(1));
        let launches = (TRIAL.as_nanos() / once.as_nanos()).clamp(1, 200) as u32;
        let times = [trial(launches)?, trial(launches)?, trial(launches)?];
        Ok(times.into_iter().min().unwrap_or(once))
    }

    /// alpha·A·B + beta·C, and the times of repeated calls if asked for.
    pub fn multiply(&self, problem: &Problem, time: bool) -> Result<(Matrix, Option<Timing>), Error> {
        let gpu = self.gpu;
        let operands = Operands::of(gpu, problem)?;
        let addresses = operands.addresses(gpu);
        let run = || self.submit(problem.dtype, &problem.shape, &problem.form, addresses);
        run()?;
        gpu.stream().synchronize().map_err(|e| failed("running cuBLAS", e))?;
        let product = operands.product(gpu)?;
        let timing = if time { Some(gpu.times(&problem.shape, problem.dtype, run)?) } else { None };
        Ok((problem.c.with_bytes(product), timing))
    }
}
