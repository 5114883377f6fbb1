//! The product on this host's GPUs: every variant and the vendor's ways, in turns, each checked.

use std::cell::RefCell;
use std::rc::Rc;

use common::progress::step;
use device::vendor::Vendor;
use gemm::check::{Check, Method, Reference};
use gemm::level::Tile;
use gemm::problem::{Fill, Problem};
use gemm::timing::Timing;
use gemm::{Dtype, Error, Shape};
use ranks::gpus::{By, Cards, Contender, Gathered, Work, in_turns};
use ranks::layout::Operand;
use ranks::model::Span;
use ranks::plan::Stream;
use ranks::streamed::Cut;
use ranks::volume::received;
use ranks::{Layout, Plan, Variant};
use serde::Serialize;
use summit::Types;

use super::timeline::{Stretch, stretches};
use super::{numbers, witness};
use crate::output::note;
use crate::row::Kind;
use crate::table::{number, table, wrapped};

/// Rounds, in each of which everybody has a turn.
const ROUNDS: usize = 5;
/// Runs of a turn, behind one that does not count.
const RUNS: usize = 4;

/// Elements of C from which on each number comes from its place, and the check is of random products and some elements.
const WIDE: u64 = 1 << 26;
/// Elements of C from which on only those ways are measured that a reader compares: one GPU, copies, and the vendor's two.
const LARGE: u64 = 1 << 28;

/// The matrices of the host, and what C is held against.
enum Inputs {
    /// From one row of random numbers, with a reference.
    Usual(Box<(Problem, Reference)>),
    /// From their places.
    Large([Vec<u8>; 2], Cut, u64),
}

impl Inputs {
    /// Full of random numbers.
    fn of(shape: Shape, dtype: Dtype, seed: u64) -> Result<Inputs, Error> {
        if elements(&shape) < WIDE || dtype == Dtype::TF32 {
            let problem = step("filling A and B", || Problem::new(shape, dtype, Fill::Reals, seed))?;
            let reference = step("computing what the check needs", || Reference::of(&problem));
            return Ok(Inputs::Usual(Box::new((problem, reference))));
        }
        let cut = Cut::new(shape, Types::of(dtype.input), [shape.m.div_ceil(2), shape.n.div_ceil(2)])?;
        Ok(Inputs::Large(step("filling A and B", || numbers::filled(&cut, seed))?, cut, seed))
    }

    /// A and B.
    fn bytes(&self) -> [&[u8]; 2] {
        match self {
            Inputs::Usual(problem) => [problem.0.a.bytes(), problem.0.b.bytes()],
            Inputs::Large([a, b], ..) => [a, b],
        }
    }

    /// Whether C is their product.
    fn check(&self, c: Vec<u8>) -> bool {
        match self {
            Inputs::Usual(problem) => check(&problem.1, &problem.0, Fill::Reals, c).right,
            Inputs::Large([a, b], cut, seed) => {
                let (right, said) = step("checking the product", || witness::check(cut, [a, b, &c], *seed));
                if !right {
                    note(&format!("note: {said}"));
                }
                right
            }
        }
    }
}

/// Elements of C.
fn elements(shape: &Shape) -> u64 {
    u64::from(shape.m) * u64::from(shape.n)
}

/// The product of the check: within the bound of its type.
pub fn check(reference: &Reference, problem: &Problem, fill: Fill, c: Vec<u8>) -> Check {
    // No tile of one kernel: the product is of several.
    let method = Method { tile: Tile { m: 128, n: 128, k: 64 }, sum: problem.dtype.vendor_sum() };
    step("checking the product", || Check::against(reference, problem, fill, &problem.c.with_bytes(c), method))
}

/// What was measured.
#[derive(Debug, Serialize)]
pub struct Measured {
    gpus: Vec<String>,
    nccl: String,
    cublas: String,
    rows: Vec<Row>,
    traces: Vec<Trace>,
}

/// What the first rank did when, in one run of the summit's variant with an event before and behind each transfer and product.
#[derive(Debug, Serialize)]
struct Trace {
    way: String,
    /// Of all transfers.
    transfers_ms: f64,
    received_bytes: u64,
    /// In which a product ran, two at once counted once.
    products_ms: f64,
    /// To the last product's end.
    whole_ms: f64,
    timeline: Vec<Stretch>,
}

/// One way to multiply.
#[derive(Debug, Serialize)]
struct Row {
    way: String,
    ranks: usize,
    ms: f64,
    /// Distance of the 90th from the 10th percentile, relative to the median.
    spread: f64,
    tflops: f64,
    /// Of as many times what one GPU does by the summit.
    of_one: f64,
    right: bool,
}

/// What is measured among which others.
struct Entry<'a> {
    group: usize,
    about: About,
    contender: Contender<'a>,
}

