//! One rank with a GPU of its own, in a process of its own: panels travel by NCCL, among processes of one machine or several.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut};
use cudarc::nccl::result::{NcclError, NcclStatus, get_nccl_version, group_end, group_start};
use cudarc::nccl::{Comm, Id, ReduceOp};
use device::peers::{Gate, Nccl, context};
use gemm::Error;
use summit::Handle;

use super::held::Held;
use super::{By, Card, LIMIT, failed, filled};
use crate::host;
use crate::order::{Happened, order};
use crate::plan::{Command, Event, Parcel, Plan, Stream};

/// Bytes of NCCL's id.
const ID: usize = 128;

/// A GPU that takes part with others of other processes, each its own.
#[derive(Debug)]
pub struct Alone {
    card: Card,
    copying: Arc<CudaStream>,
    nccl: String,
}

/// Ranks that know each other: from here on, what they send reaches the others.
#[derive(Debug)]
pub struct Connected {
    alone: Alone,
    rank: usize,
    /// Never dropped: to end it, NCCL waits for the others, who may be gone. It ends with the process.
    comm: ManuallyDrop<Comm>,
}

fn refused(doing: &'static str) -> impl Fn(NcclError) -> Error {
    move |NcclError(status)| {
        Error::Fault(format!("NCCL: {doing} failed with {status:?}\nhint: NCCL_DEBUG=WARN says more"))
    }
}

/// Whether something that NCCL is to do is done or under way.
fn succeed(doing: &'static str, answer: Result<NcclStatus, NcclError>) -> Result<(), Error> {
    answer.map(|_| ()).map_err(refused(doing))
}

/// How many GPUs this machine has.
///
/// # Errors
/// [`Error::Usage`], where there is none.
pub fn there() -> Result<usize, Error> {
    // Finds the driver, or says why not.
    device::cuda::Gpu::find().map_err(|why| {
        Error::usage(format!("no CUDA device: {why}"), "without `--backend cuda`, ranks are emulated")
    })?;
    Ok(CudaContext::device_count().map_err(failed("counting the GPUs"))?.max(1) as usize)
}

impl Alone {
    /// The GPU of a rank: of its machine's GPUs in turn. Rank 2 of a machine of two has the first.
    ///
    /// # Errors
    /// [`Error::Usage`], where there is no GPU, or no NCCL.
    pub fn open(rank: usize) -> Result<Alone, Error> {
        let context = context(rank % there()?).map_err(failed("opening a GPU"))?;
        let stream = || context.new_stream().map_err(failed("making a stream"));
        let handle = Handle::on(&context).map_err(|error| Error::usage(error.to_string(), "see above"))?;
        let copying = stream()?;
        // Among one: so that it is loaded, and whatever is missing is said.
        let nccl = Nccl::find(std::slice::from_ref(&copying))
            .map_err(|why| Error::usage(why, "processes send each other panels by NCCL alone"))?;
        // cudarc loads it for itself, and here, so that it does so before there is anybody to wait for.
        get_nccl_version().map_err(refused("asking for its version"))?;
        let card = Card { handle: Arc::new(handle), products: [stream()?, stream()?], load: stream()? };
        Ok(Alone { card, copying, nccl: nccl.version() })
    }

    /// The GPU's name.
    pub fn name(&self) -> &str {
        self.card.handle.gpu().name()
    }

    /// NCCL's version.
    pub fn nccl(&self) -> &str {
        &self.nccl
    }

    /// What the first rank makes for all, by which NCCL's ranks find each other.
    ///
    /// # Errors
    /// What NCCL answers.
    pub fn token(&self) -> Result<Vec<u8>, Error> {
        let id = Id::new().map_err(refused("making an id"))?;
        Ok(id.internal().iter().map(|&byte| byte as u8).collect())
    }

    /// Connects with all other ranks. Waits for them, however long that is: another thread is to end the process, where one does not come.
    ///
    /// # Errors
    /// What NCCL answers; [`Error::Fault`], where the token is none.
    pub fn connect(self, rank: usize, ranks: usize, token: &[u8]) -> Result<Connected, Error> {
        let token: [u8; ID] = token.try_into().map_err(|_| {
            Error::Fault(format!("the first rank has sent {} bytes for NCCL's id of {ID}", token.len()))
        })?;
        self.card.handle.context().bind_to_thread().map_err(failed("choosing a GPU"))?;
        let id = Id::uninit(token.map(|byte| byte as std::ffi::c_char));
        let comm = Comm::from_rank(self.copying.clone(), rank, ranks, id).map_err(refused("connecting the ranks"))?;
        Ok(Connected { alone: self, rank, comm: ManuallyDrop::new(comm) })
    }
}

