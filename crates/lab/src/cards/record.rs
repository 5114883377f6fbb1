//! The record of what every shipped configuration needs on every architecture: how it is made, and how it is read.

use device::ptxas::Ptxas;
use emulator::gpu::{GPUS, Gpu};
use emulator::occupancy::occupancy;
use gemm::kernel::{Resources, numbers, shipped};
use gemm::{Build, Dtype, Error, Level};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::ptxas;
use levels::LEVELS;

/// The architectures that the record is about.
pub const ARCHITECTURES: [u32; 9] = [60, 70, 75, 80, 86, 89, 90, 100, 120];

/// A shipped configuration on an architecture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The level's crate.
    pub level: String,
    /// The variant; empty where the level has none.
    pub variant: String,
    /// Element type.
    pub dtype: Dtype,
    /// Tile sizes by name.
    pub tiles: String,
    /// The start of the hash of source and options, as the file's header has it.
    pub source: String,
    /// 75 is `sm_75`.
    pub sm: u32,
    /// Registers per thread.
    pub registers: Option<u32>,
    /// Bytes per thread, stores and loads.
    pub spilled_bytes: Option<u32>,
    /// Bytes per block, static and dynamic.
    pub shared_bytes: Option<u32>,
    /// Blocks on an SM; 0, if not one fits.
    pub blocks_per_sm: u32,
    /// Share of the warps that an SM can hold.
    pub occupancy: f64,
    /// What limits the blocks.
    pub limited_by: String,
    /// Why ptxas refuses it there.
    pub refused: String,
}

impl Row {
    /// Whether it can run.
    pub fn runs(&self) -> bool {
        self.blocks_per_sm > 0
    }

    /// Whether it is about this configuration with the source that is shipped now.
    fn is_of(&self, (build, sm): &Item) -> bool {
        let configuration = &build.configuration;
        let names =
            (build.level.name, configuration.variant, configuration.dtype, configuration.tiles.to_string(), *sm);
        let own = (&*self.level, &*self.variant, self.dtype, self.tiles.clone(), self.sm);
        names == own && shipped(build).is_ok_and(|(header, _)| header.source.starts_with(&self.source))
    }

    /// Level and variant, as tables name them.
    pub fn name(&self) -> String {
        format!("{} {}", self.level, self.variant).trim_end().to_string()
    }
}

/// A configuration that is to be assembled for an architecture.
pub type Item = (Build, u32);

/// All of them, in the record's order.
pub fn items() -> Vec<Item> {
    let builds = LEVELS.into_iter().flat_map(Level::shipped_builds);
    builds.flat_map(|build| ARCHITECTURES.map(|sm| (build.clone(), sm))).collect()
}

/// A GPU of an architecture: what an SM holds is the architecture's.
pub fn gpu(sm: u32) -> Option<&'static Gpu> {
    GPUS.iter().find(|gpu| gpu.sm() == sm)
}

/// A row as these assemblers make it, each architecture by the first that knows it; and who that was.
pub fn row((build, sm): &Item, assemblers: &[Ptxas]) -> Result<(Row, String), Error> {
    let Build { level, configuration, .. } = build;
    let (header, ptx) = shipped(build)
        .map_err(|_| Error::usage(format!("the shipped PTX of {build} is stale"), "`cargo x ptx` makes it again"))?;
    let assembled = assemblers
        .iter()
        .find_map(|one| Some((ptxas::assemble(one, ptx, *sm, level.needs.optimization)?, one.version.clone())));
    let Some(((answer, version), gpu)) = assembled.zip(gpu(*sm)) else {
        return Err(Error::usage(
            format!("none of these assemblers knows sm_{sm}"),
            "the last that knows sm_60 and sm_70 is that of CUDA 12.9",
        ));
    };
    let mut row = Row {
        level: level.name.to_string(),
        variant: configuration.variant.to_string(),
        dtype: configuration.dtype,
        tiles: configuration.tiles.to_string(),
        source: header.source[..8].to_string(),
        sm: *sm,
        registers: None,
        spilled_bytes: None,
        shared_bytes: None,
        blocks_per_sm: 0,
        occupancy: 0.0,
        limited_by: String::new(),
        refused: String::new(),
    };
    match answer {
        Ok(resources) => fill(&mut row, build, gpu, resources),
        Err(why) => row.refused = why,
    }
    Ok((row, version))
}

/// What the assembler says, and what of it fits on an SM.
fn fill(row: &mut Row, build: &Build, gpu: &Gpu, resources: Resources) {
    let shared = resources.shared_bytes + build.dynamic_shared();
    let found = occupancy(gpu, build.threads(), resources.registers, shared);
    let limited: Vec<String> = found.limited_by.iter().map(ToString::to_string).collect();
    row.registers = Some(resources.registers);
    row.spilled_bytes = Some(resources.spilled_bytes);
    row.shared_bytes = Some(shared);
    row.blocks_per_sm = found.blocks_per_sm;
    row.occupancy = found.share;
    row.limited_by = limited.join(" and ");
}