/// On how many GPUs, and how much of C it is.
struct About {
    gpus: usize,
    part: f64,
    right: bool,
}

/// The same in halves, so that a product begins when the first half is there; nothing where parts were asked for.
fn halves(plan: &Plan) -> Result<Option<Plan>, Error> {
    let layout = plan.layout;
    let parts = layout.parts(Operand::A).max(layout.parts(Operand::B));
    let divides = plan.variant == Variant::Copies && parts == 1;
    divides.then(|| Plan::new(layout.in_parts(2), Variant::Copies, 2 * layout.ranks())).transpose()
}

/// One way that is to be measured.
struct Way<'a> {
    plan: Plan,
    by: By<'a>,
    name: String,
    on: &'a Cards,
    /// Those that keep the same cards busy are measured in turns.
    group: usize,
}

/// All ways but NCCL's gather: one card, the others one by one, then all together.
fn ways<'a>(
    plans: &[Plan],
    is_large: bool,
    (cards, alone): (&'a Cards, &'a [Cards]),
    (vendors, has_nccl): (Option<&'a [[Vendor<'a>; 2]]>, bool),
) -> Result<Vec<Way<'a>>, Error> {
    let layout = plans[0].layout;
    let one = Plan::new(Layout::new(layout.shape(), layout.element(), [1, 1])?, Variant::Copies, 1)?;
    let mut ways = Vec::new();
    for (group, on) in alone.iter().enumerate() {
        let name = if group == 0 { "summit, one GPU".to_string() } else { format!("summit, GPU {group} alone") };
        ways.push(Way { plan: one.clone(), by: By::Summit, name, on, group });
        if let (Some(vendors), 0, false) = (vendors, group, is_large) {
            let name = "cuBLAS, one GPU".to_string();
            ways.push(Way { plan: one.clone(), by: By::Vendor(vendors), name, on, group });
        }
    }
    let (on, group) = (cards, alone.len());
    let several = plans.iter().filter(|plan| plan.layout.ranks() > 1);
    for plan in several.filter(|plan| has_nccl || plan.variant == Variant::Copies) {
        let name = |by, parts| format!("{by}, {}{parts}", plan.variant.name());
        if !is_large || plan.variant == Variant::Copies {
            ways.push(Way { plan: plan.clone(), by: By::Summit, name: name("summit", ""), on, group });
            let way = |plan| Way { plan, by: By::Summit, name: name("summit", " in halves"), on, group };
            ways.extend(halves(plan)?.map(way));
        }
        if let (Some(vendors), true) = (vendors, !is_large || plan.variant == Variant::Collectives) {
            ways.push(Way { plan: plan.clone(), by: By::Vendor(vendors), name: name("cuBLAS", ""), on, group });
        }
    }
    Ok(ways)
}

/// Measures every variant by the summit and by cuBLAS, one GPU alone, and NCCL's gather before cuBLAS; with one rank, one GPU
/// alone. Without `vendor`, cuBLAS has no part in it.
pub fn measure(plans: &[Plan], dtype: Dtype, seed: u64, vendor: bool) -> Result<Measured, Error> {
    let layout = plans[0].layout;
    let (shape, count) = (layout.shape(), layout.ranks());
    let cards = Cards::open(count)?;
    let inputs = Inputs::of(shape, dtype, seed)?;
    let [a, b] = inputs.bytes();
    let nccl = cards.nccl().map_err(|why| note(&format!("note: no collectives: {why}"))).ok();
    let vendors = || cards.vendors().map_err(|why| note(&format!("note: no cuBLAS: {why}"))).ok();
    let vendors = if vendor { vendors() } else { None };
    let alone: Vec<Cards> = (0..count).map(|rank| cards.only(rank)).collect();
    let (mut entries, mut traces) = (Vec::new(), Vec::new());
    let has_nccl = nccl.is_some() && count > 1;
    for way in ways(plans, elements(&shape) >= LARGE, (&cards, &alone), (vendors.as_deref(), has_nccl))? {
        let Way { plan, by, name, on, group } = way;
        let gpus = plan.layout.ranks();
        let mut work = Work::new(on, plan.clone(), by, a, b)?;
        work.submit()?;
        let right = inputs.check(work.product()?);
        if let (By::Summit, true) = (by, gpus > 1) {
            // The first run warms up.
            work.traced()?;
            traces.push(Trace::of(&name, &plan, &work.traced()?[0]));
        }
        let work = Rc::new(RefCell::new(work));
        if let (By::Summit, Variant::Copies, true) = (by, plan.variant, gpus > 1 && plan.layout == layout) {
            entries.extend(products(&work, &layout, right));
        }
        let contender = of_work(name, &work, Work::submit);
        entries.push(Entry { group, about: About { gpus, part: 1.0, right }, contender });
    }
    if let (Some(vendors), true) = (&vendors, has_nccl) {
        match Gathered::new(&cards, vendors, (shape, layout.element()), [a, b]) {
            Ok(mut gathered) => {
                gathered.submit()?;
                let right = inputs.check(gathered.product()?);
                let contender = Contender::new(GATHERED, move || gathered.submit());
                entries.push(Entry { group: count, about: About { gpus: count, part: 1.0, right }, contender });
            }
            Err(error) => note(&format!("note: {error}")),
        }
    }
    Ok(Measured {
        gpus: cards.names().into_iter().map(String::from).collect(),
        nccl: nccl.unwrap_or_else(|| "-".to_string()),
        cublas: vendors.as_ref().and_then(|all| all.first()).map_or("-".to_string(), |[vendor, _]| vendor.version()),
        rows: timed(&cards, &shape, entries)?,
        traces,
    })
}

