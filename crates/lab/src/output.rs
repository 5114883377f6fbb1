//! Data goes to stdout, and is there as soon as it is said; notes go to stderr.

use std::io::Write;

pub use common::output::{note, print, say};
use common::output::{width, write};
use gemm::Error;
use indicatif::{ProgressBar, ProgressStyle};

use crate::row::{Kind, Row};
use crate::table::{maybe, percent, table, table_within};

/// A bar on stderr, if that is a terminal.
pub fn progress(steps: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} [{elapsed}]");
    ProgressBar::new(steps).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// A table that fits the terminal, where there is one.
pub fn fitted(rows: &[Vec<String>]) -> String {
    width().map_or_else(|| table(rows), |width| table_within(rows, width))
}

fn full(error: &dyn std::fmt::Display) -> Error {
    Error::usage(format!("cannot write: {error}"), "what was written before is still there")
}

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Lines for a person.
    Text,
    /// Comma-separated values, with a header.
    Csv,
    /// One JSON object per line.
    Json,
}

impl Form {
    /// The form that two flags ask for.
    pub fn of(csv: bool, json: bool) -> Form {
        match (csv, json) {
            (true, _) => Form::Csv,
            (_, true) => Form::Json,
            _ => Form::Text,
        }
    }
}

/// Rows on their way out, each written whole and at once.
pub struct Rows {
    out: Box<dyn Write>,
    form: Form,
    rows: Vec<Row>,
}

impl Rows {
    /// No rows yet.
    pub fn new(out: Box<dyn Write>, form: Form) -> Result<Rows, Error> {
        Ok(Rows { out, form, rows: Vec::new() })
    }

    /// How rows are written.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Keeps a row that is shown otherwise.
    pub fn keep(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// All rows so far.
    pub fn all(&self) -> &[Row] {
        &self.rows
    }

    /// The last row of the same kernel with the same tile sizes.
    pub fn before(&self, row: &Row) -> Option<&Row> {
        self.rows.iter().rev().find(|r| r.kernel == row.kernel && r.tiles == row.tiles)
    }

    /// Writes other text.
    pub fn say(&mut self, text: &str) -> Result<(), Error> {
        write(&mut self.out, text.as_bytes())
    }

    /// Writes a row, and keeps it.
    pub fn put(&mut self, row: Row) -> Result<(), Error> {
        let text = match self.form {
            Form::Text => format!("{}\n", line(&row)).into_bytes(),
            Form::Json => {
                let mut bytes = serde_json::to_vec(&row).map_err(|e| full(&e))?;
                bytes.push(b'\n');
                bytes
            }
            Form::Csv => {
                let mut writer = csv::WriterBuilder::new().has_headers(self.rows.is_empty()).from_writer(Vec::new());
                writer.serialize(&row).map_err(|e| full(&e))?;
                writer.into_inner().map_err(|e| full(&e))?
            }
        };
        self.rows.push(row);
        write(&mut self.out, &text)
    }
}

/// A row for a person, as wide as any.
fn line(row: &Row) -> String {
    let name = format!("{} {}{}", row.kernel, row.tiles, row.over_gpus());
    let time = match row.ms_is {
        Kind::Bound => format!(" at least {:>9} ms", maybe(row.bound_ms)),
        Kind::Predicted => format!("predicted {:>9} ms", maybe(row.ms)),
        Kind::Measured | Kind::Cpu => format!("{:>19} ms", maybe(row.ms)),
    };
    let spread = row.spread.map_or_else(String::new, |spread| format!(" ±{}", percent(Some(spread / 2.0))));
    let growth = row.growth.map_or_else(String::new, |growth| format!("  {growth:.2}x as long"));
    let shape = row.shape().to_string();
    format!("{shape:>16}  {name:<52} {time}{spread}  {:>9} GFLOP/s  {}{growth}", maybe(row.gflops), row.verdict)
}
