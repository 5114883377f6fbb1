//! What a level is: a kernel, its tile sizes, its launch shape, and what is shipped compiled.

use std::fmt;

use archive::Archive;
use emulator::Dim3;
use emulator::isa::Target;
use serde::Serialize;

use crate::dtype::{Dtype, Sum};
use crate::form::{Layout, Specialization};
use crate::mapped::{Role, TensorBox, TensorSwizzle};
pub use crate::shape::Shape;
pub use crate::tiles::Tiles;

/// A kernel with all that a launch needs: one rung of the ladder, or one of the summit's.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    /// The crate's name, which is also the folder's: `level2-register`. A kernel that is no level has another.
    pub name: &'static str,
    /// The idea, in a few words.
    pub title: &'static str,
    /// The idea in a sentence, without its full stop.
    pub idea: &'static str,
    /// The crate of the level that its kernel starts from; nothing for the first. One of the summit's is that level's, with every form.
    pub from: Option<&'static str>,
    /// The kernel's file, relative to the repository.
    pub path: &'static str,
    /// The kernel's text.
    pub source: &'static str,
    /// The kernel's name.
    pub entry: &'static str,
    /// Named variants, the default first. Empty where the level has one form only.
    pub variants: &'static [Variant],
    /// Names of the tile sizes and their defaults.
    pub tiles: &'static [(&'static str, u32)],
    /// The combinations of types that it multiplies, the usual one first.
    pub types: &'static [Types],
    /// Tile sizes that are shipped compiled, in the order of `tiles`: for every variant and combination of types.
    pub shipped: &'static [&'static [u32]],
    /// Where `press tune` looks for better tile sizes: candidates by name. A name that is not there keeps its default; an
    /// empty list means the shipped sizes and no others. The kernel's `static_assert`s refuse what does not go together.
    pub space: &'static [(&'static str, &'static [u32])],
    /// The shipped PTX, a text for each configuration; each has a header that says what it is.
    pub ptx: &'static Archive,
    /// The launch that covers C, for a problem and tile sizes.
    pub launch: fn(&Shape, &Tiles) -> LaunchShape,
    /// What the kernel asks for beyond the usual.
    pub needs: Needs,
}

/// A parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// The address of A.
    A,
    /// The address of B.
    B,
    /// The address of C.
    C,
    /// Rows of A and C, an `int`.
    M,
    /// Columns of B and C, an `int`.
    N,
    /// Columns of A, rows of B, an `int`.
    K,
    /// Elements from one row of A to the next, an `int`.
    Lda,
    /// Elements from one row of B, as it is stored, to the next, an `int`.
    Ldb,
    /// Elements from one row of C to the next, an `int`.
    Ldc,
    /// The factor of A·B, of the sums' type.
    Alpha,
    /// The factor of C, of the sums' type.
    Beta,
    /// The tensor map of a matrix as it is stored, with the box of [`Needs::boxes`]: a `__grid_constant__` structure of 128 bytes.
    Map(Role),
    /// Which matrices have a map that describes them, an `int`: bit 0 stands for A, 1 for B, 2 for C. Rows that are no multiple of 16
    /// bytes apart cannot be described. A kernel that does not ask gets maps of all: matrices that lie otherwise are copied
    /// ([`crate::copies`]).
    Mapped,
    /// How many products, and how far their matrices lie apart: a `__grid_constant__` structure ([`crate::epilogue::Batch`]). The kernel
    /// makes all of them in one launch, and its tensor maps have a third dimension.
    Batch,
    /// What becomes of a sum before it is rounded: a `__grid_constant__` structure ([`crate::epilogue::Epilogue`]).
    Epilogue,
    /// The address of the memory that [`Preparation::room`] asks for; of none, where nothing is prepared.
    Room,
}

impl Parameter {
    /// The plain product's: A, B, C, M, N, K.
    pub const PLAIN: &[Parameter] =
        &[Parameter::A, Parameter::B, Parameter::C, Parameter::M, Parameter::N, Parameter::K];

