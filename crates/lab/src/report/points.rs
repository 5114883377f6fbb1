//! Kernels at sizes. On a GPU each runs. Without one the times are predicted, and a kernel runs on the emulator, at a small size and
//! once: its product is checked there.

use std::collections::HashMap;
use std::sync::Mutex;

use device::Device;
use gemm::candidate::Options;
use gemm::{Build, Error, Shape};
use indicatif::ProgressBar;
use predict::predicted;
use rayon::prelude::*;

use super::CHECKED;
use crate::bench::{self, Bench};
use crate::flags::How;
use crate::row::{Kind, Row};

/// Where kernels run, and what is known of those that ran.
pub struct Points<'a> {
    how: &'a How,
    device: Device,
    options: Options,
    /// By kernel and tile sizes: the row at the size where it is checked.
    checked: Mutex<HashMap<(String, String), Row>>,
}

/// Where a run happens.
pub fn place(how: &How) -> Result<String, Error> {
    Ok(bench::place(&how.quiet()?, &how.options()?))
}

/// Whether a product was wrong.
pub fn is_wrong(row: &Row) -> bool {
    row.is_bad()
}

/// Whether it is the loop's.
pub fn is_cpu(row: &Row) -> bool {
    row.ms_is == Kind::Cpu
}

impl<'a> Points<'a> {
    /// On the device that the flags name.
    pub fn new(how: &'a How) -> Result<Points<'a>, Error> {
        Ok(Points { how, device: how.device(false)?, options: how.options()?, checked: Mutex::default() })
    }

    /// A row each.
    pub fn rows(&self, builds: &[Build], shape: Shape, bar: &ProgressBar) -> Result<Vec<Row>, Error> {
        if let Device::Cuda(_) = self.device {
            let bench = self.bench(shape)?;
            return Ok(builds.iter().map(|build| bench.level(build)).inspect(|_| bar.inc(1)).collect());
        }
        let small = Shape { m: shape.m.min(CHECKED), n: shape.n.min(CHECKED), k: shape.k.min(CHECKED) };
        let bench = self.bench(small)?;
        let row = |build: &Build| {
            let row = self.at(&bench, build, shape);
            bar.inc(1);
            row
        };
        Ok(builds.par_iter().map(row).collect())
    }

    /// What the emulator says at a small size, with the time that is predicted for this one.
    fn at(&self, bench: &Bench, build: &Build, shape: Shape) -> Row {
        let key = (build.name(), build.configuration.tiles.to_string());
        let known = self.checked.lock().ok().and_then(|checked| checked.get(&key).cloned());
        let checked = known.unwrap_or_else(|| {
            let row = bench.level(build);
            if let Ok(mut checked) = self.checked.lock() {
                checked.insert(key, row.clone());
            }
            row
        });
        if checked.shape() == shape || !checked.is_right() {
            return checked;
        }
        let small = checked.shape();
        let mut row = Row { bound_ms: None, most_of_peak: None, of_peak: None, ms: None, gflops: None, ..checked };
        (row.m, row.n, row.k) = (shape.m, shape.n, shape.k);
        row.counted_at = Some(small.to_string());
        row.ms_is = Kind::Bound;
        if let Some(predicted) = predicted(self.options.gpu, build, &shape) {
            row.ms_is = Kind::Predicted;
            row.time(predicted.microseconds / 1e3);
            bench.share_of_peak(&mut row);
        }
        row
    }

    /// The loop on one core, measured on this machine.
    pub fn cpu(&self, shape: Shape) -> Result<Row, Error> {
        Ok(self.bench(shape)?.cpu())
    }

    fn bench(&self, shape: Shape) -> Result<Bench<'_>, Error> {
        Bench::new(&self.device, shape, self.how.dtype, self.how.seed, self.options)
    }
}
