//! candle's matrix products by the library: on a tensor's own GPU and stream, or, on candle's CPU device, by the same kernels on the
//! emulator.
//!
//! - [`Products`]: the two calls, as candle's tensors have them
//! - [`decoder`]: a decoder that is written once, whoever multiplies

#[cfg(feature = "cuda")]
mod cuda;
pub mod decoder;
mod emulated;
mod placed;

#[cfg(feature = "cuda")]
use candle_core::CudaStorage;
use candle_core::{CpuStorage, CustomOp2, DType, Device, Layout, Result, Shape, Tensor, bail};
use summit::Emulated;

use placed::{Placed, is_transposed};

/// What multiplies the tensors of a device.
///
/// ```
/// # use candle_core::{Device, Tensor};
/// # use summit_candle::Products;
/// // `Device::new_cuda(0)?` is the one line that differs on a GPU.
/// let device = Device::Cpu;
/// let a = Tensor::new(&[[1.0f32, 2.0], [3.0, 4.0]], &device)?;
/// let c = Products::on(&device)?.matmul(&a, &a.t()?)?;
/// assert_eq!(c.to_vec2::<f32>()?, [[5.0, 11.0], [11.0, 25.0]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Products(Place);

#[derive(Debug)]
enum Place {
    Emulated(Emulated),
    #[cfg(feature = "cuda")]
    Gpu(Box<summit::Handle>),
}

impl Products {
    /// On candle's GPU, by its context and its stream; for its CPU device, on the emulator, which is for small tensors.
    ///
    /// # Errors
    /// Where it is another device, or the GPU does not answer.
    pub fn on(device: &Device) -> Result<Products> {
        match device {
            Device::Cpu => Ok(Products(Place::Emulated(Emulated::new()))),
            #[cfg(feature = "cuda")]
            Device::Cuda(device) => {
                let handle = summit::Handle::on(device.cuda_stream().context());
                Ok(Products(Place::Gpu(Box::new(handle.map_err(candle_core::Error::wrap)?))))
            }
            other => {
                bail!("no kernel runs on {other:?}\nhint: there are CUDA GPUs and the CPU, where they are emulated")
            }
        }
    }

    /// The name of what multiplies: the GPU's, as its driver gives it.
    pub fn name(&self) -> &str {
        match &self.0 {
            Place::Emulated(_) => "the emulator",
            #[cfg(feature = "cuda")]
            Place::Gpu(handle) => handle.gpu().name(),
        }
    }

    /// `A·B`, as of [`Tensor::matmul`]: A batch… × M × K, B batch… × K × N, in f64, f32, bf16 or f16, each of them as it lies in memory or
    /// transposed in its last two dimensions, with any strides of the others. Only C is allocated; but no kernel reads a transposed A in
    /// f32 and f64, and so candle copies that. There is no way back for gradients.
    ///
    /// # Errors
    /// Where the tensors do not fit together, or lie as no kernel reads them; and as of [`summit::Handle::gemm`].
    pub fn matmul(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let (rank, of_a, of_b) = (a.rank(), a.dims(), b.dims());
        if rank < 2 || b.rank() != rank || of_a[..rank - 2] != of_b[..rank - 2] || of_a[rank - 1] != of_b[rank - 2] {
            bail!("{of_a:?} times {of_b:?} is no product\nhint: A is batch… × M × K, and B batch… × K × N");
        }
        if a.dtype() != b.dtype() || !a.device().same_device(b.device()) {
            let ([a, b], [on_a, on_b]) = ([a.dtype(), b.dtype()], [a.device(), b.device()]);
            bail!("A is {a:?} on {on_a:?}, and B {b:?} on {on_b:?}\nhint: both have one type, and are on one device");
        }
        if a.elem_count() == 0 || b.elem_count() == 0 {
            return Tensor::zeros([&of_a[..rank - 1], &of_b[rank - 1..]].concat(), a.dtype(), a.device());
        }
        if matches!(a.dtype(), DType::F32 | DType::F64) && is_transposed(a.layout()) {
            return a.contiguous()?.apply_op2_no_bwd(b, self);
        }
        a.apply_op2_no_bwd(b, self)
    }

    /// The same of tensors that are repeated along the dimensions of the batch until they fit, as of [`Tensor::broadcast_matmul`]. No
    /// element is copied for it.
    ///
    /// # Errors
    /// As of [`Products::matmul`].
    pub fn broadcast_matmul(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let (Some((of_a, in_a)), Some((of_b, in_b))) =
            (a.dims().split_last_chunk::<2>(), b.dims().split_last_chunk::<2>())
        else {
            bail!("{:?} times {:?} is no product\nhint: A is batch… × M × K, and B batch… × K × N", a.dims(), b.dims());
        };
        // Sizes stand together from the last one on; one that is missing is 1.
        let rank = of_a.len().max(of_b.len());
        let size = |of: &[usize], at: usize| (at + of.len()).checked_sub(rank).map_or(1, |at| of[at]);
        let sizes = (0..rank).map(|at| if size(of_a, at) == 1 { size(of_b, at) } else { size(of_a, at) });
        let batch: Vec<usize> = sizes.collect();
        self.matmul(&a.broadcast_as([&batch, &in_a[..]].concat())?, &b.broadcast_as([&batch, &in_b[..]].concat())?)
    }
}

impl CustomOp2 for Products {
    fn name(&self) -> &'static str {
        "summit"
    }

    fn cpu_fwd(&self, a: &CpuStorage, of_a: &Layout, b: &CpuStorage, of_b: &Layout) -> Result<(CpuStorage, Shape)> {
        let placed = Placed::of(of_a, of_b)?;
        match &self.0 {
            Place::Emulated(emulated) => Ok((emulated::multiply(emulated, &placed, a, b)?, placed.c)),
            #[cfg(feature = "cuda")]
            Place::Gpu(_) => bail!("the tensors are on the CPU\nhint: `Products::on` their device"),
        }
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(&self, a: &CudaStorage, of_a: &Layout, b: &CudaStorage, of_b: &Layout) -> Result<(CudaStorage, Shape)> {
        let placed = Placed::of(of_a, of_b)?;
        match &self.0 {
            Place::Gpu(handle) => Ok((cuda::multiply(handle, &placed, a, b)?, placed.c)),
            Place::Emulated(_) => bail!("the tensors are on a GPU\nhint: `Products::on` their device"),
        }
    }
}
