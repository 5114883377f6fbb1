//! The time of a plan by a model: what a link carries, and how long a product of each size takes. Nothing here was measured.
//!
//! All ranks do the same, each step moves one panel into a rank and one out of it, and a switch, or one link between two, carries all of
//! them at once: so one rank's two streams are enough.

use std::collections::HashMap;

use gemm::Shape;

use crate::layout::Layout;
use crate::plan::{Command, Event, Rank, Variant};

/// Bytes per second into a GPU of an HGX H100 over its 18 NVLinks, each 25 GB/s in a direction, by NVIDIA's data sheet: what no copy exceeds.
pub const NVLINK: f64 = 18.0 * 25e9;

/// What times are made of.
pub struct Costs<'a> {
    /// Bytes per second into a rank.
    pub link: f64,
    /// Seconds before the first byte of a transfer.
    pub latency: f64,
    /// Seconds that a product takes on one GPU.
    pub product: &'a dyn Fn(&Shape) -> f64,
}

/// A rank's times, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    /// From the start to the last product's end.
    pub whole: f64,
    /// Of it, products.
    pub products: f64,
    /// Transfers, which may go beside products.
    pub transfers: f64,
}

impl Times {
    /// What products wait for transfers.
    pub fn waiting(&self) -> f64 {
        self.whole - self.products
    }
}

/// One command's time: when it starts and ends, on which stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// As a number of [`crate::plan::Stream`].
    pub stream: usize,
    /// The command's place there.
    pub command: usize,
    /// Seconds from the start on.
    pub start: f64,
    /// Seconds from the start on.
    pub end: f64,
}

/// The first rank's times, and when each of its transfers and products is. The first rank stands for all.
pub fn times(layout: &Layout, variant: Variant, rooms: usize, costs: &Costs) -> (Times, Vec<Span>) {
    let rank = Rank::new(layout, variant, rooms, 0);
    let mut events: HashMap<Event, f64> = HashMap::new();
    let (mut now, mut at) = ([0.0f64; 2], [0; 2]);
    let mut spans: Vec<Span> = Vec::new();
    loop {
        let before = at;
        for stream in 0..2 {
            while let Some(command) = rank.streams[stream].get(at[stream]) {
                let start = now[stream];
                match command {
                    // What other ranks record, they record when this one does.
                    Command::Wait(event) => match events.get(&Event { rank: 0, ..*event }) {
                        Some(&recorded) => now[stream] = start.max(recorded),
                        None => break,
                    },
                    Command::Record(event) => _ = events.insert(*event, start),
                    Command::Replace { .. } => (),
                    Command::Copy { .. } | Command::Exchange { .. } | Command::Multiply { .. } => {
                        now[stream] = start + seconds(layout, command, costs);
                        spans.push(Span { stream, command: at[stream], start, end: now[stream] });
                    }
                }
                at[stream] += 1;
            }
        }
        if at == before {
            break;
        }
    }
    let total = |stream| spans.iter().filter(|span| span.stream == stream).map(|span| span.end - span.start).sum();
    (Times { whole: now[0], products: total(0), transfers: total(1) }, spans)
}

/// What a transfer or a product takes.
fn seconds(layout: &Layout, command: &Command, costs: &Costs) -> f64 {
    match command {
        Command::Copy { get, .. } => costs.latency + get.bytes as f64 / costs.link,
        Command::Exchange { receives, .. } => {
            costs.latency + receives.iter().map(|got| got.bytes).sum::<u64>() as f64 / costs.link
        }
        Command::Multiply { a, b, .. } => {
            let length = |panel| layout.range(panel).len() as u32;
            let m = a.iter().map(|&panel| length(panel)).sum();
            (costs.product)(&Shape { m, n: length(*b), k: layout.shape().k })
        }
        _ => 0.0,
    }
}

/// The side of square matrices from which on a product over `ranks` whole rows of C hides its transfers, by rates alone: a panel of `n²/R`
/// elements travels while `2·n³/R²` operations are done.
pub fn crossover(ranks: usize, element_bytes: usize, link: f64, operations: f64) -> f64 {
    ranks as f64 * element_bytes as f64 * operations / (2.0 * link)
}

/// A grid for so many ranks that moves the least: as square as it can be.
pub fn squarest(ranks: usize) -> [usize; 2] {
    let columns = (1..=ranks).take_while(|side| side * side <= ranks).filter(|side| ranks.is_multiple_of(*side)).last();
    let columns = columns.unwrap_or(1);
    [ranks / columns.max(1), columns]
}

#[cfg(test)]
mod tests {
    use gemm::Element;

    use super::*;

    /// Over 4 ranks, in which a product of own panels takes 1 s and a panel of B's `transfer` s.
    fn seconds(variant: Variant, transfer: f64) -> Times {
        let layout = Layout::new(Shape { m: 400, n: 400, k: 100 }, Element::Bf16, [4, 1]).unwrap();
        let panel = 100.0 * 100.0 * 2.0;
        let product = |shape: &Shape| f64::from(shape.n) / 100.0;
        times(&layout, variant, 2, &Costs { link: panel / transfer, latency: 0.0, product: &product }).0
    }

    #[test]
    fn transfers_hide_behind_products_or_products_wait() {
        let near = |times: Times, whole: f64, waiting: f64| {
            assert!((times.whole - whole).abs() < 1e-9 && (times.waiting() - waiting).abs() < 1e-9, "{times:?}");
        };
        near(seconds(Variant::Gather, 0.5), 5.5, 1.5);
        near(seconds(Variant::Copies, 0.5), 4.0, 0.0);
        near(seconds(Variant::Collectives, 0.5), 4.0, 0.0);
        // Three transfers, and the last product behind them.
        near(seconds(Variant::Copies, 2.0), 7.0, 3.0);
        near(seconds(Variant::Gather, 2.0), 10.0, 6.0);
    }

    #[test]
    fn one_rank_waits_for_nothing() {
        let layout = Layout::new(Shape { m: 4, n: 4, k: 4 }, Element::F32, [1, 1]).unwrap();
        for variant in Variant::ALL {
            let (times, spans) = times(&layout, variant, 2, &Costs { link: 1.0, latency: 1.0, product: &|_| 3.0 });
            assert_eq!((times.whole, times.waiting(), spans.len()), (3.0, 0.0, 1));
        }
    }

    #[test]
    fn the_crossover_is_where_a_panel_takes_as_long_as_a_product() {
        let (ranks, link, operations) = (4, 100e9, 600e12);
        let n = crossover(ranks, 2, link, operations);
        let (transfer, product) = (n * n / 4.0 * 2.0 / link, 2.0 * n.powi(3) / 16.0 / operations);
        assert!((transfer / product - 1.0).abs() < 1e-9);
    }

    #[test]
    fn grids_are_as_square_as_they_can_be() {
        assert_eq!([1, 2, 7, 8, 64, 1024].map(squarest), [[1, 1], [2, 1], [7, 1], [4, 2], [8, 8], [32, 32]]);
    }
}
