//! Runs a plan without a GPU: each rank is an emulated device with memory of its own, and commands happen in the order of [`mod@crate::order`].

use std::ops::Range;

use emulator::{Buffer, Device, DeviceError};
use gemm::Shape;
use summit::{Beside, Emulated, Product, Types};

use crate::fault::Fault;
use crate::host::{block_bytes, bytes, check, collected, own};
use crate::layout::{Layout, Operand, Panel};
use crate::order::{Happened, Lost, order};
use crate::plan::{Command, Parcel, Plan, Region};
use crate::volume;

/// What multiplies on a rank: a product, A, B and C of it as bytes.
pub type Multiply<'a> = dyn Fn(&Product, &[u8], &[u8], &mut [u8]) -> Result<(), summit::Error> + 'a;

/// Computes C of matrices of the host, by the summit's kernels on the emulator. A is M × K, B K × N, C M × N, row-major and without padding.
///
/// # Errors
/// [`Fault`], where the plan has one, a rank is lost, or the emulator finds one in a kernel.
pub fn run(plan: &Plan, a: &[u8], b: &[u8], lost: Option<Lost>) -> Result<Vec<u8>, Fault> {
    let emulated = Emulated::new();
    run_with(plan, a, b, lost, &|product, a, b, c| emulated.gemm(product, a, b, c, Beside::default()))
}

/// The same by other products.
///
/// # Errors
/// As of [`run`].
pub fn run_with(plan: &Plan, a: &[u8], b: &[u8], lost: Option<Lost>, multiply: &Multiply) -> Result<Vec<u8>, Fault> {
    check(&plan.layout, a, b)?;
    let order = order(plan, lost)?;
    let filled = |(number, rank): (usize, &crate::plan::Rank)| Rank::new(&plan.layout, number, rank.rooms, a, b);
    let mut ranks = plan.ranks.iter().enumerate().map(filled).collect::<Result<Vec<Rank>, Fault>>()?;
    for Happened { rank, stream, command } in order {
        match &plan.ranks[rank].streams[stream][command] {
            Command::Copy { get, .. } => deliver(&plan.layout, &mut ranks, rank, get)?,
            Command::Exchange { receives, .. } => {
                receives.iter().try_for_each(|got| deliver(&plan.layout, &mut ranks, rank, got))?;
            }
            Command::Multiply { a, rows, room, b } => {
                ranks[rank].multiply(&plan.layout, (a, rows), (*room, *b), multiply)?
            }
            Command::Replace { .. } | Command::Record(_) | Command::Wait(_) => (),
        }
    }
    let blocks: Vec<&[u8]> = ranks.iter().map(|rank| rank.c.as_slice()).collect();
    Ok(collected(&plan.layout, &blocks))
}

/// What brings panels to a rank of a process of its own: a step, what it sends to whom, and what it gets from whom, with room for it.
pub type Exchange<'a> = dyn FnMut(usize, &[(usize, Vec<u8>)], &mut [(usize, Vec<u8>)]) -> Result<(), Fault> + 'a;

/// One rank's block of C, where each rank is a process of its own. Without collectives a rank would have to read another's memory.
///
/// # Errors
/// As of [`run`]; [`Fault::Rank`], where the plan is of copies.
pub fn run_rank(plan: &Plan, rank: usize, [a, b]: [&[u8]; 2], exchange: &mut Exchange) -> Result<Vec<u8>, Fault> {
    let (layout, emulated) = (&plan.layout, Emulated::new());
    check(layout, a, b)?;
    let order = order(plan, None)?;
    let mut own = Rank::new(layout, rank, plan.ranks[rank].rooms, a, b)?;
    for Happened { stream, command, .. } in order.into_iter().filter(|happened| happened.rank == rank) {
        match &plan.ranks[rank].streams[stream][command] {
            Command::Copy { .. } => {
                let why = "no copy reads another process's memory\nhint: use a variant of collectives".to_string();
                return Err(Fault::Rank { rank, why });
            }
            Command::Exchange { step, sends, receives, .. } => {
                let sends = sends.iter().map(|sent| Ok((sent.peer, own.read(layout, sent)?)));
                let sends = sends.collect::<Result<Vec<_>, Fault>>()?;
                let mut got: Vec<_> = receives.iter().map(|got| (got.peer, vec![0; got.bytes as usize])).collect();
                exchange(*step, &sends, &mut got)?;
                receives.iter().zip(&got).try_for_each(|(parcel, (_, bytes))| own.write(layout, parcel, bytes))?;
            }
            Command::Multiply { a, rows, room, b } => {
                let multiply = |product: &Product, a: &[u8], b: &[u8], c: &mut [u8]| {
                    emulated.gemm(product, a, b, c, Beside::default())
                };
                own.multiply(layout, (a, rows), (*room, *b), &multiply)?;
            }
            Command::Replace { .. } | Command::Record(_) | Command::Wait(_) => (),
        }
    }
    Ok(own.c)
}

