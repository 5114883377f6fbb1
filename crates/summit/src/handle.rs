//! The library's handle: a device, and the kernels that have been loaded on it. Matrices stay where they are.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, ValidAsZeroBits};
use device::copies::{Room, What};
use device::cuda::{Gpu, failed};
use device::launches::{Configs, Functions, configs};
use device::nvrtc;
use gemm::form::{Form, Specialization};
use gemm::kernel::Kernel;
use gemm::matrix::Scalar;
use gemm::{Build, Dtype, Error, Level, Shape};

use crate::choice::Chooser;
use crate::multiply::exact;

/// The address that stands for a stream of each thread's own (CUDA driver API, `CU_STREAM_PER_THREAD`).
const PER_THREAD: usize = 2;
/// Products that it remembers how to launch, before it forgets them all: a launch is resolved anew in less than a millisecond.
const REMEMBERED: usize = 4096;

/// A GPU, and the kernels that are ready on it: `C = alpha·A·B + beta·C` on matrices that lie there, on the caller's stream.
///
/// A first call with new sizes resolves which level multiplies, with which tile sizes, and loads its kernel; after that, a call
/// looks up what to launch, and launches it: it waits for nothing, and allocates no memory of the GPU, but where A or B is to be
/// copied first ([`gemm::copies`]) and the stream's room for that is too small as yet. Threads may share a handle.
/// Kernels that add up parts of a sum have room for these in global memory, so each stream gets kernels of its own, and
/// calls on different streams may overlap. A handle keeps a stream's kernels, and the stream, as long as it lives: few streams
/// for many calls are better than many.
///
/// ```no_run
/// use gemm::form::Form;
/// use gemm::{Level, Shape};
/// use summit::Handle;
///
/// static LEVELS: [&Level; 1] = [&level2_register::LEVEL];
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let handle = Handle::new(&LEVELS)?;
/// let stream = handle.context().new_stream()?;
/// let (a, b) = (stream.clone_htod(&vec![1.0f32; 300 * 100])?, stream.clone_htod(&vec![2.0f32; 100 * 200])?);
/// let mut c = stream.alloc_zeros::<f32>(300 * 200)?;
/// let shape = Shape { m: 300, n: 200, k: 100 };
/// handle.gemm(&stream, shape, &Form::PLAIN, &a, &b, &mut c)?;
/// assert_eq!(stream.clone_dtoh(&c)?[0], 200.0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Handle {
    gpu: Gpu,
    chooser: Chooser,
    ready: RwLock<Ready>,
}

/// What has been loaded and resolved.
#[derive(Debug, Default)]
struct Ready {
    kernels: Vec<(Build, Arc<CudaStream>, Functions)>,
    launches: HashMap<Key, Arc<Launch>>,
    /// By their streams' addresses.
    rooms: HashMap<usize, Arc<Room>>,
}

/// What a launch depends on: all but addresses and factors.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    dtype: Dtype,
    shape: Shape,
    specialization: Specialization,
    padding: [u32; 3],
    /// Its address: the kernels keep the stream, so no other one gets it.
    stream: usize,
}

/// A kernel on the GPU, and how it is launched for a product.
#[derive(Debug)]
struct Launch {
    build: Build,
    functions: Functions,
    configs: Configs,
    /// Of its stream.
    room: Arc<Room>,
}

/// Products of one size, each matrix so many elements behind the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// How many.
    pub count: u32,
    /// Elements from one A to the next, from one B, and from one C. An A or B may serve all: 0.
    pub strides: [u64; 3],
}

impl Batch {
    /// A single product.
    pub const ONE: Batch = Batch { count: 1, strides: [0; 3] };
}

