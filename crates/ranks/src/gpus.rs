//! Runs a plan on GPUs of one host: a rank is a GPU, with a stream for products and one for copies.
//!
//! One thread of the host submits for all, in the order of [`mod@crate::order`]: so whatever waits for an event finds it recorded. Nothing is
//! waited for until all is submitted. The panels of one matrix travel: the grid has one column, and they are B's, or one row, and they are
//! A's. In the latter case each product is of whole rows of the rank's block of C, and needs no kernel for rows that lie apart.

mod contender;
mod gathered;
mod held;
pub mod member;
mod streaming;

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaStream, DriverError};
use device::peers::{Nccl, Received, Sent, contexts};
use device::vendor::Vendor;
use gemm::Error;
use summit::Handle;

pub use contender::{Contender, in_turns};
pub use gathered::Gathered;
use held::Held;
pub use streaming::{Streamed, stream};

use crate::host;
use crate::order::{Happened, order};
use crate::plan::{Command, Event, Parcel, Plan, Stream};

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
    ranks: Vec<Held>,
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
        if layout.ranks() > cards.cards.len() {
            let message = format!("{layout} on {} GPUs", cards.cards.len());
            return Err(Error::usage(message, "on GPUs a grid has no more ranks than there are GPUs"));
        }
        host::check(&layout, a, b).map_err(|fault| Error::Fault(fault.to_string()))?;
        let held = (0..layout.ranks()).map(|rank| Held::new(&cards.cards[rank], &plan, rank, [a, b]));
        let ranks = held.collect::<Result<Vec<Held>, Error>>()?;
        Ok(Work { cards, by, plan, order, ranks })
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
                    self.ranks[rank].events[*number].record(on).map_err(failed("recording an event"))?;
                }
                Command::Wait(event) => {
                    on.wait(&self.ranks[event.rank].events[event.number]).map_err(failed("waiting for an event"))?;
                }
                Command::Copy { get: Parcel { peer, region, bytes, .. }, .. } => {
                    let both = self.ranks.get_disjoint_mut([*peer, rank]).map_err(|_| no_room())?;
                    let [Held { own, .. }, Held { rooms, .. }] = both;
                    let room = rooms.iter_mut().find(|(room, _)| room == region);
                    let mut to = room.map(|(_, room)| room.slice_mut(..*bytes as usize)).ok_or_else(no_room)?;
                    on.memcpy_dtod(&own.slice(..*bytes as usize), &mut to).map_err(failed("copying a panel"))?;
                }
                // All of a group come to it one behind the other: the first submits for all.
                Command::Exchange { group, .. } if group.first() == Some(&rank) => self.exchange(at)?,
                Command::Multiply { rows, a, room, b } => {
                    let card = &self.cards.cards[rank];
                    self.ranks[rank].multiply(card, self.by, (rows, a), (*room, *b))?;
                }
                Command::Exchange { .. } | Command::Replace { .. } => (),
            }
        }
        Ok(())
    }

    /// A collective of all ranks, of which the first is at this place of the order.
    fn exchange(&mut self, at: usize) -> Result<(), Error> {
        let nccl = self.cards.nccl.as_ref().map_err(|why| Error::usage(why.clone(), "`copies` needs none"))?;
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        for (rank, Held { own, rooms, .. }) in self.ranks.iter_mut().enumerate() {
            let happened = &self.order[at + rank];
            let command = &self.plan.ranks[rank].streams[happened.stream][happened.command];
            let Command::Exchange { sends, receives, .. } = command else { continue };
            let own = &*own;
            for Parcel { peer, bytes, .. } in filled(sends) {
                sent.push(Sent { rank, peer, from: own, bytes: bytes as usize });
            }
            let receives = filled(receives);
            for (room, to) in rooms {
                let got = receives.iter().find(|got| got.region == *room);
                received.extend(got.map(|got| Received { rank, peer: got.peer, to, bytes: got.bytes as usize }));
            }
        }
        nccl.exchange(&self.cards.copying, &sent, &mut received)
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

/// Parcels with something in them.
fn filled(parcels: &[Parcel]) -> Vec<Parcel> {
    parcels.iter().filter(|parcel| parcel.bytes > 0).copied().collect()
}
