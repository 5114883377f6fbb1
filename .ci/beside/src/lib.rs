//! A call of the library, and one of cuBLAS by the same cudarc.

use std::error::Error;
use std::sync::Arc;

use cudarc::cublas::CudaBlas;
use cudarc::driver::{CudaContext, CudaSlice};
use gemm::{Element, Shape};
use summit::{Handle, Product, Types};

/// x·Wᵀ in bf16, elements as they are stored, on any of the program's GPUs.
pub fn layer(
    context: &Arc<CudaContext>,
    x: &CudaSlice<u16>,
    w: &CudaSlice<u16>,
) -> Result<CudaSlice<u16>, Box<dyn Error>> {
    let stream = context.new_stream()?;
    let _ = CudaBlas::new(stream.clone())?;
    let mut y = stream.alloc_zeros::<u16>(64 * 64)?;
    let product = Product::new(Types::of(Element::Bf16), Shape { m: 64, n: 64, k: 64 }).with_b_as_columns();
    Handle::on(context)?.gemm(&stream, &product, x, w, &mut y)?;
    Ok(y)
}
