//! What was counted of a launch, and what a modelled GPU would make of it: as named numbers, and for a person, with the same words for
//! every kernel.

use std::fmt;

use emulator::bound::Bound;
use emulator::{Counters, TensorCount, TensorType};

use crate::modelled::{Modelled, Otherwise, Predicted, PredictionError};
use crate::numbers::{Label, Number, Numbers};
use crate::text::line;

/// Types of tensor cores' products that are whole numbers.
const WHOLE: [TensorType; 3] = [TensorType::Int8, TensorType::Int4, TensorType::Bit];

/// Counts as a report shows them.
#[derive(Debug, Clone, Copy)]
pub struct Counted<'a> {
    /// The counts.
    pub total: &'a Counters,
    /// The operations in relation to those that a product needs, where that is to be said.
    pub of_product: Option<f64>,
}

/// Rows of the tables of memory accesses, with the names of the columns.
const GLOBAL: (&[&str], [&str; 5]) = (
    &["global loads", "global stores", "bulk loads", "bulk stores"],
    ["requests", "sectors", "per request", "ideal", "bytes"],
);
const SHARED: (&[&str], [&str; 5]) =
    (&["shared loads", "shared stores", "of wgmma"], ["requests", "wavefronts", "per request", "ideal", "bytes"]);

impl Counted<'_> {
    /// The numbers, in the order of the lines; those that no line has come last.
    pub fn numbers(&self) -> Numbers {
        let total = self.total;
        let products: u64 = total.tensor.iter().map(|count| count.multiply_adds).sum();
        let whole: u64 = WHOLE.map(|kind| total.tensor(kind).multiply_adds).iter().sum();
        let mut numbers =
            vec![Number::counted("FLOPs", total.flops()), Number::counted("FLOPs by FMA", 2 * fmas(total))];
        let of_cores = [(BY_CORES, products - whole), (OF_WHOLE, whole)].into_iter().filter(|(_, count)| *count > 0);
        numbers.extend(of_cores.map(|(name, count)| Number::counted(name, 2 * count)));
        let (a_byte, intensity) = match whole {
            0 => (FLOPS_A_BYTE, total.arithmetic_intensity()),
            _ => (OPERATIONS_A_BYTE, 2.0 * whole as f64 / (32 * total.global_sectors()) as f64),
        };
        // With two decimals where it is below 1.
        let times = |times: f64| Number::new(OF_PRODUCT, times, if times < 0.995 { 2 } else { 1 }, Label::Counted);
        numbers.extend(self.of_product.map(times));
        numbers.extend([
            Number::counted("warp instructions", total.warp_instructions()),
            Number::counted("thread instructions", total.thread_instructions()),
            Number::counted("barriers (sum over warps)", total.barriers),
            Number::counted("divergent branches", total.divergent_branches),
            Number::counted("branches", total.branches),
            Number::new("branch efficiency", 100.0 * total.branch_efficiency(), 1, Label::Counted).of("%"),
            Number::new(a_byte, intensity, 2, Label::Counted),
        ]);
        for (row, g) in [("global loads", &total.global_load), ("global stores", &total.global_store)] {
            numbers.extend(cells(row, GLOBAL.1, [g.requests, g.sectors, g.bytes], Some(g.ideal_sectors)));
        }
        let bulk = &total.bulk;
        for (row, copies, bytes) in
            [("bulk loads", bulk.loads, bulk.bytes_read), ("bulk stores", bulk.stores, bulk.bytes_written)]
        {
            if copies > 0 {
                numbers.extend(cells(row, GLOBAL.1, [copies, bytes / 32, bytes], None));
            }
        }
        let operands = total.operand_wavefronts();
        if total.shared_load.requests + total.shared_store.requests + operands > 0 {
            for (row, s) in [("shared loads", &total.shared_load), ("shared stores", &total.shared_store)] {
                numbers.extend(cells(row, SHARED.1, [s.requests, s.wavefronts, s.bytes], Some(s.ideal_wavefronts)));
            }
        }
        if operands > 0 {
            let of_wgmma = |count: &&TensorCount| count.operand_wavefronts > 0;
            let requests = total.tensor.iter().filter(of_wgmma).map(|count| count.instructions).sum();
            numbers.extend(cells("of wgmma", SHARED.1, [requests, operands, 128 * operands], None));
        }
        let peers = [("requests", total.peer_shared.requests), ("bytes", total.peer_shared.bytes)];
        let peers = peers.into_iter().filter(|_| !total.peer_shared.is_empty());
        numbers.extend(peers.map(|(what, count)| Number::counted(format!("peers' shared memory: {what}"), count)));
        let kinds = TensorType::ALL.into_iter().map(|kind| (kind, total.tensor(kind).instructions));
        let kinds = kinds.filter(|(_, instructions)| *instructions > 0);
        numbers.extend(kinds.map(|(kind, count)| Number::counted(format!("tensor instructions: {kind:?}"), count)));
        Numbers(numbers)
    }
}

