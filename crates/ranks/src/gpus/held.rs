//! What a GPU holds of a product over ranks, and its products.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaSlice, CudaStream, DriverError};
use gemm::{Error, Shape};
use summit::{Product, Types};

use super::gathered::by_vendor;
use super::{By, Card, failed, no_room};
use crate::host;
use crate::layout::{Layout, Operand, Panel};
use crate::plan::{Command, Parcel, Plan, Region};

/// A rank's matrices on its GPU, and its events.
#[derive(Debug)]
pub(super) struct Held {
    layout: Layout,
    rank: usize,
    /// Whose panels travel.
    travels: Operand,
    /// The panel of the matrix that does not travel.
    still: CudaSlice<u8>,
    /// The panels of the other one, which others get.
    pub own: CudaSlice<u8>,
    /// For others' panels.
    pub rooms: Vec<(Region, CudaSlice<u8>)>,
    pub c: CudaSlice<u8>,
    pub events: Vec<CudaEvent>,
    /// Of the stream that has not the last product.
    other: CudaEvent,
    /// Products so far: they take turns on two streams.
    turn: usize,
}

impl Held {
    /// One card's part of matrices of the host, with C full of NaN.
    pub fn new(card: &Card, plan: &Plan, rank: usize, [a, b]: [&[u8]; 2]) -> Result<Held, Error> {
        let layout = plan.layout;
        let travels = match layout.grid() {
            [_, 1] => Operand::B,
            [1, _] => Operand::A,
            _ => return Err(Error::usage(layout.to_string(), "on GPUs a grid has one column or one row")),
        };
        let copying = failed("copying the matrices");
        let upload =
            |bytes: &[u8]| card.load.clone_htod(if bytes.is_empty() { &[0][..] } else { bytes }).map_err(&copying);
        let [own_a, own_b] =
            [(Operand::A, a), (Operand::B, b)].map(|(of, matrix)| host::own(&layout, of, rank, matrix));
        let (still, own) = if travels == Operand::B { (own_a, own_b) } else { (own_b, own_a) };
        let commands = || plan.ranks[rank].streams.iter().flatten();
        let mut rooms = Vec::new();
        let arriving = commands().flat_map(|command| match command {
            Command::Copy { get, .. } => std::slice::from_ref(get),
            Command::Exchange { receives, .. } => receives.as_slice(),
            _ => &[],
        });
        for Parcel { region, .. } in arriving {
            if rooms.iter().all(|(room, _)| room != region) {
                // Panels differ by one row or column at most.
                let panels = layout.group(travels, rank).into_iter().flat_map(|owner| layout.held(travels, owner));
                let widest = panels.map(|panel| layout.bytes(panel)).max().unwrap_or(1);
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
        let (still, own, other) = (upload(&still)?, upload(&own)?, event(0)?);
        let held = Held { layout, rank, travels, still, own, rooms, c, events, other, turn: 0 };
        card.load.synchronize().map_err(copying)?;
        Ok(held)
    }

    /// Another run: its products come to the same streams, for which their kernels are loaded.
    pub fn begin(&mut self) {
        self.turn = 0;
    }

    /// The stream of the next product, or of the last one.
    pub fn stream<'a>(&self, card: &'a Card, is_next: bool) -> &'a Arc<CudaStream> {
        &card.products[(self.turn + usize::from(!is_next)) % 2]
    }

    /// Lets what follows on the last product's stream wait for all products so far.
    pub fn join(&self, card: &Card) -> Result<(), DriverError> {
        self.other.record(self.stream(card, true))?;
        self.stream(card, false).wait(&self.other)
    }

    /// Marks that all products so far have ended.
    pub fn record(&self, card: &Card, number: usize) -> Result<(), DriverError> {
        self.join(card)?;
        self.events[number].record(self.stream(card, false))
    }

    /// Parts of A with a panel of B: finished parts of C.
    pub fn multiply(
        &mut self,
        card: &Card,
        by: By,
        (rows, a): (&Range<usize>, &[Panel]),
        (room, b): (usize, Panel),
    ) -> Result<(), Error> {
        match self.travels {
            Operand::B => self.product(card, by, Region::Room(room), (a, b)),
            // The rank's own lie one behind the other, and are one product; each of the others lies somewhere else.
            Operand::A if a.iter().all(|a| a.owner == self.rank) => {
                self.product(card, by, Region::Rows(rows.start), (a, b))
            }
            Operand::A => {
                let mut parts = rows.clone().zip(a.chunks(1));
                parts.try_for_each(|(part, a)| self.product(card, by, Region::Rows(part), (a, b)))
            }
        }
    }

    /// The product of panels of A that lie one behind the other and one of B; of the matrix that travels they lie in a region.
    fn product(&mut self, card: &Card, by: By, region: Region, (a, b): (&[Panel], Panel)) -> Result<(), Error> {
        if a.iter().all(|&a| self.layout.bytes(a) == 0) || self.layout.bytes(b) == 0 {
            return Ok(());
        }
        let (product, at) = part(&self.layout, self.rank, (a, b))?;
        let turn = self.turn % 2;
        self.turn += 1;
        let Held { still, own, rooms, c, .. } = self;
        let travelled = if self.travels == Operand::B { b } else { a[0] };
        let room = rooms.iter().find(|(room, _)| *room == region).map(|(_, room)| room);
        let there = match travelled.owner == self.rank {
            true => own.slice(self.layout.before(travelled) as usize..),
            false => room.ok_or_else(no_room)?.slice(..),
        };
        let still = still.slice(..);
        let (of_a, of_b) = if self.travels == Operand::B { (&still, &there) } else { (&there, &still) };
        let mut c = c.slice_mut(at..);
        match by {
            By::Summit => card
                .handle
                .gemm::<u8, u8, u8>(&card.products[turn], &product, of_a, of_b, &mut c)
                .map_err(|error| Error::usage(error.to_string(), "the emulator runs the same plan")),
            By::Vendor(vendors) => {
                by_vendor(&vendors[self.rank][turn], &card.products[turn], &product, (of_a, of_b), &mut c)
            }
        }
    }
}

/// The product of panels, and the first byte of its part of C in the rank's block.
fn part(layout: &Layout, rank: usize, (a, b): (&[Panel], Panel)) -> Result<(Product, usize), Error> {
    let [rows, columns] = layout.block(rank);
    let (of_a, of_b) = (layout.range(a[0]).start..layout.range(a[a.len() - 1]).end, layout.range(b));
    let (types, k) = (Types::of(layout.element()), layout.shape().k);
    let shape = Shape { m: of_a.len() as u32, n: of_b.len() as u32, k };
    let product = Product::new(types, shape).with_leading([k as usize, shape.n as usize, columns.len()]);
    let product = product.map_err(|error| Error::usage(error.to_string(), "report this"))?;
    let first = (of_a.start - rows.start) as usize * columns.len() + (of_b.start - columns.start) as usize;
    Ok((product, first * types.c.bytes()))
}
