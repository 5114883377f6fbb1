//! The product on a CUDA GPU, through the driver: resources, occupancy, times.

mod form;
mod load;

use std::panic;
use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
use cudarc::driver::sys::cudaError_enum as Status;
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DriverError};
use gemm::copies::copied;
use gemm::facts::{Facts, Ran, Resources};
use gemm::matrix::Matrix;
use gemm::problem::Problem;
use gemm::task::{Operand, Task, room};
use gemm::{Dtype, Error, Shape};

use crate::arguments::Arguments;
use crate::copies::{Room, What};
use crate::ffi;
use crate::functions::{Configs, Functions, configs, launch};
use crate::nvrtc;
use gemm::timing::{Peak, Timing, fma_per_clock};

use crate::timing;
pub(crate) use load::Loaded;
pub use load::Unloaded;

/// A GPU that answers.
#[derive(Debug)]
pub struct Gpu {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    name: String,
    capability: (i32, i32),
    multiprocessors: u32,
    clock_khz: u32,
    /// Room for copies before launches on its own stream.
    pub(crate) room: Room,
    /// Where its driver refuses a kernel, the emulator may run it.
    pub(crate) falls_back: bool,
    /// Whether it says nothing on stderr.
    is_quiet: bool,
}

impl Gpu {
    /// The first GPU, if the driver is there and answers; `Err` says why not.
    pub fn find() -> Result<Gpu, String> {
        if !ffi::cuda_driver_is_present() {
            return Err("no CUDA driver is installed (libcuda is not found)".into());
        }
        // A driver too old to have a function that cudarc asks for ends in a panic there.
        let quiet = panic::take_hook();
        panic::set_hook(Box::new(|_| ()));
        let answer = panic::catch_unwind(Gpu::open);
        panic::set_hook(quiet);
        match answer {
            Ok(Ok(gpu)) => Ok(gpu),
            Ok(Err(error)) => Err(format!("the CUDA driver answers {:?}", error.0)),
            Err(_) => Err("the CUDA driver is too old".into()),
        }
    }

    fn open() -> Result<Gpu, DriverError> {
        Gpu::of(CudaContext::new(0)?)
    }

    /// The GPU of a context, for a library: it prints nothing.
    ///
    /// # Errors
    /// What the driver answers to questions about the GPU.
    pub fn on(context: &Arc<CudaContext>) -> Result<Gpu, DriverError> {
        Ok(Gpu { is_quiet: true, ..Gpu::of(context.clone())? })
    }

    fn of(context: Arc<CudaContext>) -> Result<Gpu, DriverError> {
        let stream = context.default_stream();
        let attribute = |which| context.attribute(which).map(|value| value as u32);
        Ok(Gpu {
            name: context.name()?,
            capability: context.compute_capability()?,
            multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
            room: Room::default(),
            falls_back: false,
            is_quiet: false,
            stream,
            context,
        })
    }

    /// The GPU's name, as the driver gives it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its architecture: 90 is `sm_90`.
    pub fn architecture(&self) -> u32 {
        (self.capability.0 * 10 + self.capability.1) as u32
    }

    /// The CUDA version that its driver implements, for instance `13.0`.
    pub fn cuda_version(&self) -> Option<String> {
        ffi::cuda_version().map(|version| format!("{}.{}", version / 1000, version % 1000 / 10))
    }

    /// Its streaming multiprocessors.
    pub fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    /// The most multiply-adds that it can do, if its architecture's rate is known.
    pub fn peak(&self, dtype: Dtype) -> Option<Peak> {
        let fma_per_clock = fma_per_clock(self.architecture(), dtype)?;
        Some(Peak { multiprocessors: self.multiprocessors, fma_per_clock, clock_mhz: self.clock_khz / 1000 })
    }

    /// Its context.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// A kernel, loaded, with as much dynamic shared memory as it needs: on the GPU in a form that the driver takes, or not at all.
    ///
    /// # Errors
    /// [`Unloaded`], where the driver does not take it, or has no room.
    pub fn ready(&self, task: &Task) -> Result<Functions, Unloaded> {
        let Loaded { functions, .. } = self.load(task, nvrtc::find)?;
        self.allow_shared(&functions, task).map_err(Unloaded::Failed)?;
        Ok(functions)
    }