    /// Those of a kernel that takes any form of a product. It also has two macros, TRANSPOSED and ADDED, which are 1 where B is stored
    /// N × K and where beta is not 0.
    pub const ANY_FORM: &[Parameter] = &[
        Parameter::A,
        Parameter::B,
        Parameter::C,
        Parameter::M,
        Parameter::N,
        Parameter::K,
        Parameter::Lda,
        Parameter::Ldb,
        Parameter::Ldc,
        Parameter::Alpha,
        Parameter::Beta,
    ];

    /// The plain product's sizes, behind the tensor maps of A, B and C: the kernel needs no addresses.
    pub const BY_MAPS: &[Parameter] = &[
        Parameter::Map(Role::A),
        Parameter::Map(Role::B),
        Parameter::Map(Role::C),
        Parameter::M,
        Parameter::N,
        Parameter::K,
    ];

    /// The plain product's C and sizes, behind the tensor maps of A and B.
    pub const BY_MAPS_TO_C: &[Parameter] =
        &[Parameter::Map(Role::A), Parameter::Map(Role::B), Parameter::C, Parameter::M, Parameter::N, Parameter::K];

    /// The plain product's, behind the tensor maps of A and B.
    pub const MAPPED: &[Parameter] = &[
        Parameter::Map(Role::A),
        Parameter::Map(Role::B),
        Parameter::Mapped,
        Parameter::A,
        Parameter::B,
        Parameter::C,
        Parameter::M,
        Parameter::N,
        Parameter::K,
    ];
}

/// How the tiles of C are divided among thread blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decomposition {
    /// Each block has a tile of its own: data-parallel.
    DataParallel,
    /// Some blocks share a tile, each with a part of K: as many as the tile size of this name says. Split-K.
    SplitK {
        /// The tile size's name.
        parts: &'static str,
        /// Elements that the sums of all parts may have in memory, all tiles of C together; where they are more, one block does a
        /// whole tile, and the others leave at once. Nothing, where there is room for any.
        room: Option<u64>,
    },
    /// Stream-K: the grid is whole rounds of as many blocks as the tile size of this name says; those of the last share its steps.
    StreamK(&'static str),
    /// Each block has a tile of its own, and a cluster neighbouring ones: the grid is whole clusters, of which some blocks may have
    /// nothing inside C.
    Clusters(Neighbours),
    /// The grid is at most as many blocks as the tile size of this name says, in whole clusters. A cluster has neighbouring tiles, one
    /// for each block, and goes on to others.
    Persistent(&'static str, Neighbours),
}

/// How the tiles of a cluster's blocks lie to each other in C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbours {
    /// One below the other: they need the same columns of B.
    Below,
    /// Side by side: they need the same rows of A.
    Beside,
}

/// Thin products: of each element of a large matrix little is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thin {
    /// The most rows or columns of C, whichever are fewer.
    pub c: u32,
    /// Or the most products for each element of C.
    pub k: u32,
}

/// What is done before a kernel is launched: another kernel of the same file, with the same arguments, makes what the kernel needs of A
/// and B, and leaves it in memory of its own. Its time is part of the product's; the emulator's counters are the kernel's alone.
#[derive(Debug, Clone, Copy)]
pub struct Preparation {
    /// The name of the kernel that prepares. It has no dynamic shared memory, and no clusters.
    pub entry: &'static str,
    /// Its grid and its block.
    pub launch: fn(&Shape, &Tiles) -> (Dim3, Dim3),
    /// Bytes of memory for what it makes. At first they hold anything.
    pub room: fn(&Shape, &Tiles) -> u64,
    /// What the report is to have of it.
    pub finding: Option<Finding>,
}

/// What a preparation finds out about the matrices.
#[derive(Debug, Clone, Copy)]
pub struct Finding {
    /// Where it lies: the memory's first bytes.
    pub bytes: fn(&Shape, &Tiles) -> u64,
    /// It as words; nothing, where the matrices are as usual.
    pub words: fn(&Shape, &Tiles, &[u8]) -> Option<String>,
}

