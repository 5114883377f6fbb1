//! Runs a plan on GPUs of one host: a rank is a GPU, with a stream for products and one for copies.
//!
//! One thread of the host submits for all, in the order of [`mod@crate::order`]: so whatever waits for an event finds it recorded. Nothing is
//! waited for until all is submitted. B's panels travel, A's do not as yet: the grid has one column.

mod contender;
mod gathered;

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaEvent, CudaSlice, CudaStream, DriverError};
use device::peers::{Nccl, Received, Sent, contexts};
use device::vendor::Vendor;
use gemm::{Error, Shape};
use summit::{Handle, Product, Types};

pub use contender::{Contender, in_turns};
pub use gathered::Gathered;

use crate::layout::{Layout, Operand, Panel};
use crate::order::{Happened, order};
use crate::plan::{Command, Event, Parcel, Plan, Region, Stream};
use crate::volume;

/// How long a product may take before a rank counts as lost.
const LIMIT: Duration = Duration::from_secs(60);

/// GPUs of one host that reach each other's memory.
#[derive(Debug)]
pub struct Cards {
    pub(crate) cards: Vec<Card>,
    pub(crate) nccl: Result<Nccl, String>,
    pub(crate) copying: Vec<Arc<CudaStream>>,
}

/// A GPU and its streams.
#[derive(Debug)]
pub(crate) struct Card {
    pub handle: Handle,
    pub compute: Arc<CudaStream>,
    /// On which matrices are allocated, and nothing else happens.
    pub load: Arc<CudaStream>,
}

/// What multiplies on each card.
#[derive(Debug, Clone, Copy)]
pub enum By<'a> {
    /// The summit's kernels.
    Summit,
    /// cuBLAS, one for each card.
    Vendor(&'a [Vendor<'a>]),
}

/// A plan with memory on the cards, to be submitted again and again.
#[derive(Debug)]
pub struct Work<'a> {
    cards: &'a Cards,
    by: By<'a>,
    plan: Plan,
    order: Vec<Happened>,
    ranks: Vec<Matrices>,
    /// Each rank's own panel of B, which others copy.
    own: Vec<CudaSlice<u8>>,
    events: Vec<Vec<CudaEvent>>,
}

#[derive(Debug)]
struct Matrices {
    a: CudaSlice<u8>,
    /// For others' panels.
    rooms: Vec<CudaSlice<u8>>,
    c: CudaSlice<u8>,
}

pub(crate) fn failed(doing: &'static str) -> impl Fn(DriverError) -> Error {
    move |error| device::cuda::failed(doing, error)
}

impl Cards {
    /// The first GPUs, so many of them.
    ///
    /// # Errors
    /// [`Error::Usage`], where there are fewer, two of them do not reach each other, or the driver refuses.
    pub fn open(count: usize) -> Result<Cards, Error> {
        let (mut cards, mut copying) = (Vec::new(), Vec::new());
        for context in contexts(count)? {
            let stream = || context.new_stream().map_err(failed("making a stream"));
            let handle = Handle::on(&context).map_err(|error| Error::usage(error.to_string(), "see above"))?;
            copying.push(stream()?);
            cards.push(Card { handle, compute: stream()?, load: stream()? });
        }
        let nccl = Nccl::find(&copying);
        Ok(Cards { cards, nccl, copying })
    }

    /// What they are called.
    pub fn names(&self) -> Vec<&str> {
        self.cards.iter().map(|card| card.handle.gpu().name()).collect()
    }

    /// NCCL's version; or why it is not there.
    pub fn nccl(&self) -> Result<String, &str> {
        self.nccl.as_ref().map(Nccl::version).map_err(String::as_str)
    }

