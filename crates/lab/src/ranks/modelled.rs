//! What products over ranks take by the model: each product as it is predicted on a GPU, each transfer at the rate of a link.

use emulator::gpu::Gpu;
use gemm::form::Form;
use gemm::{Dtype, Shape};
use ranks::model::{Costs, NVLINK, Span, Times, times};
use ranks::{Layout, Variant};
use summit::Chooser;

/// Multiply-adds beyond which no time is predicted: a thousand times what was measured.
const LARGEST: u64 = 1 << 53;

/// Of what the times are.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    /// On which products are predicted.
    pub gpu: &'static Gpu,
    /// Of the products.
    pub dtype: Dtype,
    /// Panels that a rank has room for.
    pub rooms: usize,
    /// 10⁹ bytes per second into a rank.
    pub link: f64,
}

impl Model {
    /// With the usual rooms and the links of an H100.
    pub fn usual(gpu: &'static Gpu, dtype: Dtype) -> Model {
        Model { gpu, dtype, rooms: 2, link: NVLINK / 1e9 }
    }

    /// Seconds of a product on one GPU, as they are predicted; nothing where they are not.
    fn seconds(&self, shape: &Shape) -> Option<f64> {
        if shape.multiply_adds() > LARGEST {
            return None;
        }
        let build = Chooser::new(self.gpu.sm(), self.gpu.sms).best(shape, self.dtype, &Form::PLAIN)?;
        Some(predict::predicted(self.gpu, &build, shape)?.microseconds * 1e-6)
    }

    /// The times of a variant, when each transfer and product is, and its efficiency: of as many times the rate of one GPU.
    pub fn times(&self, layout: &Layout, variant: Variant) -> Option<(Times, Vec<Span>, f64)> {
        let alone = self.seconds(&layout.shape())?;
        let product = |shape: &Shape| self.seconds(shape).unwrap_or(f64::NAN);
        let costs = Costs { link: self.link * 1e9, latency: 0.0, product: &product };
        let (times, spans) = times(layout, variant, self.rooms, &costs);
        times.whole.is_finite().then(|| (times, spans, alone / layout.ranks() as f64 / times.whole))
    }

    /// What the times are, for those who read them.
    pub fn explained(&self, gpu: &str) -> String {
        let link = self.link;
        format!(
            "times by a model, of no measurement: products as they are predicted on {gpu}, {link} GB/s into each rank, copies and collectives alike"
        )
    }
}