impl Handle {
    /// A handle on the first GPU, that chooses among these levels.
    ///
    /// # Errors
    /// [`Error::Usage`], where no GPU answers.
    pub fn new(levels: &'static [&'static Level]) -> Result<Handle, Error> {
        let gpu = Gpu::find().map_err(|why| {
            Error::usage(format!("no CUDA device: {why}"), "`multiply` runs the same kernels on the emulator")
        })?;
        let chooser = Chooser::new(levels, gpu.architecture(), gpu.multiprocessors());
        Ok(Handle { gpu, chooser, ready: RwLock::default() })
    }

    /// The GPU's context, of which the caller's streams and matrices are.
    pub fn context(&self) -> &Arc<cudarc::driver::CudaContext> {
        self.gpu.context()
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The level and tile sizes that multiply these.
    ///
    /// # Errors
    /// As of [`Handle::gemm`].
    pub fn build<T: Scalar>(&self, stream: &Arc<CudaStream>, shape: Shape, form: &Form) -> Result<Build, Error> {
        Ok(self.launch(stream, Dtype::of_all(T::ELEMENT), shape, form)?.build.clone())
    }

    /// `C = alpha·A·B + beta·C`, submitted to the stream: row-major, A M × K, B K × N, or N × K as the form says, C M × N, with the form's
    /// leading dimensions ([`Form::with_leading`]). Where beta is 0, C may hold anything.
    ///
    /// # Errors
    /// [`Error::Usage`] where a slice has fewer elements than the product needs, a size is 0 or larger than the kernels' index, the
    /// stream is of another context, or no level computes this form on this GPU without a compiler that is not there.
    pub fn gemm<T: Scalar + DeviceRepr>(
        &self,
        stream: &Arc<CudaStream>,
        shape: Shape,
        form: &Form,
        a: &impl DevicePtr<T>,
        b: &impl DevicePtr<T>,
        c: &mut impl DevicePtrMut<T>,
    ) -> Result<(), Error> {
        self.gemm_strided(stream, shape, form, Batch::ONE, a, b, c)
    }

    /// The same for a batch: a launch for each product.
    ///
    /// # Errors
    /// As of [`Handle::gemm`], and where the Cs of a batch overlap.
    #[allow(clippy::too_many_arguments)]
    pub fn gemm_strided<T: Scalar + DeviceRepr>(
        &self,
        stream: &Arc<CudaStream>,
        shape: Shape,
        form: &Form,
        batch: Batch,
        a: &impl DevicePtr<T>,
        b: &impl DevicePtr<T>,
        c: &mut impl DevicePtrMut<T>,
    ) -> Result<(), Error> {
        check(&shape, form, &batch, [a.len(), b.len(), c.len()])?;
        let launch = self.launch(stream, Dtype::of_all(T::ELEMENT), shape, form)?;
        let ((a, _a), (b, _b), (c, _c)) = (a.device_ptr(stream), b.device_ptr(stream), c.device_ptr_mut(stream));
        let size = T::ELEMENT.bytes() as u64;
        for number in 0..u64::from(batch.count) {
            let [a, b, c] = [(a, 0), (b, 1), (c, 2)].map(|(p, i): (u64, usize)| p + number * batch.strides[i] * size);
            let Launch { build, functions, configs, room } = &*launch;
            let operands = &build.operands(&shape, form);
            let what = What { functions, configs: *configs, operands, addresses: [a, b, c] };
            room.launch(stream, what).map_err(|e| failed("launching the kernel", e))?;
        }
        Ok(())
    }

    /// `A·B` of matrices of the host: a convenience that copies them to the GPU, and the result back. Row-major, without padding, A M × K, B K × N.
    ///
    /// # Errors
    /// As of [`multiply`](crate::multiply()), and where the GPU has no room for the three.
    pub fn multiply<T: Scalar + DeviceRepr + ValidAsZeroBits>(
        &self,
        shape: Shape,
        a: &[T],
        b: &[T],
    ) -> Result<Vec<T>, Error> {
        exact(&shape, a.len(), b.len())?;
        let stream = self.gpu.stream();
        let copying = |error| failed("copying the matrices", error);
        let upload = |matrix: &[T]| stream.clone_htod(matrix).map_err(copying);
        let (a, b) = (upload(a)?, upload(b)?);
        let mut c = stream.alloc_zeros::<T>(shape.m as usize * shape.n as usize).map_err(copying)?;
        self.gemm(stream, shape, &Form::PLAIN, &a, &b, &mut c)?;
        stream.clone_dtoh(&c).map_err(copying)
    }

    /// What to launch: remembered, or resolved and loaded now.
    fn launch(&self, stream: &Arc<CudaStream>, dtype: Dtype, shape: Shape, form: &Form) -> Result<Arc<Launch>, Error> {
        let (specialization, padding) = (form.specialization(), form.padding);
        let key = Key { dtype, shape, specialization, padding, stream: stream.cu_stream() as usize };
        let ready = self.ready.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(launch) = ready.launches.get(&key) {
            return Ok(launch.clone());
        }
        drop(ready);
        if stream.context() != self.context() {
            return Err(Error::usage("the stream is of another context", "`Handle::context` makes streams that fit"));
        }
        if key.stream == PER_THREAD {
            let message = "the stream is another one in each thread, and what kernels need beside the matrices is one for a stream";
            return Err(Error::usage(message, "`Handle::context` makes streams of their own: `new_stream`"));
        }
        let mut ready = self.ready.write().unwrap_or_else(PoisonError::into_inner);
        let launch = Arc::new(self.resolve(&mut ready, stream, &key, form)?);
        if ready.launches.len() >= REMEMBERED {
            ready.launches.clear();
        }
        ready.launches.insert(key, launch.clone());
        Ok(launch)
    }

    /// Chooses the build, and loads its kernel, unless this stream has it already.
    fn resolve(&self, ready: &mut Ready, stream: &Arc<CudaStream>, key: &Key, form: &Form) -> Result<Launch, Error> {
        let Key { dtype, shape, .. } = *key;
        let build = self.chooser.best(&shape, dtype, form).ok_or_else(|| {
            let message = format!("no level computes {form} in {dtype} on {}", self.gpu.name());
            Error::usage(message, "levels that take any form need a GPU of sm_80, or NVRTC for what is not shipped")
        })?;
        let plan = build.plan_in(shape, *form)?;
        let known = ready.kernels.iter().find(|(other, on, _)| *other == build && on.cu_stream() == stream.cu_stream());
        let functions = match known {
            Some((_, _, functions)) => functions.clone(),
            None => {
                let kernel = Kernel::obtain(&build, self.gpu.architecture(), nvrtc::find)?;
                let functions = self.gpu.ready(&plan.task(&kernel))?;
                ready.kernels.push((build.clone(), stream.clone(), functions.clone()));
                functions
            }
        };
        let configs = configs(&plan.launch, build.dynamic_shared(), build.before(&shape));
        let room = ready.rooms.entry(key.stream).or_default().clone();
        Ok(Launch { build, functions, configs, room })
    }
}