impl Connected {
    /// One rank's block of C, and the milliseconds of each of `runs` products behind the first, as this GPU sees them: from the moment at
    /// which all ranks have met, for each product anew, to the end of the rank's own part.
    ///
    /// # Errors
    /// [`Error::Usage`], where the plan has a fault or is of copies; what driver and NCCL answer; [`Error::Fault`], where the GPU does not
    /// answer for a minute.
    pub fn run(&self, plan: &Plan, [a, b]: [&[u8]; 2], runs: usize) -> Result<(Vec<u8>, Vec<f64>), Error> {
        let order = order(plan, None).map_err(|fault| Error::Fault(fault.to_string()))?;
        host::check(&plan.layout, a, b).map_err(|fault| Error::Fault(fault.to_string()))?;
        let order: Vec<Happened> = order.into_iter().filter(|happened| happened.rank == self.rank).collect();
        let card = &self.alone.card;
        let mut held = Held::new(card, plan, self.rank, [a, b])?;
        let mut meeting = card.load.alloc_zeros::<f32>(1).map_err(failed("allocating a number"))?;
        card.load.synchronize().map_err(failed("allocating a number"))?;
        self.meet(&mut meeting)?;
        self.submit(plan, &order, &mut held)?;
        self.finish()?;
        let c = card.load.clone_dtoh(&held.c).map_err(failed("copying C"))?;
        card.load.synchronize().map_err(failed("copying C"))?;
        let mut gate = Gate::new(card.handle.context()).map_err(failed("making a gate"))?;
        let times = (0..runs).map(|_| self.timed(plan, &order, &mut held, (&mut gate, &mut meeting)));
        let times = times.collect::<Result<Vec<f64>, Error>>();
        // The slices are in use until then.
        self.finish()?;
        Ok((c, times?))
    }

    /// One product, submitted whole before any of it starts.
    fn timed(
        &self,
        plan: &Plan,
        order: &[Happened],
        held: &mut Held,
        (gate, meeting): (&mut Gate, &mut CudaSlice<f32>),
    ) -> Result<f64, Error> {
        let (timing, Alone { card, copying, .. }) = (failed("timing"), &self.alone);
        let mark = |stream: &Arc<CudaStream>| stream.record_event(Some(CU_EVENT_DEFAULT)).map_err(&timing);
        gate.close(copying).map_err(&timing)?;
        self.meet(meeting)?;
        let start = mark(copying)?;
        card.wait(&start).map_err(&timing)?;
        self.submit(plan, order, held)?;
        for stream in &card.products {
            copying.wait(&mark(stream)?).map_err(&timing)?;
        }
        let end = mark(copying)?;
        gate.open();
        self.finish()?;
        start.elapsed_ms(&end).map(f64::from).map_err(&timing)
    }

    /// No rank's copies go on before all ranks have come to this.
    fn meet(&self, number: &mut CudaSlice<f32>) -> Result<(), Error> {
        succeed("letting the ranks meet", self.comm.all_reduce_in_place(number, &ReduceOp::Sum))
    }

    fn submit(&self, plan: &Plan, order: &[Happened], held: &mut Held) -> Result<(), Error> {
        let Alone { card, copying, .. } = &self.alone;
        held.begin();
        for Happened { stream, command, .. } in order {
            let is_transfer = *stream == Stream::Copy as usize;
            match &plan.ranks[self.rank].streams[*stream][*command] {
                Command::Record(Event { number, .. }) if is_transfer => {
                    held.events[*number].record(copying).map_err(failed("recording an event"))?;
                }
                Command::Record(Event { number, .. }) => {
                    held.record(card, *number).map_err(failed("recording an event"))?;
                }
                Command::Wait(event) => {
                    let event = &held.events[event.number];
                    let waits = if is_transfer { copying.wait(event) } else { card.wait(event) };
                    waits.map_err(failed("waiting for an event"))?;
                }
                Command::Copy { .. } => {
                    let hint = "use a variant of collectives, or one process for all GPUs";
                    return Err(Error::usage("no copy reads another process's memory", hint));
                }
                Command::Exchange { sends, receives, .. } => self.exchange(held, &filled(sends), &filled(receives))?,
                Command::Multiply { rows, a, room, b } => {
                    held.multiply(card, By::Summit, (rows, a), (*room, *b))?;
                }
                Command::Replace { .. } => (),
            }
        }
        Ok(())
    }

    /// This rank's part of a collective.
    fn exchange(&self, held: &mut Held, sends: &[Parcel], receives: &[Parcel]) -> Result<(), Error> {
        let Held { own, rooms, .. } = held;
        let sent: Vec<(CudaView<u8>, usize)> =
            sends.iter().map(|sent| (own.slice(..sent.bytes as usize), sent.peer)).collect();
        let mut received: Vec<(CudaViewMut<u8>, usize)> = Vec::new();
        for (room, to) in rooms {
            let got = receives.iter().find(|got| got.region == *room);
            received.extend(got.map(|got| (to.slice_mut(..got.bytes as usize), got.peer)));
        }
        succeed("beginning a group", group_start())?;
        let sent = sent.iter().try_for_each(|(from, peer)| self.comm.send(from, *peer as i32));
        let received = received.iter_mut().try_for_each(|(to, peer)| self.comm.recv(to, *peer as i32).map(|_| ()));
        // A group that was started ends, whatever its parts say.
        let ended = group_end();
        sent.map_err(refused("sending a panel"))?;
        received.map_err(refused("receiving a panel"))?;
        succeed("ending a group", ended)
    }

    /// Waits until all that was submitted is done.
    fn finish(&self) -> Result<(), Error> {
        let began = Instant::now();
        for stream in self.alone.card.products.iter().chain([&self.alone.copying]) {
            let end = stream.record_event(None).map_err(failed("asking a card"))?;
            while !end.try_is_complete().map_err(failed("running a product over ranks"))? {
                if began.elapsed() > LIMIT {
                    let seconds = LIMIT.as_secs();
                    return Err(Error::Fault(format!("rank {}: its GPU has not answered for {seconds} s", self.rank)));
                }
                std::thread::yield_now();
            }
        }
        Ok(())
    }
}
