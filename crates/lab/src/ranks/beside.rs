//! One product over several GPUs, every variant a row: what `lab compare --gpus` and `lab sweep --over gpus` show of it.
//!
//! The grid is one row of ranks: A's panels travel, and each product is of whole rows of a rank's block of C, which any kernel multiplies.

use device::{Backend, peers};
use gemm::{Error, Shape};
use ranks::volume::received;
use ranks::{Layout, Plan, Variant};

use super::measured::measure;
use super::{Model, ran, usual};
use crate::flags::{How, modelled};
use crate::output::note;
use crate::row::{Kind, Row};
use crate::table::{maybe, number, percent, wrapped};

/// The size where none is said: a smaller one is too short for several GPUs.
pub const SIZE: u32 = 8192;
/// Sides beyond which emulated ranks multiply a smaller product.
const EMULATED: u32 = 128;

/// What is multiplied, and where.
#[derive(Debug, Clone, Copy)]
pub struct Beside<'a> {
    shape: Shape,
    how: &'a How,
    model: Model,
    vendor: bool,
    /// GPUs that are there and to be used; without any, ranks are emulated.
    gpus: Option<usize>,
}

impl<'a> Beside<'a> {
    /// On GPUs, where they are asked for or there are as many as are wanted; else on emulated ranks.
    pub fn new(shape: Shape, how: &'a How, vendor: bool, wanted: usize) -> Result<Beside<'a>, Error> {
        unheard(how)?;
        usual(how.dtype)?;
        let there = if how.backend == Backend::Emulator { 0 } else { peers::count() };
        let measures = how.backend == Backend::Cuda || how.backend == Backend::Auto && there >= wanted;
        if how.backend == Backend::Auto && !measures {
            note(&format!("note: {wanted} GPUs are wanted and {there} are here, so ranks are emulated"));
        }
        let model = Model::usual(modelled(&how.gpu)?, how.dtype);
        Ok(Beside { shape, how, model, vendor, gpus: measures.then_some(there) })
    }

    /// GPUs that are measured; nothing where ranks are emulated.
    pub fn gpus(&self) -> Option<usize> {
        self.gpus
    }

    /// Where it runs.
    pub fn place(&self) -> String {
        if self.gpus.is_some() { "on GPUs" } else { "on emulated ranks" }.to_string()
    }

    /// A row for every variant over so many ranks, on GPUs for all that is measured beside them as well; and what is to be said of them.
    pub fn rows(&self, count: usize) -> Result<(Vec<Row>, String), Error> {
        let layout = Layout::new(self.shape, usual(self.how.dtype)?, [1, count])?;
        let planned = |variant| Plan::new(layout, variant, self.model.rooms);
        let plans = Variant::ALL.into_iter().map(planned).collect::<Result<Vec<Plan>, Error>>()?;
        if self.gpus.is_some() {
            let measured = measure(&plans, self.how.dtype, self.how.seed, self.vendor)?;
            let said = measured.explained();
            return Ok((measured.into_rows(&layout, self.how.dtype), said));
        }
        let rows = plans.iter().map(|plan| self.emulated(plan)).collect::<Result<Vec<Row>, Error>>()?;
        let ran =
            rows.iter().find_map(|row| row.counted_at.as_ref()).map_or_else(String::new, |at| format!(" at {at}"));
        let ran = format!("each variant has run on emulated ranks{ran}; cuBLAS runs on GPUs alone");
        Ok((rows, wrapped(&self.model.explained(&self.how.gpu)) + &wrapped(&ran)))
    }

    /// A variant by the model, which has run on emulated ranks, at a smaller size where this one is large.
    fn emulated(&self, plan: &Plan) -> Result<Row, Error> {
        let (layout, dtype) = (&plan.layout, self.how.dtype);
        let mut row = Row::new(plan.variant.name().to_string(), String::new(), dtype, self.shape, Kind::Predicted);
        let [m, n, k] = [self.shape.m, self.shape.n, self.shape.k].map(|size| size.min(EMULATED));
        let small = Shape { m, n, k };
        row.counted_at = (small != self.shape).then(|| small.to_string());
        let runs = Plan::new(Layout::new(small, layout.element(), layout.grid())?, plan.variant, self.model.rooms)?;
        row.verdict = if ran(&runs, dtype, self.how.seed)?.right { "right" } else { "wrong" }.to_string();
        row.over(layout.ranks(), received(layout, 0));
        if let Some((times, _, efficiency)) = self.model.times(layout, plan.variant) {
            row.time(times.whole * 1e3);
            row.efficiency = Some(efficiency);
        }
        Ok(row)
    }
}

/// Refuses what has no meaning for ranks.
fn unheard(how: &How) -> Result<(), Error> {
    let unheard = [
        ("--no-sanitize", how.no_sanitize),
        ("--instruction-limit", how.instruction_limit != emulator::Launch::INSTRUCTION_LIMIT),
    ];
    match unheard.into_iter().find(|(_, unheard)| *unheard) {
        Some((flag, _)) => Err(Error::usage(
            format!("a product over several GPUs does not take {flag}"),
            "it takes sizes, --dtype, --backend, --gpu and --seed",
        )),
        None => Ok(()),
    }
}

/// The rows as the cells of a table.
pub fn cells(rows: &[Row]) -> Vec<Vec<String>> {
    let measured = rows.iter().any(|row| row.ms_is == Kind::Measured);
    let ms = if measured { "ms" } else { "modelled ms" };
    let mut head = vec!["", "GPUs", "bytes into a rank", ms, "TFLOP/s", "of one GPU's, for each", "check"];
    if measured {
        head.insert(4, "spread");
    }
    let line = |row: &Row| {
        let bytes = row.received_bytes.map_or_else(|| "-".to_string(), |bytes| number(bytes as f64));
        let mut line = vec![row.kernel.clone(), row.ranks.unwrap_or(1).to_string(), bytes, maybe(row.ms)];
        if measured {
            line.push(percent(row.spread));
        }
        line.extend([maybe(row.gflops.map(|rate| rate / 1e3)), percent(row.efficiency), row.verdict.clone()]);
        line
    };
    let head = head.into_iter().map(String::from).collect();
    std::iter::once(head).chain(rows.iter().map(line)).collect()
}
