//! Kernels that need be no product: each is launched as `lab sanitize` does, and counted in its first order of blocks.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use gemm::{Error, Source};

use super::side::Side;
use super::{Comparison, Kernel, of_file, rows, shown};
use crate::candidate::File;
use crate::sanitize::{Launched, Outcome, Verdict, measured};

/// Compares the launches that the words of each say.
pub fn run(paths: [&Path; 2], words: [Vec<OsString>; 2]) -> Result<ExitCode, Error> {
    let (mut sides, mut json) = (Vec::new(), false);
    for (path, words) in paths.into_iter().zip(&words) {
        let file = File::read(path)?;
        let name = path.display().to_string();
        let (outcome, as_json) = match measured(&file, words).map_err(|error| of_file(error, &name))? {
            Ok(measured) => measured,
            Err(error) => return Ok(common::cli::explain(&error)),
        };
        json |= as_json;
        sides.push((file, outcome));
    }
    let same_file = paths[0] == paths[1];
    let (first, second) = (&sides[0].1.launches[0], &sides[1].1.launches[0]);
    let both = [(&sides[0].0, first), (&sides[1].0, second)];
    let [Some(a), Some(b)] = both.map(|(file, launch)| side(file, launch)) else {
        let at_fault = sides.iter().find(|(_, outcome)| outcome.launches.iter().any(|launch| launch.counted.is_none()));
        let file = at_fault.map_or("", |(file, _)| &file.path);
        return Err(Error::usage(
            format!("{file} has a fault in every order, and no counts"),
            "`lab sanitize` says where",
        ));
    };
    let kernel = |(file, outcome): &(File, Outcome), launch: &Launched, side: &Side| Kernel {
        name: match same_file {
            true => launch.entry.clone(),
            false => file.path.rsplit('/').next().unwrap_or_default().to_string(),
        },
        right: outcome.verdict != Verdict::Fault,
        launch: format!("grid {}, block {}  {}", launch.grid, launch.block, launch.arguments.join(" ")),
        sums: launch.sums.clone(),
        bound_us: 1e6 * side.modelled.bound.seconds,
        bottleneck: side.modelled.bound.bottleneck.to_string(),
    };
    let kernels = [kernel(&sides[0], first, &a), kernel(&sides[1], second, &b)];
    shown(&Comparison { shape: None, gpu: a.modelled.gpu, kernels, differs: rows::rows([a, b]) }, json)
}

fn side<'a>(file: &'a File, launch: &'a Launched) -> Option<Side<'a>> {
    let counted = launch.counted.as_ref()?;
    Some(Side {
        source: Source { path: &file.path, text: &file.text },
        total: &counted.total,
        lines: &counted.lines,
        footprint_bytes: counted.footprint_bytes,
        shared_bytes: counted.shared_bytes,
        modelled: &counted.modelled,
    })
}
