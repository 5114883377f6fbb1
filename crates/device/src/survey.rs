//! Many problems on one GPU, one after the other: kernels are loaded once, and the matrices are the first elements of what lies there.

use std::cell::RefCell;

use cudarc::driver::{CudaSlice, DevicePtr, DriverError};
use gemm::form::{Form, Specialization};
use gemm::kernel::Kernel;
use gemm::matrix::Matrix;
use gemm::problem::{Fill, Problem};
use gemm::{Build, Dtype, Error, Shape};
use rayon::prelude::*;

use crate::copies::What;
use crate::cuda::{Gpu, Repeated, Unloaded, failed};
use crate::functions::{Functions, configs};
use crate::nvrtc;
use crate::turns::{Contender, Pace, Pause, take_turns};
use crate::vendor::{Vendor, Which};
use gemm::timing::Timing;

/// A problem of which A and B are the pattern that is repeated on the GPU: of prime sizes, so that no shape repeats it row by row.
const PATTERN: Shape = Shape { m: 1009, n: 1013, k: 997 };

/// A GPU with matrices that serve every problem of a type up to a size, and with kernels.
pub struct Survey<'a> {
    gpu: &'a Gpu,
    vendor: Option<Vendor<'a>>,
    dtype: Dtype,
    form: Form,
    /// What A and B repeat.
    patterns: [Vec<f64>; 2],
    a: CudaSlice<u8>,
    b: CudaSlice<u8>,
    c: RefCell<CudaSlice<u8>>,
    /// What C is filled with before a launch: NaN in every type.
    poison: CudaSlice<u8>,
    kernels: Vec<(Build, Functions)>,
    pause: Pause,
}

impl<'a> Survey<'a> {
    /// Room for matrices of so many elements each, and these builds' kernels, loaded on all cores of the host. A kernel that the
    /// GPU does not take is left out, and its error is the second part.
    ///
    /// # Errors
    /// Where the GPU has no room.
    pub fn new(
        gpu: &'a Gpu,
        dtype: Dtype,
        elements: usize,
        builds: &[Build],
        seed: u64,
    ) -> Result<(Survey<'a>, Vec<(Build, Error)>), Error> {
        let problem = Problem::new(PATTERN, dtype, Fill::Reals, seed)?;
        let copying = |error| failed("copying the matrices", error);
        let stream = gpu.stream();
        let repeated = |matrix: &Matrix| {
            let size = elements * matrix.element().bytes();
            let mut bytes = matrix.bytes().repeat(size / matrix.bytes().len() + 1);
            bytes.truncate(size);
            stream.clone_htod(&bytes).map_err(copying)
        };
        let poison = vec![0xff; elements * dtype.output.bytes()];
        let ready = |build: &Build| {
            let Specialization { a, layout, .. } = build.configuration.specialization;
            let plan = build.plan_in(PATTERN, Form { a, layout, ..Form::PLAIN })?;
            gpu.ready(&plan.task(&Kernel::obtain(build, gpu.architecture(), nvrtc::find)?)).map_err(Unloaded::error)
        };
        let (mut kernels, mut refused) = (Vec::new(), Vec::new());
        let loaded: Vec<_> = builds.par_iter().map(|build| (build.clone(), ready(build))).collect();
        for (build, functions) in loaded {
            match functions {
                Ok(functions) => kernels.push((build, functions)),
                Err(error) => refused.push((build, error)),
            }
        }
        let survey = Survey {
            gpu,
            vendor: Vendor::find(gpu).ok(),
            dtype,
            form: Form::usual(dtype),
            patterns: [problem.a.values(), problem.b.values()],
            a: repeated(&problem.a)?,
            b: repeated(&problem.b)?,
            c: RefCell::new(stream.clone_htod(&poison).map_err(copying)?),
            poison: stream.clone_htod(&poison).map_err(copying)?,
            kernels,
            pause: Pause::new(gpu)?,
        };
        Ok((survey, refused))
    }

