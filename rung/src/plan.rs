//! A build's plan for a problem: what is launched, resolved and checked once.

use crate::build::Build;
use crate::element::Element;
use crate::error::Error;
use crate::form::Form;
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
    /// And its form.
    pub form: Form,
    /// The launch that covers C.
    pub launch: LaunchShape,
}

impl Build {
    /// Its plan for a plain product.
    ///
    /// # Errors
    /// [`Error::Usage`], where the problem is too large for the kernel or for a grid.
    pub fn plan(&self, shape: Shape) -> Result<Plan<'_>, Error> {
        self.plan_in(shape, Form::PLAIN)
    }

    /// The kernel's arguments for a problem that it can do, in its order.
    pub fn operands(&self, shape: &Shape, form: &Form) -> impl Iterator<Item = Operand> {
        let (Shape { m, n, k }, Form { alpha, beta, .. }) = (*shape, *form);
        // Within the limits of an `int`, which a plan checks.
        let [lda, ldb, ldc] = form.leading(shape).map(|leading| leading as u32);
        let double = self.configuration.dtype.sum == Element::F64;
        let factor = move |factor: f64| if double { Operand::F64(factor) } else { Operand::F32(factor as f32) };
        self.level.needs.parameters.iter().map(move |parameter| match parameter {
            Parameter::A => Operand::A,
            Parameter::B => Operand::B,
            Parameter::C => Operand::C,
            Parameter::M => Operand::U32(m),
            Parameter::N => Operand::U32(n),
            Parameter::K => Operand::U32(k),
            Parameter::Lda => Operand::U32(lda),
            Parameter::Ldb => Operand::U32(ldb),
            Parameter::Ldc => Operand::U32(ldc),
            Parameter::Alpha => factor(alpha),
            Parameter::Beta => factor(beta),
        })
    }

    /// Its plan for a product in a form.
    ///
    /// # Errors
    /// [`Error::Usage`], where the problem is too large for the kernel or for a grid, or the build is for another form.
    pub fn plan_in(&self, shape: Shape, form: Form) -> Result<Plan<'_>, Error> {
        if form.specialization() != self.configuration.specialization {
            return Err(Error::usage(
                format!("{self} does not compute {form}"),
                "`Build::in_form` gives one that does",
            ));
        }
        let launch = self.launch(&shape);
        Limits::of_launch(&launch, self.configuration.dtype, &shape, &form).check()?;
        Ok(Plan { build: self, shape, form, launch })
    }
}

impl<'a> Plan<'a> {
    /// What a device launches, with the kernel that the build is compiled to.
    pub fn task(&self, kernel: &'a Kernel) -> Task<'a> {
        let Build { level, configuration } = self.build;
        Task {
            kernel,
            source: level.source(),
            launch: self.launch,
            dynamic_shared: self.build.dynamic_shared(),
            operands: self.build.operands(&self.shape, &self.form).collect(),
            sum: level.sum(configuration.dtype),
        }
    }
}
