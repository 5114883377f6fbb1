//! What all orders together say of the launches.

use emulator::{Fault, Printed, Schedule, Warning};
use gemm::sums::Summed;
use serde::Serialize;

use super::contents::Contents;
use super::counted::Counted;
use super::execute::Ran;
use super::expect::{Expected, Held};
use super::plan::{Plan, Planned};
use crate::probe::NOTHING_STORED;

/// The verdict, and what it rests on.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// The kernels' file.
    pub file: String,
    /// Clean, or not.
    pub verdict: Verdict,
    /// The launches.
    pub launches: Vec<Launched>,
    /// The orders of thread blocks that were tried.
    pub orders: Vec<Schedule>,
    /// What was wrong, each thing once.
    pub faults: Vec<Found>,
    /// What is doubtful, because the books do not agree, each thing once. It changes no verdict.
    pub warnings: Vec<Doubtful>,
    /// Buffers that keep bytes that nobody wrote.
    pub unwritten: Vec<Unwritten>,
    /// Buffers that hold something else after another order.
    pub differences: Vec<Difference>,
    /// The buffers after the last launch, in the first order that ended well.
    pub buffers: Vec<Held>,
    /// What the kernels printed, in the first order that ended well.
    pub printed: Vec<Said>,
    /// What was expected of buffers.
    pub expected: Vec<Expected>,
    /// What may be why something unexpected comes out; of what is as it should be, nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

/// The verdict in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No fault in any order, and all is as expected.
    Clean,
    /// The same, but what buffers hold depends on the order, and not by the rounding of sums alone.
    #[serde(rename = "order-dependent")]
    OrderDependent,
    /// A fault, something unexpected, or a difference where none is allowed.
    Fault,
}

/// A launch as it was.
#[derive(Debug, Serialize)]
pub struct Launched {
    /// The kernel.
    pub entry: String,
    /// Thread blocks.
    pub grid: emulator::Dim3,
    /// Threads of a block.
    pub block: emulator::Dim3,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The arguments as they were given.
    pub arguments: Vec<String>,
    /// How the kernel's instructions sum products, where they do so in tensor cores or in few bits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sums: Vec<Summed>,
    /// What was counted in the first order that ended well, if that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
}

/// A fault, and where it showed.
#[derive(Debug, Serialize)]
pub struct Found {
    /// The launch, from 1.
    pub launch: usize,
    /// The orders that met it.
    pub orders: Vec<Schedule>,
    /// The fault in the first of them.
    #[serde(flatten)]
    pub fault: Box<Fault>,
}

/// A warning, and where it showed.
#[derive(Debug, Serialize)]
pub struct Doubtful {
    /// The launch, from 1.
    pub launch: usize,
    /// The orders that met it.
    pub orders: Vec<Schedule>,
    /// The warning in the first of them.
    #[serde(flatten)]
    pub warning: Warning,
}

/// A buffer that keeps bytes that nobody wrote.
#[derive(Debug, Serialize)]
pub struct Unwritten {
    /// The buffer.
    pub buffer: String,
    /// How many bytes.
    pub bytes: usize,
    /// Out of how many.
    pub of: usize,
    /// The element in which the first of them lies.
    pub first: usize,
    /// A store that copied to the buffer what nobody wrote, with where that comes from.
    pub store: Option<Box<Fault>>,
}

impl Unwritten {
    /// In a line.
    pub fn line(&self) -> String {
        let Unwritten { buffer, bytes, of, first, .. } = self;
        format!("{bytes} of the {of} bytes of {buffer} were never written, the first in element {first}")
    }

    /// What to look at.
    pub fn hint(&self) -> String {
        let Unwritten { buffer, bytes, of, store, .. } = self;
        match bytes == of && store.is_none() {
            true => format!(
                "nothing is stored to {buffer}: {NOTHING_STORED} if it may stay as it was, give it a content: `=zeros`"
            ),
            false => format!(
                "does the grid cover all of {buffer}, does each thread store to elements of its own, and is what is copied there written itself? if it may stay as it was, give it a content: `=zeros`"
            ),
        }
    }
}

/// The buffers that keep bytes that nobody wrote, or copies of such bytes.
pub fn unwritten(plan: &Plan, ran: &Ran) -> Vec<Unwritten> {
    let pairs = plan.buffers.iter().zip(&ran.buffers);
    let of = |(planned, contents): (&Planned, &Contents)| {
        let first = contents.first_unwritten? / planned.element.bytes();
        let (buffer, bytes, of) = (planned.name.clone(), contents.unwritten, contents.length);
        Some(Unwritten { buffer, bytes, of, first, store: contents.store.clone() })
    };
    pairs.filter_map(of).collect()
}

/// A text that a thread printed.
#[derive(Debug, Serialize)]
pub struct Said {
    /// The launch, from 1.
    pub launch: usize,
    /// The text, and who printed it.
    #[serde(flatten)]
    pub printed: Printed,
}

/// A buffer that depends on the order.
#[derive(Debug, Serialize)]
pub struct Difference {
    /// The buffer.
    pub buffer: String,
    /// The two orders.
    pub orders: [Schedule; 2],
    /// How many elements differ.
    pub elements: usize,
    /// Out of how many.
    pub of: usize,
    /// The first one.
    pub first: usize,
    /// What it is in the two orders.
    pub values: [String; 2],
    /// The largest difference in relation to the larger value.
    pub relative: f64,
}

