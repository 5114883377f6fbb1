//! Memory of the host that a GPU's copy engines read and write, beside the program.

use std::ffi::c_void;
use std::mem;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DriverError, sys};

/// `CU_MEMHOSTREGISTER_PORTABLE` of cuda.h: for all contexts.
const PORTABLE: u32 = 1;

/// Some rows of bytes that lie equally far apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Where the first begins.
    pub first: usize,
    /// How many there are.
    pub rows: usize,
    /// Bytes of each.
    pub width: usize,
    /// Bytes from the begin of one to that of the next.
    pub pitch: usize,
}

impl Window {
    /// Bytes of all rows.
    pub fn bytes(&self) -> usize {
        self.rows * self.width
    }

    /// Whether it lies within so many bytes.
    pub fn is_within(&self, bytes: usize) -> bool {
        let behind = || (self.rows - 1).checked_mul(self.pitch)?.checked_add(self.first)?.checked_add(self.width);
        self.rows > 0 && self.width > 0 && self.width <= self.pitch && behind().is_some_and(|end| end <= bytes)
    }
}

/// Bytes of the host that stay where they are until this ends.
#[derive(Debug)]
pub(crate) struct Pinned {
    memory: Vec<u8>,
    context: Arc<CudaContext>,
}

impl Pinned {
    /// Registers memory. Where the driver refuses, the memory comes back.
    pub(crate) fn new(context: &Arc<CudaContext>, mut memory: Vec<u8>) -> Result<Pinned, (DriverError, Vec<u8>)> {
        // SAFETY: the vector's bytes are its own, and stay where they are: nothing changes it until `release` has unregistered them.
        let registered = context.bind_to_thread().and_then(|()| unsafe {
            sys::cuMemHostRegister_v2(memory.as_mut_ptr().cast::<c_void>(), memory.len(), PORTABLE).result()
        });
        match registered {
            Ok(()) => Ok(Pinned { memory, context: context.clone() }),
            Err(error) => Err((error, memory)),
        }
    }

    /// Whether a window lies within the memory, a slice has room for it, and the stream is of the GPU that this memory is pinned for.
    pub(crate) fn fits(&self, stream: &CudaStream, window: &Window, slice: &CudaSlice<u8>) -> bool {
        let here = Arc::ptr_eq(stream.context(), &self.context);
        here && window.is_within(self.memory.len()) && window.bytes() <= slice.len()
    }

    /// Submits a copy of a window to a GPU, where its rows lie one behind the other.
    pub(crate) fn upload(
        &mut self,
        stream: &Arc<CudaStream>,
        window: Window,
        to: &mut CudaSlice<u8>,
    ) -> Result<(), DriverError> {
        if !self.fits(stream, &window, to) {
            sys::CUresult::CUDA_ERROR_INVALID_VALUE.result()?;
        }
        let (address, _writing) = to.device_ptr_mut(stream);
        self.submit(stream, window, address, true)
    }

    /// Submits a copy to a window from a GPU, where its rows lie one behind the other.
    pub(crate) fn download(
        &mut self,
        stream: &Arc<CudaStream>,
        from: &CudaSlice<u8>,
        window: Window,
    ) -> Result<(), DriverError> {
        if !self.fits(stream, &window, from) {
            sys::CUresult::CUDA_ERROR_INVALID_VALUE.result()?;
        }
        let (address, _reading) = from.device_ptr(stream);
        self.submit(stream, window, address, false)
    }

    /// Submits a copy of a window that fits.
    fn submit(&mut self, stream: &CudaStream, window: Window, address: u64, to_gpu: bool) -> Result<(), DriverError> {
        stream.context().bind_to_thread()?;
        let host = self.memory[window.first..].as_mut_ptr().cast::<c_void>();
        let at_host = (sys::CUmemorytype::CU_MEMORYTYPE_HOST, host, 0, window.pitch);
        let at_gpu = (sys::CUmemorytype::CU_MEMORYTYPE_DEVICE, ptr::null_mut(), address, window.width);
        let (source, target) = if to_gpu { (at_host, at_gpu) } else { (at_gpu, at_host) };
        let copy = sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: source.0,
            srcHost: source.1,
            srcDevice: source.2,
            srcArray: ptr::null_mut(),
            srcPitch: source.3,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: target.0,
            dstHost: target.1,
            dstDevice: target.2,
            dstArray: ptr::null_mut(),
            dstPitch: target.3,
            WidthInBytes: window.width,
            Height: window.rows,
        };
        // SAFETY: the host's bytes are registered, and are not touched before `release` has waited for all copies. The slice has the room,
        // and the guard of the caller orders the copy with what other streams do there.
        unsafe { sys::cuMemcpy2DAsync_v2(&copy, stream.cu_stream()).result() }
    }

    /// Waits for all copies, and gives the memory back.
    pub(crate) fn release(mut self) -> Result<Vec<u8>, DriverError> {
        let ended = self.unregister();
        let memory = mem::take(&mut self.memory);
        ended.map(|()| memory)
    }

    fn unregister(&mut self) -> Result<(), DriverError> {
        if self.memory.is_empty() {
            return Ok(());
        }
        self.context.bind_to_thread()?;
        // All copies are of streams of this context.
        let ended = self.context.synchronize();
        // SAFETY: registered by `new`, and unregistered once: the vector is empty from then on, or dropped.
        unsafe { sys::cuMemHostUnregister(self.memory.as_mut_ptr().cast::<c_void>()).result()? };
        ended
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // An error of the driver has been told by the calls before.
        let _ = self.unregister();
    }
}
