//! `lab cards`: which levels and tile sizes run on which GPU, with registers, spills, shared memory and occupancy.

pub mod ptxas;
pub mod record;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use gemm::{Dtype, Error};

use crate::markdown::markdown;
use crate::output::{note, print};
use crate::row::distinct;
use crate::table::table;
use device::ptxas::Ptxas;
use levels::{LEVELS, dtypes};
use record::{ARCHITECTURES, Row, read};

/// The record that comes with this program.
pub const RECORD: &str = include_str!("../../data/cards.csv");

/// Which levels and tile sizes run on which GPU: registers, spills, shared memory and occupancy, by NVIDIA's ptxas
#[derive(Debug, Clone, Args)]
pub struct Cards {
    /// All that is known of one architecture: 75 for sm_75
    #[arg(long, value_name = "N")]
    sm: Option<u32>,
    /// Element types: f32, f64, or what else the levels multiply
    #[arg(long, value_name = "DTYPE", default_value = "f32")]
    dtype: Dtype,
    /// Print the record as comma-separated values
    #[arg(long, conflicts_with = "sm")]
    csv: bool,
    /// Make the record again, each architecture by the newest ptxas that knows it; rows of kernels that have not changed are kept
    #[arg(long, conflicts_with_all = ["sm", "csv"])]
    make: bool,
    /// A ptxas that makes it (repeatable) [default: those of CUDA, of the active Python and of the path]
    #[arg(long, value_name = "FILE", requires = "make")]
    ptxas: Vec<PathBuf>,
    /// Where a new record goes
    #[arg(long, value_name = "FILE", default_value = "crates/lab/data/cards.csv")]
    out: PathBuf,
}

/// Runs the command.
pub fn run(cards: &Cards) -> Result<ExitCode, Error> {
    if cards.make {
        let assemblers: Vec<Ptxas> = match cards.ptxas.as_slice() {
            [] => ptxas::all(),
            files => files.iter().map(|file| ptxas::open(file)).collect::<Result<_, Error>>()?,
        };
        let text = record::make(assemblers, RECORD)?;
        fs::write(&cards.out, text).map_err(|error| {
            Error::usage(format!("cannot write {}: {error}", cards.out.display()), "run it at the repository's root")
        })?;
        note(&format!("{}: written; `cargo x figures` shows it in the book", cards.out.display()));
        return Ok(ExitCode::SUCCESS);
    }
    if cards.csv {
        print(RECORD)?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Row> = read(RECORD)?.into_iter().filter(|row| row.dtype == cards.dtype).collect();
    match cards.sm {
        None => print(&table(&overview(&rows)))?,
        Some(sm) if ARCHITECTURES.contains(&sm) => print(&table(&of_one(&rows, sm)))?,
        Some(sm) => {
            let known: Vec<String> = ARCHITECTURES.iter().map(u32::to_string).collect();
            return Err(Error::usage(
                format!("--sm {sm}: there is no record of sm_{sm}"),
                format!("known are {}", known.join(", ")),
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A line for each configuration, a column for each architecture: registers, and the share of an SM's warps.
fn overview(rows: &[Row]) -> Vec<Vec<String>> {
    let mut head = ["", "tile sizes", "shared bytes"].map(String::from).to_vec();
    head.extend(ARCHITECTURES.iter().map(|sm| format!("sm_{sm}")));
    let mut lines = vec![head];
    for (name, tiles) in distinct(rows.iter().map(|row| (row.name(), row.tiles.clone()))) {
        let own: Vec<&Row> = rows.iter().filter(|row| row.name() == name && row.tiles == tiles).collect();
        let shared = own.iter().find_map(|row| row.shared_bytes).map_or("-".to_string(), |bytes| bytes.to_string());
        let mut line = vec![name, tiles, shared];
        line.extend(own.iter().map(|row| short(row)));
        lines.push(line);
    }
    lines
}

/// `64, 50%`; with an asterisk where registers are spilled.
fn short(row: &Row) -> String {
    match (row.registers, row.spilled_bytes) {
        _ if !row.runs() => "-".to_string(),
        (Some(registers), spilled) => {
            let mark = if spilled.unwrap_or(0) > 0 { "*" } else { "" };
            format!("{registers}{mark}, {:.0}%", 100.0 * row.occupancy)
        }
        (None, _) => "-".to_string(),
    }
}

/// All that is known of an architecture.
fn of_one(rows: &[Row], sm: u32) -> Vec<Vec<String>> {
    let head = ["", "tile sizes", "registers", "spilled", "shared", "blocks/SM", "occupancy", "limited by"];
    let mut lines = vec![head.map(String::from).to_vec()];
    let cell = |number: Option<u32>| number.map_or("-".to_string(), |number| number.to_string());
    for row in rows.iter().filter(|row| row.sm == sm) {
        let limited = match row {
            _ if !row.refused.is_empty() => format!("cannot run: {}", row.refused),
            _ if !row.runs() => format!("does not fit: {}", row.limited_by),
            _ => row.limited_by.clone(),
        };
        let share = if row.runs() { format!("{:.0}%", 100.0 * row.occupancy) } else { "-".to_string() };
        let needs = [row.registers, row.spilled_bytes, row.shared_bytes].map(cell);
        let mut line = vec![row.name(), row.tiles.clone()];
        line.extend(needs);
        line.extend([row.blocks_per_sm.to_string(), share, limited]);
        lines.push(line);
    }
    lines
}

/// The book's tables.
pub fn page(text: &str) -> Result<String, Error> {
    let made: Vec<String> =
        record::compilers(text).iter().map(|(version, list)| format!("ptxas {version} for {list}")).collect();
    let mut page =
        format!("<!-- made by `cargo x figures` from crates/lab/data/cards.csv -->\n\nBy {}.\n", made.join("; "));
    let rows = read(text)?;
    for dtype in dtypes(&LEVELS) {
        let own: Vec<Row> = rows.iter().filter(|row| row.dtype == dtype).cloned().collect();
        page += &format!("\n{dtype}: registers per thread, and the share of an SM's warps that are resident\n\n");
        let mut lines = overview(&own);
        lines[0][0] = "kernel".to_string();
        page += &markdown(&lines, 2);
    }
    Ok(page)
}
