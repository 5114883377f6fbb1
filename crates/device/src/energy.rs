//! What a product costs in joules: a GPU's own count of its energy, over launches that follow each other without a pause.
//!
//! NVML counts in steps of some tenths of a second, and a GPU that was idle is cold and fast. So launches go on until the power has
//! settled; then a run begins and ends where the count has just moved.

use std::time::Instant;

use gemm::{Error, Shape};
use serde::{Deserialize, Serialize};

use crate::cuda::Gpu;
use crate::ffi::Nvml;
use crate::turns::Contender;

/// Seconds of a run at least.
const LEAST: f64 = 2.0;
/// Seconds of a window in which the power is looked at before; how many there are at least and at most; and by which share two that
/// follow each other may differ.
const WINDOW: f64 = 0.5;
const WINDOWS: [usize; 2] = [2, 10];
const SETTLED: f64 = 0.02;
/// Milliseconds of launches between two readings.
const BATCH_MS: f64 = 10.0;
/// Seconds in which the count must move: else it does not count.
const PATIENCE: f64 = 5.0;

/// What a GPU says of itself at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// Seconds since some moment.
    pub seconds: f64,
    /// Joules used since some moment.
    pub joules: f64,
    /// The clock of the SMs, in MHz.
    pub mhz: u32,
    /// The temperature, in °C.
    pub celsius: u32,
}

/// What a run cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// Joules of a launch.
    pub joules: f64,
    /// Joules a second.
    pub watts: f64,
    /// The mean clock of the SMs, in MHz.
    pub mhz: f64,
    /// The mean temperature, in °C.
    pub celsius: f64,
    /// Seconds that the run took.
    pub seconds: f64,
    /// Launches in these.
    pub launches: u64,
    /// Whether the power had settled before it.
    pub settled: bool,
}

impl Energy {
    /// Picojoules of an operation, of 2·M·N·K.
    pub fn picojoules_per_flop(&self, shape: &Shape) -> f64 {
        1e12 * self.joules / (2.0 * f64::from(shape.m) * f64::from(shape.n) * f64::from(shape.k))
    }
}

/// A GPU's own meter.
#[derive(Debug)]
pub struct Meter<'a> {
    gpu: &'a Gpu,
    nvml: Nvml,
    began: Instant,
}

