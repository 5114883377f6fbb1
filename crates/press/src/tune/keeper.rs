//! The record of a run of `press tune`: what its file held before, and what the run adds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use device::cuda::Gpu;
use gemm::timing::L2_POLICY;
use gemm::{Error, Level};
use summit::kernels::short;
use summit::tuned::{Best, Record, Run};

use super::choose::choose;
use super::{Tune, show};
use lab::output::{Form, note, print};
use lab::provenance::{commit, file_name, now, nvidia_smi, save, timing};
use lab::record::Record as Measured;
use lab::row::Row;
use lab::takers::everyone;

/// The file, what it held before, and what this run adds.
pub struct Keeper {
    file: PathBuf,
    before: Record,
    pub run: Run,
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

    pub fn of(tune: &Tune, gpu: &str, architecture: u32, run: Run) -> Result<Keeper, Error> {
        let out = match &tune.out {
            Some(out) => out.clone(),
            None => [Path::new("crates/summit/tuned"), Path::new(".")]
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
    pub fn keep(&mut self, rows: &[Row]) -> Result<(), Error> {
        let version = rows.iter().find_map(|row| row.kernel.strip_prefix("cuBLAS "));
        self.run.cublas = version.map(str::to_string).or(self.run.cublas.take());
        self.run.best = choose(rows, self.slack);
        let mut record = self.before.clone();
        record.add(self.run.clone());
        save(&record, &self.file)
    }

    /// The last words: what was chosen, where it is, and what is still to be done.
    pub fn finish(&self, form: Form) -> Result<(), Error> {
        if form == Form::Text {
            print(&show::chosen(&self.run.best))?;
        }
        note(&format!("chosen: {}, in {}", self.run.best.len(), self.file.display()));
        unshipped(&self.run.best).iter().for_each(|line| note(line));
        Ok(())
    }
}

pub fn read(text: &str, file: &Path, gpu: &str) -> Result<Record, Error> {
    let name = file.display();
    let record: Record = serde_json::from_str(text).map_err(|error| {
        Error::usage(format!("{name} is no record of `press tune`: {error}"), "give another file by `--out`")
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
    let mut kept = vec!["press".to_string()];
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

/// The file that declares a level, or a kernel of the summit.
fn declared(level: &Level) -> String {
    match level.number() {
        Some(_) => level.path.replace("kernel.cu", "src/lib.rs"),
        None => format!("crates/summit/src/kernels/{}.rs", short(level)),
    }
}

/// The chosen configurations that have to be shipped, as a person adds them.
fn unshipped(best: &[Best]) -> Vec<String> {
    let mut lines = Vec::new();
    for best in best {
        let Some(build) = everyone().find_map(|level| best.build(level)) else { continue };
        let line = format!(
            "note: not shipped yet: add &{:?} to `shipped` in {}, then `cargo x ptx`",
            build.configuration.tiles.sizes(),
            declared(build.level)
        );
        if !build.is_shipped() && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// `--from`: the same choice from the rows of another record.
pub fn from_file(tune: &Tune, file: &Path) -> Result<ExitCode, Error> {
    let name = file.display();
    let hint = "`press measure` writes such a file";
    let text = fs::read_to_string(file).map_err(|error| Error::usage(format!("cannot read {name}: {error}"), hint))?;
    let from = Measured::read(&text)
        .map_err(|error| Error::usage(format!("{name} is no record of `press measure`: {error}"), hint))?;
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

#[cfg(test)]
pub mod tests {
    use super::*;
    use clap::Parser;
    use gemm::Dtype;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        tune: Tune,
    }

    pub fn tune(words: &str) -> Tune {
        Program::parse_from(format!("tune {words}").split_whitespace()).tune
    }

    pub fn empty_run() -> Run {
        let [command, date, commit, timing, l2_policy] = ["press tune", "now", "", "", ""].map(str::to_string);
        Run {
            command,
            date,
            commit,
            driver: None,
            cuda: None,
            cublas: None,
            timing,
            l2_policy,
            complete: false,
            best: vec![],
        }
    }

    pub fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("press-tune-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn another_gpus_record_and_other_files_are_left_alone() {
        let folder = scratch("other");
        let file = folder.join("record.json");
        let tune = tune(&format!("--out {}", file.display()));
        for (text, answer) in [
            ("{}", "is no record of `press tune`"),
            ("{\"gpu\":\"T4\",\"architecture\":75,\"runs\":[]}", "is the record of T4"),
        ] {
            fs::write(&file, text).unwrap();
            let refused = Keeper::of(&tune, "NVIDIA H200", 90, empty_run()).map(|_| ()).unwrap_err();
            assert!(refused.to_string().contains(answer), "{refused}");
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
    }

    #[test]
    fn the_command_on_record_has_no_folder_of_a_machine() {
        let words = "tune --levels 2 --out /there/x --seconds 9 --out=/there/y".split(' ').map(str::to_string);
        assert_eq!(command(&words.collect::<Vec<_>>()), "press tune --levels 2 --seconds 9");
    }

    #[test]
    fn what_is_chosen_is_shipped() {
        for record in summit::tuned::records() {
            for best in record.best() {
                let found = everyone().find_map(|level| best.build(level));
                let Some(build) = found else { panic!("no level has {best:?}") };
                assert!(gemm::kernel::shipped(&build).is_ok(), "{build} is not shipped");
            }
        }
        let best = Best {
            tiles: "TILE=12".into(),
            ..summit::tuned::records()[0].best().find(|b| b.level == "summit fma_tiles").unwrap().clone()
        };
        let lines = unshipped(&[best.clone(), best]);
        assert_eq!(
            lines,
            [
                "note: not shipped yet: add &[12] to `shipped` in crates/summit/src/kernels/fma_tiles.rs, then `cargo x ptx`"
            ]
        );
    }

    #[test]
    fn every_space_names_tiles_and_gives_more_than_is_shipped() {
        for level in everyone() {
            for (name, sizes) in level.space {
                assert!(level.tiles.iter().any(|(tile, _)| tile == name), "{} has no {name}", level.name);
                assert!(!sizes.is_empty(), "{} has no candidates for {name}", level.name);
            }
            let candidates = level.candidates(Dtype::F64);
            let shipped = level.shipped.len() * level.variants.len().max(1);
            assert!(level.space.is_empty() || candidates.len() > shipped, "{}", level.name);
            assert!(
                candidates.iter().enumerate().all(|(i, c)| !candidates[..i].contains(c)),
                "{}: one twice",
                level.name
            );
        }
    }
}
