//! The builds and shapes in which mutants run.

use gemm::{Build, Configuration, Decomposition, Dtype, Level, Parameter, Shape};

use crate::awkward_shapes;

/// The smallest shipped tile of C, with which a mutant runs the fewest threads, in every element type and variant: of inputs of each
/// width its own, because kernels copy elements of another width by other instructions.
pub fn builds(level: &'static Level) -> Vec<Build> {
    let shipped = level.shipped_builds();
    let width = |build: &Build| build.configuration.dtype.input.bytes();
    let is_smallest = |build: &&Build| {
        let alike = shipped.iter().filter(|other| width(other) == width(build));
        let smallest = alike.min_by_key(|other| area(other)).map(|other| &other.configuration.tiles);
        Some(&build.configuration.tiles) == smallest
    };
    let mut builds: Vec<Build> = shipped.iter().filter(is_smallest).cloned().map(crowded).collect();
    let mut seen = Vec::new();
    builds.retain(|build| {
        let kind = kind(build);
        let is_new = !seen.contains(&kind);
        seen.push(kind);
        is_new
    });
    builds
}

/// What makes a build one of its own, in which each mutant runs: variant and types. Where tensor maps say where matrices lie, all
/// types are one: the same copies, barriers and products, but for the last conversion.
pub fn kind(build: &Build) -> (&'static str, Option<Dtype>) {
    let Configuration { dtype, variant, .. } = build.configuration;
    (variant, Some(dtype).filter(|_| !is_mapped(build.level)))
}

/// Whether tensor maps are among a level's parameters.
pub fn is_mapped(level: &Level) -> bool {
    level.needs.parameters.iter().any(|parameter| matches!(parameter, Parameter::Map(_)))
}

/// A build whose blocks go through many tiles, also those of small shapes: where a grid has so many at most, it has two clusters.
pub fn crowded(mut build: Build) -> Build {
    let cluster = build.cluster().count() as u32;
    if let Decomposition::Persistent(blocks, _) = build.level.needs.decomposition {
        for (_, size) in build.configuration.tiles.0.iter_mut().filter(|(name, _)| *name == blocks) {
            *size = 2 * cluster;
        }
    }
    build
}

/// The build of the level's first type with the smallest tile of C.
pub fn smallest(level: &'static Level) -> Option<Build> {
    let first = level.types[0].dtype;
    let builds = level.shipped_builds().into_iter().filter(|build| build.configuration.dtype == first);
    // With a cluster, where one is as small.
    builds.min_by_key(|build| (area(build), std::cmp::Reverse(build.cluster().count())))
}

/// Elements of C that a block computes.
fn area(build: &Build) -> u32 {
    let tile = build.tile();
    tile.m * tile.n
}

/// Elements of C that a mutant is given at most: the largest shapes are for the kernel's own tests.
const LARGEST: u32 = 1 << 20;
/// And products: more take seconds.
const MOST: u64 = 1 << 27;

/// The shapes of a build, those first that catch most.
pub fn shapes(build: &Build) -> Vec<Shape> {
    let mut shapes = awkward_shapes(build);
    shapes.swap(0, 3);
    if is_mapped(build.level) {
        // Those that are the level's own go round its rings, by maps.
        let own = (build.level.needs.awkward)(&build.configuration.tiles, &build.tile()).len();
        shapes.rotate_right(own);
    }
    let largest = if is_mapped(build.level) { LARGEST / 4 } else { LARGEST };
    shapes.retain(|shape| shape.m * shape.n <= largest && products(shape) <= MOST);
    shapes
}

fn products(shape: &Shape) -> u64 {
    u64::from(shape.m) * u64::from(shape.n) * u64::from(shape.k)
}

/// How many of these shapes a build runs: all; but where tensor maps say where matrices lie, and the build is another than the first
/// in which a mutant runs, the level's own and a few: its tiles are large, and its threads many.
pub fn most_shapes(build: &Build, other: bool) -> usize {
    if other && is_mapped(build.level) { 6 } else { usize::MAX }
}

/// A build, and the same with all other tile sizes that are shipped, from the smallest tile of C on, then for other forms.
pub fn with_other_tiles(build: &Build) -> Vec<Build> {
    let types = build.configuration.dtype;
    let mut all: Vec<Build> = build.level.all_shipped_builds().into_iter().map(crowded).collect();
    all.retain(|other| kind(other) == kind(build));
    if is_mapped(build.level) {
        // The smallest tile is enough for a form, and for other types.
        let tiles = &build.configuration.tiles;
        all.retain(|other| {
            let Configuration { dtype, specialization, .. } = &other.configuration;
            *dtype == types || specialization.is_plain() && other.configuration.tiles == *tiles
        });
        let forms = all.iter_mut().filter(|other| !other.configuration.specialization.is_plain());
        forms.for_each(|other| other.configuration.tiles = tiles.clone());
    }
    all.sort_by_key(|other| {
        let Configuration { dtype, specialization, .. } = &other.configuration;
        (other.configuration != build.configuration, *dtype != types, !specialization.is_plain(), area(other))
    });
    all
}
