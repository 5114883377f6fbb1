//! What of CUDA is on this machine: files of NVIDIA's libraries, where they are looked for, and the GPUs that answer.

use std::path::{Path, PathBuf};

use cudarc::driver::CudaContext;

use crate::cuda::Gpu;
use crate::libraries::{files_starting_with, folders};

/// Folders of the system's own packages.
const SYSTEM: [&str; 5] =
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"];

/// Every GPU that answers, the first by the driver's count first. `Err` says why there is none.
pub fn gpus() -> Result<Vec<Gpu>, String> {
    let first = Gpu::find()?;
    let others = 1..CudaContext::device_count().unwrap_or(1).max(1);
    let open = |ordinal| CudaContext::new(ordinal as usize).and_then(|context| Gpu::on(&context));
    Ok([first].into_iter().chain(others.filter_map(|ordinal| open(ordinal).ok())).collect())
}

/// The file of a library: `package` is the folder of its Python package, `start` how its name begins, as `libnccl.so`. Nothing is
/// loaded: whether it answers, only a call shows.
pub fn library(package: &str, start: &str) -> Option<PathBuf> {
    let system = SYSTEM.iter().map(|folder| Path::new(folder).to_path_buf());
    let files = folders(package).into_iter().chain(system).flat_map(|folder| files_starting_with(&folder, start));
    files.into_iter().find(|file| file.is_file())
}
