//! Runs a plan on GPUs of one host: a rank is a GPU, with two streams for products, which take turns, and one for copies.
//!
//! Products of a rank write different parts of C, so the next one need not wait until the one before has ended: its blocks begin on the SMs
//! that the last blocks of the other leave idle. All else is in the order of the plan: what is marked or waited for is so for both streams.
//!
//! One thread of the host submits for all, in the order of [`mod@crate::order`]: so whatever waits for an event finds it recorded. Nothing is
//! waited for until all is submitted. The panels of one matrix travel: the grid has one column, and they are B's, or one row, and they are
//! A's. In the latter case each product is of whole rows of the rank's block of C, and needs no kernel for rows that lie apart.

mod contender;
mod gathered;
mod held;
pub mod member;
mod streaming;

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::{CudaEvent, CudaStream, DriverError};
use device::peers::{Nccl, Received, Sent, contexts, copy};
use device::vendor::Vendor;
use gemm::Error;
use summit::Handle;

use contender::Gates;
pub use contender::{Contender, in_turns};
pub use gathered::Gathered;
use held::Held;
pub use streaming::{Streamed, stream};

use crate::host;
use crate::model::Span;
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
#[derive(Debug, Clone)]
pub(crate) struct Card {
    pub handle: Arc<Handle>,
    /// For products, which take turns.
    pub products: [Arc<CudaStream>; 2],
    /// On which matrices are allocated, and nothing else happens.
    pub load: Arc<CudaStream>,
}

