//! The library's handle: a GPU, and the kernels that have been loaded on it. Matrices stay where they are.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::{self, ThreadId};

use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, CudaView, DevicePtr, DevicePtrMut, DeviceRepr, DeviceSlice, SyncOnDrop,
    ValidAsZeroBits,
};
use device::copies::{Room, What};
use device::cuda::{Gpu, Unloaded};
use device::functions::{Functions, configs};
use device::nvrtc;
use device::{Memory, unwritten};
use gemm::form::Specialization;
use gemm::kernel::Kernel;
use gemm::matrix::Scalar;
use gemm::{Build, Shape};

use crate::choice::Chooser;
use crate::epilogue::Beside;
use crate::error::Error;
use crate::multiply::exact;
use crate::plan::{Plan, Resolved};
use crate::product::{Product, Types};
use crate::scheme::Scheme;

/// The address that stands for a stream of each thread's own (CUDA driver API, `CU_STREAM_PER_THREAD`).
const PER_THREAD: usize = 2;
/// Products that it remembers how to launch, before it forgets them all: a launch is resolved anew in less than a millisecond.
const REMEMBERED: usize = 4096;

/// A GPU, and the kernels that are ready on it: products of matrices that lie there, on the caller's stream.
///
/// A first call with new sizes resolves which kernel multiplies, with which tile sizes, and loads it; after that, a call
/// looks up what to launch, and launches it: it waits for nothing, and allocates no memory of the GPU, but where A or B is to be
/// copied first ([`gemm::copies`]) and the stream's room for that is too small as yet. Threads may share a handle; while one of them
/// loads a kernel, the others go on. Kernels that add up parts of a sum have room for these in global memory, so each stream gets
/// kernels of its own, and calls on different streams may overlap. The stream that is another one in each thread counts as one for each
/// thread. A handle keeps a stream's kernels, and the stream, as long as it lives: few streams, or threads, for many calls are better
/// than many. It prints nothing.
///
/// ```no_run
/// use gemm::{Element, Shape};
/// use summit::{Handle, Product, Types};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let handle = Handle::new()?;
/// let stream = handle.context().new_stream()?;
/// let (a, b) = (stream.clone_htod(&vec![1.0f32; 300 * 100])?, stream.clone_htod(&vec![2.0f32; 100 * 200])?);
/// let mut c = stream.alloc_zeros::<f32>(300 * 200)?;
/// let product = Product::new(Types::of(Element::F32), Shape { m: 300, n: 200, k: 100 });
/// println!("{}", handle.plan(&product)?);
/// handle.gemm(&stream, &product, &a, &b, &mut c)?;
/// assert_eq!(stream.clone_dtoh(&c)?[0], 200.0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Handle {
    gpu: Gpu,
    chooser: Chooser,
    resolved: RwLock<HashMap<Key, Arc<Resolved>>>,
    loaded: RwLock<HashMap<On, Arc<Loaded>>>,
    rooms: RwLock<HashMap<Queue, Arc<Room>>>,
}

/// What a choice depends on: all but addresses, factors and batch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    types: Types,
    shape: Shape,
    specialization: Specialization,
    padding: [u32; 3],
    count: u32,
    epilogue: bool,
    invariant_rows: bool,
    scheme: Scheme,
}

/// A build, by its words, on a stream.
#[derive(Debug, PartialEq, Eq, Hash)]
struct On {
    build: Arc<str>,
    queue: Queue,
}

/// A stream, by its address and, where that stands for one of each thread's own, the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Queue {
    address: usize,
    thread: Option<ThreadId>,
}

impl Queue {
    fn of(stream: &CudaStream) -> Queue {
        let address = stream.cu_stream() as usize;
        Queue { address, thread: (address == PER_THREAD).then(|| thread::current().id()) }
    }
}

/// A kernel on the GPU, for a stream.
#[derive(Debug)]
struct Loaded {
    functions: Functions,
    /// Of its stream.
    room: Arc<Room>,
    /// Kept, so that no other stream gets its address.
    _stream: Arc<CudaStream>,
}

impl Handle {
    /// A handle on the first GPU.
    ///
    /// # Errors
    /// [`Error::Unsupported`], where no GPU answers.
    pub fn new() -> Result<Handle, Error> {
        let gpu = Gpu::find().map_err(|why| {
            Error::unsupported(format!("no CUDA device: {why}"), "`multiply` runs the same kernels on the emulator")
        })?;
        Handle::on(gpu.context())
    }