/// The whole record, as its file has it. Of `before`, a record by the same assemblers, those rows are kept whose source is
/// the same still.
pub fn make(mut assemblers: Vec<Ptxas>, before: &str) -> Result<String, Error> {
    assemblers.sort_by_key(|ptxas| std::cmp::Reverse(numbers(&ptxas.version)));
    let same = assemblers.iter().map(|ptxas| &*ptxas.version).eq(compilers(before).iter().map(|(version, _)| *version));
    let kept = if same { read(before)? } else { Vec::new() };
    let kept = |item: &Item| {
        let row = kept.iter().find(|row| row.is_of(item))?;
        let by = compilers(before)
            .into_iter()
            .find(|(_, list)| list.split(", ").any(|sm| sm == format!("sm_{}", row.sm)))?;
        Some((row.clone(), by.0.to_string()))
    };
    let again = |item: &Item| kept(item).map_or_else(|| row(item, &assemblers), Ok);
    let made: Vec<(Row, String)> = items().par_iter().map(again).collect::<Result<_, Error>>()?;
    let mut text = "# Made by `lab cards --make`: registers, spills, shared memory and occupancy of every shipped configuration.\n".to_string();
    for ptxas in &assemblers {
        let own = |sm: &&u32| made.iter().any(|(row, version)| row.sm == **sm && *version == ptxas.version);
        let names: Vec<String> = ARCHITECTURES.iter().filter(own).map(|sm| format!("sm_{sm}")).collect();
        text += &format!("# ptxas {}: {}\n", ptxas.version, names.join(", "));
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    made.iter().try_for_each(|(row, _)| writer.serialize(row)).map_err(|error| unlike(&error))?;
    let bytes = writer.into_inner().map_err(|error| unlike(&error))?;
    Ok(text + &String::from_utf8_lossy(&bytes))
}

/// The rows of a record.
pub fn read(text: &str) -> Result<Vec<Row>, Error> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    reader.deserialize().collect::<Result<_, csv::Error>>().map_err(|error| unlike(&error))
}

/// The versions of ptxas that made a record.
pub fn compilers(text: &str) -> Vec<(&str, &str)> {
    text.lines().filter_map(|line| line.strip_prefix("# ptxas ")?.split_once(": ")).collect()
}

fn unlike(error: &dyn std::fmt::Display) -> Error {
    Error::usage(format!("the record of cards is not whole: {error}"), "`lab cards --make` makes it again")
}

#[cfg(test)]
mod tests {
    use super::super::RECORD;
    use super::*;
    use gemm::fit::{Card, misfit};
    use gemm::kernel::Judge;
    use level_tests::skipped;
    use std::collections::HashSet;

    #[test]
    fn the_record_is_about_what_is_shipped_now() {
        let rows = read(RECORD).unwrap();
        let items = items();
        assert_eq!(rows.len(), items.len(), "{AGAIN}");
        for (row, (build, sm)) in rows.iter().zip(&items) {
            let (level, configuration) = (build.level, &build.configuration);
            let (header, _) = shipped(build).unwrap();
            let now = (level.name, configuration.variant, configuration.tiles.to_string(), *sm, &header.source[..8]);
            let then = (&*row.level, &*row.variant, row.tiles.clone(), row.sm, &*row.source);
            assert_eq!(now, then, "{AGAIN}");
            let same = compilers(RECORD)[0].0 == header.compiler && header.judge == Judge::Ptxas;
            if let Some(known) = header.resources.get(sm).filter(|_| same) {
                let shared = known.shared_bytes + build.dynamic_shared();
                let header = (Some(known.registers), Some(known.spilled_bytes), Some(shared));
                assert_eq!((row.registers, row.spilled_bytes, row.shared_bytes), header, "{row:?}\n{AGAIN}");
            }
        }
    }

    /// With `DEEP=1` of all tile sizes, else of the first ones of each level, type and architecture.
    #[test]
    fn what_ptxas_and_occupancy_refuse_is_refused_before_a_launch() {
        let mut seen = HashSet::new();
        for (row, (build, sm)) in read(RECORD).unwrap().iter().zip(items()) {
            if seen.insert((build.level.name, build.configuration.dtype, sm)) || level_tests::deep() {
                let why = misfit(&build, &Card::of_architecture(sm));
                assert_eq!(why.is_none(), row.runs(), "{row:?}: {why:?}");
            }
        }
    }

    #[test]
    fn the_record_is_what_its_compilers_make() {
        let wanted: Vec<&str> = compilers(RECORD).iter().map(|(version, _)| *version).collect();
        let found = ptxas::all();
        let here: Vec<Ptxas> = wanted.iter().filter_map(|v| found.iter().find(|p| p.version == *v).cloned()).collect();
        if here.len() < wanted.len() {
            return skipped(&format!("needs ptxas {}", wanted.join(" and ")));
        }
        // All takes minutes: `lab cards --make` does it. These are of every level, type and architecture.
        let rows = read(RECORD).unwrap();
        for (number, item) in items().iter().enumerate().step_by(13) {
            assert_eq!(row(item, &here).unwrap().0, rows[number], "{AGAIN}");
        }
    }

    const AGAIN: &str = "hint: `lab cards --make` makes crates/lab/data/cards.csv again";
}
