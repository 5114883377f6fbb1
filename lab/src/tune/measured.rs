//! The measurements, and the record of them. It is written anew after every shape, so that a run that is stopped keeps what it had.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use common::device::Device;
use common::device::cuda::Gpu;
use common::problem::Element;
use common::road::Options;
use common::timing::L2_POLICY;
use common::tuned::{Best, Record, Run};
use common::{Error, Shape};

use super::choose::choose;
use super::prune::Pruned;
use super::rank::{Ranked, ranked};
use super::{Tune, show};
use crate::bench::Bench;
use crate::ladder::LEVELS;
use crate::measure;
use crate::output::{Form, Rows, note, print, progress};
use crate::provenance::{commit, file_name, now, nvidia_smi, save, timing};
use crate::row::{Kind, Row};

/// What stands where there was no time for a measurement.
const LATE: &str = "not measured: the time was up";

/// The file, what it held before, and what this run adds.
pub struct Keeper {
    file: PathBuf,
    before: Record,
    run: Run,
    slack: f64,
}

impl Keeper {
    /// Reads what the file holds already.
    pub fn new(tune: &Tune, gpu: &Gpu, words: &[String]) -> Result<Keeper, Error> {
        let run = Run {
            command: command(words),
            date: now(),
            commit: commit(),
            driver: nvidia_smi("driver_version"),
            cuda: gpu.cuda_version(),
            cublas: None,
            timing: timing(),
            l2_policy: L2_POLICY.to_string(),
            complete: false,
            best: Vec::new(),
        };
        Keeper::of(tune, gpu.name(), gpu.architecture(), run)
    }

    fn of(tune: &Tune, gpu: &str, architecture: u32, run: Run) -> Result<Keeper, Error> {
        let out = match &tune.out {
            Some(out) => out.clone(),
            None => [Path::new("common/tuned"), Path::new(".")]
                .iter()
                .find(|folder| folder.is_dir())
                .unwrap_or(&Path::new(""))
                .to_path_buf(),
        };
        let file = if out.is_dir() { out.join(file_name(gpu)) } else { out };
        let before = match fs::read_to_string(&file) {
            Ok(text) => read(&text, &file, gpu)?,
            Err(_) => Record { gpu: gpu.to_string(), architecture, runs: Vec::new() },
        };
        let keeper = Keeper { file, before, run, slack: tune.slack / 100.0 };
        // What cannot be written is said before anything is measured.
        save(&keeper.before, &keeper.file)?;
        Ok(keeper)
    }

    /// Writes what these rows say.
    fn keep(&mut self, rows: &[Row]) -> Result<(), Error> {
        let version = rows.iter().find_map(|row| row.kernel.strip_prefix("cuBLAS "));
        self.run.cublas = version.map(str::to_string).or(self.run.cublas.take());
        self.run.best = choose(rows, self.slack);
        let mut record = self.before.clone();
        record.add(self.run.clone());
        save(&record, &self.file)
    }

    /// The last words: what was chosen, where it is, and what is still to be done.
    fn finish(&self, form: Form) -> Result<(), Error> {
        if form == Form::Text {
            print(&show::chosen(&self.run.best))?;
        }
        note(&format!("{} configurations chosen, in {}", self.run.best.len(), self.file.display()));
        unshipped(&self.run.best).iter().for_each(|line| note(line));
        Ok(())
    }
}

fn read(text: &str, file: &Path, gpu: &str) -> Result<Record, Error> {
    let name = file.display();
    let record: Record = serde_json::from_str(text).map_err(|error| {
        Error::usage(format!("{name} is no record of `lab tune`: {error}"), "give another file by `--out`")
    })?;
    match record.gpu == gpu {
        true => Ok(record),
        false => Err(Error::usage(
            format!("{name} is the record of {}, and this is {gpu}", record.gpu),
            "give another file by `--out`",
        )),
    }
}

/// The command, without the place of its record.
fn command(words: &[String]) -> String {
    let mut kept = vec!["lab".to_string()];
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--out" => drop(words.next()),
            word if word.starts_with("--out=") => (),
            word => kept.push(word.to_string()),
        }
    }
    kept.join(" ")
}

