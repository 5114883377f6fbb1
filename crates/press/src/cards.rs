//! `press cards`: the record of what every shipped configuration needs on every architecture, and the book's tables of it.

mod ptxas;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use device::ptxas::Ptxas;
use emulator::gpu::{GPUS, Gpu};
use emulator::occupancy::occupancy;
use gemm::kernel::{Resources, numbers, shipped};
use gemm::{Build, Error, Level};
use lab::cards::record::{ARCHITECTURES, Row, compilers, read, unlike};
use lab::cards::{RECORD, overview};
use lab::output::note;
use lab::table::markdown;
use levels::{LEVELS, dtypes};
use rayon::prelude::*;

/// Make the record of cards again, each architecture by the newest ptxas that knows it; rows of kernels that have not changed are kept
#[derive(Debug, Clone, Args)]
pub struct Cards {
    /// A ptxas that makes it (repeatable) [default: those of CUDA, of the active Python and of the path]
    #[arg(long, value_name = "FILE")]
    ptxas: Vec<PathBuf>,
    /// Where the record goes
    #[arg(long, value_name = "FILE", default_value = "crates/lab/data/cards.csv")]
    out: PathBuf,
}

/// Runs the command.
pub fn run(cards: &Cards) -> Result<ExitCode, Error> {
    let assemblers: Vec<Ptxas> = match cards.ptxas.as_slice() {
        [] => ptxas::all(),
        files => files.iter().map(|file| ptxas::open(file)).collect::<Result<_, Error>>()?,
    };
    let text = make(assemblers, RECORD)?;
    fs::write(&cards.out, text).map_err(|error| {
        Error::usage(format!("cannot write {}: {error}", cards.out.display()), "run it at the repository's root")
    })?;
    note(&format!("{}: written; `cargo x figures` shows it in the book", cards.out.display()));
    Ok(ExitCode::SUCCESS)
}

/// A configuration that is to be assembled for an architecture.
type Item = (Build, u32);

/// All of them, in the record's order.
fn items() -> Vec<Item> {
    let builds = LEVELS.into_iter().flat_map(Level::shipped_builds);
    builds.flat_map(|build| ARCHITECTURES.map(|sm| (build.clone(), sm))).collect()
}

/// A GPU of an architecture: what an SM holds is the architecture's.
fn gpu(sm: u32) -> Option<&'static Gpu> {
    GPUS.iter().find(|gpu| gpu.sm() == sm)
}

/// Whether a row is about this configuration with the source that is shipped now.
fn is_of(row: &Row, (build, sm): &Item) -> bool {
    let configuration = &build.configuration;
    let names = (build.level.name, configuration.variant, configuration.dtype, configuration.tiles.to_string(), *sm);
    let own = (&*row.level, &*row.variant, row.dtype, row.tiles.clone(), row.sm);
    names == own && shipped(build).is_ok_and(|(header, _)| header.source.starts_with(&row.source))
}

/// A row as these assemblers make it, each architecture by the first that knows it; and who that was.
fn row((build, sm): &Item, assemblers: &[Ptxas]) -> Result<(Row, String), Error> {
    let Build { level, configuration, .. } = build;
    let (header, ptx) = shipped(build)
        .map_err(|_| Error::usage(format!("the shipped PTX of {build} is stale"), "`cargo x ptx` makes it again"))?;
    let assembled = assemblers.iter().find_map(|one| {
        Some((ptxas::assemble(one, (ptx, level.entry), *sm, level.needs.optimization)?, one.version.clone()))
    });
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
fn make(mut assemblers: Vec<Ptxas>, before: &str) -> Result<String, Error> {
    assemblers.sort_by_key(|ptxas| std::cmp::Reverse(numbers(&ptxas.version)));
    let same = assemblers.iter().map(|ptxas| &*ptxas.version).eq(compilers(before).iter().map(|(version, _)| *version));
    let kept = if same { read(before)? } else { Vec::new() };
    let kept = |item: &Item| {
        let row = kept.iter().find(|row| is_of(row, item))?;
        let by = compilers(before)
            .into_iter()
            .find(|(_, list)| list.split(", ").any(|sm| sm == format!("sm_{}", row.sm)))?;
        Some((row.clone(), by.0.to_string()))
    };
    let again = |item: &Item| kept(item).map_or_else(|| row(item, &assemblers), Ok);
    let made: Vec<(Row, String)> = items().par_iter().map(again).collect::<Result<_, Error>>()?;
    let mut text =
        "# Made by `press cards`: registers, spills, shared memory and occupancy of every shipped configuration.\n"
            .to_string();
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

/// The book's tables.
pub fn page(text: &str) -> Result<String, Error> {
    let made: Vec<String> =
        compilers(text).iter().map(|(version, list)| format!("ptxas {version} for {list}")).collect();
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

#[cfg(test)]
mod tests {
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
        // All takes minutes: `press cards` does it. These are of every level, type and architecture.
        let rows = read(RECORD).unwrap();
        for (number, item) in items().iter().enumerate().step_by(13) {
            assert_eq!(row(item, &here).unwrap().0, rows[number], "{AGAIN}");
        }
    }

    const AGAIN: &str = "hint: `press cards` makes crates/lab/data/cards.csv again";
}
