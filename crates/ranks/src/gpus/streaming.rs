//! Runs a [`Cut`] on a card: panels come from pinned memory of the host, and parts of C go back there, beside the products.

use std::collections::VecDeque;
use std::time::Instant;

use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::{CudaEvent, CudaSlice};
use device::pinned::Pinned;
use gemm::Error;
use summit::{Handle, Product};

use super::{LIMIT, failed};
use crate::streamed::{Cut, Part};

/// What was seen of a streamed product.
#[derive(Debug, Clone, Copy)]
pub struct Streamed {
    /// Seconds in which the host's memory was pinned, before all else.
    pub pinning: f64,
    /// Seconds from the first copy to the last.
    pub seconds: f64,
    /// Seconds in which a product ran.
    pub multiplying: f64,
    /// Seconds of the first panel of A, copied alone: its bytes by these are the link's rate.
    pub alone: f64,
    /// Bytes of that panel.
    pub alone_bytes: u64,
}

/// Multiplies A, B and C of the host, row-major and without padding. The matrices come back in any case, C with what had been written by
/// then. `told` hears after each part how many are done, of how many.
///
/// # Errors
/// What the driver answers, also where the host's memory cannot be pinned; [`Error::Fault`], where a part takes longer than a minute.
pub fn stream(
    handle: &Handle,
    cut: &Cut,
    matrices: [Vec<u8>; 3],
    told: &mut dyn FnMut(usize, usize),
) -> ([Vec<u8>; 3], Result<Streamed, Error>) {
    let began = Instant::now();
    let (mut pinned, mut left) = (Vec::new(), VecDeque::from(matrices));
    let mut refused = None;
    while let (Some(matrix), None) = (left.pop_front(), &refused) {
        match Pinned::new(handle.context(), matrix) {
            Ok(matrix) => pinned.push(matrix),
            Err((error, matrix)) => {
                left.push_front(matrix);
                refused = Some(device::cuda::failed("pinning the host's memory", error));
                break;
            }
        }
    }
    let pinning = began.elapsed().as_secs_f64();
    let ran = match (refused, pinned.as_mut_slice()) {
        (None, [a, b, c]) => run(handle, cut, [a, b, c], told).map(|streamed| Streamed { pinning, ..streamed }),
        (refused, _) => Err(refused.unwrap_or_else(|| Error::usage("three matrices are needed", "report this"))),
    };
    let mut back: Vec<Vec<u8>> = Vec::new();
    let mut ended = Ok(());
    for matrix in pinned {
        match matrix.release() {
            Ok(matrix) => back.push(matrix),
            Err(error) => {
                back.push(Vec::new());
                ended = Err(error);
            }
        }
    }
    back.extend(left);
    let mut back = back.into_iter();
    let matrices = std::array::from_fn(|_| back.next().unwrap_or_default());
    (matrices, ended.and(ran))
}

/// All parts, each submitted when there is room for it.
fn run(
    handle: &Handle,
    cut: &Cut,
    [a, b, c]: [&mut Pinned; 3],
    told: &mut dyn FnMut(usize, usize),
) -> Result<Streamed, Error> {
    let context = handle.context();
    let stream = || context.new_stream().map_err(failed("making a stream"));
    let (up, compute, down) = (stream()?, stream()?, stream()?);
    let room = |bytes: u64| up.alloc_zeros::<u8>(bytes as usize).map_err(failed("making room on the card"));
    let rooms = cut.rooms().map(|(rooms, bytes)| (0..rooms).map(|_| room(bytes)).collect::<Result<Vec<_>, Error>>());
    let [mut on_a, mut on_b, mut on_c]: [Vec<CudaSlice<u8>>; 3] = {
        let [a, b, c] = rooms;
        [a?, b?, c?]
    };
    let parts = cut.parts();
    let product = |part: &Part| Product::new(cut.types(), part.shape);
    let refused = |error: summit::Error| Error::usage(error.to_string(), "make the parts smaller");
    // Once for each shape, of what lies there: kernels are loaded before the time begins.
    let mut seen = Vec::new();
    for part in &parts {
        if seen.contains(&part.shape) {
            continue;
        }
        seen.push(part.shape);
        handle.gemm(&compute, &product(part), &on_a[0], &on_b[0], &mut on_c[0]).map_err(refused)?;
    }
    context.synchronize().map_err(failed("making room on the card"))?;
    // The first panel alone, twice: the first copy of a program takes longer.
    let mut alone = 0.0;
    for _ in 0..2 {
        let began = Instant::now();
        a.upload(&up, parts[0].windows[0], &mut on_a[0])?;
        up.synchronize().map_err(failed("copying a panel"))?;
        alone = began.elapsed().as_secs_f64();
    }
    let began = Instant::now();
    let mark = |stream: &std::sync::Arc<cudarc::driver::CudaStream>| {
        stream.record_event(Some(CU_EVENT_DEFAULT)).map_err(failed("timing"))
    };
    let (mut products, mut sent): (Vec<[CudaEvent; 2]>, VecDeque<CudaEvent>) = (Vec::new(), VecDeque::new());
    for (number, part) in parts.iter().enumerate() {
        if sent.len() > crate::streamed::ROOMS {
            wait_for(sent.pop_front())?;
            told(number - sent.len(), parts.len());
        }
        let [of_a, of_b, of_c] = part.rooms;
        if part.brings_b {
            b.upload(&up, part.windows[1], &mut on_b[of_b])?;
        }
        a.upload(&up, part.windows[0], &mut on_a[of_a])?;
        // What has been sent from C's room is waited for by the slice itself; here, so that it is no part of the product's time.
        compute.wait(&mark(&up)?).map_err(failed("waiting for a panel"))?;
        if sent.len() >= crate::streamed::ROOMS {
            compute.wait(&sent[sent.len() - crate::streamed::ROOMS]).map_err(failed("waiting for C's room"))?;
        }
        let start = mark(&compute)?;
        handle.gemm(&compute, &product(part), &on_a[of_a], &on_b[of_b], &mut on_c[of_c]).map_err(refused)?;
        products.push([start, mark(&compute)?]);
        c.download(&down, &on_c[of_c], part.windows[2])?;
        sent.push_back(mark(&down)?);
    }
    while let Some(event) = sent.pop_front() {
        wait_for(Some(event))?;
        told(parts.len() - sent.len(), parts.len());
    }
    let seconds = began.elapsed().as_secs_f64();
    let mut multiplying = 0.0;
    for [start, end] in &products {
        multiplying += f64::from(start.elapsed_ms(end).map_err(failed("timing"))?) * 1e-3;
    }
    Ok(Streamed { pinning: 0.0, seconds, multiplying, alone, alone_bytes: parts[0].windows[0].bytes() as u64 })
}

fn wait_for(event: Option<CudaEvent>) -> Result<(), Error> {
    let (Some(event), began) = (event, Instant::now()) else { return Ok(()) };
    while !event.try_is_complete().map_err(failed("streaming a product"))? {
        if began.elapsed() > LIMIT {
            let message = format!("the GPU has not answered for {} s: a part of the product is lost", LIMIT.as_secs());
            return Err(Error::Fault(message));
        }
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    Ok(())
}
