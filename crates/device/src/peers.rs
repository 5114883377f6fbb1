//! Several GPUs of one process: memory that they reach, a moment at which all start, and NCCL's collectives among them.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DriverError, LaunchConfig,
};
use cudarc::nvrtc::Ptx;
use gemm::Error;
use gemm::task::Operand;

use crate::arguments::Arguments;
use crate::ffi;
use crate::ffi::Call;
use crate::libraries::NCCL;

/// The context of each of the first GPUs, so many of them, each of which reaches the memory of the others. Their slices have no events: work
/// on two streams waits for nothing but what it is told to wait for, and a slice is not to be dropped before all that reads or writes it is done.
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
    contexts.iter().for_each(ffi::untracked);
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

/// How many GPUs this host has; 0 without a driver.
pub fn count() -> usize {
    match crate::cuda::Gpu::find() {
        Ok(_) => CudaContext::device_count().map_or(0, |count| count.max(0) as usize),
        Err(_) => 0,
    }
}

/// The context of one GPU, whose slices have no events either.
///
/// # Errors
/// What the driver answers.
pub fn context(ordinal: usize) -> Result<Arc<CudaContext>, DriverError> {
    CudaContext::new(ordinal).inspect(ffi::untracked)
}

/// Copies bytes of a slice, from a place on, to the beginning of another, by a copy engine of the stream's GPU.
///
/// # Errors
/// What the driver answers; that the value is invalid, where a slice is shorter.
pub fn copy(
    stream: &CudaStream,
    to: &mut CudaSlice<u8>,
    from: (&CudaSlice<u8>, usize),
    bytes: usize,
) -> Result<(), DriverError> {
    ffi::copy(stream, to, from, bytes)
}

/// Waits until a number of the host's memory is as large as it is to be, or ten seconds have gone by.
const GATE: &str = "
.version 6.0
.target sm_60
.address_size 64
.visible .entry gate(.param .u64 address, .param .u64 least) {
  .reg .u64 %address, %least, %there, %start, %now;
  .reg .pred %more;
  ld.param.u64 %address, [address];
  ld.param.u64 %least, [least];
  mov.u64 %start, %globaltimer;
AGAIN:
  ld.volatile.global.u64 %there, [%address];
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %start;
  setp.gt.u64 %more, %now, 10000000000;
  @%more ret;
  setp.lt.u64 %more, %there, %least;
  @%more bra AGAIN;
  ret;
}
";

/// What holds a stream back until the host lets it go: so all of a product can be submitted before any of it starts, and GPUs start together.
#[derive(Debug)]
pub struct Gate {
    kernel: CudaFunction,
    number: ffi::Number,
    closed: u64,
}

impl Gate {
    /// An open one, on a GPU.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn new(context: &Arc<CudaContext>) -> Result<Gate, DriverError> {
        let kernel = context.load_module(Ptx::from_src(GATE))?.load_function("gate")?;
        Ok(Gate { kernel, number: ffi::Number::new(context)?, closed: 0 })
    }

    /// Holds back all that is submitted to the stream behind this, until [`Gate::open`], or for ten seconds.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn close(&mut self, stream: &CudaStream) -> Result<(), DriverError> {
        self.closed += 1;
        let operands = [Operand::U64(self.number.address()), Operand::U64(self.closed)];
        let one_thread = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
        ffi::launch(stream, &self.kernel, one_thread, &Arguments::new(&operands, ([0; 3], [0; 3]), 0)?.slots)
    }

    /// Lets all go on that it holds back.
    pub fn open(&self) {
        self.number.set(self.closed);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
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
