//! Several GPUs of one process: memory that they reach, and NCCL's collectives among them.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use gemm::Error;

use crate::ffi;
use crate::ffi::Call;
use crate::libraries::NCCL;

/// The context of each of the first GPUs, so many of them, each of which reaches the memory of the others.
///
/// # Errors
/// [`Error::Usage`], where there are fewer, or two do not reach each other.
pub fn contexts(count: usize) -> Result<Vec<Arc<CudaContext>>, Error> {
    let first = crate::cuda::Gpu::find().map_err(|why| {
        Error::usage(format!("no CUDA device: {why}"), "without `--backend cuda`, ranks are emulated")
    })?;
    let there = CudaContext::device_count().map_err(|e| crate::cuda::failed("counting the GPUs", e))?;
    if there < count as i32 {
        let message = format!("{count} ranks need as many GPUs, and there are {there}");
        return Err(Error::usage(message, "without `--backend cuda`, ranks are emulated"));
    }
    let mut contexts = vec![first.context().clone()];
    for ordinal in 1..count {
        contexts.push(CudaContext::new(ordinal).map_err(|e| crate::cuda::failed("opening a GPU", e))?);
    }
    for (one, context) in contexts.iter().enumerate() {
        for (two, other) in contexts.iter().enumerate().filter(|(two, _)| *two != one) {
            if !ffi::reach(context, other).map_err(|e| crate::cuda::failed("asking for peer access", e))? {
                let message = format!("GPU {one} does not reach the memory of GPU {two}");
                return Err(Error::usage(message, "`nvidia-smi topo -m` shows how they are linked"));
            }
        }
    }
    Ok(contexts)
}

/// NCCL among GPUs of this process, each with a stream for its part.
#[derive(Debug)]
pub struct Nccl(ffi::Nccl);

/// What a rank sends to another: the first bytes of a slice.
#[derive(Debug)]
pub struct Sent<'a> {
    /// The rank.
    pub rank: usize,
    /// The one that receives it.
    pub peer: usize,
    /// What is sent.
    pub from: &'a CudaSlice<u8>,
    /// How much of it.
    pub bytes: usize,
}

/// What a rank receives from another, and where.
#[derive(Debug)]
pub struct Received<'a> {
    /// The rank.
    pub rank: usize,
    /// The one that sends it.
    pub peer: usize,
    /// Where it comes to lie.
    pub to: &'a mut CudaSlice<u8>,
    /// How much it is.
    pub bytes: usize,
}

impl Nccl {
    /// Looks for NCCL. `Err` says where it was looked for, or what it answers.
    pub fn find(streams: &[Arc<CudaStream>]) -> Result<Nccl, String> {
        NCCL.find(|library| ffi::Nccl::open(library, streams)).map(Nccl)
    }

    /// Its version, for instance `2.27.5`.
    pub fn version(&self) -> String {
        let version = self.0.version();
        format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
    }

    /// Sends and receives at once, on the streams that it was found for.
    ///
    /// # Errors
    /// [`Error::Usage`], where NCCL refuses; a slice that is shorter than what is to travel.
    pub fn exchange(&self, streams: &[Arc<CudaStream>], sent: &[Sent], received: &mut [Received]) -> Result<(), Error> {
        let short = sent.iter().any(|s| s.bytes > s.from.len()) || received.iter().any(|r| r.bytes > r.to.len());
        if short {
            return Err(Error::usage("a slice is shorter than what is to travel", "report this"));
        }
        let (mut calls, mut guards) = (Vec::new(), Vec::new());
        for &Sent { rank, peer, from, bytes } in sent {
            let (address, guard) = from.device_ptr(&streams[rank]);
            // What is sent is only read, and by its own rank's stream: nobody waits for that behind this guard.
            calls.push(Call::Send { rank, peer, address, bytes });
            guards.push(guard);
        }
        for Received { rank, peer, to, bytes } in received {
            let (address, guard) = to.device_ptr_mut(&streams[*rank]);
            calls.push(Call::Receive { rank: *rank, peer: *peer, address, bytes: *bytes });
            guards.push(guard);
        }
        self.submit(&calls)
    }

    /// Every rank's slice to all ranks, one behind the other: by rank, what it gives and where it gets all.
    ///
    /// # Errors
    /// As of [`Nccl::exchange`].
    pub fn all_gather(
        &self,
        streams: &[Arc<CudaStream>],
        parts: &mut [(&CudaSlice<u8>, &mut CudaSlice<u8>)],
    ) -> Result<(), Error> {
        let (mut calls, mut guards) = (Vec::new(), Vec::new());
        let count = parts.len();
        for (rank, (from, to)) in parts.iter_mut().enumerate() {
            let bytes = from.len();
            if to.len() < count * bytes {
                return Err(Error::usage("a slice is shorter than what is to travel", "report this"));
            }
            let (from, reading) = from.device_ptr(&streams[rank]);
            let (to, writing) = to.device_ptr_mut(&streams[rank]);
            calls.push(Call::AllGather { rank, from, to, bytes });
            guards.extend([reading, writing]);
        }
        self.submit(&calls)
    }

    fn submit(&self, calls: &[Call]) -> Result<(), Error> {
        self.0.group(calls).map_err(|why| Error::usage(why, "NCCL_DEBUG=WARN says more"))
    }
}
