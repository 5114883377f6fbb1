//! Runs a plan on GPUs of one host: a rank is a GPU, with a stream for products and one for copies.
//!
//! One thread of the host submits for all, in the order of [`mod@crate::order`]: so whatever waits for an event finds it recorded. Nothing is
//! waited for until all is submitted. The panels of one matrix travel: the grid has one column, and they are B's, or one row, and they are
//! A's. In the latter case each product is of whole rows of the rank's block of C, and needs no kernel for rows that lie apart.

mod contender;
mod gathered;
mod streaming;

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaEvent, CudaSlice, CudaStream, DriverError};
use device::peers::{Nccl, Received, Sent, contexts};
use device::vendor::Vendor;
use gemm::{Error, Shape};
use summit::{Handle, Product, Types};

pub use contender::{Contender, in_turns};
pub use gathered::Gathered;
pub use streaming::{Streamed, stream};

use crate::host;
use crate::layout::{Layout, Operand, Panel};
use crate::order::{Happened, order};
use crate::plan::{Command, Event, Parcel, Plan, Region, Stream};

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
    /// Whose panels travel.
    travels: Operand,
    order: Vec<Happened>,
    ranks: Vec<Matrices>,
    /// Each rank's own panel of the matrix that travels, which others copy.
    own: Vec<CudaSlice<u8>>,
    events: Vec<Vec<CudaEvent>>,
}

#[derive(Debug)]
struct Matrices {
    /// The panel of the matrix that does not travel.
    still: CudaSlice<u8>,
    /// For others' panels.
    rooms: Vec<(Region, CudaSlice<u8>)>,
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

    /// The summit's handle on one of them.
    pub fn handle(&self, rank: usize) -> &Handle {
        &self.cards[rank].handle
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
    /// [`Error::Usage`], where the plan has a fault, moves both matrices, or there are too few cards; where a card has no room.
    pub fn new(cards: &'a Cards, plan: Plan, by: By<'a>, a: &[u8], b: &[u8]) -> Result<Work<'a>, Error> {
        let order = order(&plan, None).map_err(|fault| Error::Fault(fault.to_string()))?;
        let layout = plan.layout;
        let travels = match layout.grid() {
            _ if layout.ranks() > cards.cards.len() => None,
            [_, 1] => Some(Operand::B),
            [1, _] => Some(Operand::A),
            _ => None,
        };
        let Some(travels) = travels else {
            let message = format!("{layout} on {} GPUs", cards.cards.len());
            return Err(Error::usage(
                message,
                "on GPUs a grid has one column or one row, and not more ranks than GPUs",
            ));
        };
        host::check(&layout, a, b).map_err(|fault| Error::Fault(fault.to_string()))?;
        let mut work = Work { cards, by, plan, travels, order, ranks: Vec::new(), own: Vec::new(), events: Vec::new() };
        (0..layout.ranks()).try_for_each(|rank| work.fill(rank, [a, b]))?;
        Ok(work)
    }