/// What the operations are in relation to.
const OF_PRODUCT: &str = "times what the product needs";

/// A row of a table: requests, what they cost, what that is per request, and at least, and bytes.
fn cells(row: &str, columns: [&str; 5], [requests, cost, bytes]: [u64; 3], ideal: Option<u64>) -> Vec<Number> {
    let name = |column: usize| format!("{row}: {}", columns[column]);
    let per_request = |column, cost: u64| {
        (requests > 0).then(|| Number::new(name(column), cost as f64 / requests as f64, 2, Label::Counted))
    };
    let counted = |column, count| Some(Number::counted(name(column), count));
    let ideal = ideal.and_then(|ideal| per_request(3, ideal));
    [counted(0, requests), counted(1, cost), per_request(2, cost), ideal, counted(4, bytes)]
        .into_iter()
        .flatten()
        .collect()
}

/// A table of those rows that there are.
fn table(f: &mut fmt::Formatter<'_>, numbers: &Numbers, (rows, columns): (&[&str], [&str; 5])) -> fmt::Result {
    let there = |row: &&&str| numbers.get(&format!("{row}: {}", columns[0])).is_some();
    let rows: Vec<&&str> = rows.iter().filter(there).collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n{}", row("", columns.map(String::from)))?;
    rows.iter().try_for_each(|name| {
        writeln!(f, "{}", row(name, columns.map(|column| numbers.shown(&format!("{name}: {column}")))))
    })
}

impl fmt::Display for Counted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = self.numbers();
        let there = |text: &&(&str, &str)| numbers.get(text.0).is_some();
        let by_cores: String = WITH_CORES.iter().filter(there).map(|(_, text)| *text).collect();
        line(f, "work", numbers.fill(&format!("{{FLOPs}} FLOPs, {{FLOPs by FMA}} by FMA{by_cores}")))?;
        if self.of_product.is_some() {
            line(f, "", numbers.fill("{times what the product needs} times what the product needs, 2·M·N·K"))?;
        }
        for (name, text) in LINES {
            line(f, name, numbers.fill(text))?;
        }
        INTENSITY.iter().find(there).map_or(Ok(()), |(_, text)| line(f, "intensity", numbers.fill(text)))?;
        table(f, &numbers, GLOBAL)?;
        table(f, &numbers, SHARED)
    }
}

const BY_CORES: &str = "FLOPs by tensor cores";
const OF_WHOLE: &str = "operations on whole numbers by tensor cores";
/// What is said of tensor cores, by the number that there is.
const WITH_CORES: [(&str, &str); 2] = [
    (BY_CORES, ", {FLOPs by tensor cores} by tensor cores"),
    (OF_WHOLE, ", {operations on whole numbers by tensor cores} operations on whole numbers by tensor cores"),
];
const FLOPS_A_BYTE: &str = "FLOPs per byte";
const OPERATIONS_A_BYTE: &str = "operations per byte";
const INTENSITY: [(&str, &str); 2] = [
    (FLOPS_A_BYTE, "{FLOPs per byte} FLOPs per byte of the sectors that the SMs ask for"),
    (OPERATIONS_A_BYTE, "{operations per byte} operations per byte of the sectors that the SMs ask for"),
];
/// The lines of every kernel's counts.
const LINES: [(&str, &str); 3] = [
    ("", "{warp instructions} warp instructions, {thread instructions} thread instructions"),
    ("", "{barriers (sum over warps)} barriers (sum over warps)"),
    ("", "{divergent branches} of {branches} branches split a warp: branch efficiency {branch efficiency}%"),
];

fn fmas(total: &emulator::Counters) -> u64 {
    [emulator::Class::FmaF32, emulator::Class::FmaF64].map(|class| total.class(class).thread).iter().sum()
}

fn row(name: &str, cells: [String; 5]) -> String {
    let [a, b, c, d, e] = cells;
    format!("{name:<14}{a:>14}{b:>16}{c:>13}{d:>8}{e:>18}").trim_end().to_string()
}

impl Modelled {
    /// The numbers, in the order of the lines.
    pub fn numbers(&self) -> Numbers {
        let Modelled { resources, occupancy, clusters, otherwise, bound, predicted, .. } = self;
        let mut numbers = Vec::new();
        if let Some(r) = resources {
            numbers.push(Number::stated("registers per thread", r.registers));
            numbers.push(Number::stated("bytes spilled", r.spilled_bytes));
            numbers.push(Number::stated("bytes of shared memory per block", r.shared_bytes));
        }
        if let Some(o) = occupancy {
            numbers.push(Number::stated("blocks per SM", o.blocks_per_sm));
            numbers.push(Number::stated("warps per SM", o.warps_per_sm));
            numbers.push(Number::new("occupancy", 100.0 * o.share, 0, Label::Stated).of("%"));
        }
        if let Some(clusters) = clusters {
            numbers.push(Number::stated("clusters at a time", clusters.resident));
            numbers.push(Number::stated("blocks of a cluster", clusters.blocks));
        }
        for Otherwise { ptxas, registers, blocks_per_sm, .. } in otherwise {
            numbers.push(Number::stated(format!("ptxas {ptxas}: registers"), *registers));
            numbers.push(Number::stated(format!("ptxas {ptxas}: blocks"), *blocks_per_sm));
        }
        let Bound { seconds, .. } = bound;
        numbers.push(Number::new("bound", seconds * 1e6, 2, Label::Bound).of("µs"));
        if let Some(Predicted { microseconds, error, .. }) = predicted {
            numbers.push(Number::new("predicted", *microseconds, 2, Label::Predicted).of("µs"));
            if let Some(PredictionError { shapes, median }) = error {
                numbers.push(Number::stated("shapes of the prediction", *shapes as u64));
                numbers.push(Number::new("error of the prediction", 100.0 * median, 1, Label::Measured).of("%"));
            }
        }
        Numbers(numbers)
    }
}