    /// The same for products in another form, whose kernels are of builds for it.
    pub fn in_form(self, form: Form) -> Survey<'a> {
        Survey { form, ..self }
    }

    /// The same beside this product of the vendor's.
    pub fn beside(self, which: Which) -> Survey<'a> {
        Survey { vendor: self.vendor.map(|vendor| vendor.by(which)), ..self }
    }

    /// What the vendor's product is called, if it is there.
    pub fn vendor_name(&self) -> Option<String> {
        self.vendor.as_ref().map(Vendor::name)
    }

    /// cuBLAS's version, if it is there.
    pub fn vendor_version(&self) -> Option<String> {
        self.vendor.as_ref().map(Vendor::version)
    }

    fn addresses(&self) -> [u64; 3] {
        let c = self.c.borrow();
        [&self.a, &self.b, &*c].map(|matrix| DevicePtr::<u8>::device_ptr(matrix, self.gpu.stream()).0)
    }

    /// cuBLAS on a shape, if it is there.
    pub fn vendor(&self, shape: Shape) -> Option<Contender<'_>> {
        let (vendor, dtype, addresses) = (self.vendor.as_ref()?, self.dtype, self.addresses());
        Some(Contender::new(move || vendor.submit(dtype, &shape, &self.form, addresses)))
    }

    /// A build on a shape; nothing where it cannot, or is not loaded.
    ///
    /// # Errors
    /// Where the driver makes no tensor map.
    pub fn kernel(&self, build: &Build, shape: Shape) -> Result<Option<Contender<'_>>, Error> {
        let Some((_, functions)) = self.kernels.iter().find(|(other, _)| other == build) else { return Ok(None) };
        let Ok(plan) = build.plan_in(shape, self.form) else { return Ok(None) };
        let configs = configs(&plan.launch, build.dynamic_shared(), build.before(&shape));
        let (operands, addresses) = (build.operands(&shape, &plan.form), self.addresses());
        let launch = Repeated::new(self.gpu, What { functions, configs, operands: &operands, addresses })?;
        Ok(Some(Contender::new(move || launch.submit())))
    }

    /// Times of all in turns, short launches behind a pause: all of a turn are submitted before the first one starts.
    ///
    /// # Errors
    /// The first that a launch gives.
    pub fn in_turns(&self, contenders: &[&Contender], shape: Shape, pace: Pace) -> Result<Vec<Timing>, Error> {
        take_turns(self.gpu, contenders, (shape, self.dtype), pace, Some(&self.pause))
    }

    /// Fills C of this shape with NaN.
    ///
    /// # Errors
    /// What the driver says.
    pub fn poison(&self, shape: Shape) -> Result<(), Error> {
        let bytes = shape.m as usize * shape.n as usize * self.dtype.output.bytes();
        let copied =
            self.gpu.stream().memcpy_dtod(&self.poison.slice(0..bytes), &mut self.c.borrow_mut().slice_mut(0..bytes));
        copied.map_err(|e| failed("filling C", e))
    }

    /// These rows of C of this shape, when all is done that was submitted.
    ///
    /// # Errors
    /// What the driver says, of a launch before, too.
    pub fn rows(&self, shape: Shape, rows: &[u32]) -> Result<Vec<Vec<f64>>, Error> {
        let (element, columns, stream) = (self.dtype.output, shape.n as usize, self.gpu.stream());
        let size = columns * element.bytes();
        let read = |&row: &u32| {
            let bytes = stream.clone_dtoh(&self.c.borrow().slice(row as usize * size..(row as usize + 1) * size))?;
            stream.synchronize()?;
            let mut values = vec![0.0; columns];
            element.read(&bytes, &mut values);
            Ok(values)
        };
        rows.iter().map(read).collect::<Result<_, DriverError>>().map_err(|e| failed("running the kernel", e))
    }

    /// What an element of the product of this shape is, before any rounding.
    pub fn exact(&self, shape: Shape, row: u32, column: u32) -> f64 {
        let [a, b] = &self.patterns;
        let (n, k) = (shape.n as usize, shape.k as usize);
        let (first, column) = (row as usize * k, column as usize);
        let of_b = |i: usize| if self.form.layout.is_rows() { i * n + column } else { column * k + i };
        (0..k).map(|i| a[(first + i) % a.len()] * b[of_b(i) % b.len()]).sum()
    }
}