    /// One card's part.
    fn fill(&mut self, rank: usize, [a, b]: [&[u8]; 2]) -> Result<(), Error> {
        let (layout, card) = (self.plan.layout, &self.cards.cards[rank]);
        let copying = failed("copying the matrices");
        let upload =
            |bytes: &[u8]| card.load.clone_htod(if bytes.is_empty() { &[0][..] } else { bytes }).map_err(&copying);
        let [own_a, own_b] =
            [(Operand::A, a), (Operand::B, b)].map(|(of, matrix)| host::own(&layout, of, rank, matrix));
        let (still, own) = if self.travels == Operand::B { (own_a, own_b) } else { (own_b, own_a) };
        let commands = || self.plan.ranks[rank].streams.iter().flatten();
        let mut rooms = Vec::new();
        let arriving = commands().flat_map(|command| match command {
            Command::Copy { get, .. } => std::slice::from_ref(get),
            Command::Exchange { receives, .. } => receives.as_slice(),
            _ => &[],
        });
        for Parcel { region, .. } in arriving {
            if rooms.iter().all(|(room, _)| room != region) {
                // Panels differ by one row or column at most.
                let widest = layout.group(self.travels, rank).into_iter();
                let widest = widest.map(|owner| layout.bytes(Panel { of: self.travels, owner })).max().unwrap_or(1);
                rooms.push((*region, card.load.alloc_zeros::<u8>(widest.max(1) as usize).map_err(&copying)?));
            }
        }
        let recorded = commands().filter_map(|command| match command {
            Command::Record(event) => Some(event.number),
            _ => None,
        });
        let event = |_| card.handle.context().new_event(None).map_err(failed("making an event"));
        let events = (0..=recorded.max().unwrap_or_default()).map(event).collect::<Result<Vec<CudaEvent>, Error>>()?;
        let c = upload(&vec![0xff; host::block_bytes(&layout, rank)])?;
        self.ranks.push(Matrices { still: upload(&still)?, rooms, c });
        self.own.push(upload(&own)?);
        self.events.push(events);
        card.load.synchronize().map_err(copying)
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
                Command::Copy { get: Parcel { peer, region, bytes, .. }, .. } => {
                    let from = self.own[*peer].slice(..*bytes as usize);
                    let room = self.ranks[rank].rooms.iter_mut().find(|(room, _)| room == region);
                    let mut to = room.map(|(_, room)| room.slice_mut(..*bytes as usize)).ok_or_else(no_room)?;
                    on.memcpy_dtod(&from, &mut to).map_err(failed("copying a panel"))?;
                }
                // All of a group come to it one behind the other: the first submits for all.
                Command::Exchange { group, .. } if group.first() == Some(&rank) => self.exchange(at)?,
                Command::Multiply { rows, a, room, b } => match self.travels {
                    Operand::B => self.multiply(rank, Region::Room(*room), [a[0], *b])?,
                    Operand::A => {
                        let parts: Vec<(usize, Panel)> = rows.clone().zip(a.iter().copied()).collect();
                        let b = *b;
                        parts.into_iter().try_for_each(|(part, a)| self.multiply(rank, Region::Rows(part), [a, b]))?;
                    }
                },
                Command::Exchange { .. } | Command::Replace { .. } => (),
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
            for (room, to) in &mut matrices.rooms {
                let got = receives.iter().find(|got| got.region == *room);
                received.extend(got.map(|got| Received { rank, peer: got.peer, to, bytes: got.bytes as usize }));
            }
        }
        nccl.exchange(&self.cards.copying, &sent, &mut received)
    }

    /// The product of two panels, of which the one that travels lies in a region.
    fn multiply(&mut self, rank: usize, region: Region, [a, b]: [Panel; 2]) -> Result<(), Error> {
        let layout = self.plan.layout;
        if layout.bytes(a) == 0 || layout.bytes(b) == 0 {
            return Ok(());
        }
        let (product, at) = part(&layout, rank, [a, b])?;
        let Matrices { still, rooms, c } = &mut self.ranks[rank];
        let travelled = if self.travels == Operand::B { b } else { a };
        let room = rooms.iter().find(|(room, _)| *room == region).map(|(_, room)| room);
        let there = if travelled.owner == rank { &self.own[rank] } else { room.ok_or_else(no_room)? };
        let (of_a, of_b) = if self.travels == Operand::B { (&*still, there) } else { (there, &*still) };
        let mut c = c.slice_mut(at..);
        let Card { handle, compute, .. } = &self.cards.cards[rank];
        match self.by {
            By::Summit => handle
                .gemm(compute, &product, of_a, of_b, &mut c)
                .map_err(|error| Error::usage(error.to_string(), "the emulator runs the same plan")),
            By::Vendor(vendors) => gathered::by_vendor(&vendors[rank], compute, &product, (of_a, of_b), &mut c),
        }
    }

    /// C, when all is done.
    ///
    /// # Errors
    /// As of [`Cards::finish`].
    pub fn product(&self) -> Result<Vec<u8>, Error> {
        self.cards.finish()?;
        let ranks = self.ranks.iter().zip(&self.cards.cards);
        let blocks = ranks.map(|(rank, card)| card.load.clone_dtoh(&rank.c).map_err(failed("copying C")));
        let blocks = blocks.collect::<Result<Vec<Vec<u8>>, Error>>()?;
        Ok(host::collected(&self.plan.layout, &blocks.iter().map(Vec::as_slice).collect::<Vec<_>>()))
    }
}

fn no_room() -> Error {
    Error::usage("a panel has no room on its rank", "report this")
}

/// The product of two panels, and the first byte of its part of C in the rank's block.
fn part(layout: &Layout, rank: usize, panels: [Panel; 2]) -> Result<(Product, usize), Error> {
    let [rows, columns] = layout.block(rank);
    let [of_a, of_b] = panels.map(|panel| layout.range(panel));
    let (types, k) = (Types::of(layout.element()), layout.shape().k);
    let shape = Shape { m: of_a.len() as u32, n: of_b.len() as u32, k };
    let product = Product::new(types, shape).with_leading([k as usize, shape.n as usize, columns.len()]);
    let product = product.map_err(|error| Error::usage(error.to_string(), "report this"))?;
    let first = (of_a.start - rows.start) as usize * columns.len() + (of_b.start - columns.start) as usize;
    Ok((product, first * types.c.bytes()))
}