/// What a kernel asks of the compiler, of the launch and of its tests beyond the usual.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// The architecture that it is compiled for. Older GPUs run what needs none of it: PTX is lowered to what its instructions
    /// need.
    pub architecture: Target,
    /// How hard ptxas optimises, from 0 to 4; nothing for its own default, which is 3.
    pub optimization: Option<u32>,
    /// The blocks of a cluster, which the kernel's `__cluster_dims__` says too. The launch's grid is made of whole clusters.
    pub cluster: fn(&Tiles) -> Dim3,
    /// Bytes of dynamic shared memory per block.
    pub shared: fn(&Configuration) -> u32,
    /// The kernel's parameters, in its order.
    pub parameters: &'static [Parameter],
    /// Whether it also takes an A that is stored K × M. It then has a macro ACROSS, which is 1 where A is.
    pub a_by_columns: bool,
    /// From how many to how many products along K the kernel `NAME_plain` of the same PTX does one A·B by maps alone, whose sums leave as
    /// they are ([`crate::kernel::Kernel::plain`]).
    pub plain: [u32; 2],
    /// Whether its offsets in A, B and C have 64 bits: a matrix may have more than 2³¹ elements, and each side 2³¹ − 1.
    pub wide_offsets: bool,
    /// Whether what becomes of a tile's sums is made while the next tile's products are.
    pub hides_epilogues: bool,
    /// The boxes that its tensor copies move, of A, B and C as they are stored.
    pub boxes: fn(&Configuration) -> [TensorBox; 3],
    /// Whether a configuration moves A and B by their maps, where these can say them. Where it does not, neither is copied first.
    pub by_maps: fn(&Configuration) -> bool,
    /// Whether a configuration is made for how its matrices lie. Where it is not, it is right, and so slow that none chooses it.
    pub is_meant_for: fn(&Configuration) -> bool,
    /// What is done before its launch.
    pub preparation: Option<Preparation>,
    /// How the tiles of C are divided among thread blocks.
    pub decomposition: Decomposition,
    /// Whether it copies by `cp.async`, which the hardware counts under names of its own.
    pub asynchronous_copies: bool,
    /// The thin products that it is for, if it is for such alone. It is right for every other, too.
    pub thin: Option<Thin>,
    /// Shapes that it could get wrong, beside those that are awkward for every tile.
    pub awkward: fn(&Tiles, &Tile) -> Vec<Shape>,
}

impl Needs {
    /// Every GPU since 2016 runs it, once lowered; ptxas optimises as it does by default; all shared memory is static; each block
    /// has a tile of its own, and is alone.
    pub const USUAL: Needs = Needs {
        architecture: Target::since(75),
        optimization: None,
        cluster: |_| Dim3::ONE,
        shared: |_| 0,
        parameters: Parameter::PLAIN,
        a_by_columns: false,
        plain: [u32::MAX, 0],
        wide_offsets: false,
        hides_epilogues: false,
        boxes: |_| [TensorBox { rows: 1, columns: 1, swizzle: TensorSwizzle::None }; 3],
        by_maps: |_| true,
        is_meant_for: |_| true,
        preparation: None,
        decomposition: Decomposition::DataParallel,
        asynchronous_copies: false,
        thin: None,
        awkward: |_, _| Vec::new(),
    };
}

/// A combination of types that a level multiplies.
#[derive(Debug, Clone, Copy)]
pub struct Types {
    /// The types.
    pub dtype: Dtype,
    /// How it sums.
    pub sum: Sum,
    /// Its own default tile sizes, in the order of the level's, where those are not the best for it. They are shipped, too.
    pub tiles: Option<&'static [u32]>,
    /// Its own tile sizes that are shipped, the default first, in place of the level's: where what fits one type does not fit another.
    pub shipped: Option<&'static [&'static [u32]]>,
    /// Whether all of these are shipped for a B that is stored N × K, too, and not the default alone.
    pub in_both_layouts: bool,
}

