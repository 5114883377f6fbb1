//! A level in one configuration: what the compiler makes one kernel of.

use std::fmt;

use emulator::Dim3;

use crate::dtype::Dtype;
use crate::error::Error;
use crate::form::{Form, Layout, Specialization};
use crate::level::{Configuration, Decomposition, LaunchShape, Level, Shape, Tile, Tiles};
use crate::source::{Source, Text};

/// A level in one configuration: what the compiler makes one kernel of.
#[derive(Debug, Clone)]
pub struct Build {
    /// The level.
    pub level: &'static Level,
    /// Types, variant and tile sizes.
    pub configuration: Configuration,
    /// What the compiler gets.
    text: Text,
}

impl Level {
    /// The build with every default, for a combination of types.
    pub fn default_build(&'static self, dtype: Dtype) -> Build {
        let own = self.types.iter().find(|types| types.dtype == dtype).and_then(|types| types.tiles);
        let tiles = own.map_or(Tiles(self.tiles.to_vec()), |sizes| self.named(sizes));
        self.build(dtype, self.variant_names()[0], tiles)
    }

    /// The form of the product that it computes by default: A·B, row-major. Where it takes no other, B lies as is
    /// [usual](Form::usual) for the type, and so in fp8 as N × K.
    pub fn plain(&self, dtype: Dtype) -> Form {
        if self.takes_any_form() { Form::PLAIN } else { Form::usual(dtype) }
    }

    fn build(&'static self, dtype: Dtype, variant: &'static str, tiles: Tiles) -> Build {
        let specialization = self.plain(dtype).specialization();
        let text = Text::new(self.path, self.source);
        Build { level: self, configuration: Configuration { dtype, variant, tiles, specialization }, text }
    }

    /// Tile sizes in the level's order, with their names.
    fn named(&self, sizes: &[u32]) -> Tiles {
        Tiles(self.tiles.iter().zip(sizes).map(|(&(name, _), &size)| (name, size)).collect())
    }

    /// Every build that is shipped compiled: for the plain product, then for the other forms that it takes.
    pub fn all_shipped_builds(&'static self) -> Vec<Build> {
        let mut builds = self.shipped_builds();
        if self.takes_any_form() {
            for (variant, dtype) in self.variant_names().into_iter().flat_map(|v| self.dtypes().map(move |d| (v, d))) {
                let others = Specialization::all(self.layouts_of_a()).filter(|one| !one.is_plain());
                let tiles = self.default_build(dtype).configuration.tiles;
                builds.extend(others.map(|one| self.build(dtype, variant, tiles.clone()).specialized(one)));
                builds.extend(self.shipped_by_columns(variant, dtype));
            }
        }
        builds
    }

    /// Those that are shipped for a B that is stored N × K beside the default's.
    fn shipped_by_columns(&'static self, variant: &'static str, dtype: Dtype) -> impl Iterator<Item = Build> {
        let types = self.types.iter().filter(move |types| types.dtype == dtype && types.in_both_layouts);
        let sizes = types.filter_map(|types| types.shipped).flat_map(|all| all.iter().skip(1));
        let columns = Specialization { layout: Layout::Columns, ..Specialization::default() };
        sizes.map(move |sizes| self.build(dtype, variant, self.named(sizes)).specialized(columns))
    }

    /// Every build that is shipped compiled for the plain product.
    pub fn shipped_builds(&'static self) -> Vec<Build> {
        let mut builds = Vec::new();
        for variant in self.variant_names() {
            let alike = || self.types.iter().filter(|types| types.shipped.is_none());
            for sizes in self.shipped {
                builds.extend(alike().map(|types| self.build(types.dtype, variant, self.named(sizes))));
            }
            for types in alike() {
                let own = types.tiles.filter(|sizes| !self.shipped.contains(sizes));
                builds.extend(own.map(|sizes| self.build(types.dtype, variant, self.named(sizes))));
            }
            for types in self.types {
                let own = types.shipped.into_iter().flatten();
                builds.extend(own.map(|sizes| self.build(types.dtype, variant, self.named(sizes))));
            }
        }
        builds
    }

    /// Every build of the search space: what is shipped first, then each combination of candidates that is not. Most of them
    /// the compiler may refuse.
    pub fn candidates(&'static self, dtype: Dtype) -> Vec<Build> {
        let mut candidates: Vec<Build> =
            self.shipped_builds().into_iter().filter(|build| build.configuration.dtype == dtype).collect();
        if self.space.is_empty() {
            return candidates;
        }
        let shipped = candidates.len();
        let mut combinations = vec![Vec::new()];
        for &(name, default) in self.tiles {
            let sizes = self.space.iter().find(|(n, _)| *n == name).map_or(vec![default], |(_, sizes)| sizes.to_vec());
            let with = |c: &Vec<_>, size| [c.as_slice(), &[(name, size)]].concat();
            combinations = combinations.iter().flat_map(|c| sizes.iter().map(|&size| with(c, size))).collect();
        }
        for variant in self.variant_names() {
            for tiles in &combinations {
                let candidate = self.build(dtype, variant, Tiles(tiles.clone()));
                if !candidates[..shipped].contains(&candidate) {
                    candidates.push(candidate);
                }
            }
        }
        candidates
    }

    /// The build of this variant with these tile sizes, written `BM=32 BN=32`; nothing, where the level has no such variant, or
    /// other tile sizes.
    pub fn build_named(&'static self, dtype: Dtype, variant: &str, tiles: &str) -> Option<Build> {
        let variant = self.variant_names().into_iter().find(|name| *name == variant)?;
        let words: Vec<(&str, u32)> = tiles
            .split_whitespace()
            .map(|word| word.split_once('=').and_then(|(n, s)| Some((n, s.parse().ok()?))))
            .collect::<Option<_>>()?;
        let same_names = words.iter().map(|(name, _)| *name).eq(self.tiles.iter().map(|(name, _)| *name));
        let sizes: Vec<u32> = words.iter().map(|(_, size)| *size).collect();
        same_names.then(|| self.build(dtype, variant, self.named(&sizes)))
    }
}