/// What multiplies on each card.
#[derive(Debug, Clone, Copy)]
pub enum By<'a> {
    /// The summit's kernels.
    Summit,
    /// cuBLAS, one for each of a card's two streams.
    Vendor(&'a [[Vendor<'a>; 2]]),
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
            cards.push(Card { handle: Arc::new(handle), products: [stream()?, stream()?], load: stream()? });
        }
        let nccl = Nccl::find(&copying);
        Ok(Cards { cards, nccl, copying })
    }

    /// The summit's handle on one of them.
    pub fn handle(&self, rank: usize) -> &Handle {
        &self.cards[rank].handle
    }

    /// One of them alone, on the same streams.
    pub fn only(&self, rank: usize) -> Cards {
        let nccl = Err("one GPU alone has nobody to send to".to_string());
        Cards { cards: vec![self.cards[rank].clone()], nccl, copying: vec![self.copying[rank].clone()] }
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
    pub fn vendors(&self) -> Result<Vec<[Vendor<'_>; 2]>, String> {
        fn vendor(card: &Card, stream: usize) -> Result<Vendor<'_>, String> {
            Vendor::on(card.handle.gpu(), &card.products[stream])
        }
        self.cards.iter().map(|card| Ok([vendor(card, 0)?, vendor(card, 1)?])).collect()
    }

    /// A card's stream for copies, and those for products. What comes first to a card has its SMs first: a collective that is let go behind a
    /// product may wait until that one ends.
    fn streams(&self, rank: usize) -> (&Arc<CudaStream>, &[Arc<CudaStream>; 2]) {
        (&self.copying[rank], &self.cards[rank].products)
    }

    fn lost(rank: usize) -> Error {
        let seconds = LIMIT.as_secs();
        Error::Fault(format!("rank {rank} is lost: its GPU has not answered for {seconds} s"))
    }

    /// Waits until all that was submitted is done.
    ///
    /// # Errors
    /// [`Error::Fault`], where a card takes longer than a minute, or has failed.
    pub fn finish(&self) -> Result<(), Error> {
        let began = Instant::now();
        for (rank, (card, copying)) in self.cards.iter().zip(&self.copying).enumerate() {
            for stream in card.products.iter().chain([copying]) {
                let end = stream.record_event(None).map_err(failed("asking a card"))?;
                while !end.try_is_complete().map_err(failed("running a product over ranks"))? {
                    if began.elapsed() > LIMIT {
                        return Err(Cards::lost(rank));
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
        self.ranks.iter_mut().for_each(Held::begin);
        (0..self.order.len()).try_for_each(|at| self.command(at))
    }

    /// Submits these ranks' products alone, of the panels that the last whole product has left in the rooms.
    ///
    /// # Errors
    /// As of [`Work::submit`].
    pub fn products(&mut self, ranks: Range<usize>) -> Result<(), Error> {
        self.ranks.iter_mut().for_each(Held::begin);
        for at in 0..self.order.len() {
            let Happened { rank, stream, command } = self.order[at];
            let is_product = matches!(self.plan.ranks[rank].streams[stream][command], Command::Multiply { .. });
            if is_product && ranks.contains(&rank) {
                self.command(at)?;
            }
        }
        Ok(())
    }

    /// Runs the product once, with all submitted before it starts: by rank, when each transfer and product was, in seconds from the
    /// moment at which its card was let go. Each is between two events, which cost time of their own.
    ///
    /// # Errors
    /// As of [`Work::submit`] and [`Cards::finish`].
    pub fn traced(&mut self) -> Result<Vec<Vec<Span>>, Error> {
        let timing = failed("timing");
        let mark = |stream: &Arc<CudaStream>| stream.record_event(Some(CU_EVENT_DEFAULT)).map_err(&timing);
        let mut gates = Gates::new(self.cards)?;
        gates.close()?;
        let starts = (0..self.cards.cards.len()).map(|rank| mark(self.cards.streams(rank).0));
        let starts = starts.collect::<Result<Vec<CudaEvent>, Error>>()?;
        let mut marks = Vec::new();
        self.ranks.iter_mut().for_each(Held::begin);
        for at in 0..self.order.len() {
            let all = self.order[at..].iter().take(self.together(at)).copied();
            let begun = all.map(|happened| Ok((happened, mark(self.stream(&happened, true))?)));
            let begun = begun.collect::<Result<Vec<_>, Error>>()?;
            self.command(at)?;
            for (happened, start) in begun {
                if happened.stream == Stream::Compute as usize {
                    // One command may be two products.
                    self.ranks[happened.rank].join(&self.cards.cards[happened.rank]).map_err(&timing)?;
                }
                marks.push((happened, start, mark(self.stream(&happened, false))?));
            }
        }
        gates.open();
        self.cards.finish()?;
        let mut spans = vec![Vec::new(); self.ranks.len()];
        for (Happened { rank, stream, command }, start, end) in marks {
            let seconds = |event| starts[rank].elapsed_ms(event).map(|ms| f64::from(ms) * 1e-3).map_err(&timing);
            spans[rank].push(Span { stream, command, start: seconds(&start)?, end: seconds(&end)? });
        }
        Ok(spans)
    }

    /// Of how many ranks a transfer or a product is submitted with the command at this place of the order; 0, where it is neither.
    fn together(&self, at: usize) -> usize {
        let Happened { rank, stream, command } = self.order[at];
        match &self.plan.ranks[rank].streams[stream][command] {
            Command::Exchange { group, .. } if group.first() == Some(&rank) => group.len(),
            Command::Copy { .. } | Command::Multiply { .. } => 1,
            _ => 0,
        }
    }

    /// The stream of a command that comes next, or of one that has just been submitted.
    fn stream(&self, Happened { rank, stream, .. }: &Happened, is_next: bool) -> &Arc<CudaStream> {
        match *stream == Stream::Copy as usize {
            true => &self.cards.copying[*rank],
            false => self.ranks[*rank].stream(&self.cards.cards[*rank], is_next),
        }
    }

    /// Submits the command at one place of the order.
    fn command(&mut self, at: usize) -> Result<(), Error> {
        let Happened { rank, stream, command } = self.order[at];
        let (card, copying) = (&self.cards.cards[rank], &self.cards.copying[rank]);
        let is_transfer = stream == Stream::Copy as usize;
        match &self.plan.ranks[rank].streams[stream][command] {
            Command::Record(Event { number, .. }) => {
                let held = &self.ranks[rank];
                let recorded =
                    if is_transfer { held.events[*number].record(copying) } else { held.record(card, *number) };
                recorded.map_err(failed("recording an event"))?;
            }
            Command::Wait(event) => {
                let event = &self.ranks[event.rank].events[event.number];
                let waits = if is_transfer { copying.wait(event) } else { card.wait(event) };
                waits.map_err(failed("waiting for an event"))?;
            }
            Command::Copy { get: Parcel { peer, region, bytes, panel }, .. } => {
                let from = self.plan.layout.before(*panel) as usize;
                let both = self.ranks.get_disjoint_mut([*peer, rank]).map_err(|_| no_room())?;
                let [Held { own, .. }, Held { rooms, .. }] = both;
                let (_, to) = rooms.iter_mut().find(|(room, _)| room == region).ok_or_else(no_room)?;
                copy(copying, to, (own, from), *bytes as usize).map_err(failed("copying a panel"))?;
            }
            // All of a group come to it one behind the other: the first submits for all.
            Command::Exchange { group, .. } if group.first() == Some(&rank) => self.exchange(at)?,
            Command::Multiply { rows, a, room, b } => {
                self.ranks[rank].multiply(card, self.by, (rows, a), (*room, *b))?;
            }
            Command::Exchange { .. } | Command::Replace { .. } => (),
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

impl Drop for Work<'_> {
    fn drop(&mut self) {
        // Its slices are in use until then. What has failed by then has been said.
        let _ = self.cards.finish();
    }
}

impl Card {
    /// Lets all products from now on wait for an event.
    fn wait(&self, event: &CudaEvent) -> Result<(), DriverError> {
        self.products.iter().try_for_each(|stream| stream.wait(event))
    }
}

fn no_room() -> Error {
    Error::usage("a panel has no room on its rank", "report this")
}

/// Parcels with something in them.
fn filled(parcels: &[Parcel]) -> Vec<Parcel> {
    parcels.iter().filter(|parcel| parcel.bytes > 0).copied().collect()
}
