//! The tables of `press tune`.

use device::Device;
use emulator::gpu::Gpu;
use gemm::{Dtype, Error};
use summit::tuned::Best;

use super::Tune;
use super::prune::Pruned;
use super::rank::{Ranked, ranked};
use lab::bench::peak;
use lab::output::{Form, Rows};
use lab::row::{Kind, Row};
use lab::table::{maybe, percent, table};

/// Where it runs.
pub fn heading(dtype: Dtype, device: &Device, gpu: &Gpu) -> String {
    match device {
        Device::Cuda(there) => format!("{dtype}, on {}; pruned by the model of the {}\n", there.name(), gpu.name),
        Device::Emulator => format!("{dtype}, for the {}, on the emulator\n", gpu.name),
    }
}

/// Without a GPU: what would be measured, for every shape.
pub fn all(tune: &Tune, gpu: &'static Gpu, pruned: &[Pruned], rows: &mut Rows) -> Result<(), Error> {
    for shape in tune.at.shapes() {
        let mut at_shape = Vec::new();
        for pruned in pruned {
            for ranked in ranked(&pruned.left, &shape, gpu, tune.keep as usize) {
                let build = &ranked.survivor.build;
                let tiles = build.configuration.tiles.to_string();
                let mut row = Row::new(build.name(), tiles, tune.how.dtype, shape, Kind::Bound);
                row.verdict = "right".to_string();
                model(&mut row, &ranked);
                row.most_of_peak = row.most_gflops().zip(peak(gpu, tune.how.dtype)).map(|(most, peak)| most / peak);
                at_shape.push(row);
            }
        }
        put(at_shape, rows)?;
    }
    match rows.form() {
        Form::Text => rows.say(&notes(false)),
        _ => Ok(()),
    }
}

/// What is known without a measurement. What the driver said of the kernel stays.
pub fn model(row: &mut Row, ranked: &Ranked) {
    let survivor = ranked.survivor;
    row.rank = Some(ranked.rank);
    row.bound_ms = Some(ranked.bound.seconds * 1e3);
    row.count_of(&ranked.work.total, row.shape());
    row.bottleneck = Some(ranked.bound.bottleneck.to_string());
    row.counted_at = Some(survivor.work.counted_at());
    row.ptx_by = Some(survivor.kernel.compiler.clone());
    row.shared_bytes = row.shared_bytes.or(Some(survivor.work.shared_bytes()));
    if let Some(needs) = &survivor.resources {
        row.spilled_bytes = Some(needs.spilled_bytes);
        row.registers = row.registers.or(Some(needs.registers));
    }
    row.blocks_per_sm = row.blocks_per_sm.or(Some(survivor.occupancy.blocks_per_sm));
    row.occupancy = row.occupancy.or(Some(survivor.occupancy.share));
}

/// The rows of one shape: each as data, or all as a table.
pub fn put(at_shape: Vec<Row>, rows: &mut Rows) -> Result<(), Error> {
    if rows.form() == Form::Text {
        if let Some(row) = at_shape.first() {
            rows.say(&format!("\n{}\n{}", row.shape(), lines(&at_shape)))?;
        }
        let failed = at_shape.iter().filter(|row| !row.is_right());
        let why: String = failed.map(|row| format!("  {} {}: {}\n", row.kernel, row.tiles, row.verdict)).collect();
        rows.say(&why)?;
        at_shape.into_iter().for_each(|row| rows.keep(row));
        return Ok(());
    }
    at_shape.into_iter().try_for_each(|row| rows.put(row))
}

fn lines(rows: &[Row]) -> String {
    let measured = rows.iter().any(|row| row.ms_is == Kind::Measured);
    let mut head = vec!["", "rank"];
    if measured {
        head.extend(["check", "ms", "spread", "GFLOP/s", "of cuBLAS"]);
    }
    head.extend(["at least ms", "bottleneck", "wavefronts/request", "occupancy", "registers", "spilled", "shared"]);
    let mut lines = vec![head.iter().map(|word| word.to_string()).collect()];
    lines.extend(rows.iter().map(|row| cells(row, measured)));
    table(&lines)
}

fn cells(row: &Row, measured: bool) -> Vec<String> {
    let known = |value: Option<u32>| value.map_or_else(|| "-".to_string(), |value| value.to_string());
    let fits = |(blocks, share): (u32, f64)| format!("{:.0}% ({blocks})", share * 100.0);
    let name = if row.tiles.is_empty() { row.kernel.clone() } else { format!("{}, {}", row.kernel, row.tiles) };
    let mut cells = vec![name, row.rank.map_or_else(|| "-".to_string(), |rank| rank.to_string())];
    if measured {
        let check = row.verdict.split(':').next().unwrap_or_default().to_string();
        cells.extend([check, maybe(row.ms), percent(row.spread), maybe(row.gflops), percent(row.of_vendor)]);
    }
    cells.extend([
        maybe(row.bound_ms),
        row.bottleneck.clone().unwrap_or_else(|| "-".to_string()),
        maybe(row.wavefronts_per_request),
        row.blocks_per_sm.zip(row.occupancy).map_or_else(|| "-".to_string(), fits),
        known(row.registers),
        known(row.spilled_bytes),
        known(row.shared_bytes),
    ]);
    cells
}

/// What was chosen: a line for each shape and level, the fastest level of a shape first.
pub fn chosen(best: &[Best]) -> String {
    let mut lines = vec![["chosen", "", "ms", "of cuBLAS"].map(String::from).to_vec()];
    let place = |best: &Best| (best.dtype, best.shape());
    for at_shape in best.chunk_by(|a, b| place(a) == place(b)) {
        let mut at_shape: Vec<&Best> = at_shape.iter().collect();
        at_shape.sort_by(|a, b| a.ms.total_cmp(&b.ms));
        lines.extend(at_shape.into_iter().map(|best| {
            let name = format!("{} {}", best.level, best.variant);
            vec![
                format!("{} {}", best.dtype, best.shape()),
                format!("{}, {}", name.trim_end(), best.tiles),
                maybe(Some(best.ms)),
                percent(best.cublas_ms.map(|cublas| cublas / best.ms)),
            ]
        }));
    }
    format!("\n{}", table(&lines))
}

/// What the columns mean.
pub fn notes(measured: bool) -> String {
    let mut notes = vec![
        "rank: the order in which candidates are measured; by counts, and by waits that occupancy can hide",
        "at least: no launch on the modelled GPU is faster; where tiles do not divide the shape, whole ones are counted",
        "wavefronts/request: of shared memory; above 1 by wide accesses and by bank conflicts",
        "occupancy: share of warps (blocks per SM); spilled and shared: bytes of a thread and of a block",
    ];
    if measured {
        notes.push(gemm::timing::L2_POLICY);
    }
    format!("\n{}", notes.iter().map(|note| format!("  {note}\n")).collect::<String>())
}

/// Whether it speaks against a kernel: a wrong product, or a fault. What did not launch, or not any more, does not.
pub fn is_bad(row: &Row) -> bool {
    ["wrong", "fault"].iter().any(|bad| row.verdict.starts_with(bad))
}
