//! The emulator against the hardware: counters that Nsight Compute read on a GPU, row by row.

use std::collections::BTreeMap;

use emulator::bound::Unit;
use emulator::{Class, Counters};

use super::deep::{deep, with_each};
use super::{report, skipped};
use gemm::facts::Facts;
use gemm::{Level, Parameter};

/// Made by `cargo x ncu`, on a card each. A level's rows are in one of them.
const RECORDS: [&str; 2] =
    [include_str!("../../../common/tests/data/ncu-h200.csv"), include_str!("../../../common/tests/data/ncu-h100.csv")];
/// The same counters, as far as they depend on addresses, for levels with `cp.async` at shapes whose tiles end anywhere.
const EDGES: &str = include_str!("../../../common/tests/data/ncu-h200-edges.csv");

/// One launch on the GPU: the arguments that repeat it, and its metrics.
pub struct Row {
    /// The level's arguments.
    pub arguments: &'static str,
    metrics: BTreeMap<&'static str, f64>,
}

impl Row {
    /// The rows of a level.
    pub fn of(level: &Level) -> Vec<Row> {
        RECORDS.into_iter().flat_map(|record| Row::read(record, level)).collect()
    }

    fn read(record: &'static str, level: &Level) -> Vec<Row> {
        let mut lines = record.lines().filter(|line| !line.starts_with('#'));
        let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        let fields = lines.map(|line| line.split(',').collect::<Vec<&str>>());
        fields
            .filter(|fields| fields[0] == level.name)
            .map(|fields| {
                let metrics = names[2..].iter().zip(&fields[2..]);
                let metrics = metrics.map(|(name, value)| (*name, value.parse().unwrap_or(f64::NAN))).collect();
                Row { arguments: fields[1], metrics }
            })
            .collect()
    }

    /// The row of the Speed Of Light table with the highest share of its peak.
    fn busiest(&self) -> &'static str {
        let share = |name: &str| self.metric(&format!("{name}.avg.pct_of_peak_sustained_elapsed"));
        SPEED_OF_LIGHT.into_iter().max_by(|a, b| share(a).total_cmp(&share(b))).unwrap_or_default()
    }

    /// Smaller launches leave most of the GPU idle, and what bounds them is no unit's rate. The tiles of levels with tensor maps are
    /// so large that these do, too: 32 for 132 SMs, the busiest unit at a third of its peak or less.
    fn fills_the_gpu(&self, level: &Level) -> bool {
        // A square C is not what a level for thin ones is for: it reads the same from L2 again and again, and whether that or L1 is the
        // busier unit is an open question.
        self.is_large()
            && level.needs.thin.is_none()
            && !level.needs.parameters.iter().any(|one| matches!(one, Parameter::Map(_)))
    }

    /// Whether it is one of the launches that keep all SMs busy, which take the emulator seconds.
    fn is_large(&self) -> bool {
        self.arguments.starts_with("--m 10")
    }

    /// Its size and its type, in the words of its arguments; nothing, where it does not say them.
    fn size_and_type(&self) -> Option<(&'static str, &'static str)> {
        self.arguments.split_once(" --dtype ")
    }

    /// A metric's value; NaN if the record lacks it.
    pub fn metric(&self, name: &str) -> f64 {
        self.metrics.get(name).copied().unwrap_or(f64::NAN)
    }
}