impl Types {
    /// Sums each rounded to the nearest number, and the level's default tile sizes.
    pub const fn usual(dtype: Dtype) -> Types {
        Types { dtype, sum: Sum::Rounded, tiles: None, shipped: None, in_both_layouts: false }
    }

    /// The same with tile sizes of their own.
    pub const fn shipping(self, shipped: &'static [&'static [u32]]) -> Types {
        Types { tiles: Some(shipped[0]), shipped: Some(shipped), ..self }
    }

    /// The same with tile sizes of their own, each shipped for a B that is stored either way.
    pub const fn shipping_both(self, shipped: &'static [&'static [u32]]) -> Types {
        Types { in_both_layouts: true, ..self.shipping(shipped) }
    }

    /// The same, summed by tensor cores.
    pub const fn cut(self, terms: u32, bits: u32, precision: i32) -> Types {
        Types { sum: Sum::Cut { terms, bits, precision }, ..self }
    }

    /// The same, where the sums of so many products are added by FADD.
    pub const fn promoted(self, every: u32) -> Types {
        match self.sum {
            Sum::Cut { terms, bits, precision } => {
                Types { sum: Sum::Promoted { terms, bits, precision, every }, ..self }
            }
            _ => self,
        }
    }

    /// The same, of f32 numbers that are cut into two f16 each, whose products tensor cores sum so many at a time.
    pub const fn halved(self, every: u32) -> Types {
        Types { sum: Sum::Halved { every }, ..self }
    }

    /// `f32`, then `f64`.
    pub const USUAL: [Types; 2] = [Types::usual(Dtype::F32), Types::usual(Dtype::F64)];
}

/// A named variant of a level: macros beside the tile sizes.
#[derive(Debug, Clone, Copy)]
pub struct Variant {
    /// Its name on the command line.
    pub name: &'static str,
    /// The macros that make it.
    pub defines: &'static [(&'static str, u32)],
    /// How it sums products, where that is not as its types say.
    pub sum: Option<Sum>,
}

/// What a level asks of the device for one product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LaunchShape {
    /// Thread blocks in the grid.
    pub grid: Dim3,
    /// Threads in a block.
    pub block: Dim3,
    /// What a block works on at a time.
    pub tile: Tile,
}

impl LaunchShape {
    /// Tiles of C, those over its edges among them.
    pub fn tiles(&self, shape: &Shape) -> u64 {
        u64::from(shape.m.div_ceil(self.tile.m)) * u64::from(shape.n.div_ceil(self.tile.n))
    }

    /// Whether every block has as much to do as any other: no tile stands over an edge, and each is one block's. Where
    /// several blocks share a tile, some may have less to do.
    pub fn has_equal_blocks(&self, shape: &Shape) -> bool {
        let whole = shape.m.is_multiple_of(self.tile.m) && shape.n.is_multiple_of(self.tile.n);
        whole && self.grid.count() == self.tiles(shape)
    }
}

impl fmt::Display for LaunchShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (blocks, threads) = (self.grid.count(), self.block.count());
        write!(f, "grid {} of blocks {}: {blocks} x {threads} threads", self.grid, self.block)
    }
}

/// The part of the problem that a block works on at a time: `m` × `n` elements of C, in steps of `k` along K.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Tile {
    /// Rows of C.
    pub m: u32,
    /// Columns of C.
    pub n: u32,
    /// Length of a step along K.
    pub k: u32,
}

/// An element type, a variant and tile sizes: with the source, all that the compiler needs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Configuration {
    /// The types of A, B, the sums and C.
    pub dtype: Dtype,
    /// The variant's name; empty where the level has none.
    pub variant: &'static str,
    /// The tile sizes.
    pub tiles: Tiles,
    /// What of the product's form is compiled in.
    #[serde(skip_serializing_if = "Specialization::is_plain")]
    pub specialization: Specialization,
}