impl<'a> Meter<'a> {
    /// Of this GPU. `Err` says in one line what is missing.
    pub fn find(gpu: &'a Gpu) -> Result<Meter<'a>, String> {
        let meter = Meter { gpu, nvml: Nvml::open(gpu.context())?, began: Instant::now() };
        meter.reading().map(|_| meter)
    }

    fn reading(&self) -> Result<Reading, String> {
        let joules = self.nvml.millijoules()? as f64 / 1e3;
        let (mhz, celsius) = (self.nvml.megahertz()?, self.nvml.celsius()?);
        Ok(Reading { seconds: self.began.elapsed().as_secs_f64(), joules, mhz, celsius })
    }

    /// What a launch of the contender costs, in a run of some seconds.
    ///
    /// # Errors
    /// The first that a launch gives, and what NVML refuses.
    pub fn measure(&self, contender: &Contender) -> Result<Energy, Error> {
        let times = contender.timed(self.gpu, 3)?;
        let launches = (BATCH_MS / times[2].max(1e-3)).clamp(1.0, 1000.0) as u32;
        let mut waiting = contender.batch(self.gpu, launches)?;
        let batch = || {
            // The next one is submitted before it is waited for: the GPU has no pause.
            let next = contender.batch(self.gpu, launches)?;
            std::mem::replace(&mut waiting, next).done()?;
            Ok(launches)
        };
        let energy = metered(|| self.reading(), batch)?;
        waiting.done()?;
        Ok(energy)
    }
}

/// The energy of batches of launches, each of which says how many it has, by readings between them.
fn metered(
    mut read: impl FnMut() -> Result<Reading, String>,
    mut batch: impl FnMut() -> Result<u32, Error>,
) -> Result<Energy, Error> {
    let mut read = || read().map_err(|why| Error::usage(why, "without energy nothing is asked of NVML"));
    let mut settled = false;
    let mut before = None;
    for window in 0..WINDOWS[1] {
        let (start, end, _) = run(&mut read, &mut batch, WINDOW)?;
        let watts = (end.joules - start.joules) / (end.seconds - start.seconds);
        settled = before.is_some_and(|before: f64| (watts - before).abs() <= SETTLED * before);
        if settled && window + 1 >= WINDOWS[0] {
            break;
        }
        before = Some(watts);
    }
    let (start, end, run) = run(&mut read, &mut batch, LEAST)?;
    let (seconds, joules) = (end.seconds - start.seconds, end.joules - start.joules);
    let readings = run.readings as f64;
    Ok(Energy {
        joules: joules / run.launches as f64,
        watts: joules / seconds,
        mhz: run.mhz as f64 / readings,
        celsius: run.celsius as f64 / readings,
        seconds,
        launches: run.launches,
        settled,
    })
}

/// Sums over a run.
#[derive(Debug, Default)]
struct Run {
    launches: u64,
    readings: u64,
    mhz: u64,
    celsius: u64,
}

/// Batches from a reading at which the count has just moved to another one, so many seconds later at least.
fn run(
    read: &mut impl FnMut() -> Result<Reading, Error>,
    batch: &mut impl FnMut() -> Result<u32, Error>,
    least: f64,
) -> Result<(Reading, Reading, Run), Error> {
    let mut last = read()?;
    let mut moved = last.seconds;
    let mut start: Option<Reading> = None;
    let mut run = Run::default();
    loop {
        let launches = batch()?;
        let now = read()?;
        let moves = now.joules != last.joules;
        last = now;
        if let Some(start) = start {
            run.launches += u64::from(launches);
            run.readings += 1;
            run.mhz += u64::from(now.mhz);
            run.celsius += u64::from(now.celsius);
            if moves && now.seconds - start.seconds >= least {
                return Ok((start, now, run));
            }
        } else if moves {
            start = Some(now);
        }
        moved = if moves { now.seconds } else { moved };
        if now.seconds - moved > PATIENCE {
            let message = format!("NVML's count of energy has not moved in {PATIENCE} s");
            return Err(Error::usage(message, "this GPU does not count its energy: leave it out"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A GPU of which a batch takes 10 ms, at a power that time decides; its count moves every `step` seconds.
    fn fake(step: f64, watts: impl Fn(f64) -> f64) -> Result<Energy, Error> {
        let (seconds, joules) = (Cell::new(0.0), Cell::new(0.0));
        let counted = Cell::new((0.0, 0.0));
        let read = || {
            if seconds.get() - counted.get().0 >= step {
                counted.set((seconds.get(), joules.get()));
            }
            Ok(Reading { seconds: seconds.get(), joules: counted.get().1, mhz: 1500, celsius: 60 })
        };
        let batch = || {
            seconds.set(seconds.get() + 0.01);
            joules.set(joules.get() + 0.01 * watts(seconds.get()));
            Ok(20)
        };
        metered(read, batch)
    }

    #[test]
    fn a_steady_power_is_shared_out_among_launches() {
        // 2,000 launches a second at 600 W are 0.3 J each, whenever the count moves.
        for step in [0.0, 0.1, 0.37] {
            let energy = fake(step, |_| 600.0).unwrap();
            assert!((energy.joules - 0.3).abs() < 1e-9, "{step}: {energy:?}");
            assert!((energy.watts - 600.0).abs() < 1e-6 && energy.seconds >= LEAST && energy.settled);
            assert_eq!((energy.mhz, energy.celsius), (1500.0, 60.0));
        }
        let shape = Shape { m: 1000, n: 1000, k: 500 };
        assert!((fake(0.1, |_| 600.0).unwrap().picojoules_per_flop(&shape) - 300.0).abs() < 1e-6);
    }

    #[test]
    fn what_comes_before_the_power_has_settled_does_not_count() {
        let rising = |seconds: f64| if seconds < 1.5 { 200.0 + 200.0 * seconds } else { 500.0 };
        let energy = fake(0.1, rising).unwrap();
        assert!((energy.watts - 500.0).abs() < 1e-6 && energy.settled, "{energy:?}");
        // What never settles is measured all the same, and says so.
        let restless = |seconds: f64| if seconds % 1.0 < 0.5 { 300.0 } else { 500.0 };
        assert!(!fake(0.1, restless).unwrap().settled);
    }

    #[test]
    fn a_count_that_does_not_move_is_an_error() {
        let error = fake(f64::INFINITY, |_| 600.0).unwrap_err().to_string();
        assert!(error.contains("NVML's count of energy has not moved in 5 s"), "{error}");
    }
}