/// The vendor's way.
const GATHERED: &str = "NCCL's all-gather of B's rows, then cuBLAS";
/// A rank's products of `copies`, while the other GPUs rest.
const ALONE: &str = "'s products, alone";
/// All of them at once, when all panels are there.
const TOGETHER: &str = "all ranks' products, no copies";

/// What a work submits, as one of several contenders.
fn of_work<'a>(
    name: impl Into<String>,
    work: &Rc<RefCell<Work<'a>>>,
    submit: impl Fn(&mut Work<'a>) -> Result<(), Error> + 'a,
) -> Contender<'a> {
    let work = Rc::clone(work);
    Contender::new(name, move || submit(&mut work.borrow_mut()))
}

/// The products of a plan without its copies: each rank's while the other GPUs rest, and all at once. What several GPUs lose at once is lost to
/// the slower one; what copies cost comes on top of that.
fn products<'a>(work: &Rc<RefCell<Work<'a>>>, layout: &Layout, right: bool) -> Vec<Entry<'a>> {
    let count = layout.ranks();
    let mut entries = Vec::new();
    for rank in 0..count {
        let [rows, columns] = layout.block(rank);
        let part = (rows.len() * columns.len()) as f64 / elements(&layout.shape()) as f64;
        let contender = of_work(format!("rank {rank}{ALONE}"), work, move |work| work.products(rank..rank + 1));
        entries.push(Entry { group: rank, about: About { gpus: 1, part, right }, contender });
    }
    let contender = of_work(TOGETHER, work, move |work| work.products(0..count));
    entries.push(Entry { group: count, about: About { gpus: count, part: 1.0, right }, contender });
    entries
}

/// The times of all, where those of a group take turns.
fn timed(cards: &Cards, shape: &Shape, mut entries: Vec<Entry>) -> Result<Vec<Row>, Error> {
    entries.sort_by_key(|entry| entry.group);
    let (mut rows, mut one) = (Vec::new(), None);
    while let Some(group) = entries.first().map(|entry| entry.group) {
        let members = entries.iter().take_while(|entry| entry.group == group).count();
        let (abouts, mut contenders): (Vec<About>, Vec<Contender>) =
            entries.drain(..members).map(|entry| (entry.about, entry.contender)).unzip();
        let times = step("measuring", || in_turns(cards, &mut contenders, ROUNDS, RUNS))?;
        for ((About { gpus, part, right }, contender), times) in abouts.into_iter().zip(&contenders).zip(times) {
            let Timing { median_ms: ms, spread, .. } = Timing::of(times, shape, None);
            let whole = ms / part;
            // The first is one GPU by the summit.
            let of_one = *one.get_or_insert(whole) / whole / gpus as f64;
            let tflops = 2.0 * operations(shape) / whole / 1e9;
            rows.push(Row { way: contender.name.clone(), ranks: gpus, ms, spread, tflops, of_one, right });
        }
    }
    Ok(rows)
}

impl Trace {
    fn of(way: &str, plan: &Plan, spans: &[Span]) -> Trace {
        let of = |stream: Stream| spans.iter().filter(move |span| span.stream == stream as usize);
        let mut products: Vec<[f64; 2]> = of(Stream::Compute).map(|span| [span.start, span.end]).collect();
        products.sort_by(|one, other| one[0].total_cmp(&other[0]));
        let (mut busy, mut until) = (0.0, 0.0);
        for [start, end] in products {
            busy += (end - start.max(until)).max(0.0);
            until = end.max(until);
        }
        Trace {
            way: way.to_string(),
            transfers_ms: of(Stream::Copy).map(|span| span.end - span.start).sum::<f64>() * 1e3,
            received_bytes: received(&plan.layout, 0),
            products_ms: busy * 1e3,
            whole_ms: until * 1e3,
            timeline: stretches(&plan.ranks[0], spans),
        }
    }

