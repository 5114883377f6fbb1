//! Every wrong version of a level's kernel must be refused by the compiler, convicted by the emulator, or
//! give a wrong product; those that survive are explained. The record says which was caught how.

mod builds;
mod outcome;
mod sample;
mod switches;

use std::collections::BTreeMap;
use std::path::Path;

use gemm::kernel::Compiler;
use gemm::{Build, Configuration, Level, Shape};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::mutants::{Mutant, mutants, rules};
use super::{compiler, deep, skipped};
use builds::{builds, shapes};
pub(crate) use builds::{crowded, kind, smallest};
use outcome::{Order, Reach, Right, outcome, right};
pub use outcome::{REFUSED, SAME_CODE};
pub use switches::{Switch, Switches, switches};

/// What became of a level's mutants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The command that makes this record.
    pub made_by: String,
    /// The compiler's version.
    pub compiler: String,
    /// Tile sizes, element types and variants in which each mutant ran. Where nothing caught it there, or its code was the
    /// kernel's own, it ran with all other tile sizes that are shipped, until one caught it; a survivor on record is run again on one
    /// problem with each of these. A kernel of tensor maps runs in one combination of types, and in the others last; one whose blocks
    /// go on to other tiles has two clusters.
    pub configurations: Vec<String>,
    /// Problems that each mutant ran on, until one caught it.
    pub shapes: Vec<String>,
    /// Mutants, each in every configuration.
    pub mutants: usize,
    /// How many were caught how, over all rules.
    pub caught: BTreeMap<String, usize>,
    /// The same by rule.
    pub rules: BTreeMap<String, BTreeMap<String, usize>>,
    /// Mutants of which the compiler makes the instructions of the kernel itself: written otherwise, and not wrong.
    pub same_code: usize,
    /// The other mutants that nothing caught.
    pub survivors: Vec<Survivor>,
}

/// A mutant that nothing caught.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Survivor {
    /// The rule that made it.
    pub rule: String,
    /// The line of kernel.cu, from 1.
    pub number: usize,
    /// Its text.
    pub line: String,
    /// What was replaced.
    pub before: String,
    /// What by.
    pub after: String,
    /// The configurations in which it survived.
    pub configurations: Vec<String>,
    /// Why no run can catch it.
    pub reason: String,
}

/// The committed record is whole and, where NVRTC is at hand, mutants by each rule are caught. With `DEEP=1` all of them run, and the record
/// must be what comes of it; with `UPDATE_MUTATIONS=1` it is written anew, and the reasons of known survivors are kept.
/// `without` are the rules that find nothing in this kernel: any other finds something.
pub fn record_holds(level: &'static Level, without: &[&str], committed: &str, file: &Path) -> Result<(), String> {
    let made = mutants(level.source);
    let idle: Vec<&str> = rules().filter(|rule| !made.iter().any(|mutant| mutant.rule == *rule)).collect();
    if idle != without {
        return Err(format!("the rules {idle:?} find nothing in {}, and {without:?} are said to", level.path));
    }
    let old: Option<Record> = serde_json::from_str(committed).ok();
    let update = std::env::var_os("UPDATE_MUTATIONS").is_some();
    if !update {
        is_whole(level, old.as_ref().ok_or(format!("{} is no record of mutants", file.display()))?)?;
    }
    let Some(compiler) = compiler() else { return Ok(()) };
    if let (false, Some(old)) = (update || deep(), &old) {
        return sample::holds(level, compiler, old);
    }
    let reasons: Vec<Survivor> = old.iter().flat_map(|old| old.survivors.clone()).collect();
    let mut new = run(level, compiler, if update { &[] } else { &reasons })?;
    for survivor in &mut new.survivors {
        let known = reasons.iter().find(|known| known.same_change(survivor));
        survivor.reason = known.map(|known| known.reason.clone()).unwrap_or_default();
    }
    if update {
        let text = serde_json::to_string_pretty(&new).map_err(|e| e.to_string())? + "\n";
        std::fs::write(file, text).map_err(|e| e.to_string())?;
        return is_whole(level, &new);
    }
    match old {
        Some(old) if old.compiler != new.compiler => {
            skipped(&format!("the record of mutants is by NVRTC {}, and this is {}", old.compiler, new.compiler));
            Ok(())
        }
        Some(old) if old == new => Ok(()),
        _ => Err(format!("the record of mutants is stale: run `{}`; now: {new:#?}", new.made_by)),
    }
}

