//! A build's plan for a problem: what is launched, resolved and checked once.

use emulator::Dim3;

use crate::build::Build;
use crate::candidate::Candidate;
use crate::copies::{Copied, copied, pays};
use crate::dtype::Dtype;
use crate::element::Element;
use crate::epilogue::{Batch, Epilogue};
use crate::error::Error;
use crate::form::Form;
use crate::kernel::Kernel;
use crate::level::{LaunchShape, Parameter, Shape};
use crate::mapped::{Mapped, Role};
use crate::problem::{Fill, LARGEST_CLUSTER, Limits, Problem};
use crate::task::{Before, Operand, Task};

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
    /// Its plan for a product in the level's [own form](crate::Level::plain).
    ///
    /// # Errors
    /// [`Error::Usage`], where the problem is too large for the kernel or for a grid.
    pub fn plan(&self, shape: Shape) -> Result<Plan<'_>, Error> {
        self.plan_in(shape, self.level.plain(self.configuration.dtype))
    }

    /// The kernel's arguments for a problem that it can do, in its order.
    pub fn operands(&self, shape: &Shape, form: &Form) -> Vec<Operand> {
        self.operands_of(shape, form, Batch::ONE, Epilogue::none(shape, form, Batch::ONE))
    }

    /// The same of a batch with an epilogue, for a kernel that takes them.
    pub fn operands_of(&self, shape: &Shape, form: &Form, batch: Batch, epilogue: Epilogue) -> Vec<Operand> {
        let (Shape { m, n, k }, Form { alpha, beta, .. }) = (*shape, *form);
        // Within the limits of an `int`, which a plan checks.
        let [lda, ldb, ldc] = form.leading(shape).map(|leading| leading as u32);
        let double = self.configuration.dtype.sum == Element::F64;
        let factor = |factor: f64| if double { Operand::F64(factor) } else { Operand::F32(factor as f32) };
        let bare = (alpha, beta, batch.count) == (1.0, 0.0, 1) && epilogue.leaves_sums();
        let [least, most] = self.level.needs.plain;
        let operand = |parameter: &Parameter| match parameter {
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
            Parameter::Map(role) => Operand::Map(self.mapped(*role, shape, form, batch)),
            Parameter::Mapped => Operand::Mapped { bare: bare && (least..=most).contains(&k) },
            Parameter::Batch => Operand::Batch(batch),
            Parameter::Epilogue => Operand::Epilogue(epilogue),
            Parameter::Room => Operand::Room(self.room(shape)),
        };
        self.level.needs.parameters.iter().map(operand).collect()
    }

    /// Bytes of memory that a launch needs beside the matrices.
    pub fn room(&self, shape: &Shape) -> u64 {
        let preparation = self.level.needs.preparation;
        preparation.map_or(0, |preparation| (preparation.room)(shape, &self.configuration.tiles))
    }

    /// What is launched before the kernel.
    pub fn before(&self, shape: &Shape) -> Option<Before> {
        let preparation = self.level.needs.preparation?;
        let tiles = &self.configuration.tiles;
        let (grid, block) = (preparation.launch)(shape, tiles);
        let found = preparation.finding.map_or(0, |finding| (finding.bytes)(shape, tiles));
        Some(Before { entry: preparation.entry, grid, block, found })
    }

    /// What is copied for a launch for a problem that it can do, where A, B and C begin at multiples of 16 bytes.
    pub fn copies(&self, shape: &Shape, form: &Form) -> Vec<Copied> {
        copied(&self.operands(shape, form), [0; 3])
    }

    /// A matrix as its tensor map is to say it.
    fn mapped(&self, role: Role, shape: &Shape, form: &Form, batch: Batch) -> Mapped {
        let (rows, columns) = role.of(form.stored(shape));
        let Dtype { input, output, .. } = self.configuration.dtype;
        let needs = &self.level.needs;
        let has_another_way = needs.parameters.contains(&Parameter::Mapped);
        Mapped {
            role,
            element: role.of([input, input, output]),
            rows,
            columns,
            leading: role.of(form.leading(shape)),
            batch: self.level.takes_batches().then_some((batch.count, role.of(batch.strides))),
            copied: !has_another_way || batch.count == 1 && pays(role, shape) && (needs.by_maps)(&self.configuration),
            tensor_box: role.of((needs.boxes)(&self.configuration)),
        }
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
        let limits = Limits::of_launch(&launch, self.configuration.dtype, &shape, &form);
        limits.with_wide_offsets(self.level.needs.wide_offsets).check()?;
        check_clusters(launch.grid, self.cluster())?;
        Ok(Plan { build: self, shape, form, launch })
    }
}

/// Refuses a grid that clusters do not fill, and clusters that are too large.
fn check_clusters(grid: Dim3, cluster: Dim3) -> Result<(), Error> {
    if cluster.count() > u64::from(LARGEST_CLUSTER) {
        let message = format!("a cluster has {} blocks, and a GPU takes {LARGEST_CLUSTER}", cluster.count());
        return Err(Error::usage(message, "make the cluster smaller"));
    }
    let axes = [(grid.x, cluster.x), (grid.y, cluster.y), (grid.z, cluster.z)];
    match axes.into_iter().all(|(blocks, of)| blocks.is_multiple_of(of)) {
        true => Ok(()),
        false => Err(Error::usage(
            format!("a grid of {grid} is no whole number of clusters of {cluster}"),
            "the level's launch rounds the grid up",
        )),
    }
}

impl<'a> Plan<'a> {
    /// Matrices for it, of these numbers.
    ///
    /// # Errors
    /// [`Error::Usage`], where they do not fit into memory.
    pub fn problem(&self, fill: Fill, seed: u64) -> Result<Problem, Error> {
        Problem::in_form(self.shape, self.build.configuration.dtype, self.form, fill, seed)
    }

    /// What is judged: the level, with the kernel that the build is compiled to.
    pub fn candidate(&self, kernel: &'a Kernel) -> Candidate<'a> {
        let Build { level, configuration, .. } = self.build;
        let (configuration, task) = (configuration.clone(), self.task(kernel));
        let finding = level.needs.preparation.and_then(|preparation| preparation.finding);
        Candidate { name: level.name, title: level.title, configuration, task, finding }
    }

    /// What a device launches, with the kernel that the build is compiled to.
    pub fn task(&self, kernel: &'a Kernel) -> Task<'a> {
        let Build { level, configuration, .. } = self.build;
        Task {
            kernel,
            source: self.build.source(),
            launch: self.launch,
            dynamic_shared: self.build.dynamic_shared(),
            operands: self.build.operands(&self.shape, &self.form),
            before: self.build.before(&self.shape),
            sum: level.sum(configuration),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_fill_the_grid() {
        assert!(check_clusters(Dim3::xy(7, 3), Dim3::ONE).is_ok());
        assert!(check_clusters(Dim3::xy(8, 3), Dim3::xy(2, 1)).is_ok());
        let refused = |grid, cluster| check_clusters(grid, cluster).unwrap_err().to_string();
        assert!(refused(Dim3::xy(7, 3), Dim3::xy(2, 1)).starts_with("a grid of (7,3) is no whole number of clusters"));
        assert!(refused(Dim3::xy(16, 1), Dim3::xy(16, 1)).starts_with("a cluster has 16 blocks, and a GPU takes 8"));
    }
}
