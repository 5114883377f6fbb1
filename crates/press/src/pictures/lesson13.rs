//! The ring of stages of level 13 as its steps go by: which stage is filled, full, read or empty, the phases of its two barriers, and
//! who works when. The order of the stages is that of the kernel's own stores; the times follow from the barriers.

use emulator::{AccessKind, Memory};
use gemm::{Dtype, Error, Shape};
use levels::level13_warp_specialization::LEVEL;

use super::traced::{build_of, some_accesses, unlike};
use lab::sheet::{Area, MARGIN, Sheet};
use lab::svg::Anchor;

/// BM, BN, STAGES.
const SIZES: [u32; 3] = [128, 256, 4];
const BK: u32 = 64;
const STAGES: usize = SIZES[2] as usize;
/// Bytes of a stage.
const STAGE: u64 = ((SIZES[0] + SIZES[1]) * BK * 2) as u64;
/// One tile whose rows no tensor map describes: then the producer's threads store, and the trace has it.
const SHAPE: Shape = Shape { m: SIZES[0], n: SIZES[1] - 1, k: 6 * BK };
const GROUPS: usize = SIZES[0] as usize / 64;

/// How long a copy is under way, and the products of a step take.
const COPY: u32 = 3;
const PRODUCTS: u32 = 2;
const TICK: f64 = 36.0;
const LEFT: f64 = MARGIN + 92.0;

pub fn draw() -> Result<Sheet, Error> {
    let times = times(&order()?);
    let last = times.iter().flat_map(|step| step.done).max().unwrap_or(0);
    let mut sheet = Sheet::new(
        LEFT + TICK * f64::from(last) + MARGIN,
        "A ring of four stages, six steps",
        "A timeline with a row for each stage: it is filled, full, read, and empty again. Below each stage the phases of its two \
         barriers. Then who works when: the producer, and two warpgroups that multiply.",
    );
    let mut y = 52.0;
    for stage in 0..STAGES {
        y = stage_row(&mut sheet, y, stage, &times, last);
    }
    y = workers(&mut sheet, y + 4.0, &times) + 18.0;
    y = sheet.legend((MARGIN, y), "o", "the stage is empty");
    y = sheet.legend((MARGIN, y), "a", "it is being filled; below, the producer asks for the copies");
    y = sheet.legend((MARGIN, y), "b", "it is full, and nobody reads it yet");
    y = sheet.legend((MARGIN, y), "c", "it is read; below, a warpgroup's products");
    y = sheet.legend((MARGIN, y), "x", "the producer waits for an empty stage");
    sheet.text((MARGIN, y), "Numbers are steps. Widths are not to scale.", "small", Anchor::Start);
    Ok(sheet)
}

/// The stage of each step, as the producer fills them.
fn order() -> Result<Vec<usize>, Error> {
    let build = build_of(&LEVEL, Dtype::BF16, "", &SIZES)?;
    let accesses = some_accesses(&build, SHAPE, |_| true)?;
    let producer = GROUPS as u32 * 4;
    let mut order = Vec::new();
    let stores = accesses
        .iter()
        .filter(|access| (access.memory, access.kind, access.warp) == (Memory::Shared, AccessKind::Store, producer));
    for lane in stores.filter_map(|access| access.lanes.first()) {
        let stage = (lane.offset / STAGE) as usize;
        if order.last() != Some(&stage) {
            order.push(stage);
        }
    }
    let ring = (0..(SHAPE.k / BK) as usize).map(|step| step % STAGES);
    if !ring.eq(order.iter().copied()) {
        return Err(unlike("the producer does not fill the stages in turn"));
    }
    Ok(order)
}

/// When what happens to the stage of a step.
#[derive(Debug, Clone, Copy)]
struct Step {
    stage: usize,
    /// The producer asks for its tiles; they are there.
    asked: u32,
    full: u32,
    /// By warpgroup, its products are made.
    done: [u32; GROUPS],
}

impl Step {
    /// The first products begin.
    fn read(&self) -> u32 {
        self.done.iter().min().map_or(0, |done| done - PRODUCTS)
    }

