//! `lab cards`: which levels and tile sizes run on which GPU, with registers, spills, shared memory and occupancy.

pub mod record;

use std::process::ExitCode;

use clap::Args;
use gemm::{Dtype, Error};

use crate::output::print;
use crate::row::distinct;
use crate::table::table;
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
}

/// Runs the command.
pub fn run(cards: &Cards) -> Result<ExitCode, Error> {
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
pub fn overview(rows: &[Row]) -> Vec<Vec<String>> {
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