impl Level {
    /// Its place on the ladder, from 0; nothing for a kernel that is no level.
    pub fn number(&self) -> Option<u32> {
        self.name.strip_prefix("level")?.split('-').next()?.parse().ok()
    }

    /// What it is called where space is short: `level 2`, or its name.
    pub fn short(&self) -> String {
        self.number().map_or(self.name.to_string(), |number| format!("level {number}"))
    }

    /// The combinations of types that it multiplies.
    pub fn dtypes(&self) -> impl Iterator<Item = Dtype> {
        self.types.iter().map(|types| types.dtype)
    }

    /// Whether it is for such a shape; where all levels are compared, it is left out at others.
    pub fn is_for(&self, shape: &Shape) -> bool {
        self.needs.thin.is_none_or(|most| shape.m.min(shape.n) <= most.c || shape.k <= most.k)
    }

    /// How a configuration sums products.
    pub fn sum(&self, configuration: &Configuration) -> Sum {
        let types = self.types.iter().find(|types| types.dtype == configuration.dtype);
        let variant = self.variants.iter().find(|variant| variant.name == configuration.variant);
        variant.and_then(|variant| variant.sum).or(types.map(|types| types.sum)).unwrap_or(Sum::Rounded)
    }

    /// The variants' names, the default first; where there are none, one that is empty.
    pub fn variant_names(&self) -> Vec<&'static str> {
        if self.variants.is_empty() { vec![""] } else { self.variants.iter().map(|variant| variant.name).collect() }
    }

    /// The macros that a configuration stands for, in a fixed order.
    pub fn defines(&self, configuration: &Configuration) -> Vec<(&'static str, u32)> {
        let variant = self.variants.iter().find(|v| v.name == configuration.variant);
        let mut defines = configuration.tiles.0.clone();
        defines.extend(variant.iter().flat_map(|v| v.defines));
        if self.takes_any_form() {
            let Specialization { a, layout, added } = configuration.specialization;
            if self.needs.a_by_columns {
                defines.push(("ACROSS", u32::from(a == Layout::Columns)));
            }
            defines.extend([("TRANSPOSED", u32::from(layout == Layout::Columns)), ("ADDED", u32::from(added))]);
        }
        defines
    }

    /// How A may lie in memory.
    pub fn layouts_of_a(&self) -> &'static [Layout] {
        if self.needs.a_by_columns { &[Layout::Rows, Layout::Columns] } else { &[Layout::Rows] }
    }

    /// Whether it makes all products of a batch in one launch.
    pub fn takes_batches(&self) -> bool {
        self.needs.parameters.contains(&Parameter::Batch)
    }

    /// Whether it has a bias, activations, factors of rows and columns, and a C apart from what it writes.
    pub fn takes_epilogues(&self) -> bool {
        self.needs.parameters.contains(&Parameter::Epilogue)
    }

    /// Whether it takes factors, leading dimensions, and B as N × K.
    pub fn takes_any_form(&self) -> bool {
        Parameter::ANY_FORM.iter().all(|parameter| self.needs.parameters.contains(parameter))
    }
}

impl Configuration {
    /// The name of its PTX in the level's archive, for instance `coalesced-16-f32.ptx`.
    pub fn file_name(&self) -> String {
        let sizes: Vec<String> = self.tiles.sizes().iter().map(u32::to_string).collect();
        let variant = if self.variant.is_empty() { String::new() } else { format!("{}-", self.variant) };
        format!("{variant}{}-{}{}.ptx", sizes.join("x"), self.dtype, self.specialization.suffix())
    }
}

impl fmt::Display for Configuration {
    /// `f32, coalesced, BLOCK=16`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.dtype)?;
        if !self.variant.is_empty() {
            write!(f, ", {}", self.variant)?;
        }
        if !self.tiles.0.is_empty() {
            write!(f, ", {}", self.tiles)?;
        }
        write!(f, "{}", self.specialization)
    }
}