    /// A handle on a context of the caller's: any GPU.
    ///
    /// # Errors
    /// What the driver answers to questions about the GPU.
    pub fn on(context: &Arc<CudaContext>) -> Result<Handle, Error> {
        let gpu = Gpu::on(context).map_err(|error| Error::driver("asking the GPU what it is", error))?;
        let chooser = Chooser::new(gpu.architecture(), gpu.multiprocessors());
        let (resolved, loaded, rooms) = (RwLock::default(), RwLock::default(), RwLock::default());
        Ok(Handle { gpu, chooser, resolved, loaded, rooms })
    }

    /// The GPU's context, of which the caller's streams and matrices are.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.gpu.context()
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Which kernel computes this product, with which tile sizes, and why. Nothing is loaded.
    ///
    /// # Errors
    /// [`Error::Misuse`] where the product is none, [`Error::Unsupported`] where no kernel computes it on this GPU.
    pub fn plan(&self, product: &Product) -> Result<Plan, Error> {
        let Product { types, shape, form, batch, epilogue, invariant_rows, scheme } = *product;
        let (specialization, padding) = (form.specialization(), form.padding);
        let (count, epilogue) = (batch.count, epilogue.is_any());
        let key = Key { types, shape, specialization, padding, count, epilogue, invariant_rows, scheme };
        if let Some(known) = read(&self.resolved).get(&key) {
            return Plan::again(known.clone(), product);
        }
        let plan = Plan::of(&self.chooser, product)?;
        let mut resolved = write(&self.resolved);
        if resolved.len() >= REMEMBERED {
            resolved.clear();
        }
        resolved.insert(key, plan.resolved.clone());
        Ok(plan)
    }

    /// A plan by this build, with no choice: as [`Plan::by`] has it.
    ///
    /// # Errors
    /// As of [`Plan::by`].
    pub fn plan_by(&self, product: &Product, build: &Build) -> Result<Plan, Error> {
        Plan::by(&self.chooser, product, build)
    }

    /// Submits a product to the stream. The slices' own types need not be the product's: their bytes count, so 16-bit elements may be
    /// `u16`, and anything `u8`.
    ///
    /// # Errors
    /// As of [`Handle::plan`]; [`Error::Misuse`] where a slice has fewer bytes than the product needs, or the stream or a slice is of
    /// another context; else what the driver answers.
    pub fn gemm<A, B, C>(
        &self,
        stream: &Arc<CudaStream>,
        product: &Product,
        a: &impl DevicePtr<A>,
        b: &impl DevicePtr<B>,
        c: &mut impl DevicePtrMut<C>,
    ) -> Result<(), Error> {
        self.run(stream, &self.plan(product)?, a, b, c)
    }

    /// The same into memory that it allocates on the stream, and does not fill before: C alone, those of a batch one behind the other.
    ///
    /// # Errors
    /// As of [`Handle::gemm`]; [`Error::Misuse`], where something of that memory would be read, or not be written, or `C` has not the
    /// size of the product's elements; [`Error::OutOfMemory`], where the GPU has no room for it.
    pub fn gemm_new<A, B, C: DeviceRepr + ValidAsZeroBits>(
        &self,
        stream: &Arc<CudaStream>,
        product: &Product,
        a: &impl DevicePtr<A>,
        b: &impl DevicePtr<B>,
    ) -> Result<CudaSlice<C>, Error> {
        let elements = product.elements_to_write(size_of::<C>())?;
        let plan = self.plan(product)?;
        let mut c = unwritten(stream, elements).map_err(|error| Error::driver("allocating C", error))?;
        self.run(stream, &plan, a, b, &mut c)?;
        Ok(c)
    }

    /// The same of a product with an epilogue that reads more than A, B and C: what it asks for is in `beside`.
    ///
    /// # Errors
    /// As of [`Handle::gemm`]; and [`Error::Misuse`], where `beside` lacks what the epilogue asks for, or has what it does not.
    pub fn gemm_with<A, B, D>(
        &self,
        stream: &Arc<CudaStream>,
        product: &Product,
        (a, b): (&impl DevicePtr<A>, &impl DevicePtr<B>),
        d: &mut impl DevicePtrMut<D>,
        beside: Beside<&dyn OnGpu>,
    ) -> Result<(), Error> {
        self.run_with(stream, &self.plan(product)?, (a, b), d, beside)
    }

