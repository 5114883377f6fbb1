//! What of CUDA is on this machine: files of NVIDIA's libraries, where they are looked for, and the GPUs that answer.

use cudarc::driver::CudaContext;

use crate::cuda::Gpu;
pub use crate::libraries::{CUBLAS, Library, NCCL};

/// Every GPU that answers, the first by the driver's count first. `Err` says why there is none.
pub fn gpus() -> Result<Vec<Gpu>, String> {
    let first = Gpu::find()?;
    let others = 1..CudaContext::device_count().unwrap_or(1).max(1);
    let open = |ordinal| CudaContext::new(ordinal as usize).and_then(|context| Gpu::on(&context));
    Ok([first].into_iter().chain(others.filter_map(|ordinal| open(ordinal).ok())).collect())
}