/// The record is one of this kernel, and explains every survivor.
fn is_whole(level: &'static Level, record: &Record) -> Result<(), String> {
    let mutants = mutants(level.source);
    let runs = mutants.len() * builds(level).len();
    let caught: usize = record.caught.values().sum();
    let survived: usize = record.survivors.iter().map(|survivor| survivor.configurations.len()).sum();
    if record.mutants != runs || caught + record.same_code + survived != runs {
        return Err(format!(
            "{runs} mutants of {}, and the record has {}: {caught} caught, {} of the same code, {survived} survived: run `{}`",
            level.path, record.mutants, record.same_code, record.made_by
        ));
    }
    for survivor in &record.survivors {
        let is_it = |mutant: &Mutant| Survivor::new(level, mutant).same_place(survivor);
        if !mutants.iter().any(is_it) {
            return Err(format!("a survivor is no mutant of {} any more: {survivor:#?}", level.path));
        }
        if survivor.reason.trim().is_empty() {
            return Err(format!("a mutant survives, and nothing explains it: {survivor:#?}"));
        }
    }
    Ok(())
}

impl Survivor {
    fn new(level: &'static Level, mutant: &Mutant) -> Survivor {
        Survivor {
            rule: mutant.rule.to_string(),
            number: mutant.line,
            line: level.source.lines().nth(mutant.line - 1).unwrap_or_default().trim().to_string(),
            before: mutant.before.clone(),
            after: mutant.after.clone(),
            configurations: Vec::new(),
            reason: String::new(),
        }
    }

    /// The same change of the same text, wherever it stands now.
    fn same_change(&self, other: &Survivor) -> bool {
        (&self.rule, &self.line, &self.before, &self.after) == (&other.rule, &other.line, &other.before, &other.after)
    }

    fn same_place(&self, other: &Survivor) -> bool {
        self.number == other.number && self.same_change(other)
    }
}

/// A mutant in a configuration.
type Run<'a> = (&'a Mutant, &'a [Right]);

/// Every mutant with every configuration.
fn pairs<'a>(mutants: &'a [Mutant], right: &'a [Vec<Right>]) -> Vec<Run<'a>> {
    mutants.iter().flat_map(|mutant| right.iter().map(move |right| (mutant, right.as_slice()))).collect()
}

/// Which of the known survivors a mutant is there.
fn place_on_record(level: &'static Level, known: &[Survivor], (mutant, right): &Run) -> Option<usize> {
    let survivor = Survivor::new(level, mutant);
    let is_there = |known: &Survivor| {
        right.iter().any(|right| known.configurations.contains(&right.build.configuration.to_string()))
    };
    known.iter().position(|known| known.same_place(&survivor) && is_there(known))
}

/// The compiler's version.
fn version(right: &[Vec<Right>], compiler: &dyn Compiler) -> Result<String, String> {
    let first = right.iter().flatten().next().ok_or("no build of the level is shipped")?;
    Ok(first.kernel(compiler)?.compiler.clone())
}

/// Compiles and runs every mutant in every configuration; those that are known to survive there, in other tile sizes on one problem
/// each: together they run all problems there.
fn run(level: &'static Level, compiler: &dyn Compiler, known: &[Survivor]) -> Result<Record, String> {
    let (mutants, builds) = (mutants(level.source), builds(level));
    let right = right(level, Order::OfTheRecord);
    let runs = pairs(&mutants, &right);
    let outcomes: Vec<(Option<String>, &Build)> = runs
        .par_iter()
        .map(|run| {
            let reach = place_on_record(level, known, run).map_or(Reach::All, Reach::Turns);
            outcome(level, run.0, (run.1, reach), compiler)
        })
        .collect::<Result<_, _>>()?;
    let mut record = Record {
        made_by: format!("UPDATE_MUTATIONS=1 cargo test -p {} --test level every_mutant", level.name),
        compiler: version(&right, compiler)?,
        configurations: builds.iter().map(|build| build.configuration.to_string()).collect(),
        shapes: shapes(&builds[0]).iter().map(Shape::to_string).collect(),
        mutants: runs.len(),
        caught: BTreeMap::new(),
        rules: rules().map(|rule| (rule.to_string(), BTreeMap::new())).collect(),
        same_code: 0,
        survivors: Vec::new(),
    };
    for ((mutant, _), (outcome, build)) in runs.iter().zip(outcomes) {
        let how = outcome.clone().unwrap_or("survived".to_string());
        *record.rules.entry(mutant.rule.to_string()).or_default().entry(how).or_default() += 1;
        match outcome {
            Some(how) if how == SAME_CODE => record.same_code += 1,
            Some(how) => *record.caught.entry(how).or_default() += 1,
            None => record.add_survivor(Survivor::new(level, mutant), &build.configuration),
        }
    }
    Ok(record)
}

impl Record {
    fn add_survivor(&mut self, survivor: Survivor, configuration: &Configuration) {
        if !self.survivors.last().is_some_and(|last| last.same_place(&survivor)) {
            self.survivors.push(survivor);
        }
        if let Some(last) = self.survivors.last_mut() {
            last.configurations.push(configuration.to_string());
        }
    }
}
