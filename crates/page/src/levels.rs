//! What a page may ask for.

use emulator::gpu::GPUS;
use gemm::{Build, Dtype, Level, Tiles};
use serde::Serialize;

/// A level, as a page shows it.
#[derive(Debug, Serialize)]
struct Rung {
    number: u32,
    name: &'static str,
    title: &'static str,
    idea: &'static str,
    /// The level that its kernel starts from.
    from: Option<&'static str>,
    /// `kernel.cu`: where it lies, and what stands there.
    path: &'static str,
    source: &'static str,
    /// Names of its variants; none where it has one form only.
    variants: Vec<&'static str>,
    dtypes: Vec<Dtype>,
    /// The GPUs that can be modelled, as a request names them.
    gpus: Vec<&'static str>,
    /// What is shipped compiled, and so can run.
    shipped: Vec<Shipped>,
}

/// A configuration that is shipped.
#[derive(Debug, Serialize)]
struct Shipped {
    dtype: Dtype,
    variant: &'static str,
    tiles: Tiles,
    /// The file of its PTX, in the level's folder `ptx`.
    file: String,
    /// Whether it runs where nothing is said.
    default: bool,
}

/// All levels, in order, as a JSON array.
pub fn levels() -> String {
    // Of the constant, this crate would have a copy of its own, with all PTX.
    let levels: Vec<Rung> = levels::levels(&[]).into_iter().flatten().map(Rung::of).collect();
    serde_json::to_string(&levels).unwrap_or_default()
}

impl Rung {
    fn of(level: &'static Level) -> Rung {
        let Level { name, title, idea, from, path, source, .. } = *level;
        let variants = level.variants.iter().map(|variant| variant.name).collect();
        let shipped = level.shipped_builds().into_iter().map(Shipped::of).collect();
        let (dtypes, gpus) = (level.dtypes().collect(), GPUS.iter().map(|gpu| gpu.name).collect());
        Rung {
            number: level.number().unwrap_or_default(),
            name,
            title,
            idea,
            from,
            path,
            source,
            variants,
            dtypes,
            gpus,
            shipped,
        }
    }
}

impl Shipped {
    fn of(build: Build) -> Shipped {
        let (default, file) = (build.is_default(), build.configuration.file_name());
        let gemm::Configuration { dtype, variant, tiles, .. } = build.configuration;
        Shipped { dtype, variant, tiles, file, default }
    }
}
