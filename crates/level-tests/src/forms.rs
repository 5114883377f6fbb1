//! Products with factors, with B stored the other way and with rows that lie apart.

use device::nvrtc;
use gemm::form::{Form, Specialization};
use gemm::kernel::Kernel;
use gemm::{Build, Error, Level, Shape};

use super::{Device, kernel_is_exact_in};

/// A form that a specialization computes, with factors that are exact, and rows so far apart.
pub fn form_of(specialization: Specialization, padding: [u32; 3]) -> Form {
    let beta = if specialization.added { -3.0 } else { 0.0 };
    Form { alpha: 2.0, beta, a: specialization.a, layout: specialization.layout, padding }
}

/// The padding with which rows begin at multiples of 16 elements, and so of 16 bytes.
pub fn whole_vectors(form: &Form, shape: &Shape) -> [u32; 3] {
    form.leading(shape).map(|leading| (leading.next_multiple_of(16) - leading) as u32)
}

/// Shapes, and paddings, that a build is tried on.
const CASES: usize = 4;

fn shape_of(build: &Build, number: usize) -> Shape {
    let tile = build.tile();
    let shapes: [_; CASES] =
        [(1, 1, 1), (33, 20, 65), (tile.m + 3, tile.n + 4, 2 * tile.k + 3), (tile.m, 2 * tile.n, tile.k)];
    let (m, n, k) = shapes[number];
    Shape { m, n, k }
}

fn form_with(build: &Build, shape: &Shape, padding: usize) -> Form {
    let form = |padding| form_of(build.configuration.specialization, padding);
    let paddings: [_; CASES] = [[0; 3], whole_vectors(&form([0; 3]), shape), [4, 8, 4], [1, 3, 5]];
    form(paddings[padding])
}

/// Builds, shapes and paddings, by number: every pair of two of these. Or, if `all` are asked for, every three.
fn cases(builds: usize, all: bool) -> Vec<[usize; 3]> {
    let numbers = move |of: usize| 0..of;
    let cases = numbers(builds).flat_map(move |build| {
        numbers(CASES).flat_map(move |shape| numbers(CASES).map(move |padding| [build, shape, padding]))
    });
    cases.filter(|[build, shape, padding]| all || (build + shape) % CASES == *padding).collect()
}

/// Every shipped specialization is exact on awkward shapes, with rows that begin at multiples of 16 bytes and with others: on a GPU each
/// shape with each padding, on the emulator by pairs.
pub fn every_form_is_exact(level: &'static Level, device: &Device) -> Result<(), String> {
    let mut builds = level.all_shipped_builds();
    let is_other =
        |build: &&Build| build.configuration.specialization != level.plain(build.configuration.dtype).specialization();
    let forms = builds.iter().filter(is_other).count();
    let expected = if level.takes_any_form() {
        let in_both = level.types.iter().filter(|types| types.in_both_layouts).filter_map(|types| types.shipped);
        let more: usize = in_both.map(|all| all.len() - 1).sum();
        ((4 * level.layouts_of_a().len() - 1) * level.types.len() + more) * level.variant_names().len()
    } else {
        0
    };
    if forms != expected {
        return Err(format!("{forms} builds are shipped for other forms, and not {expected}"));
    }
    if !level.takes_any_form() {
        return match builds[0].clone().in_form(&Form { alpha: 2.0, ..Form::PLAIN }) {
            Err(Error::Usage { message, .. }) if message.contains("does not compute C = 2·A·B") => Ok(()),
            other => Err(format!("a level that takes the plain product alone takes a factor: {other:?}")),
        };
    }
    builds.retain(|build| build.is_default() || !build.configuration.specialization.is_plain());
    if builds.len() < CASES {
        return Err(format!("{} builds are too few for each padding to meet each shape", builds.len()));
    }
    let kernels: Result<Vec<Kernel>, Error> =
        builds.iter().map(|build| Kernel::obtain(build, 90, nvrtc::find)).collect();
    let kernels = kernels.map_err(|error| error.to_string())?;
    for [number, shape, padding] in cases(builds.len(), matches!(device, Device::Cuda(_))) {
        let build = &builds[number];
        let shape = shape_of(build, shape);
        kernel_is_exact_in(device, build, &kernels[number], shape, form_with(build, &shape, padding))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_there() {
        for builds in [4, 5, 12] {
            let cases = cases(builds, false);
            assert_eq!(cases.len(), builds * CASES);
            let sizes = [builds, CASES, CASES];
            for (one, other) in [(0, 1), (0, 2), (1, 2)] {
                let mut pairs: Vec<(usize, usize)> = cases.iter().map(|case| (case[one], case[other])).collect();
                pairs.sort();
                pairs.dedup();
                assert_eq!(pairs.len(), sizes[one] * sizes[other], "{builds} builds");
            }
        }
        assert_eq!(cases(5, true).len(), 5 * CASES * CASES);
    }
}
