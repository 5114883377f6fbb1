//! Each mutant of a kernel with its PTX, and with the problem that catches it: what a page of the book offers.

use gemm::kernel::Compiler;
use gemm::{Build, Dtype, Level, Shape};
use rayon::prelude::*;

use super::builds::shapes;
use super::outcome::{Order, Reach, found, right};
use crate::mutants::{Mutant, mutants};

/// A mutant, and what the record has of it.
pub struct Switch {
    /// What is changed.
    pub mutant: Mutant,
    /// How it is caught; nothing, where it survives.
    pub how: Option<String>,
    /// Its PTX; nothing, where the compiler refuses it or makes the kernel's own code of it.
    pub ptx: Option<String>,
    /// Problems on which a page may find the same, the one that the record has first.
    pub shapes: Vec<Shape>,
}

/// The kernel's build in which its mutants run, with their outcomes there; its PTX is what theirs differ from.
pub struct Switches {
    /// The build.
    pub build: Build,
    /// Its PTX.
    pub ptx: String,
    /// The mutants, in the order of the rules and of the text.
    pub all: Vec<Switch>,
}

/// Every mutant of a level's kernel in one type, with the smallest tile sizes that are shipped, as the record of mutants runs them.
///
/// # Errors
/// Where the kernel does not compile, or is caught itself.
pub fn switches(level: &'static Level, dtype: Dtype, compiler: &dyn Compiler) -> Result<Switches, String> {
    let all = right(level, Order::OfTheRecord);
    let own = all.iter().flatten().find(|right| right.build.configuration.dtype == dtype);
    let own = std::slice::from_ref(own.ok_or(format!("{} has no mutants in {dtype}", level.name))?);
    let build = own[0].build.clone();
    let of = |mutant: Mutant| {
        let found = found(level, &mutant, (own, Reach::All), compiler)?;
        let shapes = found.shape.into_iter().chain(shapes(&build)).collect();
        Ok(Switch { mutant, how: found.how, ptx: found.ptx, shapes })
    };
    let all = mutants(level.source).into_par_iter().map(of).collect::<Result<_, String>>()?;
    Ok(Switches { ptx: own[0].kernel(compiler)?.ptx.clone(), build, all })
}