/// What the modelled GPU would make of the launch: what it needs, how much of it fits, how fast it cannot be.
impl fmt::Display for Modelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Modelled { gpu, architecture, resources, ptxas, occupancy, clusters, otherwise, bound, predicted } = self;
        let numbers = self.numbers();
        line(f, "modelled", format!("{gpu} (sm_{architecture})"))?;
        if let (Some(r), Some(o)) = (resources, occupancy) {
            let spills = if r.spilled_bytes == 0 { "" } else { " ({bytes spilled} bytes spilled)" };
            let needs = "{bytes of shared memory per block} bytes of shared memory per block";
            line(f, "needs", numbers.fill(&format!("{{registers per thread}} registers per thread{spills}, {needs}")))?;
            let limited: Vec<String> = o.limited_by.iter().map(|resource| resource.to_string()).collect();
            let fits = numbers.fill("{blocks per SM} blocks = {warps per SM} warps per SM, {occupancy}%");
            line(f, "occupancy", format!("{fits}, limited by {}", limited.join(" and ")))?;
            clusters.iter().try_for_each(|clusters| line(f, "clusters", clusters))?;
            if let (Some(ptxas), false) = (ptxas, otherwise.is_empty()) {
                line(f, "", format!("by ptxas {ptxas}, and otherwise by"))?;
            }
            for Otherwise { ptxas, blocks_per_sm, .. } in otherwise {
                let blocks = if *blocks_per_sm == 1 { "block" } else { "blocks" };
                let by = format!("ptxas {ptxas}: ");
                line(f, "", numbers.fill(&format!("{by}{{{by}registers}} registers, {{{by}blocks}} {blocks}")))?;
            }
        } else {
            line(f, "needs", format!("unknown: no ptxas has said it for sm_{architecture}"))?;
        }
        line(f, "bound", numbers.fill("no launch there takes less than {bound} µs: ") + &bound.bottleneck.to_string())?;
        let Some(Predicted { gpu, error, .. }) = predicted else { return Ok(()) };
        line(f, "predicted", numbers.fill("{predicted} µs, from launches at other shapes on an ") + gpu)?;
        let of_error =
            "at {shapes of the prediction} shapes half of such times were off by less than {error of the prediction}%";
        error.iter().try_for_each(|_| line(f, "", numbers.fill(of_error)))
    }
}

#[cfg(test)]
mod tests {
    use emulator::TensorType;

    use super::*;

    #[test]
    fn products_and_copies_beside_the_threads_have_lines_of_their_own() {
        let mut total = Counters::default();
        let shown = |total: &Counters| Counted { total, of_product: None }.to_string();
        let plain = shown(&total);
        let tensor = &mut total.tensor[TensorType::Bf16 as usize];
        (tensor.instructions, tensor.multiply_adds, tensor.operand_wavefronts) = (8, 262_144, 96);
        (total.bulk.loads, total.bulk.bytes_read, total.bulk.stores, total.bulk.bytes_written) = (4, 49_152, 1, 2048);
        let text = shown(&total);
        let new: Vec<String> = text
            .lines()
            .filter(|line| !plain.contains(line))
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            new,
            [
                "work 0 FLOPs, 0 by FMA, 524,288 by tensor cores",
                "intensity 0.00 FLOPs per byte of the sectors that the SMs ask for",
                "bulk loads 4 1,536 384.00 - 49,152",
                "bulk stores 1 64 64.00 - 2,048",
                "requests wavefronts per request ideal bytes",
                "shared loads 0 0 - - 0",
                "shared stores 0 0 - - 0",
                "of wgmma 8 96 12.00 - 12,288",
            ]
        );
        total.tensor[TensorType::Bf16 as usize].multiply_adds = 0;
        total.tensor[TensorType::Int8 as usize].multiply_adds = 1024;
        let text = shown(&total);
        let first = |word: &str| text.lines().find(|line| line.starts_with(word)).unwrap().to_string();
        assert!(first("work").ends_with("0 by FMA, 2,048 operations on whole numbers by tensor cores"), "{text}");
        assert!(first("intensity").ends_with(" operations per byte of the sectors that the SMs ask for"), "{text}");
    }
}
