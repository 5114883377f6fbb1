//! `lab ranks`: one product over several GPUs: who sends what when, how much that is, what it takes by the model; and it runs, on emulated
//! ranks or on GPUs.

pub mod beside;
mod cores;
mod measured;
mod nccl;
mod numbers;
mod processes;
mod streamed;
mod timeline;
mod witness;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use common::progress::step;
use device::Backend;
use emulator::gpu::Gpu;
use gemm::check::Reference;
use gemm::form::Form;
use gemm::problem::{Fill, Problem};
use gemm::{Dtype, Element, Error, Shape};
use ranks::layout::Layout;
use ranks::model::{Costs, NVLINK, Span, Times, squarest, times};
use ranks::volume::{Transfer, memory, received, transfers};
use ranks::{Plan, Variant, emulated};
use serde::Serialize;
use summit::{Chooser, Types};

use self::timeline::Stretch;
use crate::flags::{Sizes, modelled};
use crate::output::print;
use crate::table::{number, percent, table, wrapped};

/// One product over several GPUs: who sends which panel when, and what that takes by a model; with `--backend`, it runs
#[derive(Debug, Clone, Args)]
pub struct Ranks {
    #[command(flatten)]
    sizes: Sizes,
    /// Element types: f32, f64, tf32, bf16 or f16
    #[arg(long, value_name = "DTYPE", default_value = "bf16")]
    dtype: Dtype,
    /// Rows and columns of the grid of ranks that have a block of C each
    #[arg(long, value_name = "ROWSxCOLUMNS", default_value = "2x1", value_parser = grid)]
    grid: [usize; 2],
    /// Panels of other ranks that a rank has room for: with 2, one is multiplied while the next one arrives
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    rooms: u16,
    /// Parts in which copies bring a panel: the first is multiplied while the next one arrives
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    parts: u16,
    /// 10^9 bytes per second into a rank, for the model [default: what the data sheet of an H100 says of its NVLinks]
    #[arg(long, value_name = "GB/S", value_parser = rate)]
    link: Option<f64>,
    /// The GPU whose products' times the model takes
    #[arg(long, value_name = "NAME", default_value = "h200")]
    gpu: String,
    /// Run it: on emulated ranks, or on this host's GPUs with cuda, with times and the vendor beside it
    #[arg(long, hide_possible_values = true, value_name = "emulator|cuda", value_parser = common::cli::backend())]
    backend: Option<Backend>,
    /// Draw what a rank does when in each variant, by the model, or as it was on GPUs: the file of an SVG
    #[arg(long, value_name = "FILE", conflicts_with_all = ["streamed", "processes", "rank"])]
    timeline: Option<PathBuf>,
    /// One product on one GPU, of matrices in the host's memory, which need not fit the card
    #[arg(long, conflicts_with_all = ["grid", "rooms", "parts", "link", "gpu"])]
    streamed: bool,
    /// Rows of A and columns of B at a time [default: what the card has room for]
    #[arg(long, value_name = "ROWSxCOLUMNS", value_parser = grid, requires = "streamed")]
    panels: Option<[usize; 2]>,
    #[command(flatten)]
    apart: processes::Apart,
    /// Seed of the inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Reads the sides of a grid.
fn grid(text: &str) -> Result<[usize; 2], String> {
    let sides: Vec<usize> = text.split('x').filter_map(|side| side.parse().ok()).collect();
    match sides.as_slice() {
        &[rows, columns] if text.split('x').count() == 2 => Ok([rows, columns]),
        _ => Err("a grid is written ROWSxCOLUMNS, for instance 2x1".to_string()),
    }
}

/// Reads a rate, which is above 0.
fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| format!("`{text}` is no number above 0"))
}

/// All that is said.
#[derive(Debug, Serialize)]
struct Said {
    shape: Shape,
    dtype: &'static str,
    grid: [usize; 2],
    transfers: Vec<Sent>,
    variants: Vec<Row>,
    by_ranks: Vec<Scaled>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ran: Option<Vec<Ran>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<measured::Measured>,
}

