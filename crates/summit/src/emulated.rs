//! The handle's calls without a GPU: the same plans and the same kernels, on the emulator, of matrices of the host.

use device::nvrtc;
use gemm::emulated::{arguments, before};
use gemm::kernel::Kernel;

use emulator::{Launch, Module};

use crate::choice::Chooser;
use crate::epilogue::Beside;
use crate::error::Error;
use crate::plan::Plan;
use crate::product::Product;

/// A GPU that is modelled: an H100. It has the handle's calls, takes slices of bytes, and is done when a call returns.
///
/// ```
/// use gemm::{Element, Shape};
/// use summit::{Beside, Emulated, Product, Types};
///
/// let product = Product::new(Types::of(Element::F32), Shape { m: 1, n: 1, k: 2 });
/// let bytes = |numbers: [f32; 2]| numbers.map(f32::to_le_bytes).concat();
/// let mut c = [0; 4];
/// Emulated::new().gemm(&product, &bytes([3.0, 4.0]), &bytes([10.0, 1.0]), &mut c, Beside::default())?;
/// assert_eq!(f32::from_le_bytes(c), 34.0);
/// # Ok::<(), summit::Error>(())
/// ```
#[derive(Debug)]
pub struct Emulated {
    chooser: Chooser,
}

/// What an H100 is: its architecture, and its SMs.
const H100: (u32, u32) = (90, 132);

impl Default for Emulated {
    fn default() -> Self {
        Emulated::new()
    }
}

impl Emulated {
    /// An H100.
    pub fn new() -> Emulated {
        Emulated { chooser: Chooser::new(H100.0, H100.1) }
    }

    /// As of [`Handle::plan`](crate::Handle::plan).
    ///
    /// # Errors
    /// The same.
    pub fn plan(&self, product: &Product) -> Result<Plan, Error> {
        Plan::of(&self.chooser, product)
    }

    /// As of [`Handle::gemm_with`](crate::Handle::gemm_with): D becomes the product.
    ///
    /// # Errors
    /// The same; and [`Error::Unsupported`], where the emulator finds a fault in the kernel.
    pub fn gemm(
        &self,
        product: &Product,
        a: &[u8],
        b: &[u8],
        d: &mut [u8],
        beside: Beside<&[u8]>,
    ) -> Result<(), Error> {
        self.run(&self.plan(product)?, a, b, d, beside)
    }

    /// The same of a plan that was made before.
    ///
    /// # Errors
    /// As of [`Emulated::gemm`].
    pub fn run(&self, plan: &Plan, a: &[u8], b: &[u8], d: &mut [u8], beside: Beside<&[u8]>) -> Result<(), Error> {
        let (product, build) = (plan.product(), plan.build());
        // Buffers of the emulator begin at whole lines.
        product.check_memory([0; 3], [a.len(), b.len(), d.len()].map(|bytes| bytes as u64))?;
        product.check_beside(&beside.map(|_, bytes| Ok::<_, Error>((0, bytes.len() as u64)))?)?;
        let kernel = Kernel::obtain(build, H100.0, nvrtc::find).map_err(Error::cannot)?;
        let faulty = |error: String| Error::unsupported(error, "report this");
        let module = Module::parse(&kernel.ptx).map_err(|error| faulty(error.to_string()))?;
        let mut device = emulator::Device::new();
        let mut upload = |name: &str, bytes: &[u8]| {
            let buffer = device.alloc(name, bytes.len());
            device.write(buffer, bytes).map_err(|error| faulty(error.to_string()))?;
            Ok::<_, Error>(buffer)
        };
        let [on_a, on_b, on_d] = [upload("A", a)?, upload("B", b)?, upload("D", d)?];
        let beside = beside.map(&mut upload)?;
        let addresses = beside.map(|_, buffer| device.address(buffer).map_err(|error| faulty(error.to_string())))?;
        let form = build.plan_in(product.shape, product.form).map_err(Error::cannot)?;
        let mut task = form.task(&kernel);
        (task.operands, task.launch) = (plan.operands(&addresses), plan.launch());
        for offsets in plan.offsets() {
            let how = Launch::new(task.launch.grid, task.launch.block).dynamic_shared(task.dynamic_shared);
            let places = [(on_a, offsets[0]), (on_b, offsets[1]), (on_d, offsets[2])];
            let arguments = arguments(&task.operands, &mut device, places).map_err(Error::cannot)?;
            let program = module.kernel(&arguments.entry(&kernel)).map_err(|error| faulty(error.to_string()))?;
            let first = before(&task, how).map_err(|error| faulty(error.to_string()))?;
            for (program, how) in first.iter().map(|(program, how)| (program, how)).chain([(&program, &how)]) {
                let ran = device.launch(program, *how, &arguments.values);
                ran.map_err(|error| faulty(error.to_string()))?;
            }
            arguments.finish(&mut device, (on_d, offsets[2])).map_err(Error::cannot)?;
        }
        device.read(on_d, d).map_err(|error| faulty(error.to_string()))
    }
}
