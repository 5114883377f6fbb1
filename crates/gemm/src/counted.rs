//! What was counted of a launch, and what a modelled GPU would make of it, for a person: the same words for every kernel.

use std::fmt;

use emulator::bound::Bound;
use emulator::{Counters, TensorCount, TensorType};

use crate::modelled::{Modelled, Otherwise, Predicted, PredictionError};
use crate::text::{count, line, ratio};

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

impl fmt::Display for Counted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total;
        let products: u64 = total.tensor.iter().map(|count| count.multiply_adds).sum();
        let whole: u64 = WHOLE.map(|kind| total.tensor(kind).multiply_adds).iter().sum();
        let of_cores = match products {
            0 => String::new(),
            _ if whole > 0 => format!(", {} operations on whole numbers by tensor cores", count(2 * products)),
            _ => format!(", {} by tensor cores", count(2 * products)),
        };
        line(f, "work", format!("{} FLOPs, {} by FMA{of_cores}", count(total.flops()), count(2 * fmas(total))))?;
        if let Some(times) = self.of_product {
            line(f, "", format!("{} times what the product needs, 2·M·N·K", times_of(times)))?;
        }
        let (warp, thread) = (total.warp_instructions(), total.thread_instructions());
        line(f, "", format!("{} warp instructions, {} thread instructions", count(warp), count(thread)))?;
        line(f, "", format!("{} barriers (per warp)", count(total.barriers)))?;
        let split = format!("{} of {} branches", count(total.divergent_branches), count(total.branches));
        line(f, "", format!("{split} split a warp: branch efficiency {:.1}%", 100.0 * total.branch_efficiency()))?;
        let (operations, what) = match whole {
            0 => (total.arithmetic_intensity(), "FLOPs"),
            _ => (2.0 * whole as f64 / (32 * total.global_sectors()) as f64, "operations"),
        };
        line(f, "intensity", format!("{operations:.2} {what} per byte of the sectors that the SMs ask for"))?;

        writeln!(f, "\n{}", row("", ["requests", "sectors", "per request", "ideal", "bytes"].map(String::from)))?;
        for (name, g) in [("global loads", &total.global_load), ("global stores", &total.global_store)] {
            let ideal = ratio(g.ideal_sectors, g.requests);
            let cells = [count(g.requests), count(g.sectors), ratio(g.sectors, g.requests), ideal, count(g.bytes)];
            writeln!(f, "{}", row(name, cells))?;
        }
        let bulk = &total.bulk;
        for (name, copies, bytes) in
            [("bulk loads", bulk.loads, bulk.bytes_read), ("bulk stores", bulk.stores, bulk.bytes_written)]
        {
            if copies > 0 {
                let cells =
                    [count(copies), count(bytes / 32), ratio(bytes / 32, copies), "-".to_string(), count(bytes)];
                writeln!(f, "{}", row(name, cells))?;
            }
        }
        if total.shared_load.requests + total.shared_store.requests + total.operand_wavefronts() == 0 {
            return Ok(());
        }
        writeln!(f, "\n{}", row("", ["requests", "wavefronts", "per request", "ideal", "bytes"].map(String::from)))?;
        for (name, s) in [("shared loads", &total.shared_load), ("shared stores", &total.shared_store)] {
            let ideal = ratio(s.ideal_wavefronts, s.requests);
            let cells =
                [count(s.requests), count(s.wavefronts), ratio(s.wavefronts, s.requests), ideal, count(s.bytes)];
            writeln!(f, "{}", row(name, cells))?;
        }
        if total.operand_wavefronts() > 0 {
            let of_wgmma = |count: &&TensorCount| count.operand_wavefronts > 0;
            let requests = total.tensor.iter().filter(of_wgmma).map(|count| count.instructions).sum();
            let wavefronts = total.operand_wavefronts();
            let [per_request, bytes] = [ratio(wavefronts, requests), count(128 * wavefronts)];
            writeln!(
                f,
                "{}",
                row("of wgmma", [count(requests), count(wavefronts), per_request, "-".to_string(), bytes])
            )?;
        }
        Ok(())
    }
}

fn fmas(total: &emulator::Counters) -> u64 {
    [emulator::Class::FmaF32, emulator::Class::FmaF64].map(|class| total.class(class).thread).iter().sum()
}

fn row(name: &str, cells: [String; 5]) -> String {
    let [a, b, c, d, e] = cells;
    format!("{name:<14}{a:>14}{b:>16}{c:>13}{d:>8}{e:>18}").trim_end().to_string()
}

/// A ratio, with two decimals where it is below 1.
fn times_of(times: f64) -> String {
    if times < 0.995 { format!("{times:.2}") } else { format!("{times:.1}") }
}

/// What the modelled GPU would make of the launch: what it needs, how much of it fits, how fast it cannot be.
impl fmt::Display for Modelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Modelled { gpu, architecture, resources, ptxas, occupancy, clusters, otherwise, bound, predicted } = self;
        line(f, "modelled", format!("{gpu} (sm_{architecture})"))?;
        let (Some(r), Some(o)) = (resources, occupancy) else {
            line(f, "needs", format!("unknown: no ptxas has said it for sm_{architecture}"))?;
            return times_there(f, bound, predicted.as_ref());
        };
        let spills = if r.spilled_bytes == 0 { String::new() } else { format!(" ({} bytes spilled)", r.spilled_bytes) };
        let shared = format!("{} bytes of shared memory per block", r.shared_bytes);
        line(f, "needs", format!("{} registers per thread{spills}, {shared}", r.registers))?;
        let limited: Vec<String> = o.limited_by.iter().map(|resource| resource.to_string()).collect();
        let fits = format!("{} blocks = {} warps per SM, {:.0}%", o.blocks_per_sm, o.warps_per_sm, 100.0 * o.share);
        line(f, "occupancy", format!("{fits}, limited by {}", limited.join(" and ")))?;
        clusters.iter().try_for_each(|clusters| line(f, "clusters", clusters))?;
        if let (Some(ptxas), false) = (ptxas, otherwise.is_empty()) {
            line(f, "", format!("by ptxas {ptxas}, and otherwise by"))?;
            for Otherwise { ptxas, registers, blocks_per_sm, .. } in otherwise {
                let blocks = if *blocks_per_sm == 1 { "block" } else { "blocks" };
                line(f, "", format!("ptxas {ptxas}: {registers} registers, {blocks_per_sm} {blocks}"))?;
            }
        }
        times_there(f, bound, predicted.as_ref())
    }
}

/// The least time that a launch takes on the modelled GPU, and the time that it is predicted to take.
fn times_there(f: &mut fmt::Formatter<'_>, bound: &Bound, predicted: Option<&Predicted>) -> fmt::Result {
    let microseconds = bound.seconds * 1e6;
    line(f, "bound", format!("no launch there takes less than {microseconds:.2} µs: {}", bound.bottleneck))?;
    let Some(Predicted { microseconds, gpu, error }) = predicted else { return Ok(()) };
    line(f, "predicted", format!("{microseconds:.2} µs, from launches at other shapes on an {gpu}"))?;
    let Some(PredictionError { shapes, median }) = error else { return Ok(()) };
    line(f, "", format!("at {shapes} shapes half of such times were off by less than {:.1}%", 100.0 * median))
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