/// The chosen configurations that have to be shipped, as a person adds them.
fn unshipped(best: &[Best]) -> Vec<String> {
    let mut lines = Vec::new();
    for best in best {
        let Some((level, configuration)) = LEVELS.iter().find_map(|level| Some((level, best.configuration(level)?)))
        else {
            continue;
        };
        let line = format!(
            "note: not shipped yet: add &{:?} to `shipped` in {}/src/lib.rs, then `cargo x ptx`",
            configuration.tiles.sizes(),
            level.name
        );
        if !level.shipped_configurations().contains(&configuration) && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// `--from`: the same choice from the rows of another record.
pub fn from_file(tune: &Tune, file: &Path) -> Result<ExitCode, Error> {
    let name = file.display();
    let hint = "`lab measure` writes such a file";
    let text = fs::read_to_string(file).map_err(|error| Error::usage(format!("cannot read {name}: {error}"), hint))?;
    let from: measure::Record = serde_json::from_str(&text)
        .map_err(|error| Error::usage(format!("{name} is no record of `lab measure`: {error}"), hint))?;
    let run = Run {
        command: from.command,
        date: from.date,
        commit: from.commit,
        driver: from.driver,
        cuda: from.cuda,
        cublas: from.cublas,
        timing: from.timing,
        l2_policy: from.l2_policy,
        complete: from.complete,
        best: Vec::new(),
    };
    let mut keeper = Keeper::of(tune, &from.gpu, from.architecture, run)?;
    keeper.keep(&from.rows)?;
    keeper.finish(Form::of(tune.csv, tune.json))?;
    Ok(ExitCode::SUCCESS)
}

/// Measures what is left of every level, shape by shape.
pub fn all<T: Element>(
    tune: &Tune,
    device: &Device,
    options: &Options,
    pruned: &[Pruned],
    rows: &mut Rows,
    keeper: &mut Keeper,
    until: Option<Instant>,
) -> Result<(), Error> {
    let shapes = tune.at.shapes();
    for (index, &shape) in shapes.iter().enumerate() {
        let now = Instant::now();
        // An equal share of what is left; what one shape does not need, the next ones have.
        let share = until.map(|until| now + until.saturating_duration_since(now) / (shapes.len() - index) as u32);
        let bench = match Bench::<T>::new(device, shape, tune.how.seed, *options) {
            Ok(bench) => bench,
            Err(error) => {
                note(&format!("note: {shape}: {}", error.to_string().replace('\n', "; ")));
                continue;
            }
        };
        let at_shape = at::<T>(tune, options, pruned, &bench, shape, share);
        let lost = at_shape.iter().any(|row| row.verdict.starts_with("fault"));
        show::put(at_shape, rows)?;
        keeper.keep(rows.all())?;
        if lost {
            note(
                "note: a kernel was at fault, and the driver runs nothing more in this process: the rest is not measured",
            );
            return keeper.finish(rows.form());
        }
    }
    keeper.run.complete = rows.all().iter().all(|row| row.verdict != LATE);
    keeper.keep(rows.all())?;
    if rows.form() == Form::Text {
        rows.say(&show::notes(true))?;
    }
    keeper.finish(rows.form())
}

/// The rows of one shape: cuBLAS's, then in each level's order the most promising first; measured in turns, so that every level
/// has its share of the time.
fn at<T: Element>(
    tune: &Tune,
    options: &Options,
    pruned: &[Pruned],
    bench: &Bench<T>,
    shape: Shape,
    until: Option<Instant>,
) -> Vec<Row> {
    let kept: Vec<Vec<Ranked>> =
        pruned.iter().map(|pruned| ranked::<T>(&pruned.left, &shape, options.gpu, tune.keep as usize)).collect();
    let bar = progress(kept.iter().map(|ranked| ranked.len() as u64).sum());
    bar.set_message(shape.to_string());
    let vendor = bench.vendor();
    let rate = vendor.as_ref().filter(|row| row.is_right()).and_then(|row| row.gflops);
    let mut measured: Vec<Vec<Row>> = kept.iter().map(|_| Vec::new()).collect();
    let mut lost = false;
    for turn in 0..kept.iter().map(Vec::len).max().unwrap_or(0) {
        for (ranked, rows) in kept.iter().zip(&mut measured) {
            let Some(ranked) = ranked.get(turn) else { continue };
            let late = lost || (turn > 0 && until.is_some_and(|until| Instant::now() > until));
            let mut row = one::<T>(bench, ranked, shape, late);
            lost |= row.verdict.starts_with("fault");
            row.of_vendor = rate.and_then(|rate| Some(row.gflops? / rate));
            rows.push(row);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    vendor.into_iter().chain(measured.into_iter().flatten()).collect()
}

fn one<T: Element>(bench: &Bench<T>, ranked: &Ranked, shape: Shape, late: bool) -> Row {
    let survivor = ranked.survivor;
    let mut row = if late {
        let entrant = &survivor.entrant;
        let tiles = entrant.configuration.tiles.to_string();
        let mut row = Row::new(entrant.name(), tiles, T::DTYPE, shape, Kind::Measured);
        row.verdict = LATE.to_string();
        row
    } else {
        bench.obtained(&survivor.entrant, &survivor.kernel)
    };
    show::model(&mut row, ranked);
    row
}
