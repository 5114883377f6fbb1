//! One call that multiplies two matrices.

use device::{Device, nvrtc};
use gemm::facts::Extras;
use gemm::fit::{Card, fitting};
use gemm::kernel::Kernel;
use gemm::matrix::Scalar;
use gemm::problem::Problem;
use gemm::{Dtype, Error, Shape};

use crate::choice::{Choice, best};

/// C = A · B: row-major, without padding. `a` has M × K elements, `b` K × N, the result M × N.
///
/// Any M, N and K from 1 up, in `f32` or `f64`. Products and sums are in the type itself.
///
/// ```
/// use device::Device;
/// use gemm::Shape;
/// use summit::{Choice, multiply};
///
/// // 2 x 3 times 3 x 2
/// let shape = Shape { m: 2, n: 2, k: 3 };
/// let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let b = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0];
/// let c = multiply(Choice::Best, &Device::Emulator, shape, &a, &b)?;
/// assert_eq!(c, [4.0, 5.0, 10.0, 11.0]);
/// # Ok::<(), gemm::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Usage`] where a slice has not as many elements as the shape says, where a size is 0 or larger than the kernel's index
/// or a grid can be, where memory or a compiler is missing, or where the device refuses. [`Error::Fault`] where a
/// kernel of your own does what it must not do.
///
/// ```
/// # use device::Device;
/// # use gemm::Shape;
/// # use summit::{Choice, multiply};
/// let shape = Shape { m: 2, n: 2, k: 3 };
/// let error = multiply(Choice::Best, &Device::Emulator, shape, &[1.0f32], &[2.0]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "A has 1 elements, and 2 x 3 are 6\nhint: matrices are row-major, without padding"
/// );
/// ```
pub fn multiply<T: Scalar>(choice: Choice, device: &Device, shape: Shape, a: &[T], b: &[T]) -> Result<Vec<T>, Error> {
    exact(&shape, a.len(), b.len())?;
    let dtype = Dtype::of_all(T::ELEMENT);
    let build = match choice {
        Choice::Kernel(kernel) => {
            fitting(kernel.default_build(dtype), &Card::of_architecture(device.architecture()))?.0
        }
        Choice::Best => best(device, &shape, dtype)
            .ok_or_else(|| Error::usage(format!("no kernel multiplies {dtype}"), "there are f32 and f64"))?,
    };
    let plan = build.plan(shape)?;
    let problem = Problem::of(shape, dtype, a, b)?;
    let kernel = Kernel::obtain(&build, device.architecture(), nvrtc::find)?;
    let c = device.launch(&plan.task(&kernel), &problem, Extras::new(false, false))?.c;
    c.numbers()
        .ok_or_else(|| Error::usage(format!("C is {}, and not what was asked for", c.element()), "ask for its type"))
}

/// Refuses slices that have not as many elements as the shape says.
pub(crate) fn exact(shape: &Shape, a: usize, b: usize) -> Result<(), Error> {
    let Shape { m, n, k } = *shape;
    if m.min(n).min(k) == 0 {
        return Err(Error::usage(format!("a size of {shape} is 0"), "every size is at least 1"));
    }
    for (name, elements, rows, columns) in [("A", a, m, k), ("B", b, k, n)] {
        let wanted = u64::from(rows) * u64::from(columns);
        if elements as u64 != wanted {
            let message = format!("{name} has {elements} elements, and {rows} x {columns} are {wanted}");
            return Err(Error::usage(message, "matrices are row-major, without padding"));
        }
    }
    Ok(())
}