/// Refuses what would reach beyond a slice, or write an element of C twice.
fn check(shape: &Shape, form: &Form, batch: &Batch, lengths: [usize; 3]) -> Result<(), Error> {
    if shape.m.min(shape.n).min(shape.k) == 0 || batch.count == 0 {
        let message = format!("a size of {shape}, or the batch's {}, is 0", batch.count);
        return Err(Error::usage(message, "every size is at least 1"));
    }
    let one = form.elements(shape);
    for (matrix, name) in ["A", "B", "C"].into_iter().enumerate() {
        let behind = u64::from(batch.count - 1).saturating_mul(batch.strides[matrix]);
        let (needed, given) = (behind.saturating_add(one[matrix]), lengths[matrix] as u64);
        if given < needed {
            let message = format!("{name} has {given} elements, and {shape} needs {needed}");
            return Err(Error::usage(message, "check sizes, leading dimensions, and the batch's strides"));
        }
    }
    if batch.count > 1 && batch.strides[2] < one[2] {
        let message = format!("the Cs of the batch are {} elements apart, and have {}", batch.strides[2], one[2]);
        return Err(Error::usage(message, "products of a batch must not overlap"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { m: 3, n: 2, k: 4 };

    #[test]
    fn a_handle_is_for_many_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Handle>();
    }

    #[test]
    fn what_reaches_beyond_a_slice_is_refused() {
        let refused =
            |form: Form, batch: Batch, lengths| check(&SHAPE, &form, &batch, lengths).unwrap_err().to_string();
        assert!(check(&SHAPE, &Form::PLAIN, &Batch::ONE, [12, 8, 6]).is_ok());
        for (name, lengths) in [("A", [11, 8, 6]), ("B", [12, 7, 6]), ("C", [12, 8, 5])] {
            let message = refused(Form::PLAIN, Batch::ONE, lengths);
            assert!(message.starts_with(&format!("{name} has ")), "{message}");
        }
        let padded = Form { padding: [1, 2, 3], ..Form::PLAIN };
        assert!(check(&SHAPE, &padded, &Batch::ONE, [14, 14, 12]).is_ok());
        assert!(refused(padded, Batch::ONE, [13, 14, 12]).starts_with("A has 13 elements, and 3×2×4 needs 14"));
        let batch = Batch { count: 3, strides: [12, 0, 6] };
        assert!(check(&SHAPE, &Form::PLAIN, &batch, [36, 8, 18]).is_ok());
        assert!(refused(Form::PLAIN, batch, [35, 8, 18]).starts_with("A has 35"));
        let overlapping = Batch { strides: [12, 8, 5], ..batch };
        assert!(refused(Form::PLAIN, overlapping, [36, 24, 18]).starts_with("the Cs of the batch are 5"));
        assert!(refused(Form::PLAIN, Batch { count: 0, ..batch }, [36, 8, 18]).contains("is 0"));
    }
}
