//! Matrices of the host that a GPU's copy engines read and write while the GPU multiplies.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError};
use gemm::Error;

use crate::ffi;
pub use crate::ffi::Window;

/// Bytes of the host that a copy engine reads and writes.
#[derive(Debug)]
pub struct Pinned(ffi::Pinned);

impl Pinned {
    /// Pins memory. Where the driver refuses, the memory comes back with what it said.
    ///
    /// # Errors
    /// What the driver said, and the memory as it was.
    pub fn new(context: &Arc<CudaContext>, memory: Vec<u8>) -> Result<Pinned, (DriverError, Vec<u8>)> {
        ffi::Pinned::new(context, memory).map(Pinned)
    }

    /// Submits a copy of a window to a GPU, where its rows lie one behind the other.
    ///
    /// # Errors
    /// [`Error::Usage`], where the stream is of another GPU, the window does not lie within the memory, or the slice has no room for it;
    /// what the driver answers.
    pub fn upload(&mut self, stream: &Arc<CudaStream>, from: Window, to: &mut CudaSlice<u8>) -> Result<(), Error> {
        self.fits(stream, &from, to)?;
        self.0.upload(stream, from, to).map_err(|e| crate::cuda::failed("copying a panel", e))
    }

    /// Submits a copy to a window from a GPU, where its rows lie one behind the other.
    ///
    /// # Errors
    /// As of [`Pinned::upload`].
    pub fn download(&mut self, stream: &Arc<CudaStream>, from: &CudaSlice<u8>, to: Window) -> Result<(), Error> {
        self.fits(stream, &to, from)?;
        self.0.download(stream, from, to).map_err(|e| crate::cuda::failed("copying a panel", e))
    }

    fn fits(&self, stream: &CudaStream, window: &Window, slice: &CudaSlice<u8>) -> Result<(), Error> {
        if self.0.fits(stream, window, slice) {
            return Ok(());
        }
        let message = format!("{window:?} does not fit pinned memory and a slice of {} bytes", slice.len());
        Err(Error::usage(message, "report this"))
    }

    /// Waits for all copies, and gives the memory back.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn release(self) -> Result<Vec<u8>, Error> {
        self.0.release().map_err(|e| crate::cuda::failed("waiting for copies", e))
    }
}
