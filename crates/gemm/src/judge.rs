//! What the emulator says of a kernel: in every order of blocks and warps, and also where a GPU ran it.

use emulator::{Schedule, Warning};
use serde::Serialize;

use crate::check::Check;
use crate::emulated::{self, Watch};
use crate::error::Error;
use crate::facts::{Extras, Facts, Ran};
use crate::level::Shape;
use crate::matrix::Matrix;
use crate::problem::{Fill, Problem};
use crate::task::Task;

/// Sizes up to this one are judged as they are: a product of some seconds on the emulator.
const LARGEST: u32 = 255;
/// Larger ones become this and what they are beyond a multiple of it: the edges stay what they were.
const STEP: u32 = 128;

/// The emulator's word on a kernel that a GPU ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Judged {
    /// The sizes on which it was judged.
    pub shape: Shape,
    /// The orders of blocks and warps that were tried.
    pub orders: Vec<Schedule>,
    /// What came of it.
    pub verdict: Verdict,
    /// Whether the product depends on the order, and where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
    /// What is doubtful, because the books do not agree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// What all orders of blocks and warps say of a kernel that is right in each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Orders {
    /// Where the product depends on the order, if it does.
    pub differs: Option<String>,
    /// What is doubtful in any.
    pub warnings: Vec<Warning>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The product is right, and nothing on the way was wrong.
    Clean,
    /// A fault, or a wrong product.
    Wrong(String),
    /// The emulator cannot say: it does not run this kernel, or not with these sizes.
    Unknown(String),
}

impl Judged {
    /// Whether something is wrong with the kernel.
    pub fn is_wrong(&self) -> bool {
        matches!(self.verdict, Verdict::Wrong(_))
    }

    /// In a line, for the report.
    pub fn line(&self) -> String {
        let (orders, shape) = (self.orders.len(), &self.shape);
        match &self.verdict {
            Verdict::Clean => {
                let warned = match self.warnings.len() {
                    0 => String::new(),
                    1 => "; one warning".to_string(),
                    count => format!("; {count} warnings"),
                };
                format!("clean by the emulator, on {shape}, in {orders} orders of blocks and warps{warned}")
            }
            Verdict::Wrong(_) => format!("WRONG by the emulator, on {shape}"),
            Verdict::Unknown(_) => "not by the emulator".to_string(),
        }
    }
}

/// The sizes on which a problem is judged: its own, or smaller ones with the same edges.
pub fn smaller(shape: &Shape) -> Shape {
    let size = |size: u32| if size <= LARGEST { size } else { STEP + size % STEP };
    Shape { m: size(shape.m), n: size(shape.n), k: size(shape.k) }
}

/// Judges a kernel on a problem that `task` fits, with all checks on and in every order.
pub fn judge(task: &Task, problem: &Problem, extras: Extras, watch: Watch) -> Judged {
    let first = Extras { sanitize: true, schedule: Schedule::FirstFirst, ..extras };
    let outcome = emulated::launch(task, problem, first, watch).and_then(|ran| {
        right(task, problem, &ran.c, "")?;
        in_every_order(task, problem, first, (&ran.c, warnings(&ran)), watch)
    });
    let (verdict, orders) = match outcome {
        Ok(orders) => (Verdict::Clean, orders),
        Err(Error::Fault(why)) => (Verdict::Wrong(why), Orders::default()),
        Err(why @ Error::Usage { .. }) => (Verdict::Unknown(why.to_string()), Orders::default()),
    };
    let Orders { differs, warnings } = orders;
    Judged { shape: problem.shape, orders: Schedule::ALL.to_vec(), verdict, differs, warnings }
}

fn warnings(ran: &Ran) -> Vec<Warning> {
    match &ran.facts {
        Facts::Emulator(report) => report.warnings.clone(),
        Facts::Cuda { .. } => Vec::new(),
    }
}

/// A product that is not right is a fault.
fn right(task: &Task, problem: &Problem, product: &Matrix, with: &str) -> Result<(), Error> {
    let Check { right, wrong, elements, .. } = Check::of(problem, Fill::Reals, product, task.method());
    match right {
        true => Ok(()),
        false => Err(Error::Fault(format!("the product is wrong in {wrong} of {elements} elements{with}"))),
    }
}

/// The verdict in every order on a kernel that is right with the first block first, where it made this product and these warnings: it runs
/// once more in all others. A fault is an error; what differs from that product is said, and what is doubtful in any order.
pub fn in_every_order(
    task: &Task,
    problem: &Problem,
    extras: Extras,
    (first, doubtful): (&Matrix, Vec<Warning>),
    watch: Watch,
) -> Result<Orders, Error> {
    let mut orders = Orders { differs: None, warnings: doubtful };
    for schedule in Schedule::ALL.into_iter().filter(|&schedule| schedule != Schedule::FirstFirst) {
        let ran =
            emulated::launch(task, problem, Extras { schedule, ..extras }, watch).map_err(|error| match error {
                Error::Fault(why) => Error::Fault(format!("{why}\nfound with {schedule}")),
                usage => usage,
            })?;
        right(task, problem, &ran.c, &format!(" with {schedule}"))?;
        Warning::gather(&mut orders.warnings, &warnings(&ran));
        orders.differs = orders.differs.or(first.first_difference(&ran.c).map(|(row, column)| {
            let [one, other] = [first, &ran.c].map(|product| product.at(row, column));
            format!("element ({row}, {column}) is {one} with {}, and {other} with {schedule}", Schedule::FirstFirst)
        }));
    }
    Ok(orders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_problem_has_the_same_edges() {
        let of = |m, n, k| smaller(&Shape { m, n, k });
        assert_eq!(of(250, 170, 255), Shape { m: 250, n: 170, k: 255 });
        assert_eq!(of(4096, 4097, 1111), Shape { m: 128, n: 129, k: 215 });
        assert_eq!(of(u32::MAX, 256, 383), Shape { m: 255, n: 128, k: 255 });
    }
}
