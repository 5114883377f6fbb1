//! `lab ranks --streamed`: a product whose matrices need not fit the card: they come from the host's memory in parts, and C goes back there.

use std::io::{IsTerminal, Write};
use std::time::Instant;

use common::progress::step;
use device::Backend;
use gemm::{Element, Error, Shape};
use ranks::gpus::{Cards, Streamed, stream};
use ranks::streamed::Cut;
use serde::Serialize;
use summit::Types;

use super::numbers::{CHUNK, filled, room, sizes};
use super::{cores, witness};
use crate::table::number;

/// Of the card's free memory, what is left to the driver and to kernels.
const LEFT: f64 = 0.1;
/// Bytes of an H100, for a plan without a GPU.
const USUAL: f64 = 80e9;

/// What is said of it.
#[derive(Debug, Serialize)]
pub struct Said {
    shape: Shape,
    element: &'static str,
    /// Rows of A and columns of B at a time.
    panels: [u32; 2],
    parts: usize,
    matrix_bytes: [u64; 3],
    card_bytes: u64,
    moved_bytes: [u64; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    ran: Option<Ran>,
}

/// What was measured.
#[derive(Debug, Serialize)]
struct Ran {
    gpu: String,
    pinning_seconds: f64,
    seconds: f64,
    multiplying_seconds: f64,
    link_bytes_per_second: f64,
    right: bool,
    checked: String,
}

/// The plan; and, with a GPU, the product.
pub fn run(
    shape: Shape,
    element: Element,
    panels: Option<[usize; 2]>,
    (backend, seed): (Option<Backend>, u64),
) -> Result<Said, Error> {
    let types = Types::of(element);
    if element == Element::Tf32 {
        return Err(Error::usage("no streamed product in tf32", "there are f32, f64, bf16 and f16"));
    }
    let cut = |free: f64| match panels {
        Some(sides) => Cut::new(shape, types, sides.map(|side| side.min(u32::MAX as usize) as u32)),
        None => Cut::fitting(shape, types, (free * (1.0 - LEFT)) as u64),
    };
    match backend {
        None => said(&cut(USUAL)?, None),
        Some(Backend::Emulator) => Err(Error::usage(
            "a streamed product runs on a GPU",
            "leave --backend out for its plan; `cargo test -p ranks streamed` multiplies in parts without one",
        )),
        Some(_) => {
            let cards = Cards::open(1)?;
            let handle = cards.handle(0);
            let free =
                handle.context().mem_get_info().map_err(|e| device::cuda::failed("asking for free memory", e))?.0;
            let cut = cut(free as f64)?;
            said(&cut, Some(multiplied(&cards, &cut, seed)?))
        }
    }
}

fn said(cut: &Cut, ran: Option<Ran>) -> Result<Said, Error> {
    let types = cut.types();
    Ok(Said {
        shape: cut.shape(),
        element: types.a.name(),
        panels: cut.sides(),
        parts: cut.parts().len(),
        matrix_bytes: sizes(cut),
        card_bytes: cut.memory(),
        moved_bytes: cut.moved(),
        ran,
    })
}

/// Fills, multiplies and checks.
fn multiplied(cards: &Cards, cut: &Cut, seed: u64) -> Result<Ran, Error> {
    let [a, b] = step("filling A and B", || filled(cut, seed))?;
    let mut c = room(sizes(cut)[2])?;
    // C is touched before, so that pinning finds it, and full of NaN.
    cores::over(c.chunks_mut(CHUNK), |_, chunk| chunk.fill(0xff));
    let mut progress = Progress::new(cut);
    let ([a, b, c], streamed) = stream(cards.handle(0), cut, [a, b, c], &mut |done, of| progress.tell(done, of));
    let Streamed { pinning, seconds, multiplying, alone, alone_bytes } = streamed?;
    let (right, checked) = step("checking the product", || witness::check(cut, [&a, &b, &c], seed));
    let gpu = cards.names().first().map(|name| name.to_string()).unwrap_or_default();
    let link_bytes_per_second = alone_bytes as f64 / alone;
    let (pinning_seconds, multiplying_seconds) = (pinning, multiplying);
    Ok(Ran { gpu, pinning_seconds, seconds, multiplying_seconds, link_bytes_per_second, right, checked })
}

/// A line on the terminal that is written again and again.
struct Progress {
    began: Instant,
    operations: f64,
    moved: f64,
    shows: bool,
}

impl Progress {
    fn new(cut: &Cut) -> Progress {
        let operations = 2.0 * cut.shape().multiply_adds() as f64;
        let moved = cut.moved().iter().sum::<u64>() as f64;
        Progress { began: Instant::now(), operations, moved, shows: std::io::stderr().is_terminal() }
    }