/// Each of the emulator's counters with the metric that it equals.
fn promised(counters: &Counters) -> [(&'static str, u64); 14] {
    let (thread, warp) = (|class| counters.class(class).thread, |class| counters.class(class).warp);
    [
        ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", thread(Class::FmaF32)),
        ("smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", thread(Class::FmaF64)),
        // The hardware counts bulk copies apart; one thread asks for each.
        ("smsp__sass_inst_executed_op_global_ld.sum", warp(Class::GlobalLoad).saturating_sub(counters.bulk.loads)),
        ("smsp__sass_inst_executed_op_global_st.sum", warp(Class::GlobalStore).saturating_sub(counters.bulk.stores)),
        ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", counters.global_load.requests),
        ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", counters.global_store.requests),
        ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", counters.global_load.sectors),
        ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", counters.global_store.sectors),
        ("smsp__sass_inst_executed_op_shared_ld.sum", warp(Class::SharedLoad)),
        ("smsp__sass_inst_executed_op_shared_st.sum", warp(Class::SharedStore)),
        ("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", counters.shared_load.wavefronts),
        ("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", counters.shared_store.wavefronts),
        ("smsp__sass_data_bytes_mem_shared_op_ld.sum", counters.shared_load.unique_bytes),
        ("smsp__sass_data_bytes_mem_shared_op_st.sum", counters.shared_store.unique_bytes),
    ]
}

/// Whether a metric counts what the emulator counts, for this level.
fn is_same(level: &Level, metric: &str) -> bool {
    let shared_stores = [
        "smsp__sass_inst_executed_op_shared_st.sum",
        "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
        "smsp__sass_data_bytes_mem_shared_op_st.sum",
    ];
    // Loads of a peer's shared memory are not among the instructions, and twice among the bytes.
    let peers = ["smsp__sass_inst_executed_op_shared_ld.sum", "smsp__sass_data_bytes_mem_shared_op_ld.sum"];
    // Of the machine: wrappers of single instructions stand in a header, not in the kernel's text.
    let uses = |word: &str| level.ptx.texts().is_ok_and(|texts| texts.joined().contains(word));
    // The hardware has instructions of their own for the copies of `cp.async`, LDGSTS, and for `stmatrix`, STSM, which these leave out.
    !(level.needs.asynchronous_copies && metric == "smsp__sass_inst_executed_op_global_ld.sum"
        || (level.needs.asynchronous_copies || uses("stmatrix")) && shared_stores.contains(&metric)
        || uses("ld.shared::cluster") && peers.contains(&metric))
}

/// How many launches a level's file asks `cargo x ncu` to record: each configuration on and off its tile, and two that fill the
/// GPU, in each type.
fn asked(level: &Level) -> Result<usize, String> {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(level.path).with_file_name("ncu.txt");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let types = text.lines().find_map(|line| line.strip_prefix("types ")).unwrap_or("f32 f64");
    let configurations = text.lines().filter(|line| line.starts_with("counters")).count();
    Ok(types.split_whitespace().count() * (2 * configurations + 2))
}

/// All launches but the large ones, and one of these, another from level to level, where it says what bounds a GPU that is full; with
/// `DEEP=1` besides some in which each large size and each type occurs: both sizes of a type differ in what small launches have, too,
/// whole tiles and ragged ones.
fn chosen(level: &Level, rows: Vec<Row>) -> Vec<Row> {
    let (large, mut rows): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(Row::is_large);
    let full: Vec<_> = large.iter().filter(|row| row.fills_the_gpu(level)).filter_map(Row::size_and_type).collect();
    let turn = level.number().unwrap_or_default() as usize;
    let mut pairs: Vec<(&str, &str)> = full.get(turn % full.len().max(1)).copied().into_iter().collect();
    if deep() {
        let all: Vec<_> = large.iter().filter_map(Row::size_and_type).collect();
        pairs = with_each(&all, pairs);
    }
    rows.extend(large.into_iter().filter(|row| row.size_and_type().is_some_and(|pair| pairs.contains(&pair))));
    rows
}

/// Runs the recorded launches of a level and gives a line for each figure that differs from the hardware's. Of the large ones it runs
/// one at most, and with `DEEP=1` each size and each type.
pub fn differences(level: &'static Level) -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    let rows = Row::of(level);
    if rows.is_empty() {
        skipped(&format!("the hardware's counters of {} are not on record yet: `cargo x ncu` reads them", level.name));
    } else if rows.len() != asked(level)? {
        return Err(format!(
            "the record has {} rows of {}, its ncu.txt asks for {}",
            rows.len(),
            level.name,
            asked(level)?
        ));
    }
    let recorded = !rows.is_empty();
    let rows = chosen(level, rows);
    if recorded && rows.is_empty() {
        return Err(format!("of {} only large launches are on record", level.name));
    }
    for row in rows {
        let report = report(level, &format!("{} --no-sanitize", row.arguments)).map_err(|error| error.to_string())?;
        let Facts::Emulator(facts) = &report.facts else { return Err("not on the emulator".into()) };
        for (name, ours) in promised(&facts.total).into_iter().filter(|(name, _)| is_same(level, name)) {
            let theirs = row.metric(name);
            if ours as f64 != theirs {
                lines.push(format!("{} {}: {name}: {ours} here, {theirs} on the GPU", level.name, row.arguments));
            }
        }
        let modelled = report.modelled.as_ref().ok_or("no GPU is modelled")?;
        let (bound, seconds) = (modelled.bound.seconds, row.metric("gpu__time_duration.sum") * 1e-9);
        if bound > seconds || seconds.is_nan() {
            lines.push(format!("{} {}: took {seconds} s, less than its bound of {bound} s", level.name, row.arguments));
        }
        let (ours, theirs) = (speed_of_light(modelled.bound.bottleneck), row.busiest());
        // What is spilled travels through the L2 cache, and PTX does not show it.
        let spills = modelled.resources.as_ref().is_some_and(|r| r.spilled_bytes > 0);
        if !spills && row.fills_the_gpu(level) && ours != theirs {
            lines.push(format!("{} {}: bottleneck {ours} here, {theirs} on the GPU", level.name, row.arguments));
        }
    }
    for row in Row::read(EDGES, level) {
        let report = report(level, &format!("{} --no-sanitize", row.arguments)).map_err(|error| error.to_string())?;
        let Facts::Emulator(facts) = &report.facts else { return Err("not on the emulator".into()) };
        let recorded = |name: &str| is_same(level, name) && row.metrics.contains_key(name);
        for (name, ours) in promised(&facts.total).into_iter().filter(|(name, _)| recorded(name)) {
            let theirs = row.metric(name);
            if ours as f64 != theirs {
                lines.push(format!("{} {}: {name}: {ours} here, {theirs} on the GPU", level.name, row.arguments));
            }
        }
    }
    Ok(lines)
}

/// The rows of Nsight Compute's "GPU Speed Of Light Throughput".
const SPEED_OF_LIGHT: [&str; 4] = ["sm__throughput", "l1tex__throughput", "lts__throughput", "dram__throughput"];

/// The row that a unit belongs to.
fn speed_of_light(unit: Unit) -> &'static str {
    match unit {
        Unit::FmaF32 | Unit::FmaF64 | Unit::Tensor | Unit::Issue => SPEED_OF_LIGHT[0],
        Unit::L1 | Unit::Shared | Unit::Tma => SPEED_OF_LIGHT[1],
        Unit::L2 => SPEED_OF_LIGHT[2],
        Unit::Dram => SPEED_OF_LIGHT[3],
    }
}
