//! Loads and computation of successive tiles with one buffer and with two, and what the second buffer costs.

use std::collections::BTreeSet;

use emulator::gpu::{Gpu, H200, L20, T4};
use emulator::occupancy::{Resource, occupancy};
use emulator::{AccessKind, Memory, TracedAccess};
use gemm::{Error, Level, Shape};

use super::traced::{accesses, array, build, elements, is_global_load, is_load, kernel, unlike};
use lab::sheet::{Area, MARGIN, Sheet};
use lab::svg::Anchor;

const WIDTH: f64 = 640.0;
const SIZES: [u32; 5] = [32, 32, 32, 8, 4];
const BK: u32 = SIZES[2];
const TILES: u32 = 3;
const SHAPE: Shape = Shape { m: SIZES[0], n: SIZES[1], k: TILES * BK };
const LEVELS: [(&Level, &str); 2] = [
    (&levels::level2_register::LEVEL, "level 2: one buffer"),
    (&levels::level3_double_buffer::LEVEL, "level 3: two buffers"),
];
const GPUS: [Gpu; 3] = [H200, L20, T4];
const PHASE: f64 = 98.0;

pub fn draw() -> Result<Sheet, Error> {
    let mut sheet = Sheet::new(
        WIDTH,
        &format!("{TILES} tiles, with one buffer and with two"),
        "Two timelines. With one buffer, loading a tile and computing with it take turns, a barrier between them. With two, the next \
         tile is loaded between the same two barriers in which this one is computed. Below, how many blocks fit on an SM of some GPUs: \
         fewer with two buffers.",
    );
    let mut y = 52.0;
    for (level, name) in LEVELS {
        y = timeline(&mut sheet, y, level, name)? + 22.0;
    }
    sheet.text((MARGIN, y), "Vertical lines are barriers. Widths are not to scale.", "small", Anchor::Start);
    y += 34.0;
    sheet.text((MARGIN, y), "Blocks that fit on one SM, and what allows no more", "title", Anchor::Start);
    y += 14.0;
    for gpu in &GPUS {
        y = blocks(&mut sheet, y, gpu)?;
    }
    Ok(sheet)
}

/// What a block does between two barriers: which tiles it loads, and from which buffers it computes.
#[derive(Debug, Default)]
struct Phase {
    loaded: BTreeSet<u32>,
    filled: BTreeSet<u32>,
    read: BTreeSet<u32>,
}

fn phases(accesses: &[TracedAccess]) -> Vec<Phase> {
    let last = accesses.iter().map(|access| access.phase).max().unwrap_or(0);
    let mut phases: Vec<Phase> = (0..=last).map(|_| Phase::default()).collect();
    let buffer = 4 * SIZES[0] * BK;
    for access in accesses {
        let phase = &mut phases[access.phase as usize];
        let buffers = || access.lanes.iter().map(|lane| lane.offset as u32 / buffer);
        if is_global_load(access) && array(access) == "A" {
            let columns = access.lanes.iter().flat_map(|lane| elements(access, lane, SHAPE.k));
            phase.loaded.extend(columns.map(|(_, column)| column / BK));
        } else if is_load(access, "As") {
            phase.read.extend(buffers());
        } else if (access.memory, access.kind, array(access)) == (Memory::Shared, AccessKind::Store, "As") {
            phase.filled.extend(buffers());
        }
    }
    phases
}

/// One level's phases, a row for what it loads and one for what it computes.
fn timeline(sheet: &mut Sheet, top: f64, level: &'static Level, name: &str) -> Result<f64, Error> {
    let build = build(level, "", &SIZES)?;
    let phases = phases(&accesses(&build, SHAPE)?);
    sheet.text((MARGIN, top + 14.0), name, "bold", Anchor::Start);
    let (loads, computes) = (top + 26.0, top + 64.0);
    // Which tile a buffer holds.
    let mut holds = [None; 2];
    for (index, phase) in phases.iter().enumerate() {
        let x = MARGIN + PHASE * index as f64;
        let area = |y: f64| Area::new(x + 5.0, y, PHASE - 10.0, 32.0);
        for &buffer in &phase.read {
            let tile: u32 = holds[buffer as usize].ok_or_else(|| unlike("a buffer is read before it is filled"))?;
            sheet.round(area(computes), "c");
            sheet.label(area(computes), &format!("compute {tile}"), "small");
        }
        for (&tile, &buffer) in phase.loaded.iter().zip(&phase.filled) {
            holds[buffer as usize] = Some(tile);
            sheet.round(area(loads), "a");
            sheet.label(area(loads), &format!("load {tile}"), "small");
        }
        if index > 0 {
            sheet.line((x, loads - 4.0), (x, computes + 36.0), "frame");
        }
    }
    Ok(computes + 36.0)
}

/// Blocks of both levels on an SM of a GPU.
fn blocks(sheet: &mut Sheet, top: f64, gpu: &Gpu) -> Result<f64, Error> {
    let mut y = top + 8.0;
    sheet.text((MARGIN, y + 13.0), gpu.name, "bold", Anchor::Start);
    for (level, _) in LEVELS {
        let build = build(level, "", &SIZES)?;
        let resources = kernel(&build)?.resources;
        let needs = resources.get(&gpu.sm()).ok_or_else(|| unlike("the PTX does not say what this GPU gives"))?;
        let threads = build.threads();
        let fit = occupancy(gpu, threads, needs.registers, needs.shared_bytes);
        sheet.text((MARGIN + 60.0, y + 13.0), &level.short(), "small", Anchor::Start);
        for block in 0..fit.blocks_per_sm {
            sheet.area(Area::new(MARGIN + 122.0 + 15.0 * f64::from(block), y + 2.0, 12.0, 13.0), "c");
        }
        let x = MARGIN + 128.0 + 15.0 * f64::from(fit.blocks_per_sm);
        let limits: Vec<String> = fit.limited_by.iter().map(Resource::to_string).collect();
        sheet.text((x, y + 13.0), &format!("{}: {}", fit.blocks_per_sm, limits.join(", ")), "small", Anchor::Start);
        y += 21.0;
    }
    Ok(y)
}