    fn line(&self, gathered: Option<&Trace>) -> Vec<String> {
        let longer = gathered
            .map_or("-".to_string(), |of| format!("{:+.1} %", (self.products_ms / of.products_ms - 1.0) * 100.0));
        vec![
            self.way.clone(),
            format!("{:.4}", self.transfers_ms),
            number(self.received_bytes as f64 / self.transfers_ms / 1e6),
            format!("{:.4}", self.products_ms),
            longer,
            format!("{:.4}", self.whole_ms - self.products_ms),
        ]
    }
}

fn operations(shape: &Shape) -> f64 {
    shape.multiply_adds() as f64
}

impl Measured {
    /// Whether all products were right.
    pub fn is_right(&self) -> bool {
        self.rows.iter().all(|row| row.right)
    }

    /// The same as rows of other commands.
    pub fn into_rows(self, layout: &Layout, dtype: Dtype) -> Vec<crate::row::Row> {
        let count = layout.ranks() as u64;
        let of = |said: Row| {
            let mut row = crate::row::Row::new(said.way, String::new(), dtype, layout.shape(), Kind::Measured);
            let bytes = match row.kernel.as_str() {
                _ if said.ranks == 1 => 0,
                TOGETHER => 0,
                GATHERED => {
                    u64::from(layout.shape().k) * u64::from(layout.shape().n) * layout.element().bytes() as u64 / count
                        * (count - 1)
                }
                _ => received(layout, 0),
            };
            row.over(said.ranks, bytes);
            (row.ms, row.spread, row.gflops) = (Some(said.ms), Some(said.spread), Some(said.tflops * 1e3));
            (row.efficiency, row.launches) = (Some(said.of_one), Some(ROUNDS * RUNS));
            row.verdict = if said.right { "right" } else { "wrong" }.to_string();
            row
        };
        self.rows.into_iter().map(of).collect()
    }

    /// A table, with what was measured on.
    pub fn text(&self) -> String {
        let head = ["", "GPUs", "ms", "spread", "TFLOP/s", "of one GPU's, for each", "product"];
        let mut lines = vec![head.map(String::from).to_vec()];
        for row in &self.rows {
            lines.push(vec![
                row.way.clone(),
                row.ranks.to_string(),
                format!("{:.4}", row.ms),
                format!("{:.1} %", row.spread * 100.0),
                number(row.tflops),
                format!("{:.1} %", row.of_one * 100.0),
                if row.right { "right" } else { "WRONG" }.to_string(),
            ]);
        }
        let mut text = table(&lines) + &self.explained();
        if !self.traces.is_empty() {
            let head = ["rank 0", "transfers, ms", "GB/s", "products, ms", "than in gather", "waiting, ms"];
            let mut lines = vec![head.map(String::from).to_vec()];
            let gathered = self.traces.iter().find(|trace| trace.way.ends_with(Variant::Gather.name()));
            lines.extend(self.traces.iter().map(|trace| trace.line(gathered)));
            text += &format!("\n{}", table(&lines));
            text += "of one run each, with an event before and behind each transfer and product\n";
        }
        text
    }

    /// On what it was measured, and where the time of `copies` goes.
    pub fn explained(&self) -> String {
        let on = format!(
            "on {}; NCCL {}, cuBLAS {}; medians of {} runs, taken in turns; spread: from the 10th to the 90th percentile",
            self.gpus.join(", "),
            self.nccl,
            self.cublas,
            ROUNDS * RUNS
        );
        let share =
            "of one GPU's: the rate as a share of that of the summit on the first GPU, times the number of GPUs";
        wrapped(&on) + &wrapped(share) + &self.lost().unwrap_or_default()
    }

    /// Where the time of `copies` goes: to the slower GPU's products alone, to all GPUs at once, and to copies.
    fn lost(&self) -> Option<String> {
        let ms = |name: &str| self.rows.iter().find(|row| row.way == name).map(|row| row.ms);
        let alone = self.rows.iter().filter(|row| row.way.ends_with(ALONE)).map(|row| row.ms).fold(0.0, f64::max);
        let (copies, together) = (ms("summit, copies")?, ms(TOGETHER)?);
        Some(wrapped(&format!(
            "summit, copies: {copies:.4} ms are {alone:.4} of the slower GPU's products, {:+.4} with all GPUs at once and {:+.4} with copies",
            together - alone,
            copies - together
        )))
    }

    /// The variants' timelines, and what they are of.
    pub fn timelines(&self) -> (Vec<(&str, &[Stretch])>, String) {
        let all = self.traces.iter().map(|trace| (trace.way.as_str(), trace.timeline.as_slice())).collect();
        (all, format!("One run each on {}, between events.", self.gpus.join(", ")))
    }
}
