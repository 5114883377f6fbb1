//! The product on this host's GPUs: every variant and the vendor's ways, in turns, each checked.

use common::progress::step;
use device::vendor::Vendor;
use gemm::check::{Check, Method, Reference};
use gemm::level::Tile;
use gemm::problem::{Fill, Problem};
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
use crate::table::{number, percent, table};

/// Rounds, in each of which everybody has a turn.
const ROUNDS: usize = 5;
/// Runs of a turn, behind one that does not count.
const RUNS: usize = 4;

/// Elements of C beyond which each number comes from its place, and the check is of random products alone; and beyond which only those
/// ways are measured that a reader compares: one GPU, copies, and the vendor's two.
const LARGE: u64 = 1 << 28;

/// The matrices of the host, and what C is held against.
enum Inputs {
    /// From one row of random numbers, with a reference.
    Usual(Box<(Problem, Reference)>),
    /// From their places.
    Large([Vec<u8>; 2], Cut, u64),
}

impl Inputs {
    fn of(shape: Shape, dtype: Dtype, seed: u64) -> Result<Inputs, Error> {
        if u64::from(shape.m) * u64::from(shape.n) < LARGE {
            let problem = step("filling A and B", || Problem::new(shape, dtype, Fill::Reals, seed))?;
            let reference = step("computing what the check needs", || Reference::of(&problem));
            return Ok(Inputs::Usual(Box::new((problem, reference))));
        }
        let cut = Cut::new(shape, Types::of(dtype.input), [shape.m.div_ceil(2), shape.n.div_ceil(2)])?;
        Ok(Inputs::Large(step("filling A and B", || numbers::filled(&cut, seed))?, cut, seed))
    }

    fn bytes(&self) -> [&[u8]; 2] {
        match self {
            Inputs::Usual(problem) => [problem.0.a.bytes(), problem.0.b.bytes()],
            Inputs::Large([a, b], ..) => [a, b],
        }
    }

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

    fn is_large(&self) -> bool {
        matches!(self, Inputs::Large(..))
    }
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
    tflops: f64,
    /// Of as many times what one GPU does by the summit.
    of_one: f64,
    right: bool,
}

/// The product of the check: within the bound of its type.
pub fn check(reference: &Reference, problem: &Problem, fill: Fill, c: Vec<u8>) -> Check {
    // No tile of one kernel: the product is of several.
    let method = Method { tile: Tile { m: 128, n: 128, k: 64 }, sum: problem.dtype.vendor_sum() };
    step("checking the product", || Check::against(reference, problem, fill, &problem.c.with_bytes(c), method))
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
    for plan in plans.iter().filter(|plan| has_nccl || plan.variant == Variant::Copies) {
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

/// Measures every variant by the summit and by cuBLAS, one GPU alone, and NCCL's gather before cuBLAS.
pub fn measure(plans: &[Plan], dtype: Dtype, seed: u64) -> Result<Measured, Error> {
    let layout = plans[0].layout;
    let (shape, count) = (layout.shape(), layout.ranks());
    let cards = Cards::open(count)?;
    let inputs = Inputs::of(shape, dtype, seed)?;
    let [a, b] = inputs.bytes();
    let nccl = cards.nccl().map_err(|why| note(&format!("note: no collectives: {why}"))).ok();
    let vendors = cards.vendors().map_err(|why| note(&format!("note: no cuBLAS: {why}"))).ok();
    let alone: Vec<Cards> = (0..count).map(|rank| cards.only(rank)).collect();
    let (mut contenders, mut of_way, mut traces) = (Vec::new(), Vec::new(), Vec::new());
    for way in ways(plans, inputs.is_large(), (&cards, &alone), (vendors.as_deref(), nccl.is_some()))? {
        let Way { plan, by, name, on, group } = way;
        let ranks = plan.layout.ranks();
        let mut work = Work::new(on, plan.clone(), by, a, b)?;
        work.submit()?;
        of_way.push((group, ranks, inputs.check(work.product()?)));
        if let (By::Summit, true) = (by, ranks > 1) {
            // The first run warms up.
            work.traced()?;
            traces.push(Trace::of(&name, &plan, &work.traced()?[0]));
        }
        contenders.push(Contender::plan(name, work));
    }
    if let (Some(vendors), true) = (&vendors, nccl.is_some()) {
        match Gathered::new(&cards, vendors, (shape, layout.element()), [a, b]) {
            Ok(mut gathered) => {
                gathered.submit()?;
                of_way.push((count, count, inputs.check(gathered.product()?)));
                contenders.push(Contender::vendor("NCCL's all-gather of B's rows, then cuBLAS", gathered));
            }
            Err(error) => note(&format!("note: {error}")),
        }
    }
    let (mut times, mut rest) = (Vec::new(), contenders.as_mut_slice());
    for group in of_way.chunk_by(|one, other| one.0 == other.0) {
        let (now, later) = rest.split_at_mut(group.len());
        times.extend(step("measuring", || in_turns(&cards, now, ROUNDS, RUNS))?);
        rest = later;
    }
    let one = times[0];
    let row = |((contender, ms), (_, ranks, right)): ((&Contender, f64), (usize, usize, bool))| Row {
        way: contender.name.clone(),
        ranks,
        ms,
        tflops: 2.0 * operations(&shape) / ms / 1e9,
        of_one: one / ms / ranks as f64,
        right,
    };
    let rows = contenders.iter().zip(times).zip(of_way).map(row).collect();
    Ok(Measured {
        gpus: cards.names().into_iter().map(String::from).collect(),
        nccl: nccl.unwrap_or_else(|| "-".to_string()),
        cublas: vendors.as_ref().and_then(|all| all.first()).map_or("-".to_string(), |[vendor, _]| vendor.version()),
        rows,
        traces,
    })
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

    /// A table, with what was measured on.
    pub fn text(&self) -> String {
        let head = ["", "GPUs", "ms", "TFLOP/s", "of one GPU's, for each", "product"];
        let mut lines = vec![head.map(String::from).to_vec()];
        for row in &self.rows {
            lines.push(vec![
                row.way.clone(),
                row.ranks.to_string(),
                format!("{:.4}", row.ms),
                number(row.tflops),
                percent(Some(row.of_one)),
                if row.right { "right" } else { "WRONG" }.to_string(),
            ]);
        }
        let on = format!(
            "on {}; NCCL {}, cuBLAS {}; medians of {} runs, taken in turns\n",
            self.gpus.join(", "),
            self.nccl,
            self.cublas,
            ROUNDS * RUNS
        );
        let mut text = table(&lines) + &on;
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

    /// The variants' timelines, and what they are of.
    pub fn timelines(&self) -> (Vec<(&str, &[Stretch])>, String) {
        let all = self.traces.iter().map(|trace| (trace.way.as_str(), trace.timeline.as_slice())).collect();
        (all, format!("One run each on {}, between events.", self.gpus.join(", ")))
    }
}
