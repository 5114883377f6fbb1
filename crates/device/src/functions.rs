//! A kernel on a GPU with what is launched before it, and how both are launched.

use cudarc::driver::{CudaFunction, CudaStream, DriverError, LaunchConfig};
use gemm::LaunchShape;
use gemm::task::Before;

use crate::arguments::Arguments;
use crate::ffi;

/// A kernel on the GPU, the one that stands for it in plain products, and what is launched before it, of the same module.
#[derive(Debug, Clone)]
pub struct Functions {
    pub(crate) kernel: CudaFunction,
    pub(crate) plain: Option<CudaFunction>,
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

fn config(LaunchShape { grid, block, .. }: &LaunchShape, dynamic_shared: u32) -> LaunchConfig {
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
    Arguments { slots, plain }: &Arguments,
) -> Result<(), DriverError> {
    if let (Some(before), Some(config)) = (&functions.before, configs.before) {
        ffi::launch(stream, before, config, slots)?;
    }
    let kernel = functions.plain.as_ref().filter(|_| *plain).unwrap_or(&functions.kernel);
    ffi::launch(stream, kernel, configs.kernel, slots)
}
