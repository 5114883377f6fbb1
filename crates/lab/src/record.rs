//! The record of a GPU: all levels over sizes and shapes, with all that is needed to believe a row.

use gemm::timing::Peak;
use gemm::{Dtype, Shape};
use serde::{Deserialize, Serialize, Serializer};

use crate::compare::against_vendor;
use crate::row::Row;

/// The file: where, when and how, and the rows.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// The GPU's name.
    pub gpu: String,
    /// 90 is `sm_90`.
    pub architecture: u32,
    /// The driver's version.
    pub driver: Option<String>,
    /// The CUDA version that the driver implements.
    pub cuda: Option<String>,
    /// cuBLAS's version.
    pub cublas: Option<String>,
    /// How cuBLAS computes.
    pub math: String,
    /// How the levels sum.
    pub accumulate: String,
    /// The compilers of the PTX.
    pub ptx_by: Vec<String>,
    /// The GPU's peaks, by type.
    pub peaks: Vec<(Dtype, Peak)>,
    /// Clocks, temperature and power before.
    pub state_before: Option<String>,
    /// The same after it.
    pub state_after: Option<String>,
    /// How times were taken.
    pub timing: String,
    /// What was done about the caches.
    pub l2_policy: String,
    /// Where counters come from.
    pub counters: String,
    /// Seed of the inputs.
    pub seed: u64,
    /// The program's commit.
    pub commit: String,
    /// When, in UTC.
    pub date: String,
    /// By which command.
    pub command: String,
    /// Whether the run came to its end.
    pub complete: bool,
    /// Earlier runs of which rows are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Earlier>,
    /// A row for each kernel at each problem, those of a problem one after the other. The file leaves out what follows from times.
    #[serde(serialize_with = "without_rates")]
    pub rows: Vec<Row>,
}

/// An earlier run on the same GPU, in other types.
#[derive(Debug, Serialize, Deserialize)]
pub struct Earlier {
    /// The types that it measured.
    pub dtypes: Vec<Dtype>,
    /// The program's commit.
    pub commit: String,
    /// When, in UTC.
    pub date: String,
    /// How times were taken.
    pub timing: String,
    /// Clocks, temperature and power before.
    pub state_before: Option<String>,
    /// The same after it.
    pub state_after: Option<String>,
}

impl Record {
    /// What a file has, with the rates that its times are.
    ///
    /// # Errors
    /// Where it is no record.
    pub fn read(text: &str) -> serde_json::Result<Record> {
        let mut record: Record = serde_json::from_str(text)?;
        for row in record.rows.iter_mut() {
            row.ms.into_iter().for_each(|ms| row.time(ms));
            let peak = record.peaks.iter().find(|(dtype, _)| *dtype == row.dtype);
            row.of_peak = row.gflops.zip(peak).map(|(gflops, (_, peak))| gflops / peak.gflops());
        }
        record.rows.chunk_by_mut(|a, b| (a.dtype, a.shape()) == (b.dtype, b.shape())).for_each(against_vendor);
        Ok(record)
    }

    /// The row of a problem.
    pub fn find(&self, dtype: Dtype, shape: Shape, wanted: impl Fn(&Row) -> bool) -> Option<&Row> {
        self.rows.iter().find(|row| row.dtype == dtype && row.shape() == shape && wanted(row))
    }
}

fn without_rates<S: Serializer>(rows: &[Row], serializer: S) -> Result<S::Ok, S::Error> {
    let lean = |row: &Row| Row { gflops: None, of_peak: None, of_vendor: None, max_ms: None, ..row.clone() };
    serializer.collect_seq(rows.iter().map(lean))
}
