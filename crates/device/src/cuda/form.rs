//! Single instructions on a GPU, to hold the emulator against.

use cudarc::driver::LaunchConfig;
use cudarc::nvrtc::Ptx;

use super::Gpu;
use crate::ffi;

impl Gpu {
    /// Runs the kernel `form(in, out)` of a PTX module on a row of `blocks` blocks of `threads` threads.
    /// `out` has `output_bytes` bytes, zeros at the start, and is given back.
    pub fn run_form(
        &self,
        ptx: &str,
        (blocks, threads): (u32, u32),
        input: &[u8],
        output_bytes: usize,
    ) -> Result<Vec<u8>, String> {
        let run = || {
            let function = self.context.load_module(Ptx::from_src(self.lowered(ptx).0))?.load_function("form")?;
            let config = LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 };
            let input = self.stream.clone_htod(input)?;
            let mut output = self.stream.alloc_zeros::<u8>(output_bytes)?;
            ffi::launch_form(&self.stream, &function, config, &input, &mut output)?;
            let bytes = self.stream.clone_dtoh(&output)?;
            self.stream.synchronize().map(|()| bytes)
        };
        run().map_err(|error: cudarc::driver::DriverError| format!("the CUDA driver answers {:?}", error.0))
    }
}
