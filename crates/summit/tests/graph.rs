//! Calls that are captured into CUDA graphs, on two streams, and replayed at once; and what a call costs the host.

// Matrices by their addresses.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::sys::CUgraphInstantiate_flags_enum as Flags;
use cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as THREAD_LOCAL;
use cudarc::driver::{CudaGraph, CudaSlice, CudaStream, DevicePtr};
use device::Memory;
use gemm::{Element, Shape};
use summit::{Beside, Handle, Product, Types};

/// One that splits K, one that shares the last round's tiles, and one of many small tiles.
const SHAPES: [Shape; 3] =
    [Shape { m: 128, n: 128, k: 8192 }, Shape { m: 1500, n: 1300, k: 512 }, Shape { m: 256, n: 256, k: 64 }];
/// Calls in each graph.
const CALLS: usize = 50;
const REPLAYS: usize = 10;

/// Products in f32 of small whole numbers, on a stream.
struct Work {
    stream: Arc<CudaStream>,
    products: Vec<(Shape, [CudaSlice<f32>; 3], Vec<f32>)>,
    /// Of the slices. To ask one for it waits for its events, which a capture refuses.
    addresses: Vec<[(u64, u64); 3]>,
}

impl Work {
    /// With the product that the handle computes outside of any graph.
    fn new(handle: &Handle, seed: usize) -> Work {
        let stream = handle.context().new_stream().unwrap();
        let numbers = |count: u32, seed: usize| -> Vec<f32> {
            (0..count as usize).map(|i| ((i * 7919 + seed * 104_729) % 17) as f32 - 8.0).collect()
        };
        let products = SHAPES.map(|shape| {
            let Shape { m, n, k } = shape;
            let upload = |numbers: Vec<f32>| stream.clone_htod(&numbers).unwrap();
            let matrices = [upload(numbers(m * k, seed)), upload(numbers(k * n, seed + 1)), upload(numbers(m * n, 0))];
            (shape, matrices, Vec::new())
        });
        let address = |slice: &CudaSlice<f32>| (slice.device_ptr(&stream).0, slice.num_bytes() as u64);
        let addresses = products.iter().map(|(_, slices, _)| slices.each_ref().map(address)).collect();
        let mut work = Work { stream, products: products.into(), addresses };
        (0..SHAPES.len()).for_each(|i| work.call(handle, i));
        for (i, shape) in SHAPES.iter().enumerate() {
            let product = work.stream.clone_dtoh(&work.products[i].1[2]).unwrap();
            let exact = (0..product.len()).step_by(997).all(|at| f64::from(product[at]) == work.exact(i, at));
            assert!(exact, "{shape}");
            work.products[i].2 = product;
        }
        work
    }

    /// An element of C, by the host.
    fn exact(&self, i: usize, at: usize) -> f64 {
        let (Shape { n, k, .. }, [a, b, _], _) = &self.products[i];
        let (n, k) = (*n as usize, *k as usize);
        let (a, b) = (self.stream.clone_dtoh(a).unwrap(), self.stream.clone_dtoh(b).unwrap());
        (0..k).map(|j| f64::from(a[at / n * k + j]) * f64::from(b[j * n + at % n])).sum()
    }

    fn call(&self, handle: &Handle, i: usize) {
        let product = Product::new(Types::of(Element::F32), self.products[i].0);
        // SAFETY: the slices live as long as `self`, and no other stream has them.
        let matrices = self.addresses[i].map(|(address, bytes)| unsafe { Memory::at(address, bytes) });
        handle.gemm_at(&self.stream, &product, matrices, Beside::default()).unwrap();
    }

    fn capture(&self, handle: &Handle) -> CudaGraph {
        self.stream.begin_capture(THREAD_LOCAL).unwrap();
        (0..CALLS).for_each(|call| self.call(handle, call % SHAPES.len()));
        self.stream.end_capture(Flags(0)).unwrap().expect("calls that are recorded")
    }

    /// Spoils every C, so that only a product brings it back.
    fn spoil(&mut self) {
        for (_, [_, _, c], _) in &mut self.products {
            self.stream.memset_zeros(c).unwrap();
        }
    }
}

#[test]
fn two_graphs_on_two_streams_replay_a_hundred_calls() {
    let handle = match Handle::new() {
        Ok(handle) => handle,
        Err(error) => return level_tests::skipped(&error.to_string()),
    };
    let mut works = [Work::new(&handle, 1), Work::new(&handle, 5)];
    let free = || handle.context().mem_get_info().unwrap().0;
    let before = free();
    for _ in 0..CALLS {
        works.iter().for_each(|work| (0..SHAPES.len()).for_each(|i| work.call(&handle, i)));
    }
    works.iter().for_each(|work| work.stream.synchronize().unwrap());
    assert_eq!(before, free(), "calls after the first allocated memory");

    let graphs = works.each_ref().map(|work| work.capture(&handle));
    works.iter_mut().for_each(Work::spoil);
    for _ in 0..REPLAYS {
        graphs.iter().for_each(|graph| graph.launch().unwrap());
    }
    for work in &works {
        for (shape, [_, _, c], expected) in &work.products {
            assert!(work.stream.clone_dtoh(c).unwrap() == *expected, "{shape} in a graph");
        }
    }

    // As many calls as the driver takes without waiting for the GPU.
    let (calls, small) = (500, 2);
    let start = Instant::now();
    (0..calls).for_each(|_| works[0].call(&handle, small));
    let time = start.elapsed() / calls;
    works[0].stream.synchronize().unwrap();
    eprintln!("a call of {} takes the host {:.2} µs", SHAPES[small], time.as_secs_f64() * 1e6);
}
