//! A build's plan for a problem: what is launched, resolved and checked once.

use crate::build::Build;
use crate::error::Error;
use crate::kernel::Kernel;
use crate::level::{LaunchShape, Parameter, Shape};
use crate::problem::Limits;
use crate::task::{Operand, Task};

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