    /// Opts in to dynamic shared memory above 48 KiB.
    fn allow_shared(&self, functions: &Functions, task: &Task) -> Result<(), DriverError> {
        let bytes = task.dynamic_shared as i32;
        let mut wanted = functions.plain.iter().chain([&functions.kernel]).filter(|_| bytes > 0);
        wanted.try_for_each(|one| one.set_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes))
    }

    /// The stream of its own launches.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Runs a loaded kernel once, fetches C, and takes times if asked to.
    pub(crate) fn launch(
        &self,
        Loaded { functions, ptxas }: Loaded,
        task: &Task,
        problem: &Problem,
        time: bool,
    ) -> Result<Ran, Error> {
        let resources = self.resources(&functions, task, ptxas).map_err(|e| failed("asking for resources", e))?;
        // ANCHOR: run
        let operands = Operands::of(self, problem)?;
        let run = self.launcher(&functions, task, &operands)?;
        run()?;
        self.stream.synchronize().map_err(|e| failed("running the kernel", e))?;
        let product = operands.product(self)?;
        // ANCHOR_END: run
        let found = self.room.first(&self.stream, task.found()).map_err(|e| failed("reading what was prepared", e))?;

        let timing = if time { Some(self.times(&problem.shape, problem.dtype, run)?) } else { None };
        let facts = Facts::Cuda { resources, timing };
        Ok(Ran { c: problem.c.with_bytes(product), facts, overwritten: Vec::new(), found })
    }

    /// What launches a kernel with these matrices, again and again.
    pub(crate) fn launcher<'a>(
        &'a self,
        functions: &Functions,
        task: &Task,
        operands: &Operands,
    ) -> Result<impl Fn() -> Result<(), Error> + use<'a>, Error> {
        self.allow_shared(functions, task).map_err(|e| failed("asking for shared memory", e))?;
        // ANCHOR: launch
        let configs = configs(&task.launch, task.dynamic_shared, task.before);
        let addresses = operands.addresses(self);
        let launch = Repeated::new(self, What { functions, configs, operands: &task.operands, addresses })?;
        Ok(move || launch.submit())
        // ANCHOR_END: launch
    }

    /// Times of single runs, each between two events. A batch is submitted before any of its times is
    /// read: the GPU then goes from one launch to the next, and no time contains the host's.
    pub(crate) fn times(
        &self,
        shape: &Shape,
        dtype: Dtype,
        run: impl Fn() -> Result<(), Error>,
    ) -> Result<Timing, Error> {
        let began = Instant::now();
        while began.elapsed() < timing::WARM_UP {
            run()?;
            self.stream.synchronize().map_err(|e| failed("timing", e))?;
        }
        let mut milliseconds = Vec::new();
        while timing::wants_more(&milliseconds) {
            milliseconds.extend(self.timed(&run, timing::BATCH)?);
        }
        Ok(Timing::of(milliseconds, shape, self.peak(dtype)))
    }

    /// Milliseconds of so many runs.
    pub(crate) fn timed(&self, run: &dyn Fn() -> Result<(), Error>, runs: usize) -> Result<Vec<f64>, Error> {
        let driver = |e: DriverError| failed("timing", e);
        let event = || self.context.new_event(Some(CU_EVENT_DEFAULT)).map_err(driver);
        // ANCHOR: times
        let mut batch = Vec::new();
        for _ in 0..runs {
            let (start, end) = (event()?, event()?);
            start.record(&self.stream).map_err(driver)?;
            run()?;
            end.record(&self.stream).map_err(driver)?;
            batch.push((start, end));
        }
        batch.iter().map(|(start, end)| Ok(f64::from(start.elapsed_ms(end).map_err(driver)?))).collect()
        // ANCHOR_END: times
    }

    /// What the kernel needs.
    fn resources(&self, functions: &Functions, task: &Task, ptxas: String) -> Result<Resources, DriverError> {
        let (threads, dynamic) = (task.launch.block.count() as u32, task.dynamic_shared);
        self.allow_shared(functions, task)?;
        let function = &functions.kernel;
        let blocks_per_sm = function.occupancy_max_active_blocks_per_multiprocessor(threads, dynamic as usize, None)?;
        let max_threads = self.context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?;
        Ok(Resources {
            ptxas,
            registers: function.num_regs()? as u32,
            local_bytes: function.local_size_bytes()? as u32,
            shared_bytes: function.shared_size_bytes()? as u32 + dynamic,
            blocks_per_sm,
            warps_per_sm: blocks_per_sm * threads.div_ceil(32),
            max_warps_per_sm: max_threads as u32 / 32,
        })
    }
}

/// A launch that is submitted again and again, with matrices that stay where they are.
#[derive(Debug)]
pub(crate) struct Repeated<'a> {
    gpu: &'a Gpu,
    functions: Functions,
    configs: Configs,
    operands: Vec<Operand>,
    addresses: [u64; 3],
    /// Made once; where there is room for something beside the matrices, at each launch, because it may have grown.
    arguments: Option<Arguments>,
}

