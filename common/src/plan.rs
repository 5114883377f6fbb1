//! A level in one configuration, and its plan for a problem: what is launched, resolved and checked once.

use std::fmt;

use crate::Error;
use crate::device::{Operand, Task};
use crate::kernel::Kernel;
use crate::level::{Configuration, Decomposition, LaunchShape, Level, Parameter, Shape, Tile};
use crate::problem::Limits;

/// A level in one configuration: what the compiler makes one kernel of.
#[derive(Debug, Clone)]
pub struct Build {
    /// The level.
    pub level: &'static Level,
    /// Types, variant and tile sizes.
    pub configuration: Configuration,
}

/// A build and a problem that it can do.
#[derive(Debug, Clone)]
pub struct Plan<'a> {
    /// The level and its configuration.
    pub build: &'a Build,
    /// The problem's sizes.
    pub shape: Shape,
    /// The launch that covers C.
    pub launch: LaunchShape,
}

impl Build {
    /// The level's name and, where it has variants, the variant's.
    pub fn name(&self) -> String {
        format!("{} {}", self.level.name, self.configuration.variant).trim_end().to_string()
    }

    /// The launch that covers C for a problem.
    pub fn launch(&self, shape: &Shape) -> LaunchShape {
        (self.level.launch)(shape, &self.configuration.tiles)
    }

    /// What a thread block works on at a time.
    pub fn tile(&self) -> Tile {
        self.launch(&Shape { m: 1, n: 1, k: 1 }).tile
    }

    /// Threads of a block; the same for every problem.
    pub fn threads(&self) -> u32 {
        u32::try_from(self.launch(&Shape { m: 1, n: 1, k: 1 }).block.count()).unwrap_or(u32::MAX)
    }

    /// Bytes of dynamic shared memory of a block.
    pub fn dynamic_shared(&self) -> u32 {
        (self.level.needs.shared)(&self.configuration)
    }

    /// Whether it is shipped compiled.
    pub fn is_shipped(&self) -> bool {
        self.level.shipped_builds().contains(self)
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
            Decomposition::SplitK(parts) => self.configuration.tiles[parts],
            Decomposition::DataParallel | Decomposition::StreamK(_) => 1,
        }
    }

    /// Thread blocks of a round, where the grid is whole rounds of which the last one's blocks share its tiles; else 1.
    pub fn round(&self) -> u32 {
        match self.level.needs.decomposition {
            Decomposition::StreamK(blocks) => self.configuration.tiles[blocks],
            Decomposition::DataParallel | Decomposition::SplitK(_) => 1,
        }
    }

    /// Its plan for a problem.
    ///
    /// # Errors
    /// [`Error::Usage`], where the problem is too large for the kernel or for a grid.
    pub fn plan(&self, shape: Shape) -> Result<Plan<'_>, Error> {
        let launch = self.launch(&shape);
        Limits::of_launch(&launch, self.configuration.dtype, &shape).check()?;
        Ok(Plan { build: self, shape, launch })
    }
}

impl fmt::Display for Build {
    /// `level1-tiling (f32, TILE=16)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.level.name, self.configuration)
    }
}

/// The same level, types, variant and tile sizes.
impl PartialEq for Build {
    fn eq(&self, other: &Build) -> bool {
        self.level.name == other.level.name && self.configuration == other.configuration
    }
}

impl<'a> Plan<'a> {
    /// What a device launches, with the kernel that the build is compiled to.
    pub fn task(&self, kernel: &'a Kernel) -> Task<'a> {
        let Build { level, configuration } = self.build;
        let Shape { m, n, k } = self.shape;
        let operand = |parameter: &Parameter| match parameter {
            Parameter::A => Operand::A,
            Parameter::B => Operand::B,
            Parameter::C => Operand::C,
            Parameter::M => Operand::U32(m),
            Parameter::N => Operand::U32(n),
            Parameter::K => Operand::U32(k),
        };
        Task {
            kernel,
            source: level.source(),
            launch: self.launch,
            dynamic_shared: self.build.dynamic_shared(),
            operands: level.needs.parameters.iter().map(operand).collect(),
            sum: level.sum(configuration.dtype),
        }
    }
}