impl Difference {
    /// In a line.
    pub fn line(&self) -> String {
        let Difference { buffer, elements, of, first, values: [a, b], .. } = self;
        format!(
            "{elements} of {of} elements of {buffer} depend on the order of thread blocks and warps: at {first}, {a} or {b}"
        )
    }
}

/// The faults of all orders, each once.
pub fn faults(runs: &[Ran]) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for ran in runs {
        let Some((launch, fault)) = &ran.fault else { continue };
        let launch = launch + 1;
        let same = |known: &&mut Found| known.launch == launch && is_same(&known.fault, fault);
        match found.iter_mut().find(same) {
            Some(known) => known.orders.push(ran.order),
            None => found.push(Found { launch, orders: vec![ran.order], fault: fault.clone() }),
        }
    }
    found
}

/// Says of a race on a buffer that it is passed for two arguments, if it is.
pub fn tell_shared(plan: &Plan, found: &mut Found) {
    let Some(launch) = plan.launches.get(found.launch - 1) else { return };
    let pointers = || launch.arguments.iter().flat_map(|value| &value.pointers);
    let is_shared =
        |index: usize| pointers().filter(|(_, buffer, offset)| (*buffer, *offset) == (index, 0)).count() > 1;
    let is_named = |planned: &Planned| found.fault.message.starts_with(&format!("race on {} at", planned.name));
    let mut buffers = plan.buffers.iter().enumerate().filter(|(index, planned)| is_named(planned) && is_shared(*index));
    if let Some((_, planned)) = buffers.next() {
        found.fault.hint = Some(format!(
            "{} is passed for two arguments: where one is stored to, other threads still read the other. The output needs a buffer of its own; \
             between launches the two are exchanged",
            planned.name
        ));
    }
}

/// The warnings of all orders, each once.
pub fn warnings(runs: &[Ran]) -> Vec<Doubtful> {
    let mut found: Vec<Doubtful> = Vec::new();
    for (ran, (launch, warning)) in runs.iter().flat_map(|ran| ran.warnings.iter().map(move |warning| (ran, warning))) {
        let launch = launch + 1;
        match found.iter_mut().find(|known| known.launch == launch && known.warning.is_like(warning)) {
            Some(known) => known.orders.push(ran.order),
            None => found.push(Doubtful { launch, orders: vec![ran.order], warning: warning.clone() }),
        }
    }
    found
}

/// Whether two faults have one cause, as far as lines can tell: the threads depend on the order.
fn is_same(a: &Fault, b: &Fault) -> bool {
    let lines = |fault: &Fault| {
        let mut lines = vec![fault.site.ptx_line];
        lines.extend(fault.other.iter().map(|(_, site)| site.ptx_line));
        lines.sort_unstable();
        lines
    };
    a.kind == b.kind && lines(a) == lines(b)
}

/// Whether PTX has atomics that round: the order of what they add shows in the sum.
pub fn has_rounding_atomics(ptx: &str) -> bool {
    let rounds = |part: &str| matches!(part, "f32" | "f64" | "f16" | "f16x2" | "bf16" | "bf16x2");
    let is_one = |word: &str| (word.starts_with("atom.") || word.starts_with("red.")) && word.split('.').any(rounds);
    ptx.split_whitespace().any(is_one)
}

/// What differs between the first order that ended well and the others that did.
pub fn differences(plan: &Plan, runs: &[Ran]) -> Vec<Difference> {
    let mut whole = runs.iter().filter(|ran| ran.fault.is_none());
    let Some(first) = whole.next() else { return Vec::new() };
    let mut all = Vec::new();
    for other in whole {
        let pairs = first.buffers.iter().zip(&other.buffers);
        for (planned, (a, b)) in plan.buffers.iter().zip(pairs) {
            all.extend(difference(planned, [first.order, other.order], [a, b]));
        }
    }
    all
}

fn difference(planned: &Planned, orders: [Schedule; 2], [a, b]: [&Contents; 2]) -> Option<Difference> {
    let size = planned.element.bytes();
    let places: Vec<_> =
        a.places(b).into_iter().map(|at| (at.start / size, a.range(at.clone()), b.range(at))).collect();
    let pairs =
        || places.iter().flat_map(|(start, a, b)| (*start..).zip(a.chunks_exact(size).zip(b.chunks_exact(size))));
    let (first, different) = pairs().find(|(_, (a, b))| a != b)?;
    let elements = pairs().filter(|(_, (a, b))| a != b).count();
    let number = |bytes: &[u8]| planned.element.number(bytes);
    let relative = |(a, b): (&[u8], &[u8])| {
        let (a, b) = (number(a).to_f64(), number(b).to_f64());
        if a == b { 0.0 } else { (a - b).abs() / a.abs().max(b.abs()) }
    };
    let values = [different.0, different.1].map(|bytes| number(bytes).to_string());
    Some(Difference {
        buffer: planned.name.clone(),
        orders,
        elements,
        of: planned.count,
        first,
        values,
        relative: pairs().map(|(_, pair)| relative(pair)).fold(0.0, f64::max),
    })
}
