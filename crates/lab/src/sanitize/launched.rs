//! Grid, block and shared memory as the file launches its kernel, where no flag says them.

use super::words::{Launch, pair};
use crate::candidate::File;
use crate::expression::value;
use crate::output::note;
use crate::written::choose::choose;
use cuda_source::{Extents, Program};

/// The launches, with what the file says of those whose flags leave something open.
pub fn filled(file: &File, options: &[String], launches: &[Launch], set: &[String]) -> Vec<Launch> {
    let is_open = |launch: &Launch| launch.grid.is_none() || launch.block.is_none();
    let program = launches.iter().any(is_open).then(|| file.program(options)).flatten();
    let fill = |launch: &Launch| match &program {
        Some(program) if is_open(launch) => of_file(program, launch, set).unwrap_or_else(|| launch.clone()),
        _ => launch.clone(),
    };
    launches.iter().map(fill).collect()
}

fn of_file(program: &Program, launch: &Launch, set: &[String]) -> Option<Launch> {
    let choice = choose(program, launch.entry.as_deref()).ok()??;
    let mut all = program.launches().iter().filter(|found| program.is_of(found, &choice.kernel));
    let found = all.find(|found| program.instance(&choice.kernel, found).as_ref() == Some(&choice.instance))?;
    let known = |name: &str| {
        let pairs = set.iter().filter_map(|word| pair("--set", word).ok());
        pairs.filter(|(known, _)| *known == name).find_map(|(_, text)| text.parse().ok())
    };
    let number = |word: &String| value(word.rsplit('=').next().unwrap_or(word), &known).ok();
    let values: Vec<Option<u64>> = launch.arguments.iter().map(number).collect();
    let Extents { grid, block, shared } = program.extents(&choice.kernel, found, &values, None);
    let list = |extents: [u64; 3]| extents.map(|extent| extent.to_string()).join(",");
    let filled = Launch {
        grid: launch.grid.clone().or(grid.ok().map(list)),
        block: launch.block.clone().or(block.ok().map(list)),
        shared: launch.shared.clone().or(shared.ok().map(|bytes| bytes.to_string())),
        ..launch.clone()
    };
    if filled != *launch {
        note(&format!(
            "note: {}: grid and block of the launch in line {}, where no flag says them",
            choice.expression, found.line
        ));
    }
    Some(filled)
}
