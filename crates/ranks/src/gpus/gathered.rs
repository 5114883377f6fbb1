//! What ours is measured beside: B's rows over ranks, gathered by NCCL, then one product by cuBLAS on each card.

use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use device::vendor::Vendor;
use gemm::epilogue::Batch;
use gemm::{Element, Error, Shape};
use summit::{Product, Types};

use super::{Cards, failed};

/// The vendor's product, to be submitted again and again. Each rank has some rows of A and of B.
#[derive(Debug)]
pub struct Gathered<'a> {
    cards: &'a Cards,
    vendors: &'a [[Vendor<'a>; 2]],
    product: Product,
    ranks: Vec<Rank>,
}

#[derive(Debug)]
struct Rank {
    a: CudaSlice<u8>,
    own: CudaSlice<u8>,
    b: CudaSlice<u8>,
    c: CudaSlice<u8>,
    arrived: CudaEvent,
    read: CudaEvent,
}

impl<'a> Gathered<'a> {
    /// Puts matrices of the host on as many cards as there are of cuBLAS's.
    ///
    /// # Errors
    /// [`Error::Usage`], where rows do not go evenly over the ranks, there is no NCCL, or a card has no room.
    pub fn new(
        cards: &'a Cards,
        vendors: &'a [[Vendor<'a>; 2]],
        (shape, element): (Shape, Element),
        [a, b]: [&[u8]; 2],
    ) -> Result<Gathered<'a>, Error> {
        let count = vendors.len();
        if !(shape.m as usize).is_multiple_of(count) || !(shape.k as usize).is_multiple_of(count) {
            return Err(Error::usage(
                format!("M and K of {shape} are no multiples of {count}"),
                "NCCL gathers equal parts",
            ));
        }
        let product = Product::new(Types::of(element), Shape { m: shape.m / count as u32, ..shape });
        let mut ranks = Vec::new();
        for (rank, card) in cards.cards.iter().enumerate().take(count) {
            let piece = |matrix: &[u8]| {
                let bytes = matrix.len() / count;
                card.load.clone_htod(&matrix[rank * bytes..][..bytes]).map_err(failed("copying the matrices"))
            };
            let room = |bytes: u64| card.load.alloc_zeros::<u8>(bytes as usize).map_err(failed("copying the matrices"));
            let event = || card.handle.context().new_event(None).map_err(failed("making an event"));
            let [_, of_b, of_c] = product.bytes();
            let (arrived, read) = (event()?, event()?);
            ranks.push(Rank { a: piece(a)?, own: piece(b)?, b: room(of_b)?, c: room(of_c)?, arrived, read });
            card.load.synchronize().map_err(failed("copying the matrices"))?;
        }
        Ok(Gathered { cards, vendors, product, ranks })
    }

    /// Submits the gather and the products.
    ///
    /// # Errors
    /// What the driver, NCCL or cuBLAS answers.
    pub fn submit(&mut self) -> Result<(), Error> {
        let nccl = self.cards.nccl.as_ref().map_err(|why| Error::usage(why.clone(), "`copies` needs none"))?;
        let mut parts: Vec<_> = self.ranks.iter_mut().map(|rank| (&rank.own, &mut rank.b)).collect();
        nccl.all_gather(&self.cards.copying, &mut parts)?;
        for (number, rank) in self.ranks.iter_mut().enumerate() {
            let (compute, copying) = (&self.cards.cards[number].products[0], &self.cards.copying[number]);
            rank.arrived.record(copying).map_err(failed("recording an event"))?;
            compute.wait(&rank.arrived).map_err(failed("waiting for an event"))?;
            by_vendor(&self.vendors[number][0], compute, &self.product, (&rank.a, &rank.b), &mut rank.c)?;
            rank.read.record(compute).map_err(failed("recording an event"))?;
            copying.wait(&rank.read).map_err(failed("waiting for an event"))?;
        }
        Ok(())
    }

    /// C, when all is done.
    ///
    /// # Errors
    /// As of [`Cards::finish`].
    pub fn product(&self) -> Result<Vec<u8>, Error> {
        self.cards.finish()?;
        let mut c = Vec::new();
        for (rank, card) in self.ranks.iter().zip(&self.cards.cards) {
            c.extend(card.load.clone_dtoh(&rank.c).map_err(failed("copying C"))?);
        }
        Ok(c)
    }
}

impl Drop for Gathered<'_> {
    fn drop(&mut self) {
        // Its slices are in use until then.
        let _ = self.cards.finish();
    }
}

/// One product by cuBLAS.
pub(super) fn by_vendor(
    vendor: &Vendor,
    compute: &Arc<CudaStream>,
    product: &Product,
    (a, b): (&impl DevicePtr<u8>, &impl DevicePtr<u8>),
    c: &mut impl DevicePtrMut<u8>,
) -> Result<(), Error> {
    let dtype = product.types.dtype().ok_or_else(|| Error::usage("A and B are of two types", "report this"))?;
    // cuBLAS launches in the context that the thread has at the time.
    compute.context().bind_to_thread().map_err(failed("choosing a GPU"))?;
    vendor.gemm_of_bytes(compute, (dtype, product.shape, &product.form, &Batch::ONE), a, b, c)
}
