//! Who takes part, as `--levels` names them: levels, kernels of the summit, and the summit itself, which is the one that it chooses.

use device::Device;
use emulator::gpu::Gpu;
use gemm::form::Form;
use gemm::{Build, Dtype, Error, Level, Shape};
use levels::{LEVELS, builds, levels};
use summit::choice::Chooser;
use summit::kernels::{KERNELS, named, short};

/// The word for the summit's own choice.
const SUMMIT: &str = "summit";

/// Who takes part.
#[derive(Debug, Clone)]
pub struct Takers {
    /// Levels and kernels, in the order in which they were named.
    pub kernels: Vec<&'static Level>,
    /// And whichever kernel the summit chooses.
    best: bool,
}

/// Every level, then every kernel of the summit.
pub fn everyone() -> impl Iterator<Item = &'static Level> {
    LEVELS.into_iter().chain(KERNELS)
}

/// Those that `--levels` names; all levels, if it names none.
pub fn takers(words: &[String]) -> Result<Takers, Error> {
    if words.is_empty() {
        return Ok(Takers { kernels: LEVELS.to_vec(), best: false });
    }
    let kernels = words.iter().filter(|word| *word != SUMMIT).map(kernel).collect::<Result<_, _>>()?;
    Ok(Takers { kernels, best: words.iter().any(|word| word == SUMMIT) })
}

/// The same where configurations are asked for and not products: `summit` stands for all its kernels.
pub fn all(words: &[String]) -> Result<Vec<&'static Level>, Error> {
    let Takers { mut kernels, best } = takers(words)?;
    kernels.extend(KERNELS.into_iter().filter(|_| best));
    Ok(kernels)
}

/// A level or a kernel by its name, a level also by its number.
fn kernel(word: &String) -> Result<&'static Level, Error> {
    if let Some(kernel) = named(word) {
        return Ok(kernel);
    }
    levels(std::slice::from_ref(word)).map(|found| found[0]).map_err(|error| match error {
        Error::Usage { message, hint } => {
            let names: Vec<&str> = KERNELS.into_iter().map(short).collect();
            Error::usage(message, format!("{hint}; of the summit {}, or {SUMMIT}, which chooses", names.join(", ")))
        }
        other => other,
    })
}

impl Takers {
    /// Their builds with default tile sizes or, if `shipped`, with all that are shipped; then the one that the summit chooses at this
    /// shape, on the GPU at hand or the modelled one.
    ///
    /// # Errors
    /// [`Error::Usage`], where none of them multiplies these types.
    pub fn builds(
        &self,
        dtype: Dtype,
        shipped: bool,
        shape: &Shape,
        (device, gpu): (&Device, &Gpu),
    ) -> Result<Vec<Build>, Error> {
        let mut found = if self.kernels.is_empty() { Vec::new() } else { builds(&self.kernels, dtype, shipped)? };
        if self.best {
            let card = match device {
                Device::Cuda(gpu) => (gpu.architecture(), gpu.multiprocessors()),
                Device::Emulator => (gpu.sm(), gpu.sms),
            };
            found.push(chosen(dtype, shape, card, &Form::usual(dtype))?);
        }
        Ok(found)
    }
}

/// What the summit chooses for a GPU of an architecture with so many SMs.
///
/// # Errors
/// [`Error::Usage`], where no kernel takes these types in this form there.
pub fn chosen(dtype: Dtype, shape: &Shape, (sm, sms): (u32, u32), form: &Form) -> Result<Build, Error> {
    Chooser::new(sm, sms).best(shape, dtype, form).ok_or_else(|| {
        let message = format!("no kernel of the summit computes {form} in {dtype} on sm_{sm}");
        Error::usage(message, "`lab predict --levels summit --shipped` lists what it has in a type")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(|word| word.to_string()).collect()
    }

    #[test]
    fn levels_and_kernels_are_named_alike() {
        let names =
            |list: &[&str]| takers(&words(list)).unwrap().kernels.iter().map(|kernel| kernel.name).collect::<Vec<_>>();
        assert_eq!(
            names(&["9", "thin", "summit fma_split_k"]),
            ["level9-split-k", "summit thin", "summit fma_split_k"]
        );
        assert_eq!(names(&[]).len(), LEVELS.len());
        assert_eq!(all(&words(&["summit"])).unwrap().len(), KERNELS.len());
        assert_eq!(all(&words(&["2"])).unwrap().len(), 1);
        let unknown = takers(&words(&["thick"])).unwrap_err().to_string();
        assert!(
            unknown.contains("there is no level `thick`") && unknown.contains("of the summit fma_direct, "),
            "{unknown}"
        );
    }

    #[test]
    fn the_summit_is_the_one_that_it_chooses_at_the_shape() {
        let at = |size: u32| {
            let shape = Shape { m: size, n: size, k: size };
            let takers = takers(&words(&["summit"])).unwrap();
            let built = takers.builds(Dtype::F32, false, &shape, (&Device::Emulator, &emulator::gpu::H200)).unwrap();
            assert_eq!(built.len(), 1);
            built[0].clone()
        };
        assert!(at(64).level.number().is_none() && at(64) != at(4096));
        let e5m2 = "e5m2-f16".parse::<Dtype>();
        assert!(
            e5m2.is_err()
                || takers(&words(&["thin"]))
                    .unwrap()
                    .builds(
                        e5m2.unwrap(),
                        false,
                        &Shape { m: 1, n: 1, k: 1 },
                        (&Device::Emulator, &emulator::gpu::H200)
                    )
                    .is_err()
        );
    }
}