impl<'a> Repeated<'a> {
    /// A kernel's launch on the GPU's own stream.
    pub(crate) fn new(gpu: &'a Gpu, what: What) -> Result<Repeated<'a>, Error> {
        let What { functions, configs, operands, addresses } = what;
        let copies = copied(operands, addresses);
        let bytes = room(operands);
        // Not in the first launch, which may be timed.
        gpu.room.prepare(&gpu.stream, &copies, bytes);
        let as_they_lie = copies.is_empty() && bytes == 0;
        let arguments = as_they_lie.then(|| Arguments::new(operands, (addresses, addresses), 0)).transpose();
        let arguments = arguments.map_err(|e| failed("making the arguments", e))?;
        Ok(Repeated { gpu, functions: functions.clone(), configs, operands: operands.to_vec(), addresses, arguments })
    }

    /// Submits it once.
    pub(crate) fn submit(&self) -> Result<(), Error> {
        let Repeated { gpu, functions, configs, operands, addresses, arguments } = self;
        let launched = match arguments {
            Some(arguments) => launch(gpu.stream(), functions, configs, arguments),
            None => {
                let what = What { functions, configs: *configs, operands, addresses: *addresses };
                gpu.room.launch(gpu.stream(), what)
            }
        };
        launched.map_err(|e| failed("running the kernel", e))
    }
}

/// A problem's matrices on a GPU.
#[derive(Debug)]
pub(crate) struct Operands {
    a: CudaSlice<u8>,
    b: CudaSlice<u8>,
    c: CudaSlice<u8>,
}

impl Operands {
    /// Copies of them.
    pub(crate) fn of(gpu: &Gpu, problem: &Problem) -> Result<Operands, Error> {
        let upload =
            |matrix: &Matrix| gpu.stream.clone_htod(matrix.bytes()).map_err(|e| failed("copying the matrices", e));
        Ok(Operands { a: upload(&problem.a)?, b: upload(&problem.b)?, c: upload(&problem.c)? })
    }

    /// Where A, B and C begin.
    pub(crate) fn addresses(&self, gpu: &Gpu) -> [u64; 3] {
        [&self.a, &self.b, &self.c].map(|matrix| DevicePtr::<u8>::device_ptr(matrix, &gpu.stream).0)
    }

    /// C as it is now, when all is done that was submitted.
    pub(crate) fn product(&self, gpu: &Gpu) -> Result<Vec<u8>, Error> {
        let product = gpu.stream.clone_dtoh(&self.c).and_then(|c| gpu.stream.synchronize().map(|()| c));
        product.map_err(|e| failed("copying C back", e))
    }
}

/// A driver's error: the kernel's fault where the driver blames it, else the environment's.
pub fn failed(doing: &str, error: DriverError) -> Error {
    let message = format!("{doing} failed: {:?}", error.0);
    match error.0 {
        Status::CUDA_ERROR_ILLEGAL_ADDRESS
        | Status::CUDA_ERROR_MISALIGNED_ADDRESS
        | Status::CUDA_ERROR_LAUNCH_FAILED
        | Status::CUDA_ERROR_LAUNCH_TIMEOUT
        | Status::CUDA_ERROR_ILLEGAL_INSTRUCTION => {
            Error::Fault(format!("{message}\nhint: `--backend emulator` names the line, the thread and the address"))
        }
        Status::CUDA_ERROR_OUT_OF_MEMORY => Error::usage(message, "make the problem smaller"),
        _ => Error::usage(message, "`--backend emulator` runs the same kernel on the CPU"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_driver_says_has_a_hint() {
        let said = |status| match failed("the launch", DriverError(status)) {
            Error::Fault(text) => format!("fault: {text}"),
            other => other.to_string(),
        };
        assert_eq!(
            said(Status::CUDA_ERROR_ILLEGAL_ADDRESS),
            "fault: the launch failed: CUDA_ERROR_ILLEGAL_ADDRESS\nhint: `--backend emulator` names the line, the thread and the address"
        );
        let hint = "hint: make the problem smaller";
        assert_eq!(
            said(Status::CUDA_ERROR_OUT_OF_MEMORY),
            format!("the launch failed: CUDA_ERROR_OUT_OF_MEMORY\n{hint}")
        );
        let hint = "hint: `--backend emulator` runs the same kernel on the CPU";
        assert_eq!(said(Status::CUDA_ERROR_NO_DEVICE), format!("the launch failed: CUDA_ERROR_NO_DEVICE\n{hint}"));
    }
}
