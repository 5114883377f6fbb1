//! On a GPU of candle's: its slices and its stream go to the handle as they are.

use candle_core::backend::BackendStorage;
use candle_core::cuda_backend::cudarc::driver::{DeviceRepr, ValidAsZeroBits};
use candle_core::cuda_backend::{CudaDType, CudaStorage};
use candle_core::{DType, Result, bail};
use gemm::Element;
use half::{bf16, f16};
use summit::Handle;

use crate::placed::Placed;

/// C, whole.
pub fn multiply(handle: &Handle, placed: &Placed, a: &CudaStorage, b: &CudaStorage) -> Result<CudaStorage> {
    match a.dtype() {
        DType::F64 => of_type::<f64>(handle, placed, Element::F64, [a, b]),
        DType::F32 => of_type::<f32>(handle, placed, Element::F32, [a, b]),
        DType::BF16 => of_type::<bf16>(handle, placed, Element::Bf16, [a, b]),
        DType::F16 => of_type::<f16>(handle, placed, Element::F16, [a, b]),
        other => bail!("no kernel multiplies {other:?}\nhint: there are f64, f32, bf16 and f16"),
    }
}

fn of_type<T: CudaDType + DeviceRepr + ValidAsZeroBits>(
    handle: &Handle,
    placed: &Placed,
    element: Element,
    [a, b]: [&CudaStorage; 2],
) -> Result<CudaStorage> {
    let (device, stream, product) = (&a.device, a.device.cuda_stream(), placed.product(element)?);
    let (a, b) = (T::as_cuda_slice(a)?, T::as_cuda_slice(b)?);
    let mut batches = placed.batches();
    let c = match (batches.next(), batches.next()) {
        (Some([from_a, from_b, _]), None) => handle
            .gemm_new(&stream, &product, &a.slice(from_a..), &b.slice(from_b..))
            .map_err(candle_core::Error::wrap)?,
        // What one launch's strides do not cover is several.
        _ => {
            let mut c = device.alloc_zeros::<T>(placed.elements())?;
            for [from_a, from_b, from_c] in placed.batches() {
                let mut c = c.slice_mut(from_c..from_c + placed.of_batch());
                let done = handle.gemm(&stream, &product, &a.slice(from_a..), &b.slice(from_b..), &mut c);
                done.map_err(candle_core::Error::wrap)?;
            }
            c
        }
    };
    Ok(T::wrap_cuda_slice(c, device.clone()))
}
