//! What is launched for a product: a kernel, and another one before it where it needs that.

use cudarc::driver::{CudaFunction, CudaStream, DriverError, LaunchConfig};
use gemm::LaunchShape;
use gemm::task::Before;

use crate::arguments::Arguments;
use crate::ffi;

/// A kernel on the GPU, and what is launched before it, of the same module.
#[derive(Debug, Clone)]
pub struct Functions {
    pub(crate) kernel: CudaFunction,
    pub(crate) before: Option<CudaFunction>,
}

/// Launches as the driver takes them: of the kernel, and of what comes before it.
#[derive(Debug, Clone, Copy)]
pub struct Configs {
    pub(crate) kernel: LaunchConfig,
    pub(crate) before: Option<LaunchConfig>,
}

/// A kernel's launch, and that of what comes before it.
pub fn configs(launch: &LaunchShape, dynamic_shared: u32, before: Option<Before>) -> Configs {
    let before = before.map(|Before { grid, block, .. }| config(&LaunchShape { grid, block, ..*launch }, 0));
    Configs { kernel: config(launch, dynamic_shared), before }
}

fn config(&LaunchShape { grid, block, .. }: &LaunchShape, dynamic_shared: u32) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (grid.x, grid.y, grid.z),
        block_dim: (block.x, block.y, block.z),
        shared_mem_bytes: dynamic_shared,
    }
}

/// Launches a kernel, behind what comes before it.
pub(crate) fn launch(
    stream: &CudaStream,
    functions: &Functions,
    configs: &Configs,
    Arguments(arguments): &Arguments,
) -> Result<(), DriverError> {
    if let (Some(before), Some(config)) = (&functions.before, configs.before) {
        ffi::launch(stream, before, config, arguments)?;
    }
    ffi::launch(stream, &functions.kernel, configs.kernel, arguments)
}
