//! GPUs that reach each other's memory, and NCCL.
//!
//! NCCL not through cudarc: that one looks for a file name without NCCL's version, panics where it is missing, and cannot abort.

use std::ffi::{CStr, c_int, c_void};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DriverError, sys};
use libloading::Library;

/// `CUmemAccessDesc` of cuda.h: whose GPU may read and write a pool's memory. cudarc's own differs from version to version.
#[repr(C)]
struct Access {
    location_type: c_int,
    location: c_int,
    flags: c_int,
}

/// Lets the GPU of one context reach memory that is allocated on another's; whether it can.
pub(crate) fn reach(context: &CudaContext, other: &CudaContext) -> Result<bool, DriverError> {
    context.bind_to_thread()?;
    let mut can = 0;
    // SAFETY: the signatures are cuda.h's; both contexts are alive, and the first is current on this thread. The description is laid out
    // as `CUmemAccessDesc`, with CU_MEM_LOCATION_TYPE_DEVICE and CU_MEM_ACCESS_FLAGS_PROT_READWRITE.
    unsafe {
        sys::cuDeviceCanAccessPeer(&mut can, context.cu_device(), other.cu_device()).result()?;
        if can == 0 {
            return Ok(false);
        }
        match sys::cuCtxEnablePeerAccess(other.cu_ctx(), 0) {
            sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => (),
            answer => answer.result()?,
        }
        if other.has_async_alloc() {
            let mut pool = ptr::null_mut();
            sys::cuDeviceGetDefaultMemPool(&mut pool, other.cu_device()).result()?;
            let access = Access { location_type: 1, location: context.ordinal() as c_int, flags: 3 };
            sys::cuMemPoolSetAccess(pool, (&raw const access).cast(), 1).result()?;
        }
    }
    Ok(true)
}

/// From now on no slice of the context has events of cudarc's: who submits says what waits for what.
pub(crate) fn untracked(context: &Arc<CudaContext>) {
    // SAFETY: `peers::contexts` has just made it, so it has no slice yet, and says this of the slices that it will have.
    unsafe { context.disable_event_tracking() }
}

/// Submits a copy between memories of two GPUs, or of one, to a stream.
pub(crate) fn copy(
    stream: &CudaStream,
    to: &mut CudaSlice<u8>,
    (from, at): (&CudaSlice<u8>, usize),
    bytes: usize,
) -> Result<(), DriverError> {
    if bytes > to.len().min(from.len().saturating_sub(at)) {
        sys::CUresult::CUDA_ERROR_INVALID_VALUE.result()?;
    }
    stream.context().bind_to_thread()?;
    let (owner, giver) = (to.context().cu_ctx(), from.context().cu_ctx());
    let ((to, _to), (from, _from)) = (to.device_ptr_mut(stream), from.device_ptr(stream));
    // SAFETY: the signature is cuda.h's; both slices have so many bytes, in the contexts that are named.
    unsafe { sys::cuMemcpyPeerAsync(to, owner, from + at as u64, giver, bytes, stream.cu_stream()).result() }
}

/// A number in the host's memory that all GPUs read.
#[derive(Debug)]
pub(crate) struct Number {
    memory: *mut u64,
    context: Arc<CudaContext>,
}

impl Number {
    /// 0, at first.
    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<Number, DriverError> {
        context.bind_to_thread()?;
        let mut memory = ptr::null_mut();
        // SAFETY: the signature is cuda.h's; there is room for the pointer, and then for the number.
        unsafe {
            sys::cuMemHostAlloc(&mut memory, size_of::<u64>(), sys::CU_MEMHOSTALLOC_PORTABLE).result()?;
            memory.cast::<u64>().write_volatile(0);
        }
        Ok(Number { memory: memory.cast(), context: context.clone() })
    }

    /// Where it is, for the host and for GPUs.
    pub(crate) fn address(&self) -> u64 {
        self.memory as u64
    }

    /// Writes it.
    pub(crate) fn set(&self, value: u64) {
        // SAFETY: the memory is there as long as this is; GPUs read it at any time, and a number of 64 bits in one piece.
        unsafe { self.memory.write_volatile(value) }
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, and freed once; kernels that read it have ended, or the context has failed.
        unsafe {
            if self.context.bind_to_thread().and_then(|()| self.context.synchronize()).is_ok() {
                let _ = sys::cuMemFreeHost(self.memory.cast());
            }
        }
    }
}

type Communicator = *mut c_void;
type Transfer = unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, Communicator, *mut c_void) -> c_int;
type AllGather = unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, Communicator, *mut c_void) -> c_int;
/// `ncclUint8` of nccl.h: counts are bytes.
const BYTES: c_int = 1;

/// NCCL, loaded, with a communicator for each of some GPUs, all of this process.
#[derive(Debug)]
pub(crate) struct Nccl {
    library: Library,
    communicators: Vec<Communicator>,
    streams: Vec<Arc<CudaStream>>,
}