impl Build {
    /// The level's name and, where it has variants, the variant's.
    pub fn name(&self) -> String {
        format!("{} {}", self.level.name, self.configuration.variant).trim_end().to_string()
    }

    /// The kernel's text and path.
    pub fn source(&self) -> Source<'_> {
        self.text.source()
    }

    /// The same with another text in place of the level's.
    pub fn with_text(self, text: Text) -> Build {
        Build { text, ..self }
    }

    /// The same with another variant, and other sizes of those tiles that it has.
    pub(crate) fn with(mut self, variant: Option<&'static str>, tiles: &[(&str, u32)]) -> Build {
        let configuration = &mut self.configuration;
        configuration.variant = variant.unwrap_or(configuration.variant);
        for (name, size) in &mut configuration.tiles.0 {
            *size = tiles.iter().rfind(|(other, _)| other == name).map_or(*size, |(_, size)| *size);
        }
        self
    }

    /// The same for another form.
    fn specialized(mut self, specialization: Specialization) -> Build {
        self.configuration.specialization = specialization;
        self
    }

    /// The same for a form of the product.
    ///
    /// # Errors
    /// [`Error::Usage`], where the level takes the plain product alone.
    pub fn in_form(self, form: &Form) -> Result<Build, Error> {
        let plain = self.level.plain(self.configuration.dtype);
        if *form != plain && !self.level.takes_any_form() {
            let message = format!("{} does not compute {form}", self.level.name);
            let plain = plain.to_string().replace("C = ", "");
            return Err(Error::usage(message, format!("it multiplies {plain}, row-major and without padding")));
        }
        if !self.level.layouts_of_a().contains(&form.a) {
            let message = format!("{} takes no A that is stored K×M", self.level.name);
            return Err(Error::usage(message, "transpose it first, or let another kernel multiply"));
        }
        Ok(self.specialized(form.specialization()))
    }

    /// The launch that covers C for a problem.
    pub fn launch(&self, shape: &Shape) -> LaunchShape {
        (self.level.launch)(shape, &self.configuration.tiles)
    }

    /// The same for a batch, where all products are one launch: blocks that go on to other tiles go on to other products.
    pub fn launch_of(&self, shape: &Shape, count: u32) -> LaunchShape {
        let mut launch = self.launch(shape);
        if let (Decomposition::Persistent(blocks, _), true) = (self.level.needs.decomposition, count > 1) {
            let cluster = self.cluster().x.max(1);
            let most = self.configuration.tiles[blocks] / cluster * cluster;
            launch.grid.x = launch.grid.x.saturating_mul(count).min(most);
        }
        launch
    }

    /// What a thread block works on at a time.
    pub fn tile(&self) -> Tile {
        self.launch(&Shape { m: 1, n: 1, k: 1 }).tile
    }

    /// Threads of a block; the same for every problem.
    pub fn threads(&self) -> u32 {
        u32::try_from(self.launch(&Shape { m: 1, n: 1, k: 1 }).block.count()).unwrap_or(u32::MAX)
    }

    /// The blocks of a cluster.
    pub fn cluster(&self) -> Dim3 {
        (self.level.needs.cluster)(&self.configuration.tiles)
    }

    /// Bytes of dynamic shared memory of a block.
    pub fn dynamic_shared(&self) -> u32 {
        (self.level.needs.shared)(&self.configuration)
    }

    /// Whether it is shipped compiled.
    pub fn is_shipped(&self) -> bool {
        self.level.all_shipped_builds().contains(self)
    }

    /// Whether every choice is the level's default for its types.
    pub fn is_default(&self) -> bool {
        *self == self.level.default_build(self.configuration.dtype)
    }

    /// Whether its variant is the level's first, which is the level's own; the others are lessons of their own.
    pub fn is_first_variant(&self) -> bool {
        self.configuration.variant == self.level.default_build(self.configuration.dtype).configuration.variant
    }

    /// Thread blocks that share a tile of C, along K; 1 where each has its own, or where some share them as the work falls.
    pub fn split(&self) -> u32 {
        match self.level.needs.decomposition {
            Decomposition::SplitK { parts, .. } => self.configuration.tiles[parts],
            _ => 1,
        }
    }

    /// The same at a shape: 1, too, where the sums of all parts have no room.
    pub fn parts(&self, shape: &Shape) -> u32 {
        let split = self.split();
        let launch = self.launch(shape);
        let tile = launch.tile;
        let sums = [split, tile.m, tile.n].into_iter().fold(launch.tiles(shape), |of, by| of.saturating_mul(by.into()));
        match self.level.needs.decomposition {
            Decomposition::SplitK { room: Some(room), .. } if sums > room => 1,
            _ => split,
        }
    }

    /// Thread blocks of a round, where the grid is whole rounds of which the last one's blocks share its tiles; else 1.
    pub fn round(&self) -> u32 {
        match self.level.needs.decomposition {
            Decomposition::StreamK(blocks) => self.configuration.tiles[blocks],
            _ => 1,
        }
    }
}

impl fmt::Display for Build {
    /// `level1-tiling (f32, TILE=16)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.level.name, self.configuration)
    }
}

/// The same level, types, variant and tile sizes. Whose text it is does not matter.
impl PartialEq for Build {
    fn eq(&self, other: &Build) -> bool {
        self.level.name == other.level.name && self.configuration == other.configuration
    }
}