    /// cuBLAS on each card, for products beside ours.
    ///
    /// # Errors
    /// Where it is not there, in words.
    pub fn vendors(&self) -> Result<Vec<Vendor<'_>>, String> {
        self.cards.iter().map(|card| Vendor::on(card.handle.gpu(), &card.compute)).collect()
    }

    /// Waits until all that was submitted is done.
    ///
    /// # Errors
    /// [`Error::Fault`], where a card takes longer than a minute, or has failed.
    pub fn finish(&self) -> Result<(), Error> {
        let began = Instant::now();
        for (rank, (card, copying)) in self.cards.iter().zip(&self.copying).enumerate() {
            for stream in [&card.compute, copying] {
                let end = stream.record_event(None).map_err(failed("asking a card"))?;
                while !end.try_is_complete().map_err(failed("running a product over ranks"))? {
                    if began.elapsed() > LIMIT {
                        let seconds = LIMIT.as_secs();
                        return Err(Error::Fault(format!(
                            "rank {rank} is lost: its GPU has not answered for {seconds} s"
                        )));
                    }
                    std::thread::yield_now();
                }
            }
        }
        Ok(())
    }
}

impl<'a> Work<'a> {
    /// Puts matrices of the host on the cards, and C full of NaN: A is M × K, B K × N, row-major and without padding.
    ///
    /// # Errors
    /// [`Error::Usage`], where the plan has a fault, moves A, or needs NCCL where there is none; where a card has no room.
    pub fn new(cards: &'a Cards, plan: Plan, by: By<'a>, a: &[u8], b: &[u8]) -> Result<Work<'a>, Error> {
        let order = order(&plan, None).map_err(|fault| Error::Fault(fault.to_string()))?;
        let layout = plan.layout;
        if layout.grid()[1] != 1 || layout.ranks() > cards.cards.len() {
            let message = format!("{layout} on {} GPUs", cards.cards.len());
            return Err(Error::usage(message, "on GPUs a grid has one column, and not more rows than there are GPUs"));
        }
        crate::host::check(&layout, a, b).map_err(|fault| Error::Fault(fault.to_string()))?;
        let copying = failed("copying the matrices");
        let (mut ranks, mut own, mut events) = (Vec::new(), Vec::new(), Vec::new());
        for (number, rank) in plan.ranks.iter().enumerate() {
            let load = &cards.cards[number].load;
            let upload =
                |bytes: &[u8]| load.clone_htod(if bytes.is_empty() { &[0][..] } else { bytes }).map_err(&copying);
            let widest = volume::widest(&layout, number).max(1) as usize;
            let rooms = (1..rank.rooms).map(|_| load.alloc_zeros::<u8>(widest).map_err(&copying));
            let c = upload(&vec![0xff; crate::host::block_bytes(&layout, number)])?;
            ranks.push(Matrices {
                a: upload(&crate::host::own(&layout, Operand::A, number, a))?,
                rooms: rooms.collect::<Result<_, _>>()?,
                c,
            });
            own.push(upload(&crate::host::own(&layout, Operand::B, number, b))?);
            let highest = rank.streams.iter().flatten().filter_map(|command| match command {
                Command::Record(event) => Some(event.number),
                _ => None,
            });
            let count = 1 + highest.max().unwrap_or_default();
            let event = |_| cards.cards[number].handle.context().new_event(None).map_err(failed("making an event"));
            events.push((0..count).map(event).collect::<Result<Vec<CudaEvent>, Error>>()?);
            load.synchronize().map_err(failed("copying the matrices"))?;
        }
        Ok(Work { cards, by, plan, order, ranks, own, events })
    }

    /// Submits the whole product.
    ///
    /// # Errors
    /// What the driver, NCCL or a product's library answers.
    pub fn submit(&mut self) -> Result<(), Error> {
        for at in 0..self.order.len() {
            let Happened { rank, stream, command } = self.order[at];
            let on = if stream == Stream::Copy as usize {
                &self.cards.copying[rank]
            } else {
                &self.cards.cards[rank].compute
            };
            match &self.plan.ranks[rank].streams[stream][command] {
                Command::Record(Event { number, .. }) => {
                    self.events[rank][*number].record(on).map_err(failed("recording an event"))?;
                }
                Command::Wait(event) => {
                    on.wait(&self.events[event.rank][event.number]).map_err(failed("waiting for an event"))?;
                }
                Command::Copy { get: Parcel { peer, region: Region::Room(room), bytes, .. }, .. } => {
                    let from = self.own[*peer].slice(..*bytes as usize);
                    let mut to = self.ranks[rank].rooms[room - 1].slice_mut(..*bytes as usize);
                    on.memcpy_dtod(&from, &mut to).map_err(failed("copying a panel"))?;
                }
                // All of a group come to it one behind the other: the first submits for all.
                Command::Exchange { group, .. } if group.first() == Some(&rank) => self.exchange(at)?,
                Command::Multiply { room, b, .. } => {
                    let (room, b) = (*room, *b);
                    self.multiply(rank, room, b)?;
                }
                Command::Copy { .. } | Command::Exchange { .. } | Command::Replace { .. } => (),
            }
        }
        Ok(())
    }

    /// A collective of all ranks, of which the first is at this place of the order.
    fn exchange(&mut self, at: usize) -> Result<(), Error> {
        let nccl = self.cards.nccl.as_ref().map_err(|why| Error::usage(why.clone(), "`copies` needs none"))?;
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        for (rank, matrices) in self.ranks.iter_mut().enumerate() {
            let happened = &self.order[at + rank];
            let command = &self.plan.ranks[rank].streams[happened.stream][happened.command];
            let Command::Exchange { sends, receives, .. } = command else { continue };
            let filled =
                |parcels: &[Parcel]| parcels.iter().filter(|parcel| parcel.bytes > 0).copied().collect::<Vec<_>>();
            for Parcel { peer, bytes, .. } in filled(sends) {
                sent.push(Sent { rank, peer, from: &self.own[rank], bytes: bytes as usize });
            }
            let receives = filled(receives);
            for (room, to) in matrices.rooms.iter_mut().enumerate() {
                let got = receives.iter().find(|got| got.region == Region::Room(room + 1));
                received.extend(got.map(|got| Received { rank, peer: got.peer, to, bytes: got.bytes as usize }));
            }
        }
        nccl.exchange(&self.cards.copying, &sent, &mut received)
    }

    /// The rank's rows of A with a panel of B.
    fn multiply(&mut self, rank: usize, room: usize, b: Panel) -> Result<(), Error> {
        let layout = self.plan.layout;
        let (product, at) = part(&layout, rank, b)?;
        let Matrices { a, rooms, c } = &mut self.ranks[rank];
        let of_b = if room == 0 { &self.own[rank] } else { &rooms[room - 1] };
        let mut c = c.slice_mut(at..);
        let Card { handle, compute, .. } = &self.cards.cards[rank];
        match self.by {
            By::Summit => handle
                .gemm(compute, &product, &*a, of_b, &mut c)
                .map_err(|error| Error::usage(error.to_string(), "the emulator runs the same plan")),
            By::Vendor(vendors) => gathered::by_vendor(&vendors[rank], compute, &product, (&*a, of_b), &mut c),
        }
    }

    /// C, when all is done.
    ///
    /// # Errors
    /// As of [`Cards::finish`].
    pub fn product(&self) -> Result<Vec<u8>, Error> {
        self.cards.finish()?;
        let mut c = Vec::new();
        // Blocks are whole rows, one behind the other.
        for (number, matrices) in self.ranks.iter().enumerate() {
            let block = self.cards.cards[number].load.clone_dtoh(&matrices.c).map_err(failed("copying C"))?;
            c.extend_from_slice(&block[..crate::host::block_bytes(&self.plan.layout, number)]);
        }
        Ok(c)
    }
}

/// The product of a rank's rows with a panel of B, and the first byte of its part of C in the rank's block.
fn part(layout: &Layout, rank: usize, b: Panel) -> Result<(Product, usize), Error> {
    let [rows, columns] = layout.block(rank);
    let (types, of_b, k) = (Types::of(layout.element()), layout.range(b), layout.shape().k);
    let shape = Shape { m: rows.len() as u32, n: of_b.len() as u32, k };
    let product = Product::new(types, shape).with_leading([k as usize, shape.n as usize, columns.len()]);
    let product = product.map_err(|error| Error::usage(error.to_string(), "report this"))?;
    Ok((product, (of_b.start - columns.start) as usize * types.c.bytes()))
}