/// A panel on its way, as a line of the table.
#[derive(Debug, Serialize)]
struct Sent {
    step: usize,
    from: usize,
    to: usize,
    panel: String,
    bytes: u64,
}

/// A variant, of the rank that receives the most.
#[derive(Debug, Serialize)]
struct Row {
    variant: &'static str,
    received_bytes: u64,
    memory_bytes: u64,
    modelled: Option<Modelled>,
}

/// Times by the model.
#[derive(Debug, Serialize)]
struct Modelled {
    ms: f64,
    waiting_ms: f64,
    /// Of as many times the rate of one GPU.
    efficiency: f64,
    /// What the first rank does when.
    timeline: Vec<Stretch>,
}

/// The same product over other numbers of ranks, by the model.
#[derive(Debug, Serialize)]
struct Scaled {
    ranks: usize,
    grid: [usize; 2],
    received_bytes: u64,
    efficiency: f64,
}

/// A variant that has run.
#[derive(Debug, Serialize)]
struct Ran {
    variant: &'static str,
    right: bool,
}

/// Runs the command. A wrong product ends in exit code 1.
pub fn run(ranks: &Ranks) -> Result<ExitCode, Error> {
    let emulated = ranks.backend == Some(Backend::Emulator) || (ranks.apart.is_asked() && ranks.backend.is_none());
    let shape = ranks.sizes.shape(if emulated { 128 } else { 8192 });
    let element = usual(ranks.dtype)?;
    if ranks.streamed {
        let said = streamed::run(shape, element, ranks.panels, (ranks.backend, ranks.seed))?;
        print(&if ranks.json { json(&said)? } else { said.text() })?;
        return Ok(if said.is_right() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let layout = Layout::new(shape, element, ranks.grid)?.in_parts(ranks.parts.into());
    let gpu = modelled(&ranks.gpu)?;
    let link = ranks.link.unwrap_or(NVLINK / 1e9);
    let model = Model { gpu, dtype: ranks.dtype, rooms: ranks.rooms.into(), link };
    let planned = |variant| Plan::new(layout, variant, ranks.rooms.into());
    if ranks.apart.is_asked() {
        return processes::run(ranks, &planned);
    }
    let plans = Variant::ALL.into_iter().map(planned).collect::<Result<Vec<Plan>, Error>>()?;
    let copies = plans.iter().filter(|plan| plan.variant == Variant::Copies);
    let mut said = Said {
        shape,
        dtype: ranks.dtype.name(),
        grid: ranks.grid,
        transfers: copies.flat_map(transfers).map(sent).collect(),
        variants: plans.iter().map(|plan| row(&model, plan)).collect(),
        by_ranks: [2, 4, 8, 64, 1024].into_iter().filter_map(|count| scaled(&model, shape, count)).collect(),
        ran: None,
        measured: None,
    };
    match ranks.backend {
        None => (),
        Some(Backend::Emulator) => {
            said.ran = Some(plans.iter().map(|plan| ran(plan, ranks.dtype, ranks.seed)).collect::<Result<_, _>>()?)
        }
        Some(_) => said.measured = Some(measured::measure(&plans, ranks.dtype, ranks.seed, true)?),
    }
    if let Some(file) = &ranks.timeline {
        draw((ranks, &model), &layout, &said, file)?;
    }
    print(&if ranks.json { json(&said)? } else { text((ranks, &model), &layout, &said) })?;
    let ran = said.ran.iter().flatten().all(|ran| ran.right);
    let measured = said.measured.as_ref().is_none_or(measured::Measured::is_right);
    Ok(if ran && measured { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The type of A and B, where the other types are those that go with it.
fn usual(dtype: Dtype) -> Result<Element, Error> {
    let known = Types::of(dtype.input).dtype() == Some(dtype) && dtype.input.bytes() > 1;
    if !known {
        return Err(Error::usage(
            format!("no product over ranks in {dtype}"),
            "there are f32, f64, tf32, bf16 and f16",
        ));
    }
    Ok(dtype.input)
}

fn sent(Transfer { step, from, to, panel, bytes }: Transfer) -> Sent {
    Sent { step, from, to, panel: format!("{:?}'s", panel.of), bytes }
}

/// Multiply-adds beyond which no time is predicted: a thousand times what was measured.
const LARGEST: u64 = 1 << 53;

/// Of what the times are.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    /// On which products are predicted.
    pub gpu: &'static Gpu,
    /// Of the products.
    pub dtype: Dtype,
    /// Panels that a rank has room for.
    pub rooms: usize,
    /// 10⁹ bytes per second into a rank.
    pub link: f64,
}

impl Model {
    /// With the usual rooms and the links of an H100.
    pub fn usual(gpu: &'static Gpu, dtype: Dtype) -> Model {
        Model { gpu, dtype, rooms: 2, link: NVLINK / 1e9 }
    }

    /// Seconds of a product on one GPU, as they are predicted; nothing where they are not.
    fn seconds(&self, shape: &Shape) -> Option<f64> {
        if shape.multiply_adds() > LARGEST {
            return None;
        }
        let build = Chooser::new(self.gpu.sm(), self.gpu.sms).best(shape, self.dtype, &Form::PLAIN)?;
        Some(predict::predicted(self.gpu, &build, shape)?.microseconds * 1e-6)
    }

    /// The times of a variant, when each transfer and product is, and its efficiency: of as many times the rate of one GPU.
    pub fn times(&self, layout: &Layout, variant: Variant) -> Option<(Times, Vec<Span>, f64)> {
        let alone = self.seconds(&layout.shape())?;
        let product = |shape: &Shape| self.seconds(shape).unwrap_or(f64::NAN);
        let costs = Costs { link: self.link * 1e9, latency: 0.0, product: &product };
        let (times, spans) = times(layout, variant, self.rooms, &costs);
        times.whole.is_finite().then(|| (times, spans, alone / layout.ranks() as f64 / times.whole))
    }

    /// What the times are, for those who read them.
    pub fn explained(&self, gpu: &str) -> String {
        let link = self.link;
        format!(
            "times by a model, of no measurement: products as they are predicted on {gpu}, {link} GB/s into each rank, copies and collectives alike"
        )
    }
}

fn row(model: &Model, plan: &Plan) -> Row {
    let all = 0..plan.layout.ranks();
    let modelled = model.times(&plan.layout, plan.variant).map(|(times, spans, efficiency)| Modelled {
        ms: times.whole * 1e3,
        waiting_ms: times.waiting() * 1e3,
        efficiency,
        timeline: timeline::stretches(&plan.ranks[0], &spans),
    });
    Row {
        variant: plan.variant.name(),
        received_bytes: all.clone().map(|rank| received(&plan.layout, rank)).max().unwrap_or_default(),
        memory_bytes: all.map(|rank| memory(&plan.layout, rank, plan.ranks[rank].rooms)).max().unwrap_or_default(),
        modelled,
    }
}

/// By copies over the squarest grid, where every rank has something to do.
fn scaled(model: &Model, shape: Shape, count: usize) -> Option<Scaled> {
    let grid = squarest(count);
    let layout = Layout::new(shape, model.dtype.input, grid).ok()?;
    if (shape.m.min(shape.n) as usize) < count {
        return None;
    }
    let (_, _, efficiency) = model.times(&layout, Variant::Copies)?;
    Some(Scaled { ranks: count, grid, received_bytes: received(&layout, 0), efficiency })
}

/// Runs a plan on emulated ranks, and compares every element with the product of whole numbers.
fn ran(plan: &Plan, dtype: Dtype, seed: u64) -> Result<Ran, Error> {
    let shape = plan.layout.shape();
    let problem = Problem::new(shape, dtype, Fill::Integers, seed)?;
    let what = format!("running {} on emulated ranks", plan.variant.name());
    let c = step(&what, || emulated::run(plan, problem.a.bytes(), problem.b.bytes(), None));
    let c = c.map_err(|fault| Error::Fault(fault.to_string()))?;
    let right = measured::check(&Reference::of(&problem), &problem, Fill::Integers, c).right;
    Ok(Ran { variant: plan.variant.name(), right })
}

/// The timelines of all variants, into a file.
fn draw((ranks, model): (&Ranks, &Model), layout: &Layout, said: &Said, file: &Path) -> Result<(), Error> {
    let modelled = || said.variants.iter().filter_map(|row| Some((row.variant, row.modelled.as_ref()?)));
    let (timed, what): (Vec<(&str, &[Stretch])>, String) = match &said.measured {
        Some(measured) => measured.timelines(),
        None => (
            modelled().map(|(variant, modelled)| (variant, modelled.timeline.as_slice())).collect(),
            format!("By a model: products as on {}, {} GB/s into a rank.", ranks.gpu, model.link),
        ),
    };
    if timed.is_empty() {
        return Err(Error::usage(format!("no times are predicted of {layout}"), "make it smaller"));
    }
    let svg = timeline::draw(&timed, &[&layout.to_string(), &what]).finish();
    fs::write(file, svg).map_err(|error| {
        Error::usage(format!("{} cannot be written: {error}", file.display()), "give a file that can be")
    })
}

/// Steps that are shown one by one.
const SHOWN: usize = 16;

fn text((ranks, model): (&Ranks, &Model), layout: &Layout, said: &Said) -> String {
    let mut text = format!("{layout}\n\n");
    let mut lines = vec![["", "from", "to", "panel", "bytes"].map(String::from).to_vec()];
    for Sent { step, from, to, panel, bytes } in said.transfers.iter().take(SHOWN) {
        lines.push(vec![
            format!("step {step}"),
            from.to_string(),
            to.to_string(),
            panel.clone(),
            number(*bytes as f64),
        ]);
    }
    text += &table(&lines);
    if said.transfers.len() > SHOWN {
        text += &format!("and {} more transfers; `--json` has all\n", said.transfers.len() - SHOWN);
    }
    text.push('\n');
    let mut lines = vec![
        ["", "bytes into a rank", "bytes of A and B there", "ms", "waiting", "efficiency"].map(String::from).to_vec(),
    ];
    for row in &said.variants {
        let modelled = row.modelled.as_ref();
        let ms = |of: fn(&Modelled) -> f64| modelled.map_or("-".to_string(), |modelled| format!("{:.3}", of(modelled)));
        lines.push(vec![
            row.variant.to_string(),
            number(row.received_bytes as f64),
            number(row.memory_bytes as f64),
            ms(|modelled| modelled.ms),
            ms(|modelled| modelled.waiting_ms),
            percent(modelled.map(|modelled| modelled.efficiency)),
        ]);
    }
    text += &table(&lines);
    text += &wrapped(&model.explained(&ranks.gpu));
    if !said.by_ranks.is_empty() {
        let mut lines = vec![["ranks", "grid", "bytes into a rank", "efficiency"].map(String::from).to_vec()];
        for Scaled { ranks, grid: [rows, columns], received_bytes, efficiency } in &said.by_ranks {
            let bytes = number(*received_bytes as f64);
            lines.push(vec![ranks.to_string(), format!("{rows}×{columns}"), bytes, percent(Some(*efficiency))]);
        }
        text += &format!("\n{}", table(&lines));
        text += &wrapped("the same product by `copies` over more ranks, by the same model, as if all had such links");
    }
    for Ran { variant, right } in said.ran.iter().flatten() {
        let said = if *right { "right: every element is the sum of whole numbers that it is to be" } else { "WRONG" };
        text += &format!("\n{variant:<12} on {} emulated ranks: {said}", layout.ranks());
    }
    if said.ran.is_some() {
        text.push('\n');
    }
    if let Some(measured) = &said.measured {
        text += &format!("\n{}", measured.text());
    }
    text
}

fn json(said: &impl Serialize) -> Result<String, Error> {
    let json =
        serde_json::to_string_pretty(said).map_err(|error| Error::usage(error.to_string(), "leave --json out"))?;
    Ok(format!("{json}\n"))
}