    fn tell(&mut self, done: usize, of: usize) {
        let elapsed = self.began.elapsed().as_secs_f64();
        if !self.shows || elapsed < 2.0 {
            return;
        }
        let line = line(done, of, elapsed, [self.operations, self.moved]);
        // A line that cannot be written is not missed.
        let _ = write!(std::io::stderr(), "\r{line}{}", if done == of { "\n" } else { "" });
    }
}

/// How far it is, how quick, and how long it will take.
fn line(done: usize, of: usize, elapsed: f64, [operations, moved]: [f64; 2]) -> String {
    let share = done as f64 / of as f64;
    let left = elapsed * (1.0 - share) / share.max(f64::MIN_POSITIVE);
    format!(
        "part {done} of {of}, {:.0} TFLOP/s, {:.1} GB/s, {left:.0} s left   ",
        operations * share / elapsed / 1e12,
        moved * share / elapsed / 1e9
    )
}

impl Said {
    /// Whether the product was right, where there was one.
    pub fn is_right(&self) -> bool {
        self.ran.as_ref().is_none_or(|ran| ran.right)
    }

    /// Some lines.
    pub fn text(&self) -> String {
        let [rows, columns] = self.panels;
        let giga = |bytes: u64| format!("{:.3} GB", bytes as f64 / 1e9);
        let mut text = format!("{} in {}, streamed\n\n", self.shape, self.element);
        text += &format!("A, B and C      {}\n", giga(self.matrix_bytes.iter().sum()));
        let parts = self.parts;
        text += &format!("parts           {parts}, of {rows} rows of A with {columns} columns of B\n");
        text += &format!("on the card     {}\n", giga(self.card_bytes));
        let [into, back] = self.moved_bytes.map(giga);
        text += &format!("over the link   {into} to the card, {back} from there\n");
        if let Some(ran) = &self.ran {
            let rate = 2.0 * self.shape.multiply_adds() as f64 / ran.seconds / 1e12;
            let [into, back] = self.moved_bytes.map(|bytes| bytes as f64 / ran.seconds / 1e9);
            let (seconds, share) = (ran.seconds, ran.multiplying_seconds / ran.seconds * 100.0);
            text += &format!("\n{}: {seconds:.3} s, {} TFLOP/s\n", ran.gpu, number(rate));
            text += &format!("before that     {:.3} s to pin the host's memory\n", ran.pinning_seconds);
            text += &format!("multiplying     {share:.1} % of the time\n");
            text += &format!("over the link   {into:.1} GB/s to the card, {back:.1} from there\n");
            text += &format!("a panel alone   {:.1} GB/s\n", ran.link_bytes_per_second / 1e9);
            text += &format!("{}: {}\n", if ran.right { "right" } else { "WRONG" }, ran.checked);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_how_quick_and_how_long() {
        let said = line(16, 64, 3.0, [4e15, 2e11]);
        assert_eq!(said.trim(), "part 16 of 64, 333 TFLOP/s, 16.7 GB/s, 9 s left");
    }
}