    /// The same of a plan that was made before, by this handle or another one for such a card.
    ///
    /// # Errors
    /// As of [`Handle::gemm`].
    pub fn run<A, B, C>(
        &self,
        stream: &Arc<CudaStream>,
        plan: &Plan,
        a: &impl DevicePtr<A>,
        b: &impl DevicePtr<B>,
        c: &mut impl DevicePtrMut<C>,
    ) -> Result<(), Error> {
        self.run_with(stream, plan, (a, b), c, Beside::default())
    }

    /// The same of a plan with an epilogue, as [`Handle::gemm_with`] has it.
    ///
    /// # Errors
    /// As of [`Handle::gemm_with`].
    pub fn run_with<A, B, D>(
        &self,
        stream: &Arc<CudaStream>,
        plan: &Plan,
        (a, b): (&impl DevicePtr<A>, &impl DevicePtr<B>),
        d: &mut impl DevicePtrMut<D>,
        beside: Beside<&dyn OnGpu>,
    ) -> Result<(), Error> {
        beside.map(|name, one| self.is_ours(name, one.of()))?;
        let mut guards = Vec::new();
        let beside = beside.map(|_, one| {
            let (address, bytes, guard) = one.place(stream);
            guards.push(guard);
            Ok::<_, Error>((address, bytes))
        })?;
        for (name, of) in [("A", a.stream()), ("B", b.stream()), ("C", d.stream())] {
            self.is_ours(name, of)?;
        }
        self.is_ours("the stream", stream)?;
        let bytes = [a.num_bytes(), b.num_bytes(), d.num_bytes()].map(|bytes| bytes as u64);
        let ((a, _a), (b, _b), (d, _d)) = (a.device_ptr(stream), b.device_ptr(stream), d.device_ptr_mut(stream));
        self.submit(stream, plan, [a, b, d], bytes, beside)
    }

    /// The same of memory that is no slice of cudarc's. Nobody waits for what other streams do with it: so it is the one to capture into
    /// a CUDA graph, which refuses to wait for events from outside. A call before the capture loads the kernel.
    ///
    /// # Errors
    /// As of [`Handle::gemm`].
    pub fn gemm_at(
        &self,
        stream: &Arc<CudaStream>,
        product: &Product,
        matrices: [Memory; 3],
        beside: Beside<Memory>,
    ) -> Result<(), Error> {
        self.is_ours("the stream", stream)?;
        let addresses = matrices.map(|memory| memory.address());
        let beside = beside.map(|_, memory| Ok::<_, Error>((memory.address(), memory.bytes())))?;
        self.submit(stream, &self.plan(product)?, addresses, matrices.map(|memory| memory.bytes()), beside)
    }

    /// Launches a plan: once, or for each product of its batch.
    fn submit(
        &self,
        stream: &Arc<CudaStream>,
        plan: &Plan,
        addresses: [u64; 3],
        bytes: [u64; 3],
        beside: Beside<(u64, u64)>,
    ) -> Result<(), Error> {
        let product = plan.product();
        product.check_memory(addresses, bytes)?;
        product.check_beside(&beside)?;
        let beside = beside.map(|_, (address, _)| Ok::<_, Error>(address))?;
        let Loaded { functions, room, .. } = &*self.loaded(stream, plan)?;
        let build = plan.build();
        let configs = configs(&plan.launch(), build.dynamic_shared(), build.before(&plan.product().shape));
        let operands = &plan.operands(&beside);
        for offsets in plan.offsets() {
            let addresses = [0, 1, 2].map(|i| addresses[i] + offsets[i]);
            let launched = room.launch(stream, What { functions, configs, operands, addresses });
            launched.map_err(|error| Error::driver("launching the kernel", error))?;
        }
        Ok(())
    }