    /// The last warpgroup has given the stage back.
    fn empty(&self) -> u32 {
        self.done.iter().copied().max().unwrap_or(0)
    }
}

fn times(order: &[usize]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for &stage in order {
        let before = steps.last();
        let given_back = steps.iter().rev().find(|step| step.stage == stage).map_or(0, Step::empty);
        let asked = before.map_or(0, |step| step.asked + 1).max(given_back);
        let full = asked + COPY;
        // The second warpgroup is a little behind the first.
        let done =
            std::array::from_fn(|group| before.map_or(0, |step| step.done[group]).max(full + group as u32) + PRODUCTS);
        steps.push(Step { stage, asked, full, done });
    }
    steps
}

fn span(from: u32, to: u32, y: f64, height: f64) -> Area {
    Area::new(LEFT + TICK * f64::from(from) + 1.0, y, TICK * f64::from(to - from) - 2.0, height)
}

/// A stage, and below it its two barriers.
fn stage_row(sheet: &mut Sheet, y: f64, stage: usize, steps: &[Step], last: u32) -> f64 {
    sheet.text((MARGIN, y + 19.0), &format!("stage {stage}"), "bold", Anchor::Start);
    let here = || steps.iter().enumerate().filter(|(_, step)| step.stage == stage);
    let mut until = 0;
    for (number, step) in here() {
        let parts = [
            (until, step.asked, "o", String::new()),
            (step.asked, step.full, "a", format!("fill {number}")),
            (step.full, step.read(), "b", String::new()),
            (step.read(), step.empty(), "c", format!("read {number}")),
        ];
        for (from, to, class, label) in parts.iter().filter(|(from, to, ..)| from < to) {
            let area = span(*from, *to, y, 28.0);
            sheet.area(area, class);
            if !label.is_empty() {
                sheet.label(area, label, "small");
            }
        }
        until = step.empty();
    }
    if until < last {
        sheet.area(span(until, last, y, 28.0), "o");
    }
    // Nobody gives back the stage of the last step.
    let given_back = here().filter(|(number, _)| number + 1 < steps.len());
    let ends = [
        ("full", here().map(|(_, step)| step.full).collect()),
        ("empty", given_back.map(|(_, step)| step.empty()).collect()),
    ];
    let mut y = y + 31.0;
    for (name, ends) in ends {
        phases(sheet, y, name, ends, last);
        y += 21.0;
    }
    y + 12.0
}

/// A barrier's phases, which end at these times.
fn phases(sheet: &mut Sheet, y: f64, name: &str, ends: Vec<u32>, last: u32) {
    sheet.text((MARGIN + 12.0, y + 14.0), name, "small", Anchor::Start);
    let mut from = 0;
    for (phase, to) in ends.into_iter().chain([last]).enumerate().filter(|(_, to)| *to <= last) {
        if from < to {
            let area = span(from, to, y, 18.0);
            sheet.area(area, "n");
            sheet.label(area, &format!("phase {phase}"), "small");
        }
        from = to;
    }
}

/// The producer and the warpgroups that multiply.
fn workers(sheet: &mut Sheet, y: f64, steps: &[Step]) -> f64 {
    sheet.text((MARGIN, y + 19.0), "producer", "bold", Anchor::Start);
    let mut free = 0;
    for (number, step) in steps.iter().enumerate() {
        if free < step.asked {
            sheet.area(span(free, step.asked, y, 28.0), "x");
        }
        let area = span(step.asked, step.asked + 1, y, 28.0);
        sheet.area(area, "a");
        sheet.label(area, &number.to_string(), "small");
        free = step.asked + 1;
    }
    let mut y = y + 34.0;
    for group in 0..GROUPS {
        sheet.text((MARGIN, y + 19.0), &format!("group {group}"), "bold", Anchor::Start);
        for (number, step) in steps.iter().enumerate() {
            let area = span(step.done[group] - PRODUCTS, step.done[group], y, 28.0);
            sheet.area(area, "c");
            sheet.label(area, &number.to_string(), "small");
        }
        y += 34.0;
    }
    y
}