/// A rank's memory.
struct Rank {
    number: usize,
    device: Device,
    /// Its rows of A, part by part.
    a: Buffer,
    /// Rooms for panels of B.
    rooms: Vec<Buffer>,
    /// Its block of C.
    c: Vec<u8>,
}

impl Rank {
    /// A rank with its own panels, and nothing else.
    fn new(layout: &Layout, number: usize, rooms: usize, a: &[u8], b: &[u8]) -> Result<Rank, Fault> {
        let faulty = |error| failed(number, error);
        let mut device = Device::new();
        let [rows, _] = layout.block(number);
        let row = layout.shape().k as usize * layout.element().bytes();
        let on_a = device.alloc("A", rows.len() * row);
        let rooms: Vec<Buffer> = (0..rooms)
            .map(|room| device.alloc(&Region::Room(room).to_string(), volume::widest(layout, number) as usize))
            .collect();
        let behind = (layout.whole(Operand::A, number).start - rows.start) as usize * row;
        device.write_at(on_a, behind, &own(layout, Operand::A, number, a)).map_err(faulty)?;
        for (panel, &room) in layout.held(Operand::B, number).zip(&rooms) {
            device.write(room, &bytes(layout, panel, b)).map_err(faulty)?;
        }
        Ok(Rank { number, device, a: on_a, rooms, c: vec![0xff; block_bytes(layout, number)] })
    }

    /// Where a panel lies: a buffer, and its first byte there.
    fn place(&self, layout: &Layout, region: Region, panel: Panel) -> (Buffer, usize) {
        match region {
            Region::Room(room) => (self.rooms[room], 0),
            Region::Rows(_) => {
                let behind = layout.range(panel).start - layout.block(self.number)[0].start;
                (self.a, behind as usize * layout.shape().k as usize * layout.element().bytes())
            }
        }
    }

    /// A panel, from where it lies.
    fn read(&self, layout: &Layout, parcel: &Parcel) -> Result<Vec<u8>, Fault> {
        let mut bytes = vec![0; parcel.bytes as usize];
        let (buffer, at) = self.place(layout, parcel.region, parcel.panel);
        self.device.read_at(buffer, at, &mut bytes).map_err(|error| failed(self.number, error))?;
        Ok(bytes)
    }

    /// A panel, to where it is to lie.
    fn write(&mut self, layout: &Layout, parcel: &Parcel, bytes: &[u8]) -> Result<(), Fault> {
        let (buffer, at) = self.place(layout, parcel.region, parcel.panel);
        self.device.write_at(buffer, at, bytes).map_err(|error| failed(self.number, error))
    }

    /// A finished part of C.
    fn multiply(
        &mut self,
        layout: &Layout,
        (panels, parts): (&[Panel], &Range<usize>),
        (room, b): (usize, Panel),
        multiply: &Multiply,
    ) -> Result<(), Fault> {
        let (types, k) = (Types::of(layout.element()), layout.shape().k);
        let [rows, columns] = layout.block(self.number);
        let covered = layout.range(panels[0]).start..layout.range(panels[panels.len() - 1]).end;
        let of_b = layout.range(b);
        let shape = Shape { m: covered.end - covered.start, n: of_b.end - of_b.start, k };
        let leading = [k as usize, shape.n as usize, columns.len()];
        let told = |error: summit::Error| Fault::Rank { rank: self.number, why: error.to_string() };
        let product = Product::new(types, shape).with_leading(leading).map_err(told)?;
        let [a, b] =
            [(Region::Rows(parts.start), panels[0], product.bytes()[0]), (Region::Room(room), b, product.bytes()[1])]
                .map(|(region, panel, bytes)| {
                    let (buffer, at) = self.place(layout, region, panel);
                    let mut read = vec![0; bytes as usize];
                    self.device
                        .read_at(buffer, at, &mut read)
                        .map(|()| read)
                        .map_err(|error| failed(self.number, error))
                });
        let first = (covered.start - rows.start) as usize * columns.len() + (of_b.start - columns.start) as usize;
        let at = first * types.c.bytes();
        multiply(&product, &a?, &b?, &mut self.c[at..at + product.bytes()[2] as usize]).map_err(told)
    }
}

fn failed(rank: usize, error: DeviceError) -> Fault {
    Fault::Rank { rank, why: error.to_string() }
}

/// A panel from the rank that holds it to another.
fn deliver(layout: &Layout, ranks: &mut [Rank], to: usize, got: &Parcel) -> Result<(), Fault> {
    let home = Parcel { region: Region::home(layout, got.panel), ..*got };
    let bytes = ranks[got.peer].read(layout, &home)?;
    ranks[to].write(layout, got, &bytes)
}
