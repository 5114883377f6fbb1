//! Grid, block and shared memory as the file launches its kernel, where no flag says them.

use super::words::{Launch, pair};
use crate::candidate::Kernels;
use crate::expression::value;
use crate::output::note;
use crate::written::choose::choose;
use crate::written::place;
use cuda_source::{Extents, Program};

/// The launches, with what the file says of those whose flags leave something open.
pub fn filled(kernels: &Kernels, launches: &[Launch], set: &[String]) -> Vec<Launch> {
    let is_open = |launch: &Launch| launch.grid.is_none() || launch.block.is_none();
    let fill = |launch: &Launch| match &kernels.program {
        Some(program) if is_open(launch) => of_file(program, launch, set).unwrap_or_else(|| launch.clone()),
        _ => launch.clone(),
    };
    launches
        .iter()
        .map(fill)
        .map(|launch| kernels.program.as_deref().map_or(launch.clone(), |program| zeroed(program, launch)))
        .collect()
}

/// The launch with zeros in the buffers that are given no content, and that host code fills with zeros before.
fn zeroed(program: &Program, launch: Launch) -> Launch {
    let found = || {
        let choice = choose(program, launch.entry.as_deref()).ok()??;
        let found = program.launches().iter().find(|found| program.is_of(found, &choice.kernel))?;
        Some((program.zeroed(found), place(&choice, found)))
    };
    let Some((zeroed, place)) = found().filter(|(zeroed, _)| zeroed.len() == launch.arguments.len()) else {
        return launch;
    };
    let is_open = |word: &str| word.contains(':') && word.ends_with(']') && !word.contains(['=', '(', '{']);
    let mut names = Vec::new();
    let word = |(word, zeroed): (&String, bool)| match zeroed && is_open(word) {
        true => {
            names.push(word.split(':').next().unwrap_or_default().to_string());
            format!("{word}=zeros")
        }
        false => word.clone(),
    };
    let arguments = launch.arguments.iter().zip(zeroed).map(word).collect();
    if !names.is_empty() {
        note(&format!("note: {} filled with zeros, as host code does before the launch of {place}", names.join(", ")));
    }
    Launch { arguments, ..launch }
}

fn of_file(program: &Program, launch: &Launch, set: &[String]) -> Option<Launch> {
    let choice = choose(program, launch.entry.as_deref()).ok()??;
    // Too few arguments are an error of their own.
    if launch.arguments.len() != choice.kernel.parameters.len() {
        return None;
    }
    let mut all = program.launches().iter().filter(|found| program.is_of(found, &choice.kernel));
    let found = all.find(|found| program.instance(&choice.kernel, found).as_ref() == Some(&choice.instance))?;
    let pairs = set.iter().filter_map(|word| pair("--set", word).ok());
    let names: Vec<(String, u64)> =
        pairs.filter_map(|(name, text)| Some((name.to_string(), text.parse().ok()?))).collect();
    let known = |name: &str| names.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
    let number = |word: &String| value(word.rsplit('=').next().unwrap_or(word), &known).ok();
    let values: Vec<Option<u64>> = launch.arguments.iter().map(number).collect();
    let Extents { grid, block, shared } = program.extents_with(&choice.kernel, found, &values, &names);
    let list = |extents: [u64; 3]| extents.map(|extent| extent.to_string()).join(",");
    let filled = Launch {
        grid: launch.grid.clone().or(grid.clone().ok().map(list)),
        block: launch.block.clone().or(block.clone().ok().map(list)),
        shared: launch.shared.clone().or(shared.clone().ok().map(|bytes| bytes.to_string())),
        ..launch.clone()
    };
    let open = [("grid", &launch.grid, grid.err()), ("block", &launch.block, block.err())];
    let open = open.into_iter().filter(|(_, flag, _)| flag.is_none());
    let (unclear, taken): (Vec<_>, Vec<_>) = open.partition(|(_, _, why)| why.is_some());
    let taken: Vec<&str> = taken.iter().map(|(what, ..)| *what).collect();
    let (shown, place) = (&choice.expression, place(&choice, found));
    if !taken.is_empty() {
        note(&format!("note: {shown}: {} of the launch of {place}, where no flag says them", taken.join(" and ")));
    }
    for why in unclear.into_iter().filter_map(|(_, _, why)| why).chain(shared.err().filter(|_| launch.shared.is_none()))
    {
        note(&format!("note: {shown}: of the launch of {place}, {why}: --set may say it"));
    }
    Some(filled)
}

/// Where the file has a launch whose grid or block no flag says, and where the grid is made that it names.
pub fn at(kernels: &Kernels, launches: &[Launch], text: &str) -> Option<String> {
    let [launch] = launches else { return None };
    let program = kernels.program.as_deref().filter(|_| launch.grid.is_none() || launch.block.is_none())?;
    let choice = choose(program, launch.entry.as_deref()).ok()??;
    let mut all = program.launches().iter().filter(|found| program.is_of(found, &choice.kernel));
    let found = all.find(|found| program.instance(&choice.kernel, found).as_ref() == Some(&choice.instance))?;
    let (path, line) = (&found.path, found.line);
    let before: Vec<&str> = text.lines().take(line as usize).collect();
    let named = || {
        let grid = before.last()?.split("<<<").nth(1)?.split(',').next()?.trim();
        let is_name = !grid.is_empty() && grid.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        let words = |line: &str| {
            line.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
                .map(str::to_string)
                .collect::<Vec<_>>()
        };
        let makes = |line: &&str| {
            let words = words(line);
            words.windows(2).any(|pair| pair[0] == "dim3" && pair[1] == grid)
        };
        let made = before.iter().rposition(|line| is_name && makes(line))?;
        (*path == choice.kernel.path).then(|| format!(", its grid is made at line {}", made + 1))
    };
    Some(format!("at {path}:{line}{}", named().unwrap_or_default()))
}