    /// `A·B` of matrices of the host: a convenience that copies them to the GPU, and the result back. Row-major, without padding, A M × K, B K × N.
    ///
    /// # Errors
    /// As of [`Handle::gemm`], and where the GPU has no room for the three.
    pub fn multiply<T: Scalar + DeviceRepr + ValidAsZeroBits>(
        &self,
        shape: Shape,
        a: &[T],
        b: &[T],
    ) -> Result<Vec<T>, Error> {
        exact(&shape, a.len(), b.len()).map_err(Error::misused)?;
        let stream = self.gpu.stream();
        let copying = |error| Error::driver("copying the matrices", error);
        let upload = |matrix: &[T]| stream.clone_htod(matrix).map_err(copying);
        let (a, b) = (upload(a)?, upload(b)?);
        let mut c = stream.alloc_zeros::<T>(shape.m as usize * shape.n as usize).map_err(copying)?;
        self.gemm(stream, &Product::new(Types::of(T::ELEMENT), shape), &a, &b, &mut c)?;
        stream.clone_dtoh(&c).map_err(copying)
    }

    /// The kernel of a plan for a stream: ready, or loaded now, while others go on.
    fn loaded(&self, stream: &Arc<CudaStream>, plan: &Plan) -> Result<Arc<Loaded>, Error> {
        let queue = Queue::of(stream);
        let key = On { build: plan.resolved.name.clone(), queue };
        if let Some(known) = read(&self.loaded).get(&key) {
            return Ok(known.clone());
        }
        if plan.resolved.architecture != self.gpu.architecture() {
            let (of, here) = (plan.resolved.architecture, self.gpu.architecture());
            let message = format!("the plan is for sm_{of}, and {} is sm_{here}", self.gpu.name());
            return Err(Error::misuse(message, "let the handle plan: `Handle::plan`"));
        }
        let kernel = Kernel::obtain(plan.build(), self.gpu.architecture(), nvrtc::find).map_err(Error::cannot)?;
        let product = plan.product();
        let launch = plan.build().plan_in(product.shape, product.form).map_err(Error::cannot)?;
        let functions = self.gpu.ready(&launch.task(&kernel)).map_err(|unloaded| match unloaded {
            Unloaded::Failed(error) => Error::driver("loading the kernel", error),
            Unloaded::Refused(why) => Error::unsupported(why, "update the driver"),
        })?;
        let room = write(&self.rooms).entry(queue).or_default().clone();
        let loaded = Arc::new(Loaded { functions, room, _stream: stream.clone() });
        Ok(write(&self.loaded).entry(key).or_insert(loaded).clone())
    }

    /// Refuses a stream, or memory, of another context.
    fn is_ours(&self, name: &str, stream: &CudaStream) -> Result<(), Error> {
        let (theirs, ours) = (stream.context(), self.context());
        if Arc::ptr_eq(theirs, ours) || theirs == ours {
            return Ok(());
        }
        let message = format!(
            "{name} is of another context, on GPU {}: the handle's is GPU {}",
            theirs.ordinal(),
            ours.ordinal()
        );
        Err(Error::misuse(message, "`Handle::on` makes a handle for that context"))
    }
}

impl Drop for Handle {
    /// What threads have room for on streams of their own is given back by this one, which does not wait for theirs.
    fn drop(&mut self) {
        if read(&self.rooms).keys().any(|queue| queue.thread.is_some()) {
            let _ = self.context().synchronize();
        }
    }
}

/// A slice of cudarc's, of any type of elements.
pub trait OnGpu {
    /// The stream that it is of.
    fn of(&self) -> &Arc<CudaStream>;
    /// Where it begins, how many bytes it has, and what is to live until the stream's work with it is submitted.
    fn place<'a>(&'a self, stream: &'a CudaStream) -> (u64, u64, SyncOnDrop<'a>);
}

impl<T> OnGpu for CudaSlice<T> {
    fn of(&self) -> &Arc<CudaStream> {
        self.stream()
    }

    fn place<'a>(&'a self, stream: &'a CudaStream) -> (u64, u64, SyncOnDrop<'a>) {
        let (address, guard) = self.device_ptr(stream);
        (address, self.num_bytes() as u64, guard)
    }
}

impl<T> OnGpu for CudaView<'_, T> {
    fn of(&self) -> &Arc<CudaStream> {
        self.stream()
    }

    fn place<'a>(&'a self, stream: &'a CudaStream) -> (u64, u64, SyncOnDrop<'a>) {
        let (address, guard) = self.device_ptr(stream);
        (address, self.num_bytes() as u64, guard)
    }
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_for_many_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Handle>();
    }
}
