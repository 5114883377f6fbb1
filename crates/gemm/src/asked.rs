//! What a person or a program asks of a level by names, and what is said of names that there are not.

use emulator::gpu::{GPUS, Gpu};

use crate::build::Build;
use crate::dtype::Dtype;
use crate::error::Error;
use crate::form::Form;
use crate::level::Level;

/// The largest tile size that may be asked for.
const LARGEST_TILE: u32 = 1024;

/// The level's build for these types and this form of a product, with a variant by its name and other tile sizes by theirs.
///
/// # Errors
/// [`Error::Usage`], with what there is, for what the level does not have.
pub fn build(
    level: &'static Level,
    dtype: Dtype,
    variant: Option<&str>,
    tiles: &[(&str, u32)],
    form: &Form,
) -> Result<Build, Error> {
    if !level.dtypes().any(|own| own == dtype) {
        let known: Vec<&str> = level.dtypes().map(Dtype::name).collect();
        let message = format!("{} does not multiply {dtype}", level.name);
        return Err(Error::usage(message, format!("it multiplies {}", known.join(", "))));
    }
    let variant = variant.map(|name| find_variant(level, name)).transpose()?;
    for &(name, size) in tiles {
        let define = format!("{name}={size}");
        if !(1..=LARGEST_TILE).contains(&size) {
            return Err(no_tile_size(&define, &format!("{size} is out of range")));
        }
        if !level.tiles.iter().any(|(own, _)| *own == name) {
            let known: Vec<&str> = level.tiles.iter().map(|(n, _)| *n).collect();
            return Err(Error::usage(
                format!("`--define {define}`: {} has no tile size `{name}`", level.name),
                format!("its tile sizes are {}", known.join(", ")),
            ));
        }
    }
    level.default_build(dtype).with(variant, tiles).in_form(form)
}

fn find_variant(level: &Level, name: &str) -> Result<&'static str, Error> {
    if let Some(variant) = level.variants.iter().find(|v| v.name == name) {
        return Ok(variant.name);
    }
    let known: Vec<&str> = level.variants.iter().map(|v| v.name).collect();
    let hint = match known.as_slice() {
        [] => "this level has no variants: leave `--variant` out".to_string(),
        _ => format!("its variants are {}", known.join(", ")),
    };
    Err(Error::usage(format!("{} has no variant `{name}`", level.name), hint))
}

/// What is said of a definition, `TILE=8`, that is no tile size.
pub fn no_tile_size(define: &str, what: &str) -> Error {
    let hint = format!("write NAME=VALUE, a whole number from 1 to {LARGEST_TILE}, for instance `--define TILE=8`");
    Error::usage(format!("`--define {define}`: {what}"), hint)
}

/// The GPU of this name, for the emulator to model.
///
/// # Errors
/// [`Error::Usage`], with those that there are.
pub fn gpu(name: &str) -> Result<&'static Gpu, Error> {
    Gpu::named(name).map_err(|unknown| {
        let known: Vec<&str> = GPUS.iter().map(|gpu| gpu.name).collect();
        Error::usage(format!("no GPU named `{}` is modelled", unknown.name), format!("known are {}", known.join(", ")))
    })
}