/// A part of a collective, by its rank: bytes at an address.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Call {
    Send { rank: usize, peer: usize, address: u64, bytes: usize },
    Receive { rank: usize, peer: usize, address: u64, bytes: usize },
    AllGather { rank: usize, from: u64, to: u64, bytes: usize },
}

impl Nccl {
    /// Loads the library, and makes the communicators. `Err` says whether the library was there at all, and what it answers.
    pub(crate) fn open(library: &Path, streams: &[Arc<CudaStream>]) -> Result<Nccl, (bool, String)> {
        // SAFETY: NCCL runs no code at load time beyond C++ static initialisers.
        let library = unsafe { Library::new(library) }.map_err(|e| (false, e.to_string()))?;
        let mut nccl = Nccl { library, communicators: Vec::new(), streams: streams.to_vec() };
        nccl.prepare().map_err(|why| (true, why))?;
        Ok(nccl)
    }

    fn prepare(&mut self) -> Result<(), String> {
        let ordinals: Vec<c_int> = self.streams.iter().map(|stream| stream.context().ordinal() as c_int).collect();
        let mut communicators = vec![ptr::null_mut(); ordinals.len()];
        // SAFETY: the signature is nccl.h's; there is room for as many communicators as there are GPUs.
        unsafe {
            let init =
                self.get::<unsafe extern "C" fn(*mut Communicator, c_int, *const c_int) -> c_int>(c"ncclCommInitAll")?;
            succeed("ncclCommInitAll", init(communicators.as_mut_ptr(), ordinals.len() as c_int, ordinals.as_ptr()))?;
        }
        self.communicators = communicators;
        Ok(())
    }

    /// Major × 10000 + minor × 100 + patch; 0 if it does not say.
    pub(crate) fn version(&self) -> u32 {
        let mut version: c_int = 0;
        // SAFETY: ncclGetVersion(int*) writes one integer.
        unsafe {
            match self.get::<unsafe extern "C" fn(*mut c_int) -> c_int>(c"ncclGetVersion") {
                Ok(get) if get(&mut version) == 0 => version as u32,
                _ => 0,
            }
        }
    }

    /// Submits all parts of a collective at once, each to its rank's stream.
    pub(crate) fn group(&self, calls: &[Call]) -> Result<(), String> {
        // SAFETY: the signatures are nccl.h's; addresses are of slices that live, and that cudarc guards, until the streams have done.
        unsafe {
            let start = self.get::<unsafe extern "C" fn() -> c_int>(c"ncclGroupStart")?;
            let end = self.get::<unsafe extern "C" fn() -> c_int>(c"ncclGroupEnd")?;
            let (send, receive) = (self.get::<Transfer>(c"ncclSend")?, self.get::<Transfer>(c"ncclRecv")?);
            let all_gather = self.get::<AllGather>(c"ncclAllGather")?;
            succeed("ncclGroupStart", start())?;
            let submitted = calls.iter().try_for_each(|call| {
                let place = |rank: usize| (self.communicators[rank], self.streams[rank].cu_stream().cast());
                match *call {
                    Call::Send { rank, peer, address, bytes } => {
                        let (communicator, stream) = place(rank);
                        succeed(
                            "ncclSend",
                            send(address as *mut c_void, bytes, BYTES, peer as c_int, communicator, stream),
                        )
                    }
                    Call::Receive { rank, peer, address, bytes } => {
                        let (communicator, stream) = place(rank);
                        succeed(
                            "ncclRecv",
                            receive(address as *mut c_void, bytes, BYTES, peer as c_int, communicator, stream),
                        )
                    }
                    Call::AllGather { rank, from, to, bytes } => {
                        let (communicator, stream) = place(rank);
                        let (from, to) = (from as *const c_void, to as *mut c_void);
                        succeed("ncclAllGather", all_gather(from, to, bytes, BYTES, communicator, stream))
                    }
                }
            });
            // A group that was started ends, whatever its parts say.
            let ended = succeed("ncclGroupEnd", end());
            submitted.and(ended)
        }
    }

    /// A function of the library. The caller gives it its true type.
    unsafe fn get<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        // SAFETY: forwarded to the caller.
        let symbol = unsafe { self.library.get::<F>(name.to_bytes_with_nul()) };
        symbol.map(|s| *s).map_err(|e| e.to_string())
    }
}

fn succeed(what: &str, status: c_int) -> Result<(), String> {
    if status == 0 { Ok(()) } else { Err(format!("{what} failed with status {status}")) }
}

impl Drop for Nccl {
    fn drop(&mut self) {
        // SAFETY: ncclCommAbort(comm) ends what a communicator still does, and frees it; it is used no more.
        unsafe {
            if let Ok(abort) = self.get::<unsafe extern "C" fn(Communicator) -> c_int>(c"ncclCommAbort") {
                // Nothing is to be done about a communicator that cannot be freed.
                self.communicators.iter().for_each(|&communicator| _ = abort(communicator));
            }
        }
    }
}
